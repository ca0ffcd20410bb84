#include "window_mpi.hpp"

#include <algorithm>
#include <array>

#include "../base/collective_mpi.hpp"

namespace crossdock {

namespace {

constexpr count_t largest_put_bytes = count_t{1} << 30;

}  // namespace

window_agreement agree_on_window(const communicator& comm, const error_vote& own, count_t number) {
    std::array<std::int64_t, 6> words{own.has_fault ? 1 : 0, own.shape[0],  -own.shape[0],
                                      own.shape[1],          -own.shape[1], number};
    run_collective(comm, [&](MPI_Request* reduction) {
        return MPI_Iallreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()),
                              MPI_INT64_T, MPI_MAX, comm.get(), reduction);
    });
    return {words[0] == 0 && words[1] == -words[2] && words[3] == -words[4], words[5]};
}

void exchange_window::make(const communicator& comm, count_t bytes) {
    close();
    // Asked for by name, as Open MPI 4.1 otherwise mixes up the windows of communicators that have
    // no rank in common.
    const auto allocate = all_share_memory_ ? &MPI_Win_allocate_shared : &MPI_Win_allocate;
    insist([&] {
        return allocate(bytes, 1, MPI_INFO_NULL, comm.get(), static_cast<void*>(&memory_),
                        &window_);
    });
    insist([&] { return MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN); });
}

void exchange_window::close() {
    if (is_open()) insist([&] { return MPI_Win_free(&window_); });
}

void put_bytes(MPI_Win window, const std::byte* data, count_t bytes, rank_t destination,
               MPI_Aint place) {
    for (count_t first = 0; first < bytes; first += largest_put_bytes) {
        const int length = static_cast<int>(std::min(bytes - first, largest_put_bytes));
        insist([&] {
            return MPI_Put(data + first, length, MPI_BYTE, destination, place + first, length,
                           MPI_BYTE, window);
        });
    }
}

}  // namespace crossdock

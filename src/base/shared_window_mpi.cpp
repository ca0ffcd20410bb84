#include "shared_window_mpi.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <array>
#include <cstdint>
#include <limits>
#include <memory>

#include "collective_mpi.hpp"
#include "crossdock/communicator.hpp"

namespace crossdock {

namespace {

// What Linux lets processes share at most; without limit where that is unknown.
std::uint64_t free_shared_bytes() {
    struct statvfs found {};
    if (statvfs("/dev/shm", &found) != 0) return std::numeric_limits<std::uint64_t>::max();
    return std::uint64_t{found.f_bavail} * found.f_frsize;
}

// Asked beforehand: where it does not suffice, Open MPI 4.1 returns to one process of the node
// only.
void check_room(MPI_Comm node, std::uint64_t bytes) {
    // The sum of all, and what the first of them finds free.
    int rank = 0;
    insist([&] { return MPI_Comm_rank(node, &rank); });
    std::array<std::uint64_t, 2> sums{bytes, rank == 0 ? free_shared_bytes() : 0};
    insist(
        [&] { return MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_UINT64_T, MPI_SUM, node); });
    if (sums[0] <= sums[1]) return;
    throw error(errc::out_of_memory,
                fmt::format("the ranks of a node want {} bytes of shared memory, but {} are free; "
                            "enlarge /dev/shm or share less",
                            sums[0], sums[1]));
}

// Ends on all processes of the node if one has failed.
void require_success(MPI_Comm node, bool is_usable, std::size_t bytes) {
    int has_failed = is_usable ? 0 : 1;
    insist([&] { return MPI_Allreduce(MPI_IN_PLACE, &has_failed, 1, MPI_INT, MPI_MAX, node); });
    if (has_failed == 0) return;
    throw error(errc::out_of_memory,
                fmt::format("MPI allocates no {} bytes of memory that a node shares", bytes));
}

// Memory that nobody has written to is not taken from what is free, and whoever writes to it when
// nothing is left is killed. So it is taken at once.
void take_pages(std::byte* memory, std::size_t bytes) {
    constexpr std::size_t least_page_bytes = 4096;
    for (std::size_t at = 0; at < bytes; at += least_page_bytes) memory[at] = std::byte{0};
}

// Where the piece of each process begins.
std::vector<std::byte*> pieces_of(MPI_Comm node, MPI_Win window, std::size_t alignment) {
    int num_processes = 0;
    insist([&] { return MPI_Comm_size(node, &num_processes); });
    std::vector<std::byte*> pieces;
    for (int process = 0; process < num_processes; ++process) {
        MPI_Aint piece_bytes = 0;
        int unit = 0;
        void* base = nullptr;
        insist([&] {
            return MPI_Win_shared_query(window, process, &piece_bytes, &unit,
                                        static_cast<void*>(&base));
        });
        auto room = static_cast<std::size_t>(piece_bytes);
        pieces.push_back(static_cast<std::byte*>(std::align(alignment, 1, base, room)));
    }
    return pieces;
}

}  // namespace

// A window that not all processes can use is left to MPI_Finalize: to free it takes all of them.
shared_window::shared_window(MPI_Comm node, std::size_t bytes) {
    // MPI aligns as it likes. With multiples of it, all are out of line alike.
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment + alignment;
    check_room(node, whole);
    void* own = nullptr;
    bool is_usable = true;
    try {
        insist([&] {
            return MPI_Win_allocate_shared(static_cast<MPI_Aint>(whole), 1, MPI_INFO_NULL, node,
                                           static_cast<void*>(&own), &window_);
        });
        insist([&] { return MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN); });
        take_pages(static_cast<std::byte*>(own), whole);
        pieces_ = pieces_of(node, window_, alignment);
    } catch (...) {
        is_usable = false;
    }
    require_success(node, is_usable, whole);
}

void shared_window::free() {
    if (window_ != MPI_WIN_NULL) CROSSDOCK_MPI(MPI_Win_free(&window_));
    pieces_.clear();
}

}  // namespace crossdock

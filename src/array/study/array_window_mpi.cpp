#include "array_window_mpi.hpp"

#include <fmt/format.h>

#include <utility>

#include "../../base/collective_mpi.hpp"
#include "../../base/rank_fault_mpi.hpp"
#include "../array_index.hpp"

namespace crossdock {

void exposed_entries::free() {
    if (window != MPI_WIN_NULL) insist([&] { return MPI_Win_free(&window); });
}

void array_windows::add(std::shared_ptr<exposed_entries> exposed) {
    std::erase_if(all_, [](const auto& one) { return one->window == MPI_WIN_NULL; });
    all_.push_back(std::move(exposed));
}

void array_windows::close() {
    for (const auto& exposed : all_) exposed->free();
}

array_window::array_window(const communicator& comm, const block_partition& owners,
                           std::shared_ptr<std::byte[]> entries, std::size_t item_bytes)
    : comm_(comm),
      owners_(owners),
      item_bytes_(checked_cast<int>(item_bytes)),
      exposed_(std::make_shared<exposed_entries>(exposed_entries{std::move(entries)})) {
    comm.resource<array_windows>().add(exposed_);
}

void array_window::open() {
    const auto bytes = static_cast<MPI_Aint>(owners_.size(comm_.rank())) * item_bytes_;
    insist([&] {
        return MPI_Win_create(exposed_->entries.get(), bytes, item_bytes_, MPI_INFO_NULL,
                              comm_.get(), &exposed_->window);
    });
    insist([&] { return MPI_Win_set_errhandler(exposed_->window, MPI_ERRORS_RETURN); });
}

void array_window::check(const array_batch& batch) const {
    if (batch.fault) throw error(*batch.fault);
    for (const auto* changes : {&batch.writes, &batch.updates}) {
        check_indices(changes->indices, owners_.num_entries(), comm_.rank());
        const auto& [type, operation] = changes->predefined;
        if (!changes->indices.empty() && (type == MPI_DATATYPE_NULL || operation == MPI_OP_NULL)) {
            throw error(errc::invalid_argument,
                        "the transport rma takes the library's own operations on numbers, and "
                        "writes of which any stays");
        }
    }
    check_indices(batch.reads, owners_.num_entries(), comm_.rank());
}

// All changes are done before anything is read.
void array_window::run(const array_batch& batch) {
    std::optional<error> fault;
    for (const auto* changes : {&batch.writes, &batch.updates}) {
        if (!changes->operation) continue;
        // MPI may mix bytes that several ranks write at once. They take turns, so that a whole
        // value stays; what one rank accumulates takes effect in its order.
        const rank_t num_turns = changes->predefined.type == MPI_BYTE ? comm_.num_ranks() : 1;
        for (rank_t turn = 0; turn < num_turns; ++turn) {
            if (num_turns == 1 || turn == comm_.rank())
                attempt(comm_.rank(), fault, [&] { access([&] { change(*changes); }); });
            const bool is_last =
                turn + 1 == num_turns && (changes == &batch.updates || !batch.updates.operation);
            if (!is_last || batch.has_reads) meet_all(comm_);
        }
    }
    if (batch.has_reads) {
        attempt(comm_.rank(), fault, [&] { access([&] { read(batch.reads, batch.out); }); });
    }
    agree(comm_, fault);
}

// Between the calls that begin and end an access to others' entries.
template <class Part>
void array_window::access(Part&& part) {
    const MPI_Win window = exposed_->window;
    insist([&] { return MPI_Win_lock_all(MPI_MODE_NOCHECK, window); });
    try {
        part();
    } catch (...) {
        MPI_Win_unlock_all(window);
        throw;
    }
    insist([&] { return MPI_Win_unlock_all(window); });
}

void array_window::change(const array_changes& changes) {
    const auto& [type, operation] = changes.predefined;
    const int count = type == MPI_BYTE ? item_bytes_ : 1;
    const std::byte* value = changes.values;
    for (const count_t index : changes.indices) {
        const rank_t owner = owners_.owner(index);
        const auto offset = static_cast<MPI_Aint>(index - owners_.first(owner));
        insist([&] {
            return MPI_Accumulate(value, count, type, owner, offset, count, type, operation,
                                  exposed_->window);
        });
        value += item_bytes_;
    }
}

void array_window::read(std::span<const count_t> indices, std::byte* out) {
    for (const count_t index : indices) {
        const rank_t owner = owners_.owner(index);
        const auto offset = static_cast<MPI_Aint>(index - owners_.first(owner));
        insist([&] {
            return MPI_Get(out, item_bytes_, MPI_BYTE, owner, offset, item_bytes_, MPI_BYTE,
                           exposed_->window);
        });
        out += item_bytes_;
    }
}

}  // namespace crossdock

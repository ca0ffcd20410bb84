#include "array_window_mpi.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "../../base/collective_mpi.hpp"
#include "../../base/rank_fault_mpi.hpp"
#include "../array_index.hpp"
#include "../entry_owner.hpp"

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
    for (const auto* changes : {&batch.writes, &batch.updates})
        check_indices(changes->indices, owners_.num_entries(), comm_.rank());
    if (!batch.writes.indices.empty() && batch.writes.predefined.operation == MPI_OP_NULL)
        throw error(errc::invalid_argument, "the transport rma takes writes of which any stays");
    check_indices(batch.reads, owners_.num_entries(), comm_.rank());
}

// All changes are done before anything is read.
void array_window::run(const array_batch& batch) {
    std::optional<error> fault;
    for (const auto* changes : {&batch.writes, &batch.updates}) {
        if (!changes->operation) continue;
        // MPI may mix bytes that several ranks write at once. They take turns, so that a whole
        // value stays; what one rank accumulates takes effect in its order. So they do where MPI has no such operation.
        const bool by_mpi = is_mpis(*changes);
        const rank_t num_turns =
            by_mpi && changes->predefined.type != MPI_BYTE ? 1 : comm_.num_ranks();
        for (rank_t turn = 0; turn < num_turns; ++turn) {
            if (num_turns == 1 || turn == comm_.rank())
                attempt(comm_.rank(), fault,
                        [&] { access([&] { by_mpi ? accumulate(*changes) : apply(*changes); }); });
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

// Whether MPI has the operation and does it right, which each rank tries on two entries of the next: any operation changes
// one of them. Open MPI 5.0.7 does not on integers of 8 bytes by bitwise ones.
bool array_window::is_mpis(const array_changes& changes) {
    const MPI_Datatype type = changes.predefined.type;
    const MPI_Op operation = changes.predefined.operation;
    if (type == MPI_DATATYPE_NULL || operation == MPI_OP_NULL) return false;
    if (operation == MPI_REPLACE) return true;
    const auto [known, is_new] = with_reserve([&] {
        return comm_.resource<array_windows>().are_right.try_emplace({type, operation}, true);
    });
    if (!is_new) return known->second;
    const auto owners = block_partition::blocks(2 * comm_.num_ranks(), comm_.num_ranks());
    const count_t first = owners.first((comm_.rank() + 1) % comm_.num_ranks());
    const std::array indices{first, first + 1};
    const auto bytes = static_cast<std::size_t>(item_bytes_);
    const auto entries =
        with_reserve([&] { return std::shared_ptr<std::byte[]>(new std::byte[2 * bytes]); });
    alignas(8) std::array<std::byte, 16> values{}, expected{};
    for (std::size_t i = 0; i < 2 * bytes; ++i) {
        values[i] = std::byte(i < bytes ? 0x3f : 0x40);
        entries[i] = expected[i] = std::byte(i < bytes ? 0x40 : 0x3f);
    }
    auto tried = with_reserve([&] { return array_window(comm_, owners, entries, bytes); });
    try {
        on_all_or_none(comm_, [&] { tried.open(); });
        on_all_or_none(comm_, [&] {
            tried.access([&] {
                tried.accumulate({indices, values.data(), nullptr, {type, operation}});
            });
        });
        on_all_or_none(comm_, [&] {
            insist([&] {
                return MPI_Reduce_local(values.data(), expected.data(), 2, type, operation);
            });
            if (!std::equal(expected.begin(), expected.begin() + 2 * item_bytes_, entries.get()))
                throw error(errc::internal, "MPI_Accumulate is wrong");
        });
    } catch (const error&) {
        known->second = false;
    }
    tried.close();
    return known->second;
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

void array_window::accumulate(const array_changes& changes) {
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

// One change after the other: the next may be of the same entry.
void array_window::apply(const array_changes& changes) {
    const auto entry = std::make_unique<std::byte[]>(static_cast<std::size_t>(item_bytes_));
    const MPI_Win window = exposed_->window;
    const std::byte* value = changes.values;
    const count_t at = 0;
    std::size_t failed_at = 0;
    for (const count_t index : changes.indices) {
        const rank_t owner = owners_.owner(index);
        read({&index, 1}, entry.get());
        insist([&] { return MPI_Win_flush(owner, window); });
        try {
            changes.operation->apply(entry.get(), value, {&at, 1}, failed_at);
        } catch (...) {
            throw operation_error(comm_.rank(), index);
        }
        insist([&] {
            return MPI_Put(entry.get(), item_bytes_, MPI_BYTE, owner,
                           static_cast<MPI_Aint>(index - owners_.first(owner)), item_bytes_,
                           MPI_BYTE, window);
        });
        insist([&] { return MPI_Win_flush(owner, window); });
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

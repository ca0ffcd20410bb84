/// @file
/// @brief A table of 8-byte entries that is divided among all workers, and who owns what.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/stream/random.hpp"
#include "bench/stream/workload.hpp"

namespace crossdock::bench::streaming {

/// @brief Who owns an index, and where it is there: two numbers to keep at hand.
struct table_split {
    std::uint64_t num_entries;
    int part_bits;

    /// @brief The owner, counted over all workers of all ranks.
    std::size_t owner_number(std::uint64_t index) const noexcept { return index >> part_bits; }
    std::uint64_t place(std::uint64_t index) const noexcept {
        return index & ((std::uint64_t{1} << part_bits) - 1);
    }
};

/// @brief A table in equal parts, one for each worker of each rank; a part is a power of two.
///
///     2 ranks, 2 workers, parts of 4    index  0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15
///                                       rank   0                 | 1
class shared_table {
  public:
    /// @throws error(errc::invalid_argument)  less than one entry for each worker
    shared_table(const communicator& comm, const workload_options& options);

    rank_t rank() const noexcept { return rank_; }
    int num_workers() const noexcept { return num_workers_; }
    rank_t num_ranks() const noexcept { return num_ranks_; }
    std::uint64_t num_updates() const noexcept { return num_updates_; }
    std::uint64_t part_size() const noexcept { return std::uint64_t{1} << part_bits_; }
    table_split split() const noexcept { return {owners_.size() << part_bits_, part_bits_}; }

    /// @brief Draws indices, and calls `use(to, place, i)` for the i-th; `to` is what `push` takes:
    /// a rank, where that has one worker.
    template <class Use>
    void for_each_draw(random_series& draws, std::uint64_t number, Use&& use) const {
        const table_split split = this->split();  // here, or it would be read again for each index
        const auto workers = static_cast<unsigned>(num_workers_);
        const auto for_all = [&](const auto& name) {
            for (std::uint64_t i = 0; i < number; ++i) {
                const std::uint64_t index = draws.below(split.num_entries);
                use(name(static_cast<unsigned>(split.owner_number(index))), split.place(index), i);
            }
        };
        if (workers == 1) {
            for_all([](unsigned owner) { return static_cast<rank_t>(owner); });
        } else if (std::has_single_bit(workers)) {
            const int bits = std::countr_zero(workers);
            for_all([bits, workers](unsigned owner) {
                return worker_id{static_cast<rank_t>(owner >> bits),
                                 static_cast<int>(owner & (workers - 1))};
            });
        } else {
            for_all([owners = owners_.data()](unsigned owner) { return owners[owner]; });
        }
    }

    /// @brief The part of a worker of this rank.
    std::span<std::uint64_t> part(int worker) noexcept {
        return std::span(entries_).subspan(static_cast<std::size_t>(worker) * part_size(),
                                           part_size());
    }

    /// @brief The indices that a worker of this rank asks for.
    random_series draws(int worker) const noexcept {
        return draws_of(static_cast<std::size_t>(rank_ * num_workers_ + worker));
    }

    /// @brief Takes the updates of all workers back, and tells whether that leaves zeros. Whatever
    /// the table holds then is set to zero.
    bool take_back_all();

    /// @brief The same for updates of a worker's own part.
    bool take_back_own();

    /// @brief Sets all entries to zero.
    /// @return whether they were
    bool clear();

    /// @brief Gives every entry a value that depends on its index.
    void fill();
    std::uint64_t value_of(std::uint64_t index) const noexcept { return mix(index + seed_); }

  private:
    random_series draws_of(std::size_t number) const noexcept { return {seed_, number}; }

    rank_t rank_;
    rank_t num_ranks_;
    int num_workers_;
    std::uint64_t seed_;
    std::uint64_t num_updates_;
    int part_bits_ = 0;
    std::vector<worker_id> owners_;
    std::vector<std::uint64_t> entries_;
};

/// @brief Does updates of one part of a table, sub-block by sub-block.
///
/// Indices are collected by the sub-block they hit, so that updates that follow each other find their
/// entries and the way to them in fast memory.
class sub_block_updates {
  public:
    /// @param part         not longer than 2^32
    /// @param block_bytes  rounded down to a power of two
    sub_block_updates(std::span<std::uint64_t> part, count_t block_bytes);

    void add(std::uint64_t place) {
        const std::size_t block = place >> block_bits_;
        std::uint32_t& fill = fills_[block];
        waiting_[block * capacity + fill] = static_cast<std::uint32_t>(place);
        if (++fill == capacity) apply(block);
    }

    /// @brief Does what still waits.
    void finish();

  private:
    static constexpr std::size_t capacity = 512;  // 2 KB; found best on the measured machine

    void apply(std::size_t block);

    std::span<std::uint64_t> part_;
    int block_bits_;
    std::vector<std::uint32_t> fills_;
    std::vector<std::uint32_t> waiting_;
};

/// @brief What is done with indices that came: at once, or by `sub_block_updates`.
class table_updates {
  public:
    table_updates(shared_table& table, const workload_options& options);

    void apply(int worker, std::span<const std::uint64_t> places);
    void finish(int worker);

  private:
    shared_table& table_;
    std::vector<sub_block_updates> blocks_;  // of each worker; empty without sub-blocks
};

}  // namespace crossdock::bench::streaming

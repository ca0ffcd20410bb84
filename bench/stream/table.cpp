#include "bench/stream/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace crossdock::bench::streaming {

namespace {

int floor_bits(std::uint64_t number) { return static_cast<int>(std::bit_width(number)) - 1; }

}  // namespace

shared_table::shared_table(const communicator& comm, const workload_options& options)
    : rank_(comm.rank()),
      num_ranks_(comm.num_ranks()),
      num_workers_(options.stream.workers),
      seed_(options.seed),
      num_updates_(static_cast<std::uint64_t>(options.updates)) {
    const count_t num_parts = count_t{num_ranks_} * num_workers_;
    const count_t num_entries = options.table_bytes / count_t{sizeof(std::uint64_t)} / num_parts;
    if (num_entries < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("a table of {} bytes has no entry for each of {} workers",
                                options.table_bytes, num_parts));
    }
    part_bits_ = floor_bits(static_cast<std::uint64_t>(num_entries));
    for (rank_t rank = 0; rank < num_ranks_; ++rank) {
        for (int worker = 0; worker < num_workers_; ++worker) owners_.push_back({rank, worker});
    }
    entries_.resize(static_cast<std::size_t>(num_workers_) * part_size());
}

bool shared_table::clear() {
    const bool is_zero =
        std::all_of(entries_.begin(), entries_.end(), [](std::uint64_t e) { return e == 0; });
    if (!is_zero) std::fill(entries_.begin(), entries_.end(), 0);
    return is_zero;
}

bool shared_table::take_back_all() {
    const std::uint64_t first = static_cast<std::uint64_t>(rank_) * entries_.size();
    for (std::size_t number = 0; number < owners_.size(); ++number) {
        random_series draws = draws_of(number);
        for (std::uint64_t i = 0; i < num_updates_; ++i) {
            const std::uint64_t place = draws.below(split().num_entries) - first;
            if (place < entries_.size()) --entries_[place];
        }
    }
    return clear();
}

bool shared_table::take_back_own() {
    for (int worker = 0; worker < num_workers_; ++worker) {
        random_series own = draws(worker);
        for (std::uint64_t i = 0; i < num_updates_; ++i) --part(worker)[own.below(part_size())];
    }
    return clear();
}

void shared_table::fill() {
    const std::uint64_t first = static_cast<std::uint64_t>(rank_) * entries_.size();
    for (std::uint64_t i = 0; i < entries_.size(); ++i) entries_[i] = value_of(first + i);
}

sub_block_updates::sub_block_updates(std::span<std::uint64_t> part, count_t block_bytes)
    : part_(part),
      block_bits_(floor_bits(std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(block_bytes) / sizeof(std::uint64_t)))) {
    const std::size_t num_blocks = ((part.size() - 1) >> block_bits_) + 1;
    fills_.resize(num_blocks);
    waiting_.resize(num_blocks * capacity);
}

void sub_block_updates::apply(std::size_t block) {
    const std::uint32_t* const places = waiting_.data() + block * capacity;
    for (std::uint32_t i = 0; i < fills_[block]; ++i) ++part_[places[i]];
    fills_[block] = 0;
}

void sub_block_updates::finish() {
    for (std::size_t block = 0; block < fills_.size(); ++block) apply(block);
}

table_updates::table_updates(shared_table& table, const workload_options& options) : table_(table) {
    if (options.sub_block_bytes == 0) return;
    for (int worker = 0; worker < table.num_workers(); ++worker)
        blocks_.emplace_back(table.part(worker), options.sub_block_bytes);
}

void table_updates::apply(int worker, std::span<const std::uint64_t> places) {
    if (blocks_.empty()) {
        std::uint64_t* const part = table_.part(worker).data();
        for (const std::uint64_t place : places) ++part[place];
        return;
    }
    auto& blocks = blocks_[static_cast<std::size_t>(worker)];
    for (const std::uint64_t place : places) blocks.add(place);
}

void table_updates::finish(int worker) {
    if (!blocks_.empty()) blocks_[static_cast<std::size_t>(worker)].finish();
}

}  // namespace crossdock::bench::streaming

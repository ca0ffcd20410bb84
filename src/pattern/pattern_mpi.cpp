#include "crossdock/make_pattern.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "../base/collective_mpi.hpp"
#include "../base/rank_fault_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"
#include "../exchange/exchange_words_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

/// Consecutive indices that are consecutive items of their owner. Ends are inclusive, so that the
/// greatest index needs no successor.
struct owned_run {
    count_t first = 0;
    count_t last = 0;
    count_t first_item = 0;
    rank_t owner = 0;
};

/// One slot, and whose item belongs there.
struct need {
    rank_t owner = 0;
    count_t item = 0;
    count_t slot = 0;

    friend auto operator<=>(const need&, const need&) = default;
};

/// Which rank keeps the entry of an index: equal blocks of [0, greatest].
class directory_layout {
  public:
    directory_layout(count_t greatest, rank_t num_ranks)
        : block_(static_cast<std::uint64_t>(greatest) / static_cast<std::uint64_t>(num_ranks) + 1) {
    }

    rank_t keeper(count_t index) const {
        return static_cast<rank_t>(static_cast<std::uint64_t>(index) / block_);
    }

    /// The last index up to `last` that the keeper of `index` keeps.
    count_t last_kept(count_t index, count_t last) const {
        const auto block_last = (static_cast<std::uint64_t>(keeper(index)) + 1) * block_ - 1;
        return static_cast<count_t>(std::min(block_last, static_cast<std::uint64_t>(last)));
    }

  private:
    std::uint64_t block_;
};

std::size_t as_size(count_t n) { return static_cast<std::size_t>(n); }

/// Numbers from 0 in the order of `values`; equal ones in their own order.
std::vector<count_t> ascending(std::span<const count_t> values) {
    std::vector<count_t> order(values.size());
    std::iota(order.begin(), order.end(), count_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](count_t a, count_t b) { return values[as_size(a)] < values[as_size(b)]; });
    return order;
}

void check_indices(rank_t rank, const char* verb, std::span<const count_t> indices) {
    const auto negative =
        std::find_if(indices.begin(), indices.end(), [](count_t index) { return index < 0; });
    if (negative != indices.end()) {
        throw_error_of(rank, errc::index_out_of_range, "rank {} {} index {}; the minimum is 0",
                       rank, verb, *negative);
    }
}

std::vector<owned_run> runs_of(rank_t rank, std::span<const count_t> owned) {
    check_indices(rank, "owns", owned);
    std::vector<owned_run> runs;
    for (const count_t item : ascending(owned)) {
        const count_t index = owned[as_size(item)];
        if (!runs.empty() && index - runs.back().last == 1 &&
            item - runs.back().first_item == index - runs.back().first) {
            runs.back().last = index;
        } else {
            runs.push_back({index, index, item, rank});
        }
    }
    return runs;
}

std::vector<owned_run> run_of_range(rank_t rank, count_t first, count_t length) {
    if (length < 0) {
        throw_error_of(rank, errc::invalid_argument, "rank {} owns {} indices; the minimum is 0",
                       rank, length);
    }
    if (length == 0) return {};
    if (first < 0 || length - 1 > std::numeric_limits<count_t>::max() - first) {
        throw_error_of(rank, errc::index_out_of_range,
                       "the {} indices of rank {} from {} on leave [0, 2^63)", length, rank, first);
    }
    return {{first, first + (length - 1), 0, rank}};
}

/// The words for `peer`, where peers come in ascending order.
std::vector<std::int64_t>& words_for(std::vector<word_message>& to_send, rank_t peer) {
    if (to_send.empty() || to_send.back().peer != peer) to_send.push_back({peer, {}});
    return to_send.back().words;
}

std::vector<word_message> registrations(const directory_layout& layout,
                                        std::span<const owned_run> runs) {
    std::vector<word_message> to_send;
    for (const owned_run& run : runs) {
        for (count_t first = run.first;;) {
            const count_t last = layout.last_kept(first, run.last);
            auto& words = words_for(to_send, layout.keeper(first));
            words.insert(words.end(), {first, last, run.first_item + (first - run.first)});
            if (last == run.last) break;
            first = last + 1;
        }
    }
    return to_send;
}

/// What the directory keeps on this rank, ascending by index.
std::vector<owned_run> directory_entries(const std::vector<word_message>& inbox) {
    std::vector<owned_run> entries;
    for (const auto& [owner, words] : inbox) {
        for (std::size_t i = 0; i < words.size(); i += 3) {
            entries.push_back({words[i], words[i + 1], words[i + 2], owner});
        }
    }
    std::sort(entries.begin(), entries.end(), [](const owned_run& a, const owned_run& b) {
        return std::pair(a.first, a.owner) < std::pair(b.first, b.owner);
    });
    const auto twice = std::adjacent_find(
        entries.begin(), entries.end(),
        [](const owned_run& a, const owned_run& b) { return b.first <= a.last; });
    if (twice != entries.end()) {
        throw_error_of(twice[1].owner, errc::invalid_argument,
                       "index {} is owned twice, by ranks {} and {}; each index has one owner",
                       twice[1].first, twice[0].owner, twice[1].owner);
    }
    return entries;
}

/// Every needed index once, to its keeper.
std::vector<word_message> questions(const directory_layout& layout, std::span<const count_t> needed,
                                    std::span<const count_t> slots) {
    std::vector<word_message> to_send;
    for (const count_t slot : slots) {
        const count_t index = needed[as_size(slot)];
        auto& words = words_for(to_send, layout.keeper(index));
        if (words.empty() || words.back() != index) words.push_back(index);
    }
    return to_send;
}

const owned_run& run_with(std::span<const owned_run> entries, count_t index, rank_t reader) {
    const auto next =
        std::upper_bound(entries.begin(), entries.end(), index,
                         [](count_t value, const owned_run& entry) { return value < entry.first; });
    if (next == entries.begin() || next[-1].last < index) {
        throw_error_of(reader, errc::index_out_of_range,
                       "index {}, which rank {} needs, is owned by no rank; correct the "
                       "index or what the ranks own",
                       index, reader);
    }
    return next[-1];
}

/// Owner and item of every index asked for, in the order asked.
std::vector<word_message> answers(std::span<const owned_run> entries,
                                  const std::vector<word_message>& inbox) {
    std::vector<word_message> to_send;
    for (const auto& [reader, indices] : inbox) {
        auto& words = words_for(to_send, reader);
        for (const count_t index : indices) {
            const owned_run& run = run_with(entries, index, reader);
            words.insert(words.end(), {run.owner, run.first_item + (index - run.first)});
        }
    }
    return to_send;
}

/// Sorted by owner, item and slot.
std::vector<need> needs_from_answers(std::span<const count_t> needed,
                                     std::span<const count_t> slots,
                                     const std::vector<word_message>& inbox) {
    std::vector<std::int64_t> words;
    for (const auto& message : inbox) {
        words.insert(words.end(), message.words.begin(), message.words.end());
    }
    std::vector<need> needs;
    needs.reserve(slots.size());
    std::size_t answer = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (i > 0 && needed[as_size(slots[i])] != needed[as_size(slots[i - 1])]) answer += 2;
        needs.push_back({static_cast<rank_t>(words[answer]), words[answer + 1], slots[i]});
    }
    std::sort(needs.begin(), needs.end());
    return needs;
}

std::vector<word_message> requests(std::span<const need> needs) {
    std::vector<word_message> to_send;
    for (const need& n : needs) words_for(to_send, n.owner).push_back(n.item);
    return to_send;
}

/// The exchanges of one rank, which keeps its fault until the next of them tells all ranks.
class spoken_words {
  public:
    explicit spoken_words(const communicator& comm)
        : comm_(comm),
          regions_(with_reserve([&] { return topology::one_region(comm.num_ranks()); })) {}

    /// This rank's work in between.
    template <class Part>
    void attempt(Part&& part) noexcept {
        crossdock::attempt(comm_.rank(), fault_, part);
    }
    /// Exchanges what `make_messages` returns, or fails on all ranks where one has a fault.
    template <class MakeMessages>
    std::vector<word_message> exchange(MakeMessages&& make_messages) {
        std::vector<word_message> to_send;
        attempt([&] { to_send = make_messages(); });
        const auto told = std::exchange(fault_, std::nullopt);
        return exchange_words(comm_, regions_, to_send, told, {}, &fault_);
    }
    /// Ends the conversation.
    void agree() { crossdock::agree(comm_, fault_); }

  private:
    const communicator& comm_;
    topology regions_;
    std::optional<error> fault_;
};

count_t greatest_index(const communicator& comm, std::span<const owned_run> runs,
                       std::span<const count_t> needed) {
    count_t greatest = runs.empty() ? 0 : runs.back().last;
    for (const count_t index : needed) greatest = std::max(greatest, index);
    allreduce(comm, &greatest, 1, MPI_INT64_T, MPI_MAX);
    return greatest;
}

neighbor_list receives_from(std::span<const need> needs) {
    neighbor_list receives;
    std::vector<count_t> slots;
    for (std::size_t i = 0; i < needs.size(); ++i) {
        slots.push_back(needs[i].slot);
        if (i + 1 < needs.size() && needs[i + 1].owner == needs[i].owner) continue;
        receives.append(needs[i].owner, slots);
        slots.clear();
    }
    return receives;
}

template <class MakeRuns>
pattern connect(const communicator& comm, count_t num_items, std::span<const count_t> needed,
                MakeRuns&& make_runs) {
    const collective_call now("making a pattern", comm);
    spoken_words words(comm);
    std::vector<owned_run> runs;
    words.attempt([&] {
        check_indices(comm.rank(), "needs", needed);
        runs = make_runs();
    });
    const directory_layout layout(greatest_index(comm, runs, needed), comm.num_ranks());
    std::vector<count_t> slots;
    std::vector<need> needs;

    const auto registered = words.exchange([&] { return registrations(layout, runs); });
    const auto asked = words.exchange([&] {
        slots = ascending(needed);
        return questions(layout, needed, slots);
    });
    const auto answered =
        words.exchange([&] { return answers(directory_entries(registered), asked); });
    const auto requested = words.exchange([&] {
        needs = needs_from_answers(needed, slots, answered);
        return requests(needs);
    });

    auto result = with_reserve([] { return pattern(); });
    words.attempt([&] {
        result.rank = comm.rank();
        result.num_ranks = comm.num_ranks();
        result.num_items = num_items;
        result.num_slots = static_cast<count_t>(needed.size());
        result.receives = receives_from(needs);
        for (const auto& [reader, items] : requested) result.sends.append(reader, items);
    });
    words.agree();
    return result;
}

}  // namespace

pattern pattern_from_needed(const communicator& comm, std::span<const count_t> owned,
                            std::span<const count_t> needed) {
    return connect(comm, static_cast<count_t>(owned.size()), needed,
                   [&] { return runs_of(comm.rank(), owned); });
}

pattern pattern_from_needed(const communicator& comm, count_t first_owned, count_t num_owned,
                            std::span<const count_t> needed) {
    return connect(comm, num_owned, needed,
                   [&] { return run_of_range(comm.rank(), first_owned, num_owned); });
}

pattern pattern_from_dist_graph(MPI_Comm graph, const neighbor_counts& counts) {
    int kind = MPI_UNDEFINED;
    if (graph != MPI_COMM_NULL) CROSSDOCK_MPI(MPI_Topo_test(graph, &kind));
    if (kind != MPI_DIST_GRAPH) {
        throw error(errc::invalid_argument,
                    "the communicator has no distributed graph; make it with "
                    "MPI_Dist_graph_create_adjacent");
    }
    rank_t rank = 0;
    rank_t num_ranks = 0;
    int num_sources = 0;
    int num_destinations = 0;
    int is_weighted = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(graph, &rank));
    CROSSDOCK_MPI(MPI_Comm_size(graph, &num_ranks));
    CROSSDOCK_MPI(
        MPI_Dist_graph_neighbors_count(graph, &num_sources, &num_destinations, &is_weighted));
    // One more than needed: MPI gets no null pointer for an empty array.
    std::vector<rank_t> sources(as_size(num_sources) + 1);
    std::vector<rank_t> destinations(as_size(num_destinations) + 1);
    std::vector<int> source_weights(sources.size());
    std::vector<int> destination_weights(destinations.size());
    CROSSDOCK_MPI(MPI_Dist_graph_neighbors(graph, num_sources, sources.data(),
                                           source_weights.data(), num_destinations,
                                           destinations.data(), destination_weights.data()));
    sources.pop_back();
    destinations.pop_back();
    return pattern_from_neighbor_alltoallv(rank, num_ranks,
                                           {.destinations = destinations,
                                            .send_counts = counts.send_counts,
                                            .send_displacements = counts.send_displacements,
                                            .sources = sources,
                                            .receive_counts = counts.receive_counts,
                                            .receive_displacements = counts.receive_displacements,
                                            .send_ids = counts.send_ids});
}

}  // namespace crossdock

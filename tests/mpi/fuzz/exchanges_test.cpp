// Exchanges of every kind, drawn at random: graphs, sizes, types, options, routes, topologies, nodes and threads. What
// each rank gets is compared with a serial loop over what all ranks give, which every rank can draw.
//
// CROSSDOCK_FUZZ_CASES says how many cases each test draws, and CROSSDOCK_FUZZ_FIRST the first of them: a case that
// fails is drawn again by its number alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "array/variants.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/stream.hpp"
#include "exchange/sends.hpp"
#include "gather/combined.hpp"
#include "stream/workers.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"
#include "support/topologies.hpp"

namespace crossdock::fuzz {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Draws the same on all ranks.
class FuzzedExchanges : public test::AllRanks {
  protected:
    template <class Case>
    void draw_cases(Case&& one) {
        const auto first = from_environment("CROSSDOCK_FUZZ_FIRST", 0);
        const auto end = first + from_environment("CROSSDOCK_FUZZ_CASES", 100);
        for (auto number = first; number < end; ++number) {
            SCOPED_TRACE("CROSSDOCK_FUZZ_FIRST=" + std::to_string(number));
            random.seed(number);
            one();
            int has_failed = HasFailure();
            MPI_Allreduce(MPI_IN_PLACE, &has_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            if (has_failed != 0) return;
        }
    }

    // At most `most`.
    template <class Int>
    Int up_to(Int most) {
        return static_cast<Int>(random() % (static_cast<std::uint64_t>(most) + 1));
    }
    bool one_in(int many) { return up_to(many - 1) == 0; }
    template <class T>
    const T& one_of(const std::vector<T>& all) {
        return all[up_to(all.size() - 1)];
    }
    template <class T>
    T value() {
        return static_cast<T>(up_to(100));  // sums of which are exact, or wrap around
    }
    template <class T>
    std::vector<std::vector<T>> values(const std::vector<std::size_t>& lengths) {
        std::vector<std::vector<T>> all;
        for (const auto length : lengths) {
            auto& own = all.emplace_back(length);
            for (auto& one : own) one = value<T>();
        }
        return all;
    }

    // On regions and nodes of any kind.
    context place() {
        context result(comm, one_of(topologies));
        if (one_in(2)) return result;
        const auto ranks_of_node = 1 + up_to(num_ranks - 1);
        std::vector<region_t> nodes;
        for (rank_t r = 0; r < num_ranks; ++r) nodes.push_back(r / ranks_of_node);
        return result.with_nodes(topology::from_regions(nodes));
    }

    std::string route() { return one_in(4) ? "auto" : one_of(routes); }

    // Of gather-scatters as well.
    template <class Options>
    Options neighbor_like_options() {
        Options made;
        made.route = route();
        made.deduplicate = !one_in(3);
        made.executor = one_of<std::string>({"auto", "persistent", "shared_memory"});
        made.max_message_bytes = one_of<std::size_t>({std::size_t{1} << 30, 16, 64, 1000});
        made.item_bytes = one_of<std::size_t>({0, 8, 24});
        made.reproducible = one_in(4);
        return made;
    }

    // Calls `use(T{}, op)`.
    template <class Use>
    void with_type(Use&& use) {
        const auto with_operation = [&](auto type) {
            switch (up_to(2)) {
                case 0: return use(type, sum{});
                case 1: return use(type, minimum{});
                default: return use(type, maximum{});
            }
        };
        switch (up_to(3)) {
            case 0: return with_operation(std::uint8_t{});
            case 1: return with_operation(std::int32_t{});
            case 2: return with_operation(float{});
            default: return with_operation(double{});
        }
    }

    template <class Exchange>
    void complete(Exchange& exchange) {
        // Each rank in a way of its own.
        if ((random() >> static_cast<unsigned>(rank) & 1) == 0) return exchange.wait();
        while (!exchange.test()) sched_yield();
    }

    std::vector<pattern> patterns() {
        test::pattern_builder builder(num_ranks);
        const int sparseness = 1 + up_to(4);
        const auto most_items = one_of<count_t>({1, 5, 60});
        for (rank_t source = 0; source < num_ranks; ++source) {
            for (rank_t destination = 0; destination < num_ranks; ++destination) {
                if (!one_in(sparseness)) continue;
                builder.connect(source, destination);
                const auto item_range = up_to(most_items);
                for (auto k = up_to(most_items); k > 0; --k)
                    builder.send(source, up_to(item_range), destination);
            }
        }
        auto made = builder.take();
        for (auto& own : made) {
            own.num_items += up_to(count_t{2});
            if (one_in(3)) own.sends = test::repeat_neighbors(own.sends);
            if (one_in(3)) own.receives = test::repeat_neighbors(own.receives);
            // Slots in any order, with gaps.
            own.num_slots += up_to(count_t{5});
            std::vector<count_t> places(static_cast<std::size_t>(own.num_slots));
            std::iota(places.begin(), places.end(), count_t{0});
            std::shuffle(places.begin(), places.end(), random);
            for (auto& slot : own.receives.indices) slot = places[static_cast<std::size_t>(slot)];
        }
        return made;
    }

    template <class T, class Op>
    void exchange_neighbors(neighbor_exchange& halo, const std::vector<pattern>& all, Op op) {
        std::vector<std::size_t> num_items, num_slots;
        for (const auto& own : all) {
            num_items.push_back(static_cast<std::size_t>(own.num_items));
            num_slots.push_back(static_cast<std::size_t>(own.num_slots));
        }
        const std::size_t num_fields = one_in(3) ? 1 + up_to(2) : 1;
        const bool is_reverse = one_in(2);
        std::vector<std::vector<T>> items, slots, expected;
        for (std::size_t f = 0; f < num_fields; ++f) {
            const auto of_items = values<T>(num_items);
            const auto of_slots = values<T>(num_slots);
            items.push_back(mine(of_items));
            slots.push_back(mine(of_slots));
            auto& result = expected.emplace_back(is_reverse ? items.back() : slots.back());
            for (rank_t receiver = 0; receiver < num_ranks; ++receiver) {
                for (const auto& [slot, source, item] : test::arrivals(all, receiver)) {
                    const auto s = static_cast<std::size_t>(slot),
                               i = static_cast<std::size_t>(item);
                    if (is_reverse && source == rank)
                        result[i] = op(result[i], of_slots[static_cast<std::size_t>(receiver)][s]);
                    if (!is_reverse && receiver == rank)
                        result[s] = of_items[static_cast<std::size_t>(source)][i];
                }
            }
        }
        if (num_fields > 1) {
            is_reverse ? halo.start_reverse_fields(slots, items, op)
                       : halo.start_fields(items, slots);
        } else {
            is_reverse ? halo.start_reverse(slots[0], items[0], op)
                       : halo.start(items[0], slots[0]);
        }
        complete(halo);
        EXPECT_EQ(is_reverse ? items : slots, expected) << (is_reverse ? "reverse" : "forward");
    }

    std::mt19937_64 random;
    const std::vector<topology> topologies = test::conformance_topologies(num_ranks);
    const std::vector<std::string> routes = test::conformance_routes();
    const std::vector<std::string> algorithms = test::exchange_algorithms();
};

TEST_F(FuzzedExchanges, OfNeighborsBringWhatALoopBrings) {
    draw_cases([&] {
        const auto all = patterns();
        auto options = neighbor_like_options<neighbor_options>();
        options.prepare =
            one_of<preparation>({preparation::both, preparation::forward, preparation::lazy});
        neighbor_exchange halo(place(), mine(all), options);
        SCOPED_TRACE(halo.route() + " by " + options.executor);
        for (int round = up_to(3); round >= 0; --round) {
            with_type(
                [&](auto type, auto op) { exchange_neighbors<decltype(type)>(halo, all, op); });
        }
        halo.close();
    });
}

TEST_F(FuzzedExchanges, ThatAreSparseBringAllMessages) {
    draw_cases([&] {
        test::all_destinations destinations(static_cast<std::size_t>(num_ranks));
        for (auto& own : destinations) {
            for (auto k = one_in(3) ? 3 * num_ranks : up_to(3); k > 0; --k)
                own.push_back(up_to(num_ranks - 1));
        }
        const bool is_one_size = one_in(3);
        const auto most_values = one_of<count_t>({0, 1, 9, 300});
        const auto messages = test::make_messages(destinations, [&](rank_t, std::int64_t) {
            return is_one_size ? most_values : up_to(most_values);
        });
        exchange_options options{.algorithm = one_of(algorithms)};
        if (!is_one_size && options.algorithm.starts_with("rma")) options.algorithm = "auto";
        if (one_in(3)) options.max_message_bytes = 16;
        if (one_in(3)) options.max_forwarded_bytes = 16;
        SCOPED_TRACE(options.algorithm);
        const auto sends = test::sends_of(rank, messages);
        const auto at = place();
        test::expect_equal(is_one_size ? sparse_exchange(at, sends.constant(most_values), options)
                                       : sparse_exchange(at, sends.variable(), options),
                           test::expected_at(rank, messages));
    });
}

TEST_F(FuzzedExchanges, OfCopiesCombineThemAll) {
    draw_cases([&] {
        const auto most_id = one_of<count_t>({1, 10, 200});
        const bool has_flags = one_in(2);
        std::vector<std::vector<count_t>> ids;
        std::vector<std::size_t> lengths;
        for (rank_t r = 0; r < num_ranks; ++r) {
            auto& own = ids.emplace_back(up_to(std::size_t{60}));
            lengths.push_back(own.size());
            for (auto& id : own) {
                id = up_to(most_id);
                if (has_flags && one_in(4)) id = -id;
            }
        }
        auto options = neighbor_like_options<gather_options>();
        options.method = one_of<std::string>({"auto", "owners", has_flags ? "auto" : "holders"});
        gather_scatter shared(place(), mine(ids), options);
        SCOPED_TRACE(shared.method() + ' ' + shared.route() + " by " + options.executor);
        for (int round = up_to(3); round >= 0; --round) {
            with_type([&](auto type, auto op) {
                using T = decltype(type);
                const bool is_transposed = one_in(2);
                const auto all = values<T>(lengths);
                auto found = mine(all);
                const auto expected = test::combined(ids, all, op, is_transposed);
                shared.start(found, op, {.transposed = is_transposed});
                complete(shared);
                EXPECT_EQ(found, mine(expected)) << (is_transposed ? "transposed" : "");
            });
        }
        shared.close();
    });
}

TEST_F(FuzzedExchanges, OfArraysGiveWhatOneArrayGives) {
    draw_cases([&] {
        const auto num_entries = one_of<count_t>({1, 7, 90, 1000});
        const auto all_strategies = registered_combining();
        array_options<std::int64_t> options;
        options.transport =
            one_of<array_transport>({array_transport::plain, array_transport::routed,
                                     array_transport::routed, array_transport::rma});
        if (options.transport == array_transport::routed) {
            options.route = route();
            options.combine = {one_of(all_strategies).strategy, one_in(2), one_in(2)};
        }
        const bool can_write = options.transport != array_transport::rma;
        if (can_write) options.equal_writes = overwrite::smallest_rank_last;
        if (one_in(3)) {
            // Rank 0 has what the others leave.
            auto rest = num_entries;
            for (rank_t r = 1; r < num_ranks; ++r) {
                const auto own = up_to(rest);
                rest -= own;
                if (r == rank) options.num_local = own;
            }
            if (rank == 0) options.num_local = rest;
        }
        distributed_array<std::int64_t> a(place(), num_entries, options);
        SCOPED_TRACE("transport " + std::to_string(static_cast<int>(options.transport)) + ' ' +
                     a.route());
        std::vector<std::int64_t> serial(static_cast<std::size_t>(num_entries));
        for (int round = up_to(5); round >= 0; --round) {
            const auto all = test::draw_changes<std::int64_t>(
                num_ranks, num_entries, random(), one_of<std::uint64_t>({0, 3, 40, 300}),
                [](std::uint64_t drawn) { return static_cast<std::int64_t>(drawn % 100); });
            const auto& [indices, of_requests] = mine(all);
            switch (up_to(can_write ? 3 : 2)) {
                case 0:
                    a.update(indices, of_requests, sum{});
                    test::for_each_change(all, [&](auto index, auto one) { serial[index] += one; });
                    break;
                case 1:
                    a.update(indices, of_requests, maximum{});
                    test::for_each_change(all, [&](auto index, auto one) {
                        serial[index] = std::max(serial[index], one);
                    });
                    break;
                case 2: {
                    auto batch = a.prepare(indices);
                    batch.update(of_requests, sum{});
                    test::for_each_change(all, [&](auto index, auto one) { serial[index] += one; });
                    break;
                }
                default: {
                    a.write(indices, of_requests);
                    // The smallest rank's last one stays.
                    for (auto list = all.rbegin(); list != all.rend(); ++list) {
                        for (std::size_t k = 0; k < list->indices.size(); ++k)
                            serial[static_cast<std::size_t>(list->indices[k])] = list->values[k];
                    }
                }
            }
            std::vector<std::int64_t> out(indices.size()), expected;
            a.read(indices, std::span(out));
            for (const auto index : indices)
                expected.push_back(serial[static_cast<std::size_t>(index)]);
            EXPECT_EQ(out, expected);
        }
        EXPECT_EQ(test::read_all(a), serial);
        a.close();
    });
}

// Sums over all items of a worker: of how many, and of what.
TEST_F(FuzzedExchanges, OfStreamsBringEachItemOnce) {
    draw_cases([&] {
        stream_options options{
            .workers = 1 + up_to(1),
            .scheme = one_of<stream_scheme>(
                {stream_scheme::ww, stream_scheme::wps, stream_scheme::wsp, stream_scheme::pp}),
            .route = one_of<std::string>({"direct", "grid:2", "hypercube"}),
            .buffer_items = one_of<int>({1, 3, 64, 1000}),
        };
        const auto num_workers = static_cast<std::size_t>(options.workers);
        const auto num_all = num_workers * static_cast<std::size_t>(num_ranks);
        // Of each pair of workers.
        const auto most_items = one_of<count_t>({0, 1, 10, 200});
        std::vector<std::vector<count_t>> counts(num_all, std::vector<count_t>(num_all));
        for (auto& own : counts)
            for (auto& one : own) one = one_in(3) ? up_to(most_items) : 0;
        std::vector<std::vector<std::int64_t>> handled(num_workers);
        stream<std::int64_t> items(
            place(),
            [&](auto& port, const auto& batch) {
                auto& own = handled[static_cast<std::size_t>(port.id().worker)];
                own.insert(own.end(), batch.begin(), batch.end());
            },
            options);
        const auto first_worker = static_cast<std::size_t>(rank) * num_workers;
        for (int phase = up_to(1); phase >= 0; --phase) {
            for (auto& own : handled) own.clear();
            test::on_workers(options.workers, [&](int w) {
                auto& port = items.port(w);
                const auto from = first_worker + static_cast<std::size_t>(w);
                for (std::size_t to = 0; to < num_all; ++to) {
                    const worker_id id{static_cast<rank_t>(to / num_workers),
                                       static_cast<int>(to % num_workers)};
                    for (count_t k = 0; k < counts[from][to]; ++k)
                        port.push(id, static_cast<std::int64_t>(from) * 1000 + k);
                }
                port.drain().wait();
            });
            for (std::size_t w = 0; w < num_workers; ++w) {
                std::vector<std::int64_t> expected;
                for (std::size_t from = 0; from < num_all; ++from)
                    for (count_t k = 0; k < counts[from][first_worker + w]; ++k)
                        expected.push_back(static_cast<std::int64_t>(from) * 1000 + k);
                std::sort(handled[w].begin(), handled[w].end());
                EXPECT_EQ(handled[w], expected);
            }
        }
        items.close();
    });
}

}  // namespace
}  // namespace crossdock::fuzz

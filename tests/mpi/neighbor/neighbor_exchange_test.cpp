#include "crossdock/neighbor_exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "crossdock/plan.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"
#include "src/neighbor/compile_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/arrivals.hpp"
#include "support/neighbor_options.hpp"
#include "support/patterns.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::neighbor_exchange_test {
namespace {

using test::arrivals;
using test::conformance_patterns;
using test::conformance_routes;
using test::conformance_topologies;
using test::expect_thrown;
using test::thrown_by;

template <class T>
T value_of(rank_t source, count_t item, int round) {
    return static_cast<T>(1 + round + 7 * source + 3 * item);
}

template <class T>
std::vector<T> items_of(const pattern& p, int round) {
    std::vector<T> items;
    for (count_t i = 0; i < p.num_items; ++i) items.push_back(value_of<T>(p.rank, i, round));
    return items;
}

template <class T>
std::vector<T> expected_slots(const std::vector<pattern>& patterns, rank_t rank, int round,
                              T untouched) {
    std::vector<T> slots(
        static_cast<std::size_t>(patterns[static_cast<std::size_t>(rank)].num_slots), untouched);
    for (const auto& a : arrivals(patterns, rank)) {
        slots[static_cast<std::size_t>(a.slot)] = value_of<T>(a.source, a.item, round);
    }
    return slots;
}

double slot_value(rank_t rank, count_t slot) { return 2.0 + 5 * rank + static_cast<double>(slot); }

// items[i] = op(items[i], every slot that item i of `rank` is sent to).
template <class Op>
std::vector<double> expected_items(const std::vector<pattern>& patterns, rank_t rank, Op op) {
    auto items = items_of<double>(patterns[static_cast<std::size_t>(rank)], 0);
    for (const auto& p : patterns) {
        for (const auto& a : arrivals(patterns, p.rank)) {
            if (a.source != rank) continue;
            auto& item = items[static_cast<std::size_t>(a.item)];
            item = op(item, slot_value(p.rank, a.slot));
        }
    }
    return items;
}

// A type whose size has no loop of its own.
struct odd_item {
    std::array<std::int8_t, 3> bytes;
    odd_item() = default;
    explicit odd_item(count_t v)
        : bytes{static_cast<std::int8_t>(v), static_cast<std::int8_t>(v / 3), 1} {}
    friend bool operator==(const odd_item&, const odd_item&) = default;
};

class Neighbor : public test::AllRanks {
  protected:
    void TearDown() override {
        test::expect_no_message(MPI_COMM_WORLD);
        AllRanks::TearDown();
    }

    context on(const topology& regions) const { return {comm, regions}; }

    template <class T = double>
    std::vector<T> slots_of(const std::vector<pattern>& patterns, T untouched = T(0)) const {
        return std::vector<T>(static_cast<std::size_t>(mine(patterns).num_slots), untouched);
    }

    // Starts, and looks at the slots once `finish()` has waited.
    template <class Finish>
    void expect_exchange(neighbor_exchange& halo, const std::vector<pattern>& patterns,
                         Finish&& finish) {
        const auto items = items_of<double>(mine(patterns), 0);
        auto slots = slots_of(patterns);
        halo.start(items, slots);
        finish();
        EXPECT_FALSE(halo.is_active());
        EXPECT_EQ(slots, expected_slots<double>(patterns, rank, 0, 0.0));
    }

    template <class T>
    void expect_forward(neighbor_exchange& halo, const std::vector<pattern>& patterns, int round) {
        const auto items = items_of<T>(mine(patterns), round);
        auto slots = slots_of<T>(patterns, T(99));
        halo.forward(items, slots);
        EXPECT_EQ(slots, expected_slots<T>(patterns, rank, round, T(99)));
    }

    std::vector<double> slot_values(const std::vector<pattern>& patterns) const {
        std::vector<double> slots;
        for (count_t j = 0; j < mine(patterns).num_slots; ++j) slots.push_back(slot_value(rank, j));
        return slots;
    }

    template <class Op>
    void expect_reverse(neighbor_exchange& halo, const std::vector<pattern>& patterns, Op op) {
        auto items = items_of<double>(mine(patterns), 0);
        halo.reverse(slot_values(patterns), items, op);
        EXPECT_EQ(items, expected_items(patterns, rank, op));
    }

    error refused(const context& at, const pattern& own, const neighbor_options& options) {
        return thrown_by([&] { neighbor_exchange(at, own, options); });
    }

    const std::vector<pattern> ring = test::ring_pattern(num_ranks);
    const std::vector<pattern> all_to_all = test::all_to_all_pattern(num_ranks);
};

// Who shares memory: ranks of which nodes, or nobody.
struct sharing {
    const char* name;
    std::string executor;
    std::function<region_t(rank_t)> node_of;  // empty: all ranks are of one node
};

const std::array all_sharings{
    sharing{"persistent", "persistent", {}},
    sharing{"all", "shared_memory", {}},
    sharing{"pairs", "shared_memory", [](rank_t rank) { return rank / 2; }},
    sharing{"first_alone", "auto", [](rank_t rank) { return rank == 0 ? 0 : 1; }},
    sharing{"alternating", "auto", [](rank_t rank) { return rank % 2; }},
    sharing{"threes", "auto", [](rank_t rank) { return rank % 3; }}};

class NeighborSharing : public Neighbor, public testing::WithParamInterface<std::size_t> {
  protected:
    neighbor_options options(bool deduplicate = true) const {
        const auto& who = all_sharings[GetParam()];
        neighbor_options result;
        result.deduplicate = deduplicate;
        result.executor = who.executor;
        return result;
    }

    // For items of several sizes.
    neighbor_options lazy_options(bool deduplicate = true) const {
        auto result = options(deduplicate);
        result.prepare = preparation::lazy;
        return result;
    }

    // On nodes as they share memory.
    context on(const topology& regions) const { return on(regions, comm); }
    context on(const topology& regions, const communicator& other) const {
        const auto& who = all_sharings[GetParam()];
        const context all(other, regions);
        if (!who.node_of) return all;
        std::vector<region_t> nodes;
        for (rank_t r = 0; r < num_ranks; ++r) nodes.push_back(who.node_of(r));
        return all.with_nodes(topology::from_regions(nodes));
    }

    neighbor_exchange make(const std::vector<pattern>& patterns, const std::string& route) const {
        return make(patterns, route, options());
    }
    neighbor_exchange make(const std::vector<pattern>& patterns, const std::string& route,
                           const neighbor_options& given) const {
        return {on(one_region), mine(patterns), with_route(route, given)};
    }

    // The last rank starts only after the first one has returned from start.
    template <class Start>
    void start_without_the_last(Start&& start) const {
        if (is_last && num_ranks > 1)
            MPI_Recv(nullptr, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        start();
        if (rank == 0 && num_ranks > 1) MPI_Send(nullptr, 0, MPI_INT, last_rank, 5, MPI_COMM_WORLD);
    }
};

// Every sharing takes its turn: each route and pattern meets all of them, on other topologies.
TEST_P(NeighborSharing, EveryRouteDeliversEveryPatternBothWays) {
    std::size_t topology_number = 0;
    for (const auto& regions : conformance_topologies(num_ranks)) {
        std::size_t turn = topology_number++;
        for (const auto& [name, patterns] : conformance_patterns(num_ranks)) {
            for (const auto& route : conformance_routes()) {
                for (const bool deduplicate : {true, false}) {
                    if (turn++ % all_sharings.size() != GetParam()) continue;
                    SCOPED_TRACE(route + "/" + name + "/" + regions.to_string() +
                                 (deduplicate ? "+dedup" : ""));
                    neighbor_exchange halo(on(regions), mine(patterns),
                                           with_route(route, lazy_options(deduplicate)));

                    expect_forward<double>(halo, patterns, 0);
                    expect_forward<double>(halo, patterns, 1);
                    expect_forward<std::int32_t>(halo, patterns, 2);
                    expect_forward<odd_item>(halo, patterns, 0);
                    expect_reverse(halo, patterns, sum{});
                    expect_reverse(halo, patterns,
                                   [](double a, double b) { return a > b ? a : b; });
                }
            }
        }
    }
}

TEST_F(Neighbor, ThePlanIsTheOneThatIsCompiledOffline) {
    for (const auto& regions : conformance_topologies(num_ranks)) {
        for (const auto& [name, patterns] : conformance_patterns(num_ranks)) {
            for (const auto& route : conformance_routes()) {
                for (const bool deduplicate : {true, false}) {
                    SCOPED_TRACE(route + "/" + name + "/" + regions.to_string());
                    const auto offline =
                        compile(regions, patterns, *make_route(route, regions), {deduplicate});
                    verify(offline, patterns);

                    const plan online = compile(on(regions), mine(patterns), route, {deduplicate});

                    EXPECT_EQ(online, offline[static_cast<std::size_t>(rank)]);
                }
            }
        }
    }
}

TEST_P(NeighborSharing, LongMessagesAreSentInParts) {
    const auto patterns = test::one_heavy_row_pattern(num_ranks);
    auto in_parts = lazy_options();
    in_parts.max_message_bytes = 9;
    for (const auto& route : conformance_routes()) {
        SCOPED_TRACE(route);
        auto halo = make(patterns, route, in_parts);

        expect_forward<double>(halo, patterns, 0);
        expect_forward<std::int32_t>(halo, patterns, 1);
        expect_reverse(halo, patterns, sum{});
    }
}

TEST_P(NeighborSharing, TestCompletesAnExchange) {
    for (const auto& route : conformance_routes()) {
        SCOPED_TRACE(route);
        auto halo = make(all_to_all, route);
        expect_exchange(halo, all_to_all, [&] {
            while (!halo.test()) sched_yield();
        });
    }
}

TEST_P(NeighborSharing, DuplicatesAndOtherPlansAreActiveAtOnceInAnyOrder) {
    std::vector<neighbor_exchange> active;
    active.push_back(make(all_to_all, "grid:2"));
    active.push_back(active[0].duplicate());
    active.push_back(active[0].duplicate());
    active.push_back(make(all_to_all, "three_step"));
    active.push_back(make(ring, "direct"));
    const auto patterns_of = [&](std::size_t i) -> const std::vector<pattern>& {
        return i == 4 ? ring : all_to_all;
    };
    const auto own = static_cast<std::size_t>(rank);

    std::vector<std::vector<double>> items(5), slots(5);
    for (std::size_t k = 0; k < 5; ++k) {
        const std::size_t i = (k + own) % 5;
        items[i] = items_of<double>(mine(patterns_of(i)), static_cast<int>(10 * i));
        slots[i] = slots_of(patterns_of(i));
        active[i].start(items[i], slots[i]);
    }
    for (std::size_t k = 0; k < 5; ++k) active[(3 * k + 2 * own) % 5].wait();

    for (std::size_t i = 0; i < 5; ++i) {
        const int round = static_cast<int>(10 * i);
        EXPECT_EQ(slots[i], expected_slots<double>(patterns_of(i), rank, round, 0.0)) << i;
    }
}

TEST_P(NeighborSharing, CollectivesOfTheLibraryForwardForExchangesThatAreActive) {
    for (const auto& route : conformance_routes()) {
        SCOPED_TRACE(route);
        auto halo = make(all_to_all, route);
        // Odd ranks wait before they set the next one up, even ranks after that.
        expect_exchange(halo, all_to_all, [&] {
            if (rank % 2 == 1) halo.wait();
            make(all_to_all, "direct");
            if (rank % 2 == 0) halo.wait();
        });
    }
}

// What the library sets up once for a communicator, when it is first needed there.
TEST_P(NeighborSharing, FirstCollectivesOfACommunicatorForwardForExchangesThatAreActive) {
    for (const auto& route : conformance_routes()) {
        SCOPED_TRACE(route);
        communicator fresh(MPI_COMM_WORLD);
        const auto plans = compile(one_region, all_to_all, *make_route(route, one_region), {});
        neighbor_exchange halo(on(one_region, fresh), mine(plans), options());
        expect_exchange(halo, all_to_all, [&] {
            if (rank % 2 == 1) halo.wait();
            const auto arrived =
                sparse_exchange(on(one_region, fresh), {next}, {1}, std::vector<int>{rank});
            if (rank % 2 == 0) halo.wait();
            EXPECT_EQ(arrived.values, std::vector<int>{previous});
        });
        fresh.close();
    }
}

TEST_P(NeighborSharing, AFailedStartLeavesNothingBehind) {
    MPI_Datatype sparse = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &sparse);
    MPI_Type_commit(&sparse);
    auto halo = make(ring, "direct", lazy_options());
    const std::vector<int> items{rank, -1};
    std::vector<int> slots{-1, -1};
    EXPECT_STREQ(thrown_by([&] { halo.start(nullptr, slots.data(), sparse); }).what(),
                 "items is a null pointer, but the pattern needs 1 of them");
    EXPECT_STREQ(thrown_by([&] { halo.start(items.data(), nullptr, sparse); }).what(),
                 "slots is a null pointer, but the pattern needs 1 of them");
    expect_thrown(errc::invalid_argument,
                  [&] { halo.start(items.data(), slots.data(), MPI_DATATYPE_NULL); });

    expect_forward<double>(halo, ring, 3);
    halo.start(items.data(), slots.data(), sparse);
    halo.wait();

    EXPECT_EQ(slots, (std::vector<int>{previous, -1}));
    MPI_Type_free(&sparse);
}

TEST_P(NeighborSharing, StartWaitsForNobody) {
    for (const auto& route : conformance_routes()) {
        SCOPED_TRACE(route);
        auto halo = make(all_to_all, route);
        const auto items = items_of<double>(mine(all_to_all), 0);
        auto slots = slots_of(all_to_all);

        start_without_the_last([&] { halo.start(items, slots); });
        halo.wait();

        EXPECT_EQ(slots, expected_slots<double>(all_to_all, rank, 0, 0.0));
    }
}

TEST_P(NeighborSharing, ARankThatWaitsReceivesLongMessagesOfOthers) {
    neighbor_exchange halo(on(one_region), mine(all_to_all), options());
    const int length = 1 << 20;
    const std::vector<int> message(length, rank);
    std::vector<std::vector<int>> received(static_cast<std::size_t>(num_ranks), message);
    std::vector<MPI_Request> requests;

    // Nobody starts before rank 0 has taken its message, and rank 0 does so in its wait.
    if (rank > 0) MPI_Send(message.data(), length, MPI_INT, 0, 5, MPI_COMM_WORLD);
    for (rank_t source = 1; rank == 0 && source < num_ranks; ++source)
        MPI_Irecv(received[static_cast<std::size_t>(source)].data(), length, MPI_INT, source, 5,
                  MPI_COMM_WORLD, &requests.emplace_back());
    expect_exchange(halo, all_to_all, [&] { halo.wait(); });

    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (rank_t source = 1; rank == 0 && source < num_ranks; ++source)
        EXPECT_EQ(received[static_cast<std::size_t>(source)], std::vector<int>(length, source));
}

TEST_P(NeighborSharing, ACollectiveOfMpiBetweenStartAndWaitIsSafe) {
    for (const auto& regions : conformance_topologies(num_ranks)) {
        for (const auto& route : conformance_routes()) {
            SCOPED_TRACE(route + "/" + regions.to_string());
            neighbor_exchange halo(on(regions), mine(all_to_all), with_route(route, options()));
            expect_exchange(halo, all_to_all, [&] {
                int sum = rank;
                MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                MPI_Barrier(MPI_COMM_WORLD);
                halo.wait();
                EXPECT_EQ(sum, num_ranks * (num_ranks - 1) / 2);
            });
        }
    }
}

TEST_P(NeighborSharing, DatatypesTravelPackedOrNot) {
    MPI_Datatype every_other = MPI_DATATYPE_NULL;  // 2 of 3 integers, 4 integers apart
    MPI_Datatype parts = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &parts);
    MPI_Type_create_resized(parts, 0, 4 * sizeof(int), &every_other);
    MPI_Type_commit(&every_other);
    const auto patterns = test::random_pattern(num_ranks);
    const auto spread = [](std::vector<int>& to, count_t place, rank_t source, count_t item) {
        to[static_cast<std::size_t>(4 * place)] = value_of<int>(source, item, 0);
        to[static_cast<std::size_t>(4 * place + 2)] = value_of<int>(source, item, 1000);
    };
    for (const auto& route : conformance_routes()) {
        SCOPED_TRACE(route);
        auto halo = make(patterns, route);
        std::vector<int> items(4 * static_cast<std::size_t>(mine(patterns).num_items), -5);
        for (count_t i = 0; i < mine(patterns).num_items; ++i) spread(items, i, rank, i);
        std::vector<int> slots(4 * static_cast<std::size_t>(mine(patterns).num_slots), -1);
        auto expected = slots;
        for (const auto& a : arrivals(patterns, rank)) spread(expected, a.slot, a.source, a.item);

        halo.start(items.data(), slots.data(), every_other);
        halo.wait();
        EXPECT_EQ(slots, expected);

        const auto numbers = items_of<double>(mine(patterns), 4);
        auto number_slots = slots_of(patterns);
        halo.start(numbers.data(), number_slots.data(), MPI_DOUBLE);
        halo.wait();
        EXPECT_EQ(number_slots, expected_slots<double>(patterns, rank, 4, 0.0));
    }
    MPI_Type_free(&every_other);
    MPI_Type_free(&parts);
}

void multiply_doubles(void* in, void* inout, int* length, MPI_Datatype*) {
    for (int i = 0; i < *length; ++i) static_cast<double*>(inout)[i] *= static_cast<double*>(in)[i];
}

TEST_P(NeighborSharing, ReverseTakesMpiOperations) {
    MPI_Op product = MPI_OP_NULL;
    MPI_Op_create(&multiply_doubles, 1, &product);
    const auto patterns = test::random_pattern(num_ranks);
    auto halo = make(patterns, "two_step");
    const auto slots = slot_values(patterns);
    auto sums = items_of<double>(mine(patterns), 0);
    auto products = sums;

    halo.start_reverse(slots.data(), sums.data(), MPI_DOUBLE, MPI_SUM);
    halo.wait();
    halo.start_reverse(slots.data(), products.data(), MPI_DOUBLE, product);
    halo.wait();

    EXPECT_EQ(sums, expected_items(patterns, rank, sum{}));
    EXPECT_EQ(products, expected_items(patterns, rank, std::multiplies<>{}));
    MPI_Op_free(&product);
}

TEST_P(NeighborSharing, ReverseTakesPairsWithGaps) {
    struct pair {
        double value;
        int index;
    };
    auto halo = make(ring, "direct", lazy_options());
    const std::vector<pair> slots{{-1.0 - rank, rank}};
    std::vector<pair> items{{0.0, 77}};

    halo.start_reverse(slots.data(), items.data(), MPI_DOUBLE_INT, MPI_MINLOC);
    halo.wait();

    EXPECT_EQ(items[0].value, -1.0 - next);
    EXPECT_EQ(items[0].index, next);
}

template <std::size_t Bytes>
struct item_of_bytes {
    std::array<std::uint8_t, Bytes> bytes{};
    item_of_bytes() = default;
    explicit item_of_bytes(count_t v) { bytes.fill(static_cast<std::uint8_t>(v % 251)); }
    friend bool operator==(const item_of_bytes&, const item_of_bytes&) = default;
};

// Nine sizes: one more than stay ready.
TEST_P(NeighborSharing, ItemsNeedNotBeNamed) {
    const auto patterns = test::random_pattern(num_ranks);
    for (const auto what : {preparation::both, preparation::forward}) {
        auto given = options();
        given.prepare = what;
        auto halo = make(patterns, "three_step", given);
        for (int round = 0; round < 2; ++round) {
            expect_forward<item_of_bytes<1>>(halo, patterns, round);
            expect_forward<item_of_bytes<2>>(halo, patterns, round);
            expect_forward<odd_item>(halo, patterns, round);
            expect_forward<float>(halo, patterns, round);
            expect_forward<item_of_bytes<5>>(halo, patterns, round);
            expect_forward<item_of_bytes<6>>(halo, patterns, round);
            expect_forward<item_of_bytes<7>>(halo, patterns, round);
            expect_reverse(halo, patterns, sum{});
            expect_forward<item_of_bytes<9>>(halo, patterns, round);
        }
        auto twin = halo.duplicate();
        expect_forward<item_of_bytes<9>>(twin, patterns, 3);
        expect_forward<float>(twin, patterns, 4);
    }
}

TEST_P(NeighborSharing, SizesThatHadAStartStayReady) {
    auto halo = make(all_to_all, "two_step");
    const auto forward = [&]<class T>(T untouched, int round) {
        const auto items = items_of<T>(mine(all_to_all), round);
        auto slots = slots_of<T>(all_to_all, untouched);
        start_without_the_last([&] { halo.start(items, slots); });
        halo.wait();
        EXPECT_EQ(slots, expected_slots<T>(all_to_all, rank, round, untouched));
    };
    expect_forward<float>(halo, all_to_all, 0);

    for (int round = 0; round < 2; ++round) {
        forward(1.0, round);
        forward(1.0F, round);
        auto items = items_of<float>(mine(all_to_all), 0);
        const auto slots = slots_of<float>(all_to_all);
        start_without_the_last(
            [&] { halo.start_reverse(slots, items, sum{}); });  // ready with forward
        halo.wait();
        EXPECT_EQ(items, items_of<float>(mine(all_to_all), 0));
    }
}

// Of an array of twice the length: items at even places, and slots between them.
std::vector<pattern> interleaved(std::vector<pattern> patterns) {
    for (auto& p : patterns) {
        p.num_items *= 2;
        p.num_slots *= 2;
        for (auto& item : p.sends.indices) item = 2 * item;
        for (auto& slot : p.receives.indices) slot = 2 * slot + 1;
    }
    return patterns;
}

TEST_P(NeighborSharing, ItemsAndSlotsMayBeOneArray) {
    std::size_t turn = 0;
    for (const auto& [name, packed] : conformance_patterns(num_ranks)) {
        const auto mixed = interleaved(packed);
        for (const auto& route : conformance_routes()) {
            if (turn++ % all_sharings.size() != GetParam()) continue;
            SCOPED_TRACE(route + "/" + name);
            const auto regions = conformance_topologies(num_ranks).back();
            const auto num_items = static_cast<std::size_t>(mine(packed).num_items);
            neighbor_exchange halo(on(regions), mine(packed), with_route(route, options()));
            const auto expect_ghosts = [&]<class T>(T untouched) {
                auto x = items_of<T>(mine(packed), 0);
                const auto ghosts = expected_slots<T>(packed, rank, 0, untouched);
                auto expected = x;
                expected.insert(expected.end(), ghosts.begin(), ghosts.end());
                x.resize(expected.size(), untouched);
                const std::span all(x);
                halo.forward(all.first(num_items), all.subspan(num_items));
                EXPECT_EQ(x, expected);
            };
            expect_ghosts(7.0);
            expect_ghosts(7.0F);

            neighbor_exchange between(on(regions), mine(mixed), with_route(route, options()));
            const auto length =
                static_cast<std::size_t>(std::max(mine(mixed).num_items, mine(mixed).num_slots));
            for (int round = 0; round < 2; ++round) {
                std::vector<double> x(length, -1.0);
                for (std::size_t i = 0; i < num_items; ++i)
                    x[2 * i] = value_of<double>(rank, static_cast<count_t>(i), round);
                auto expected = x;
                for (const auto& a : arrivals(packed, rank))
                    expected[static_cast<std::size_t>(2 * a.slot + 1)] =
                        value_of<double>(a.source, a.item, round);
                between.forward(x, x);
                EXPECT_EQ(x, expected);

                std::vector<double> home(length, 0.5);
                for (count_t j = 0; j < mine(packed).num_slots; ++j)
                    home[static_cast<std::size_t>(2 * j + 1)] = slot_value(rank, j);
                const auto items = items_of<double>(mine(packed), 0);
                for (std::size_t i = 0; i < num_items; ++i) home[2 * i] = items[i];
                expected = home;
                const auto sums = expected_items(packed, rank, sum{});
                for (std::size_t i = 0; i < num_items; ++i) expected[2 * i] = sums[i];
                between.reverse(home, home, sum{});
                EXPECT_EQ(home, expected);
            }
        }
    }
}

TEST_P(NeighborSharing, SlotsWhereItemsAreSentFromAreRefused) {
    auto halo = make(ring, "direct");
    alignas(double) std::array<std::byte, 24> x{};
    const std::span bytes(x);
    const auto text_at = [&](std::size_t items, std::size_t slots) {
        const error fault = thrown_by(
            [&] { halo.start_bytes(bytes.subspan(items, 8), bytes.subspan(slots, 8), 8); });
        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_FALSE(halo.is_active());
        return std::string(fault.what());
    };
    const auto text = [](const std::string& where_slots_begin) {
        return "item 0 is sent and slot 0 is filled in the same memory: the slots begin " +
               where_slots_begin +
               " the items. Fill slots where no items are sent from, or in an array of their own.";
    };
    EXPECT_EQ(text_at(8, 8), text("0 bytes after"));
    EXPECT_EQ(text_at(4, 8), text("4 bytes after"));
    EXPECT_EQ(text_at(8, 1), text("7 bytes before"));
    std::vector<double> one{5.0};
    expect_thrown(errc::invalid_argument, [&] { halo.start_reverse(one, one, sum{}); });

    for (const std::size_t slots : {0, 16}) {
        const double sent = 3.0 + rank, expected = 3.0 + previous;
        std::memcpy(x.data() + 8, &sent, sizeof sent);
        halo.start_bytes(bytes.subspan(8, 8), bytes.subspan(slots, 8), 8);
        halo.wait();
        EXPECT_EQ(std::memcmp(x.data() + slots, &expected, sizeof expected), 0);
        EXPECT_EQ(std::memcmp(x.data() + 8, &sent, sizeof sent), 0);
    }
}

// However often, and whoever is late.
TEST_P(NeighborSharing, ReverseHasTheBitsOfPersistentRequests) {
    const auto patterns = test::one_heavy_row_pattern(num_ranks);
    std::vector<double> slots;
    for (count_t j = 0; j < mine(patterns).num_slots; ++j)
        slots.push_back((rank % 3 == 0 ? 1e9 : 1.0) / (3 * rank + double(j) + 1));
    std::size_t topology_number = 0;
    for (const auto& regions : conformance_topologies(num_ranks)) {
        std::size_t turn = topology_number++;
        for (const auto& route : conformance_routes()) {
            if (turn++ % all_sharings.size() != GetParam()) continue;
            SCOPED_TRACE(route + "/" + regions.to_string());
            neighbor_exchange plain(on(regions), mine(patterns),
                                    {.route = route, .executor = "persistent"});
            neighbor_exchange shared(on(regions), mine(patterns), with_route(route, options()));
            const std::vector<double> before(static_cast<std::size_t>(mine(patterns).num_items),
                                             0.1);
            auto expected = before;
            plain.reverse(slots, expected, sum{});
            for (int round = 0; round < 3; ++round) {
                auto items = before;
                shared.reverse(slots, items, sum{});
                EXPECT_EQ(items, expected);
            }
        }
    }
}

// Late ranks read what the others have given back already, and want to use again.
TEST_P(NeighborSharing, ObjectsComeAndGoWhileOthersStillReadThem) {
    auto of_ring = make(ring, "direct");
    const auto of_all = make(all_to_all, "three_step");
    for (int round = 0; round < 60; ++round) {
        const bool is_ring = round % 3 == 0;
        const auto& patterns = is_ring ? ring : all_to_all;
        neighbor_exchange twin = is_ring ? of_ring.duplicate() : of_all.duplicate();
        const auto items = items_of<double>(mine(patterns), round);
        auto slots = slots_of(patterns);

        twin.start(items, slots);
        if ((rank + round) % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        twin.wait();

        ASSERT_EQ(slots, expected_slots<double>(patterns, rank, round, 0.0));
        if (is_ring) of_ring = std::move(twin);
    }
}

TEST_P(NeighborSharing, ADuplicateMayBeMadeWhileAnExchangeIsActive) {
    auto halo = make(all_to_all, "grid:2");
    expect_exchange(halo, all_to_all, [&] {
        if (rank % 2 == 0) halo.wait();
        neighbor_exchange twin = halo.duplicate();
        expect_forward<double>(twin, all_to_all, 1);
        if (rank % 2 == 1) halo.wait();
    });
}

TEST_P(NeighborSharing, AnObjectMayOutliveItsCommunicatorsWork) {
    const auto patterns = test::random_pattern(num_ranks);
    communicator own(MPI_COMM_WORLD);
    neighbor_exchange halo(on(one_region, own), mine(patterns),
                           with_route("three_step", options()));
    expect_forward<double>(halo, patterns, 0);
    expect_reverse(halo, patterns, sum{});

    own.close();

    EXPECT_EQ(halo.plan().rank(), rank);
}

INSTANTIATE_TEST_SUITE_P(Nodes, NeighborSharing,
                         testing::Range<std::size_t>(0, all_sharings.size()),
                         [](const auto& test) { return all_sharings[test.param].name; });

// Ranks forward for each other, while they wait for different things.
TEST_F(Neighbor, WaitsMoveExchangesOfOtherContextsOn) {
    const auto half = num_ranks / 2;
    const auto halves = half == 0 ? std::string("1")
                                  : std::to_string(half) + "," + std::to_string(num_ranks - half);
    const bool is_odd = rank % 2 == 1;
    const auto items = items_of<double>(mine(all_to_all), 1);
    const auto expected = expected_slots<double>(all_to_all, rank, 1, 0);
    for (const char* executor : {"persistent", "shared_memory"}) {
        for (const char* route : {"three_step", "hypercube"}) {
            std::vector<context> contexts;
            std::list<neighbor_exchange> halos;
            std::vector<std::vector<double>> slots(3, std::vector<double>(expected.size()));
            for (std::size_t k = 0; k < slots.size(); ++k) {
                contexts.emplace_back(MPI_COMM_WORLD,
                                      context_options{.topology = halves, .nodes = halves});
                auto& halo =
                    halos.emplace_back(contexts.back(), mine(all_to_all),
                                       neighbor_options{.route = route, .executor = executor});
                halo.start(items, slots[k]);
            }
            stream<int> empty(contexts[0], [](auto&&...) {});

            // An exchange, a drain, and a collective call of each context come first somewhere.
            if (is_odd) halos.reverse();
            halos.front().wait();
            if (rank % 3 == 1) empty.port(0).drain().wait();
            halos.back().wait();
            if (rank % 3 != 1) empty.port(0).drain().wait();
            std::next(halos.begin())->wait();

            for (const auto& one : slots) EXPECT_EQ(one, expected);
            empty.close();
            for (auto& one : contexts) one.close();
        }
    }
}

TEST_F(Neighbor, TakesTwoTagsForEachStage) {
    neighbor_exchange(where, mine(ring), {.route = "direct"});  // what is made at the first one
    for (const auto* route : {"direct", "two_step", "three_step"}) {
        const int num_stages = make_route(route, where.topology())->num_stages();
        const int before = comm.reserve_tags(0).first();
        neighbor_exchange halo(where, mine(ring), {.route = route});
        EXPECT_EQ(comm.reserve_tags(0).first() - before, 2 * num_stages);
    }
#ifdef OPEN_MPI
    int* limit = nullptr;
    int is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&limit), &is_set);
    EXPECT_GE((*limit - comm.reserve_tags(0).first()) / 6, 350'000'000);
#endif
}

// Ranks end their objects in different orders; all abandon some while they are active, whose tags
// stay taken. As many are made as need more tags than MPI promises.
TEST_F(Neighbor, ManyMoreAreMadeThanThereAreTags) {
    neighbor_exchange first(where, mine(ring), {.route = "direct", .executor = "persistent"});
    const std::size_t most_live = 20;
    std::vector<neighbor_exchange> live;
    static std::list<std::vector<double>> lost;  // arrays of abandoned exchanges
    for (int i = 0; i < 20'000; ++i) {
        live.push_back(first.duplicate());
        if (i % 500 == 0) {
            const auto& items = lost.emplace_back(items_of<double>(mine(ring), i));
            live.back().start(items, lost.emplace_back(slots_of(ring)));
            live.pop_back();
        } else if (i % 50 == 1 || i > 19'900) {
            expect_forward<double>(live.back(), ring, i);
        }
        if (live.size() > most_live) {
            const std::size_t random = static_cast<std::size_t>(i * 7 + rank) % most_live;
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(random));
        }
    }
    EXPECT_LT(comm.reserve_tags(0).first(), 32767);
    const error heard = thrown_by([&] { comm.close(); });
    EXPECT_EQ(heard.code(), errc::invalid_state);
}

// How many mappings this process shares with others, and how many files it has open.
std::pair<std::ptrdiff_t, std::ptrdiff_t> num_shared_maps_and_files() {
    std::ifstream maps("/proc/self/maps");
    std::ptrdiff_t num_shared = 0;
    for (std::string line; std::getline(maps, line);) {
        const auto permissions = line.substr(line.find(' ') + 1, 4);
        if (permissions.back() == 's') ++num_shared;
    }
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return {num_shared, std::distance(begin(files), end(files))};
}

TEST_F(Neighbor, ThoseThatComeAndGoLeaveNothingBehind) {
    for (const char* const executor : {"persistent", "shared_memory"}) {
        const auto make_many = [&](int count) {
            for (int i = 0; i < count; ++i) {
                neighbor_exchange halo(where, mine(ring),
                                       {.route = "direct", .executor = executor});
                expect_forward<double>(halo, ring, i);
            }
        };
        make_many(50);
        const auto before = num_shared_maps_and_files();
        make_many(500);
        EXPECT_EQ(num_shared_maps_and_files(), before) << executor;
    }
}

TEST_F(Neighbor, AnExecutorThatDoesNotExistIsRefusedOnAllRanks) {
    if (rank == 0) setenv("CROSSDOCK_EXECUTOR", "telepathy", 1);
    neighbor_exchange persistent(where, mine(ring), {.route = "direct", .executor = "persistent"});
    neighbor_exchange shared(where, mine(ring), {.route = "direct", .executor = "shared_memory"});

    EXPECT_EQ(refused(where, mine(ring), {.route = "direct"}).code(), errc::invalid_argument);
    unsetenv("CROSSDOCK_EXECUTOR");
    expect_forward<double>(persistent, ring, 0);
    expect_forward<double>(shared, ring, 0);
}

TEST_F(Neighbor, SharedMemoryMayBeAskedForWhereNobodySharesIt) {
    neighbor_exchange halo(where.with_nodes(each_alone), mine(all_to_all),
                           {.route = "three_step", .executor = "shared_memory"});

    expect_forward<double>(halo, all_to_all, 0);
    expect_reverse(halo, all_to_all, sum{});
}

TEST_F(Neighbor, ReverseRefusesWhatItCannotCombine) {
    neighbor_exchange halo(where, mine(ring), {.route = "direct"});
    MPI_Op ordered = MPI_OP_NULL;
    MPI_Op_create(&multiply_doubles, 0, &ordered);
    MPI_Datatype overlapping = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_DOUBLE, 0, 4, &overlapping);
    MPI_Type_commit(&overlapping);
    double slot = 0, item = 0;

    expect_thrown(errc::invalid_argument,
                  [&] { halo.start_reverse(&slot, &item, MPI_DOUBLE, ordered); });
    expect_thrown(errc::invalid_argument,
                  [&] { halo.start_reverse(&slot, &item, overlapping, MPI_SUM); });
    MPI_Op_free(&ordered);
    MPI_Type_free(&overlapping);
}

TEST_F(Neighbor, MismatchedCountsNameBothRanksOnAllRanks) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    pattern p = mine(ring);
    if (rank == 1) {  // expects two items of rank 0, which sends one
        p.num_slots = 2;
        p.receives = {};
        p.receives.append(0, std::vector<count_t>{0, 1});
    }
    for (const auto& route : conformance_routes()) {
        SCOPED_TRACE(route);
        const error fault = refused(where, p, {.route = route});
        EXPECT_EQ(fault.code(), errc::count_mismatch);
        EXPECT_EQ(fault.rank(), 1);
        EXPECT_STREQ(
            fault.what(),
            "rank 0 sends 1 items to rank 1, which expects 2; give both patterns the same number");

        neighbor_exchange halo(where, mine(ring), {.route = route});
        expect_forward<double>(halo, ring, 0);
    }
}

TEST_F(Neighbor, ADestinationOutOfRangeIsAnErrorOnAllRanks) {
    pattern p = mine(ring);
    if (is_last) p.sends.ranks[0] = num_ranks + 3;
    EXPECT_EQ(refused(where, p, {.route = "direct"}).code(), errc::rank_out_of_range);
}

TEST_F(Neighbor, ArgumentsThatDifferBetweenRanksAreRefused) {
    if (num_ranks < 2) GTEST_SKIP() << "needs two ranks";
    const std::vector<std::pair<neighbor_options, const char*>> options_of_first{
        {{.route = "two_step"}, "rank 1 has route = direct, rank 0 has two_step; "},
        {{.deduplicate = false}, "rank 1 has deduplicate = "},
        {{.max_message_bytes = 8}, "rank 1 has max_message_bytes = "},
        {{.executor = "persistent"}, "rank 1 has executor = auto, rank 0 has persistent; "},
        {{.item_bytes = 4}, "rank 1 has item_bytes = 8, rank 0 has 4; "},
        {{.prepare = preparation::forward}, "rank 1 has prepare = both, rank 0 has forward; "}};
    for (const auto& [of_first, text] : options_of_first) {
        auto own = rank == 0 ? of_first : neighbor_options{};
        if (own.route == "auto") own.route = "direct";
        const error fault = refused(where, mine(ring), own);
        EXPECT_EQ(fault.code(), errc::invalid_argument);
        EXPECT_EQ(fault.rank(), 1);
        EXPECT_TRUE(std::string_view(fault.what()).starts_with(text)) << fault.what();
    }
    const auto other = topology::from_string("1," + std::to_string(num_ranks - 1));
    for (const auto& of_first : {where.with_nodes(one_region), where.with_nodes(other),
                                 where.with_machine(default_machine())}) {
        const error fault = refused(rank == 0 ? of_first : where, mine(ring), {.route = "direct"});
        EXPECT_EQ(fault.code(), errc::invalid_argument);
    }
    const error unknown = refused(where, mine(ring), {.route = rank == 1 ? "teleport" : "direct"});
    EXPECT_EQ(unknown.code(), errc::unknown_route);
    EXPECT_EQ(unknown.rank(), 1);
}

TEST_F(Neighbor, TopologiesOfAnotherSizeAreRefused) {
    const auto other = topology::from_string("3x7");
    for (const auto& at : {on(other), where.with_nodes(other)})
        EXPECT_EQ(refused(at, mine(ring), {.route = "direct"}).code(), errc::size_mismatch);
}

TEST_F(Neighbor, CallsOutOfStateAreRefused) {
    neighbor_exchange halo(where, mine(ring), {.route = "direct"});
    const std::vector<double> items(1, 1.0);
    std::vector<double> slots(1);
    expect_thrown(errc::invalid_state, [&] { halo.wait(); });
    expect_thrown(errc::invalid_state, [&] { return halo.test(); });
    expect_thrown(errc::size_mismatch, [&] { halo.start(items, std::span<double>()); });
    halo.start(items, slots);
    expect_thrown(errc::invalid_state, [&] { halo.start(items, slots); });
    halo.wait();
    EXPECT_EQ(slots[0], 1.0);
}

TEST_F(Neighbor, BytesAreItemsOfAnySize) {
    using item = std::array<std::int64_t, 3>;
    neighbor_exchange halo(where, mine(all_to_all), {.item_bytes = sizeof(item)});
    const auto make_item = [](rank_t source, count_t index) { return item{source, index, 7}; };
    std::vector<item> items, doubled, expected(static_cast<std::size_t>(num_ranks));
    for (count_t i = 0; i < num_ranks; ++i) {
        items.push_back(make_item(rank, i));
        doubled.push_back({2 * rank, 2 * i, 14});
    }
    for (const auto& a : arrivals(all_to_all, rank))
        expected[static_cast<std::size_t>(a.slot)] = make_item(a.source, a.item);
    auto slots = slots_of<item>(all_to_all, item{});
    const auto bytes = [](auto& array) { return std::as_writable_bytes(std::span(array)); };

    halo.start_bytes(bytes(items), bytes(slots), sizeof(item));
    halo.wait();
    EXPECT_EQ(slots, expected);

    const auto add = [](std::byte* to, const std::byte* from, const copy_list& list) {
        const auto add_items = [](const item& a, const item& b) {
            return item{a[0] + b[0], a[1] + b[1], a[2] + b[2]};
        };
        combine_items(reinterpret_cast<item*>(to), reinterpret_cast<const item*>(from), list,
                      add_items);
    };
    halo.start_reverse_bytes(bytes(slots), bytes(items), sizeof(item), add);
    halo.wait();
    EXPECT_EQ(items, doubled);

    expect_thrown(errc::invalid_argument, [&] { halo.start_bytes({}, {}, 0); });
    expect_thrown(errc::size_mismatch, [&] { halo.start_bytes({}, {}, 8); });
}

template <class T>
void expect_fields_as_one_by_one(neighbor_exchange& halo, const std::vector<pattern>& patterns,
                                 rank_t rank) {
    constexpr int num_fields = 3;
    std::vector<std::vector<T>> items, slots, expected_slots_of;
    std::vector<std::vector<T>> totals, expected_totals;
    const pattern& p = patterns[static_cast<std::size_t>(rank)];
    for (int f = 0; f < num_fields; ++f) {
        items.push_back(items_of<T>(p, 10 * f));
        slots.emplace_back(static_cast<std::size_t>(p.num_slots), T{5});
        expected_slots_of.push_back(expected_slots<T>(patterns, rank, 10 * f, T{5}));
        totals.push_back(items_of<T>(p, f));
        expected_totals.push_back(totals.back());
        halo.reverse(expected_slots_of.back(), expected_totals.back(), sum{});
    }
    halo.forward_fields(items, slots);
    EXPECT_EQ(slots, expected_slots_of);
    halo.start_reverse_fields(slots, totals, sum{});
    halo.wait();
    EXPECT_EQ(totals, expected_totals);
}

TEST_F(Neighbor, FieldsTravelInOneSetOfMessages) {
    for (const char* route : {"direct", "three_step", "hypercube"}) {
        for (const char* executor : {"persistent", "shared_memory"}) {
            SCOPED_TRACE(std::string(route) + " " + executor);
            for (const auto& patterns : {ring, all_to_all}) {
                neighbor_exchange halo(where, mine(patterns),
                                       {.route = route, .executor = executor});
                expect_fields_as_one_by_one<double>(halo, patterns, rank);
                expect_fields_as_one_by_one<float>(halo, patterns, rank);
                expect_fields_as_one_by_one<std::int16_t>(halo, patterns, rank);
            }
        }
    }
}

TEST_F(Neighbor, FieldsAreSpansOfOneArrayToo) {
    neighbor_exchange halo(where, mine(ring), {.route = "direct"});
    const std::array<double, 2> x{1.0 + rank, -1.0 - rank};
    std::array<double, 2> ghosts{};
    const std::span all_x(x);
    const std::span all_ghosts(ghosts);
    halo.start_fields(std::array{all_x.first(1), all_x.last(1)},
                      std::array{all_ghosts.first(1), all_ghosts.last(1)});
    halo.wait();
    const double source = 1.0 + (rank + num_ranks - 1) % num_ranks;
    EXPECT_EQ(ghosts, (std::array<double, 2>{source, -source}));
}

TEST_F(Neighbor, FieldsThatDoNotFitAreAnErrorOfTheirRank) {
    neighbor_exchange halo(where, mine(ring), {.route = "direct"});
    std::vector<std::vector<double>> items(2, std::vector<double>(1, 1.0));
    std::vector<std::vector<double>> slots(2, std::vector<double>(1));
    const auto expect_refused = [&](errc code, auto&& start) {
        if (rank == 0) {
            expect_thrown(code, start);
        } else {
            halo.start_fields(items, slots);
            if (rank == 1) {
                expect_thrown(errc::peer_failed, [&] { halo.wait(); });
            } else {
                halo.wait();
            }
        }
    };
    if (num_ranks == 1) return;
    expect_refused(errc::size_mismatch, [&] {
        halo.start_fields(items, std::vector<std::span<double>>{std::span(slots[0])});
    });
    expect_refused(errc::size_mismatch, [&] {
        halo.start_fields(items, std::vector<std::span<double>>{std::span(slots[0]), {}});
    });
    expect_refused(errc::invalid_argument, [&] {
        halo.start_fields(std::vector<std::span<double>>{}, std::vector<std::span<double>>{});
    });
    halo.forward_fields(items, slots);
    EXPECT_EQ(slots, items);
}

TEST_F(Neighbor, RefusesAPlanOfAnotherRank) {
    plan::contents other;
    other.rank = rank;
    other.num_ranks = num_ranks + 1;
    expect_thrown(errc::size_mismatch, [&] { neighbor_exchange(where, plan(other)); });
}

// Every rank sends an item to all others.
TEST_F(Neighbor, TypesFollowFromTheArrays) {
    const pattern& p = mine(all_to_all);
    neighbor_exchange halo(where, p, {.item_bytes = 24, .prepare = preparation::lazy});
    const auto num_slots = static_cast<std::size_t>(p.num_slots);
    const auto expected = expected_slots<float>(all_to_all, rank, 0, 0);
    auto items = items_of<float>(p, 0);
    std::vector<float> slots(num_slots), spanned(num_slots);
    halo.forward(items, slots);
    EXPECT_EQ(slots, expected);
    halo.forward(std::span<const float>(items), std::span(spanned));
    EXPECT_EQ(spanned, expected);

    // Arrays may be longer, and of a fixed length.
    float given[64] = {};
    std::array<float, 64> taken{}, again{};
    ASSERT_LE(std::max(items.size(), slots.size()), std::size(given));
    std::ranges::copy(items, given);
    halo.forward(std::as_const(given), taken);
    halo.start(std::as_const(taken), std::span<float, 64>(again));
    halo.wait();
    EXPECT_TRUE(std::equal(slots.begin(), slots.end(), taken.begin()));
    halo.reverse(std::span<const float, 64>(taken), given, maximum{});
    for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(given[i], items[i]);

    using triple = std::array<double, 3>;
    std::vector<triple> arrays(static_cast<std::size_t>(p.num_items)), whole = arrays;
    const std::vector<triple> ones(num_slots, triple{1, 2, 3});
    const auto sent = [&](std::size_t item) {
        return static_cast<double>(
            std::count(p.sends.indices.begin(), p.sends.indices.end(), static_cast<count_t>(item)));
    };
    halo.reverse(ones, std::span(arrays), sum{});
    for (std::size_t i = 0; i < arrays.size(); ++i)
        EXPECT_EQ(arrays[i], (triple{sent(i), 2 * sent(i), 3 * sent(i)}));
    halo.reverse(ones, arrays, [](double a, double b) { return std::max(a, b); });
    halo.reverse(ones, whole, minimum{});
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const double least = sent(i) > 0 ? 3 : 0;
        EXPECT_EQ(arrays[i],
                  (triple{std::max(sent(i), 0.0), 2 * sent(i), std::max(3 * sent(i), least)}));
        EXPECT_EQ(whole[i], triple{});
    }
    std::fill(arrays.begin(), arrays.end(), triple{1, 1, 1});
    halo.reverse(ones, arrays, product{});
    // An operation on arrays takes the whole.
    halo.reverse(ones, whole, [](const triple& a, const triple& b) { return std::max(a, b); });
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        EXPECT_EQ(arrays[i], (triple{1, std::pow(2, sent(i)), std::pow(3, sent(i))}));
        EXPECT_EQ(whole[i], sent(i) > 0 ? ones[0] : triple{});
    }
}

}  // namespace
}  // namespace crossdock::neighbor_exchange_test

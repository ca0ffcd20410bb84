// Exchanges of a device's arrays give the bits that those of the host give: on the device that CROSSDOCK_DEVICE names;
// on the mock in many schedules. Mistakes that are made on purpose show.
#include <gtest/gtest.h>
#include <mpi.h>

#include <optional>
#include <string>

#include "crossdock/device_exchange.hpp"
#include "crossdock/discover_topology.hpp"
#include "support.hpp"
#include "tests/support/patterns.hpp"
#include "tests/support/routes.hpp"

namespace crossdock::device_test {

namespace {

using device::driver;

bool is_mock() { return device::open()->name() == "mock"; }

// Of the mock so many schedules; a device has its own.
std::vector<std::shared_ptr<driver>> schedules(int num) {
    if (!is_mock()) return {device::open()};
    std::vector<std::shared_ptr<driver>> all;
    for (int seed = 1; seed <= num; ++seed)
        all.push_back(device::open("mock:" + std::to_string(seed)));
    return all;
}

class Device : public testing::Test {
  protected:
    // The first rank is one region, and the others another.
    Device() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        const std::string regions = num_ranks == 1 ? "1x1" : "1," + std::to_string(num_ranks - 1);
        world.emplace(MPI_COMM_WORLD, context_options{.topology = regions});
    }
    ~Device() override { world->close(); }

    const pattern& own(const std::vector<pattern>& all) const {
        return all[static_cast<std::size_t>(rank)];
    }
    bool any(bool here) const {
        int found = here;
        MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return found != 0;
    }
    std::uint64_t seed(int of) const { return static_cast<std::uint64_t>(1000 * of + rank); }

    rank_t rank = 0;
    rank_t num_ranks = 1;
    std::optional<context> world;
};
using DeviceKernels = Device;
using DeviceNeighbor = Device;
using DeviceGather = Device;

template <class T>
std::vector<T> filled(count_t size) {
    return std::vector<T>(static_cast<std::size_t>(size), T{});
}

TEST_F(DeviceKernels, CopyItemsOfAllSizesByLists) {
    for (const auto& on : schedules(3)) {
        const own_stream by(*on);
        const std::vector<count_t> from{7, 0, 3, 3, 9}, to{1, 0, 4, 2, 6};
        const device_array<count_t> from_list(*on, from), to_list(*on, to);
        for (const std::size_t bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 80}) {
            const auto source = draw<signed char>(10 * bytes, bytes);
            std::vector<signed char> expected(7 * bytes, 5);
            const device_array<signed char> x(*on, source), y(*on, expected);
            on->copy({y.data(), x.data(), to_list.data(), from_list.data(), 5, bytes}, by);
            for (std::size_t i = 0; i < from.size(); ++i)
                std::memcpy(&expected[static_cast<std::size_t>(to[i]) * bytes],
                            &source[static_cast<std::size_t>(from[i]) * bytes], bytes);
            EXPECT_EQ(y.get(by), expected) << bytes << " bytes";
        }
    }
}

template <class T, class Op>
void compare_fold(driver& on, Op op) {
    const own_stream by(on);
    const std::vector<count_t> offsets{0, 1, 4, 6}, list{2, 0, 3, 1, 4, 4};
    const device_array<count_t> offsets_there(on, offsets), list_there(on, list);
    for (const count_t width : {1, 3}) {
        const auto source = draw<T>(static_cast<std::size_t>(5 * width), 1);
        auto expected = filled<T>(3 * width);
        const device_array<T> x(on, source), y(on, expected);
        device::fold_call call{y.data(),          x.data(), offsets_there.data(),
                               list_there.data(), 3,        width};
        call.operation = device::fold_operation_of<Op>();
        call.type = device::fold_type_of<T>();
        on.fold(call, by);
        for (count_t i = 0; i < 3 * width; ++i) {
            const auto at = [&](count_t k) {
                return source[static_cast<std::size_t>(list[static_cast<std::size_t>(k)] * width +
                                                       i % width)];
            };
            const auto group = static_cast<std::size_t>(i / width);
            T value = at(offsets[group]);
            for (count_t k = offsets[group] + 1; k < offsets[group + 1]; ++k)
                value = op(value, at(k));
            expected[static_cast<std::size_t>(i)] = value;
        }
        EXPECT_EQ(y.get(by), expected);
    }
}

template <class Use>
void for_each_fold(Use&& use) {
    const auto with_type = [&](auto zero) {
        use(zero, sum{});
        use(zero, minimum{});
        use(zero, maximum{});
    };
    with_type(std::int32_t{});
    with_type(std::int64_t{});
    with_type(float{});
    with_type(double{});
}

TEST_F(DeviceKernels, FoldAsTheHostDoes) {
    for (const auto& on : schedules(3))
        for_each_fold([&](auto zero, auto op) { compare_fold<decltype(zero)>(*on, op); });
}

// A forward exchange, and a reverse one.
template <class T>
void compare_exchanges(const context& world, const pattern& p, const neighbor_options& options,
                       const std::shared_ptr<driver>& on, std::uint64_t seed) {
    crossdock::neighbor_exchange host(world, p, options);
    device::neighbor_exchange there(world, p, options, on);
    const own_stream by(*on);
    const auto x = draw<T>(static_cast<std::size_t>(p.num_items), seed);
    auto y = draw<T>(static_cast<std::size_t>(p.num_slots), seed + 1);
    auto z = x;
    const device_array<T> items(*on, x), slots(*on, y);
    there.start(items.span(), slots.span(), by);
    there.wait(by);
    host.forward(x, y);
    EXPECT_EQ(slots.get(by), y);
    there.start_reverse(slots.span(), items.span(), sum{}, by);
    there.wait(by);
    host.reverse(y, z, sum{});
    EXPECT_EQ(items.get(by), z);
}

TEST_F(DeviceNeighbor, HasTheHostsBitsOnEveryRoute) {
    const auto on = device::open();
    const auto random = test::random_pattern(num_ranks);
    for (const auto& route : test::conformance_routes()) {
        SCOPED_TRACE(route);
        compare_exchanges<double>(*world, own(random), {.route = route}, on, seed(1));
        compare_exchanges<double>(*world, own(random), {.route = route, .executor = "persistent"},
                                  on, seed(2));
    }
}

TEST_F(DeviceNeighbor, HasTheHostsBitsOfEveryPatternInEverySchedule) {
    for (const auto& on : schedules(6)) {
        for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
            SCOPED_TRACE(name);
            compare_exchanges<double>(*world, own(patterns), {.route = "three_step"}, on, seed(3));
            compare_exchanges<std::int32_t>(*world, own(patterns), {.item_bytes = 4}, on, seed(4));
        }
    }
}

// Items of a size that nothing is ready for, and of three bytes.
TEST_F(DeviceNeighbor, TakesItemsOfAnySize) {
    const auto on = device::open();
    const auto patterns = test::scattered_slots_pattern(num_ranks);
    const auto& p = own(patterns);
    for (const auto prepared : {preparation::both, preparation::forward, preparation::lazy}) {
        const neighbor_options options{.prepare = prepared};
        device::neighbor_exchange there(*world, p, options, on);
        crossdock::neighbor_exchange host(*world, p, options);
        const own_stream by(*on);
        for (const std::size_t bytes : {3, 40, 1, 3, 8}) {
            const auto x = draw<signed char>(static_cast<std::size_t>(p.num_items) * bytes, bytes);
            auto y = draw<signed char>(static_cast<std::size_t>(p.num_slots) * bytes, 7);
            const device_array<signed char> items(*on, x), slots(*on, y);
            there.start_bytes(std::as_bytes(items.span()), std::as_writable_bytes(slots.span()),
                              bytes, by);
            while (!there.test(by)) continue;
            host.start_bytes(std::as_bytes(std::span(x)), std::as_writable_bytes(std::span(y)),
                             bytes);
            host.wait();
            EXPECT_EQ(slots.get(by), y) << bytes << " bytes";
        }
    }
}

TEST_F(DeviceNeighbor, GoesOnWhileRoutesAreTried) {
    const auto on = device::open();
    const auto patterns = test::random_pattern(num_ranks);
    const auto& p = own(patterns);
    const neighbor_options options{.route = "auto:measure", .measure = {.exchanges_each = 2}};
    device::neighbor_exchange there(*world, p, options, on);
    const own_stream by(*on);
    crossdock::neighbor_exchange host(*world, p, {.route = "direct"});
    for (int round = 0; round < 20; ++round) {
        const auto x = draw<double>(static_cast<std::size_t>(p.num_items), seed(round));
        auto y = filled<double>(p.num_slots);
        const device_array<double> items(*on, x), slots(*on, y);
        there.start(items.span(), slots.span(), by);
        there.wait(by);
        host.forward(x, y);
        EXPECT_EQ(slots.get(by), y);
    }
}

// What a program that is in a hurry does: two exchanges at once, each started on one stream and waited for on another,
// with arrays that the streams fill and read. True if all is as on the host.
bool is_right_in_a_hurry(const context& world, const pattern& p, const std::shared_ptr<driver>& on,
                         std::uint64_t seed) {
    constexpr int num_rounds = 4;
    const auto num_items = static_cast<std::size_t>(p.num_items);
    const auto num_slots = static_cast<std::size_t>(p.num_slots);
    crossdock::neighbor_exchange host(world, p, {.route = "direct"});
    device::neighbor_exchange first(world, p, {.route = "direct"}, on);
    device::neighbor_exchange second(world, p, {.route = "three_step"}, on);
    const own_stream in(*on), out(*on);
    std::vector<std::vector<double>> expected;
    std::vector<std::unique_ptr<device_array<double>>> sources, results;
    for (int round = 0; round < 2 * num_rounds; ++round) {
        const auto x = draw<double>(num_items, seed + static_cast<std::uint64_t>(round));
        expected.emplace_back(num_slots);
        host.forward(x, expected.back());
        sources.push_back(std::make_unique<device_array<double>>(*on, x));
        results.push_back(
            std::make_unique<device_array<double>>(*on, std::vector<double>(num_slots)));
    }
    const std::vector<double> none(num_slots);
    const device_array<double> x(*on, std::vector<double>(num_items)), y(*on, none), z(*on, none);
    for (std::size_t round = 0; round < 2 * num_rounds; round += 2) {
        const auto start = [&](device::neighbor_exchange& one, std::size_t i, auto& to) {
            on->copy({x.data(), sources[i]->data(), nullptr, nullptr, p.num_items, 8}, in);
            one.start(x.span(), to.span(), in);
        };
        const auto wait = [&](device::neighbor_exchange& one, std::size_t i, auto& from) {
            one.wait(out);
            on->copy({results[i]->data(), from.data(), nullptr, nullptr, p.num_slots, 8}, out);
        };
        start(first, round, y);
        start(second, round + 1, z);
        wait(second, round + 1, z);
        wait(first, round, y);
    }
    on->wait_for(in);
    bool is_right = true;
    for (std::size_t i = 0; i < expected.size(); ++i)
        is_right = results[i]->get(out) == expected[i] && is_right;
    return is_right;
}

TEST_F(DeviceNeighbor, IsRightInAHurryInEverySchedule) {
    const auto patterns = test::scattered_slots_pattern(num_ranks);
    for (const auto& on : schedules(20))
        EXPECT_TRUE(is_right_in_a_hurry(*world, own(patterns), on, seed(5))) << on->description();
}

TEST_F(DeviceNeighbor, AForgottenSynchronizationShows) {
    if (!is_mock()) GTEST_SKIP() << "a device may be in time by chance";
    const auto patterns = test::scattered_slots_pattern(num_ranks);
    if (!any(!own(patterns).receives.indices.empty())) GTEST_SKIP() << "nothing travels";
    for (const std::string mistake : {"", ":is_complete", ":record", ":let_wait"}) {
        bool shows = false;
        for (int i = 1; i <= 20 && !shows; ++i) {
            const auto on = device::open("mock:" + std::to_string(i) + mistake);
            shows = any(!is_right_in_a_hurry(*world, own(patterns), on, seed(6)));
        }
        EXPECT_EQ(shows, !mistake.empty()) << mistake;
    }
}

// What even ranks wait for first, odd ranks start only after they have the other exchange.
TEST_F(DeviceNeighbor, StartsOnTheHostInAnyWaitOfTheLibrary) {
    const auto patterns = test::all_to_all_pattern(num_ranks);
    const auto& p = own(patterns);
    for (const auto& on : schedules(5)) {
        device::neighbor_exchange there(*world, p, {}, on);
        crossdock::neighbor_exchange host(*world, p);
        const own_stream by(*on);
        const auto x = draw<double>(static_cast<std::size_t>(p.num_items), seed(7));
        auto y = filled<double>(p.num_slots);
        const device_array<double> items(*on, x), slots(*on, y);
        there.start(items.span(), slots.span(), by);
        if (is_mock()) {
            EXPECT_FALSE(there.on_host().is_active());
        }
        EXPECT_TRUE(there.is_active());
        if (rank % 2 == 1) there.wait(by);
        host.start(x, y);
        host.wait();
        if (rank % 2 == 0) there.wait(by);
        EXPECT_EQ(slots.get(by), y);
        EXPECT_FALSE(there.is_active());
    }
}

template <class Call>
errc code_of(Call&& call) {
    try {
        call();
    } catch (const error& fault) {
        return fault.code();
    }
    return errc::success;
}

TEST_F(DeviceNeighbor, AStartThatFailsFailsForThoseWhoNeedItsItems) {
    const auto on = device::open();
    const auto patterns = test::all_to_all_pattern(num_ranks);
    const auto& p = own(patterns);
    device::neighbor_exchange there(*world, p, {.route = "direct"}, on);
    const own_stream by(*on);
    const auto x = draw<double>(static_cast<std::size_t>(p.num_items), seed(8));
    const auto before = filled<double>(p.num_slots);
    const device_array<double> items(*on, x), slots(*on, before);
    auto in_host_memory = x;
    if (rank == 0) {
        EXPECT_EQ(code_of([&] { there.start(in_host_memory, slots.span(), by); }),
                  errc::invalid_argument);
        EXPECT_FALSE(there.is_active());
    } else {
        there.start(items.span(), slots.span(), by);
        EXPECT_EQ(code_of([&] { there.wait(by); }), errc::peer_failed);
    }
    EXPECT_EQ(slots.get(by), before);
    if (rank == num_ranks - 1) {
        EXPECT_EQ(code_of([&] { there.start(items.span().first(0), slots.span(), by); }),
                  errc::size_mismatch);
    } else {
        there.start(items.span(), slots.span(), by);
        EXPECT_EQ(code_of([&] { there.wait(by); }), errc::peer_failed);
    }
    there.start(items.span(), slots.span(), by);
    EXPECT_EQ(code_of([&] { there.start(items.span(), slots.span(), by); }), errc::invalid_state);
    there.wait(by);
    EXPECT_EQ(code_of([&] { there.wait(by); }), errc::invalid_state);
    auto y = filled<double>(p.num_slots);
    crossdock::neighbor_exchange(*world, p).forward(x, y);
    EXPECT_EQ(slots.get(by), y);
}

TEST_F(DeviceNeighbor, AContextStaysOpenWhileAnExchangeIsActive) {
    const auto on = device::open();
    const auto patterns = test::ring_pattern(num_ranks);
    const auto& p = own(patterns);
    device::neighbor_exchange there(*world, p, {}, on);
    const own_stream by(*on);
    const device_array<double> items(*on, filled<double>(p.num_items));
    const device_array<double> slots(*on, filled<double>(p.num_slots));
    there.start(items.span(), slots.span(), by);
    EXPECT_EQ(code_of([&] { world->close(); }), errc::invalid_state);
    there.wait(by);
}

TEST_F(DeviceNeighbor, SaysWhichDeviceAndPath) {
    const auto on = device::open();
    const auto patterns = test::ring_pattern(num_ranks);
    const device::neighbor_exchange there(*world, own(patterns), {.route = "direct"}, on);
    const auto text = there.explain();
    EXPECT_NE(text.find("device  " + on->description()), std::string::npos) << text;
    EXPECT_NE(text.find("path    staged"), std::string::npos) << text;
    EXPECT_NE(text.find(there.on_host().explain()), std::string::npos) << text;
}

TEST_F(Device, OnlyKnownDevicesOpen) {
    EXPECT_EQ(code_of([] { (void)device::open("no_such"); }), errc::invalid_argument);
    for (const std::string name : {"mock:", "mock:x", "mock:1:", "mock:1:copy", "mock:1:record:"})
        EXPECT_EQ(code_of([&] { (void)device::open(name); }), errc::invalid_argument) << name;
}

// Ids that are shared by chance: of a rank, of several, once or often, some of them flagged.
std::vector<count_t> draw_ids(std::uint64_t seed, bool with_flags) {
    std::mt19937_64 random(seed);
    std::vector<count_t> ids(60);
    for (auto& id : ids) {
        id = static_cast<count_t>(random() % 50);
        if (with_flags && random() % 4 == 0) id = -id;
    }
    return ids;
}

template <class T, class Op>
void compare_gather(crossdock::gather_scatter& host, device::gather_scatter& there, driver& on,
                    Op op, const gather_call& how, std::uint64_t seed) {
    const own_stream by(on);
    auto values = draw<T>(static_cast<std::size_t>(host.num_ids() * how.values_per_id), seed);
    const device_array<T> x(on, values);
    there.start(x.span(), op, by, how);
    there.wait(by);
    host.combine(values, op, how);
    EXPECT_EQ(x.get(by), values);
}

TEST_F(DeviceGather, HasTheHostsBits) {
    for (const auto& on : schedules(4)) {
        for (const bool with_flags : {false, true}) {
            for (const std::string method : {"auto", "owners", "holders"}) {
                if (with_flags && method == "holders") continue;
                SCOPED_TRACE(method);
                const auto ids = draw_ids(seed(9), with_flags);
                const gather_options options{.method = method};
                crossdock::gather_scatter host(*world, ids, options);
                device::gather_scatter there(*world, ids, options, on);
                for (const bool transposed : {false, true}) {
                    for_each_fold([&](auto zero, auto op) {
                        compare_gather<decltype(zero)>(host, there, *on, op,
                                                       {.transposed = transposed}, seed(10));
                    });
                    compare_gather<double>(host, there, *on, sum{}, {transposed, 3}, seed(11));
                }
            }
        }
    }
}

TEST_F(DeviceGather, HasTheHostsBitsOnEveryRoute) {
    const auto on = device::open();
    const auto ids = draw_ids(seed(12), true);
    for (const auto& route : test::conformance_routes()) {
        SCOPED_TRACE(route);
        const gather_options options{.route = route, .unique = true};
        crossdock::gather_scatter host(*world, ids, options);
        device::gather_scatter there(*world, ids, options, on);
        compare_gather<double>(host, there, *on, sum{}, {}, seed(13));
        compare_gather<double>(host, there, *on, sum{}, {.transposed = true}, seed(14));
    }
}

// Each rank has 1 alone, and 2 on two places; 3 is everybody's.
TEST_F(DeviceGather, SendsOnlyWhatOthersHave) {
    const auto on = device::open();
    const count_t own_id = 100 + rank;
    const std::vector<count_t> ids{own_id, 200 + rank, 200 + rank, 3, 0};
    const device::gather_scatter there(*world, ids, {}, on);
    EXPECT_EQ(there.on_host().num_ids(), num_ranks == 1 ? 0 : 1);
}

TEST_F(DeviceGather, AStartThatFailsFailsForOthers) {
    const auto on = device::open();
    const std::vector<count_t> ids{1, 1, 2};
    device::gather_scatter there(*world, ids, {.method = "holders", .route = "direct"}, on);
    const own_stream by(*on);
    const device_array<double> x(*on, {1, 2, 4});
    std::vector<double> in_host_memory(3);
    if (rank == 0) {
        EXPECT_EQ(code_of([&] { there.start(in_host_memory, sum{}, by); }), errc::invalid_argument);
    } else {
        there.start(x.span(), sum{}, by);
        EXPECT_EQ(code_of([&] { there.wait(by); }), errc::peer_failed);
    }
    const device_array<double> y(*on, {1, 2, 4});
    there.start(y.span(), sum{}, by);
    there.wait(by);
    EXPECT_EQ(y.get(by), (std::vector<double>{3. * num_ranks, 3. * num_ranks, 4. * num_ranks}));
}

}  // namespace

}  // namespace crossdock::device_test

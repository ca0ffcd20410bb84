// Exchanges of a device's arrays give the bits that those of the host give: on the device that CROSSDOCK_DEVICE names;
// on the mock in many schedules. Mistakes that are made on purpose show.
#include <gtest/gtest.h>
#include <mpi.h>
#include <cstring>
#include <limits>

#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "aware_mpi.hpp"
#include "crossdock/device_exchange.hpp"
#include "crossdock/discover_topology.hpp"
#include "support.hpp"
#include "tests/support/patterns.hpp"
#include "tests/support/routes.hpp"

namespace crossdock::device_test {

namespace {

bool is_mock() { return device::open()->name() == "mock"; }

// Of the mock so many schedules; a device has its own.
std::vector<std::shared_ptr<driver>> schedules(int num) {
    if (!is_mock()) return {device::open()};
    std::vector<std::shared_ptr<driver>> all;
    for (int seed = 1; seed <= num; ++seed) {
        all.push_back(device::open("mock:" + std::to_string(seed)));
        make_mpi_know(all.back());
    }
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
        make_mpi_know(on);
    }
    ~Device() override {
        EXPECT_FALSE(was_sent_memory_changed());
        world->close();
    }

    pattern own(const std::vector<pattern>& all) const {
        return all[static_cast<std::size_t>(rank)];
    }
    bool any(bool here) const {
        int found = here;
        MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return found != 0;
    }
    std::uint64_t seed(int of) const { return static_cast<std::uint64_t>(1000 * of + rank); }
    // Of a real device `direct` only with an MPI that takes its memory.
    std::vector<std::string> paths() const {
        const auto make = [&] {
            (void)device::neighbor_exchange(*world, own(test::ring_pattern(num_ranks)), {}, on,
                                            "direct");
        };
        if (code_of(make) != errc::success) return {"staged"};
        return {"staged", "direct"};
    }

    rank_t rank = 0;
    rank_t num_ranks = 1;
    std::optional<context> world;
    const std::shared_ptr<driver> on = device::open();
};
using DeviceKernels = Device;
using DeviceNeighbor = Device;
using DeviceGather = Device;
using DeviceSparse = Device;

// Items and slots of a pattern, on the host and on a device.
template <class T = double>
struct arrays {
    arrays(driver& on, const pattern& p, std::uint64_t seed, count_t width = 1)
        : x(draw<T>(p.num_items * width, seed)),
          y(draw<T>(p.num_slots * width, seed + 1)),
          items(on, x),
          slots(on, y),
          by(on) {}

    void start(device::neighbor_exchange& exchange) const {
        exchange.start(items.span(), slots.span(), by);
    }
    std::vector<T> slots_there() const { return slots.get(by); }

    std::vector<T> x, y;
    const device_array<T> items, slots;
    const own_stream by;
};

TEST_F(DeviceKernels, CopyItemsOfAllSizesByLists) {
    for (const auto& one : schedules(3)) {
        const own_stream by(*one);
        const std::vector<count_t> from{7, 0, 3, 3, 9}, to{1, 0, 4, 2, 6};
        const device_array<count_t> from_list(*one, from), to_list(*one, to);
        for (const std::size_t bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 80}) {
            const auto source = draw<signed char>(static_cast<count_t>(10 * bytes), bytes);
            std::vector<signed char> expected(7 * bytes, 5);
            const device_array<signed char> x(*one, source), y(*one, expected);
            one->copy({y.data(), x.data(), to_list.data(), from_list.data(), 5, bytes}, by);
            for (std::size_t i = 0; i < from.size(); ++i)
                std::memcpy(&expected[static_cast<std::size_t>(to[i]) * bytes],
                            &source[static_cast<std::size_t>(from[i]) * bytes], bytes);
            EXPECT_EQ(y.get(by), expected) << bytes << " bytes";
        }
    }
}

// What < does not order; integers have nothing of that kind.
template <class T>
std::vector<T> unordered_values(count_t length) {
    constexpr std::array some{-0.0, 0.0, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0,
                              1.0,  -1.0};
    std::vector<T> values;
    for (count_t i = 0; i < length; ++i)
        values.push_back(static_cast<T>(some[static_cast<std::size_t>(i) % some.size()]));
    return values;
}

template <class T, class Op>
void compare_fold(driver& on, Op op, bool is_unordered = false) {
    const own_stream by(on);
    const std::vector<count_t> offsets{0, 1, 4, 6}, list{2, 0, 3, 1, 4, 4};
    const device_array<count_t> offsets_there(on, offsets), list_there(on, list);
    for (const count_t width : {1, 3}) {
        const auto source = is_unordered ? unordered_values<T>(5 * width) : draw<T>(5 * width, 1);
        std::vector<T> expected(static_cast<std::size_t>(3 * width));
        const device_array<T> x(on, source), y(on, expected);
        auto call = *device::fold_of<T, Op>();
        call.to = y.data();
        call.from = x.data();
        call.offsets = offsets_there.data();
        call.list = list_there.data();
        call.num_groups = 3;
        call.width = width;
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
        const auto found = y.get(by);
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(T)), 0);
    }
}

template <class Use>
void for_each_fold(Use&& use) {
    const auto with_types = [&](auto... zeros) {
        (use(zeros, sum{}), ...);
        (use(zeros, minimum{}), ...);
        (use(zeros, maximum{}), ...);
    };
    with_types(std::int32_t{}, std::int64_t{}, float{}, double{});
}

TEST_F(DeviceKernels, FoldAsTheHostDoes) {
    for (const auto& one : schedules(3))
        for_each_fold([&](auto zero, auto op) { compare_fold<decltype(zero)>(*one, op); });
}

TEST_F(DeviceKernels, ExtremesAreThoseOfTheHostBitByBit) {
    for (const auto& one : schedules(3)) {
        compare_fold<double>(*one, minimum{}, true);
        compare_fold<double>(*one, maximum{}, true);
        compare_fold<float>(*one, minimum{}, true);
        compare_fold<float>(*one, maximum{}, true);
    }
}

// Forward exchanges, and reverse ones.
template <class T, class Op = sum>
void compare_exchanges(const context& world, const pattern& p, const neighbor_options& options,
                       const std::shared_ptr<driver>& on, std::uint64_t seed,
                       const std::string& path = "auto", Op op = {}) {
    crossdock::neighbor_exchange host(world, p, options);
    device::neighbor_exchange there(world, p, options, on, path);
    arrays<T> a(*on, p, seed);
    for (int round = 0; round < 2; ++round) {
        a.start(there);
        EXPECT_FALSE(path == "direct" && there.on_host().is_active());
        there.wait(a.by);
        host.forward(a.x, a.y);
        EXPECT_EQ(a.slots_there(), a.y);
        there.start_reverse(a.slots.span(), a.items.span(), op, a.by);
        there.wait(a.by);
        host.reverse(a.y, a.x, op);
        EXPECT_EQ(a.items.get(a.by), a.x);
    }
}

TEST_F(DeviceNeighbor, HasTheHostsBitsOnEveryRoute) {
    const auto p = own(test::random_pattern(num_ranks));
    for (const auto& route : test::conformance_routes()) {
        SCOPED_TRACE(route);
        compare_exchanges<double>(*world, p, {.route = route}, on, seed(1));
        compare_exchanges<double>(*world, p, {.route = route, .executor = "persistent"}, on,
                                  seed(2));
    }
}

TEST_F(DeviceNeighbor, HasTheHostsBitsOfEveryPatternInEverySchedule) {
    for (const auto& one : schedules(6)) {
        for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
            SCOPED_TRACE(name);
            compare_exchanges<double>(*world, own(patterns), {.route = "three_step"}, one, seed(3));
            compare_exchanges<std::int32_t>(*world, own(patterns), {.item_bytes = 4}, one, seed(4));
        }
    }
}

class DeviceDirect : public Device {
  protected:
    void SetUp() override {
        if (paths().size() == 1) GTEST_SKIP() << "this MPI takes no memory of the device";
    }
    // In one message or in many parts; in reverse as the host combines reproducibly.
    template <class T, class Op>
    void compare(const pattern& p, const std::shared_ptr<driver>& one, std::size_t part_bytes,
                 Op op, std::uint64_t seed) const {
        compare_exchanges<T>(*world, p, {.max_message_bytes = part_bytes, .reproducible = true},
                             one, seed, "direct", op);
    }
};

TEST_F(DeviceDirect, HasTheHostsBitsOfEveryPatternInEverySchedule) {
    for (const auto& one : schedules(4)) {
        for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
            SCOPED_TRACE(name);
            const auto p = own(patterns);
            compare<double>(p, one, 0, sum{}, seed(20));
            compare<float>(p, one, 12, maximum{}, seed(21));
            compare<std::int64_t>(p, one, 1, minimum{}, seed(22));
        }
    }
}

// What a device cannot combine goes through the host.
TEST_F(DeviceDirect, LetsTheHostCombineByOtherOperations) {
    const auto p = own(test::random_pattern(num_ranks));
    compare<double>(p, on, 0, std::multiplies<>{}, seed(23));
    compare<signed char>(p, on, 0, sum{}, seed(24));
}

TEST_F(DeviceDirect, CombinesItemsThatAreArrays) {
    const auto p = own(test::random_pattern(num_ranks));
    using item = std::array<double, 3>;
    device::neighbor_exchange there(*world, p, {}, on, "direct");
    crossdock::neighbor_exchange host(*world, p, {.reproducible = true});
    arrays<double> a(*on, p, seed(25), 3);
    const auto items_of = []<class T>(T* values, count_t size) {
        return std::span(reinterpret_cast<item*>(values), static_cast<std::size_t>(size));
    };
    there.start_reverse(items_of(a.slots.data(), p.num_slots),
                        items_of(a.items.data(), p.num_items), sum{}, a.by);
    EXPECT_FALSE(there.on_host().is_active());
    there.wait(a.by);
    host.reverse(items_of(a.y.data(), p.num_slots), items_of(a.x.data(), p.num_items), sum{});
    EXPECT_EQ(a.items.get(a.by), a.x);
}

// Items of a size that nothing is ready for, and of three bytes.
TEST_F(DeviceNeighbor, TakesItemsOfAnySize) {
    const auto p = own(test::scattered_slots_pattern(num_ranks));
    for (const auto prepared : {preparation::both, preparation::forward, preparation::lazy}) {
        const neighbor_options options{.prepare = prepared};
        device::neighbor_exchange there(*world, p, options, on);
        crossdock::neighbor_exchange host(*world, p, options);
        for (const std::size_t bytes : {3, 40, 1, 3, 8}) {
            arrays<signed char> a(*on, p, bytes, static_cast<count_t>(bytes));
            there.start_bytes(std::as_bytes(a.items.span()), std::as_writable_bytes(a.slots.span()),
                              bytes, a.by);
            while (!there.test(a.by)) continue;
            host.start_bytes(std::as_bytes(std::span(a.x)), std::as_writable_bytes(std::span(a.y)),
                             bytes);
            host.wait();
            EXPECT_EQ(a.slots_there(), a.y) << bytes << " bytes";
        }
    }
}

TEST_F(DeviceNeighbor, GoesOnWhileRoutesAreTried) {
    const auto p = own(test::random_pattern(num_ranks));
    const neighbor_options options{.route = "auto:measure", .measure = {.exchanges_each = 2}};
    device::neighbor_exchange there(*world, p, options, on);
    crossdock::neighbor_exchange host(*world, p, {.route = "direct"});
    for (int round = 0; round < 20; ++round) {
        arrays a(*on, p, seed(round));
        a.start(there);
        there.wait(a.by);
        host.forward(a.x, a.y);
        EXPECT_EQ(a.slots_there(), a.y);
    }
}

// What a program that is in a hurry does: two exchanges at once, each started on one stream and waited for on another,
// with arrays that the streams fill and read. True if all is as on the host.
bool is_right_in_a_hurry(const context& world, const pattern& p, const std::shared_ptr<driver>& on,
                         std::uint64_t seed, const std::string& path) {
    crossdock::neighbor_exchange host(world, p, {.route = "direct"});
    make_mpi_know(on);
    device::neighbor_exchange first(world, p, {.route = "direct"}, on, path);
    device::neighbor_exchange second(world, p, {.route = "three_step"}, on, path);
    const own_stream in(*on), out(*on);
    const arrays a(*on, p, seed + 100), b(*on, p, seed + 100);
    std::vector<std::unique_ptr<arrays<>>> rounds;  // sources, and where results go
    for (std::uint64_t i = 0; i < 8; ++i) {
        auto& round = *rounds.emplace_back(std::make_unique<arrays<>>(*on, p, seed + i));
        round.y = a.y;
        host.forward(round.x, round.y);
    }
    const auto start = [&](device::neighbor_exchange& one, std::size_t i, const arrays<>& to) {
        on->copy({a.items.data(), rounds[i]->items.data(), nullptr, nullptr, p.num_items, 8}, in);
        one.start(a.items.span(), to.slots.span(), in);
    };
    const auto wait = [&](device::neighbor_exchange& one, std::size_t i, const arrays<>& from) {
        one.wait(out);
        on->copy({rounds[i]->slots.data(), from.slots.data(), nullptr, nullptr, p.num_slots, 8},
                 out);
    };
    for (std::size_t round = 0; round < rounds.size(); round += 2) {
        start(first, round, a);
        start(second, round + 1, b);
        wait(second, round + 1, b);
        wait(first, round, a);
    }
    on->wait_for(in);
    bool is_right = !was_sent_memory_changed();
    for (const auto& round : rounds) is_right = round->slots.get(out) == round->y && is_right;
    return is_right;
}

TEST_F(DeviceNeighbor, IsRightInAHurryInEverySchedule) {
    const auto p = own(test::scattered_slots_pattern(num_ranks));
    for (const auto& path : paths())
        for (const auto& one : schedules(20))
            EXPECT_TRUE(is_right_in_a_hurry(*world, p, one, seed(5), path)) << one->description();
}

TEST_F(DeviceNeighbor, AForgottenSynchronizationShows) {
    if (!is_mock()) GTEST_SKIP() << "a device may be in time by chance";
    const auto p = own(test::scattered_slots_pattern(num_ranks));
    if (!any(!p.receives.indices.empty())) GTEST_SKIP() << "nothing travels";
    for (const std::string path : {"staged", "direct"}) {
        for (const std::string mistake : {"", ":is_complete", ":record", ":let_wait"}) {
            bool shows = false;
            const int num_seeds = mistake.empty() ? 20 : 400;
            for (int i = 1; i <= num_seeds && !shows; ++i) {
                const auto other = device::open("mock:" + std::to_string(i) + mistake);
                shows = any(!is_right_in_a_hurry(*world, p, other, seed(6), path));
            }
            EXPECT_EQ(shows, !mistake.empty()) << path << mistake;
        }
    }
}

// What even ranks wait for first, odd ranks start only after they have the other exchange.
TEST_F(DeviceNeighbor, StartsOnTheHostInAnyWaitOfTheLibrary) {
    const auto p = own(test::all_to_all_pattern(num_ranks));
    for (const auto& one : schedules(5)) {
        device::neighbor_exchange there(*world, p, {}, one);
        crossdock::neighbor_exchange host(*world, p);
        arrays a(*one, p, seed(7));
        a.start(there);
        if (is_mock()) {
            EXPECT_FALSE(there.on_host().is_active());
        }
        EXPECT_TRUE(there.is_active());
        if (rank % 2 == 1) there.wait(a.by);
        host.start(a.x, a.y);
        host.wait();
        if (rank % 2 == 0) there.wait(a.by);
        EXPECT_EQ(a.slots_there(), a.y);
        EXPECT_FALSE(there.is_active());
    }
}

// Exchanges that fail on one rank after another, and then one that does not.
TEST_F(DeviceNeighbor, AStartThatFailsFailsForThoseWhoNeedItsItems) {
    const auto p = own(test::all_to_all_pattern(num_ranks));
    for (const auto& path : paths()) {
        SCOPED_TRACE(path);
        device::neighbor_exchange there(*world, p, {.route = "direct"}, on, path);
        arrays a(*on, p, seed(8));
        const auto start = [&] { a.start(there); };
        const auto wait = [&] { there.wait(a.by); };
        const auto fails_on = [&](rank_t bad, std::span<const double> items, errc why) {
            if (rank == bad) {
                EXPECT_EQ(code_of([&] { there.start(items, a.slots.span(), a.by); }), why);
                EXPECT_FALSE(there.is_active());
            } else {
                start();
                EXPECT_EQ(code_of(wait), errc::peer_failed);
            }
            EXPECT_EQ(a.slots_there(), a.y);
        };
        fails_on(0, a.x, errc::invalid_argument);
        fails_on(num_ranks - 1, a.items.span().first(0), errc::size_mismatch);
        start();
        EXPECT_EQ(code_of(start), errc::invalid_state);
        wait();
        EXPECT_EQ(code_of(wait), errc::invalid_state);
        crossdock::neighbor_exchange(*world, p).forward(a.x, a.y);
        EXPECT_EQ(a.slots_there(), a.y);
        // Of several ranks the lowest tells its error, and of one the last.
        const auto told = world->last_peer_error();
        ASSERT_TRUE(told);
        EXPECT_EQ(told->code(), num_ranks == 1 ? errc::size_mismatch : errc::invalid_argument);
    }
}

// The others are done while the rank that failed starts nothing more.
TEST_F(DeviceDirect, MessagesToAStartThatFailedAreTakenLater) {
    const auto p = own(test::all_to_all_pattern(num_ranks));
    {
        device::neighbor_exchange there(*world, p, {}, on, "direct");
        arrays a(*on, p, seed(26));
        if (rank == 0) {
            EXPECT_EQ(code_of([&] { there.start(a.x, a.slots.span(), a.by); }),
                      errc::invalid_argument);
        } else {
            a.start(there);
            EXPECT_EQ(code_of([&] { there.wait(a.by); }), errc::peer_failed);
        }
    }
    compare<double>(p, on, 0, sum{}, seed(27));
}

// In as many parts as those of others whose size it does not know.
TEST_F(DeviceDirect, AStartThatFailsNeedNotKnowTheSizeOfItems) {
    test::pattern_builder all(num_ranks);
    for (rank_t pair = 0; pair < num_ranks * num_ranks; ++pair)
        for (count_t item = 0; item < 8; ++item) all.send(pair / num_ranks, item, pair % num_ranks);
    const auto p = own(all.take());
    device::neighbor_exchange there(*world, p, {.max_message_bytes = 16}, on, "direct");
    arrays<double> a(*on, p, seed(28), 5);
    crossdock::neighbor_exchange host(*world, p);
    for (const std::size_t bytes : {8, 2, 40, 8}) {
        const auto start = [&](std::size_t size) {
            there.start_bytes(std::as_bytes(a.items.span()), std::as_writable_bytes(a.slots.span()),
                              size, a.by);
        };
        if (rank == 0) {
            EXPECT_EQ(code_of([&] { start(0); }), errc::invalid_argument);
        } else {
            start(bytes);
            EXPECT_EQ(code_of([&] { there.wait(a.by); }), errc::peer_failed);
        }
        start(bytes);
        there.wait(a.by);
        host.start_bytes(std::as_bytes(std::span(a.x)), std::as_writable_bytes(std::span(a.y)),
                         bytes);
        host.wait();
        EXPECT_EQ(a.slots_there(), a.y) << bytes << " bytes";
    }
    // Nothing is there to read: the bytes of a message cannot be counted.
    const std::size_t most = std::size_t{1} << 31;
    device::neighbor_exchange many(*world, p, {}, on, "direct");
    const std::span items(reinterpret_cast<std::byte*>(a.items.data()), 8 * most);
    const std::span slots(reinterpret_cast<std::byte*>(a.slots.data()),
                          static_cast<std::size_t>(p.num_slots) * most);
    EXPECT_EQ(code_of([&] { many.start_bytes(items, slots, most, a.by); }), errc::count_overflow);
    a.start(many);
    many.wait(a.by);
}

TEST_F(DeviceNeighbor, AContextStaysOpenWhileAnExchangeIsActive) {
    const auto p = own(test::ring_pattern(num_ranks));
    device::neighbor_exchange there(*world, p, {}, on);
    const arrays a(*on, p, 1);
    a.start(there);
    EXPECT_EQ(code_of([&] { world->close(); }), errc::invalid_state);
    there.wait(a.by);
}

TEST_F(DeviceNeighbor, SaysWhichDeviceAndPath) {
    const auto p = own(test::ring_pattern(num_ranks));
    const auto explain = [&](const context& where, const std::string& path) {
        const device::neighbor_exchange there(where, p, {}, on, path);
        EXPECT_TRUE(there.explain().ends_with("\n" + there.on_host().explain()));
        return there.explain();
    };
    const std::string begin = "device  " + on->description() + "\npath    ";
    EXPECT_TRUE(explain(*world, "staged").starts_with(begin + "staged: as given\n"));
    EXPECT_EQ(code_of([&] { explain(*world, "fast"); }), errc::invalid_argument);
    if (!is_mock()) return;
    EXPECT_TRUE(explain(*world, "direct").starts_with(begin + "direct: as given\n"));
    EXPECT_TRUE(explain(*world, "auto").starts_with(begin + "staged: the machine "))
        << explain(*world, "auto");
    let_mpi_say(rank > 0);
    EXPECT_TRUE(explain(*world, "auto").starts_with(begin + "staged: "));
    EXPECT_EQ(code_of([&] { explain(*world, "direct"); }), errc::invalid_state);
    let_mpi_say(true);
}

// A ring of one item in each message: copies are what differs.
TEST_F(DeviceNeighbor, TakesTheCheaperPath) {
    if (!is_mock()) GTEST_SKIP() << "an MPI may not take its memory";
    const auto p = own(test::ring_pattern(num_ranks));
    auto m = default_machine();
    auto& costs = m.device.emplace();
    costs.levels = m.levels;
    m.sources["device"] = "assumed";
    const auto explain = [&](double copy_seconds, const neighbor_options& options) {
        m.device->copy.latency_seconds = copy_seconds;
        const auto explained =
            device::neighbor_exchange(world->with_machine(m), p, options, on).explain();
        return explained.substr(explained.find("path    ") + 8);
    };
    EXPECT_TRUE(explain(1e-3, {}).starts_with("direct: estimated: direct ")) << explain(1e-3, {});
    EXPECT_NE(explain(1e-3, {}).find("us, of which copies 2000.000 us"), std::string::npos);
    EXPECT_TRUE(explain(1e-3, {.route = "direct"}).starts_with("staged: a route was given"));
    costs.levels[0].eager.latency_seconds = costs.levels[1].eager.latency_seconds =
        costs.levels[2].eager.latency_seconds = costs.levels[3].eager.latency_seconds = 1e-2;
    EXPECT_TRUE(explain(1e-6, {}).starts_with("staged: estimated: direct ")) << explain(1e-6, {});
}

TEST_F(Device, OnlyKnownDevicesOpen) {
    EXPECT_EQ(code_of([] { (void)device::open("no_such"); }), errc::invalid_argument);
    for (const std::string name : {"mock:", "mock:x", "mock:1:", "mock:1:copy", "mock:1:record:"})
        EXPECT_EQ(code_of([&] { (void)device::open(name); }), errc::invalid_argument) << name;
}

// Messages of drawn lengths, some of them empty, to drawn ranks, this one among them.
struct drawn_messages {
    drawn_messages(rank_t num_ranks, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        for (int i = 0; i < 6; ++i) {
            destinations.push_back(
                static_cast<rank_t>(random() % static_cast<unsigned>(num_ranks)));
            counts.push_back(static_cast<count_t>(random() % 4));
        }
        values = draw<double>(std::accumulate(counts.begin(), counts.end(), count_t{0}), seed);
    }
    std::vector<rank_t> destinations;
    std::vector<count_t> counts;
    std::vector<double> values;
};

void compare_sparse(const context& world, const std::shared_ptr<driver>& on,
                    const std::string& algorithm, std::uint64_t seed) {
    const own_stream by(*on);
    const drawn_messages sent(world.num_ranks(), seed);
    const auto expected = sparse_exchange(world, sent.destinations, sent.counts, sent.values,
                                          {.algorithm = algorithm});
    // The stream fills what is sent.
    const device_array<double> source(*on, sent.values);
    const device_array<double> x(*on, std::vector<double>(sent.values.size()));
    const auto copy = [&](double* to, const double* from, std::size_t size) {
        on->copy({to, from, nullptr, nullptr, static_cast<count_t>(size), 8}, by);
    };
    copy(x.data(), source.data(), sent.values.size());
    const auto came = device::sparse_exchange(world, sent.destinations, sent.counts, x.span(), by,
                                              {.algorithm = algorithm}, on);
    EXPECT_EQ(came.sources, expected.sources);
    EXPECT_EQ(came.counts, expected.counts);
    EXPECT_EQ(came.displacements, expected.displacements);
    const device_array<double> y(*on, std::vector<double>(came.values.size()));
    copy(y.data(), came.values.data(), came.values.size());
    EXPECT_EQ(y.get(by), expected.values);
}

TEST_F(DeviceSparse, HasTheHostsBitsByEveryAlgorithmInEverySchedule) {
    std::vector<std::string> algorithms{"auto"};
    for (const auto& one : registered_exchange_algorithms())
        if (!takes_one_size_only(one.method)) algorithms.push_back(one.example);
    for (const auto& one : schedules(3)) {
        for (const auto& algorithm : algorithms) {
            SCOPED_TRACE(algorithm);
            compare_sparse(*world, one, algorithm, seed(30));
        }
    }
}

TEST_F(DeviceSparse, FailsOnAllRanks) {
    const own_stream by(*on);
    const device_array<double> x(*on, {1, 2});
    std::vector<double> in_host_memory(2);
    const std::vector<rank_t> to{rank};
    const auto code = [&](std::vector<count_t> counts, std::span<double> values) {
        return code_of(
            [&] { (void)device::sparse_exchange(*world, to, counts, values, by, {}, on); });
    };
    const std::span<double> wrong(in_host_memory);
    EXPECT_EQ(code({2}, rank == 0 ? wrong : x.span()), errc::invalid_argument);
    EXPECT_EQ(code({rank == 0 ? 3 : 2}, x.span()), errc::size_mismatch);
    EXPECT_EQ(code({rank == 0 ? -1 : 2}, x.span()), errc::invalid_argument);
    EXPECT_EQ(code({2}, x.span()), errc::success);
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
    auto values = draw<T>(host.num_ids() * how.values_per_id, seed);
    const device_array<T> x(on, values);
    there.start(x.span(), op, by, how);
    there.wait(by);
    host.combine(values, op, how);
    EXPECT_EQ(x.get(by), values);
}

TEST_F(DeviceGather, HasTheHostsBits) {
    for (const auto& one : schedules(4)) {
        for (const bool with_flags : {false, true}) {
            for (const std::string method : {"auto", "owners", "holders"}) {
                if (with_flags && method == "holders") continue;
                SCOPED_TRACE(method);
                const auto ids = draw_ids(seed(9), with_flags);
                const gather_options options{.method = method};
                crossdock::gather_scatter host(*world, ids, options);
                device::gather_scatter there(*world, ids, options, one);
                for (const bool transposed : {false, true}) {
                    for_each_fold([&](auto zero, auto op) {
                        compare_gather<decltype(zero)>(host, there, *one, op,
                                                       {.transposed = transposed}, seed(10));
                    });
                    compare_gather<double>(host, there, *one, sum{}, {transposed, 3}, seed(11));
                }
            }
        }
    }
}

TEST_F(DeviceGather, HasTheHostsBitsOnEveryRoute) {
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
    const count_t own_id = 100 + rank;
    const std::vector<count_t> ids{own_id, 200 + rank, 200 + rank, 3, 0};
    const device::gather_scatter there(*world, ids, {}, on);
    EXPECT_EQ(there.on_host().num_ids(), num_ranks == 1 ? 0 : 1);
}

TEST_F(DeviceGather, AStartThatFailsFailsForOthers) {
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

// Every step late in as many orders as CROSSDOCK_DEVICE_SCHEDULES says: with each seed one of the kinds of exchanges.
TEST_F(Device, NoScheduleChangesAnything) {
    if (!is_mock()) GTEST_SKIP() << "a device has one schedule";
    const char* const asked = std::getenv("CROSSDOCK_DEVICE_SCHEDULES");
    const int num_schedules = asked ? std::atoi(asked) : 60;
    const auto p = own(test::scattered_slots_pattern(num_ranks));
    const auto ids = draw_ids(seed(15), true);
    crossdock::gather_scatter host(*world, ids);
    int num_wrong = 0;
    for (int i = 0; i < num_schedules; ++i) {
        const auto one = device::open("mock:" + std::to_string(1000 + i));
        if (i % 4 < 2) {
            const std::string path = i % 4 == 0 ? "staged" : "direct";
            num_wrong += !is_right_in_a_hurry(*world, p, one, seed(i), path);
        } else if (i % 4 == 2) {
            device::gather_scatter there(*world, ids, {}, one);
            compare_gather<double>(host, there, *one, sum{}, {.transposed = i % 8 == 2}, seed(i));
        } else {
            compare_sparse(*world, one, "auto", seed(i));
        }
    }
    EXPECT_EQ(num_wrong, 0);
}

}  // namespace

}  // namespace crossdock::device_test

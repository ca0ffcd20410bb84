#include "crossdock/gather_scatter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/route.hpp"
#include "gather/combined.hpp"
#include "support/patterns.hpp"
#include "support/sensitive_values.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::gather_scatter_test {
namespace {

template <class Call>
errc code_of(Call call) {
    return test::thrown_by(call).code();
}

using id_list = std::vector<count_t>;

// The ids of all ranks.
struct id_case {
    const char* name;
    std::vector<id_list> of_rank;
};

// Elements of three points in a ring; neighbors share a point, and one element wraps around.
id_list ring(rank_t rank, rank_t num_ranks) {
    id_list ids;
    for (count_t e = 4 * rank; e < 4 * (rank + 1); ++e)
        for (count_t point = 2 * e; point <= 2 * e + 2; ++point)
            ids.push_back(1 + point % (8 * num_ranks));
    return ids;
}

// Numbers in [0, most) of a fixed sequence.
class numbers {
  public:
    explicit numbers(std::uint64_t seed) : state_(seed) {}
    count_t below(count_t most) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<count_t>((state_ >> 33) % static_cast<std::uint64_t>(most));
    }

  private:
    std::uint64_t state_;
};

std::vector<id_case> cases(rank_t num_ranks, bool with_flags) {
    std::vector<id_case> all{
        {"ring", {}}, {"all share two", {}}, {"random", {}}, {"none", {}}, {"one rank", {}}};
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        all[0].of_rank.push_back(ring(rank, num_ranks));
        all[1].of_rank.push_back({5, 100 + rank, std::numeric_limits<count_t>::max(), 0, 5});
        numbers random(static_cast<std::uint64_t>(rank) + 17);
        id_list ids(static_cast<std::size_t>(40 + random.below(20)));
        for (auto& id : ids) id = random.below(30 * num_ranks);
        all[2].of_rank.push_back(ids);
        all[3].of_rank.push_back({});
        all[4].of_rank.push_back(rank == num_ranks - 1 ? id_list{3, 4, 3, 0, 0, 3} : id_list{});
    }
    if (!with_flags) return all;
    const auto num_plain = all.size();
    for (std::size_t c = 0; c < num_plain; ++c) {
        numbers random(c + 3);
        auto flagged = all[c];
        for (auto& ids : flagged.of_rank)
            for (auto& id : ids)
                if (random.below(2) == 0) id = -id;
        all.push_back(std::move(flagged));
    }
    // An id that one rank only flags, one that all do, and one with a plain and a flagged copy.
    all.push_back({"flags", {}});
    for (rank_t rank = 0; rank < num_ranks; ++rank)
        all.back().of_rank.push_back(
            {rank == num_ranks - 1 ? 1 : -1, -2, -2, 3, -3, 0, -100 - rank});
    return all;
}

double value_of(rank_t rank, std::size_t place) {
    return 1 + static_cast<double>((7 * static_cast<std::size_t>(rank) + 3 * place) % 11);
}

// With the method "holders".
constexpr std::size_t most_holders = 16;

struct method_on_route {
    std::string method;
    std::string route;
};

class GatherScatter : public testing::Test {
  protected:
    void TearDown() override { where.close(); }

    std::size_t rank() const { return static_cast<std::size_t>(where.rank()); }
    std::size_t num_ranks() const { return static_cast<std::size_t>(where.num_ranks()); }

    std::vector<std::vector<double>> values_for(const std::vector<id_list>& ids) const {
        std::vector<std::vector<double>> values;
        for (std::size_t r = 0; r < ids.size(); ++r) {
            values.emplace_back();
            for (std::size_t i = 0; i < ids[r].size(); ++i)
                values.back().push_back(value_of(static_cast<rank_t>(r), i));
        }
        return values;
    }

    template <class Op>
    void expect_combined(gather_scatter& shared, const std::vector<id_list>& ids, Op op,
                         bool transposed) {
        auto values = values_for(ids);
        shared.combine(values[rank()], op, {.transposed = transposed});
        EXPECT_EQ(values[rank()], test::combined(ids, values_for(ids), op, transposed)[rank()]);
    }

    context where{MPI_COMM_WORLD};
};

TEST_F(GatherScatter, EveryRouteAndMethodGivesWhatASerialLoopGives) {
    for (const auto& regions : test::conformance_topologies(where.num_ranks())) {
        const auto at = where.with_topology(regions);
        for (const auto& one : cases(where.num_ranks(), true)) {
            std::vector<method_on_route> ways{{"auto", "auto"}};
            for (const auto& r : registered_routes()) ways.push_back({"owners", r.example});
            const bool is_plain = std::ranges::none_of(one.of_rank, [](const id_list& ids) {
                return std::ranges::any_of(ids, [](count_t id) { return id < 0; });
            });
            if (is_plain && num_ranks() <= most_holders)
                for (const auto name : {"direct", "three_step"}) ways.push_back({"holders", name});
            for (const auto& [method, route] : ways) {
                SCOPED_TRACE(std::string(one.name) + " " + method + " " + route);
                gather_scatter shared(at, one.of_rank[rank()], {.method = method, .route = route});
                for (const bool transposed : {false, true}) {
                    expect_combined(shared, one.of_rank, sum{}, transposed);
                    expect_combined(shared, one.of_rank, minimum{}, transposed);
                }
            }
        }
    }
}

// Copies of each rank first, then ranks in their order.
std::map<count_t, double> sums_by_rank(const std::vector<id_list>& ids) {
    std::map<count_t, double> sums;
    for (std::size_t r = 0; r < ids.size(); ++r) {
        std::map<count_t, double> own;
        for (std::size_t i = 0; i < ids[r].size(); ++i) {
            const double value =
                test::sensitive_value(static_cast<rank_t>(r), static_cast<count_t>(i));
            const auto [known, is_new] = own.try_emplace(ids[r][i], value);
            if (!is_new) known->second += value;
        }
        for (const auto& [id, value] : own) {
            const auto [known, is_new] = sums.try_emplace(id, value);
            if (!is_new) known->second += value;
        }
    }
    return sums;
}

TEST_F(GatherScatter, ReproducibleSumsHaveTheSameBitsByEveryMethodRouteAndExecutor) {
    for (const auto& one : cases(where.num_ranks(), false)) {
        const auto& ids = one.of_rank[rank()];
        auto expected = test::sensitive_values(where.rank(), ids.size());
        const auto sums = sums_by_rank(one.of_rank);
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (ids[i] != 0) expected[i] = sums.at(ids[i]);
        std::vector<method_on_route> ways{{"auto", "auto"}};
        for (const auto& r : registered_routes()) ways.push_back({"owners", r.example});
        if (num_ranks() <= most_holders)
            for (const auto name : {"direct", "two_step"}) ways.push_back({"holders", name});
        for (const auto& regions : test::conformance_topologies(where.num_ranks())) {
            for (const auto& [method, route] : ways) {
                for (const char* const executor : {"persistent", "shared_memory"}) {
                    SCOPED_TRACE(std::string(one.name) + " " + method + " " + route + executor);
                    gather_scatter shared(where.with_topology(regions), ids,
                                          {.method = method,
                                           .route = route,
                                           .executor = executor,
                                           .reproducible = true});
                    auto values = test::sensitive_values(where.rank(), ids.size());
                    shared.combine(values, sum{});
                    ASSERT_EQ(test::bits_of(values), test::bits_of(expected));
                }
            }
        }
    }
}

TEST_F(GatherScatter, ReproducibleSumsOfFlaggedCopiesHaveTheSameBitsOnEveryRoute) {
    for (const auto& one : cases(where.num_ranks(), true)) {
        const auto& ids = one.of_rank[rank()];
        for (const bool transposed : {false, true}) {
            std::optional<test::number_bits> first;
            for (const auto& r : registered_routes()) {
                SCOPED_TRACE(std::string(one.name) + " " + r.example);
                gather_scatter shared(
                    where.with_topology(test::conformance_topologies(where.num_ranks())[2]), ids,
                    {.route = r.example, .reproducible = true});
                auto values = test::sensitive_values(where.rank(), ids.size());
                shared.combine(values, sum{}, {.transposed = transposed});
                if (!first) first = test::bits_of(values);
                ASSERT_EQ(test::bits_of(values), *first);
            }
        }
    }
}

TEST_F(GatherScatter, AllOperationsAndTypesCombine) {
    const auto one = cases(where.num_ranks(), true)[6];
    gather_scatter shared(where, one.of_rank[rank()]);
    for (const bool transposed : {false, true}) {
        expect_combined(shared, one.of_rank, maximum{}, transposed);
        // Products of few small numbers, which doubles hold.
        expect_combined(shared, one.of_rank, product{}, transposed);
        expect_combined(
            shared, one.of_rank, [](double a, double b) { return a + b + a * b; }, transposed);
        std::vector<std::vector<std::int32_t>> bits;
        for (const auto& ids : one.of_rank) {
            bits.emplace_back();
            for (const auto id : ids)
                bits.back().push_back(
                    1 << ((std::abs(id) % 30 + static_cast<count_t>(bits.size())) % 30));
        }
        const auto expected = test::combined(one.of_rank, bits, bit_or{}, transposed);
        shared.combine(bits[rank()], bit_or{}, {.transposed = transposed});
        EXPECT_EQ(bits[rank()], expected[rank()]);
    }
}

TEST_F(GatherScatter, SeveralValuesOfAnIdTravelTogether) {
    for (const std::string method : {"owners", "holders"}) {
        const auto one = cases(where.num_ranks(), false)[2];
        gather_scatter shared(where, one.of_rank[rank()], {.method = method});
        const auto& ids = one.of_rank[rank()];
        const auto plain = values_for(one.of_rank);
        const auto expected = test::combined(one.of_rank, plain, sum{}, false)[rank()];
        const auto sent = shared.statistics();

        // Three fields: arrays apart, k values together, and arrays as items.
        std::vector<std::vector<double>> fields(3, plain[rank()]);
        for (auto& v : fields[1]) v *= 2;
        for (auto& v : fields[2]) v *= 3;
        std::vector<double> together;
        std::vector<std::array<double, 3>> items;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            items.push_back({fields[0][i], fields[1][i], fields[2][i]});
            together.insert(together.end(), items[i].begin(), items[i].end());
        }
        auto pairs = fields;
        shared.combine_fields(fields, sum{});
        shared.combine(together, sum{}, {.values_per_id = 3});
        shared.combine(items, sum{});
        for (std::size_t i = 0; i < ids.size(); ++i) {
            for (std::size_t f = 0; f < 3; ++f) {
                EXPECT_EQ(fields[f][i], expected[i] * static_cast<double>(f + 1));
                EXPECT_EQ(together[3 * i + f], fields[f][i]);
                EXPECT_EQ(items[i][f], fields[f][i]);
            }
        }
        // An operation on numbers is one on the elements; one on arrays takes the whole.
        std::vector<std::array<double, 2>> twos;
        for (std::size_t i = 0; i < ids.size(); ++i)
            twos.push_back({plain[rank()][i], -plain[rank()][i]});
        auto whole = twos;
        shared.combine(twos, [](double a, double b) { return std::max(a, b); });
        shared.combine(whole, [](const std::array<double, 2>& a, const std::array<double, 2>& b) {
            return std::max(a, b);
        });
        const auto greatest = test::combined(one.of_rank, plain, maximum{}, false)[rank()];
        auto negative = plain;
        for (auto& of_rank : negative)
            for (auto& v : of_rank) v = -v;
        const auto greatest_negative =
            test::combined(one.of_rank, negative, maximum{}, false)[rank()];
        for (std::size_t i = 0; i < ids.size(); ++i) {
            EXPECT_EQ(twos[i], (std::array{greatest[i], greatest_negative[i]}));
            EXPECT_EQ(whole[i], (std::array{greatest[i], -greatest[i]}));
        }
        // Fields of pairs.
        std::vector<std::span<double>> spans(pairs.begin(), pairs.begin() + 2);
        shared.combine_fields(spans, std::plus<>{});
        EXPECT_EQ(pairs[0], fields[0]);
        EXPECT_EQ(pairs[1], fields[1]);
        EXPECT_EQ(shared.statistics(), sent);
    }
}

TEST_F(GatherScatter, AllCopiesHaveTheSameBits) {
    for (const std::string method : {"owners", "holders"}) {
        if (method == "holders" && num_ranks() > most_holders) continue;
        // Sums that depend on their order.
        gather_scatter shared(where, id_list{1, 2}, {.method = method});
        std::vector<double> values{1.0 / static_cast<double>(3 + rank()), rank() % 2 ? 1e16 : 0.1};
        shared.combine(values, sum{});
        std::array<double, 2> lowest{}, highest{};
        MPI_Allreduce(values.data(), lowest.data(), 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(values.data(), highest.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        EXPECT_EQ(lowest, highest);
    }
}

TEST_F(GatherScatter, OperationsAreWaitedForInAnyOrder) {
    const auto all = cases(where.num_ranks(), false);
    std::vector<gather_scatter> shared;
    for (const std::size_t c : {0U, 1U, 2U}) {
        shared.emplace_back(where, all[c].of_rank[rank()], gather_options{.method = "owners"});
        shared.push_back(shared.back().duplicate());
    }
    for (int round = 0; round < 5; ++round) {
        std::vector<std::vector<double>> values;
        for (const std::size_t c : {0U, 1U, 2U})
            for (int twin = 0; twin < 2; ++twin)
                values.push_back(values_for(all[c].of_rank)[rank()]);
        for (std::size_t g = 0; g < shared.size(); ++g) shared[g].start(values[g], sum{});
        for (std::size_t g = 0; g < shared.size(); ++g) {
            // Every rank in another order, and some by testing.
            const auto next = (g + rank() + static_cast<std::size_t>(round)) % shared.size();
            EXPECT_TRUE(shared[next].is_active());
            if (next % 3 == 0) {
                while (!shared[next].test()) {
                }
            } else {
                shared[next].wait();
            }
            EXPECT_FALSE(shared[next].is_active());
            EXPECT_EQ(values[next],
                      test::combined(all[next / 2].of_rank, values_for(all[next / 2].of_rank),
                                     sum{}, false)[rank()]);
        }
    }
}

TEST_F(GatherScatter, AnOperationGoesOnInsideOtherCollectiveCalls) {
    gather_scatter shared(where, id_list{1}, {.method = "owners"});
    std::vector<double> values{1};
    shared.start(values, sum{});
    // Those that finish first are waited for by the others in the middle.
    if (rank() % 2 == 0) shared.wait();
    where.comm().wait_for_all();
    if (rank() % 2 == 1) shared.wait();
    EXPECT_EQ(values[0], static_cast<double>(num_ranks()));
}

TEST_F(GatherScatter, TwoHoldersExchangeInOnePhase) {
    // Ranks in a row share an id with each neighbor.
    id_list ids{0};
    if (rank() > 0) ids.push_back(static_cast<count_t>(rank()));
    if (rank() + 1 < num_ranks()) ids.push_back(static_cast<count_t>(rank()) + 1);
    const auto num_neighbors = static_cast<count_t>(ids.size()) - 1;
    const gather_scatter one_phase(where, ids, {.route = "direct"});
    EXPECT_EQ(one_phase.method(), "holders");
    EXPECT_EQ(one_phase.route(), "direct");
    EXPECT_EQ(one_phase.explain(), "holders direct  given\n");
    EXPECT_EQ(one_phase.statistics().messages, num_neighbors);
    // The lower rank owns: one message up to it and one down from it.
    const gather_scatter two_phases(where, ids, {.method = "owners", .route = "direct"});
    EXPECT_EQ(two_phases.statistics().messages, num_neighbors);
    EXPECT_EQ(two_phases.statistics().items, num_neighbors);
    // An id of three holders.
    if (num_ranks() < 3) return;
    ids[0] = 1000;
    const gather_scatter many(where, ids, {.route = "direct"});
    EXPECT_EQ(many.method(), "owners");
    EXPECT_EQ(many.explain(), "owners direct  given\n");
}

TEST_F(GatherScatter, TheChoiceComparesBothMethods) {
    const auto one = cases(where.num_ranks(), false)[0];
    const gather_scatter shared(where, one.of_rank[rank()]);
    const auto text = shared.explain();
    EXPECT_NE(text.find("owners direct"), std::string::npos);
    EXPECT_NE(text.find("holders direct"), std::string::npos);
    EXPECT_TRUE(text.starts_with(shared.method() + " " + shared.route() + " ")) << text;
    EXPECT_FALSE(shared.is_trying());
}

TEST_F(GatherScatter, HoldersPayForCombining) {
    machine copying = load_machine("generic_100g");
    copying.levels = {};
    copying.injection_seconds_per_byte = copying.matching_seconds = copying.hand_over_seconds = 0;
    copying.copy_seconds_per_byte = 0;
    copying.copy_seconds_per_item = 1e-6;
    const id_list ids(rank() < 2 ? 1 : 0, 7);
    const gather_scatter shared(where.with_machine(copying), ids, {.executor = "persistent"});
    if (num_ranks() == 1) return;
    EXPECT_EQ(shared.method() + " " + shared.route(), "owners direct");
    const auto text = shared.explain();
    // A value is put into a message and taken out of it, twice or once; and combined.
    EXPECT_NE(text.find("owners direct        2.000 us"), std::string::npos) << text;
    EXPECT_NE(text.find("holders direct        3.000 us"), std::string::npos) << text;
}

TEST_F(GatherScatter, ValuesAreBytesOfAnySize) {
    using item = std::array<std::int32_t, 3>;
    const auto one = cases(where.num_ranks(), false)[0];
    const auto& ids = one.of_rank[rank()];
    gather_scatter shared(where, ids);
    std::vector<item> items(ids.size(), item{1, 2, 3});
    std::vector<std::vector<std::int32_t>> ones;
    for (const auto& of_rank : one.of_rank) ones.emplace_back(of_rank.size(), 1);
    const auto copies = test::combined(one.of_rank, ones, sum{}, false)[rank()];
    const std::array fields{std::as_writable_bytes(std::span(items))};
    const auto add = [](std::byte* to, count_t to_step, const std::byte* from, value_layout layout,
                        const copy_list& list) {
        const auto both = [](const item& a, const item& b) {
            return item{a[0] + b[0], a[1] + b[1], a[2] + b[2]};
        };
        combine_in_steps(reinterpret_cast<item*>(to), to_step, reinterpret_cast<const item*>(from),
                         layout, list, both);
    };
    shared.start_bytes(fields, sizeof(item), add);
    shared.wait();
    for (std::size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(items[i], (item{copies[i], 2 * copies[i], 3 * copies[i]}));

    test::expect_thrown(errc::invalid_argument, [&] { shared.start_bytes(fields, 0, add); });
    test::expect_thrown(errc::size_mismatch,
                        [&] { shared.start_bytes(fields, 2 * sizeof(item), add); });
}

// A clock that goes on by as much at every look.
double present_seconds = 0;
double seconds_per_look = 0;
double turned_clock() { return present_seconds += seconds_per_look; }

TEST_F(GatherScatter, TrialsJudgeTheWholeOperation) {
    machine even = load_machine("generic_100g");
    for (auto& level : even.levels) level = even.levels[0];
    const auto at = where.with_machine(even);
    const auto one = cases(where.num_ranks(), false)[2];
    gather_options options{.route = "auto:measure"};
    options.measure = {
        .max_candidates = 3, .exchanges_each = 2, .max_lost_seconds = 1, .clock = &turned_clock};
    for (std::size_t fastest = 0; fastest < 3; ++fastest) {
        gather_scatter shared(at, one.of_rank[rank()], options);
        if (!shared.is_trying()) {
            EXPECT_EQ(num_ranks(), 1U);
            return;
        }
        std::vector<std::string> names;
        while (shared.is_trying()) {
            seconds_per_look = names.size() / 2 == fastest ? 3e-6 : 5e-6;
            expect_combined(shared, one.of_rank, sum{}, false);
            if (shared.is_trying()) names.push_back(shared.method() + " " + shared.route());
        }
        const auto tried = shared.tried_routes();
        ASSERT_GT(tried.size(), 1U);
        const auto best = std::ranges::min_element(tried, {}, &tried_route::seconds);
        EXPECT_EQ(shared.method() + " " + shared.route(), best->route);
        EXPECT_EQ(names.size(), 2 * tried.size());
        for (std::size_t c = 0; c < tried.size(); ++c) EXPECT_EQ(names[2 * c], tried[c].route);
        auto twin = shared.duplicate();
        EXPECT_EQ(twin.tried_routes(), tried);
        expect_combined(twin, one.of_rank, sum{}, false);
        expect_combined(shared, one.of_rank, sum{}, true);
    }
}

TEST_F(GatherScatter, OneCopyStaysUnflagged) {
    for (const auto& one : cases(where.num_ranks(), true)) {
        SCOPED_TRACE(one.name);
        auto ids = one.of_rank;
        flag_duplicates(where, ids[rank()]);
        // The first copy of the lowest rank.
        auto expected = one.of_rank;
        std::map<count_t, bool> is_kept;
        for (auto& of_rank : expected)
            for (auto& id : of_rank)
                if (id > 0 && std::exchange(is_kept[id], true)) id = -id;
        EXPECT_EQ(ids[rank()], expected[rank()]);

        gather_scatter shared(where, one.of_rank[rank()], {.unique = true});
        EXPECT_EQ(shared.method(), "owners");
        for (const bool transposed : {false, true})
            expect_combined(shared, expected, sum{}, transposed);
    }
}

TEST_F(GatherScatter, UniqueCopiesNeedOnePhase) {
    const gather_scatter shared(where, id_list{1}, {.route = "direct", .unique = true});
    EXPECT_EQ(shared.statistics().messages, rank() == 0 ? where.num_ranks() - 1 : 0);
}

TEST_F(GatherScatter, BadArgumentsFailOnAllRanks) {
    const auto last = num_ranks() - 1;
    id_list ids{1, 2};
    if (rank() == last) ids[1] = std::numeric_limits<count_t>::min();
    test::expect_thrown(errc::index_out_of_range, [&] { gather_scatter(where, ids); });
    test::expect_thrown(errc::index_out_of_range, [&] { flag_duplicates(where, ids); });
    ids[1] = 2;
    test::expect_thrown(errc::invalid_argument,
                        [&] { gather_scatter(where, ids, {.method = "none"}); });
    test::expect_thrown(errc::unknown_route,
                        [&] { gather_scatter(where, ids, {.route = "none"}); });
    if (num_ranks() > 1) {
        test::expect_thrown(errc::invalid_argument, [&] {
            gather_scatter(where, ids, {.method = rank() == last ? "owners" : "holders"});
        });
        const auto which = "rank " + std::to_string(last);
        const error options = test::thrown_by([&] {
            gather_scatter(where, ids, {.item_bytes = rank() == last ? std::size_t{4} : 8});
        });
        EXPECT_EQ(options.what(),
                  which + " has item_bytes = 4, rank 0 has 8; give all ranks the same");
        const auto ring = test::ring_pattern(where.num_ranks());
        const auto exchange = [&](const char* route) {
            neighbor_exchange(where, ring[static_cast<std::size_t>(rank())], {.route = route});
        };
        for (const char* const route : {"direct", "auto"}) {
            const error kinds = test::thrown_by([&] {
                rank() == last ? static_cast<void>(gather_scatter(where, ids)) : exchange(route);
            });
            EXPECT_EQ(kinds.code(), errc::invalid_argument);
            EXPECT_EQ(kinds.rank(), last);
            EXPECT_EQ(kinds.what(), which +
                                        " makes a gather-scatter, but rank 0 makes a neighbor "
                                        "exchange; all ranks must make the same calls in one "
                                        "order");
        }
    }
    id_list flagged{1, rank() == last ? -1 : 0};
    test::expect_thrown(errc::invalid_argument,
                        [&] { gather_scatter(where, flagged, {.method = "holders"}); });
    // All is as before.
    gather_scatter shared(where, ids);
    std::vector<double> values{1, 1};
    shared.combine(values, sum{});
    EXPECT_EQ(values[0], static_cast<double>(num_ranks()));
}

TEST_F(GatherScatter, CallsThatDoNotFitFailOnTheirRank) {
    gather_scatter shared(where, id_list{1, 2});
    EXPECT_EQ(shared.num_ids(), 2);
    std::vector<double> values(3, 1);
    const auto start = [&](std::size_t length, count_t per_id) {
        return code_of([&] {
            shared.start(std::span(values).first(length), sum{}, {.values_per_id = per_id});
        });
    };
    EXPECT_EQ(start(1, 1), errc::size_mismatch);
    EXPECT_EQ(start(3, 2), errc::size_mismatch);
    EXPECT_EQ(start(3, 0), errc::invalid_argument);
    test::expect_thrown(errc::invalid_argument,
                        [&] { shared.start_fields(std::vector<std::span<double>>{}, sum{}); });
    test::expect_thrown(errc::invalid_state, [&] { shared.wait(); });
    test::expect_thrown(errc::invalid_state, [&] { static_cast<void>(shared.test()); });
    shared.start(values, sum{});
    EXPECT_EQ(start(3, 1), errc::invalid_state);
    shared.wait();
    EXPECT_EQ(values, (std::vector<double>{static_cast<double>(num_ranks()),
                                           static_cast<double>(num_ranks()), 1}));
}

TEST_F(GatherScatter, AnOperationOutlivesTheObjectOfItsFaultyRank) {
    if (num_ranks() == 1) return;
    const auto half = where.num_ranks() / 2;
    const auto halves = std::to_string(half) + "," + std::to_string(where.num_ranks() - half);
    for (const char* route : {"direct", "three_step", "hypercube"}) {
        for (const char* executor : {"persistent", "shared_memory"}) {
            for (const bool closes_context : {false, true}) {
                for (const bool ends_object : {true, false}) {
                    SCOPED_TRACE(std::string(route) + " " + executor);
                    context all(MPI_COMM_WORLD, {.topology = halves, .nodes = halves});
                    const id_list ids{1, 2};
                    gather_scatter shared(
                        all, ids, {.method = "owners", .route = route, .executor = executor});
                    std::vector<double> values(rank() == 0 ? 0 : 2, 1.0);
                    const auto code = code_of([&] {
                        shared.start(values, sum{});
                        shared.wait();
                    });
                    EXPECT_EQ(code, rank() == 0 ? errc::size_mismatch : errc::peer_failed);
                    if (ends_object && rank() == 0) shared.close();
                    if (!closes_context) {
                        gather_scatter next(all, ids, {.route = route, .executor = executor});
                        std::vector<double> ones(2, 1.0);
                        next.combine(ones, sum{});
                        EXPECT_EQ(ones, std::vector<double>(2, static_cast<double>(num_ranks())));
                    }
                    all.close();
                    ASSERT_TRUE(all.last_peer_error().has_value());
                    EXPECT_EQ(all.last_peer_error()->code(), errc::size_mismatch)
                        << all.last_peer_error()->what();
                    EXPECT_EQ(all.last_peer_error()->rank(), 0);
                }
            }
        }
    }
}

TEST_F(GatherScatter, PeersLearnOfAFaultyStart) {
    constexpr std::size_t culprit = 1;
    if (num_ranks() <= culprit) return;
    std::vector<method_on_route> ways;
    for (const auto& r : registered_routes()) ways.push_back({"owners", r.example});
    if (num_ranks() <= most_holders)
        for (const auto name : {"direct", "three_step"}) ways.push_back({"holders", name});
    auto all = cases(where.num_ranks(), false);
    all.resize(2);
    for (const auto& one : all) {
        const auto& own = one.of_rank[rank()];
        const auto& missing = one.of_rank[culprit];
        const bool needs_culprit = std::ranges::any_of(own, [&](count_t id) {
            return id != 0 && std::ranges::find(missing, id) != missing.end();
        });
        for (const auto& [method, route] : ways) {
            gather_scatter shared(where, own, {.method = method, .route = route});
            for (const bool transposed : {false, true}) {
                SCOPED_TRACE(std::string(one.name) + " " + method + " " + route);
                expect_combined(shared, one.of_rank, sum{}, transposed);
                auto values = values_for(one.of_rank)[rank()];
                if (rank() == culprit) {
                    values.clear();
                    test::expect_thrown(errc::size_mismatch, [&] {
                        shared.start(values, sum{}, {.transposed = transposed});
                    });
                    EXPECT_FALSE(shared.is_active());
                } else {
                    shared.start(values, sum{}, {.transposed = transposed});
                    bool has_failed = false;
                    try {
                        shared.wait();
                    } catch (const error& fault) {
                        has_failed = true;
                        EXPECT_EQ(fault.code(), errc::peer_failed) << fault.what();
                        EXPECT_EQ(fault.rank(), static_cast<rank_t>(culprit));
                    }
                    EXPECT_FALSE(shared.is_active());
                    EXPECT_TRUE(has_failed || !needs_culprit);
                }
                // The culprit passes on to others in here, or else in its next start.
                if (transposed) where.comm().wait_for_all();
                expect_combined(shared, one.of_rank, sum{}, transposed);
            }
        }
    }
}

// Whether others share memory with the faulty rank or not.
TEST_F(GatherScatter, AFaultyStartOfUnknownSizeMakesNobodyWait) {
    constexpr rank_t culprit = 1;
    if (where.num_ranks() <= culprit) return;
    const auto halves = std::to_string(where.num_ranks() / 2) + "," +
                        std::to_string(where.num_ranks() - where.num_ranks() / 2);
    std::string alone = "1";
    for (rank_t rank = 1; rank < where.num_ranks(); ++rank) alone += ",1";
    const id_list ids{1, 2, 3};
    const auto combine = [&](gather_scatter& shared, auto value, bool is_faulty, bool transposed) {
        std::vector<decltype(value)> values(ids.size(), value);
        if (is_faulty && where.rank() == culprit) {
            shared.fail_start(transposed, 0, error(errc::parse_error, "no such type"));
            return;
        }
        const auto start = [&] { shared.combine(values, sum{}, {.transposed = transposed}); };
        if (is_faulty) {
            const auto fault = test::thrown_by(start);
            EXPECT_EQ(fault.code(), errc::peer_failed);
            EXPECT_EQ(fault.rank(), culprit);
        } else {
            start();
            const auto all_ranks = static_cast<decltype(value)>(where.num_ranks());
            EXPECT_EQ(values,
                      std::vector(ids.size(), static_cast<decltype(value)>(value * all_ranks)));
        }
    };
    for (const auto& nodes : {std::to_string(num_ranks()), halves, alone}) {
        context all(MPI_COMM_WORLD, {.topology = halves, .nodes = nodes});
        for (const auto& [method, route] : {method_on_route{"owners", "direct"},
                                            {"owners", "three_step"},
                                            {"holders", "three_step"}}) {
            if (method == "holders" && num_ranks() > most_holders) continue;
            for (const char* executor : {"persistent", "shared_memory", "auto"}) {
                SCOPED_TRACE(nodes + " " + method + " " + route + " " + executor);
                gather_scatter shared(all, ids,
                                      {.method = method, .route = route, .executor = executor});
                for (const bool transposed : {false, true}) {
                    combine(shared, 1.0F, true, transposed);
                    combine(shared, 2.0, false, transposed);
                    combine(shared, std::int16_t{3}, true, transposed);
                    combine(shared, 4.0, true, transposed);
                    combine(shared, 5.0F, false, transposed);
                }
            }
        }
        all.close();
    }
}

TEST_F(GatherScatter, AnIdOfManyHoldersHasAnOwner) {
    const bool is_most = num_ranks() > most_holders;
    gather_scatter shared(where, id_list{1, 1});
    const auto ask_holders = [&] { gather_scatter(where, id_list{1}, {.method = "holders"}); };
    if (is_most) {
        EXPECT_EQ(shared.method(), "owners");
        test::expect_thrown(errc::invalid_argument, ask_holders);
    } else {
        ask_holders();
    }
    std::vector<count_t> values{1, 2};
    shared.combine(values, sum{});
    EXPECT_EQ(values, std::vector<count_t>(2, 3 * where.num_ranks()));
}

TEST_F(GatherScatter, ObjectsMoveAndClose) {
    gather_scatter shared(where, id_list{1});
    std::vector<int> values{1};
    auto moved = std::move(shared);
    moved.start(values, sum{});
    auto active = std::move(moved);
    active.wait();
    EXPECT_EQ(values[0], where.num_ranks());
    active.close();
}

}  // namespace
}  // namespace crossdock::gather_scatter_test

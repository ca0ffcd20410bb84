#include "crossdock/crossdock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "c/errors_return.hpp"
#include "c/statuses.hpp"
#include "crossdock/error.hpp"
#include "crossdock/neighbor_exchange.hpp"

namespace crossdock_c_calls_test {
namespace {

using namespace crossdock_c_test;
using indices = numbers;

std::string number(int64_t n) { return std::to_string(n); }

std::string text_of(const crossdock_topology* topology) {
    char* text = nullptr;
    EXPECT_SUCCESS(crossdock_topology_to_string(topology, &text));
    return taken(text);
}

std::string json_of(const crossdock_plan* plan) {
    char* text = nullptr;
    EXPECT_SUCCESS(crossdock_plan_to_json(plan, &text));
    return taken(text);
}

bool is_equal(const crossdock_plan* a, const crossdock_plan* b) {
    int answer = -1;
    EXPECT_SUCCESS(crossdock_plan_is_equal(a, b, &answer));
    return answer == 1;
}

std::string content_of(const std::string& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Status, HasTheNumbersAndNamesOfTheCodes) {
    for (int code = 0; code <= CROSSDOCK_INTERNAL + 1; ++code)
        EXPECT_STREQ(crossdock_status_name(code),
                     crossdock::to_string(static_cast<crossdock::errc>(code)));
    EXPECT_STREQ(crossdock_status_name(CROSSDOCK_SUCCESS), "success");
    EXPECT_STREQ(crossdock_status_name(CROSSDOCK_UNKNOWN_ROUTE), "unknown_route");
    EXPECT_STREQ(crossdock_status_name(CROSSDOCK_RANK_OUT_OF_RANGE), "rank_out_of_range");
    EXPECT_STREQ(crossdock_status_name(CROSSDOCK_COUNT_MISMATCH), "count_mismatch");
    EXPECT_STREQ(crossdock_status_name(CROSSDOCK_INVALID_STATE), "invalid_state");
    EXPECT_STREQ(crossdock_status_name(CROSSDOCK_INTERNAL), "internal");
    EXPECT_STREQ(crossdock_status_name(-1), "unknown");
}

TEST(Version, IsTheHeaders) {
    int major = -1;
    int minor = -1;
    int patch = -1;

    EXPECT_SUCCESS(crossdock_version(&major, &minor, &patch));

    EXPECT_EQ(number(major) + "." + number(minor) + "." + number(patch), CROSSDOCK_VERSION);
    expect_null(crossdock_version(nullptr, &minor, &patch), "major");
    expect_null(crossdock_version(&major, nullptr, &patch), "minor");
    expect_null(crossdock_version(&major, &minor, nullptr), "patch");
}

TEST(Free, OfNothingSucceeds) {
    EXPECT_SUCCESS(crossdock_free(nullptr));
    EXPECT_SUCCESS(crossdock_context_free(nullptr));
    EXPECT_SUCCESS(crossdock_topology_free(nullptr));
    EXPECT_SUCCESS(crossdock_pattern_free(nullptr));
    EXPECT_SUCCESS(crossdock_plan_free(nullptr));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(nullptr));
}

TEST(Routes, AreListedByIndex) {
    int num_routes = 0;
    const char* name = nullptr;
    const char* route = nullptr;

    EXPECT_SUCCESS(crossdock_num_routes(&num_routes));
    EXPECT_SUCCESS(crossdock_route_name(0, &name));
    EXPECT_STREQ(name, "direct");
    for (int index = 0; index < num_routes; ++index) {
        EXPECT_SUCCESS(crossdock_route_name(index, &name));
        EXPECT_SUCCESS(crossdock_route_example(index, &route));
        EXPECT_EQ(std::string(route).rfind(name, 0), 0U);
    }

    const std::string text = "is outside [0, " + number(num_routes) + ")";
    expect_error(crossdock_route_name(-1, &name), CROSSDOCK_INVALID_ARGUMENT, "route -1 " + text);
    expect_error(crossdock_route_example(num_routes, &route), CROSSDOCK_INVALID_ARGUMENT,
                 "route " + number(num_routes) + " " + text);
    expect_null(crossdock_num_routes(nullptr), "result");
    expect_null(crossdock_route_name(0, nullptr), "name");
    expect_null(crossdock_route_example(0, nullptr), "route");
}

TEST(Topology, AnswersQueries) {
    crossdock_topology* topology = nullptr;
    ASSERT_SUCCESS(crossdock_topology_from_string("2,3", &topology));
    int answer = -1;

    EXPECT_SUCCESS(crossdock_topology_num_ranks(topology, &answer));
    EXPECT_EQ(answer, 5);
    EXPECT_SUCCESS(crossdock_topology_num_regions(topology, &answer));
    EXPECT_EQ(answer, 2);
    EXPECT_SUCCESS(crossdock_topology_region_of(topology, 2, &answer));
    EXPECT_EQ(answer, 1);
    EXPECT_SUCCESS(crossdock_topology_local_rank(topology, 4, &answer));
    EXPECT_EQ(answer, 2);
    EXPECT_SUCCESS(crossdock_topology_region_size(topology, 1, &answer));
    EXPECT_EQ(answer, 3);
    EXPECT_SUCCESS(crossdock_topology_rank_at(topology, 1, 1, &answer));
    EXPECT_EQ(answer, 3);
    EXPECT_EQ(text_of(topology), "2,3");
    EXPECT_SUCCESS(crossdock_topology_free(topology));
}

TEST(Topology, ReadsTheRegionOfEveryRank) {
    const std::vector<int> regions{5, 9, 5, 9};
    crossdock_topology* topology = nullptr;

    EXPECT_SUCCESS(crossdock_topology_from_regions(4, regions.data(), &topology));

    EXPECT_EQ(text_of(topology), "cyclic:2x2");
    EXPECT_SUCCESS(crossdock_topology_free(topology));
}

TEST(Topology, RefusesWhatItCannotAnswer) {
    crossdock_topology* topology = nullptr;
    ASSERT_SUCCESS(crossdock_topology_from_string("2,3", &topology));
    const int region = 0;
    int answer = -7;
    crossdock_topology* untouched = topology;

    EXPECT_EQ(crossdock_topology_region_of(topology, 5, &answer), CROSSDOCK_RANK_OUT_OF_RANGE);
    EXPECT_EQ(crossdock_topology_local_rank(topology, -1, &answer), CROSSDOCK_RANK_OUT_OF_RANGE);
    EXPECT_EQ(crossdock_topology_region_size(topology, 2, &answer), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_topology_rank_at(topology, 0, 2, &answer), CROSSDOCK_RANK_OUT_OF_RANGE);
    EXPECT_EQ(answer, -7);
    EXPECT_EQ(crossdock_topology_from_string("2x", &untouched), CROSSDOCK_INVALID_TOPOLOGY);
    EXPECT_EQ(crossdock_topology_from_regions(0, nullptr, &untouched), CROSSDOCK_INVALID_TOPOLOGY);
    EXPECT_EQ(untouched, topology);
    expect_error(crossdock_topology_from_regions(-1, &region, &untouched),
                 CROSSDOCK_INVALID_ARGUMENT, "region_of_rank has length -1");
    expect_null(crossdock_topology_from_regions(1, nullptr, &untouched), "region_of_rank");
    expect_null(crossdock_topology_from_regions(1, &region, nullptr), "result");
    expect_null(crossdock_topology_from_string(nullptr, &untouched), "text");
    expect_null(crossdock_topology_from_string("2", nullptr), "result");
    expect_null(crossdock_topology_num_ranks(nullptr, &answer), "topology");
    expect_null(crossdock_topology_num_ranks(topology, nullptr), "result");
    expect_null(crossdock_topology_num_regions(nullptr, &answer), "topology");
    expect_null(crossdock_topology_region_of(nullptr, 0, &answer), "topology");
    expect_null(crossdock_topology_local_rank(nullptr, 0, &answer), "topology");
    expect_null(crossdock_topology_region_size(nullptr, 0, &answer), "topology");
    expect_null(crossdock_topology_rank_at(nullptr, 0, 0, &answer), "topology");
    expect_null(crossdock_topology_to_string(topology, nullptr), "text");
    char* text = nullptr;
    expect_null(crossdock_topology_to_string(nullptr, &text), "topology");
    EXPECT_SUCCESS(crossdock_topology_free(topology));
}

/// Offline plans of two ranks: rank 0 has two items, of which it sends item 1 to rank 1.
class OfflinePlan : public testing::Test {
  protected:
    void SetUp() override {
        const int ranks[2]{0, 1};
        const int64_t none = 0;
        const int64_t one = 1;
        crossdock_neighbor_alltoallv_arguments sends{};
        sends.num_destinations = 1;
        sends.destinations = &ranks[1];
        sends.send_counts = &one;
        sends.send_displacements = &one;
        crossdock_neighbor_alltoallv_arguments receives{};
        receives.num_sources = 1;
        receives.sources = &ranks[0];
        receives.receive_counts = &one;
        receives.receive_displacements = &none;
        ASSERT_SUCCESS(crossdock_topology_from_string("2x1", &topology));
        ASSERT_SUCCESS(crossdock_pattern_from_neighbor_alltoallv(0, 2, &sends, &patterns[0]));
        ASSERT_SUCCESS(crossdock_pattern_from_neighbor_alltoallv(1, 2, &receives, &patterns[1]));
        ASSERT_SUCCESS(crossdock_plan_compile_all(topology, patterns, "direct", nullptr, plans));
    }
    void TearDown() override {
        for (crossdock_plan* plan : plans) EXPECT_SUCCESS(crossdock_plan_free(plan));
        for (crossdock_pattern* pattern : patterns) EXPECT_SUCCESS(crossdock_pattern_free(pattern));
        EXPECT_SUCCESS(crossdock_topology_free(topology));
    }

    crossdock_topology* topology = nullptr;
    crossdock_pattern* patterns[2]{};
    crossdock_plan* plans[2]{};
};

TEST_F(OfflinePlan, IsVerified) {
    EXPECT_SUCCESS(crossdock_plan_verify(2, plans, patterns));

    crossdock_plan* twisted[2] = {plans[0], plans[0]};
    EXPECT_EQ(crossdock_plan_verify(2, twisted, patterns), CROSSDOCK_INVALID_PLAN);
    expect_error(crossdock_plan_verify(-1, plans, patterns), CROSSDOCK_INVALID_ARGUMENT,
                 "plans has length -1");
    expect_null(crossdock_plan_verify(2, nullptr, patterns), "plans");
    expect_null(crossdock_plan_verify(2, plans, nullptr), "patterns");
    crossdock_plan* missing[2] = {plans[0], nullptr};
    expect_null(crossdock_plan_verify(2, missing, patterns), "plans");
}

TEST_F(OfflinePlan, IsCounted) {
    int num_stages = 0;
    int64_t num_items = 0;
    crossdock_traffic stage{};
    crossdock_traffic total{};

    EXPECT_SUCCESS(crossdock_plan_num_stages(plans[0], &num_stages));
    char* compiled_along = nullptr;
    ASSERT_SUCCESS(crossdock_plan_route(plans[0], &compiled_along));
    EXPECT_EQ(taken(compiled_along), "direct");
    EXPECT_EQ(num_stages, 1);
    EXPECT_SUCCESS(crossdock_plan_buffer_items(plans[1], &num_items));
    EXPECT_EQ(num_items, 1);
    EXPECT_SUCCESS(crossdock_plan_stage_traffic(topology, plans[0], 0, &stage));
    EXPECT_SUCCESS(crossdock_plan_total_traffic(topology, plans[0], &total));
    for (const crossdock_traffic& traffic : {stage, total}) {
        EXPECT_EQ(traffic.messages, 1);
        EXPECT_EQ(traffic.items, 1);
        EXPECT_EQ(traffic.inter_region_messages, 1);
        EXPECT_EQ(traffic.inter_region_items, 1);
    }
}

TEST_F(OfflinePlan, IsNotCountedWhereThereIsNone) {
    crossdock_topology* larger = nullptr;
    ASSERT_SUCCESS(crossdock_topology_from_string("3", &larger));
    int number_of = 0;
    int64_t num_items = 0;
    crossdock_traffic traffic{};

    expect_error(crossdock_plan_stage_traffic(topology, plans[0], 1, &traffic),
                 CROSSDOCK_INVALID_ARGUMENT, "stage 1 is outside [0, 1)");
    expect_error(crossdock_plan_stage_traffic(topology, plans[0], -1, &traffic),
                 CROSSDOCK_INVALID_ARGUMENT, "stage -1 is outside [0, 1)");
    expect_error(crossdock_plan_total_traffic(larger, plans[0], &traffic), CROSSDOCK_SIZE_MISMATCH,
                 "the topology has 3 ranks, but the plan 2");
    expect_null(crossdock_plan_num_stages(nullptr, &number_of), "plan");
    expect_null(crossdock_plan_buffer_items(nullptr, &num_items), "plan");
    expect_null(crossdock_plan_stage_traffic(nullptr, plans[0], 0, &traffic), "topology");
    expect_null(crossdock_plan_stage_traffic(topology, nullptr, 0, &traffic), "plan");
    expect_null(crossdock_plan_stage_traffic(topology, plans[0], 0, nullptr), "traffic");
    expect_null(crossdock_plan_total_traffic(nullptr, plans[0], &traffic), "topology");
    expect_null(crossdock_plan_total_traffic(topology, nullptr, &traffic), "plan");
    expect_null(crossdock_plan_total_traffic(topology, plans[0], nullptr), "traffic");
    EXPECT_SUCCESS(crossdock_topology_free(larger));
}

TEST_F(OfflinePlan, ComesBackFromJson) {
    crossdock_plan* copy = nullptr;

    ASSERT_SUCCESS(crossdock_plan_from_json(json_of(plans[1]).c_str(), &copy));

    EXPECT_TRUE(is_equal(copy, plans[1]));
    EXPECT_FALSE(is_equal(copy, plans[0]));
    EXPECT_EQ(json_of(copy), json_of(plans[1]));
    EXPECT_SUCCESS(crossdock_plan_free(copy));
    EXPECT_EQ(crossdock_plan_from_json("{", &copy), CROSSDOCK_PARSE_ERROR);
    expect_null(crossdock_plan_from_json(nullptr, &copy), "json");
    expect_null(crossdock_plan_from_json("{}", nullptr), "result");
    char* text = nullptr;
    expect_null(crossdock_plan_to_json(nullptr, &text), "plan");
    expect_null(crossdock_plan_to_json(copy, nullptr), "json");
    int answer = 0;
    expect_null(crossdock_plan_is_equal(nullptr, plans[0], &answer), "a");
    expect_null(crossdock_plan_is_equal(plans[0], nullptr, &answer), "b");
    expect_null(crossdock_plan_is_equal(plans[0], plans[0], nullptr), "result");
}

TEST_F(OfflinePlan, IsPrinted) {
    char* text = nullptr;

    ASSERT_SUCCESS(crossdock_plan_to_string(plans[0], &text));

    EXPECT_EQ(taken(text).rfind("rank 0 of 2: direct", 0), 0U);
    expect_null(crossdock_plan_to_string(nullptr, &text), "plan");
    expect_null(crossdock_plan_to_string(plans[0], nullptr), "text");
}

TEST_F(OfflinePlan, IsNotCompiledFromNothing) {
    crossdock_plan* results[2] = {plans[0], plans[1]};
    crossdock_pattern* twisted[2] = {patterns[1], patterns[0]};
    crossdock_pattern* missing[2] = {patterns[0], nullptr};

    EXPECT_EQ(crossdock_plan_compile_all(topology, patterns, "ferry", nullptr, results),
              CROSSDOCK_UNKNOWN_ROUTE);
    EXPECT_NE(crossdock_plan_compile_all(topology, twisted, "direct", nullptr, results),
              CROSSDOCK_SUCCESS);
    expect_null(crossdock_plan_compile_all(nullptr, patterns, "direct", nullptr, results),
                "topology");
    expect_null(crossdock_plan_compile_all(topology, nullptr, "direct", nullptr, results),
                "patterns");
    expect_null(crossdock_plan_compile_all(topology, missing, "direct", nullptr, results),
                "patterns");
    expect_null(crossdock_plan_compile_all(topology, patterns, nullptr, nullptr, results), "route");
    expect_null(crossdock_plan_compile_all(topology, patterns, "direct", nullptr, nullptr),
                "plans");
    EXPECT_EQ(results[0], plans[0]);
    EXPECT_EQ(results[1], plans[1]);
}

/// Options that only differ in the route.
crossdock_neighbor_options on(const char* route) {
    crossdock_neighbor_options options = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;
    options.route = route;
    return options;
}

TEST(Options, HaveTheDefaultsOfCpp) {
    const crossdock_neighbor_options options = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;
    const crossdock::measure_options measure;

    EXPECT_EQ(options.size, sizeof options);
    EXPECT_EQ(options.route, nullptr);
    EXPECT_EQ(options.deduplicate, 1);
    EXPECT_EQ(options.executor, nullptr);
    EXPECT_EQ(options.max_message_bytes, 0u);
    EXPECT_EQ(options.item_bytes, 0u);
    EXPECT_EQ(options.stripe_bytes, 0u);
    EXPECT_EQ(options.prepare, CROSSDOCK_PREPARE_BOTH);
    EXPECT_EQ(options.measure_max_candidates, measure.max_candidates);
    EXPECT_EQ(options.measure_exchanges_each, measure.exchanges_each);
    EXPECT_EQ(options.measure_max_lost_seconds, measure.max_lost_seconds);
    EXPECT_EQ(options.measure_clock, measure.clock);
}

/// Rank r owns indices 3r, 3r + 1, 3r + 2; it needs the first one of every rank and its own last.
class Communication : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, nullptr, &discovered));
        std::vector<int> regions;
        for (int r = 0; r < num_ranks; ++r) regions.push_back(r / 2);
        ASSERT_SUCCESS(crossdock_topology_from_regions(num_ranks, regions.data(), &topology));
        ASSERT_SUCCESS(crossdock_context_with_topology(discovered, topology, &context));
        for (int r = 0; r < num_ranks; ++r) needed.push_back(3 * r);
        needed.push_back(3 * rank + 2);
        ASSERT_SUCCESS(crossdock_pattern_from_needed_range(context, 3 * rank, 3, length(needed),
                                                           needed.data(), &pattern));
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_pattern_free(pattern));
        EXPECT_SUCCESS(crossdock_topology_free(topology));
        EXPECT_SUCCESS(crossdock_context_close(context));
        EXPECT_SUCCESS(crossdock_context_free(context));
        EXPECT_SUCCESS(crossdock_context_free(discovered));
    }

    crossdock_status create(const crossdock_pattern* from, const char* route,
                            crossdock_neighbor_exchange** result) const {
        const auto options = on(route);
        return crossdock_neighbor_exchange_create(context, from, &options, result);
    }

    crossdock_neighbor_exchange* make_neighbor(const char* route) const {
        crossdock_neighbor_exchange* neighbor = nullptr;
        EXPECT_SUCCESS(create(pattern, route, &neighbor));
        return neighbor;
    }

    /// What this rank's items are: their global indices, scaled.
    std::vector<double> items(double scale = 1) const {
        return {3 * rank * scale, (3 * rank + 1) * scale, (3 * rank + 2) * scale};
    }

    /// What must be in the slots then.
    std::vector<double> filled(double scale = 1) const {
        std::vector<double> slots;
        for (const int64_t index : needed) slots.push_back(static_cast<double>(index) * scale);
        return slots;
    }

    std::vector<double> empty_slots() const { return std::vector<double>(needed.size(), -1); }

    int rank = world(MPI_Comm_rank);
    int num_ranks = world(MPI_Comm_size);
    int last = num_ranks - 1;
    bool is_last = rank == last;
    crossdock_context* discovered = nullptr;
    crossdock_context* context = nullptr;  // with regions of two
    crossdock_topology* topology = nullptr;
    crossdock_pattern* pattern = nullptr;
    indices needed;
};

TEST_F(Communication, RefusesCommunicatorsThatAreNone) {
    crossdock_context* other = nullptr;

    expect_error(crossdock_context_create(MPI_COMM_NULL, nullptr, &other),
                 CROSSDOCK_INVALID_ARGUMENT, "the communicator is MPI_COMM_NULL");
    expect_null(crossdock_context_create(MPI_COMM_WORLD, nullptr, is_last ? nullptr : &other),
                "result");
    EXPECT_EQ(other, nullptr);
}

TEST_F(Communication, ContextsHaveRanksAndATopology) {
    crossdock_topology* found = nullptr;
    int answer = -1;

    EXPECT_SUCCESS(crossdock_context_rank(context, &answer));
    EXPECT_EQ(answer, rank);
    EXPECT_SUCCESS(crossdock_context_num_ranks(context, &answer));
    EXPECT_EQ(answer, num_ranks);
    ASSERT_SUCCESS(crossdock_context_topology(context, &found));
    EXPECT_EQ(text_of(found), text_of(topology));
    EXPECT_SUCCESS(crossdock_topology_free(found));

    crossdock_context* other = nullptr;
    expect_null(crossdock_context_rank(nullptr, &answer), "context");
    expect_null(crossdock_context_rank(context, nullptr), "result");
    expect_null(crossdock_context_num_ranks(nullptr, &answer), "context");
    expect_null(crossdock_context_topology(nullptr, &found), "context");
    expect_null(crossdock_context_topology(context, nullptr), "result");
    expect_null(crossdock_context_with_topology(nullptr, topology, &other), "context");
    expect_null(crossdock_context_with_topology(context, nullptr, &other), "topology");
    expect_null(crossdock_context_with_topology(context, topology, nullptr), "result");
    expect_null(crossdock_context_with_nodes(nullptr, topology, &other), "context");
    expect_null(crossdock_context_with_nodes(context, nullptr, &other), "nodes");
    expect_null(crossdock_context_with_nodes(context, topology, nullptr), "result");
    expect_null(crossdock_context_close(nullptr), "context");
    EXPECT_EQ(other, nullptr);
}

TEST_F(Communication, ContextsTakeWhatTheirOptionsSay) {
    crossdock_context_options options = CROSSDOCK_CONTEXT_OPTIONS_INIT;
    const std::string text = "cyclic:1x" + number(num_ranks);
    options.topology = text.c_str();
    options.nodes = text.c_str();
    options.machine = "generic_100g";
    crossdock_context* other = nullptr;
    crossdock_topology* found = nullptr;

    ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, &options, &other));

    ASSERT_SUCCESS(crossdock_context_topology(other, &found));
    EXPECT_EQ(text_of(found), number(num_ranks));
    EXPECT_SUCCESS(crossdock_topology_free(found));
    EXPECT_SUCCESS(crossdock_context_close(other));
    EXPECT_SUCCESS(crossdock_context_close(other));
    EXPECT_SUCCESS(crossdock_context_free(other));
}

TEST_F(Communication, ContextsAreRefusedOnAllRanks) {
    crossdock_context* other = nullptr;
    crossdock_context_options options = CROSSDOCK_CONTEXT_OPTIONS_INIT;
    const auto create = [&] { return crossdock_context_create(MPI_COMM_WORLD, &options, &other); };

    options.topology = "2x";
    EXPECT_EQ(create(), CROSSDOCK_INVALID_TOPOLOGY);
    options.topology = "3x7";
    EXPECT_EQ(create(), CROSSDOCK_INVALID_TOPOLOGY);
    options.topology = nullptr;
    options.nodes = "3x7";
    EXPECT_EQ(create(), CROSSDOCK_INVALID_TOPOLOGY);
    options.nodes = nullptr;
    options.machine = "/no/such/file.json";
    EXPECT_EQ(create(), CROSSDOCK_FILE_ERROR);
    options.machine = nullptr;
    if (num_ranks > 1) {
        options.topology = is_last ? "socket" : "node";
        expect_error(create(), CROSSDOCK_INVALID_ARGUMENT,
                     "rank " + std::to_string(num_ranks - 1) +
                         " has topology = socket, rank 0 has node; give all ranks the same");
        options.topology = nullptr;
    }
    if (is_last) options.size = 0;
    expect_error(create(), CROSSDOCK_INVALID_ARGUMENT,
                 "options say that they have 0 bytes; begin with their initialiser");
    EXPECT_EQ(other, nullptr);
}

TEST_F(Communication, DiscoversTheTopology) {
    crossdock_topology* found = nullptr;

    EXPECT_SUCCESS(crossdock_topology_discover(context, CROSSDOCK_NODE, &found));

    int answer = 0;
    EXPECT_SUCCESS(crossdock_topology_num_ranks(found, &answer));
    EXPECT_EQ(answer, num_ranks);
    EXPECT_SUCCESS(crossdock_topology_free(found));
    for (const auto level : {CROSSDOCK_SOCKET, CROSSDOCK_NUMA, CROSSDOCK_L3}) {
        EXPECT_SUCCESS(crossdock_topology_discover(context, level, &found));
        EXPECT_SUCCESS(crossdock_topology_free(found));
    }
    expect_null(crossdock_topology_discover(nullptr, CROSSDOCK_NODE, &found), "context");
    expect_null(crossdock_topology_discover(context, CROSSDOCK_NODE, is_last ? nullptr : &found),
                "result");
    expect_error(crossdock_topology_discover(context, is_last ? 7 : 0, &found),
                 CROSSDOCK_INVALID_ARGUMENT, "there is no locality 7");
}

TEST_F(Communication, GathersTheTopology) {
    crossdock_topology* found = nullptr;

    EXPECT_SUCCESS(crossdock_topology_gather(context, rank / 2 + 5, &found));

    EXPECT_EQ(text_of(found), text_of(topology));
    EXPECT_SUCCESS(crossdock_topology_free(found));
    expect_error(crossdock_topology_gather(context, is_last ? -3 : 0, &found),
                 CROSSDOCK_INVALID_ARGUMENT,
                 "the key of rank " + number(last) + " is -3; the least is 0");
    expect_null(crossdock_topology_gather(nullptr, 0, &found), "context");
    expect_null(crossdock_topology_gather(context, 0, is_last ? nullptr : &found), "result");
}

TEST_F(Communication, FindsOwnersOfScatteredIndices) {
    const indices owned{rank + 2 * num_ranks, rank, rank + num_ranks};
    const indices wanted{0, 0};
    crossdock_pattern* found = nullptr;
    int64_t answer = 0;

    ASSERT_SUCCESS(
        crossdock_pattern_from_needed(context, 3, owned.data(), 2, wanted.data(), &found));

    EXPECT_SUCCESS(crossdock_pattern_num_items(found, &answer));
    EXPECT_EQ(answer, 3);
    EXPECT_SUCCESS(crossdock_pattern_num_slots(found, &answer));
    EXPECT_EQ(answer, 2);
    EXPECT_SUCCESS(crossdock_pattern_free(found));
    expect_null(crossdock_pattern_num_items(nullptr, &answer), "pattern");
    expect_null(crossdock_pattern_num_slots(nullptr, &answer), "pattern");
}

TEST_F(Communication, WritesAPattern) {
    const std::string name = "/tmp/crossdock-c-pattern-" + number(getppid());
    const int64_t own = rank;
    const int64_t next = (rank + 1) % num_ranks;
    crossdock_pattern* ring = nullptr;
    ASSERT_SUCCESS(crossdock_pattern_from_needed(context, 1, &own, 1, &next, &ring));

    EXPECT_SUCCESS(crossdock_pattern_write(context, ring, (name + ".mtx").c_str(), 16));

    if (rank == 0) {
        // Each rank has one row, and needs the next one's.
        std::string matrix =
            "%%MatrixMarket matrix coordinate pattern general\n% items of 16 bytes\n" +
            fmt::format("{0} {0} {1}\n", num_ranks, num_ranks > 1 ? num_ranks : 0);
        std::string owners;
        for (int owner = 0; owner < num_ranks; ++owner) {
            owners += number(owner) + "\n";
            if (num_ranks > 1)
                matrix +=
                    fmt::format("{} {}\n", (owner + num_ranks - 1) % num_ranks + 1, owner + 1);
        }
        EXPECT_EQ(content_of(name + ".mtx"), matrix);
        EXPECT_EQ(content_of(name + ".owners"), owners);
        std::filesystem::remove(name + ".mtx");
        std::filesystem::remove(name + ".owners");
    }
    expect_null(crossdock_pattern_write(nullptr, ring, "own.mtx", 8), "context");
    expect_null(crossdock_pattern_write(context, is_last ? nullptr : ring, "own.mtx", 8),
                "pattern");
    expect_null(crossdock_pattern_write(context, ring, is_last ? nullptr : "own.mtx", 8), "path");
    expect_error(crossdock_pattern_write(context, ring, "own.mtx", 0), CROSSDOCK_INVALID_ARGUMENT,
                 "item_bytes is 0");
    expect_error(crossdock_pattern_write(context, ring, "/missing/own.mtx", 8),
                 CROSSDOCK_FILE_ERROR, "cannot write /missing/own.mtx");
    EXPECT_SUCCESS(crossdock_pattern_free(ring));
}

TEST_F(Communication, FailsOnAllRanksIfOneNamesNoIndices) {
    crossdock_pattern* found = nullptr;

    expect_null(
        crossdock_pattern_from_needed(context, is_last ? 1 : 0, nullptr, 0, nullptr, &found),
        "owned");
    expect_null(
        crossdock_pattern_from_needed(context, 0, nullptr, is_last ? 1 : 0, nullptr, &found),
        "needed");
    expect_null(
        crossdock_pattern_from_needed(context, 0, nullptr, 0, nullptr, is_last ? nullptr : &found),
        "result");
    expect_null(
        crossdock_pattern_from_needed_range(context, 0, 0, is_last ? 1 : 0, nullptr, &found),
        "needed");
    expect_null(
        crossdock_pattern_from_needed_range(context, 0, 0, 0, nullptr, is_last ? nullptr : &found),
        "result");
    expect_error(
        crossdock_pattern_from_needed(context, is_last ? -2 : 0, nullptr, 0, nullptr, &found),
        CROSSDOCK_INVALID_ARGUMENT, "owned has length -2");
    expect_null(crossdock_pattern_from_needed(nullptr, 0, nullptr, 0, nullptr, &found), "context");
    expect_null(crossdock_pattern_from_needed_range(nullptr, 0, 0, 0, nullptr, &found), "context");
}

TEST_F(Communication, EveryRouteCarriesItemsForwardAndHome) {
    int num_routes = 0;
    EXPECT_SUCCESS(crossdock_num_routes(&num_routes));
    for (int index = 0; index < num_routes; ++index) {
        const char* route = nullptr;
        EXPECT_SUCCESS(crossdock_route_example(index, &route));
        for (const int deduplicate : {0, 1}) {
            const int prepare = deduplicate ? CROSSDOCK_PREPARE_BOTH : CROSSDOCK_PREPARE_LAZY;
            auto options = on(route);
            options.deduplicate = deduplicate;
            options.max_message_bytes = 64;
            options.executor = deduplicate != 0 ? "shared_memory" : "persistent";
            options.stripe_bytes = 8;
            options.prepare = prepare;
            crossdock_context* with_nodes = nullptr;
            ASSERT_SUCCESS(crossdock_context_with_nodes(context, topology, &with_nodes));
            crossdock_neighbor_exchange* neighbor = nullptr;
            ASSERT_SUCCESS(
                crossdock_neighbor_exchange_create(with_nodes, pattern, &options, &neighbor));
            EXPECT_SUCCESS(crossdock_context_free(with_nodes));
            std::vector<double> values = items();
            std::vector<double> slots = empty_slots();

            EXPECT_SUCCESS(crossdock_neighbor_exchange_forward(neighbor, values.data(),
                                                               slots.data(), MPI_DOUBLE));
            EXPECT_EQ(slots, filled()) << route;
            std::fill(slots.begin(), slots.end(), 1.0);
            EXPECT_SUCCESS(crossdock_neighbor_exchange_reverse(neighbor, slots.data(),
                                                               values.data(), MPI_DOUBLE, MPI_SUM));

            EXPECT_EQ(values,
                      (std::vector<double>{3.0 * rank + num_ranks, 3.0 * rank + 1, 3.0 * rank + 3}))
                << route;
            EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
        }
    }
}

TEST_F(Communication, OptionsThatAreNoneAreRefusedOnAllRanks) {
    crossdock_neighbor_exchange* neighbor = nullptr;
    const auto create_with = [&](const crossdock_neighbor_options& options) {
        return crossdock_neighbor_exchange_create(context, pattern, &options, &neighbor);
    };
    auto options = on("direct");

    if (is_last) options.executor = "telepathy";
    expect_error(create_with(options), CROSSDOCK_INVALID_ARGUMENT,
                 "there is no executor \"telepathy\": auto, persistent, shared_memory");
    options = on("direct");
    if (is_last) options.prepare = -1;
    expect_error(create_with(options), CROSSDOCK_INVALID_ARGUMENT, "there is no preparation -1");
    options = on("direct");
    if (is_last) options.size = 0;
    expect_error(create_with(options), CROSSDOCK_INVALID_ARGUMENT,
                 "options say that they have 0 bytes; begin with their initialiser");
    if (is_last) options.size = SIZE_MAX;
    expect_error(create_with(options), CROSSDOCK_INVALID_ARGUMENT,
                 "options say that they have " + std::to_string(SIZE_MAX) +
                     " bytes; begin with their initialiser");
    options = on("auto:measure");
    options.measure_max_candidates = 0;
    EXPECT_EQ(create_with(options), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(neighbor, nullptr);
}

// A field that comes later must not lie where older programs have padding.
#define EXPECT_NO_PADDING_AFTER(type, field) \
    static_assert(offsetof(type, field) + sizeof(type::field) == sizeof(type))
EXPECT_NO_PADDING_AFTER(crossdock_context_options, machine);
EXPECT_NO_PADDING_AFTER(crossdock_neighbor_options, measure_clock);
EXPECT_NO_PADDING_AFTER(crossdock_exchange_options, sent);
EXPECT_NO_PADDING_AFTER(crossdock_array_options, user);
EXPECT_NO_PADDING_AFTER(crossdock_stream_options, combine);

/// The options as a program has them that was compiled when there were only two.
struct older_options {
    size_t size = sizeof(older_options);
    const char* route = "three_step";
    int deduplicate = 0;
    const char* executor = "persistent";
};
static_assert(offsetof(older_options, executor) == offsetof(crossdock_neighbor_options, executor));

/// As a program has them that knows one more.
struct newer_options {
    crossdock_neighbor_options known = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;
    const char* unheard_of = nullptr;
};

TEST_F(Communication, OptionsMayBeOfAnOlderVersion) {
    const older_options older;
    crossdock_neighbor_exchange* neighbor = nullptr;
    char* text = nullptr;
    std::vector<double> slots = empty_slots();

    ASSERT_SUCCESS(crossdock_neighbor_exchange_create(
        context, pattern, reinterpret_cast<const crossdock_neighbor_options*>(&older), &neighbor));

    ASSERT_SUCCESS(crossdock_neighbor_exchange_explain(neighbor, &text));
    EXPECT_EQ(taken(text), "three_step  given\n");
    ASSERT_SUCCESS(crossdock_neighbor_exchange_route(neighbor, &text));
    EXPECT_EQ(taken(text), "three_step");
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_forward(neighbor, items().data(), slots.data(), MPI_DOUBLE));
    EXPECT_EQ(slots, filled());
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
}

TEST_F(Communication, OptionsMayBeOfANewerVersionIfTheyAskForNothingNew) {
    newer_options newer;
    newer.known.size = sizeof newer;
    newer.known.route = "direct";
    crossdock_neighbor_exchange* neighbor = nullptr;

    ASSERT_SUCCESS(crossdock_neighbor_exchange_create(context, pattern, &newer.known, &neighbor));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));

    neighbor = nullptr;
    if (is_last) newer.unheard_of = "faster";
    expect_error(crossdock_neighbor_exchange_create(context, pattern, &newer.known, &neighbor),
                 CROSSDOCK_INVALID_ARGUMENT,
                 "options have " + number(sizeof newer) + " bytes, of which only " +
                     number(sizeof newer.known) + " are known; the others must be 0");
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(Communication, ArraysMayHaveSeveralValuesForEachItem) {
    crossdock_neighbor_exchange* neighbor = make_neighbor("two_step");
    const auto num_slots = length(needed);
    std::vector<double> pairs, expected, slots(2 * needed.size(), -1), totals(6, 0);
    for (const double value : items()) pairs.insert(pairs.end(), {value, -value});
    for (const double value : filled()) expected.insert(expected.end(), {value, -value});

    EXPECT_SUCCESS(crossdock_neighbor_exchange_start_arrays(neighbor, 3, pairs.data(), num_slots,
                                                            slots.data(), 2, MPI_DOUBLE));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(slots, expected);

    EXPECT_EQ(crossdock_neighbor_exchange_start_arrays(neighbor, is_last ? 2 : 3, pairs.data(),
                                                       num_slots, slots.data(), 2, MPI_DOUBLE),
              is_last ? CROSSDOCK_SIZE_MISMATCH : CROSSDOCK_SUCCESS);
    if (!is_last) {
        EXPECT_EQ(crossdock_neighbor_exchange_wait(neighbor), CROSSDOCK_PEER_FAILED);
    }

    const std::vector<double> ones(slots.size(), 1);
    EXPECT_SUCCESS(crossdock_neighbor_exchange_start_reverse_arrays(
        neighbor, num_slots, ones.data(), 3, totals.data(), 2, MPI_DOUBLE, MPI_SUM));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(totals[0], num_ranks);
    EXPECT_EQ(totals[1], num_ranks);
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
}

TEST_F(Communication, APlanMayHaveBeenCompiledBefore) {
    auto options = on("three_step");
    crossdock_plan* plan = nullptr;
    crossdock_neighbor_exchange* neighbor = nullptr;
    crossdock_traffic counted{};
    crossdock_traffic expected{};
    std::vector<double> slots = empty_slots();
    ASSERT_SUCCESS(crossdock_plan_compile(context, pattern, &options, &plan));

    ASSERT_SUCCESS(crossdock_neighbor_exchange_create_from_plan(context, plan, nullptr, &neighbor));

    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_forward(neighbor, items().data(), slots.data(), MPI_DOUBLE));
    EXPECT_EQ(slots, filled());
    EXPECT_SUCCESS(crossdock_neighbor_exchange_statistics(neighbor, &counted));
    EXPECT_SUCCESS(crossdock_plan_total_traffic(topology, plan, &expected));
    EXPECT_EQ(counted.messages, expected.messages);
    EXPECT_EQ(counted.items, expected.items);
    EXPECT_EQ(counted.inter_region_messages, expected.inter_region_messages);
    EXPECT_EQ(counted.inter_region_items, expected.inter_region_items);
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));

    neighbor = nullptr;
    const auto create_with = [&](const crossdock_plan* given,
                                 crossdock_neighbor_exchange** result) {
        return crossdock_neighbor_exchange_create_from_plan(context, given, nullptr, result);
    };
    expect_null(crossdock_neighbor_exchange_create_from_plan(nullptr, plan, nullptr, &neighbor),
                "context");
    expect_null(create_with(is_last ? nullptr : plan, &neighbor), "plan");
    expect_null(create_with(plan, is_last ? nullptr : &neighbor), "result");
    expect_null(crossdock_neighbor_exchange_statistics(nullptr, &counted), "exchange");
    expect_null(crossdock_neighbor_exchange_statistics(neighbor, nullptr), "traffic");
    EXPECT_EQ(neighbor, nullptr);
    EXPECT_SUCCESS(crossdock_plan_free(plan));
}

double fake_seconds() {
    static double now = 0;
    return now += 0.001;
}

TEST_F(Communication, MeasuresRoutesAsItsOptionsSay) {
    auto options = on("auto:measure");
    options.measure_exchanges_each = 1;
    options.measure_max_candidates = 2;
    options.measure_max_lost_seconds = 1e9;
    options.measure_clock = fake_seconds;
    crossdock_neighbor_exchange* neighbor = nullptr;
    int num_tried = -1;
    int is_trying = -1;
    ASSERT_SUCCESS(crossdock_neighbor_exchange_create(context, pattern, &options, &neighbor));

    for (int i = 0; i < 4; ++i) {
        std::vector<double> slots = empty_slots();
        EXPECT_SUCCESS(crossdock_neighbor_exchange_forward(neighbor, items().data(), slots.data(),
                                                           MPI_DOUBLE));
        EXPECT_EQ(slots, filled());
    }

    EXPECT_SUCCESS(crossdock_neighbor_exchange_num_tried_routes(neighbor, &num_tried, &is_trying));
    EXPECT_EQ(is_trying, 0);
    EXPECT_LE(num_tried, 2);
    char* route = nullptr;
    double seconds = -1;
    for (int i = 0; i < num_tried; ++i) {
        ASSERT_SUCCESS(crossdock_neighbor_exchange_tried_route(neighbor, i, &route, &seconds));
        EXPECT_NE(taken(route), "");
        EXPECT_GE(seconds, 0.001 - 1e-9);
    }
    expect_error(crossdock_neighbor_exchange_tried_route(neighbor, num_tried, &route, &seconds),
                 CROSSDOCK_INVALID_ARGUMENT,
                 "tried route " + number(num_tried) + " is outside [0, " + number(num_tried) + ")");
    expect_null(crossdock_neighbor_exchange_tried_route(nullptr, 0, &route, &seconds), "exchange");
    expect_null(crossdock_neighbor_exchange_tried_route(neighbor, 0, nullptr, &seconds), "route");
    expect_null(crossdock_neighbor_exchange_tried_route(neighbor, 0, &route, nullptr), "seconds");
    expect_null(crossdock_neighbor_exchange_num_tried_routes(nullptr, &num_tried, &is_trying),
                "exchange");
    expect_null(crossdock_neighbor_exchange_num_tried_routes(neighbor, nullptr, &is_trying),
                "num_tried_routes");
    expect_null(crossdock_neighbor_exchange_num_tried_routes(neighbor, &num_tried, nullptr),
                "is_trying");
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
}

TEST_F(Communication, DuplicatesAreActiveTogether) {
    crossdock_neighbor_exchange* first = make_neighbor("two_step");
    crossdock_neighbor_exchange* second = nullptr;
    ASSERT_SUCCESS(crossdock_neighbor_exchange_duplicate(first, &second));
    const std::vector<double> once = items();
    const std::vector<double> tenfold = items(10);
    std::vector<double> slots = empty_slots();
    std::vector<double> more_slots = empty_slots();
    int is_complete = 0;

    EXPECT_SUCCESS(crossdock_neighbor_exchange_start(first, once.data(), slots.data(), MPI_DOUBLE));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_start(second, tenfold.data(), more_slots.data(), MPI_DOUBLE));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(second));
    while (!is_complete) EXPECT_SUCCESS(crossdock_neighbor_exchange_test(first, &is_complete));

    EXPECT_EQ(slots, filled());
    EXPECT_EQ(more_slots, filled(10));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(first));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(second));
}

TEST_F(Communication, ExplainsItsRoute) {
    crossdock_neighbor_exchange* chosen = make_neighbor("auto");
    crossdock_neighbor_exchange* given = make_neighbor("grid:2");
    crossdock_plan* plan = nullptr;
    char* text = nullptr;
    ASSERT_SUCCESS(crossdock_neighbor_exchange_plan(chosen, &plan));

    ASSERT_SUCCESS(crossdock_neighbor_exchange_explain(chosen, &text));
    const std::string reasons = taken(text);
    EXPECT_EQ(json_of(plan).find("auto"), std::string::npos);
    const auto route = reasons.substr(0, reasons.find(' '));
    EXPECT_NE(json_of(plan).find(fmt::format("\"{}\"", route)), std::string::npos);
    EXPECT_NE(reasons.find(" us  mostly "), std::string::npos);
    ASSERT_SUCCESS(crossdock_neighbor_exchange_explain(given, &text));
    EXPECT_EQ(taken(text), "grid:2  given\n");

    expect_null(crossdock_neighbor_exchange_explain(nullptr, &text), "exchange");
    expect_null(crossdock_neighbor_exchange_explain(given, nullptr), "text");
    expect_null(crossdock_neighbor_exchange_route(nullptr, &text), "exchange");
    expect_null(crossdock_neighbor_exchange_route(given, nullptr), "route");
    EXPECT_SUCCESS(crossdock_plan_free(plan));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(chosen));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(given));
}

TEST_F(Communication, FailsOnAllRanksIfOneLacksAnArgument) {
    crossdock_plan* plan = nullptr;
    crossdock_neighbor_exchange* neighbor = nullptr;
    const auto* some_pattern = is_last ? nullptr : pattern;

    expect_null(crossdock_plan_compile(nullptr, pattern, nullptr, &plan), "context");
    expect_null(crossdock_plan_compile(context, some_pattern, nullptr, &plan), "pattern");
    expect_null(crossdock_plan_compile(context, pattern, nullptr, is_last ? nullptr : &plan),
                "result");
    expect_null(crossdock_neighbor_exchange_create(nullptr, pattern, nullptr, &neighbor),
                "context");
    expect_null(crossdock_neighbor_exchange_create(context, some_pattern, nullptr, &neighbor),
                "pattern");
    expect_null(crossdock_neighbor_exchange_create(context, pattern, nullptr,
                                                   is_last ? nullptr : &neighbor),
                "result");
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(Communication, RefusesNullsWhereItRuns) {
    crossdock_neighbor_exchange* neighbor = make_neighbor("direct");
    crossdock_neighbor_exchange* copy = nullptr;
    crossdock_plan* plan = nullptr;
    std::vector<double> values = items();
    std::vector<double> slots = empty_slots();
    double* v = values.data();
    double* s = slots.data();
    int is_complete = 0;

    expect_null(crossdock_neighbor_exchange_start(nullptr, v, s, MPI_DOUBLE), "exchange");
    expect_null(crossdock_neighbor_exchange_start(neighbor, nullptr, s, MPI_DOUBLE), "items");
    expect_null(crossdock_neighbor_exchange_start(neighbor, v, nullptr, MPI_DOUBLE), "slots");
    expect_error(crossdock_neighbor_exchange_start(neighbor, v, s, MPI_DATATYPE_NULL),
                 CROSSDOCK_INVALID_ARGUMENT, "datatype is MPI_DATATYPE_NULL");
    expect_null(crossdock_neighbor_exchange_forward(nullptr, v, s, MPI_DOUBLE), "exchange");
    expect_null(crossdock_neighbor_exchange_start_reverse(nullptr, s, v, MPI_DOUBLE, MPI_SUM),
                "exchange");
    expect_null(
        crossdock_neighbor_exchange_start_reverse(neighbor, nullptr, v, MPI_DOUBLE, MPI_SUM),
        "slots");
    expect_null(
        crossdock_neighbor_exchange_start_reverse(neighbor, s, nullptr, MPI_DOUBLE, MPI_SUM),
        "items");
    expect_error(crossdock_neighbor_exchange_start_reverse(neighbor, s, v, MPI_DOUBLE, MPI_OP_NULL),
                 CROSSDOCK_INVALID_ARGUMENT, "operation is MPI_OP_NULL");
    expect_null(crossdock_neighbor_exchange_reverse(nullptr, s, v, MPI_DOUBLE, MPI_SUM),
                "exchange");
    expect_null(crossdock_neighbor_exchange_test(nullptr, &is_complete), "exchange");
    expect_null(crossdock_neighbor_exchange_test(neighbor, nullptr), "result");
    expect_null(crossdock_neighbor_exchange_wait(nullptr), "exchange");
    expect_null(crossdock_neighbor_exchange_prepare(nullptr, 8), "exchange");
    expect_null(crossdock_neighbor_exchange_duplicate(nullptr, &copy), "exchange");
    expect_null(crossdock_neighbor_exchange_duplicate(neighbor, nullptr), "result");
    expect_null(crossdock_neighbor_exchange_plan(nullptr, &plan), "exchange");
    expect_null(crossdock_neighbor_exchange_plan(neighbor, nullptr), "result");
    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
}

TEST_F(Communication, ARankMayHaveNeitherItemsNorSlots) {
    crossdock_pattern* empty = nullptr;
    crossdock_neighbor_exchange* neighbor = nullptr;
    ASSERT_SUCCESS(crossdock_pattern_from_needed(context, 0, nullptr, 0, nullptr, &empty));
    ASSERT_SUCCESS(create(empty, "three_step", &neighbor));

    EXPECT_SUCCESS(crossdock_neighbor_exchange_forward(neighbor, nullptr, nullptr, MPI_INT));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_reverse(neighbor, nullptr, nullptr, MPI_INT, MPI_MAX));

    EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
    EXPECT_SUCCESS(crossdock_pattern_free(empty));
}

/// A ring, each rank sending two items to the next.
class RingArguments : public testing::Test {
  protected:
    int rank = world(MPI_Comm_rank);
    int num_ranks = world(MPI_Comm_size);
    int next = (rank + 1) % num_ranks;
    int previous = (rank + num_ranks - 1) % num_ranks;
    int64_t count = 2;
    int64_t displacement = 1;
    indices ids{7, 8, 8};
    crossdock_pattern* pattern = nullptr;
    crossdock_neighbor_alltoallv_arguments arguments{
        1, &next, &count, &displacement, 1, &previous, &count, &displacement, 3, ids.data()};
};

TEST_F(RingArguments, EqualIdsAreOneItem) {
    crossdock_context* context = nullptr;
    crossdock_topology* topology = nullptr;
    crossdock_plan* plan = nullptr;
    crossdock_traffic traffic{};
    const auto options = on("direct");
    ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, nullptr, &context));
    ASSERT_SUCCESS(crossdock_context_topology(context, &topology));

    ASSERT_SUCCESS(
        crossdock_pattern_from_neighbor_alltoallv(rank, num_ranks, &arguments, &pattern));
    ASSERT_SUCCESS(crossdock_plan_compile(context, pattern, &options, &plan));
    EXPECT_SUCCESS(crossdock_plan_total_traffic(topology, plan, &traffic));

    EXPECT_EQ(traffic.items, num_ranks > 1 ? 1 : 0);
    EXPECT_SUCCESS(crossdock_plan_free(plan));
    EXPECT_SUCCESS(crossdock_pattern_free(pattern));
    EXPECT_SUCCESS(crossdock_topology_free(topology));
    EXPECT_SUCCESS(crossdock_context_close(context));
    EXPECT_SUCCESS(crossdock_context_free(context));
}

/// A ring whose neighbors MPI knows: two items from place 1 on go to the same places of the next rank.
class DistributedGraph : public RingArguments {
  protected:
    void SetUp() override {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
        ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, nullptr, &context));
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
        EXPECT_SUCCESS(crossdock_context_close(context));
        EXPECT_SUCCESS(crossdock_context_free(context));
        MPI_Comm_free(&graph);
    }

    bool is_last = rank == num_ranks - 1;
    int two = 2;
    int place = 1;
    MPI_Comm graph = MPI_COMM_NULL;
    crossdock_context* context = nullptr;
    crossdock_neighbor_exchange* neighbor = nullptr;
};

TEST_F(DistributedGraph, GivesTheNeighborsOfAPattern) {
    arguments.destinations = arguments.sources = nullptr;
    const std::vector<double> values{0, 1.0 * rank, 1.0 * rank};
    std::vector<double> slots{-1, -1, -1};

    ASSERT_SUCCESS(crossdock_pattern_from_dist_graph(graph, &arguments, &pattern));
    ASSERT_SUCCESS(crossdock_neighbor_exchange_create(context, pattern, nullptr, &neighbor));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_forward(neighbor, values.data(), slots.data(), MPI_DOUBLE));

    EXPECT_EQ(slots, (std::vector<double>{-1, 1.0 * previous, 1.0 * previous}));
    EXPECT_SUCCESS(crossdock_pattern_free(pattern));
    int64_t counts[]{2, 2};
    int64_t places[]{1, 1};
    arguments.num_sources = 2;
    arguments.receive_counts = counts;
    arguments.receive_displacements = places;
    expect_error(crossdock_pattern_from_dist_graph(graph, &arguments, &pattern),
                 CROSSDOCK_SIZE_MISMATCH,
                 "rank " + number(rank) + " gives 1 sources, 2 counts and 2 displacements");
    arguments.num_sources = -1;
    expect_error(crossdock_pattern_from_dist_graph(graph, &arguments, &pattern),
                 CROSSDOCK_INVALID_ARGUMENT, "receive_counts has length -1");
}

TEST_F(DistributedGraph, GivesTheNumbersOfNeighborsOfAPattern) {
    arguments.num_destinations = arguments.num_sources = 0;
    crossdock_pattern* same = nullptr;
    int64_t num_items = 0;
    int64_t num_slots = 0;

    ASSERT_SUCCESS(crossdock_pattern_from_dist_graph(graph, &arguments, &same));
    EXPECT_SUCCESS(crossdock_pattern_num_items(same, &num_items));
    EXPECT_SUCCESS(crossdock_pattern_num_slots(same, &num_slots));

    EXPECT_EQ(num_items, 3);
    EXPECT_EQ(num_slots, 3);
    EXPECT_SUCCESS(crossdock_pattern_free(same));
    arguments.send_counts = nullptr;
    expect_null(crossdock_pattern_from_dist_graph(graph, &arguments, &same), "send_counts");
}

class IntArguments : public DistributedGraph {
  protected:
    crossdock_neighbor_alltoallv_int_arguments numbers{1,    &next,  &two, &place,    1, &previous,
                                                       &two, &place, 3,    ids.data()};
};

TEST_F(IntArguments, MakeAnExchangeInOneCall) {
    for (const char* route : {"direct", "hypercube", "auto"}) {
        const std::vector<int> values{0, 10 * rank + 1, 10 * rank + 1};
        std::vector<int> slots{-1, -1, -1};
        crossdock_traffic traffic{};

        const auto options = on(route);
        ASSERT_SUCCESS(crossdock_neighbor_exchange_create_from_arguments(context, &numbers, MPI_INT,
                                                                         &options, &neighbor));
        EXPECT_SUCCESS(
            crossdock_neighbor_exchange_forward(neighbor, values.data(), slots.data(), MPI_INT));
        EXPECT_SUCCESS(crossdock_neighbor_exchange_statistics(neighbor, &traffic));

        EXPECT_EQ(slots, (std::vector<int>{-1, 10 * previous + 1, 10 * previous + 1}));
        if (std::string(route) == "direct") {
            EXPECT_EQ(traffic.items, num_ranks > 1 ? 1 : 0);
        }
        EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
        neighbor = nullptr;
    }
}

TEST_F(IntArguments, AreRefusedOnAllRanksOrNone) {
    const auto refused = [&](auto spoil) {
        auto given = numbers;
        const crossdock_neighbor_alltoallv_int_arguments* pointer = &given;
        MPI_Datatype datatype = MPI_INT;
        auto** to = &neighbor;
        if (is_last) spoil(given, pointer, datatype, to);
        return crossdock_neighbor_exchange_create_from_arguments(context, pointer, datatype,
                                                                 nullptr, to);
    };
    expect_null(crossdock_neighbor_exchange_create_from_arguments(nullptr, &numbers, MPI_INT,
                                                                  nullptr, &neighbor),
                "context");
    expect_null(refused([](auto&, auto& pointer, auto&...) { pointer = nullptr; }), "arguments");
    expect_null(refused([](auto&, auto&, auto&, auto& to) { to = nullptr; }), "result");
    expect_null(refused([](auto& given, auto&...) { given.destinations = nullptr; }),
                "destinations");
    expect_null(refused([](auto& given, auto&...) { given.receive_counts = nullptr; }),
                "receive_counts");
    expect_null(refused([](auto& given, auto&...) { given.send_ids = nullptr; }), "send_ids");
    expect_error(refused([](auto& given, auto&...) { given.num_sources = -1; }),
                 CROSSDOCK_INVALID_ARGUMENT, "receive_counts has length -1");
    expect_error(refused([](auto& given, auto&...) { given.num_send_ids = 2; }),
                 CROSSDOCK_SIZE_MISMATCH,
                 "rank " + number(num_ranks - 1) + " gives 2 ids for a send buffer of 3 items");
    EXPECT_EQ(refused([&](auto& given, auto&...) { given.sources = &num_ranks; }),
              CROSSDOCK_RANK_OUT_OF_RANGE);
    expect_error(refused([](auto&, auto&, auto& datatype, auto&) { datatype = MPI_DATATYPE_NULL; }),
                 CROSSDOCK_INVALID_ARGUMENT, "datatype is MPI_DATATYPE_NULL");
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(IntArguments, ValuesOfTwoDatatypesOfOneSize) {
    const std::vector<int> values{0, 10 * rank + 1, 10 * rank + 2};
    MPI_Datatype twin = MPI_DATATYPE_NULL;
    MPI_Datatype spaced = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(1, MPI_INT, &twin);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&twin);
    MPI_Type_commit(&spaced);
    numbers.num_send_ids = 0;
    ASSERT_SUCCESS(crossdock_neighbor_exchange_create_from_arguments(context, &numbers, MPI_INT,
                                                                     nullptr, &neighbor));

    std::vector<int> slots{-1, -1, -1};
    EXPECT_SUCCESS(crossdock_neighbor_exchange_start_types(neighbor, values.data(), MPI_INT,
                                                           slots.data(), twin));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(slots, (std::vector<int>{-1, 10 * previous + 1, 10 * previous + 2}));

    // One rank has no gaps where the others have: the datatypes of ranks are their own.
    std::vector<int> wide(6, -1);
    EXPECT_SUCCESS(crossdock_neighbor_exchange_start_types(
        neighbor, values.data(), MPI_INT, wide.data(), is_last ? MPI_INT : spaced));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    const int one = 10 * previous + 1;
    EXPECT_EQ(wide, is_last ? (std::vector<int>{-1, one, one + 1, -1, -1, -1})
                            : (std::vector<int>{-1, -1, one, -1, one + 1, -1}));

    expect_error(crossdock_neighbor_exchange_start_types(neighbor, values.data(), MPI_INT,
                                                         slots.data(), MPI_DOUBLE),
                 CROSSDOCK_SIZE_MISMATCH,
                 "an item has 4 bytes, but a slot 8: give datatypes of equal size");
    expect_null(crossdock_neighbor_exchange_start_types(nullptr, values.data(), MPI_INT,
                                                        slots.data(), MPI_INT),
                "exchange");
    MPI_Type_free(&twin);
    MPI_Type_free(&spaced);
}

TEST_F(DistributedGraph, TakesTheArraysOfMpi) {
    for (const char* route : {"direct", "hypercube", "auto"}) {
        const std::vector<int> values{0, 10 * rank + 1, 10 * rank + 2};
        std::vector<int> slots{-1, -1, -1};

        const auto options = on(route);
        ASSERT_SUCCESS(crossdock_neighbor_alltoallv_init(context, &two, &place, &two, &place, graph,
                                                         MPI_INT, &options, &neighbor));
        for (int i = 0; i < 2; ++i) {
            EXPECT_SUCCESS(
                crossdock_neighbor_exchange_start(neighbor, values.data(), slots.data(), MPI_INT));
            EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
            EXPECT_EQ(slots, (std::vector<int>{-1, 10 * previous + 1, 10 * previous + 2}));
        }
        std::vector<int> home{100, 100, 100};
        const std::vector<int> back{7, 10 * rank + 1, 10 * rank + 2};
        EXPECT_SUCCESS(crossdock_neighbor_exchange_reverse(neighbor, back.data(), home.data(),
                                                           MPI_INT, MPI_SUM));
        EXPECT_EQ(home, (std::vector<int>{100, 101 + 10 * next, 102 + 10 * next}));
        EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
        neighbor = nullptr;
    }
}

TEST_F(DistributedGraph, MayHaveNoNeighbors) {
    MPI_Comm lonely = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &lonely);

    ASSERT_SUCCESS(crossdock_neighbor_alltoallv_init(context, nullptr, nullptr, nullptr, nullptr,
                                                     lonely, MPI_INT, nullptr, &neighbor));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_forward(neighbor, nullptr, nullptr, MPI_INT));

    MPI_Comm_free(&lonely);
}

TEST_F(DistributedGraph, TakesNoOtherArraysOnAnyRank) {
    const int negative = -1;
    expect_null(crossdock_neighbor_alltoallv_init(nullptr, &two, &place, &two, &place, graph,
                                                  MPI_INT, nullptr, &neighbor),
                "context");
    const auto refused = [&](auto spoil) {
        const int* arrays[]{&two, &place, &two, &place};
        MPI_Comm comm = graph;
        MPI_Datatype datatype = MPI_INT;
        auto** to = &neighbor;
        if (is_last) spoil(arrays, comm, datatype, to);
        return crossdock_neighbor_alltoallv_init(context, arrays[0], arrays[1], arrays[2],
                                                 arrays[3], comm, datatype, nullptr, to);
    };
    const char* const names[]{"send_counts", "send_displs", "recv_counts", "recv_displs"};
    for (int i = 0; i < 4; ++i) {
        expect_null(refused([&](auto& arrays, auto&...) { arrays[i] = nullptr; }), names[i]);
        EXPECT_EQ(refused([&](auto& arrays, auto&...) { arrays[i] = &negative; }),
                  CROSSDOCK_INVALID_ARGUMENT);
    }
    expect_null(refused([](auto&, auto&, auto&, auto& to) { to = nullptr; }), "result");
    expect_error(refused([](auto&, auto&, auto& datatype, auto&) { datatype = MPI_DATATYPE_NULL; }),
                 CROSSDOCK_INVALID_ARGUMENT, "datatype is MPI_DATATYPE_NULL");
    expect_error(refused([](auto&, auto& comm, auto&...) { comm = MPI_COMM_WORLD; }),
                 CROSSDOCK_INVALID_ARGUMENT, "the communicator has no distributed graph");
    expect_error(refused([](auto&, auto& comm, auto&...) { comm = MPI_COMM_NULL; }),
                 CROSSDOCK_INVALID_ARGUMENT, "the graph has other ranks than the context");
    if (num_ranks > 1) {
        expect_error(refused([](auto&, auto& comm, auto&...) { comm = MPI_COMM_SELF; }),
                     CROSSDOCK_INVALID_ARGUMENT, "the graph has other ranks than the context");
        const int three = 3;
        EXPECT_EQ(refused([&](auto& arrays, auto&...) { arrays[0] = &three; }),
                  CROSSDOCK_COUNT_MISMATCH);
    }
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(RingArguments, RefuseACommunicatorWithoutAGraph) {
    expect_error(crossdock_pattern_from_dist_graph(MPI_COMM_WORLD, &arguments, &pattern),
                 CROSSDOCK_INVALID_ARGUMENT, "the communicator has no distributed graph");
    expect_null(crossdock_pattern_from_dist_graph(MPI_COMM_WORLD, nullptr, &pattern), "arguments");
    expect_null(crossdock_pattern_from_dist_graph(MPI_COMM_WORLD, &arguments, nullptr), "result");
}

TEST_F(RingArguments, RefuseWhatTheyDoNotAccept) {
    const auto make = [&] {
        return crossdock_pattern_from_neighbor_alltoallv(rank, num_ranks, &arguments, &pattern);
    };
    const auto defaults = arguments;

    expect_null(crossdock_pattern_from_neighbor_alltoallv(0, 1, nullptr, &pattern), "arguments");
    expect_null(crossdock_pattern_from_neighbor_alltoallv(0, 1, &arguments, nullptr), "result");
    arguments.destinations = nullptr;
    expect_null(make(), "destinations");
    arguments = defaults;
    arguments.send_counts = nullptr;
    expect_null(make(), "send_counts");
    arguments = defaults;
    arguments.receive_displacements = nullptr;
    expect_null(make(), "receive_displacements");
    arguments = defaults;
    arguments.num_sources = -1;
    expect_error(make(), CROSSDOCK_INVALID_ARGUMENT, "sources has length -1");
    arguments = defaults;
    arguments.num_send_ids = 2;
    expect_error(make(), CROSSDOCK_SIZE_MISMATCH,
                 "rank " + number(rank) + " gives 2 ids for a send buffer of 3 items");
    arguments = defaults;
    next = num_ranks;
    EXPECT_EQ(make(), CROSSDOCK_RANK_OUT_OF_RANGE);
    next = 0;
    count = -1;
    EXPECT_EQ(make(), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(pattern, nullptr);
}

}  // namespace
}  // namespace crossdock_c_calls_test

#include "crossdock/crossdock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "crossdock/base/error.hpp"

namespace crossdock_c_test {
namespace {

using indices = std::vector<int64_t>;

int world(int (*ask)(MPI_Comm, int*)) {
    int answer = 0;
    ask(MPI_COMM_WORLD, &answer);
    return answer;
}

std::string number(int64_t n) { return std::to_string(n); }

int64_t length(const indices& list) { return static_cast<int64_t>(list.size()); }

void expect_error(crossdock_status actual, crossdock_status expected, const std::string& text) {
    EXPECT_STREQ(crossdock_status_name(actual), crossdock_status_name(expected));
    EXPECT_EQ(crossdock_last_error(), text);
}

void expect_null(crossdock_status actual, const char* argument) {
    expect_error(actual, CROSSDOCK_INVALID_ARGUMENT, std::string(argument) + " is a null pointer");
}

#define EXPECT_SUCCESS(call) EXPECT_EQ(call, CROSSDOCK_SUCCESS) << crossdock_last_error()
#define ASSERT_SUCCESS(call) ASSERT_EQ(call, CROSSDOCK_SUCCESS) << crossdock_last_error()

/// A text of the library's, freed.
std::string taken(char* text) {
    std::string copy = text;
    EXPECT_SUCCESS(crossdock_free(text));
    return copy;
}

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
    EXPECT_SUCCESS(crossdock_communicator_close(nullptr));
    EXPECT_SUCCESS(crossdock_topology_free(nullptr));
    EXPECT_SUCCESS(crossdock_pattern_free(nullptr));
    EXPECT_SUCCESS(crossdock_halos_free(nullptr));
    EXPECT_SUCCESS(crossdock_plan_free(nullptr));
    EXPECT_SUCCESS(crossdock_neighbor_free(nullptr));
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

/// The matrix drawn at `crossdock::halo`, on two ranks, in a file of this process.
class Halos : public testing::Test {
  protected:
    void SetUp() override {
        std::ofstream(path) << "%%MatrixMarket matrix coordinate pattern general\n4 4 6\n"
                               "1 1\n1 2\n2 2\n3 3\n4 2\n4 4\n";
        ASSERT_SUCCESS(crossdock_halos_from_matrix_file(path.c_str(), "block", 2, &halos));
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_halos_free(halos));
        std::remove(path.c_str());
    }

    using query = crossdock_status (*)(const crossdock_halos*, int, int64_t*, const int64_t**);

    indices list(query ask, int rank) const {
        int64_t size = -1;
        const int64_t* values = nullptr;
        EXPECT_SUCCESS(ask(halos, rank, &size, &values));
        return {values, values + size};
    }

    std::string path =
        testing::TempDir() + "crossdock_c_test_" + number(world(MPI_Comm_rank)) + ".mtx";
    crossdock_halos* halos = nullptr;
};

TEST_F(Halos, GiveEachRankItsPatternAndColumns) {
    crossdock_pattern* pattern = nullptr;
    int64_t answer = -1;

    EXPECT_EQ(list(crossdock_halos_owned_rows, 1), (indices{2, 3}));
    EXPECT_EQ(list(crossdock_halos_owned_columns, 0), (indices{0, 1}));
    EXPECT_EQ(list(crossdock_halos_ghost_columns, 0), indices{});
    EXPECT_EQ(list(crossdock_halos_ghost_columns, 1), indices{1});
    EXPECT_SUCCESS(crossdock_halos_pattern(halos, 1, &pattern));
    EXPECT_SUCCESS(crossdock_pattern_num_items(pattern, &answer));
    EXPECT_EQ(answer, 2);
    EXPECT_SUCCESS(crossdock_pattern_num_slots(pattern, &answer));
    EXPECT_EQ(answer, 1);
    EXPECT_SUCCESS(crossdock_pattern_free(pattern));
}

TEST_F(Halos, RefuseFilesPartitionsAndRanksThatAreNone) {
    crossdock_halos* other = nullptr;
    crossdock_pattern* pattern = nullptr;
    int64_t size = 0;
    const int64_t* values = nullptr;

    EXPECT_EQ(crossdock_halos_from_matrix_file("/no/such/file", "block", 2, &other),
              CROSSDOCK_FILE_ERROR);
    EXPECT_EQ(crossdock_halos_from_matrix_file(path.c_str(), "slices", 2, &other),
              CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_halos_from_matrix_file(path.c_str(), "block", 0, &other),
              CROSSDOCK_INVALID_ARGUMENT);
    std::ofstream(path) << "no matrix";
    EXPECT_EQ(crossdock_halos_from_matrix_file(path.c_str(), "block", 2, &other),
              CROSSDOCK_PARSE_ERROR);
    expect_null(crossdock_halos_from_matrix_file(nullptr, "block", 2, &other), "path");
    expect_null(crossdock_halos_from_matrix_file("", nullptr, 2, &other), "partition");
    expect_null(crossdock_halos_from_matrix_file("", "block", 2, nullptr), "result");
    expect_error(crossdock_halos_pattern(halos, 2, &pattern), CROSSDOCK_RANK_OUT_OF_RANGE,
                 "rank 2 is outside [0, 2)");
    expect_error(crossdock_halos_owned_rows(halos, -1, &size, &values), CROSSDOCK_RANK_OUT_OF_RANGE,
                 "rank -1 is outside [0, 2)");
    expect_null(crossdock_halos_pattern(nullptr, 0, &pattern), "halos");
    expect_null(crossdock_halos_pattern(halos, 0, nullptr), "result");
    expect_null(crossdock_halos_owned_columns(nullptr, 0, &size, &values), "halos");
    expect_null(crossdock_halos_ghost_columns(halos, 0, nullptr, &values), "length");
    expect_null(crossdock_halos_ghost_columns(halos, 0, &size, nullptr), "result");
}

/// Offline plans of the two ranks of `Halos`.
class OfflinePlan : public Halos {
  protected:
    void SetUp() override {
        Halos::SetUp();
        ASSERT_SUCCESS(crossdock_topology_from_string("2x1", &topology));
        for (int rank = 0; rank < 2; ++rank)
            ASSERT_SUCCESS(crossdock_halos_pattern(halos, rank, &patterns[rank]));
        ASSERT_SUCCESS(crossdock_plan_compile_all(topology, patterns, "direct", nullptr, plans));
    }
    void TearDown() override {
        for (crossdock_plan* plan : plans) EXPECT_SUCCESS(crossdock_plan_free(plan));
        for (crossdock_pattern* pattern : patterns) EXPECT_SUCCESS(crossdock_pattern_free(pattern));
        EXPECT_SUCCESS(crossdock_topology_free(topology));
        Halos::TearDown();
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

TEST(Options, DefaultToDeduplication) {
    crossdock_options options{};

    EXPECT_SUCCESS(crossdock_options_init(&options));

    EXPECT_EQ(options.deduplicate, 1);
    EXPECT_EQ(options.max_message_bytes, std::size_t{1} << 30);
    EXPECT_EQ(options.executor, CROSSDOCK_EXECUTOR_AUTO);
    EXPECT_EQ(options.nodes, nullptr);
    EXPECT_EQ(options.item_bytes, 8u);
    EXPECT_EQ(options.stripe_bytes, 0u);
    EXPECT_EQ(options.prepare_reverse, 0);
    expect_null(crossdock_options_init(nullptr), "options");
}

/// Rank r owns indices 3r, 3r + 1, 3r + 2; it needs the first one of every rank and its own last.
class Communication : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_SUCCESS(crossdock_communicator_create(MPI_COMM_WORLD, &comm));
        std::vector<int> regions;
        for (int r = 0; r < num_ranks; ++r) regions.push_back(r / 2);
        ASSERT_SUCCESS(crossdock_topology_from_regions(num_ranks, regions.data(), &topology));
        for (int r = 0; r < num_ranks; ++r) needed.push_back(3 * r);
        needed.push_back(3 * rank + 2);
        ASSERT_SUCCESS(crossdock_pattern_from_needed_range(comm, 3 * rank, 3, length(needed),
                                                           needed.data(), &pattern));
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_pattern_free(pattern));
        EXPECT_SUCCESS(crossdock_topology_free(topology));
        EXPECT_SUCCESS(crossdock_communicator_close(comm));
    }

    crossdock_neighbor* make_neighbor(const char* route,
                                      const crossdock_options* options = nullptr) {
        crossdock_neighbor* neighbor = nullptr;
        EXPECT_SUCCESS(
            crossdock_neighbor_create(comm, topology, pattern, route, options, &neighbor));
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
    crossdock_communicator* comm = nullptr;
    crossdock_topology* topology = nullptr;
    crossdock_pattern* pattern = nullptr;
    indices needed;
};

TEST_F(Communication, RefusesCommunicatorsThatAreNone) {
    crossdock_communicator* other = nullptr;

    expect_error(crossdock_communicator_create(MPI_COMM_NULL, &other), CROSSDOCK_INVALID_ARGUMENT,
                 "the communicator is MPI_COMM_NULL");
    expect_null(crossdock_communicator_create(MPI_COMM_WORLD, nullptr), "result");
}

TEST_F(Communication, DiscoversTheTopology) {
    crossdock_topology* found = nullptr;

    EXPECT_SUCCESS(crossdock_topology_discover(comm, CROSSDOCK_NODE, &found));

    int answer = 0;
    EXPECT_SUCCESS(crossdock_topology_num_ranks(found, &answer));
    EXPECT_EQ(answer, num_ranks);
    EXPECT_SUCCESS(crossdock_topology_free(found));
    for (const auto level : {CROSSDOCK_SOCKET, CROSSDOCK_NUMA, CROSSDOCK_L3}) {
        EXPECT_SUCCESS(crossdock_topology_discover(comm, level, &found));
        EXPECT_SUCCESS(crossdock_topology_free(found));
    }
    expect_null(crossdock_topology_discover(nullptr, CROSSDOCK_NODE, &found), "comm");
    expect_null(crossdock_topology_discover(comm, CROSSDOCK_NODE, is_last ? nullptr : &found),
                "result");
    expect_error(crossdock_topology_discover(comm, is_last ? 7 : 0, &found),
                 CROSSDOCK_INVALID_ARGUMENT, "there is no locality 7");
}

TEST_F(Communication, GathersTheTopology) {
    crossdock_topology* found = nullptr;

    EXPECT_SUCCESS(crossdock_topology_gather(comm, rank / 2 + 5, &found));

    EXPECT_EQ(text_of(found), text_of(topology));
    EXPECT_SUCCESS(crossdock_topology_free(found));
    expect_error(crossdock_topology_gather(comm, is_last ? -3 : 0, &found),
                 CROSSDOCK_INVALID_ARGUMENT,
                 "the key of rank " + number(last) + " is -3; the least is 0");
    expect_null(crossdock_topology_gather(nullptr, 0, &found), "comm");
    expect_null(crossdock_topology_gather(comm, 0, is_last ? nullptr : &found), "result");
}

TEST_F(Communication, FindsOwnersOfScatteredIndices) {
    const indices owned{rank + 2 * num_ranks, rank, rank + num_ranks};
    const indices wanted{0, 0};
    crossdock_pattern* found = nullptr;
    int64_t answer = 0;

    ASSERT_SUCCESS(crossdock_pattern_from_needed(comm, 3, owned.data(), 2, wanted.data(), &found));

    EXPECT_SUCCESS(crossdock_pattern_num_items(found, &answer));
    EXPECT_EQ(answer, 3);
    EXPECT_SUCCESS(crossdock_pattern_num_slots(found, &answer));
    EXPECT_EQ(answer, 2);
    EXPECT_SUCCESS(crossdock_pattern_free(found));
    expect_null(crossdock_pattern_num_items(nullptr, &answer), "pattern");
    expect_null(crossdock_pattern_num_slots(nullptr, &answer), "pattern");
}

TEST_F(Communication, FailsOnAllRanksIfOneNeedsWhatNobodyOwns) {
    const int64_t missing = 1000;
    const std::string text =
        "index 1000, which rank " + number(last) + " needs, is owned by no rank";
    crossdock_pattern* found = nullptr;

    expect_error(
        crossdock_pattern_from_needed_range(comm, 3 * rank, 3, is_last ? 1 : 0, &missing, &found),
        CROSSDOCK_INDEX_OUT_OF_RANGE, text);
    expect_error(crossdock_pattern_from_needed(comm, 0, nullptr, is_last ? 1 : 0, &missing, &found),
                 CROSSDOCK_INDEX_OUT_OF_RANGE, text);
    EXPECT_EQ(found, nullptr);
}

TEST_F(Communication, FailsOnAllRanksIfOneNamesNoIndices) {
    crossdock_pattern* found = nullptr;

    expect_null(crossdock_pattern_from_needed(comm, is_last ? 1 : 0, nullptr, 0, nullptr, &found),
                "owned");
    expect_null(crossdock_pattern_from_needed(comm, 0, nullptr, is_last ? 1 : 0, nullptr, &found),
                "needed");
    expect_null(
        crossdock_pattern_from_needed(comm, 0, nullptr, 0, nullptr, is_last ? nullptr : &found),
        "result");
    expect_null(crossdock_pattern_from_needed_range(comm, 0, 0, is_last ? 1 : 0, nullptr, &found),
                "needed");
    expect_null(
        crossdock_pattern_from_needed_range(comm, 0, 0, 0, nullptr, is_last ? nullptr : &found),
        "result");
    expect_error(crossdock_pattern_from_needed(comm, is_last ? -2 : 0, nullptr, 0, nullptr, &found),
                 CROSSDOCK_INVALID_ARGUMENT, "owned has length -2");
    expect_null(crossdock_pattern_from_needed(nullptr, 0, nullptr, 0, nullptr, &found), "comm");
    expect_null(crossdock_pattern_from_needed_range(nullptr, 0, 0, 0, nullptr, &found), "comm");
}

TEST_F(Communication, EveryRouteCarriesItemsForwardAndHome) {
    int num_routes = 0;
    EXPECT_SUCCESS(crossdock_num_routes(&num_routes));
    for (int index = 0; index < num_routes; ++index) {
        const char* route = nullptr;
        EXPECT_SUCCESS(crossdock_route_example(index, &route));
        for (const int deduplicate : {0, 1}) {
            crossdock_options options{};
            options.deduplicate = deduplicate;
            options.max_message_bytes = 64;
            options.executor =
                deduplicate != 0 ? CROSSDOCK_EXECUTOR_SHARED_MEMORY : CROSSDOCK_EXECUTOR_PERSISTENT;
            options.nodes = topology;
            options.stripe_bytes = 8;
            options.prepare_reverse = 1;
            crossdock_neighbor* neighbor = make_neighbor(route, &options);
            std::vector<double> values = items();
            std::vector<double> slots = empty_slots();

            EXPECT_SUCCESS(
                crossdock_neighbor_exchange(neighbor, values.data(), MPI_DOUBLE, slots.data()));
            EXPECT_EQ(slots, filled()) << route;
            std::fill(slots.begin(), slots.end(), 1.0);
            EXPECT_SUCCESS(crossdock_neighbor_reverse(neighbor, slots.data(), MPI_DOUBLE, MPI_SUM,
                                                      values.data()));

            EXPECT_EQ(values,
                      (std::vector<double>{3.0 * rank + num_ranks, 3.0 * rank + 1, 3.0 * rank + 3}))
                << route;
            EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
        }
    }
}

TEST_F(Communication, AnExecutorThatIsNoneIsRefusedOnAllRanks) {
    crossdock_options options{};
    crossdock_neighbor* neighbor = nullptr;
    if (rank == 0) options.executor = static_cast<crossdock_executor>(3);

    EXPECT_EQ(crossdock_neighbor_create(comm, topology, pattern, "direct", &options, &neighbor),
              CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(Communication, StridedDatatypesLeaveTheGapsAlone) {
    crossdock_neighbor* neighbor = make_neighbor("three_step");
    MPI_Datatype spaced = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &spaced);
    MPI_Type_commit(&spaced);
    std::vector<double> values;
    std::vector<double> expected;
    for (const double item : items()) values.insert(values.end(), {item, -5});
    for (const double item : filled()) expected.insert(expected.end(), {item, -1});
    std::vector<double> slots(2 * needed.size(), -1);

    EXPECT_SUCCESS(crossdock_neighbor_exchange(neighbor, values.data(), spaced, slots.data()));

    EXPECT_EQ(slots, expected);
    MPI_Type_free(&spaced);
    EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
}

TEST_F(Communication, DuplicatesAreActiveTogether) {
    crossdock_neighbor* first = make_neighbor("two_step");
    crossdock_neighbor* second = nullptr;
    ASSERT_SUCCESS(crossdock_neighbor_duplicate(first, &second));
    const std::vector<double> once = items();
    const std::vector<double> tenfold = items(10);
    std::vector<double> slots = empty_slots();
    std::vector<double> more_slots = empty_slots();
    int is_complete = 0;

    EXPECT_SUCCESS(crossdock_neighbor_start(first, once.data(), MPI_DOUBLE, slots.data()));
    EXPECT_SUCCESS(crossdock_neighbor_start(second, tenfold.data(), MPI_DOUBLE, more_slots.data()));
    EXPECT_SUCCESS(crossdock_neighbor_wait(second));
    while (!is_complete) EXPECT_SUCCESS(crossdock_neighbor_test(first, &is_complete));

    EXPECT_EQ(slots, filled());
    EXPECT_EQ(more_slots, filled(10));
    EXPECT_SUCCESS(crossdock_neighbor_free(first));
    EXPECT_SUCCESS(crossdock_neighbor_free(second));
}

TEST_F(Communication, PlansOfRanksAreThoseCompiledOffline) {
    std::vector<crossdock_pattern*> patterns;
    for (int r = 0; r < num_ranks; ++r) {
        // As `needed` has it: everyone sends its item 0 to all, and item 2 to itself.
        std::vector<int> everyone(static_cast<std::size_t>(num_ranks));
        std::iota(everyone.begin(), everyone.end(), 0);
        everyone.push_back(r);
        const indices counts(everyone.size(), 1);
        indices send_displacements(static_cast<std::size_t>(num_ranks), 0);
        send_displacements.push_back(2);
        indices receive_displacements(everyone.size());
        std::iota(receive_displacements.begin(), receive_displacements.end(), 0);
        const crossdock_neighbor_arguments arguments{num_ranks + 1,
                                                     everyone.data(),
                                                     counts.data(),
                                                     send_displacements.data(),
                                                     num_ranks + 1,
                                                     everyone.data(),
                                                     counts.data(),
                                                     receive_displacements.data(),
                                                     0,
                                                     nullptr};
        ASSERT_SUCCESS(crossdock_pattern_from_neighbor_alltoallv(r, num_ranks, &arguments,
                                                                 &patterns.emplace_back()));
    }
    std::vector<crossdock_plan*> plans(patterns.size());
    crossdock_plan* own = nullptr;
    crossdock_plan* neighbors_own = nullptr;

    ASSERT_SUCCESS(
        crossdock_plan_compile_all(topology, patterns.data(), "three_step", nullptr, plans.data()));
    ASSERT_SUCCESS(crossdock_plan_compile(comm, topology, patterns[static_cast<std::size_t>(rank)],
                                          "three_step", nullptr, &own));
    crossdock_neighbor* neighbor = nullptr;
    ASSERT_SUCCESS(crossdock_neighbor_create(comm, topology,
                                             patterns[static_cast<std::size_t>(rank)], "three_step",
                                             nullptr, &neighbor));
    ASSERT_SUCCESS(crossdock_neighbor_plan(neighbor, &neighbors_own));

    EXPECT_SUCCESS(crossdock_plan_verify(num_ranks, plans.data(), patterns.data()));
    EXPECT_TRUE(is_equal(own, plans[static_cast<std::size_t>(rank)]));
    EXPECT_TRUE(is_equal(own, neighbors_own));
    EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
    EXPECT_SUCCESS(crossdock_plan_free(own));
    EXPECT_SUCCESS(crossdock_plan_free(neighbors_own));
    for (crossdock_plan* plan : plans) EXPECT_SUCCESS(crossdock_plan_free(plan));
    for (crossdock_pattern* p : patterns) EXPECT_SUCCESS(crossdock_pattern_free(p));
}

TEST_F(Communication, ExplainsItsRoute) {
    crossdock_neighbor* chosen = make_neighbor("auto");
    crossdock_neighbor* given = make_neighbor("grid:2");
    crossdock_plan* plan = nullptr;
    char* text = nullptr;
    ASSERT_SUCCESS(crossdock_neighbor_plan(chosen, &plan));

    ASSERT_SUCCESS(crossdock_neighbor_explain(chosen, &text));
    const std::string reasons = taken(text);
    EXPECT_EQ(json_of(plan).find("auto"), std::string::npos);
    const auto route = reasons.substr(0, reasons.find(' '));
    EXPECT_NE(json_of(plan).find(fmt::format("\"{}\"", route)), std::string::npos);
    EXPECT_NE(reasons.find(" us  mostly "), std::string::npos);
    ASSERT_SUCCESS(crossdock_neighbor_explain(given, &text));
    EXPECT_EQ(taken(text), "grid:2  given\n");

    expect_null(crossdock_neighbor_explain(nullptr, &text), "neighbor");
    expect_null(crossdock_neighbor_explain(given, nullptr), "text");
    EXPECT_SUCCESS(crossdock_plan_free(plan));
    EXPECT_SUCCESS(crossdock_neighbor_free(chosen));
    EXPECT_SUCCESS(crossdock_neighbor_free(given));
}

TEST_F(Communication, FailsOnAllRanksIfOneLacksAnArgument) {
    crossdock_plan* plan = nullptr;
    crossdock_neighbor* neighbor = nullptr;
    const auto* some_topology = is_last ? nullptr : topology;
    const auto* some_pattern = is_last ? nullptr : pattern;
    const char* some_route = is_last ? nullptr : "direct";

    expect_null(crossdock_plan_compile(nullptr, topology, pattern, "direct", nullptr, &plan),
                "comm");
    expect_null(crossdock_plan_compile(comm, some_topology, pattern, "direct", nullptr, &plan),
                "topology");
    expect_null(crossdock_plan_compile(comm, topology, some_pattern, "direct", nullptr, &plan),
                "pattern");
    expect_null(crossdock_plan_compile(comm, topology, pattern, some_route, nullptr, &plan),
                "route");
    expect_null(crossdock_plan_compile(comm, topology, pattern, "direct", nullptr,
                                       is_last ? nullptr : &plan),
                "result");
    expect_null(crossdock_neighbor_create(nullptr, topology, pattern, "direct", nullptr, &neighbor),
                "comm");
    expect_null(
        crossdock_neighbor_create(comm, some_topology, pattern, "direct", nullptr, &neighbor),
        "topology");
    expect_null(
        crossdock_neighbor_create(comm, topology, some_pattern, "direct", nullptr, &neighbor),
        "pattern");
    expect_null(crossdock_neighbor_create(comm, topology, pattern, some_route, nullptr, &neighbor),
                "route");
    expect_null(crossdock_neighbor_create(comm, topology, pattern, "direct", nullptr,
                                          is_last ? nullptr : &neighbor),
                "result");
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(Communication, FailsOnAllRanksIfARouteIsNone) {
    crossdock_neighbor* neighbor = nullptr;

    EXPECT_EQ(crossdock_neighbor_create(comm, topology, pattern, is_last ? "ferry" : "direct",
                                        nullptr, &neighbor),
              CROSSDOCK_UNKNOWN_ROUTE);
    EXPECT_EQ(std::string(crossdock_last_error()).rfind("no route is called \"ferry\"", 0), 0U);
    EXPECT_EQ(crossdock_neighbor_create(comm, topology, pattern, "grid:x", nullptr, &neighbor),
              CROSSDOCK_INVALID_ROUTE);
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(Communication, FailsOnAllRanksIfRoutesDiffer) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank cannot differ";
    crossdock_neighbor* neighbor = nullptr;

    expect_error(crossdock_neighbor_create(comm, topology, pattern,
                                           is_last ? "three_step" : "direct", nullptr, &neighbor),
                 CROSSDOCK_INVALID_ARGUMENT, "topologies, routes or options differ between ranks");
}

TEST_F(Communication, FailsOnAllRanksIfTheTopologyIsOfOtherRanks) {
    crossdock_topology* larger = nullptr;
    crossdock_neighbor* neighbor = nullptr;
    ASSERT_SUCCESS(crossdock_topology_from_string("4x4", &larger));

    EXPECT_EQ(crossdock_neighbor_create(comm, larger, pattern, "direct", nullptr, &neighbor),
              CROSSDOCK_SIZE_MISMATCH);

    EXPECT_SUCCESS(crossdock_topology_free(larger));
}

TEST_F(Communication, NamesBothRanksOfACountMismatchOnAllRanks) {
    const int next = (rank + 1) % num_ranks;
    const int previous = (rank + last) % num_ranks;
    const int64_t send_count = 2;
    const int64_t receive_count = is_last ? 3 : 2;
    const int64_t displacement = 0;
    const crossdock_neighbor_arguments arguments{1, &next,     &send_count,    &displacement,
                                                 1, &previous, &receive_count, &displacement,
                                                 0, nullptr};
    crossdock_pattern* mismatched = nullptr;
    ASSERT_SUCCESS(
        crossdock_pattern_from_neighbor_alltoallv(rank, num_ranks, &arguments, &mismatched));
    crossdock_neighbor* neighbor = nullptr;
    crossdock_plan* plan = nullptr;

    const std::string text = "rank " + number((last + last) % num_ranks) +
                             " sends 2 items to rank " + number(last) + ", which expects 3";
    for (const char* route : {"direct", "two_step", "three_step"}) {
        expect_error(
            crossdock_neighbor_create(comm, topology, mismatched, route, nullptr, &neighbor),
            CROSSDOCK_COUNT_MISMATCH, text);
        expect_error(crossdock_plan_compile(comm, topology, mismatched, route, nullptr, &plan),
                     CROSSDOCK_COUNT_MISMATCH, text);
    }
    EXPECT_SUCCESS(crossdock_pattern_free(mismatched));
}

TEST_F(Communication, RefusesCallsInTheWrongState) {
    crossdock_neighbor* neighbor = make_neighbor("direct");
    std::vector<double> values = items();
    std::vector<double> slots = empty_slots();
    int is_complete = 0;

    expect_error(crossdock_neighbor_wait(neighbor), CROSSDOCK_INVALID_STATE,
                 "no exchange is active");
    expect_error(crossdock_neighbor_test(neighbor, &is_complete), CROSSDOCK_INVALID_STATE,
                 "no exchange is active");
    EXPECT_SUCCESS(crossdock_neighbor_start(neighbor, values.data(), MPI_DOUBLE, slots.data()));
    expect_error(crossdock_neighbor_start(neighbor, values.data(), MPI_DOUBLE, slots.data()),
                 CROSSDOCK_INVALID_STATE, "an exchange is active already");
    expect_error(crossdock_neighbor_exchange(neighbor, values.data(), MPI_DOUBLE, slots.data()),
                 CROSSDOCK_INVALID_STATE, "an exchange is active already");
    expect_error(
        crossdock_neighbor_reverse(neighbor, slots.data(), MPI_DOUBLE, MPI_SUM, values.data()),
        CROSSDOCK_INVALID_STATE, "an exchange is active already");
    EXPECT_SUCCESS(crossdock_neighbor_wait(neighbor));

    EXPECT_EQ(slots, filled());
    EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
}

TEST_F(Communication, RefusesNullsWhereItRuns) {
    crossdock_neighbor* neighbor = make_neighbor("direct");
    crossdock_neighbor* copy = nullptr;
    crossdock_plan* plan = nullptr;
    std::vector<double> values = items();
    std::vector<double> slots = empty_slots();
    double* v = values.data();
    double* s = slots.data();
    int is_complete = 0;

    expect_null(crossdock_neighbor_start(nullptr, v, MPI_DOUBLE, s), "neighbor");
    expect_null(crossdock_neighbor_start(neighbor, nullptr, MPI_DOUBLE, s), "items");
    expect_null(crossdock_neighbor_start(neighbor, v, MPI_DOUBLE, nullptr), "slots");
    expect_error(crossdock_neighbor_start(neighbor, v, MPI_DATATYPE_NULL, s),
                 CROSSDOCK_INVALID_ARGUMENT, "datatype is MPI_DATATYPE_NULL");
    expect_null(crossdock_neighbor_exchange(nullptr, v, MPI_DOUBLE, s), "neighbor");
    expect_null(crossdock_neighbor_start_reverse(nullptr, s, MPI_DOUBLE, MPI_SUM, v), "neighbor");
    expect_null(crossdock_neighbor_start_reverse(neighbor, nullptr, MPI_DOUBLE, MPI_SUM, v),
                "slots");
    expect_null(crossdock_neighbor_start_reverse(neighbor, s, MPI_DOUBLE, MPI_SUM, nullptr),
                "items");
    expect_error(crossdock_neighbor_start_reverse(neighbor, s, MPI_DOUBLE, MPI_OP_NULL, v),
                 CROSSDOCK_INVALID_ARGUMENT, "operation is MPI_OP_NULL");
    expect_null(crossdock_neighbor_reverse(nullptr, s, MPI_DOUBLE, MPI_SUM, v), "neighbor");
    expect_null(crossdock_neighbor_test(nullptr, &is_complete), "neighbor");
    expect_null(crossdock_neighbor_test(neighbor, nullptr), "result");
    expect_null(crossdock_neighbor_wait(nullptr), "neighbor");
    expect_null(crossdock_neighbor_duplicate(nullptr, &copy), "neighbor");
    expect_null(crossdock_neighbor_duplicate(neighbor, nullptr), "result");
    expect_null(crossdock_neighbor_plan(nullptr, &plan), "neighbor");
    expect_null(crossdock_neighbor_plan(neighbor, nullptr), "result");
    EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
}

TEST_F(Communication, RefusesOperationsThatDoNotCommute) {
    crossdock_neighbor* neighbor = make_neighbor("direct");
    std::vector<double> values = items();
    std::vector<double> slots = empty_slots();
    MPI_Op ordered = MPI_OP_NULL;
    MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 0, &ordered);

    expect_error(
        crossdock_neighbor_reverse(neighbor, slots.data(), MPI_DOUBLE, ordered, values.data()),
        CROSSDOCK_INVALID_ARGUMENT, "the operation is not commutative");

    MPI_Op_free(&ordered);
    EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
}

TEST_F(Communication, ARankMayHaveNeitherItemsNorSlots) {
    crossdock_pattern* empty = nullptr;
    crossdock_neighbor* neighbor = nullptr;
    ASSERT_SUCCESS(crossdock_pattern_from_needed(comm, 0, nullptr, 0, nullptr, &empty));
    ASSERT_SUCCESS(
        crossdock_neighbor_create(comm, topology, empty, "three_step", nullptr, &neighbor));

    EXPECT_SUCCESS(crossdock_neighbor_exchange(neighbor, nullptr, MPI_INT, nullptr));
    EXPECT_SUCCESS(crossdock_neighbor_reverse(neighbor, nullptr, MPI_INT, MPI_MAX, nullptr));

    EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
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
    crossdock_neighbor_arguments arguments{
        1, &next, &count, &displacement, 1, &previous, &count, &displacement, 3, ids.data()};
};

TEST_F(RingArguments, EqualIdsAreOneItem) {
    crossdock_communicator* comm = nullptr;
    crossdock_topology* topology = nullptr;
    crossdock_plan* plan = nullptr;
    crossdock_traffic traffic{};
    ASSERT_SUCCESS(crossdock_communicator_create(MPI_COMM_WORLD, &comm));
    ASSERT_SUCCESS(crossdock_topology_from_string(number(num_ranks).c_str(), &topology));

    ASSERT_SUCCESS(
        crossdock_pattern_from_neighbor_alltoallv(rank, num_ranks, &arguments, &pattern));
    ASSERT_SUCCESS(crossdock_plan_compile(comm, topology, pattern, "direct", nullptr, &plan));
    EXPECT_SUCCESS(crossdock_plan_total_traffic(topology, plan, &traffic));

    EXPECT_EQ(traffic.items, num_ranks > 1 ? 1 : 0);
    EXPECT_SUCCESS(crossdock_plan_free(plan));
    EXPECT_SUCCESS(crossdock_pattern_free(pattern));
    EXPECT_SUCCESS(crossdock_topology_free(topology));
    EXPECT_SUCCESS(crossdock_communicator_close(comm));
}

TEST_F(RingArguments, ADistributedGraphGivesTheNeighbors) {
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    crossdock_communicator* comm = nullptr;
    crossdock_topology* topology = nullptr;
    crossdock_neighbor* neighbor = nullptr;
    ASSERT_SUCCESS(crossdock_communicator_create(graph, &comm));
    ASSERT_SUCCESS(crossdock_topology_discover(comm, CROSSDOCK_NODE, &topology));
    arguments.destinations = arguments.sources = nullptr;
    const std::vector<int> values{0, rank, rank};
    std::vector<int> slots{-1, -1, -1};

    ASSERT_SUCCESS(crossdock_pattern_from_dist_graph(graph, &arguments, &pattern));
    ASSERT_SUCCESS(
        crossdock_neighbor_create(comm, topology, pattern, "direct", nullptr, &neighbor));
    EXPECT_SUCCESS(crossdock_neighbor_exchange(neighbor, values.data(), MPI_INT, slots.data()));

    EXPECT_EQ(slots, (std::vector<int>{-1, previous, previous}));
    EXPECT_SUCCESS(crossdock_neighbor_free(neighbor));
    EXPECT_SUCCESS(crossdock_pattern_free(pattern));
    arguments.num_sources = 0;
    expect_error(crossdock_pattern_from_dist_graph(graph, &arguments, &pattern),
                 CROSSDOCK_SIZE_MISMATCH,
                 "rank " + number(rank) + " gives 1 sources, 0 counts and 0 displacements");
    EXPECT_SUCCESS(crossdock_topology_free(topology));
    EXPECT_SUCCESS(crossdock_communicator_close(comm));
    MPI_Comm_free(&graph);
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
}  // namespace crossdock_c_test

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
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "c/errors_return.hpp"
#include "c/statuses.hpp"
#include "crossdock/error.hpp"
#include "crossdock/neighbor_exchange.hpp"

namespace crossdock_c_calls_test {
namespace {

using namespace crossdock_c_test;
using doubles = std::vector<double>;
using ints = std::vector<int>;

std::string number(int64_t n) { return std::to_string(n); }

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
    int major = -1, minor = -1, patch = -1;

    EXPECT_SUCCESS(crossdock_version(&major, &minor, &patch));

    EXPECT_EQ(number(major) + "." + number(minor) + "." + number(patch), CROSSDOCK_VERSION);
    expect_nulls(crossdock_version, {"major", "minor", "patch"}, &major, &minor, &patch);
}

TEST(Version, IsComparedByNumbers) {
    EXPECT_TRUE(CROSSDOCK_VERSION_AT_LEAST(0, 0, 9));
    EXPECT_EQ(CROSSDOCK_VERSION_AT_LEAST(CROSSDOCK_VERSION_MAJOR, CROSSDOCK_VERSION_MINOR,
                                         CROSSDOCK_VERSION_PATCH),
              1);
    EXPECT_FALSE(CROSSDOCK_VERSION_AT_LEAST(CROSSDOCK_VERSION_MAJOR, CROSSDOCK_VERSION_MINOR,
                                            CROSSDOCK_VERSION_PATCH + 1));
    EXPECT_FALSE(
        CROSSDOCK_VERSION_AT_LEAST(CROSSDOCK_VERSION_MAJOR, CROSSDOCK_VERSION_MINOR + 1, 0));
    EXPECT_FALSE(CROSSDOCK_VERSION_AT_LEAST(CROSSDOCK_VERSION_MAJOR + 1, 0, 0));
}

TEST(Configuration, HasTheVersionOfTheHeaderAndTheMpiThatRuns) {
    char* text = nullptr;
    ASSERT_SUCCESS(crossdock_configuration(&text));
    const auto all = nlohmann::json::parse(text);
    EXPECT_SUCCESS(crossdock_free(text));
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(library, &length);

    EXPECT_EQ(all["schema"], "crossdock.configuration/1");
    EXPECT_EQ(all["version"], CROSSDOCK_VERSION);
    EXPECT_TRUE(std::string(library).starts_with(all["mpi"]["library"].get<std::string>()));
    EXPECT_EQ(all["mpi"]["standard"], number(MPI_VERSION) + "." + number(MPI_SUBVERSION));
    EXPECT_TRUE(all["build"]["with"]["mpi_advance"]);
    expect_nulls(crossdock_configuration, {"result"}, &text);
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
    const int num_routes = given_by(crossdock_num_routes);
    const char* name = nullptr;
    const char* route = nullptr;

    EXPECT_STREQ(given_by<const char*>(crossdock_route_name, 0), "direct");
    for (int index = 0; index < num_routes; ++index) {
        EXPECT_SUCCESS(crossdock_route_name(index, &name));
        EXPECT_SUCCESS(crossdock_route_example(index, &route));
        EXPECT_EQ(std::string(route).rfind(name, 0), 0U);
    }

    EXPECT_EQ(crossdock_route_name(-1, &name), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_route_example(num_routes, &route), CROSSDOCK_INVALID_ARGUMENT);
    expect_nulls(crossdock_num_routes, {"result"}, nullptr);
    expect_nulls(crossdock_route_name, {nullptr, "name"}, 0, &name);
    expect_nulls(crossdock_route_example, {nullptr, "route"}, 0, &route);
}

TEST(Topology, AnswersQueries) {
    const auto topology = made<crossdock_topology>(crossdock_topology_from_string, "2,3");

    EXPECT_EQ(given_by(crossdock_topology_num_ranks, topology), 5);
    EXPECT_EQ(given_by(crossdock_topology_num_regions, topology), 2);
    EXPECT_EQ(given_by(crossdock_topology_region_of, topology, 2), 1);
    EXPECT_EQ(given_by(crossdock_topology_local_rank, topology, 4), 2);
    EXPECT_EQ(given_by(crossdock_topology_region_size, topology, 1), 3);
    EXPECT_EQ(given_by(crossdock_topology_rank_at, topology, 1, 1), 3);
    EXPECT_EQ(text_by(crossdock_topology_to_string, topology), "2,3");
    const ints regions{5, 9, 5, 9};
    const auto cyclic =
        made<crossdock_topology>(crossdock_topology_from_regions, 4, regions.data());
    EXPECT_EQ(text_by(crossdock_topology_to_string, cyclic), "cyclic:2x2");
}

TEST(Topology, RefusesWhatItCannotAnswer) {
    const auto topology = made<crossdock_topology>(crossdock_topology_from_string, "2,3");
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
    expect_error(crossdock_topology_from_regions(-1, &region, &untouched),
                 CROSSDOCK_INVALID_ARGUMENT, "region_of_rank has length -1");
    EXPECT_EQ(untouched, topology);
    char* text = nullptr;
    expect_nulls(crossdock_topology_from_regions, {nullptr, "region_of_rank", "result"}, 1, &region,
                 &untouched);
    expect_nulls(crossdock_topology_from_string, {"text", "result"}, "2", &untouched);
    expect_nulls(crossdock_topology_num_ranks, {"topology", "result"}, topology, &answer);
    expect_nulls(crossdock_topology_num_regions, {"topology"}, topology, &answer);
    expect_nulls(crossdock_topology_region_of, {"topology"}, topology, 0, &answer);
    expect_nulls(crossdock_topology_local_rank, {"topology"}, topology, 0, &answer);
    expect_nulls(crossdock_topology_region_size, {"topology"}, topology, 0, &answer);
    expect_nulls(crossdock_topology_rank_at, {"topology"}, topology, 0, 0, &answer);
    expect_nulls(crossdock_topology_to_string, {"topology", "text"}, topology, &text);
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
        ASSERT_SUCCESS(crossdock_pattern_from_neighbor_alltoallv(0, 2, &sends, &patterns[0]));
        ASSERT_SUCCESS(crossdock_pattern_from_neighbor_alltoallv(1, 2, &receives, &patterns[1]));
        ASSERT_SUCCESS(crossdock_plan_compile_all(topology, patterns, "direct", nullptr, plans));
    }
    void TearDown() override {
        for (crossdock_plan* plan : plans) EXPECT_SUCCESS(crossdock_plan_free(plan));
        for (crossdock_pattern* pattern : patterns) EXPECT_SUCCESS(crossdock_pattern_free(pattern));
    }

    owned<crossdock_topology> topology =
        made<crossdock_topology>(crossdock_topology_from_string, "2x1");
    crossdock_pattern* patterns[2]{};
    crossdock_plan* plans[2]{};
};

TEST_F(OfflinePlan, IsVerified) {
    EXPECT_SUCCESS(crossdock_plan_verify(2, plans, patterns));

    crossdock_plan* twisted[2] = {plans[0], plans[0]};
    EXPECT_EQ(crossdock_plan_verify(2, twisted, patterns), CROSSDOCK_INVALID_PLAN);
    expect_error(crossdock_plan_verify(-1, plans, patterns), CROSSDOCK_INVALID_ARGUMENT,
                 "plans has length -1");
    expect_nulls(crossdock_plan_verify, {nullptr, "plans", "patterns"}, 2, plans, patterns);
    crossdock_plan* missing[2] = {plans[0], nullptr};
    expect_null(crossdock_plan_verify(2, missing, patterns), "plans");
}

TEST_F(OfflinePlan, IsCountedAndPrinted) {
    EXPECT_EQ(text_by(crossdock_plan_route, plans[0]), "direct");
    EXPECT_EQ(given_by(crossdock_plan_num_stages, plans[0]), 1);
    EXPECT_EQ(given_by<int64_t>(crossdock_plan_buffer_items, plans[1]), 1);
    for (const auto& traffic :
         {given_by<crossdock_traffic>(crossdock_plan_stage_traffic, topology, plans[0], 0),
          given_by<crossdock_traffic>(crossdock_plan_total_traffic, topology, plans[0])}) {
        EXPECT_EQ(traffic.messages, 1);
        EXPECT_EQ(traffic.items, 1);
        EXPECT_EQ(traffic.inter_region_messages, 1);
        EXPECT_EQ(traffic.inter_region_items, 1);
    }
    EXPECT_TRUE(text_by(crossdock_plan_to_string, plans[0]).starts_with("rank 0 of 2: direct"));

    const auto larger = made<crossdock_topology>(crossdock_topology_from_string, "3");
    int num_stages = 0;
    int64_t num_items = 0;
    crossdock_traffic traffic{};
    char* text = nullptr;
    for (const int stage : {1, -1})
        EXPECT_EQ(crossdock_plan_stage_traffic(topology, plans[0], stage, &traffic),
                  CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_plan_total_traffic(larger, plans[0], &traffic), CROSSDOCK_SIZE_MISMATCH);
    expect_nulls(crossdock_plan_num_stages, {"plan"}, plans[0], &num_stages);
    expect_nulls(crossdock_plan_buffer_items, {"plan"}, plans[0], &num_items);
    expect_nulls(crossdock_plan_stage_traffic, {"topology", "plan", nullptr, "traffic"}, topology,
                 plans[0], 0, &traffic);
    expect_nulls(crossdock_plan_total_traffic, {"topology", "plan", "traffic"}, topology, plans[0],
                 &traffic);
    expect_nulls(crossdock_plan_to_string, {"plan", "text"}, plans[0], &text);
}

TEST_F(OfflinePlan, ComesBackFromJson) {
    const auto json = text_by(crossdock_plan_to_json, plans[1]);
    auto copy = made<crossdock_plan>(crossdock_plan_from_json, json.c_str());

    EXPECT_EQ(given_by(crossdock_plan_is_equal, copy, plans[1]), 1);
    EXPECT_EQ(given_by(crossdock_plan_is_equal, copy, plans[0]), 0);
    EXPECT_EQ(text_by(crossdock_plan_to_json, copy), json);
    crossdock_plan* other = nullptr;
    char* text = nullptr;
    int answer = 0;
    EXPECT_EQ(crossdock_plan_from_json("{", &other), CROSSDOCK_PARSE_ERROR);
    expect_nulls(crossdock_plan_from_json, {"json", "result"}, "{}", &other);
    expect_nulls(crossdock_plan_to_json, {"plan", "json"}, copy, &text);
    expect_nulls(crossdock_plan_is_equal, {"a", "b", "result"}, copy, plans[0], &answer);
}

TEST_F(OfflinePlan, IsNotCompiledFromNothing) {
    crossdock_plan* results[2] = {plans[0], plans[1]};
    crossdock_pattern* twisted[2] = {patterns[1], patterns[0]};
    crossdock_pattern* missing[2] = {patterns[0], nullptr};
    const auto compile = [&](crossdock_pattern** of_all, const char* route) {
        return crossdock_plan_compile_all(topology, of_all, route, nullptr, results);
    };

    EXPECT_EQ(compile(patterns, "ferry"), CROSSDOCK_UNKNOWN_ROUTE);
    EXPECT_NE(compile(twisted, "direct"), CROSSDOCK_SUCCESS);
    expect_null(compile(missing, "direct"), "patterns");
    expect_nulls(crossdock_plan_compile_all, {"topology", "patterns", "route", nullptr, "plans"},
                 topology, patterns, "direct", nullptr, results);
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
    EXPECT_EQ(options.prepare, CROSSDOCK_PREPARE_BOTH);
    EXPECT_EQ(options.reproducible, 0);
    EXPECT_EQ(options.measure_max_candidates, measure.max_candidates);
    EXPECT_EQ(options.measure_exchanges_each, measure.exchanges_each);
    EXPECT_EQ(options.measure_max_lost_seconds, measure.max_lost_seconds);
    EXPECT_EQ(options.measure_clock, measure.clock);
}

/// Rank r owns indices 3r, 3r + 1, 3r + 2; it needs the first one of every rank and its own last.
class Communication : public InC {
  protected:
    Communication() : InC(pairs()) {}

    void SetUp() override {
        InC::SetUp();
        for (int r = 0; r < num_ranks; ++r) needed.push_back(3 * r);
        needed.push_back(3 * rank + 2);
        pattern = made<crossdock_pattern>(crossdock_pattern_from_needed_range, context, 3 * rank, 3,
                                          length(needed), needed.data());
    }

    owned<crossdock_neighbor_exchange> make_neighbor(
        const crossdock_neighbor_options& options) const {
        return made<crossdock_neighbor_exchange>(crossdock_neighbor_exchange_create, context,
                                                 pattern, &options);
    }

    /// What this rank's items are: their global indices, scaled.
    doubles items(double scale = 1) const {
        return {3 * rank * scale, (3 * rank + 1) * scale, (3 * rank + 2) * scale};
    }

    /// What must be in the slots then.
    doubles filled(double scale = 1) const {
        doubles slots;
        for (const int64_t index : needed) slots.push_back(static_cast<double>(index) * scale);
        return slots;
    }

    doubles empty_slots() const { return doubles(needed.size(), -1); }

    void expect_forward(crossdock_neighbor_exchange* neighbor) const {
        doubles slots = empty_slots();
        EXPECT_SUCCESS(crossdock_neighbor_exchange_forward(neighbor, items().data(), slots.data(),
                                                           MPI_DOUBLE));
        EXPECT_EQ(slots, filled());
    }

    owned<crossdock_topology> topology =
        made<crossdock_topology>(crossdock_topology_from_string, regions.c_str());
    owned<crossdock_pattern> pattern;
    numbers needed;
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
    const auto each_alone = number(num_ranks) + "x1";
    const auto alone = made<crossdock_topology>(crossdock_topology_from_string, each_alone.c_str());
    const auto apart = made<crossdock_context>(crossdock_context_with_topology, context, alone);
    const auto found = made<crossdock_topology>(crossdock_context_topology, apart);

    EXPECT_EQ(given_by(crossdock_context_rank, context), rank);
    EXPECT_EQ(given_by(crossdock_context_num_ranks, context), num_ranks);
    EXPECT_EQ(text_by(crossdock_topology_to_string, found),
              text_by(crossdock_topology_to_string, alone));

    int answer = -1;
    crossdock_context* other = nullptr;
    crossdock_topology* regions_of = nullptr;
    expect_nulls(crossdock_context_rank, {"context", "result"}, context, &answer);
    expect_nulls(crossdock_context_num_ranks, {"context"}, context, &answer);
    expect_nulls(crossdock_context_topology, {"context", "result"}, context, &regions_of);
    expect_nulls(crossdock_context_with_topology, {"context", "topology", "result"}, context,
                 topology, &other);
    expect_nulls(crossdock_context_with_nodes, {"context", "nodes", "result"}, context, topology,
                 &other);
    expect_null(crossdock_context_close(nullptr), "context");
    EXPECT_EQ(other, nullptr);
}

TEST_F(Communication, ContextsTakeWhatTheirOptionsSay) {
    crossdock_context_options options = CROSSDOCK_CONTEXT_OPTIONS_INIT;
    const std::string text = "cyclic:1x" + number(num_ranks);
    options.topology = text.c_str();
    options.nodes = text.c_str();
    options.machine = "generic_100g";
    const auto other = made<crossdock_context>(crossdock_context_create, MPI_COMM_WORLD, &options);
    const auto found = made<crossdock_topology>(crossdock_context_topology, other);

    EXPECT_EQ(text_by(crossdock_topology_to_string, found), number(num_ranks));
    EXPECT_SUCCESS(crossdock_context_close(other));
    EXPECT_SUCCESS(crossdock_context_close(other));
}

TEST_F(Communication, ObjectsOfANameAreReported) {
    crossdock_context_options options = CROSSDOCK_CONTEXT_OPTIONS_INIT;
    options.report = "objects";
    const auto other = made<crossdock_context>(crossdock_context_create, MPI_COMM_WORLD, &options);
    crossdock_neighbor_options halo = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;
    const auto unnamed = made<crossdock_neighbor_exchange>(crossdock_neighbor_exchange_create,
                                                           other, pattern, &halo);
    halo.name = "halo of p";
    halo.route = "direct";
    const auto named = made<crossdock_neighbor_exchange>(crossdock_neighbor_exchange_create, other,
                                                         pattern, &halo);
    crossdock_gather_options gather = CROSSDOCK_GATHER_OPTIONS_INIT;
    gather.name = "dofs";
    const int64_t id = 1;
    const auto shared =
        made<crossdock_gather_scatter>(crossdock_gather_scatter_create, other, 1, &id, &gather);

    std::istringstream lines(text_by(crossdock_context_reports, other));
    std::vector<std::string> told;
    for (std::string line; std::getline(lines, line);) {
        const auto one = nlohmann::json::parse(line);
        told.push_back(one["kind"].get<std::string>() + ": " + one["name"].get<std::string>());
        EXPECT_EQ(one["objects"], 1);
        EXPECT_EQ(one["starts"], 0);
    }
    EXPECT_EQ(told,
              (std::vector<std::string>{"neighbor exchange: unnamed",
                                        "neighbor exchange: halo of p", "gather-scatter: dofs"}));
    expect_null(crossdock_context_reports(nullptr, nullptr), "context");
    expect_null(crossdock_context_reports(other, nullptr), "text");
    EXPECT_SUCCESS(crossdock_context_close(other));
}

TEST_F(Communication, ContextsAreRefusedOnAllRanks) {
    crossdock_context* other = nullptr;
    const auto expect_refused = [&](crossdock_status status, auto&& spoil) {
        crossdock_context_options options = CROSSDOCK_CONTEXT_OPTIONS_INIT;
        spoil(options);
        EXPECT_EQ(crossdock_context_create(MPI_COMM_WORLD, &options, &other), status);
    };

    expect_refused(CROSSDOCK_INVALID_TOPOLOGY, [](auto& o) { o.topology = "2x"; });
    expect_refused(CROSSDOCK_INVALID_TOPOLOGY, [](auto& o) { o.topology = "3x7"; });
    expect_refused(CROSSDOCK_INVALID_TOPOLOGY, [](auto& o) { o.nodes = "3x7"; });
    expect_refused(CROSSDOCK_FILE_ERROR, [](auto& o) { o.machine = "/no/such/file.json"; });
    if (num_ranks > 1) {
        expect_refused(CROSSDOCK_INVALID_ARGUMENT,
                       [&](auto& o) { o.topology = is_last ? "socket" : "node"; });
    }
    expect_refused(CROSSDOCK_INVALID_ARGUMENT, [&](auto& o) { o.size = is_last ? 0 : o.size; });
    EXPECT_EQ(other, nullptr);
}

TEST_F(Communication, DiscoversTheTopology) {
    for (const auto level : {CROSSDOCK_NODE, CROSSDOCK_SOCKET, CROSSDOCK_NUMA, CROSSDOCK_L3}) {
        const auto found = made<crossdock_topology>(crossdock_topology_discover, context, level);
        EXPECT_EQ(given_by(crossdock_topology_num_ranks, found), num_ranks);
    }
    crossdock_topology* none = nullptr;
    expect_nulls(is_last, crossdock_topology_discover, {"context", nullptr, "result"}, context,
                 CROSSDOCK_NODE, &none);
    expect_error(crossdock_topology_discover(context, is_last ? 7 : 0, &none),
                 CROSSDOCK_INVALID_ARGUMENT, "there is no locality 7");
}

TEST_F(Communication, GathersTheTopology) {
    const auto found = made<crossdock_topology>(crossdock_topology_gather, context, rank / 2 + 5);

    EXPECT_EQ(text_by(crossdock_topology_to_string, found),
              text_by(crossdock_topology_to_string, topology));
    crossdock_topology* none = nullptr;
    EXPECT_EQ(crossdock_topology_gather(context, is_last ? -3 : 0, &none),
              CROSSDOCK_INVALID_ARGUMENT);
    expect_nulls(is_last, crossdock_topology_gather, {"context", nullptr, "result"}, context, 0,
                 &none);
}

TEST_F(Communication, FindsOwnersOfScatteredIndices) {
    const numbers owned_indices{rank + 2 * num_ranks, rank, rank + num_ranks};
    const numbers wanted{0, 0};
    const auto found = made<crossdock_pattern>(crossdock_pattern_from_needed, context, 3,
                                               owned_indices.data(), 2, wanted.data());
    int64_t answer = 0;

    EXPECT_EQ(given_by<int64_t>(crossdock_pattern_num_items, found), 3);
    EXPECT_EQ(given_by<int64_t>(crossdock_pattern_num_slots, found), 2);
    expect_nulls(crossdock_pattern_num_items, {"pattern"}, found, &answer);
    expect_nulls(crossdock_pattern_num_slots, {"pattern"}, found, &answer);
}

TEST_F(Communication, WritesAPattern) {
    const auto path = "/tmp/crossdock-c-pattern-" + number(getppid()) + ".mtx";

    EXPECT_SUCCESS(crossdock_pattern_write(context, pattern, path.c_str(), 16));

    if (rank == 0) {
        std::ifstream file(path);
        std::string header, item_bytes;
        std::getline(file, header);
        std::getline(file, item_bytes);
        EXPECT_EQ(item_bytes, "% items of 16 bytes");
        EXPECT_TRUE(std::filesystem::remove(path));
        EXPECT_TRUE(std::filesystem::remove(path.substr(0, path.size() - 3) + "owners"));
    }
    expect_nulls(is_last, crossdock_pattern_write, {"context", "pattern", "path"}, context, pattern,
                 "own.mtx", 8);
    EXPECT_EQ(crossdock_pattern_write(context, pattern, "own.mtx", 0), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_pattern_write(context, pattern, "/missing/own.mtx", 8),
              CROSSDOCK_FILE_ERROR);
}

TEST_F(Communication, FailsOnAllRanksIfOneNamesNoIndices) {
    crossdock_pattern* found = nullptr;
    const int64_t one = is_last ? 1 : 0;
    const int64_t own = 3 * rank;

    expect_nulls(is_last, crossdock_pattern_from_needed,
                 {"context", nullptr, "owned", nullptr, "needed", "result"}, context, 1, &own, 1,
                 &own, &found);
    expect_nulls(is_last, crossdock_pattern_from_needed_range,
                 {"context", nullptr, nullptr, nullptr, "needed", "result"}, context, 0, 0, one,
                 &own, &found);
    expect_error(
        crossdock_pattern_from_needed(context, is_last ? -2 : 0, nullptr, 0, nullptr, &found),
        CROSSDOCK_INVALID_ARGUMENT, "owned has length -2");
}

TEST_F(Communication, ItemsTravelForwardAndHome) {
    const auto nodes = made<crossdock_context>(crossdock_context_with_nodes, context, topology);
    for (const int deduplicate : {0, 1}) {
        auto options = on("three_step");
        options.deduplicate = deduplicate;
        options.reproducible = deduplicate;
        options.max_message_bytes = 64;
        options.executor = deduplicate ? "shared_memory" : "persistent";
        options.prepare = deduplicate ? CROSSDOCK_PREPARE_BOTH : CROSSDOCK_PREPARE_LAZY;
        const auto neighbor = made<crossdock_neighbor_exchange>(crossdock_neighbor_exchange_create,
                                                                nodes, pattern, &options);
        doubles values = items();
        const doubles ones(needed.size(), 1.0);

        expect_forward(neighbor);
        EXPECT_SUCCESS(crossdock_neighbor_exchange_reverse(neighbor, ones.data(), values.data(),
                                                           MPI_DOUBLE, MPI_SUM));

        const auto plan = made<crossdock_plan>(crossdock_neighbor_exchange_plan, neighbor);
        EXPECT_NE(text_by(crossdock_plan_to_json, plan).find("\"dedup\":false"), std::string::npos);
        EXPECT_EQ(values, (doubles{3.0 * rank + num_ranks, 3.0 * rank + 1, 3.0 * rank + 3}));
    }
}

TEST_F(Communication, OptionsThatAreNoneAreRefusedOnAllRanks) {
    crossdock_neighbor_exchange* neighbor = nullptr;
    const auto expect_refused = [&](auto&& spoil, const std::string& sentence) {
        auto options = on("auto:measure");
        if (is_last) spoil(options);
        expect_error(crossdock_neighbor_exchange_create(context, pattern, &options, &neighbor),
                     CROSSDOCK_INVALID_ARGUMENT, sentence);
    };

    expect_refused([](auto& o) { o.executor = "telepathy"; }, "there is no executor \"telepathy\"");
    expect_refused([](auto& o) { o.prepare = -1; }, "there is no preparation -1");
    expect_refused([](auto& o) { o.size = 0; }, "options say that they have 0 bytes");
    expect_refused([](auto& o) { o.size = SIZE_MAX; },
                   "options say that they have " + std::to_string(SIZE_MAX) + " bytes");
    expect_refused([](auto& o) { o.measure_max_candidates = 0; }, "");
    EXPECT_EQ(neighbor, nullptr);
}

// A field that comes later must not lie where older programs have padding.
#define EXPECT_NO_PADDING_AFTER(type, field) \
    static_assert(offsetof(type, field) + sizeof(type::field) == sizeof(type))
EXPECT_NO_PADDING_AFTER(crossdock_context_options, progress_thread);
EXPECT_NO_PADDING_AFTER(crossdock_neighbor_options, name);
EXPECT_NO_PADDING_AFTER(crossdock_exchange_options, name);
EXPECT_NO_PADDING_AFTER(crossdock_array_options, name);
EXPECT_NO_PADDING_AFTER(crossdock_stream_options, name);

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
    const auto neighbor = make_neighbor(reinterpret_cast<const crossdock_neighbor_options&>(older));

    EXPECT_EQ(text_by(crossdock_neighbor_exchange_explain, neighbor), "three_step  given\n");
    EXPECT_EQ(text_by(crossdock_neighbor_exchange_route, neighbor), "three_step");
    expect_forward(neighbor);
}

TEST_F(Communication, OptionsMayBeOfANewerVersionIfTheyAskForNothingNew) {
    newer_options newer;
    newer.known.size = sizeof newer;
    newer.known.route = "direct";
    make_neighbor(newer.known);

    crossdock_neighbor_exchange* neighbor = nullptr;
    if (is_last) newer.unheard_of = "faster";
    expect_error(crossdock_neighbor_exchange_create(context, pattern, &newer.known, &neighbor),
                 CROSSDOCK_INVALID_ARGUMENT,
                 "options have " + number(sizeof newer) + " bytes, of which only " +
                     number(sizeof newer.known) + " are known; the others must be 0");
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(Communication, ArraysMayHaveSeveralValuesForEachItem) {
    const auto neighbor = make_neighbor(on("two_step"));
    const auto num_slots = length(needed);
    doubles values, expected, slots(2 * needed.size(), -1), totals(6, 0);
    for (const double value : items()) values.insert(values.end(), {value, -value});
    for (const double value : filled()) expected.insert(expected.end(), {value, -value});
    const auto start = [&](int64_t num_items) {
        return crossdock_neighbor_exchange_start_arrays(neighbor, num_items, values.data(),
                                                        num_slots, slots.data(), 2, MPI_DOUBLE);
    };

    EXPECT_SUCCESS(start(3));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(slots, expected);

    EXPECT_EQ(start(is_last ? 2 : 3), is_last ? CROSSDOCK_SIZE_MISMATCH : CROSSDOCK_SUCCESS);
    if (!is_last) {
        EXPECT_EQ(crossdock_neighbor_exchange_wait(neighbor), CROSSDOCK_PEER_FAILED);
    }

    const doubles ones(slots.size(), 1);
    EXPECT_SUCCESS(crossdock_neighbor_exchange_start_reverse_arrays(
        neighbor, num_slots, ones.data(), 3, totals.data(), 2, MPI_DOUBLE, MPI_SUM));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(totals[0], num_ranks);
    EXPECT_EQ(totals[1], num_ranks);
}

TEST_F(Communication, FieldsTravelTogether) {
    const auto neighbor = make_neighbor(on("three_step"));
    const auto first = items();
    doubles second(first), slots(needed.size(), -1), more(slots), expected(filled());
    for (double& value : second) value = -value;
    const void* sent[] = {first.data(), second.data()};
    void* filled_fields[] = {slots.data(), more.data()};
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_start_fields(neighbor, 2, sent, filled_fields, MPI_DOUBLE));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(slots, expected);
    for (double& value : expected) value = -value;
    EXPECT_EQ(more, expected);

    const doubles ones(slots.size(), 1), twos(slots.size(), 2);
    doubles sums(first.size()), products(first.size());
    const void* given[] = {ones.data(), twos.data()};
    void* combined[] = {sums.data(), products.data()};
    EXPECT_SUCCESS(crossdock_neighbor_exchange_start_reverse_fields(neighbor, 2, given, combined,
                                                                    MPI_DOUBLE, MPI_SUM));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    doubles alone(first.size());
    EXPECT_SUCCESS(crossdock_neighbor_exchange_reverse(neighbor, ones.data(), alone.data(),
                                                       MPI_DOUBLE, MPI_SUM));
    EXPECT_EQ(sums, alone);
    for (double& value : alone) value *= 2;
    EXPECT_EQ(products, alone);

    EXPECT_EQ(
        crossdock_neighbor_exchange_start_fields(neighbor, 0, sent, filled_fields, MPI_DOUBLE),
        CROSSDOCK_INVALID_ARGUMENT);
}

TEST_F(Communication, APlanMayHaveBeenCompiledBefore) {
    const auto options = on("three_step");
    const auto plan = made<crossdock_plan>(crossdock_plan_compile, context, pattern, &options);
    const auto neighbor = made<crossdock_neighbor_exchange>(
        crossdock_neighbor_exchange_create_from_plan, context, plan, nullptr);

    expect_forward(neighbor);
    auto counted = given_by<crossdock_traffic>(crossdock_neighbor_exchange_statistics, neighbor);
    const auto expected = given_by<crossdock_traffic>(crossdock_plan_total_traffic, topology, plan);
    EXPECT_EQ(counted.messages, expected.messages);
    EXPECT_EQ(counted.items, expected.items);
    EXPECT_EQ(counted.inter_region_messages, expected.inter_region_messages);
    EXPECT_EQ(counted.inter_region_items, expected.inter_region_items);

    crossdock_neighbor_exchange* none = nullptr;
    expect_nulls(is_last, crossdock_neighbor_exchange_create_from_plan,
                 {"context", "plan", nullptr, "result"}, context, plan, nullptr, &none);
    expect_nulls(crossdock_neighbor_exchange_statistics, {"exchange", "traffic"}, neighbor,
                 &counted);
    EXPECT_EQ(none, nullptr);
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
    const auto neighbor = make_neighbor(options);
    int num_tried = -1;
    int is_trying = -1;

    for (int i = 0; i < 4; ++i) expect_forward(neighbor);

    EXPECT_SUCCESS(crossdock_neighbor_exchange_num_tried_routes(neighbor, &num_tried, &is_trying));
    EXPECT_EQ(is_trying, 0);
    EXPECT_LE(num_tried, 2);
    char* route = nullptr;
    double seconds = -1;
    for (int i = 0; i < num_tried; ++i) {
        EXPECT_SUCCESS(crossdock_neighbor_exchange_tried_route(neighbor, i, &route, &seconds));
        EXPECT_STRNE(route, "");
        EXPECT_GE(seconds, 0.001 - 1e-9);
        EXPECT_SUCCESS(crossdock_free(route));
    }
    for (const int i : {-1, num_tried})
        EXPECT_EQ(crossdock_neighbor_exchange_tried_route(neighbor, i, &route, &seconds),
                  CROSSDOCK_INVALID_ARGUMENT);
    expect_nulls(crossdock_neighbor_exchange_tried_route, {"exchange", nullptr, "route", "seconds"},
                 neighbor, 0, &route, &seconds);
    expect_nulls(crossdock_neighbor_exchange_num_tried_routes,
                 {"exchange", "num_tried_routes", "is_trying"}, neighbor, &num_tried, &is_trying);
}

TEST_F(Communication, AnActiveExchangeIsNotFreed) {
    const auto neighbor = make_neighbor(on("two_step"));
    const doubles values = items();
    doubles slots = empty_slots();

    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_start(neighbor, values.data(), slots.data(), MPI_DOUBLE));
    expect_error(crossdock_neighbor_exchange_free(neighbor), CROSSDOCK_INVALID_STATE,
                 "what is to be freed is under way");
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(slots, filled());
}

TEST_F(Communication, DuplicatesAreActiveTogether) {
    const auto first = make_neighbor(on("two_step"));
    const auto second =
        made<crossdock_neighbor_exchange>(crossdock_neighbor_exchange_duplicate, first);
    const doubles once = items(), tenfold = items(10);
    doubles slots = empty_slots(), more_slots = empty_slots();

    EXPECT_SUCCESS(crossdock_neighbor_exchange_start(first, once.data(), slots.data(), MPI_DOUBLE));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_start(second, tenfold.data(), more_slots.data(), MPI_DOUBLE));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(second));
    while (given_by(crossdock_neighbor_exchange_test, first) == 0) {
    }

    EXPECT_EQ(slots, filled());
    EXPECT_EQ(more_slots, filled(10));
}

TEST_F(Communication, ExplainsItsRoute) {
    const auto chosen = make_neighbor(on("auto"));
    const auto plan = made<crossdock_plan>(crossdock_neighbor_exchange_plan, chosen);

    const auto reasons = text_by(crossdock_neighbor_exchange_explain, chosen);
    EXPECT_EQ(text_by(crossdock_plan_route, plan), reasons.substr(0, reasons.find(' ')));
    EXPECT_NE(reasons.find(" us  mostly "), std::string::npos);
}

TEST_F(Communication, RefusesNulls) {
    const auto neighbor = make_neighbor(on("direct"));
    crossdock_neighbor_exchange* copy = nullptr;
    crossdock_plan* plan = nullptr;
    doubles values = items(), slots = empty_slots();
    double* v = values.data();
    double* s = slots.data();
    int is_complete = 0;
    char* text = nullptr;

    expect_nulls(is_last, crossdock_plan_compile, {"context", "pattern", nullptr, "result"},
                 context, pattern, nullptr, &plan);
    expect_nulls(is_last, crossdock_neighbor_exchange_create,
                 {"context", "pattern", nullptr, "result"}, context, pattern, nullptr, &copy);
    expect_nulls(crossdock_neighbor_exchange_start, {"exchange", "items", "slots"}, neighbor, v, s,
                 MPI_DOUBLE);
    expect_error(crossdock_neighbor_exchange_start(neighbor, v, s, MPI_DATATYPE_NULL),
                 CROSSDOCK_INVALID_ARGUMENT, "datatype is MPI_DATATYPE_NULL");
    expect_nulls(crossdock_neighbor_exchange_forward, {"exchange"}, neighbor, v, s, MPI_DOUBLE);
    expect_nulls(crossdock_neighbor_exchange_start_reverse, {"exchange", "slots", "items"},
                 neighbor, s, v, MPI_DOUBLE, MPI_SUM);
    expect_error(crossdock_neighbor_exchange_start_reverse(neighbor, s, v, MPI_DOUBLE, MPI_OP_NULL),
                 CROSSDOCK_INVALID_ARGUMENT, "operation is MPI_OP_NULL");
    expect_nulls(crossdock_neighbor_exchange_reverse, {"exchange"}, neighbor, s, v, MPI_DOUBLE,
                 MPI_SUM);
    expect_nulls(crossdock_neighbor_exchange_test, {"exchange", "result"}, neighbor, &is_complete);
    expect_null(crossdock_neighbor_exchange_wait(nullptr), "exchange");
    expect_null(crossdock_neighbor_exchange_prepare(nullptr, 8), "exchange");
    expect_nulls(crossdock_neighbor_exchange_duplicate, {"exchange", "result"}, neighbor, &copy);
    expect_nulls(crossdock_neighbor_exchange_plan, {"exchange", "result"}, neighbor, &plan);
    expect_nulls(crossdock_neighbor_exchange_explain, {"exchange", "text"}, neighbor, &text);
    expect_nulls(crossdock_neighbor_exchange_route, {"exchange", "route"}, neighbor, &text);
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(copy, nullptr);
}

TEST_F(Communication, ARankMayHaveNeitherItemsNorSlots) {
    const auto empty =
        made<crossdock_pattern>(crossdock_pattern_from_needed, context, 0, nullptr, 0, nullptr);
    const auto options = on("three_step");
    const auto neighbor = made<crossdock_neighbor_exchange>(crossdock_neighbor_exchange_create,
                                                            context, empty, &options);

    EXPECT_SUCCESS(crossdock_neighbor_exchange_forward(neighbor, nullptr, nullptr, MPI_INT));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_reverse(neighbor, nullptr, nullptr, MPI_INT, MPI_MAX));
}

/// A ring whose neighbors MPI knows: two items from place 1 on go to the same places of the next rank.
class DistributedGraph : public InC {
  protected:
    void SetUp() override {
        InC::SetUp();
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, MPI_UNWEIGHTED, 1, &next,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_neighbor_exchange_free(neighbor));
        EXPECT_SUCCESS(crossdock_pattern_free(pattern));
        MPI_Comm_free(&graph);
        InC::TearDown();
    }

    const int64_t count = 2, displacement = 1;
    const int two = 2, place = 1;
    const numbers ids{7, 8, 8};
    crossdock_neighbor_alltoallv_arguments arguments{
        1, &next, &count, &displacement, 1, &previous, &count, &displacement, 3, ids.data()};
    crossdock_neighbor_alltoallv_int_arguments narrow{1,         &next, &two,   &place, 1,
                                                      &previous, &two,  &place, 3,      ids.data()};
    MPI_Comm graph = MPI_COMM_NULL;
    crossdock_pattern* pattern = nullptr;
    crossdock_neighbor_exchange* neighbor = nullptr;
};

TEST_F(DistributedGraph, GivesTheNeighborsOfAPattern) {
    arguments.destinations = arguments.sources = nullptr;
    const doubles values{0, 1.0 * rank, 1.0 * rank};
    doubles slots{-1, -1, -1};

    ASSERT_SUCCESS(crossdock_pattern_from_dist_graph(graph, &arguments, &pattern));
    ASSERT_SUCCESS(crossdock_neighbor_exchange_create(context, pattern, nullptr, &neighbor));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_forward(neighbor, values.data(), slots.data(), MPI_DOUBLE));

    EXPECT_EQ(slots, (doubles{-1, 1.0 * previous, 1.0 * previous}));
    const int64_t counts[]{2, 2}, places[]{1, 1};
    crossdock_pattern* none = nullptr;
    arguments.num_sources = 2;
    arguments.receive_counts = counts;
    arguments.receive_displacements = places;
    EXPECT_EQ(crossdock_pattern_from_dist_graph(graph, &arguments, &none), CROSSDOCK_SIZE_MISMATCH);
    arguments.num_sources = -1;
    expect_error(crossdock_pattern_from_dist_graph(graph, &arguments, &none),
                 CROSSDOCK_INVALID_ARGUMENT, "receive_counts has length -1");
}

TEST_F(DistributedGraph, GivesTheNumbersOfNeighborsOfAPattern) {
    arguments.num_destinations = arguments.num_sources = 0;

    ASSERT_SUCCESS(crossdock_pattern_from_dist_graph(graph, &arguments, &pattern));

    EXPECT_EQ(given_by<int64_t>(crossdock_pattern_num_items, pattern), 3);
    EXPECT_EQ(given_by<int64_t>(crossdock_pattern_num_slots, pattern), 3);
    crossdock_pattern* none = nullptr;
    expect_nulls(crossdock_pattern_from_dist_graph, {nullptr, "arguments", "result"}, graph,
                 &arguments, &none);
    expect_error(crossdock_pattern_from_dist_graph(MPI_COMM_WORLD, &arguments, &none),
                 CROSSDOCK_INVALID_ARGUMENT, "the communicator has no distributed graph");
    arguments.send_counts = nullptr;
    expect_null(crossdock_pattern_from_dist_graph(graph, &arguments, &none), "send_counts");
}

TEST_F(DistributedGraph, ArgumentsMakeAnExchangeInOneCall) {
    const ints values{0, 10 * rank + 1, 10 * rank + 1};
    ints slots{-1, -1, -1};
    const auto options = on("direct");

    ASSERT_SUCCESS(crossdock_neighbor_exchange_create_from_arguments(context, &narrow, MPI_INT,
                                                                     &options, &neighbor));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_forward(neighbor, values.data(), slots.data(), MPI_INT));

    EXPECT_EQ(slots, (ints{-1, 10 * previous + 1, 10 * previous + 1}));
    // Equal ids are one item.
    EXPECT_EQ(given_by<crossdock_traffic>(crossdock_neighbor_exchange_statistics, neighbor).items,
              num_ranks > 1 ? 1 : 0);
}

// Index lists: an entry for each value, whose displacement is the value's index.
TEST_F(DistributedGraph, ArgumentsMayNameARankForEachValue) {
    const ints values{10 * rank, 10 * rank + 1, 10 * rank + 2};
    const int ranks_of_values[]{next, previous, next}, ones[]{1, 1, 1}, index[]{2, 0, 0};
    const int sources[]{previous, next}, receive_counts[]{2, 1}, starts[]{1, 0};
    ints slots{-1, -1, -1};
    const crossdock_neighbor_alltoallv_int_arguments lists{
        3, ranks_of_values, ones, index, 2, sources, receive_counts, starts, 0, nullptr};

    ASSERT_SUCCESS(crossdock_neighbor_exchange_create_from_arguments(context, &lists, MPI_INT,
                                                                     nullptr, &neighbor));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_forward(neighbor, values.data(), slots.data(), MPI_INT));

    EXPECT_EQ(slots, (ints{10 * next, 10 * previous + 2, 10 * previous}));
}

TEST_F(DistributedGraph, ArgumentsAreRefusedOnAllRanksOrNone) {
    const auto expect_refused = [&](crossdock_status status, const char* sentence, auto&& spoil) {
        auto given = narrow;
        MPI_Datatype datatype = MPI_INT;
        if (is_last) spoil(given, datatype);
        expect_error(crossdock_neighbor_exchange_create_from_arguments(context, &given, datatype,
                                                                       nullptr, &neighbor),
                     status, sentence);
    };
    const auto bad = CROSSDOCK_INVALID_ARGUMENT;
    expect_nulls(is_last, crossdock_neighbor_exchange_create_from_arguments,
                 {"context", "arguments", nullptr, nullptr, "result"}, context, &narrow, MPI_INT,
                 nullptr, &neighbor);
    expect_refused(bad, "destinations is a null", [](auto& a, auto&) { a.destinations = nullptr; });
    expect_refused(bad, "receive_counts is a null",
                   [](auto& a, auto&) { a.receive_counts = nullptr; });
    expect_refused(bad, "send_ids is a null", [](auto& a, auto&) { a.send_ids = nullptr; });
    expect_refused(bad, "receive_counts has length -1", [](auto& a, auto&) { a.num_sources = -1; });
    expect_refused(CROSSDOCK_SIZE_MISMATCH, "", [](auto& a, auto&) { a.num_send_ids = 2; });
    expect_refused(CROSSDOCK_RANK_OUT_OF_RANGE, "",
                   [&](auto& a, auto&) { a.sources = &num_ranks; });
    expect_refused(bad, "datatype is MPI_DATATYPE_NULL",
                   [](auto&, auto& datatype) { datatype = MPI_DATATYPE_NULL; });
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(DistributedGraph, ValuesOfTwoDatatypesOfOneSize) {
    const ints values{0, 10 * rank + 1, 10 * rank + 2};
    MPI_Datatype twin = MPI_DATATYPE_NULL;
    MPI_Datatype spaced = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(1, MPI_INT, &twin);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&twin);
    MPI_Type_commit(&spaced);
    narrow.num_send_ids = 0;
    ASSERT_SUCCESS(crossdock_neighbor_exchange_create_from_arguments(context, &narrow, MPI_INT,
                                                                     nullptr, &neighbor));
    const auto start = [&](int* slots, MPI_Datatype slot_type) {
        return crossdock_neighbor_exchange_start_types(neighbor, values.data(), MPI_INT, slots,
                                                       slot_type);
    };

    ints slots{-1, -1, -1};
    EXPECT_SUCCESS(start(slots.data(), twin));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    EXPECT_EQ(slots, (ints{-1, 10 * previous + 1, 10 * previous + 2}));

    // One rank has no gaps where the others have: the datatypes of ranks are their own.
    ints wide(6, -1);
    EXPECT_SUCCESS(start(wide.data(), is_last ? MPI_INT : spaced));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_wait(neighbor));
    const int one = 10 * previous + 1;
    EXPECT_EQ(wide, is_last ? (ints{-1, one, one + 1, -1, -1, -1})
                            : (ints{-1, -1, one, -1, one + 1, -1}));

    EXPECT_EQ(start(slots.data(), MPI_DOUBLE), CROSSDOCK_SIZE_MISMATCH);
    expect_nulls(crossdock_neighbor_exchange_start_types, {"exchange"}, neighbor, values.data(),
                 MPI_INT, slots.data(), MPI_INT);
    MPI_Type_free(&twin);
    MPI_Type_free(&spaced);
}

TEST_F(DistributedGraph, TakesTheArraysOfMpi) {
    const ints values{0, 10 * rank + 1, 10 * rank + 2};
    ints slots{-1, -1, -1}, home{100, 100, 100};

    ASSERT_SUCCESS(crossdock_neighbor_alltoallv_init(context, &two, &place, &two, &place, graph,
                                                     MPI_INT, nullptr, &neighbor));
    EXPECT_SUCCESS(
        crossdock_neighbor_exchange_forward(neighbor, values.data(), slots.data(), MPI_INT));
    EXPECT_EQ(slots, (ints{-1, 10 * previous + 1, 10 * previous + 2}));
    EXPECT_SUCCESS(crossdock_neighbor_exchange_reverse(neighbor, values.data(), home.data(),
                                                       MPI_INT, MPI_SUM));
    EXPECT_EQ(home, (ints{100, 101 + 10 * next, 102 + 10 * next}));
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
    const int negative = -1, three = 3;
    expect_nulls(is_last, crossdock_neighbor_alltoallv_init,
                 {"context", "send_counts", "send_displs", "recv_counts", "recv_displs", nullptr,
                  nullptr, nullptr, "result"},
                 context, &two, &place, &two, &place, graph, MPI_INT, nullptr, &neighbor);
    const auto status_with = [&](auto spoil) {
        const int* arrays[]{&two, &place, &two, &place};
        MPI_Comm comm = graph;
        MPI_Datatype datatype = MPI_INT;
        if (is_last) spoil(arrays, comm, datatype);
        return crossdock_neighbor_alltoallv_init(context, arrays[0], arrays[1], arrays[2],
                                                 arrays[3], comm, datatype, nullptr, &neighbor);
    };
    const auto bad = CROSSDOCK_INVALID_ARGUMENT;
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(status_with([&](auto& arrays, auto&...) { arrays[i] = &negative; }), bad);
    expect_error(status_with([](auto&, auto&, auto& type) { type = MPI_DATATYPE_NULL; }), bad,
                 "datatype is MPI_DATATYPE_NULL");
    expect_error(status_with([](auto&, auto& comm, auto&) { comm = MPI_COMM_WORLD; }), bad,
                 "the communicator has no distributed graph");
    expect_error(status_with([](auto&, auto& comm, auto&) { comm = MPI_COMM_NULL; }), bad,
                 "the graph has other ranks than the context");
    if (num_ranks > 1) {
        expect_error(status_with([](auto&, auto& comm, auto&) { comm = MPI_COMM_SELF; }), bad,
                     "the graph has other ranks than the context");
        EXPECT_EQ(status_with([&](auto& arrays, auto&...) { arrays[0] = &three; }),
                  CROSSDOCK_COUNT_MISMATCH);
    }
    EXPECT_EQ(neighbor, nullptr);
}

TEST_F(DistributedGraph, PatternsAreNotMadeOfWhatIsNoArgument) {
    const int64_t negative = -1;
    const auto expect_refused = [&](crossdock_status status, const char* sentence, auto&& spoil) {
        auto given = arguments;
        spoil(given);
        expect_error(crossdock_pattern_from_neighbor_alltoallv(rank, num_ranks, &given, &pattern),
                     status, sentence);
    };
    const auto bad = CROSSDOCK_INVALID_ARGUMENT;

    expect_nulls(crossdock_pattern_from_neighbor_alltoallv,
                 {nullptr, nullptr, "arguments", "result"}, rank, num_ranks, &arguments, &pattern);
    expect_refused(bad, "destinations is a null", [](auto& a) { a.destinations = nullptr; });
    expect_refused(bad, "send_counts is a null", [](auto& a) { a.send_counts = nullptr; });
    expect_refused(bad, "receive_displacements is a null",
                   [](auto& a) { a.receive_displacements = nullptr; });
    expect_refused(bad, "sources has length -1", [](auto& a) { a.num_sources = -1; });
    expect_refused(bad, "", [&](auto& a) { a.send_counts = &negative; });
    expect_refused(CROSSDOCK_SIZE_MISMATCH, "", [](auto& a) { a.num_send_ids = 2; });
    expect_refused(CROSSDOCK_RANK_OUT_OF_RANGE, "", [&](auto& a) { a.destinations = &num_ranks; });
    EXPECT_EQ(pattern, nullptr);
}

}  // namespace
}  // namespace crossdock_c_calls_test

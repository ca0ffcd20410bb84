#include "tools/crossdock/try_advice.hpp"

#include <gtest/gtest.h>

namespace crossdock::tool::try_advice_test {
namespace {

TEST(TryAdvice, WhatTheLibraryDoesByItselfIsNotSaid) {
    const auto advice = advice_json({.route = "grid:2", .num_ranks = 4});

    EXPECT_EQ(advice["cxx"],
              "crossdock::neighbor_exchange halo(world, pattern, {.route = \"grid:2\"});");
    EXPECT_EQ(advice["c"],
              "crossdock_neighbor_options how = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;\n"
              "how.route = \"grid:2\";\n"
              "crossdock_neighbor_exchange_create(world, pattern, &how, &halo);");
    EXPECT_EQ(advice["environment"], "CROSSDOCK_ROUTE=grid:2");
    EXPECT_EQ(advice["drop_in"], "crossdock run --route grid:2 -- mpirun -n 4 ./program");
}

TEST(TryAdvice, RegionsAndExecutorAreThoseThatWereMeasured) {
    const auto advice = advice_json(
        {.route = "three_step", .topology = "2x4", .executor = "persistent", .num_ranks = 8});

    EXPECT_EQ(
        advice["cxx"],
        "crossdock::context world(MPI_COMM_WORLD, {.topology = \"2x4\"});\n"
        "crossdock::neighbor_exchange halo(world, pattern, {.route = \"three_step\", .executor = "
        "\"persistent\"});");
    EXPECT_EQ(advice["environment"],
              "CROSSDOCK_ROUTE=three_step CROSSDOCK_TOPOLOGY=2x4 CROSSDOCK_EXECUTOR=persistent");
    EXPECT_EQ(advice["drop_in"],
              "crossdock run --route three_step --topology 2x4 --executor persistent -- mpirun -n "
              "8 ./program");
}

TEST(TryAdvice, NodesAreSaidInCodeAlone) {
    const auto advice =
        advice_json({.route = "direct", .nodes = "4x2", .item_bytes = 24, .num_ranks = 8});

    EXPECT_EQ(advice["cxx"],
              "crossdock::context world(MPI_COMM_WORLD, {.nodes = \"4x2\"});\n"
              "crossdock::neighbor_exchange halo(world, pattern, {.route = \"direct\", .item_bytes "
              "= 24});");
    EXPECT_EQ(advice["c"],
              "crossdock_context_options where = CROSSDOCK_CONTEXT_OPTIONS_INIT;\n"
              "where.nodes = \"4x2\";\n"
              "crossdock_context_create(MPI_COMM_WORLD, &where, &world);\n"
              "crossdock_neighbor_options how = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;\n"
              "how.route = \"direct\";\n"
              "how.item_bytes = 24;\n"
              "crossdock_neighbor_exchange_create(world, pattern, &how, &halo);");
    EXPECT_TRUE(advice["environment"].is_null());
    EXPECT_TRUE(advice["drop_in"].is_null());
}

}  // namespace
}  // namespace crossdock::tool::try_advice_test

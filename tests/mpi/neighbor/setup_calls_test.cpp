// Stands between the library and MPI, hence a program of its own: which collective operations a set-up begins, and how
// many messages it sends besides.
//
// With CROSSDOCK_PRINT_ROUNDS=1 rank 0 prints them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "support/patterns.hpp"
#include "support/watched_calls.hpp"

namespace crossdock::setup_calls_test {
namespace {

// By kind, those of this rank; "messages" are no collective.
std::map<std::string, long> calls;

void note(const test::mpi_call& call) {
    static const std::map<std::string_view, std::string> kinds{
        {"Isend", "messages"},        {"Issend", "messages"},
        {"Allreduce", "allreduce"},   {"Iallreduce", "allreduce"},
        {"Exscan", "scan"},           {"Iexscan", "scan"},
        {"Bcast", "bcast"},           {"Ibcast", "bcast"},
        {"Barrier", "barrier"},       {"Ibarrier", "barrier"},
        {"Allgather", "allgather"},   {"Iallgather", "allgather"},
        {"Igather", "gather"},        {"Igatherv", "gather"},
        {"Comm_dup", "dup"},          {"Comm_split", "split"},
        {"Comm_split_type", "split"}, {"Win_allocate_shared", "window"}};
    const auto known = kinds.find(call.name);
    if (known != kinds.end()) ++calls[known->second];
}

// The collective operations of a call, as "allreduce 1, bcast 2": the same on all ranks.
template <class Call>
std::string collectives_of(const std::string& what, Call&& call) {
    calls.clear();
    test::on_mpi_call = note;
    call();
    long num_messages = calls["messages"];
    calls.erase("messages");
    std::string text;
    for (const auto& [name, number] : calls)
        text += (text.empty() ? "" : ", ") + name + " " + std::to_string(number);
    PMPI_Allreduce(MPI_IN_PLACE, &num_messages, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && std::getenv("CROSSDOCK_PRINT_ROUNDS") != nullptr)
        std::printf("%-48s %4ld messages  %s\n", what.c_str(), num_messages, text.c_str());
    return text;
}

pattern ring(rank_t rank, rank_t num_ranks, rank_t distance) {
    test::pattern_builder all(num_ranks);
    for (rank_t from = 0; from < num_ranks; ++from) {
        all.send(from, 0, (from + distance) % num_ranks);
        all.send(from, 1, (from + num_ranks - 1) % num_ranks);
    }
    return all.take()[static_cast<std::size_t>(rank)];
}

topology halves(rank_t num_ranks) {
    std::vector<region_t> regions;
    for (rank_t rank = 0; rank < num_ranks; ++rank) regions.push_back(rank < num_ranks / 2 ? 0 : 1);
    return topology::from_regions(regions);
}

// What a call takes: the first on a communicator, with another pattern, and the same once more.
struct expected_calls {
    const char* first;
    const char* other;
    const char* known;
};

class SetUpCalls : public testing::Test {
  protected:
    // `make(where, k)`: the k-th call, whose arguments are those of the one before from the third on.
    template <class Make>
    static void expect(const std::string& name, const topology& nodes,
                       const expected_calls& expected, Make&& make) {
        communicator comm(MPI_COMM_WORLD);
        const auto where = context(comm, halves(comm.num_ranks())).with_nodes(nodes);
        EXPECT_EQ(collectives_of(name + ", first", [&] { make(where, 1); }), expected.first)
            << name;
        EXPECT_EQ(collectives_of(name + ", other", [&] { make(where, 2); }), expected.other)
            << name;
        EXPECT_EQ(collectives_of(name + ", known", [&] { make(where, 3); }), expected.known)
            << name;
        comm.close();
    }

    void SetUp() override {
        PMPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        if (num_ranks == 1)
            GTEST_SKIP() << "one rank shares memory with nobody, and has one region";
    }

    rank_t num_ranks = 0;
};

TEST_F(SetUpCalls, OfNeighborExchangesByMessages) {
    const auto expect_route = [&](const char* route, const expected_calls& expected) {
        expect(route, halves(num_ranks), expected, [&](const context& where, int call) {
            neighbor_exchange(where, ring(where.rank(), where.num_ranks(), call == 1 ? 1 : 2),
                              {.route = route, .executor = "persistent"});
        });
    };
    const expected_calls of_given{"allreduce 7, barrier 2, bcast 3, scan 1, split 3", "allreduce 1",
                                  "allreduce 1"};

    expect_route("direct", of_given);
    expect_route("three_step", of_given);
    expect_route(
        "auto", {"allreduce 8, barrier 2, bcast 3, scan 1, split 3", "allreduce 2", "allreduce 1"});
    expect_route("grid:2", of_given);
}

TEST_F(SetUpCalls, OfNeighborExchangesInSharedMemory) {
    const auto expect_route = [&](const char* route, const expected_calls& expected) {
        expect(std::string(route) + " shared", topology::one_region(num_ranks), expected,
               [&](const context& where, int call) {
                   neighbor_exchange(where,
                                     ring(where.rank(), where.num_ranks(), call == 1 ? 1 : 2),
                                     {.route = route, .executor = "shared_memory"});
               });
    };

    expect_route("direct",
                 {"allgather 1, allreduce 10, barrier 4, bcast 3, scan 1, split 4, window 1",
                  "allreduce 1", "allreduce 1"});
    expect_route("auto",
                 {"allgather 1, allreduce 11, barrier 4, bcast 3, scan 1, split 4, window 1",
                  "allreduce 2", "allreduce 1"});
}

TEST_F(SetUpCalls, OfGatherScatters) {
    const auto expect_method = [&](const char* route, const char* method,
                                   const expected_calls& expected) {
        expect(std::string("gather-scatter ") + route + " " + method, halves(num_ranks), expected,
               [&](const context& where, int call) {
                   const std::vector<count_t> ids{1 + where.rank(), 2 + where.rank(),
                                                  call == 1 ? 1 : 100};
                   gather_scatter(where, ids,
                                  {.method = method, .route = route, .executor = "persistent"});
               });
    };

    expect_method(
        "three_step", "owners",
        {"allreduce 11, barrier 2, bcast 3, scan 1, split 3", "allreduce 5", "allreduce 4"});
    expect_method(
        "three_step", "holders",
        {"allreduce 10, barrier 2, bcast 3, scan 1, split 3", "allreduce 4", "allreduce 3"});
    expect_method(
        "auto", "auto",
        {"allreduce 12, barrier 2, bcast 3, scan 1, split 3", "allreduce 6", "allreduce 5"});
}

TEST_F(SetUpCalls, OfAContext) {
    communicator comm(MPI_COMM_WORLD);
    EXPECT_EQ(collectives_of("context", [&] { context(comm, context_options{}); }),
              "allreduce 6, barrier 2, bcast 3, scan 1, split 3");
    comm.close();
}

}  // namespace
}  // namespace crossdock::setup_calls_test

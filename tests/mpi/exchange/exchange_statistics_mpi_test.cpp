// What is counted without MPI is what an exchange sends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"
#include "crossdock/detail/exchange/exchange_statistics.hpp"
#include "src/topology/nodes_mpi.hpp"
#include "support/routes.hpp"
#include "support/topologies.hpp"

namespace crossdock::exchange_statistics_mpi_test {
namespace {

using messages_of_all = std::vector<std::vector<sized_message>>;

struct named_messages {
    std::string name;
    messages_of_all messages;
    std::optional<count_t> size = std::nullopt;  // of every message, if there is one
};

// Calls `fill(rank, list)` for the list of every rank.
template <class Fill>
messages_of_all make_messages(rank_t num_ranks, Fill&& fill) {
    messages_of_all messages(static_cast<std::size_t>(num_ranks));
    for (rank_t rank = 0; rank < num_ranks; ++rank)
        fill(rank, messages[static_cast<std::size_t>(rank)]);
    return messages;
}

messages_of_all all_to_all(rank_t num_ranks, count_t bytes) {
    return make_messages(num_ranks, [&](rank_t, auto& list) {
        for (rank_t rank = 0; rank < num_ranks; ++rank) list.push_back({rank, bytes});
    });
}

messages_of_all heavy_row_and_column(rank_t num_ranks) {
    return make_messages(num_ranks, [&](rank_t source, auto& list) {
        for (rank_t rank = 0; source == 0 && rank < num_ranks; ++rank)
            list.push_back({rank, 3 * rank});
        list.push_back({num_ranks - 1, source});
    });
}

// Destinations repeat and do not ascend; messages may be empty, or go to the rank itself.
messages_of_all drawn(rank_t num_ranks, count_t max_bytes) {
    std::mt19937_64 random(1);
    const auto draw = [&](count_t limit) {
        return static_cast<count_t>(random() % static_cast<std::uint64_t>(limit));
    };
    return make_messages(num_ranks, [&](rank_t, auto& list) {
        for (count_t i = draw(8); i > 0; --i)
            list.push_back({static_cast<rank_t>(draw(num_ranks)), draw(max_bytes + 1)});
    });
}

messages_of_all ring(rank_t num_ranks, count_t bytes) {
    return make_messages(num_ranks, [&](rank_t source, auto& list) {
        list.push_back({(source + 1) % num_ranks, bytes});
        list.push_back({source, bytes});
    });
}

std::vector<named_messages> kinds_of_messages(rank_t num_ranks) {
    return {{"none", messages_of_all(static_cast<std::size_t>(num_ranks)), 5},
            {"ring", ring(num_ranks, 12), 12},
            {"empty ring", ring(num_ranks, 0), 0},
            {"all to all", all_to_all(num_ranks, 4), 4},
            {"heavy row and column", heavy_row_and_column(num_ranks)},
            {"drawn", drawn(num_ranks, 40)},
            {"drawn, some long", drawn(num_ranks, 10000)}};
}

std::vector<std::string> all_algorithms() {
    std::vector<std::string> names;
    for (const auto& one : registered_exchange_algorithms()) {
        if (one.method != exchange_method::routed) names.push_back(one.name);
    }
    for (const auto& entry : registered_routes()) names.push_back("routed:" + entry.example);
    names.insert(names.end(), {"routed:grid:3", "routed:locality:1"});
    return names;
}

class CountExchange : public testing::Test {
  protected:
    // "auto" is to be the library's own choice.
    void SetUp() override { unsetenv("CROSSDOCK_ALGORITHM"); }
    void TearDown() override { comm.close(); }

    exchange_traffic send(const context& where, const named_messages& all,
                          exchange_options options) {
        const std::vector<std::byte> data(20000);
        bytes_to_send to_send{{}, {1, all.size}};
        for (const auto& [destination, bytes] : all.messages[own_rank()])
            to_send.messages.push_back({destination, bytes, data.data()});
        exchange_traffic sent;
        options.sent = &sent;
        exchange_bytes(where, to_send, options);
        return sent;
    }

    void expect_counted(const topology& regions, const named_messages& all,
                        const exchange_options& options, const exchange_algorithm& algorithm,
                        count_t max_forwarded_bytes = std::numeric_limits<count_t>::max()) {
        expect_counted(context(comm, regions), all, options, algorithm, max_forwarded_bytes);
    }
    void expect_counted(const context& where, const named_messages& all,
                        const exchange_options& options, const exchange_algorithm& algorithm,
                        count_t max_forwarded_bytes = std::numeric_limits<count_t>::max()) {
        const auto& regions = where.topology();
        const auto sent = send(where, all, options);
        const auto counted =
            count_exchange(regions, all.messages, algorithm, max_forwarded_bytes, where.machine());
        const auto& own = counted[own_rank()];
        const auto what = options.algorithm + ' ' + regions.to_string() + ' ' + all.name + ' ' +
                          where.machine().name;
        EXPECT_EQ(own.messages, sent.messages) << what;
        EXPECT_EQ(own.message_bytes, sent.message_bytes) << what;
        EXPECT_EQ(own.inter_region_messages, sent.inter_region_messages) << what;
        EXPECT_EQ(own.inter_region_message_bytes, sent.inter_region_message_bytes) << what;
    }

    // Who hands messages over in memory sends by node, whatever the regions.
    const topology& sent_by(const exchange_algorithm& algorithm, const topology& regions) const {
        return algorithm.method == exchange_method::shared_memory ? nodes_of(comm) : regions;
    }

    std::size_t own_rank() const { return static_cast<std::size_t>(comm.rank()); }

    communicator comm{MPI_COMM_WORLD};
};

TEST_F(CountExchange, IsWhatEveryAlgorithmSends) {
    const auto kinds = kinds_of_messages(comm.num_ranks());
    for (const auto& regions : test::conformance_topologies(comm.num_ranks())) {
        for (const auto& name : all_algorithms()) {
            const auto algorithm = parse_exchange_algorithm(name);
            for (const auto& all : kinds) {
                if (takes_one_size_only(algorithm.method) && !all.size) continue;
                expect_counted(sent_by(algorithm, regions), all, {.algorithm = name}, algorithm);
            }
        }
    }
}

TEST_F(CountExchange, IsWhatAutoSends) {
    for (const auto& regions : test::conformance_topologies(comm.num_ranks())) {
        const auto algorithm = resolve_exchange_algorithm(context(comm, regions), "auto", false);
        for (const auto& all : kinds_of_messages(comm.num_ranks()))
            expect_counted(sent_by(algorithm, regions), all, {}, algorithm,
                           auto_max_forwarded_bytes);
    }
}

TEST_F(CountExchange, IsForTheMachineOfTheContext) {
    setenv("CROSSDOCK_MACHINE", "no such thing", 1);
    communicator fresh(MPI_COMM_WORLD);
    const machine far = load_machine("generic_100g"), near = load_machine("emulated_cluster");
    const named_messages all{"all to all", all_to_all(comm.num_ranks(), 8), 8};
    const auto regions = topology::one_region(comm.num_ranks());
    for (int turn = 0; turn < 2; ++turn) {
        for (const auto& m : {far, near}) {
            expect_counted(context(fresh, regions).with_machine(m), all,
                           {.algorithm = "locality_nonblocking"},
                           parse_exchange_algorithm("locality_nonblocking"));
        }
    }
    fresh.close();
    unsetenv("CROSSDOCK_MACHINE");
}

TEST_F(CountExchange, KnowsWhichMessagesAreOnlyAnnouncedOnTheRoute) {
    const named_messages all{"drawn", drawn(comm.num_ranks(), 40)};
    for (const auto& regions : test::conformance_topologies(comm.num_ranks())) {
        for (const char* name : {"routed:grid:2", "routed:locality", "locality_nonblocking"}) {
            for (const count_t limit : {0, 20, 40}) {
                expect_counted(regions, all, {.algorithm = name, .max_forwarded_bytes = limit},
                               parse_exchange_algorithm(name), limit);
            }
        }
    }
}

TEST_F(CountExchange, CountsAMessageThatIsCutOnce) {
    const named_messages all{"drawn", drawn(comm.num_ranks(), 40)};
    for (const char* name : {"personalized", "routed:hypercube", "locality_nonblocking"}) {
        expect_counted(topology::one_region(comm.num_ranks()), all,
                       {.algorithm = name, .max_message_bytes = 16},
                       parse_exchange_algorithm(name));
    }
}

}  // namespace
}  // namespace crossdock::exchange_statistics_mpi_test

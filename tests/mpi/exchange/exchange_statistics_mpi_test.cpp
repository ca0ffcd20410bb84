// What is counted without MPI is what an exchange sends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"
#include "crossdock/schedule.hpp"
#include "exchange/sends.hpp"
#include "src/topology/nodes_mpi.hpp"
#include "support/all_ranks.hpp"
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
            {"drawn", drawn(num_ranks, 40)},
            {"drawn, some long", drawn(num_ranks, 10000)}};
}

class CountExchange : public test::AllRanks {
  protected:
    // "auto" is to be the library's own choice.
    void SetUp() override { unsetenv("CROSSDOCK_ALGORITHM"); }

    exchange_traffic send(const context& at, const named_messages& all, exchange_options options) {
        const std::vector<std::byte> data(20000);
        bytes_to_send to_send{{}, {1, all.size}};
        for (const auto& [destination, bytes] : mine(all.messages))
            to_send.messages.push_back({destination, bytes, data.data()});
        exchange_traffic sent;
        options.sent = &sent;
        exchange_bytes(at, to_send, options);
        return sent;
    }

    void expect_counted(const topology& regions, const named_messages& all,
                        const exchange_options& options, const exchange_algorithm& algorithm,
                        count_t max_forwarded_bytes = std::numeric_limits<count_t>::max()) {
        expect_counted(context(comm, regions), all, options, algorithm, max_forwarded_bytes);
    }
    void expect_counted(const context& at, const named_messages& all,
                        const exchange_options& options, const exchange_algorithm& algorithm,
                        count_t max_forwarded_bytes = std::numeric_limits<count_t>::max()) {
        const auto sent = send(at, all, options);
        const auto counted = count_exchange(at.topology(), all.messages, algorithm,
                                            max_forwarded_bytes, at.machine());
        EXPECT_EQ(mine(counted), sent) << options.algorithm << ' ' << at.topology().to_string()
                                       << ' ' << all.name << ' ' << at.machine().name;
    }

    // Who hands messages over in memory sends by node, whatever the regions.
    const topology& sent_by(const exchange_algorithm& algorithm, const topology& regions) const {
        return algorithm.method == exchange_method::shared_memory ? nodes_of(comm) : regions;
    }
};

TEST_F(CountExchange, IsWhatEveryAlgorithmSends) {
    const auto kinds = kinds_of_messages(num_ranks);
    for (const auto& regions : test::conformance_topologies(num_ranks)) {
        for (const auto& name : test::exchange_algorithms()) {
            if (name == "auto") continue;
            const auto algorithm = parse_exchange_algorithm(name);
            for (const auto& all : kinds) {
                if (takes_one_size_only(algorithm.method) && !all.size) continue;
                expect_counted(sent_by(algorithm, regions), all, {.algorithm = name}, algorithm);
            }
        }
    }
}

TEST_F(CountExchange, IsWhatAutoSends) {
    for (const auto& regions : test::conformance_topologies(num_ranks)) {
        const auto algorithm = resolve_exchange_algorithm(context(comm, regions), "auto", false);
        for (const auto& all : kinds_of_messages(num_ranks))
            expect_counted(sent_by(algorithm, regions), all, {}, algorithm,
                           auto_max_forwarded_bytes);
    }
}

TEST_F(CountExchange, IsForTheMachineOfTheContext) {
    setenv("CROSSDOCK_MACHINE", "no such thing", 1);
    communicator fresh(MPI_COMM_WORLD);
    const machine far = load_machine("generic_100g"), near = load_machine("emulated_cluster");
    const named_messages all{"all to all", all_to_all(num_ranks, 8), 8};
    for (int turn = 0; turn < 2; ++turn) {
        for (const auto& m : {far, near}) {
            expect_counted(context(fresh, one_region).with_machine(m), all,
                           {.algorithm = "locality_nonblocking"},
                           parse_exchange_algorithm("locality_nonblocking"));
        }
    }
    fresh.close();
    unsetenv("CROSSDOCK_MACHINE");
}

TEST_F(CountExchange, KnowsWhichMessagesAreOnlyAnnouncedOnTheRoute) {
    const named_messages all{"drawn", drawn(num_ranks, 40)};
    for (const auto& regions : test::conformance_topologies(num_ranks)) {
        for (const char* name : {"routed:grid:2", "routed:locality", "locality_nonblocking"}) {
            for (const count_t limit : {0, 20, 40}) {
                expect_counted(regions, all, {.algorithm = name, .max_forwarded_bytes = limit},
                               parse_exchange_algorithm(name), limit);
            }
        }
    }
}

TEST_F(CountExchange, CountsAMessageThatIsCutOnce) {
    const named_messages all{"drawn", drawn(num_ranks, 40)};
    for (const char* name : {"personalized", "routed:hypercube", "locality_nonblocking"}) {
        expect_counted(one_region, all, {.algorithm = name, .max_message_bytes = 16},
                       parse_exchange_algorithm(name));
    }
}

}  // namespace
}  // namespace crossdock::exchange_statistics_mpi_test

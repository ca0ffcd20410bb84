// Stands between the library and MPI, hence a program of its own: what an exchange says it sent is
// compared with the calls it made.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "crossdock/detail/exchange/exchange_statistics.hpp"
#include "crossdock/route.hpp"
#include "exchange/sends.hpp"
#include "src/exchange/mailbox_mpi.hpp"
#include "src/model/machine_mpi.hpp"
#include "src/topology/nodes_mpi.hpp"
#include "support/topologies.hpp"

namespace {

// What one rank did since `watch()`.
struct watched_calls {
    MPI_Comm comm = MPI_COMM_NULL;  // the library's own
    const crossdock::topology* regions = nullptr;
    crossdock::exchange_traffic traffic;
    int longest_reduction = 0;  // in words
    crossdock::count_t num_sent_before_it = 0;
    int num_elsewhere = 0;  // calls on other communicators
    bool draws_tickets = false;
};
watched_calls calls;

void note_communicator(MPI_Comm comm) {
    if (comm != calls.comm) ++calls.num_elsewhere;
}

void note_traffic(int destination, int num_messages, int bytes) {
    if (calls.regions == nullptr) return;
    int rank = 0;
    MPI_Comm_rank(calls.comm, &rank);
    calls.traffic.messages += num_messages;
    calls.traffic.message_bytes += bytes;
    if (calls.regions->region_of(rank) == calls.regions->region_of(destination)) return;
    calls.traffic.inter_region_messages += num_messages;
    calls.traffic.inter_region_message_bytes += bytes;
}

int bytes_of(int count, MPI_Datatype datatype) {
    int size = 0;
    MPI_Type_size(datatype, &size);
    return count * size;
}

void note_reduction(int count, MPI_Comm comm) {
    note_communicator(comm);
    if (count <= calls.longest_reduction) return;
    calls.longest_reduction = count;
    calls.num_sent_before_it = calls.traffic.messages;
}

}  // namespace

extern "C" {
int MPI_Isend(const void* data, int count, MPI_Datatype datatype, int destination, int tag,
              MPI_Comm comm, MPI_Request* request) {
    note_communicator(comm);
    note_traffic(destination, 1, bytes_of(count, datatype));
    return PMPI_Isend(data, count, datatype, destination, tag, comm, request);
}

int MPI_Issend(const void* data, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm, MPI_Request* request) {
    note_communicator(comm);
    note_traffic(destination, 1, bytes_of(count, datatype));
    return PMPI_Issend(data, count, datatype, destination, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
    note_communicator(comm);
    return PMPI_Irecv(data, count, datatype, source, tag, comm, request);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
    note_communicator(comm);
    return PMPI_Improbe(source, tag, comm, flag, message, status);
}

// A ticket is drawn for every message that is put, or it is put at once.
int MPI_Fetch_and_op(const void* data, void* result, MPI_Datatype datatype, int destination,
                     MPI_Aint place, MPI_Op operation, MPI_Win window) {
    calls.draws_tickets = true;
    note_traffic(destination, 1, 0);
    return PMPI_Fetch_and_op(data, result, datatype, destination, place, operation, window);
}

int MPI_Put(const void* data, int count, MPI_Datatype datatype, int destination, MPI_Aint place,
            int target_count, MPI_Datatype target_datatype, MPI_Win window) {
    note_traffic(destination, calls.draws_tickets ? 0 : 1, bytes_of(count, datatype));
    return PMPI_Put(data, count, datatype, destination, place, target_count, target_datatype,
                    window);
}

int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* memory,
                            MPI_Win* window) {
    note_communicator(comm);
    return PMPI_Win_allocate_shared(bytes, unit, info, comm, memory, window);
}

int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* memory,
                     MPI_Win* window) {
    note_communicator(comm);
    return PMPI_Win_allocate(bytes, unit, info, comm, memory, window);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op operation,
                  MPI_Comm comm) {
    note_reduction(count, comm);
    return PMPI_Allreduce(in, out, count, datatype, operation, comm);
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype datatype, MPI_Op operation,
                   MPI_Comm comm, MPI_Request* request) {
    note_reduction(count, comm);
    return PMPI_Iallreduce(in, out, count, datatype, operation, comm, request);
}

int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype datatype,
                             MPI_Op operation, MPI_Comm comm) {
    int num_ranks = 0;
    MPI_Comm_size(comm, &num_ranks);
    note_reduction(count * num_ranks, comm);
    return PMPI_Reduce_scatter_block(in, out, count, datatype, operation, comm);
}

int MPI_Ireduce_scatter_block(const void* in, void* out, int count, MPI_Datatype datatype,
                              MPI_Op operation, MPI_Comm comm, MPI_Request* request) {
    int num_ranks = 0;
    MPI_Comm_size(comm, &num_ranks);
    note_reduction(count * num_ranks, comm);
    return PMPI_Ireduce_scatter_block(in, out, count, datatype, operation, comm, request);
}

int MPI_Bcast(void* data, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    note_communicator(comm);
    return PMPI_Bcast(data, count, datatype, root, comm);
}

int MPI_Barrier(MPI_Comm comm) {
    note_communicator(comm);
    return PMPI_Barrier(comm);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    note_communicator(comm);
    return PMPI_Ibarrier(comm, request);
}
}

namespace crossdock::exchange_calls_test {
namespace {

constexpr int vote_words = 6;
constexpr count_t value_bytes = 8;

class ExchangeCalls : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        // Are found out with other communicators, once.
        machine_of(comm);
        nodes_of(comm);
        const context where(comm, topology::one_region(comm.num_ranks()));
        const auto algorithm = resolve_exchange_algorithm(where, GetParam(), true);
        if (algorithm.method == exchange_method::shared_memory)
            exchange_bytes(where, {}, {.algorithm = GetParam()});
        calls = {};
        calls.comm = comm.get();
    }
    void TearDown() override {
        EXPECT_EQ(calls.num_elsewhere, 0);
        calls = {};
        comm.close();
    }

    // Exchanges a value per destination, and notes what is called meanwhile.
    exchange_traffic run(const topology& regions, const test::all_destinations& destinations,
                         exchange_options options) {
        const auto sends = test::sends_of(
            comm.rank(), test::make_messages(destinations, [](auto, auto) { return 1; }));
        exchange_traffic sent;
        options.algorithm = GetParam();
        options.sent = &sent;
        calls.traffic = {};
        calls.longest_reduction = 0;
        calls.regions = &regions;
        static_cast<void>(sparse_exchange(context(comm, regions), sends.constant(1), options));
        calls.regions = nullptr;
        return sent;
    }

    // Calls `use(regions, destinations)` for every topology and some shapes of an exchange.
    template <class Use>
    void for_each_case(Use&& use) {
        const std::set<std::string> shapes{"nothing", "repeated", "all_to_one", "skewed_1"};
        for (const auto& regions : test::conformance_topologies(comm.num_ranks())) {
            for (const auto& [name, destinations] :
                 test::conformance_destinations(comm.num_ranks())) {
                if (!shapes.contains(name)) continue;
                SCOPED_TRACE(name + " on " + regions.to_string());
                use(regions, destinations);
            }
        }
    }

    const std::vector<rank_t>& own(const test::all_destinations& destinations) const {
        return destinations[static_cast<std::size_t>(comm.rank())];
    }

    count_t num_sources(const test::all_destinations& destinations) const {
        count_t sum = 0;
        for (const auto& list : destinations)
            sum += std::count(list.begin(), list.end(), comm.rank());
        return sum;
    }

    communicator comm{MPI_COMM_WORLD};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, ExchangeCalls, testing::ValuesIn(test::exchange_algorithms()),
                         [](const auto& tested) { return test::test_name(tested.param); });

void expect_equal(const exchange_traffic& actual, const exchange_traffic& expected) {
    EXPECT_EQ(actual.messages, expected.messages);
    EXPECT_EQ(actual.message_bytes, expected.message_bytes);
    EXPECT_EQ(actual.inter_region_messages, expected.inter_region_messages);
    EXPECT_EQ(actual.inter_region_message_bytes, expected.inter_region_message_bytes);
}

TEST_P(ExchangeCalls, AreAsManyAsAnExchangeSaysItSent) {
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        for (const count_t max_forwarded_bytes : {count_t{0}, value_bytes}) {
            const auto sent =
                run(regions, destinations, {.max_forwarded_bytes = max_forwarded_bytes});
            expect_equal(sent, calls.traffic);
        }
    });
}

TEST_P(ExchangeCalls, AreAsManyAsIsCountedWithoutMpi) {
    const auto one_node = topology::one_region(comm.num_ranks());
    const auto algorithm = resolve_exchange_algorithm({comm, one_node}, GetParam(), true);
    const bool goes_by_node = algorithm.method == exchange_method::shared_memory;
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        std::vector<std::vector<sized_message>> messages;
        for (const auto& list : destinations) {
            auto& sent = messages.emplace_back();
            for (const rank_t destination : list) sent.push_back({destination, value_bytes});
        }
        for (const count_t max_forwarded_bytes : {count_t{0}, value_bytes}) {
            const auto counted = count_exchange(goes_by_node ? one_node : regions, messages,
                                                algorithm, max_forwarded_bytes, machine_of(comm));
            expect_equal(run(regions, destinations, {.max_forwarded_bytes = max_forwarded_bytes}),
                         counted[static_cast<std::size_t>(comm.rank())]);
        }
    });
}

// With nothing known, and with the number of sources known.
struct reduced_words {
    int usually;
    int with_known_sources;
};

reduced_words expected_reductions(const std::string& algorithm, rank_t num_ranks) {
    if (algorithm == "auto" || algorithm == "shared_memory" || algorithm.starts_with("routed:"))
        return {0, 0};
    if (algorithm == "personalized") return {num_ranks + vote_words, vote_words};
    if (algorithm == "reduce_scatter") return {num_ranks * vote_words, vote_words};
    if (algorithm == "locality_personalized")
        return {num_ranks + vote_words, num_ranks + vote_words};
    return {vote_words, vote_words};
}

TEST_P(ExchangeCalls, ReduceOnlyAsManyWordsAsTheAlgorithmNeeds) {
    const auto [usually, with_known_sources] = expected_reductions(GetParam(), comm.num_ranks());
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        run(regions, destinations, {});
        EXPECT_EQ(calls.longest_reduction, usually);

        run(regions, destinations, {.num_sources = num_sources(destinations)});
        EXPECT_EQ(calls.longest_reduction, with_known_sources);
    });
}

// What a rank sends where every message travels directly.
exchange_traffic direct_traffic(rank_t rank, const topology& regions,
                                const std::vector<rank_t>& destinations, count_t message_bytes) {
    exchange_traffic result;
    for (const rank_t destination : destinations) {
        if (destination == rank) continue;
        ++result.messages;
        result.message_bytes += message_bytes;
        if (regions.region_of(destination) == regions.region_of(rank)) continue;
        ++result.inter_region_messages;
        result.inter_region_message_bytes += message_bytes;
    }
    return result;
}

TEST_P(ExchangeCalls, SendOneMessageToEachDestination) {
    const std::set<std::string> direct{"personalized", "nonblocking", "reduce_scatter", "rma",
                                       "rma_fence"};
    if (!direct.contains(GetParam())) GTEST_SKIP() << "messages travel together";
    const bool is_put = GetParam().starts_with("rma");
    const count_t message_bytes = is_put ? 2 * value_bytes : value_bytes;
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        EXPECT_EQ(run(regions, destinations, {}),
                  direct_traffic(comm.rank(), regions, own(destinations), message_bytes));
    });
}

TEST_P(ExchangeCalls, SendBeforeTheReduction) {
    const std::set<std::string> reducing{"personalized", "nonblocking", "reduce_scatter",
                                         "locality_personalized", "locality_nonblocking"};
    if (!reducing.contains(GetParam())) GTEST_SKIP() << "reduces nothing, or when all is put";
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        for (const bool is_known : {false, true}) {
            exchange_options options;
            if (is_known) options.num_sources = num_sources(destinations);
            const auto sent = run(regions, destinations, options);
            // By region, what crosses; the rest is sent inside, when it is known.
            const bool is_by_region = GetParam().starts_with("locality_");
            EXPECT_EQ(calls.num_sent_before_it,
                      is_by_region ? sent.inter_region_messages : sent.messages);
        }
    });
}

TEST_P(ExchangeCalls, AreNoneWhereAllRanksShareMemory) {
    if (GetParam() != "shared_memory" && GetParam() != "auto") GTEST_SKIP() << "sends messages";
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        EXPECT_EQ(run(regions, destinations, {.max_forwarded_bytes = 0}), exchange_traffic{});
    });
}

TEST_P(ExchangeCalls, SendOneMessageToEachRegion) {
    if (!GetParam().starts_with("locality_")) GTEST_SKIP() << "looks at single ranks";
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        std::set<region_t> reached;
        for (const rank_t destination : own(destinations))
            reached.insert(regions.region_of(destination));
        reached.erase(regions.region_of(comm.rank()));
        EXPECT_EQ(run(regions, destinations, {}).inter_region_messages,
                  static_cast<count_t>(reached.size()));
    });
}

TEST_P(ExchangeCalls, SendOneMessageToEachPartnerOnARoute) {
    if (!GetParam().starts_with("routed:")) GTEST_SKIP() << "takes no route that is named";
    const auto name = GetParam().substr(std::string("routed:").size());
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        const auto way = make_route(name, regions);
        count_t messages = 0, inter_region_messages = 0;
        for (int s = 0; s < way->num_stages(); ++s) {
            for (const rank_t partner : way->partners(comm.rank(), s).destinations) {
                ++messages;
                if (regions.region_of(partner) != regions.region_of(comm.rank()))
                    ++inter_region_messages;
            }
        }
        const auto sent = run(regions, destinations, {});
        EXPECT_EQ(sent.messages, messages);
        EXPECT_EQ(sent.inter_region_messages, inter_region_messages);
        EXPECT_LE(sent.messages, way->max_messages_per_rank());
    });
}

TEST_P(ExchangeCalls, AnnounceAMessageInPlaceOfForwardingIt) {
    if (!GetParam().starts_with("routed:")) GTEST_SKIP() << "forwards all or nothing";
    for_each_case([&](const topology& regions, const test::all_destinations& destinations) {
        const auto forwarded = run(regions, destinations, {.max_forwarded_bytes = value_bytes});
        const auto announced = run(regions, destinations, {.max_forwarded_bytes = value_bytes - 1});
        const auto direct = direct_traffic(comm.rank(), regions, own(destinations), value_bytes);
        EXPECT_EQ(announced.messages, forwarded.messages + direct.messages);
        EXPECT_EQ(announced.inter_region_messages,
                  forwarded.inter_region_messages + direct.inter_region_messages);
    });
}

class CutMessages : public testing::Test {
  protected:
    void TearDown() override { comm.close(); }

    communicator comm{MPI_COMM_WORLD};
};

// MPI walks over all that waits at a receiver for each probe of another tag: the parts of a message must not pile up.
TEST_F(CutMessages, LeaveAFewPartsAtATimeUntilTheReceiverTakesThem) {
    if (comm.num_ranks() == 1) GTEST_SKIP() << "nobody to send to";
    constexpr count_t bytes = 1000;
    const auto regions = topology::one_region(comm.num_ranks());
    const auto tags = comm.reserve_tags(1);
    const int tag = tags.first();
    byte_inbox arrivals;
    mailbox mail(comm, regions, 1, arrivals);
    std::vector<std::byte> message(bytes);
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
    if (comm.rank() == 0) {
        calls = {};
        calls.comm = comm.get();
        calls.regions = &regions;
        mail.send(byte_message{1, bytes, message.data()}, tag);
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(mail.are_sent());
        EXPECT_EQ(calls.traffic.messages, 65);  // 64 parts, and the word behind the first
        calls = {};
    }
    MPI_Barrier(comm.get());
    if (comm.rank() == 1) {
        const auto came = mail.wait_for_message(tag);
        EXPECT_EQ(std::vector<std::byte>(came.data, came.data + came.bytes), message);
    }
    mail.wait_until([&] { return mail.are_sent(); });
    MPI_Barrier(comm.get());
}

class ExchangeNodes : public testing::Test {
  protected:
    void TearDown() override {
        calls = {};
        world.close();
    }

    // What all ranks send each other in enough exchanges that "auto" would make memory.
    exchange_traffic traffic_of(const context& where, const std::string& algorithm) {
        const auto sends =
            test::sends_of(where.rank(), test::make_messages(ring(), [](auto, auto) { return 1; }));
        exchange_traffic sent;
        for (int i = 0; i < 20; ++i) {
            static_cast<void>(
                sparse_exchange(where, sends.constant(1), {.algorithm = algorithm, .sent = &sent}));
        }
        return sent;
    }

    test::all_destinations ring() const {
        return test::make_destinations(
            num_ranks, [&](rank_t rank) { return std::vector<rank_t>{(rank + 1) % num_ranks}; });
    }

    context world{MPI_COMM_WORLD};
    const rank_t num_ranks = world.num_ranks();
    const context alone =
        world.with_nodes(topology::from_string(std::to_string(num_ranks) + "x1", num_ranks));
};

TEST_F(ExchangeNodes, OfOneRankShareNoMemory) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank sends nothing";
    for (const std::string algorithm : {"shared_memory", "auto"}) {
        SCOPED_TRACE(algorithm);
        // Two contexts of one communicator in turn: neither gets what the other shares.
        EXPECT_EQ(traffic_of(world, algorithm).messages, 0);
        EXPECT_GT(traffic_of(alone, algorithm).messages, 0);
        EXPECT_EQ(traffic_of(world, algorithm).messages, 0);
    }
    EXPECT_EQ(traffic_of(alone, "shared_memory").messages, num_ranks - 1);
    EXPECT_NE(resolve_exchange_algorithm(alone, "auto", true).method,
              exchange_method::shared_memory);
    EXPECT_EQ(resolve_exchange_algorithm(world, "auto", true).method,
              exchange_method::shared_memory);
}

}  // namespace
}  // namespace crossdock::exchange_calls_test

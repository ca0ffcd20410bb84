#include <algorithm>
#include <string>
#include <vector>

#include "c/statuses.hpp"

namespace exchange_c_test {
namespace {

using namespace crossdock_c_test;
using ranks = std::vector<int>;

constexpr int64_t untouched = -77;
constexpr int64_t message_length = 2;  // of messages of one size

/// A number of one rank's.
int64_t told_by(int rank, int64_t number) {
    MPI_Bcast(&number, 1, MPI_INT64_T, rank, MPI_COMM_WORLD);
    return number;
}

std::string text(int64_t number) { return std::to_string(number); }

// Everyone sends to rank 0 and to the next rank, and to some others and to itself as the numbers have it.
bool sends(int source, int destination) {
    return destination == 0 || destination == (source + 1) % world(MPI_Comm_size) ||
           (source * source + destination) % 3 == 0;
}

// 0 is among the lengths and among the values.
int64_t length_between(int source, int destination) { return (source + 2 * destination) % 4; }
int64_t value_between(int source, int destination, int64_t k) {
    return 100 * source + 10 * destination + k;
}

/// What messages of the pattern look like, whether sent or received.
struct message_list {
    ranks peers;
    numbers counts;
    numbers displacements;
    numbers values;

    void add(int peer, int source, int destination, int64_t count) {
        peers.push_back(peer);
        counts.push_back(count);
        displacements.push_back(length(values));
        for (int64_t k = 0; k < count; ++k) values.push_back(value_between(source, destination, k));
    }
};

/// The arguments of the functions of C, for a test to spoil.
struct constant_call {
    const crossdock_context* context;
    int64_t send_nnz;
    const int* dest;
    int64_t sendcount;
    MPI_Datatype sendtype;
    const void* sendvals;
    int64_t* recv_nnz;
    int* src;
    int64_t recvcount;
    MPI_Datatype recvtype;
    void* recvvals;
    const crossdock_exchange_options* options;

    crossdock_status operator()() const {
        return crossdock_sparse_exchange(context, send_nnz, dest, sendcount, sendtype, sendvals,
                                         recv_nnz, src, recvcount, recvtype, recvvals, options);
    }
};

struct variable_call {
    const crossdock_context* context;
    int64_t send_nnz;
    int64_t send_size;
    const int* dest;
    const int64_t* sendcounts;
    const int64_t* sdispls;
    MPI_Datatype sendtype;
    const void* sendvals;
    int64_t* recv_nnz;
    int64_t* recv_size;
    int* src;
    int64_t* recvcounts;
    int64_t* rdispls;
    MPI_Datatype recvtype;
    void* recvvals;
    const crossdock_exchange_options* options;

    crossdock_status operator()() const {
        return crossdock_sparse_exchange_v(context, send_nnz, send_size, dest, sendcounts, sdispls,
                                           sendtype, sendvals, recv_nnz, recv_size, src, recvcounts,
                                           rdispls, recvtype, recvvals, options);
    }
};

/// Arrays with room for what the pattern brings.
struct room {
    explicit room(const message_list& expected)
        : num_messages(length(expected.peers)),
          num_values(length(expected.values)),
          src(expected.peers.size(), static_cast<int>(untouched)),
          counts(expected.peers.size(), untouched),
          displacements(expected.peers.size(), untouched),
          values(expected.values.size(), untouched) {
        // So that no array is null, whatever a test says of its length.
        src.reserve(1);
        counts.reserve(1);
        displacements.reserve(1);
        values.reserve(1);
    }

    bool is_untouched() const {
        return src == ranks(src.size(), static_cast<int>(untouched)) &&
               counts == numbers(counts.size(), untouched) &&
               displacements == numbers(displacements.size(), untouched) &&
               values == numbers(values.size(), untouched);
    }

    int64_t num_messages;
    int64_t num_values;
    ranks src;
    numbers counts;
    numbers displacements;
    numbers values;
};

class SparseExchange : public testing::Test {
  protected:
    void SetUp() override {
        ranks regions;
        for (int r = 0; r < num_ranks; ++r) regions.push_back(r / 2);
        crossdock_topology* topology = nullptr;
        ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, nullptr, &discovered));
        ASSERT_SUCCESS(crossdock_topology_from_regions(num_ranks, regions.data(), &topology));
        ASSERT_SUCCESS(crossdock_context_with_topology(discovered, topology, &context));
        EXPECT_SUCCESS(crossdock_topology_free(topology));
        for (int other = 0; other < num_ranks; ++other) {
            if (sends(rank, other)) {
                sent.add(other, rank, other, message_length);
                sent_of_any_size.add(other, rank, other, length_between(rank, other));
            }
            if (sends(other, rank)) {
                expected.add(other, other, rank, message_length);
                expected_of_any_size.add(other, other, rank, length_between(other, rank));
            }
        }
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_context_free(context));
        EXPECT_SUCCESS(crossdock_context_close(discovered));
        EXPECT_SUCCESS(crossdock_context_free(discovered));
    }

    constant_call constant(room& into) const {
        return {context,        length(sent.peers), sent.peers.data(),  message_length,
                MPI_INT64_T,    sent.values.data(), &into.num_messages, into.src.data(),
                message_length, MPI_INT64_T,        into.values.data(), &options};
    }

    variable_call variable(room& into) const {
        return {context,
                length(sent_of_any_size.peers),
                length(sent_of_any_size.values),
                sent_of_any_size.peers.data(),
                sent_of_any_size.counts.data(),
                sent_of_any_size.displacements.data(),
                MPI_INT64_T,
                sent_of_any_size.values.data(),
                &into.num_messages,
                &into.num_values,
                into.src.data(),
                into.counts.data(),
                into.displacements.data(),
                MPI_INT64_T,
                into.values.data(),
                &options};
    }

    void expect_constant_works() const {
        room into(expected);
        EXPECT_SUCCESS(constant(into)());
        EXPECT_EQ(into.num_messages, length(expected.peers));
        EXPECT_EQ(into.src, expected.peers);
        EXPECT_EQ(into.values, expected.values);
    }

    void expect_variable_works() const {
        room into(expected_of_any_size);
        EXPECT_SUCCESS(variable(into)());
        EXPECT_EQ(into.num_messages, length(expected_of_any_size.peers));
        EXPECT_EQ(into.num_values, length(expected_of_any_size.values));
        EXPECT_EQ(into.src, expected_of_any_size.peers);
        EXPECT_EQ(into.counts, expected_of_any_size.counts);
        EXPECT_EQ(into.displacements, expected_of_any_size.displacements);
        EXPECT_EQ(into.values, expected_of_any_size.values);
    }

    /// The call fails on all ranks if the last one spoils its arguments, and works afterwards.
    template <class Spoil>
    void expect_constant_refused(const std::string& sentence, Spoil spoil,
                                 crossdock_status status = CROSSDOCK_INVALID_ARGUMENT) const {
        room into(expected);
        constant_call call = constant(into);
        if (is_last) spoil(call);
        expect_error(call(), status, sentence);
        EXPECT_TRUE(into.is_untouched());
        expect_constant_works();
    }

    template <class Spoil>
    void expect_variable_refused(const std::string& sentence, Spoil spoil,
                                 crossdock_status status = CROSSDOCK_INVALID_ARGUMENT) const {
        room into(expected_of_any_size);
        variable_call call = variable(into);
        if (is_last) spoil(call);
        expect_error(call(), status, sentence);
        EXPECT_TRUE(into.is_untouched());
        expect_variable_works();
    }

    std::string is_null(const char* argument) const {
        return argument + (" of rank " + text(last)) + " is a null pointer";
    }
    std::string is(const char* argument, int64_t value) const {
        return argument + (" of rank " + text(last)) + " is " + text(value);
    }

    int rank = world(MPI_Comm_rank);
    int num_ranks = world(MPI_Comm_size);
    int last = num_ranks - 1;
    bool is_last = rank == last;
    crossdock_context* discovered = nullptr;
    crossdock_context* context = nullptr;  // with regions of two
    crossdock_exchange_options options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
    message_list sent;
    message_list sent_of_any_size;
    message_list expected;
    message_list expected_of_any_size;
};

std::vector<std::string> every_algorithm() {
    std::vector<std::string> all{"auto"};
    int num_algorithms = 0;
    EXPECT_SUCCESS(crossdock_num_exchange_algorithms(&num_algorithms));
    for (int i = 0; i < num_algorithms; ++i) {
        const char* algorithm = nullptr;
        EXPECT_SUCCESS(crossdock_exchange_algorithm_example(i, &algorithm));
        all.emplace_back(algorithm);
    }
    return all;
}

TEST_F(SparseExchange, OptionsHaveDefaults) {
    EXPECT_EQ(options.size, sizeof options);
    EXPECT_EQ(options.algorithm, nullptr);
    EXPECT_EQ(options.order, CROSSDOCK_BY_SOURCE);
    EXPECT_EQ(options.num_sources, -1);
    EXPECT_EQ(options.max_message_bytes, 0);
    EXPECT_EQ(options.max_forwarded_bytes, -1);
    EXPECT_EQ(options.sent, nullptr);
}

TEST_F(SparseExchange, EveryAlgorithmDeliversMessagesOfOneSize) {
    for (const auto& algorithm : every_algorithm()) {
        SCOPED_TRACE(algorithm);
        options.algorithm = algorithm.c_str();
        expect_constant_works();
        expect_constant_works();
    }
}

TEST(ExchangeAlgorithms, AreListedByIndex) {
    const char* name = nullptr;
    const char* algorithm = nullptr;

    EXPECT_EQ(
        every_algorithm(),
        (std::vector<std::string>{"auto", "personalized", "nonblocking", "rma", "rma_fence",
                                  "locality_personalized", "locality_nonblocking", "locality_rma",
                                  "reduce_scatter", "shared_memory", "routed:grid:2"}));
    EXPECT_SUCCESS(crossdock_exchange_algorithm_name(9, &name));
    EXPECT_STREQ(name, "routed");
    expect_error(crossdock_exchange_algorithm_name(10, &name), CROSSDOCK_INVALID_ARGUMENT,
                 "algorithm 10 is outside [0, 10)");
    expect_error(crossdock_exchange_algorithm_example(-1, &algorithm), CROSSDOCK_INVALID_ARGUMENT,
                 "algorithm -1 is outside [0, 10)");
    expect_error(crossdock_num_exchange_algorithms(nullptr), CROSSDOCK_INVALID_ARGUMENT,
                 "result is a null pointer");
    expect_error(crossdock_exchange_algorithm_name(0, nullptr), CROSSDOCK_INVALID_ARGUMENT,
                 "name is a null pointer");
    expect_error(crossdock_exchange_algorithm_example(0, nullptr), CROSSDOCK_INVALID_ARGUMENT,
                 "algorithm is a null pointer");
}

TEST_F(SparseExchange, EveryAlgorithmWithoutWindowsDeliversMessagesOfAnySize) {
    for (const char* algorithm :
         {"auto", "personalized", "nonblocking", "locality_personalized", "locality_nonblocking",
          "locality_rma", "reduce_scatter", "shared_memory", "routed:grid:2"}) {
        SCOPED_TRACE(algorithm);
        options.algorithm = algorithm;
        expect_variable_works();
        expect_variable_works();
    }
    for (const std::string algorithm : {"rma", "rma_fence"}) {
        options.algorithm = algorithm.c_str();
        room into(expected_of_any_size);
        expect_error(variable(into)(), CROSSDOCK_INVALID_ARGUMENT,
                     "the algorithm " + algorithm + " exchanges messages of one size only");
    }
}

TEST_F(SparseExchange, TheOptionsMayBeMissing) {
    room into(expected);
    constant_call call = constant(into);
    call.options = nullptr;

    EXPECT_SUCCESS(call());

    EXPECT_EQ(into.src, expected.peers);
    EXPECT_EQ(into.values, expected.values);
}

TEST_F(SparseExchange, OptionsReachTheExchange) {
    options.algorithm = "personalized";
    options.num_sources = length(expected.peers);
    options.max_message_bytes = 9;
    expect_constant_works();
    options.num_sources = length(expected.peers) + 1;
    room into(expected);
    expect_error(constant(into)(), CROSSDOCK_COUNT_MISMATCH,
                 "the known numbers of sources do not add up to the messages that are sent");
    options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
    options.algorithm = "routed:grid:2";
    options.max_forwarded_bytes = 0;
    expect_constant_works();
}

TEST_F(SparseExchange, SaysWhatItSent) {
    crossdock_exchange_traffic sent_here{};
    options.algorithm = "nonblocking";
    options.sent = &sent_here;

    expect_constant_works();

    int64_t messages = 0;
    int64_t far = 0;
    for (const int to : sent.peers) {
        messages += to != rank;
        far += to / 2 != rank / 2;
    }
    const int64_t bytes = message_length * static_cast<int64_t>(sizeof(int64_t));
    EXPECT_EQ(sent_here.messages, messages);
    EXPECT_EQ(sent_here.message_bytes, messages * bytes);
    EXPECT_EQ(sent_here.inter_region_messages, far);
    EXPECT_EQ(sent_here.inter_region_message_bytes, far * bytes);
}

TEST_F(SparseExchange, ArrivesInAnyOrderIfAsked) {
    options.order = CROSSDOCK_ARRIVAL;
    room into(expected);

    EXPECT_SUCCESS(constant(into)());

    for (std::size_t i = 0; i < into.src.size(); ++i) {
        for (std::size_t k = 0; k < message_length; ++k)
            EXPECT_EQ(into.values[i * message_length + k],
                      value_between(into.src[i], rank, static_cast<int64_t>(k)));
    }
    std::sort(into.src.begin(), into.src.end());
    EXPECT_EQ(into.src, expected.peers);
}

TEST_F(SparseExchange, NothingAtAllNeedsNoArrays) {
    int64_t num_messages = 0;
    int64_t num_values = 0;

    EXPECT_SUCCESS(crossdock_sparse_exchange(context, 0, nullptr, 1, MPI_INT, nullptr,
                                             &num_messages, nullptr, 1, MPI_INT, nullptr, nullptr));
    EXPECT_SUCCESS(crossdock_sparse_exchange_v(context, 0, 0, nullptr, nullptr, nullptr, MPI_INT,
                                               nullptr, &num_messages, &num_values, nullptr,
                                               nullptr, nullptr, MPI_INT, nullptr, nullptr));

    EXPECT_EQ(num_messages, 0);
    EXPECT_EQ(num_values, 0);
}

TEST_F(SparseExchange, EmptyMessagesArrive) {
    ranks src(expected.peers.size());
    int64_t num_messages = length(expected.peers);

    EXPECT_SUCCESS(crossdock_sparse_exchange(context, length(sent.peers), sent.peers.data(), 0,
                                             MPI_INT, nullptr, &num_messages, src.data(), 0,
                                             MPI_INT, nullptr, nullptr));

    EXPECT_EQ(num_messages, length(expected.peers));
    EXPECT_EQ(src, expected.peers);
}

TEST_F(SparseExchange, WithoutDisplacementsValuesFollowEachOther) {
    room into(expected_of_any_size);
    variable_call call = variable(into);
    call.sdispls = nullptr;

    EXPECT_SUCCESS(call());

    EXPECT_EQ(into.values, expected_of_any_size.values);
}

TEST_F(SparseExchange, TooLittleRoomIsToldToAllWithWhatTheyNeed) {
    room into(expected);
    into.num_messages = is_last ? 0 : length(expected.peers) + 5;
    into.src.resize(expected.peers.size() + 5, static_cast<int>(untouched));
    const int64_t at_last = told_by(last, length(expected.peers));

    expect_error(constant(into)(), CROSSDOCK_SIZE_MISMATCH,
                 text(at_last) + " messages came to rank " + text(last) + ", which has room for 0");

    EXPECT_EQ(into.num_messages, length(expected.peers));
    EXPECT_TRUE(into.is_untouched());
    into.src.resize(expected.peers.size());
    EXPECT_SUCCESS(constant(into)());
    EXPECT_EQ(into.src, expected.peers);
    EXPECT_EQ(into.values, expected.values);
}

TEST_F(SparseExchange, TooLittleRoomForValuesIsToldToAll) {
    room into(expected_of_any_size);
    // Rank 0 gets a value of rank 1.
    const bool lacks = rank == 0 && num_ranks > 1;
    if (lacks) into.num_values -= 1;
    const int64_t at_first = told_by(0, length(expected_of_any_size.values));

    const auto status = variable(into)();

    EXPECT_EQ(into.num_messages, length(expected_of_any_size.peers));
    EXPECT_EQ(into.num_values, length(expected_of_any_size.values));
    if (num_ranks > 1) {
        expect_error(
            status, CROSSDOCK_SIZE_MISMATCH,
            text(at_first) + " values came to rank 0, which has room for " + text(at_first - 1));
        EXPECT_TRUE(into.is_untouched());
    }
    EXPECT_SUCCESS(variable(into)());
    EXPECT_EQ(into.values, expected_of_any_size.values);
}

TEST_F(SparseExchange, MoreRoomThanNeededStaysAsItIs) {
    room into(expected);
    into.num_messages += 1;
    into.src.push_back(static_cast<int>(untouched));
    into.values.insert(into.values.end(), message_length, untouched);

    EXPECT_SUCCESS(constant(into)());

    EXPECT_EQ(into.num_messages, length(expected.peers));
    EXPECT_EQ(into.src.back(), untouched);
    EXPECT_EQ(into.values.back(), untouched);
    EXPECT_EQ(into.values[into.values.size() - message_length], untouched);
}

TEST_F(SparseExchange, BadArgumentsOfOneRankAreErrorsOnAll) {
    const ranks nowhere(sent.peers.size(), num_ranks);
    const numbers negative(sent.peers.size(), -1);
    const std::string out_of_range = "destination " + text(num_ranks) + " of rank " + text(last) +
                                     " is outside [0, " + text(num_ranks) + ")";
    expect_constant_refused(
        out_of_range, [&](auto& call) { call.dest = nowhere.data(); }, CROSSDOCK_RANK_OUT_OF_RANGE);
    expect_constant_refused(is_null("dest"), [](auto& call) { call.dest = nullptr; });
    expect_constant_refused(is_null("sendvals"), [](auto& call) { call.sendvals = nullptr; });
    expect_constant_refused(is("send_nnz", -2), [](auto& call) { call.send_nnz = -2; });
    expect_constant_refused(is("sendcount", -3), [](auto& call) { call.sendcount = -3; });
    expect_constant_refused(is("recvcount", -3), [](auto& call) { call.recvcount = -3; });
    expect_constant_refused(is_null("recv_nnz"), [](auto& call) { call.recv_nnz = nullptr; });
    expect_constant_refused(is("recv_nnz", -4), [](auto& call) { *call.recv_nnz = -4; });
    expect_constant_refused(is_null("src"), [](auto& call) {
        *call.recv_nnz = 1;
        call.src = nullptr;
    });
    expect_constant_refused(is_null("recvvals"), [](auto& call) {
        *call.recv_nnz = 1;
        call.recvvals = nullptr;
    });

    expect_variable_refused(
        out_of_range, [&](auto& call) { call.dest = nowhere.data(); }, CROSSDOCK_RANK_OUT_OF_RANGE);
    expect_variable_refused(is_null("dest"), [](auto& call) { call.dest = nullptr; });
    expect_variable_refused(is_null("sendcounts"), [](auto& call) { call.sendcounts = nullptr; });
    expect_variable_refused(is("sendcounts[0]", -1),
                            [&](auto& call) { call.sendcounts = negative.data(); });
    expect_variable_refused(is("sdispls[0]", -1),
                            [&](auto& call) { call.sdispls = negative.data(); });
    expect_variable_refused(is("send_nnz", -1), [](auto& call) { call.send_nnz = -1; });
    expect_variable_refused(is("send_size", -1), [](auto& call) { call.send_size = -1; });
    expect_variable_refused(is_null("recv_nnz"), [](auto& call) { call.recv_nnz = nullptr; });
    expect_variable_refused(is_null("recv_size"), [](auto& call) { call.recv_size = nullptr; });
    expect_variable_refused(is("recv_size", -9), [](auto& call) { *call.recv_size = -9; });
    const auto with_room = [](auto spoil) {
        return [spoil](variable_call& call) {
            *call.recv_nnz = 1;
            *call.recv_size = 1;
            spoil(call);
        };
    };
    expect_variable_refused(is_null("src"), with_room([](auto& call) { call.src = nullptr; }));
    expect_variable_refused(is_null("recvcounts"),
                            with_room([](auto& call) { call.recvcounts = nullptr; }));
    expect_variable_refused(is_null("rdispls"),
                            with_room([](auto& call) { call.rdispls = nullptr; }));
    expect_variable_refused(is_null("recvvals"),
                            with_room([](auto& call) { call.recvvals = nullptr; }));
}

TEST_F(SparseExchange, ValuesMissingOnOneRankAreErrorsOnAll) {
    const int next = (rank + 1) % num_ranks;
    const numbers one{1};
    const numbers value{rank};
    const auto run = [&](int64_t send_size, const int64_t* values) {
        int64_t num_messages = 1;
        int64_t num_values = 1;
        int src = 0;
        int64_t count = 0;
        int64_t displacement = 0;
        int64_t came = untouched;
        const auto status = crossdock_sparse_exchange_v(
            context, 1, send_size, &next, one.data(), nullptr, MPI_INT64_T, values, &num_messages,
            &num_values, &src, &count, &displacement, MPI_INT64_T, &came, nullptr);
        EXPECT_EQ(came,
                  status == CROSSDOCK_SUCCESS ? (rank + num_ranks - 1) % num_ranks : untouched);
        return status;
    };

    expect_error(run(1, is_last ? nullptr : value.data()), CROSSDOCK_INVALID_ARGUMENT,
                 is_null("sendvals"));
    expect_error(run(is_last ? 0 : 1, value.data()), CROSSDOCK_INVALID_ARGUMENT,
                 is("send_size", 0) + ", but its messages have 1 values");
    EXPECT_SUCCESS(run(1, value.data()));
}

TEST_F(SparseExchange, DatatypesThatAreNoneOrDifferAreErrorsOnAll) {
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    const std::string of_last = " of rank " + text(last), rank_last = "rank " + text(last);
    expect_constant_refused("sendtype" + of_last + ": datatype is MPI_DATATYPE_NULL",
                            [](auto& call) { call.sendtype = MPI_DATATYPE_NULL; });
    expect_variable_refused("recvtype" + of_last + ": datatype is MPI_DATATYPE_NULL",
                            [](auto& call) { call.recvtype = MPI_DATATYPE_NULL; });
    expect_constant_refused("sendtype" + of_last + ": the datatype has 0 bytes",
                            [&](auto& call) { call.sendtype = empty; });
    expect_variable_refused(
        rank_last + " sends 8 bytes per value, but receives 1",
        [](auto& call) { call.recvtype = MPI_CHAR; }, CROSSDOCK_COUNT_MISMATCH);
    expect_constant_refused(
        rank_last + " sends 2 values per message, but receives 5",
        [](auto& call) { call.recvcount = 5; }, CROSSDOCK_COUNT_MISMATCH);
    if (num_ranks > 1) {
        expect_variable_refused(
            rank_last + " sends any number of values of 4 bytes per message, rank 0 any number ",
            [](auto& call) { call.sendtype = call.recvtype = MPI_INT32_T; },
            CROSSDOCK_COUNT_MISMATCH);
    }
    MPI_Type_free(&empty);
}

TEST_F(SparseExchange, OptionsThatAreNoneAreErrors) {
    crossdock_exchange_options unordered = options, without_size = options;
    unordered.order = 7;
    without_size.size = 0;
    expect_constant_refused("there is no order 7, which rank " + text(last) + " asks for",
                            [&](auto& call) { call.options = &unordered; });
    expect_constant_refused(
        "rank " + text(last) + ": options say that they have 0 bytes; begin with their initialiser",
        [&](auto& call) { call.options = &without_size; });
    options.algorithm = "homing_pigeon";
    room into(expected);
    EXPECT_EQ(constant(into)(), CROSSDOCK_INVALID_ARGUMENT);
    constant_call call = constant(into);
    call.context = nullptr;
    expect_error(call(), CROSSDOCK_INVALID_ARGUMENT, "context is a null pointer");
    EXPECT_TRUE(into.is_untouched());
}

/// Pairs of int64_t that lie 3 apart, the second at the address.
class SpacedDatatype : public SparseExchange {
  protected:
    void SetUp() override {
        SparseExchange::SetUp();
        MPI_Datatype pair = MPI_DATATYPE_NULL;
        const int lengths[]{1, 1};
        const MPI_Aint places[]{sizeof(int64_t), 0};
        const MPI_Datatype types[]{MPI_INT64_T, MPI_INT64_T};
        MPI_Type_create_struct(2, lengths, places, types, &pair);
        MPI_Type_create_resized(pair, 0, 3 * sizeof(int64_t), &spaced);
        MPI_Type_commit(&spaced);
        MPI_Type_free(&pair);
    }
    void TearDown() override {
        MPI_Type_free(&spaced);
        SparseExchange::TearDown();
    }

    MPI_Datatype spaced = MPI_DATATYPE_NULL;
    int next = (rank + 1) % num_ranks;
    int previous = (rank + num_ranks - 1) % num_ranks;
    numbers values{10 * rank, 10 * rank + 1, -1, 10 * rank + 2, 10 * rank + 3, -1};
};

TEST_F(SpacedDatatype, ValuesArriveWithTheirGapsUntouched) {
    int64_t num_messages = 1;
    int src = -1;
    numbers came(6, untouched);

    EXPECT_SUCCESS(crossdock_sparse_exchange(context, 1, &next, 2, spaced, values.data(),
                                             &num_messages, &src, 2, spaced, came.data(),
                                             &options));

    EXPECT_EQ(src, previous);
    EXPECT_EQ(came, (numbers{10 * previous, 10 * previous + 1, untouched, 10 * previous + 2,
                             10 * previous + 3, untouched}));
}

TEST_F(SpacedDatatype, MayDifferFromTheOneReceived) {
    MPI_Datatype dense = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT64_T, &dense);
    MPI_Type_commit(&dense);
    const numbers counts{1, 1};
    const numbers displacements{1, 0};
    const ranks dest{next, next};
    int64_t num_messages = 2;
    int64_t num_values = 2;
    ranks src(2);
    numbers received_counts(2);
    numbers received_displacements(2);
    numbers came(4, untouched);

    EXPECT_SUCCESS(crossdock_sparse_exchange_v(
        context, 2, 2, dest.data(), counts.data(), displacements.data(), spaced, values.data(),
        &num_messages, &num_values, src.data(), received_counts.data(),
        received_displacements.data(), dense, came.data(), &options));

    EXPECT_EQ(src, (ranks{previous, previous}));
    EXPECT_EQ(received_displacements, (numbers{0, 1}));
    EXPECT_EQ(came,
              (numbers{10 * previous + 3, 10 * previous + 2, 10 * previous + 1, 10 * previous}));
    MPI_Type_free(&dense);
}

TEST_F(SpacedDatatype, ArrivesInNewArraysWithZeroGaps) {
    int64_t num_messages = 0;
    int* src = nullptr;
    void* came = nullptr;

    ASSERT_SUCCESS(crossdock_sparse_exchange_alloc(context, 1, &next, 2, spaced, values.data(),
                                                   &num_messages, &src, &came, &options));

    const auto* const received = static_cast<const int64_t*>(came);
    EXPECT_EQ(numbers(received, received + 6), (numbers{10 * previous, 10 * previous + 1, 0,
                                                        10 * previous + 2, 10 * previous + 3, 0}));
    EXPECT_SUCCESS(crossdock_free(src));
    EXPECT_SUCCESS(crossdock_free(came));
}

TEST_F(SpacedDatatype, NewArraysHaveNoPlaceBeforeTheirStart) {
    MPI_Datatype before = MPI_DATATYPE_NULL;
    const int one = 1;
    const MPI_Aint place = -8;
    MPI_Type_create_hindexed(1, &one, &place, MPI_INT64_T, &before);
    MPI_Type_commit(&before);
    int64_t num_messages = untouched;
    int* src = nullptr;
    void* came = nullptr;

    expect_error(crossdock_sparse_exchange_alloc(context, 1, &next, 1, before, &values[1],
                                                 &num_messages, &src, &came, &options),
                 CROSSDOCK_INVALID_ARGUMENT, "a value of the datatype reaches before its address");

    EXPECT_EQ(num_messages, untouched);
    MPI_Type_free(&before);
}

TEST_F(SparseExchange, TypesThatNameTheirBytesInAnotherOrderSendThemInTheirs) {
    MPI_Datatype second_first = MPI_DATATYPE_NULL;
    const int places[2] = {1, 0};
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &second_first);
    MPI_Type_commit(&second_first);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    const int two[2] = {1, 2};
    int received[2] = {0, 0};
    int source = -1;
    int64_t num_messages = 1;

    ASSERT_EQ(crossdock_sparse_exchange(context, 1, &rank, 1, second_first, two, &num_messages,
                                        &source, 1, pair, received, nullptr),
              CROSSDOCK_SUCCESS);

    EXPECT_EQ(received[0], 2);
    EXPECT_EQ(received[1], 1);
    MPI_Type_free(&second_first);
    MPI_Type_free(&pair);
}

TEST_F(SparseExchange, NewArraysAreAsLongAsTheyMustBe) {
    int64_t num_messages = 0;
    int64_t num_values = 0;
    int* src = nullptr;
    int64_t* counts = nullptr;
    int64_t* displacements = nullptr;
    void* values = nullptr;
    const auto& m = sent_of_any_size;

    ASSERT_SUCCESS(crossdock_sparse_exchange_v_alloc(
        context, length(m.peers), length(m.values), m.peers.data(), m.counts.data(), nullptr,
        MPI_INT64_T, m.values.data(), &num_messages, &num_values, &src, &counts, &displacements,
        &values, &options));

    const auto& e = expected_of_any_size;
    const auto* const received = static_cast<const int64_t*>(values);
    EXPECT_EQ(num_values, length(e.values));
    EXPECT_EQ(ranks(src, src + num_messages), e.peers);
    EXPECT_EQ(numbers(counts, counts + num_messages), e.counts);
    EXPECT_EQ(numbers(displacements, displacements + num_messages), e.displacements);
    EXPECT_EQ(numbers(received, received + num_values), e.values);
    EXPECT_SUCCESS(crossdock_free(src));
    EXPECT_SUCCESS(crossdock_free(counts));
    EXPECT_SUCCESS(crossdock_free(displacements));
    EXPECT_SUCCESS(crossdock_free(values));
}

TEST_F(SparseExchange, CountsMayBeThoseOfMpi) {
    const int next = (rank + 1) % num_ranks, previous = (rank + num_ranks - 1) % num_ranks;
    const int values[] = {rank, rank + 10}, sendcount = 2;
    int num = -1, size = -1, src = -1, count = -1, displacement = -1, came[] = {-1, -1};
    EXPECT_SUCCESS(crossdock_sparse_exchange_v_int(context, 1, 2, &next, &sendcount, nullptr,
                                                   MPI_INT, values, &num, &size, &src, &count,
                                                   &displacement, MPI_INT, came, nullptr));
    EXPECT_EQ((std::vector{num, size, src, count, displacement, came[0], came[1]}),
              (std::vector{1, 2, previous, 2, 0, previous, previous + 10}));

    num = -1;
    EXPECT_EQ(crossdock_sparse_exchange_int(context, 1, &next, 2, MPI_INT, values, &num, nullptr, 2,
                                            MPI_INT, nullptr, nullptr),
              CROSSDOCK_SIZE_MISMATCH);
    EXPECT_EQ(num, 1);
    EXPECT_SUCCESS(crossdock_sparse_exchange_int(context, 1, &next, 2, MPI_INT, values, &num, &src,
                                                 2, MPI_INT, came, nullptr));
    EXPECT_EQ(came[1], previous + 10);
}

TEST_F(SparseExchange, NewArraysOfNothingAreNull) {
    int64_t num_messages = untouched;
    int64_t num_values = untouched;
    int own = 0;
    int64_t own_number = 0;
    int* src = &own;
    int64_t* counts = &own_number;
    int64_t* displacements = &own_number;
    void* values = &own;

    EXPECT_SUCCESS(crossdock_sparse_exchange_v_alloc(
        context, 0, 0, nullptr, nullptr, nullptr, MPI_INT, nullptr, &num_messages, &num_values,
        &src, &counts, &displacements, &values, nullptr));

    EXPECT_EQ(num_messages, 0);
    EXPECT_EQ(num_values, 0);
    EXPECT_EQ(src, nullptr);
    EXPECT_EQ(counts, nullptr);
    EXPECT_EQ(displacements, nullptr);
    EXPECT_EQ(values, nullptr);
}

TEST_F(SparseExchange, NewArraysNeedPointersOnAllRanks) {
    int64_t num_messages = untouched;
    int64_t num_values = untouched;
    int* src = nullptr;
    int64_t* counts = nullptr;
    int64_t* displacements = nullptr;
    void* values = nullptr;
    const char* missing = nullptr;
    const auto unless = [&](const char* name, auto* pointer) {
        return is_last && std::string(name) == missing ? nullptr : pointer;
    };
    for (const char* name : {"recv_nnz", "src", "recvvals"}) {
        missing = name;
        expect_error(
            crossdock_sparse_exchange_alloc(context, 0, nullptr, 1, MPI_INT, nullptr,
                                            unless("recv_nnz", &num_messages), unless("src", &src),
                                            unless("recvvals", &values), nullptr),
            CROSSDOCK_INVALID_ARGUMENT, is_null(name));
    }
    for (const char* name : {"recv_nnz", "recv_size", "src", "recvcounts", "rdispls", "recvvals"}) {
        missing = name;
        expect_error(crossdock_sparse_exchange_v_alloc(
                         context, 0, 0, nullptr, nullptr, nullptr, MPI_INT, nullptr,
                         unless("recv_nnz", &num_messages), unless("recv_size", &num_values),
                         unless("src", &src), unless("recvcounts", &counts),
                         unless("rdispls", &displacements), unless("recvvals", &values), nullptr),
                     CROSSDOCK_INVALID_ARGUMENT, is_null(name));
    }
    EXPECT_EQ(num_messages, untouched);
    EXPECT_EQ(num_values, untouched);
    expect_constant_works();
}

}  // namespace
}  // namespace exchange_c_test

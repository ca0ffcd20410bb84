#include <algorithm>
#include <string>
#include <vector>

#include "c/statuses.hpp"
#include "crossdock/exchange_algorithm.hpp"

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
int64_t length_between(int source, int destination) { return (source + 2 * destination + 1) % 4; }
int64_t value_between(int source, int destination, int64_t k) {
    return 100 * source + 10 * destination + k;
}

/// What messages of the pattern look like, whether sent or received.
struct message_list {
    ranks peers;
    numbers counts;
    numbers displacements;
    numbers values;

    friend bool operator==(const message_list&, const message_list&) = default;

    void add(int peer, int source, int destination, int64_t count) {
        peers.push_back(peer);
        counts.push_back(count);
        displacements.push_back(length(values));
        for (int64_t k = 0; k < count; ++k) values.push_back(value_between(source, destination, k));
    }
};

/// What a rank sends and must get, in messages of one size or of any.
struct exchanged {
    bool is_one_size;
    message_list sent, expected;
};

/// Arrays with room for what comes.
struct room : message_list {
    explicit room(const exchanged& what) : message_list(what.expected) {
        // So that no array is null, whatever a test says of its length.
        peers.reserve(1);
        values.reserve(1);
        for (auto* const array : {&counts, &displacements, &values}) {
            array->reserve(1);
            std::fill(array->begin(), array->end(), untouched);
        }
        std::fill(peers.begin(), peers.end(), static_cast<int>(untouched));
    }

    int64_t num_messages = length(peers);
    int64_t num_values = length(values);
};

/// The arguments of the two functions of C, for a test to spoil.
struct exchange_call {
    bool is_one_size;
    const crossdock_context* context;
    int64_t send_nnz, send_size;
    const int* dest;
    const int64_t *sendcounts, *sdispls;
    const void* sendvals;
    int64_t *recv_nnz, *recv_size;
    int* src;
    int64_t *recvcounts, *rdispls;
    void* recvvals;
    const crossdock_exchange_options* options;
    MPI_Datatype sendtype = MPI_INT64_T, recvtype = MPI_INT64_T;
    int64_t sendcount = message_length, recvcount = message_length;

    crossdock_status operator()() const {
        if (is_one_size)
            return crossdock_sparse_exchange(context, send_nnz, dest, sendcount, sendtype, sendvals,
                                             recv_nnz, src, recvcount, recvtype, recvvals, options);
        return crossdock_sparse_exchange_v(context, send_nnz, send_size, dest, sendcounts, sdispls,
                                           sendtype, sendvals, recv_nnz, recv_size, src, recvcounts,
                                           rdispls, recvtype, recvvals, options);
    }
};

class SparseExchange : public InC {
  protected:
    SparseExchange() : InC(pairs()) {
        for (int other = 0; other < num_ranks; ++other) {
            if (sends(rank, other)) {
                one_size.sent.add(other, rank, other, message_length);
                any_size.sent.add(other, rank, other, length_between(rank, other));
            }
            if (sends(other, rank)) {
                one_size.expected.add(other, other, rank, message_length);
                any_size.expected.add(other, other, rank, length_between(other, rank));
            }
        }
    }

    exchange_call call_of(const exchanged& what, room& into) const {
        const auto& m = what.sent;
        return {what.is_one_size,
                context,
                length(m.peers),
                length(m.values),
                m.peers.data(),
                m.counts.data(),
                m.displacements.data(),
                m.values.data(),
                &into.num_messages,
                &into.num_values,
                into.peers.data(),
                into.counts.data(),
                into.displacements.data(),
                into.values.data(),
                &options};
    }

    void expect_works(const exchanged& what) const {
        room into(what);
        EXPECT_SUCCESS(call_of(what, into)());
        EXPECT_EQ(into.num_messages, length(what.expected.peers));
        EXPECT_EQ(into.num_values, length(what.expected.values));
        EXPECT_EQ(into.peers, what.expected.peers);
        EXPECT_EQ(into.values, what.expected.values);
        if (what.is_one_size) return;
        EXPECT_EQ(into.counts, what.expected.counts);
        EXPECT_EQ(into.displacements, what.expected.displacements);
    }

    /// The call fails on all ranks if the last one spoils its arguments, and works afterwards.
    template <class Spoil>
    void expect_refused(const exchanged& what, const std::string& sentence, Spoil spoil,
                        crossdock_status status = CROSSDOCK_INVALID_ARGUMENT) const {
        room into(what);
        auto call = call_of(what, into);
        if (is_last) spoil(call);
        expect_error(call(), status, sentence);
        EXPECT_TRUE(into == room(what));
        expect_works(what);
    }

    std::string is_null(const char* argument) const {
        return argument + (" of rank " + text(last)) + " is a null pointer";
    }
    std::string is(const char* argument, int64_t value) const {
        return argument + (" of rank " + text(last)) + " is " + text(value);
    }

    crossdock_exchange_options options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
    exchanged one_size{true, {}, {}}, any_size{false, {}, {}};
};

TEST_F(SparseExchange, OptionsHaveDefaults) {
    EXPECT_EQ(options.size, sizeof options);
    EXPECT_EQ(options.algorithm, nullptr);
    EXPECT_EQ(options.order, CROSSDOCK_BY_SOURCE);
    EXPECT_EQ(options.num_sources, -1);
    EXPECT_EQ(options.max_message_bytes, 0);
    EXPECT_EQ(options.max_forwarded_bytes, -1);
    EXPECT_EQ(options.sent, nullptr);
}

TEST(ExchangeAlgorithms, AreListedByIndex) {
    const auto& registered = crossdock::registered_exchange_algorithms();
    const int num_algorithms = given_by(crossdock_num_exchange_algorithms);
    ASSERT_EQ(num_algorithms, std::ssize(registered));
    for (int i = 0; i < num_algorithms; ++i) {
        const auto& one = registered[static_cast<std::size_t>(i)];
        EXPECT_EQ(given_by<const char*>(crossdock_exchange_algorithm_name, i), one.name);
        EXPECT_EQ(given_by<const char*>(crossdock_exchange_algorithm_example, i), one.example);
    }
    const char* text = nullptr;
    EXPECT_EQ(crossdock_exchange_algorithm_name(num_algorithms, &text), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_exchange_algorithm_example(-1, &text), CROSSDOCK_INVALID_ARGUMENT);
    expect_nulls(crossdock_num_exchange_algorithms, {"result"}, nullptr);
    expect_nulls(crossdock_exchange_algorithm_name, {nullptr, "name"}, 0, &text);
    expect_nulls(crossdock_exchange_algorithm_example, {nullptr, "algorithm"}, 0, &text);
}

TEST_F(SparseExchange, TheAlgorithmOfTheOptionsDelivers) {
    for (const char* algorithm : {"auto", "nonblocking", "routed:grid:2"}) {
        options.algorithm = algorithm;
        expect_works(one_size);
        expect_works(any_size);
    }
    options.algorithm = "rma";
    expect_works(one_size);
    room into(any_size);
    EXPECT_EQ(call_of(any_size, into)(), CROSSDOCK_INVALID_ARGUMENT);
}

TEST_F(SparseExchange, TheOptionsMayBeMissing) {
    room into(one_size);
    auto call = call_of(one_size, into);
    call.options = nullptr;

    EXPECT_SUCCESS(call());

    EXPECT_EQ(into.peers, one_size.expected.peers);
    EXPECT_EQ(into.values, one_size.expected.values);
}

TEST_F(SparseExchange, OptionsReachTheExchange) {
    options.algorithm = "personalized";
    options.num_sources = length(one_size.expected.peers);
    options.max_message_bytes = 9;
    expect_works(one_size);
    options.num_sources = length(one_size.expected.peers) + 1;
    room into(one_size);
    expect_error(call_of(one_size, into)(), CROSSDOCK_COUNT_MISMATCH,
                 "the known numbers of sources do not add up to the messages that are sent");
    options = CROSSDOCK_EXCHANGE_OPTIONS_INIT;
    options.algorithm = "routed:grid:2";
    options.max_forwarded_bytes = 0;
    expect_works(one_size);
}

TEST_F(SparseExchange, SaysWhatItSent) {
    crossdock_exchange_traffic sent_here{};
    options.algorithm = "nonblocking";
    options.sent = &sent_here;

    expect_works(one_size);

    const auto num_to = [&](auto&& is_counted) {
        return std::count_if(one_size.sent.peers.begin(), one_size.sent.peers.end(), is_counted);
    };
    const int64_t messages = num_to([&](int to) { return to != rank; });
    const int64_t far = num_to([&](int to) { return to / 2 != rank / 2; });
    EXPECT_EQ(sent_here.messages, messages);
    EXPECT_EQ(sent_here.message_bytes, messages * message_length * 8);
    EXPECT_EQ(sent_here.inter_region_messages, far);
    EXPECT_EQ(sent_here.inter_region_message_bytes, far * message_length * 8);
}

TEST_F(SparseExchange, ArrivesInAnyOrderIfAsked) {
    options.order = CROSSDOCK_ARRIVAL;
    room into(one_size);

    EXPECT_SUCCESS(call_of(one_size, into)());

    for (std::size_t i = 0; i < into.peers.size(); ++i) {
        for (std::size_t k = 0; k < message_length; ++k)
            EXPECT_EQ(into.values[i * message_length + k],
                      value_between(into.peers[i], rank, static_cast<int64_t>(k)));
    }
    std::sort(into.peers.begin(), into.peers.end());
    EXPECT_EQ(into.peers, one_size.expected.peers);
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
    room into(one_size);
    auto call = call_of(one_size, into);
    call.sendcount = call.recvcount = 0;
    call.sendvals = nullptr;
    call.recvvals = nullptr;

    EXPECT_SUCCESS(call());

    EXPECT_EQ(into.num_messages, length(one_size.expected.peers));
    EXPECT_EQ(into.peers, one_size.expected.peers);
}

TEST_F(SparseExchange, WithoutDisplacementsValuesFollowEachOther) {
    room into(any_size);
    auto call = call_of(any_size, into);
    call.sdispls = nullptr;

    EXPECT_SUCCESS(call());

    EXPECT_EQ(into.values, any_size.expected.values);
}

TEST_F(SparseExchange, TooLittleRoomIsToldToAllWithWhatTheyNeed) {
    room into(one_size);
    into.num_messages = is_last ? 0 : length(one_size.expected.peers) + 5;
    into.peers.resize(one_size.expected.peers.size() + 5, static_cast<int>(untouched));
    const int64_t at_last = told_by(last, length(one_size.expected.peers));

    expect_error(call_of(one_size, into)(), CROSSDOCK_SIZE_MISMATCH,
                 text(at_last) + " messages came to rank " + text(last) + ", which has room for 0");

    EXPECT_EQ(into.num_messages, length(one_size.expected.peers));
    into.peers.resize(one_size.expected.peers.size());
    EXPECT_TRUE(into == room(one_size));
    EXPECT_SUCCESS(call_of(one_size, into)());
    EXPECT_EQ(into.peers, one_size.expected.peers);
    EXPECT_EQ(into.values, one_size.expected.values);
}

TEST_F(SparseExchange, TooLittleRoomForValuesIsToldToAll) {
    room into(any_size);
    // Rank 0 gets a value of rank 1.
    const bool lacks = rank == 0 && num_ranks > 1;
    if (lacks) into.num_values -= 1;
    const int64_t at_first = told_by(0, length(any_size.expected.values));

    const auto status = call_of(any_size, into)();

    EXPECT_EQ(into.num_messages, length(any_size.expected.peers));
    EXPECT_EQ(into.num_values, length(any_size.expected.values));
    if (num_ranks > 1) {
        expect_error(
            status, CROSSDOCK_SIZE_MISMATCH,
            text(at_first) + " values came to rank 0, which has room for " + text(at_first - 1));
        EXPECT_TRUE(into == room(any_size));
    }
    EXPECT_SUCCESS(call_of(any_size, into)());
    EXPECT_EQ(into.values, any_size.expected.values);
}

TEST_F(SparseExchange, MoreRoomThanNeededStaysAsItIs) {
    room into(one_size);
    into.num_messages += 1;
    into.peers.push_back(static_cast<int>(untouched));
    into.values.insert(into.values.end(), message_length, untouched);

    EXPECT_SUCCESS(call_of(one_size, into)());

    EXPECT_EQ(into.num_messages, length(one_size.expected.peers));
    EXPECT_EQ(into.peers.back(), untouched);
    EXPECT_EQ(into.values.back(), untouched);
    EXPECT_EQ(into.values[into.values.size() - message_length], untouched);
}

TEST_F(SparseExchange, BadArgumentsOfOneRankAreErrorsOnAll) {
    const ranks nowhere(one_size.sent.peers.size(), num_ranks);
    const numbers negative(one_size.sent.peers.size(), -1);
    const std::string out_of_range = "destination " + text(num_ranks) + " of rank " + text(last) +
                                     " is outside [0, " + text(num_ranks) + ")";
    expect_refused(
        one_size, out_of_range, [&](auto& call) { call.dest = nowhere.data(); },
        CROSSDOCK_RANK_OUT_OF_RANGE);
    expect_refused(one_size, is_null("dest"), [](auto& call) { call.dest = nullptr; });
    expect_refused(one_size, is_null("sendvals"), [](auto& call) { call.sendvals = nullptr; });
    expect_refused(one_size, is("send_nnz", -2), [](auto& call) { call.send_nnz = -2; });
    expect_refused(one_size, is("sendcount", -3), [](auto& call) { call.sendcount = -3; });
    expect_refused(one_size, is("recvcount", -3), [](auto& call) { call.recvcount = -3; });
    expect_refused(one_size, is_null("recv_nnz"), [](auto& call) { call.recv_nnz = nullptr; });
    expect_refused(one_size, is("recv_nnz", -4), [](auto& call) { *call.recv_nnz = -4; });
    expect_refused(one_size, is_null("src"), [](auto& call) {
        *call.recv_nnz = 1;
        call.src = nullptr;
    });
    expect_refused(one_size, is_null("recvvals"), [](auto& call) {
        *call.recv_nnz = 1;
        call.recvvals = nullptr;
    });

    expect_refused(
        any_size, out_of_range, [&](auto& call) { call.dest = nowhere.data(); },
        CROSSDOCK_RANK_OUT_OF_RANGE);
    expect_refused(any_size, is_null("dest"), [](auto& call) { call.dest = nullptr; });
    expect_refused(any_size, is_null("sendcounts"), [](auto& call) { call.sendcounts = nullptr; });
    expect_refused(any_size, is("sendcounts[0]", -1),
                   [&](auto& call) { call.sendcounts = negative.data(); });
    expect_refused(any_size, is("sdispls[0]", -1),
                   [&](auto& call) { call.sdispls = negative.data(); });
    expect_refused(any_size, is("send_nnz", -1), [](auto& call) { call.send_nnz = -1; });
    expect_refused(any_size, is("send_size", -1), [](auto& call) { call.send_size = -1; });
    expect_refused(any_size, is("send_size", 0), [](auto& call) { call.send_size = 0; });
    expect_refused(any_size, is_null("sendvals"), [](auto& call) { call.sendvals = nullptr; });
    expect_refused(any_size, is_null("recv_nnz"), [](auto& call) { call.recv_nnz = nullptr; });
    expect_refused(any_size, is_null("recv_size"), [](auto& call) { call.recv_size = nullptr; });
    expect_refused(any_size, is("recv_size", -9), [](auto& call) { *call.recv_size = -9; });
    const auto with_room = [](auto spoil) {
        return [spoil](exchange_call& call) {
            *call.recv_nnz = 1;
            *call.recv_size = 1;
            spoil(call);
        };
    };
    expect_refused(any_size, is_null("src"), with_room([](auto& call) { call.src = nullptr; }));
    expect_refused(any_size, is_null("recvcounts"),
                   with_room([](auto& call) { call.recvcounts = nullptr; }));
    expect_refused(any_size, is_null("rdispls"),
                   with_room([](auto& call) { call.rdispls = nullptr; }));
    expect_refused(any_size, is_null("recvvals"),
                   with_room([](auto& call) { call.recvvals = nullptr; }));
}

TEST_F(SparseExchange, DatatypesThatAreNoneOrDifferAreErrorsOnAll) {
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    const std::string of_last = " of rank " + text(last), rank_last = "rank " + text(last);
    expect_refused(one_size, "sendtype" + of_last + ": datatype is MPI_DATATYPE_NULL",
                   [](auto& call) { call.sendtype = MPI_DATATYPE_NULL; });
    expect_refused(any_size, "recvtype" + of_last + ": datatype is MPI_DATATYPE_NULL",
                   [](auto& call) { call.recvtype = MPI_DATATYPE_NULL; });
    expect_refused(one_size, "sendtype" + of_last + ": the datatype has 0 bytes",
                   [&](auto& call) { call.sendtype = empty; });
    const auto differs = CROSSDOCK_COUNT_MISMATCH;
    expect_refused(
        any_size, rank_last + " sends 8 bytes per value, but receives 1",
        [](auto& call) { call.recvtype = MPI_CHAR; }, differs);
    expect_refused(
        one_size, rank_last + " sends 2 values per message, but receives 5",
        [](auto& call) { call.recvcount = 5; }, differs);
    if (num_ranks > 1) {
        expect_refused(
            any_size, rank_last + " sends any number of values of 4 bytes",
            [](auto& call) { call.sendtype = call.recvtype = MPI_INT32_T; }, differs);
    }
    MPI_Type_free(&empty);
}

TEST_F(SparseExchange, OptionsThatAreNoneAreErrors) {
    crossdock_exchange_options unordered = options, without_size = options;
    unordered.order = 7;
    without_size.size = 0;
    expect_refused(one_size, "there is no order 7, which rank " + text(last) + " asks for",
                   [&](auto& call) { call.options = &unordered; });
    expect_refused(
        one_size,
        "rank " + text(last) + ": options say that they have 0 bytes; begin with their initialiser",
        [&](auto& call) { call.options = &without_size; });
    options.algorithm = "homing_pigeon";
    room into(one_size);
    EXPECT_EQ(call_of(one_size, into)(), CROSSDOCK_INVALID_ARGUMENT);
    auto call = call_of(one_size, into);
    call.context = nullptr;
    expect_error(call(), CROSSDOCK_INVALID_ARGUMENT, "context is a null pointer");
    EXPECT_TRUE(into == room(one_size));
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
    const auto& m = any_size.sent;

    ASSERT_SUCCESS(crossdock_sparse_exchange_v_alloc(
        context, length(m.peers), length(m.values), m.peers.data(), m.counts.data(), nullptr,
        MPI_INT64_T, m.values.data(), &num_messages, &num_values, &src, &counts, &displacements,
        &values, &options));

    const auto& e = any_size.expected;
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
    for (const std::string missing :
         {"recv_nnz", "src", "recvvals", "recv_size", "recvcounts", "rdispls"}) {
        const auto unless = [&](const char* name, auto* pointer) {
            return is_last && missing == name ? nullptr : pointer;
        };
        auto* const nnz = unless("recv_nnz", &num_messages);
        auto** const sources = unless("src", &src);
        auto** const vals = unless("recvvals", &values);
        expect_error(crossdock_sparse_exchange_v_alloc(
                         context, 0, 0, nullptr, nullptr, nullptr, MPI_INT, nullptr, nnz,
                         unless("recv_size", &num_values), sources, unless("recvcounts", &counts),
                         unless("rdispls", &displacements), vals, nullptr),
                     CROSSDOCK_INVALID_ARGUMENT, is_null(missing.c_str()));
        if (!missing.starts_with("recv_n") && missing != "src" && missing != "recvvals") continue;
        expect_error(crossdock_sparse_exchange_alloc(context, 0, nullptr, 1, MPI_INT, nullptr, nnz,
                                                     sources, vals, nullptr),
                     CROSSDOCK_INVALID_ARGUMENT, is_null(missing.c_str()));
    }
    EXPECT_EQ(num_messages, untouched);
    EXPECT_EQ(num_values, untouched);
    expect_works(one_size);
}

}  // namespace
}  // namespace exchange_c_test

// Errors of C call the error handler of the user's communicator.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "c/errors_return.hpp"
#include "crossdock/crossdock.h"

namespace crossdock::error_handlers_test {

struct call {
    MPI_Comm comm;
    int code;
    std::string sentence;
};
std::vector<call> calls;

std::string text_of(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return {text.data(), static_cast<std::size_t>(length)};
}

void note(MPI_Comm* comm, int* code, ...) { calls.push_back({*comm, *code, text_of(*code)}); }

class ErrorHandlers : public testing::Test {
  protected:
    void SetUp() override {
        calls.clear();
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        MPI_Comm_create_errhandler(note, &noting);
        MPI_Comm_dup(MPI_COMM_WORLD, &user);
        MPI_Comm_set_errhandler(user, noting);
        ASSERT_EQ(crossdock_context_create(user, nullptr, &world), CROSSDOCK_SUCCESS);
    }
    void TearDown() override {
        crossdock_context_close(world);
        crossdock_context_free(world);
        if (user != MPI_COMM_NULL) MPI_Comm_free(&user);
        MPI_Errhandler_free(&noting);
    }

    // A rank alone makes it.
    crossdock_status fail() { return crossdock_context_with_topology(world, nullptr, &other); }

    const std::string sentence =
        "crossdock: topology is a null pointer: it was never created, or is freed";
    int rank = 0, num_ranks = 1;
    MPI_Errhandler noting = MPI_ERRHANDLER_NULL;
    MPI_Comm user = MPI_COMM_NULL;
    crossdock_context* world = nullptr;
    crossdock_context* other = nullptr;
};

TEST_F(ErrorHandlers, GetTheCommunicatorOfTheUserAndACode) {
    EXPECT_EQ(fail(), CROSSDOCK_INVALID_ARGUMENT);

    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].comm, user);
    EXPECT_EQ(calls[0].sentence, sentence);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(calls[0].code, &error_class);
    EXPECT_EQ(error_class, MPI_ERR_OTHER);
    EXPECT_EQ(crossdock_last_error(), sentence.substr(11));
}

TEST_F(ErrorHandlers, AreCalledOnTheRankThatFails) {
    if (rank == num_ranks - 1) fail();

    EXPECT_EQ(calls.size(), rank == num_ranks - 1 ? 1U : 0U);
}

TEST_F(ErrorHandlers, AreCalledOnAllRanksForACollectiveCall) {
    crossdock_pattern* pattern = nullptr;
    const std::int64_t none = 100;
    const auto status =
        crossdock_pattern_from_needed_range(world, rank, 1, rank == 0 ? 1 : 0, &none, &pattern);

    EXPECT_EQ(status, CROSSDOCK_INDEX_OUT_OF_RANGE);
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].sentence, "crossdock: " + std::string(crossdock_last_error()));
}

TEST_F(ErrorHandlers, GetOneCodeForEachStatus) {
    fail();
    crossdock_topology* topology = nullptr;
    crossdock_topology_discover(world, 17, &topology);

    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].code, calls[1].code);
    EXPECT_EQ(calls[1].sentence, "crossdock: there is no locality 17");
}

TEST_F(ErrorHandlers, OfTheTimeOfTheErrorAreCalled) {
    MPI_Comm_set_errhandler(user, MPI_ERRORS_RETURN);
    EXPECT_EQ(fail(), CROSSDOCK_INVALID_ARGUMENT);

    EXPECT_TRUE(calls.empty());
}

TEST_F(ErrorHandlers, OutliveTheirCommunicator) {
    MPI_Comm_free(&user);
    EXPECT_EQ(fail(), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(fail(), CROSSDOCK_INVALID_ARGUMENT);

    ASSERT_EQ(calls.size(), 2U);
    int size = 0;
    MPI_Comm_size(calls[1].comm, &size);  // the library's duplicate
    EXPECT_EQ(size, num_ranks);
    EXPECT_EQ(calls[1].sentence, sentence);
}

TEST_F(ErrorHandlers, OutliveTheirCommunicatorAndTheContext) {
    crossdock_context_close(world);
    MPI_Comm_free(&user);
    EXPECT_EQ(fail(), CROSSDOCK_INVALID_ARGUMENT);

    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].comm, MPI_COMM_SELF);
    MPI_Errhandler of_self = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &of_self);
    EXPECT_EQ(of_self, MPI_ERRORS_RETURN);
}

TEST_F(ErrorHandlers, AreOneForAllThatIsMadeWithAContext) {
    crossdock_pattern* pattern = nullptr;
    crossdock_neighbor_exchange* halo = nullptr;
    crossdock_gather_scatter* shared = nullptr;
    crossdock_distributed_array* array = nullptr;
    crossdock_prepared_batch* batch = nullptr;
    crossdock_stream* stream = nullptr;
    crossdock_stream_port* port = nullptr;
    const auto handler = [](void*, crossdock_stream_port*, const void*, std::int64_t) { return 0; };
    crossdock_pattern_from_needed_range(world, rank, 1, 0, nullptr, &pattern);
    crossdock_neighbor_exchange_create(world, pattern, nullptr, &halo);
    crossdock_gather_scatter_create(world, 0, nullptr, nullptr, &shared);
    crossdock_distributed_array_create(world, num_ranks, MPI_INT, nullptr, &array);
    crossdock_distributed_array_prepare(array, 0, nullptr, &batch);
    crossdock_stream_create(world, 8, handler, nullptr, nullptr, &stream);
    crossdock_stream_get_port(stream, 0, &port);
    ASSERT_TRUE(calls.empty());

    crossdock_neighbor_exchange_wait(halo);
    crossdock_gather_scatter_wait(shared);
    crossdock_distributed_array_size(array, nullptr);
    crossdock_prepared_batch_plan(batch, nullptr);
    crossdock_stream_scheme(stream, nullptr);
    crossdock_stream_port_push(port, num_ranks, 0, "8 bytes");
    std::int64_t num_messages = -1, num_values = 0;
    crossdock_sparse_exchange_v(world, 0, 0, nullptr, nullptr, nullptr, MPI_INT, nullptr,
                                &num_messages, &num_values, nullptr, nullptr, nullptr, MPI_INT,
                                nullptr, nullptr);

    EXPECT_EQ(calls.size(), 7U);
    for (const auto& one : calls) EXPECT_EQ(one.comm, user) << one.sentence;
    crossdock_stream_close(stream);
    crossdock_stream_free(stream);
    crossdock_prepared_batch_free(batch);
    crossdock_distributed_array_close(array);
    crossdock_distributed_array_free(array);
    crossdock_gather_scatter_free(shared);
    crossdock_neighbor_exchange_free(halo);
    crossdock_pattern_free(pattern);
}

// Rank 1 gives a null pointer, the others what is right.
TEST_F(ErrorHandlers, AreCalledOnRanksThatNeedWhatAFaultyStartLacks) {
    if (num_ranks == 1) return;
    const std::int64_t id = 7, needed = (rank + 1) % num_ranks;
    crossdock_pattern* pattern = nullptr;
    crossdock_neighbor_exchange* halo = nullptr;
    crossdock_gather_scatter* shared = nullptr;
    crossdock_distributed_array* array = nullptr;
    crossdock_prepared_batch* batch = nullptr;
    crossdock_pattern_from_needed_range(world, rank, 1, 1, &needed, &pattern);
    crossdock_neighbor_exchange_create(world, pattern, nullptr, &halo);
    crossdock_gather_scatter_create(world, 1, &id, nullptr, &shared);
    crossdock_distributed_array_create(world, num_ranks, MPI_DOUBLE, nullptr, &array);
    crossdock_distributed_array_prepare(array, 1, &needed, &batch);
    // Who needs something of rank 1: an item, a slot that comes home, or a value of an id.
    const bool takes_of_1 = needed == 1, takes_back_of_1 = rank == 2 % num_ranks, all = true;
    const auto expect_peers_to_learn = [&](bool depends, auto&& exchange) {
        calls.clear();
        const auto status = exchange(rank == 1);
        const auto expected = rank == 1 ? CROSSDOCK_INVALID_ARGUMENT
                              : depends ? CROSSDOCK_PEER_FAILED
                                        : CROSSDOCK_SUCCESS;
        EXPECT_EQ(status, expected) << crossdock_last_error();
        EXPECT_EQ(calls.size(), expected == CROSSDOCK_SUCCESS ? 0U : 1U);
        EXPECT_EQ(exchange(false), CROSSDOCK_SUCCESS) << crossdock_last_error();
    };
    double item = rank + 0.5, slot = 0, sum = 0;
    const auto expect_told = [&](rank_t failed, const std::string& reason) {
        char* text = nullptr;
        int told = -2;
        EXPECT_EQ(crossdock_context_last_peer_error(world, &told, &text), CROSSDOCK_SUCCESS);
        EXPECT_EQ(told, failed);
        EXPECT_EQ(text, reason);
        crossdock_free(text);
    };

    expect_told(-1, "");
    expect_peers_to_learn(takes_of_1, [&](bool is_faulty) {
        slot = 0;
        return crossdock_neighbor_exchange_forward(halo, is_faulty ? nullptr : &item, &slot,
                                                   MPI_DOUBLE);
    });
    EXPECT_EQ(slot, static_cast<double>(needed) + 0.5);
    EXPECT_EQ(crossdock_neighbor_exchange_prepare(halo, 8), CROSSDOCK_SUCCESS);
    expect_told(1, "items is a null pointer, but the pattern needs 1 of them");
    expect_peers_to_learn(takes_back_of_1, [&](bool is_faulty) {
        slot = rank;
        sum = 0;
        return crossdock_neighbor_exchange_reverse(halo, is_faulty ? nullptr : &slot, &sum,
                                                   MPI_DOUBLE, MPI_SUM);
    });
    EXPECT_EQ(sum, (rank + num_ranks - 1) % num_ranks);
    for (int mistake = 0; mistake < 3; ++mistake) {
        expect_peers_to_learn(all, [&](bool is_faulty) {
            sum = rank;
            return crossdock_gather_scatter_combine(
                shared, is_faulty && mistake == 0 ? nullptr : &sum,
                is_faulty && mistake == 1 ? 0 : 1,
                is_faulty && mistake == 2 ? MPI_DATATYPE_NULL : MPI_DOUBLE, MPI_SUM, 0);
        });
        EXPECT_EQ(sum, num_ranks * (num_ranks - 1) / 2);
    }
    for (int twice = 0; twice < 2; ++twice)
        expect_peers_to_learn(takes_of_1, [&](bool is_faulty) {
            return crossdock_prepared_batch_read(batch, is_faulty ? nullptr : &slot);
        });

    crossdock_prepared_batch_free(batch);
    EXPECT_EQ(crossdock_distributed_array_close(array), CROSSDOCK_SUCCESS);
    crossdock_distributed_array_free(array);
    crossdock_gather_scatter_free(shared);
    crossdock_neighbor_exchange_free(halo);
    crossdock_pattern_free(pattern);
}

TEST_F(ErrorHandlers, OfSelfAreCalledWithoutAContext) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, noting);
    int number = 0;
    EXPECT_EQ(crossdock_topology_num_ranks(nullptr, &number), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_neighbor_exchange_wait(nullptr), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_context_create(MPI_COMM_NULL, nullptr, &other), CROSSDOCK_INVALID_ARGUMENT);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    ASSERT_EQ(calls.size(), 3U);
    for (const auto& one : calls) EXPECT_EQ(one.comm, MPI_COMM_SELF);
    EXPECT_EQ(calls[1].sentence,
              "crossdock: exchange is a null pointer: it was never created, or is freed");
}

TEST_F(ErrorHandlers, AreLeftOutByALibraryThatReportsErrorsItself) {
    crossdock_distributed_array* array = nullptr;
    const int64_t index = 1;
    int value = 7;
    ASSERT_EQ(crossdock_distributed_array_create(world, 2, MPI_INT, nullptr, &array),
              CROSSDOCK_SUCCESS);

    EXPECT_EQ(crossdock_call_error_handlers(0), 1);
    if (rank == num_ranks - 1) {
        crossdock_fail_next(CROSSDOCK_SIZE_MISMATCH, "too short");
        crossdock_fail_next(CROSSDOCK_PARSE_ERROR, "the second error");
    }
    EXPECT_EQ(crossdock_distributed_array_read(array, 1, &index, &value), CROSSDOCK_SIZE_MISMATCH);
    EXPECT_STREQ(crossdock_last_error(), "too short");
    EXPECT_EQ(crossdock_last_error_class(), MPI_ERR_TRUNCATE);
    EXPECT_EQ(value, 7);
    EXPECT_EQ(crossdock_fail(CROSSDOCK_RANK_OUT_OF_RANGE, "no such rank"),
              CROSSDOCK_RANK_OUT_OF_RANGE);
    EXPECT_EQ(crossdock_last_error_class(), MPI_ERR_RANK);
    EXPECT_EQ(crossdock_fail(CROSSDOCK_RANK_OUT_OF_RANGE, nullptr), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_call_error_handlers(1), 0);

    EXPECT_EQ(crossdock_distributed_array_read(array, 1, &index, &value), CROSSDOCK_SUCCESS);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(calls.size(), 0U);
    crossdock_distributed_array_close(array);
    crossdock_distributed_array_free(array);
}

TEST_F(ErrorHandlers, AreCalledWhereAContextCannotBeMade) {
    crossdock_context_options options = CROSSDOCK_CONTEXT_OPTIONS_INIT;
    options.topology = "nonsense";
    EXPECT_EQ(crossdock_context_create(user, &options, &other), CROSSDOCK_INVALID_TOPOLOGY);

    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].comm, user);
}

}  // namespace crossdock::error_handlers_test

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "c/statuses.hpp"

namespace crossdock_c_gather_test {
namespace {

using namespace crossdock_c_test;

// Every rank has one point of its own, shares one with the next rank, and all share the last.
class GatherScatterInC : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, nullptr, &world));
        ids = {1000 + rank, 1 + rank, 1 + (rank + 1) % num_ranks, 0, 500};
        ASSERT_SUCCESS(make(nullptr, &shared));
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_gather_scatter_free(shared));
        EXPECT_SUCCESS(crossdock_context_close(world));
        EXPECT_SUCCESS(crossdock_context_free(world));
    }

    crossdock_status make(const crossdock_gather_options* options,
                          crossdock_gather_scatter** result) const {
        return crossdock_gather_scatter_create(world, static_cast<int64_t>(ids.size()), ids.data(),
                                               options, result);
    }

    template <class T>
    std::vector<T> values() const {
        return {T(7), static_cast<T>(rank + 1), static_cast<T>(rank + 2), T(9),
                static_cast<T>(rank)};
    }

    // With each value of rank r the other copy is of the rank before or after.
    template <class T>
    std::vector<T> sums() const {
        const int previous = (rank + num_ranks - 1) % num_ranks;
        const int next = (rank + 1) % num_ranks;
        return {T(7), static_cast<T>(rank + previous + 3), static_cast<T>(rank + next + 3), T(9),
                static_cast<T>(num_ranks * (num_ranks - 1) / 2)};
    }

    int rank = 0;
    int num_ranks = 1;
    std::vector<int64_t> ids;
    crossdock_context* world = nullptr;
    crossdock_gather_scatter* shared = nullptr;
};

TEST_F(GatherScatterInC, NumbersOfAnyTypeAreSummed) {
    auto doubles = values<double>();
    EXPECT_SUCCESS(
        crossdock_gather_scatter_combine(shared, doubles.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    EXPECT_EQ(doubles, sums<double>());
    auto shorts = values<std::int16_t>();
    EXPECT_SUCCESS(
        crossdock_gather_scatter_combine(shared, shorts.data(), 1, MPI_INT16_T, MPI_SUM, 0));
    EXPECT_EQ(shorts, sums<std::int16_t>());
    // A type that the library leaves to MPI.
    auto complexes = values<std::complex<double>>();
    EXPECT_SUCCESS(crossdock_gather_scatter_combine(shared, complexes.data(), 1,
                                                    MPI_C_DOUBLE_COMPLEX, MPI_SUM, 0));
    EXPECT_EQ(complexes, sums<std::complex<double>>());
}

TEST_F(GatherScatterInC, OperationsAreThoseOfMpi) {
    auto least = values<std::int64_t>();
    auto greatest = least;
    auto bits = least;
    EXPECT_SUCCESS(
        crossdock_gather_scatter_combine(shared, least.data(), 1, MPI_INT64_T, MPI_MIN, 0));
    EXPECT_SUCCESS(
        crossdock_gather_scatter_combine(shared, greatest.data(), 1, MPI_INT64_T, MPI_MAX, 0));
    EXPECT_SUCCESS(
        crossdock_gather_scatter_combine(shared, bits.data(), 1, MPI_INT64_T, MPI_BXOR, 0));
    EXPECT_EQ(least[4], 0);
    EXPECT_EQ(greatest[4], num_ranks - 1);
    std::int64_t expected = 0;
    for (int r = 0; r < num_ranks; ++r) expected ^= r;
    EXPECT_EQ(bits[4], expected);
}

TEST_F(GatherScatterInC, SeveralValuesAndFieldsTravelTogether) {
    const auto one = values<double>();
    std::vector<double> pairs, other_pairs, expected, other_expected;
    for (std::size_t i = 0; i < one.size(); ++i) {
        pairs.insert(pairs.end(), {one[i], 10 * one[i]});
        other_pairs.insert(other_pairs.end(), {-one[i], 3 * one[i]});
        expected.insert(expected.end(), {sums<double>()[i], 10 * sums<double>()[i]});
        other_expected.insert(other_expected.end(), {-sums<double>()[i], 3 * sums<double>()[i]});
    }
    const std::array<void*, 2> fields{pairs.data(), other_pairs.data()};
    EXPECT_SUCCESS(crossdock_gather_scatter_combine_fields(shared, 2, fields.data(), 2, MPI_DOUBLE,
                                                           MPI_SUM, 0));
    EXPECT_EQ(pairs, expected);
    EXPECT_EQ(other_pairs, other_expected);
}

struct spaced_number {
    int value;
    int gap;
    friend bool operator==(const spaced_number&, const spaced_number&) = default;
};

void add_spaced(void* from, void* to, int* length, MPI_Datatype*) {
    for (int k = 0; k < *length; ++k)
        static_cast<spaced_number*>(to)[k].value += static_cast<spaced_number*>(from)[k].value;
}

TEST_F(GatherScatterInC, ValuesTravelWithTheirGaps) {
    crossdock_gather_options options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.method = "owners";
    crossdock_gather_scatter* by_owners = nullptr;
    ASSERT_SUCCESS(make(&options, &by_owners));
    MPI_Datatype spaced = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, sizeof(spaced_number), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op addition = MPI_OP_NULL;
    MPI_Op_create(add_spaced, 1, &addition);
    for (const std::size_t per_id : {1U, 3U}) {
        std::vector<spaced_number> numbers;
        for (const int value : values<int>())
            numbers.insert(numbers.end(), per_id, {value, 100 + rank});

        EXPECT_SUCCESS(crossdock_gather_scatter_combine(
            by_owners, numbers.data(), static_cast<int64_t>(per_id), spaced, addition, 0));

        // The lowest rank that has an id owns it.
        const int previous = (rank + num_ranks - 1) % num_ranks;
        const int next = (rank + 1) % num_ranks;
        const std::array owners{rank, std::min(rank, previous), std::min(rank, next), rank, 0};
        std::vector<spaced_number> expected;
        for (std::size_t i = 0; i < owners.size(); ++i)
            expected.insert(expected.end(), per_id, {sums<int>()[i], 100 + owners[i]});
        EXPECT_EQ(numbers, expected);
    }
    MPI_Op_free(&addition);
    MPI_Type_free(&spaced);
    EXPECT_SUCCESS(crossdock_gather_scatter_free(by_owners));
}

TEST_F(GatherScatterInC, TestingCompletesAnOperationBesideAnother) {
    crossdock_gather_scatter* twin = nullptr;
    ASSERT_SUCCESS(crossdock_gather_scatter_duplicate(shared, &twin));
    auto first = values<double>(), second = values<double>();
    EXPECT_SUCCESS(crossdock_gather_scatter_start(shared, first.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    EXPECT_SUCCESS(crossdock_gather_scatter_start(twin, second.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    int is_complete = 0;
    while (is_complete == 0) ASSERT_SUCCESS(crossdock_gather_scatter_test(twin, &is_complete));
    EXPECT_EQ(second, sums<double>());
    EXPECT_SUCCESS(crossdock_gather_scatter_wait(shared));
    EXPECT_EQ(first, sums<double>());
    EXPECT_SUCCESS(crossdock_gather_scatter_free(twin));
}

TEST_F(GatherScatterInC, OneCopyStaysUnflagged) {
    auto flagged = ids;
    EXPECT_SUCCESS(
        crossdock_flag_duplicates(world, static_cast<int64_t>(flagged.size()), flagged.data()));
    EXPECT_EQ(flagged[4], rank == 0 ? 500 : -500);

    // One copy gives its value to all; transposed it gets the sum.
    crossdock_gather_options options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.unique = 1;
    options.route = "hypercube";
    crossdock_gather_scatter* copied = nullptr;
    ASSERT_SUCCESS(make(&options, &copied));
    auto given = values<double>(), transposed = given;
    EXPECT_SUCCESS(
        crossdock_gather_scatter_combine(copied, given.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    EXPECT_EQ(given[4], 0);
    EXPECT_SUCCESS(
        crossdock_gather_scatter_combine(copied, transposed.data(), 1, MPI_DOUBLE, MPI_SUM, 1));
    EXPECT_EQ(transposed[4], rank == 0 ? sums<double>()[4] : rank);
    EXPECT_SUCCESS(crossdock_gather_scatter_free(copied));
}

TEST_F(GatherScatterInC, ItSaysWhatItDoes) {
    char* text = nullptr;
    ASSERT_SUCCESS(crossdock_gather_scatter_explain(shared, &text));
    EXPECT_NE(std::string(text).find("owners direct"), std::string::npos) << text;
    EXPECT_SUCCESS(crossdock_free(text));
    int64_t num_ids = -1;
    EXPECT_SUCCESS(crossdock_gather_scatter_num_ids(shared, &num_ids));
    EXPECT_EQ(num_ids, static_cast<int64_t>(ids.size()));
    int num_tried = -1, is_trying = -1;
    double seconds = 0;
    EXPECT_SUCCESS(crossdock_gather_scatter_num_tried_routes(shared, &num_tried, &is_trying));
    EXPECT_EQ(num_tried, 0);
    EXPECT_EQ(is_trying, 0);
    EXPECT_EQ(crossdock_gather_scatter_tried_route(shared, 0, &text, &seconds),
              CROSSDOCK_INVALID_ARGUMENT);
    int is_active = -1;
    auto own = values<double>();
    EXPECT_SUCCESS(crossdock_gather_scatter_start(shared, own.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    EXPECT_SUCCESS(crossdock_gather_scatter_is_active(shared, &is_active));
    EXPECT_EQ(is_active, 1);
    EXPECT_SUCCESS(crossdock_gather_scatter_wait(shared));
    EXPECT_SUCCESS(crossdock_gather_scatter_is_active(shared, &is_active));
    EXPECT_EQ(is_active, 0);
    crossdock_gather_options options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.method = "holders";
    options.route = "direct";
    crossdock_gather_scatter* by_holders = nullptr;
    if (num_ranks <= 16) {
        ASSERT_SUCCESS(make(&options, &by_holders));
        ASSERT_SUCCESS(crossdock_gather_scatter_method(by_holders, &text));
        EXPECT_STREQ(text, "holders");
        EXPECT_SUCCESS(crossdock_free(text));
        ASSERT_SUCCESS(crossdock_gather_scatter_route(by_holders, &text));
        EXPECT_STREQ(text, "direct");
        EXPECT_SUCCESS(crossdock_free(text));
        crossdock_traffic sent{};
        EXPECT_SUCCESS(crossdock_gather_scatter_statistics(by_holders, &sent));
        EXPECT_EQ(sent.messages, num_ranks - 1);
        EXPECT_SUCCESS(crossdock_gather_scatter_free(by_holders));
    }
}

TEST_F(GatherScatterInC, WrongCallsAreRefused) {
    crossdock_gather_options options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.method = "masters";
    crossdock_gather_scatter* none = nullptr;
    EXPECT_EQ(make(&options, &none), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(
        crossdock_gather_scatter_create(world, 3, rank == 0 ? nullptr : ids.data(), nullptr, &none),
        CROSSDOCK_INVALID_ARGUMENT);
    auto bad = ids;
    bad[0] = rank == 0 ? std::numeric_limits<int64_t>::min() : 1;
    EXPECT_EQ(crossdock_flag_duplicates(world, 1, bad.data()), CROSSDOCK_INDEX_OUT_OF_RANGE);

    auto own = values<double>();
    EXPECT_EQ(crossdock_gather_scatter_wait(shared), CROSSDOCK_INVALID_STATE);
    EXPECT_EQ(crossdock_gather_scatter_start(shared, own.data(), 0, MPI_DOUBLE, MPI_SUM, 0),
              CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_gather_scatter_start(shared, nullptr, 1, MPI_DOUBLE, MPI_SUM, 0),
              CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_gather_scatter_start(shared, own.data(), 1, MPI_DOUBLE, MPI_OP_NULL, 0),
              CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_gather_scatter_start_fields(shared, 0, nullptr, 1, MPI_DOUBLE, MPI_SUM, 0),
              CROSSDOCK_INVALID_ARGUMENT);
    const int64_t too_many = int64_t{1} << 31;
    EXPECT_EQ(crossdock_gather_scatter_start(shared, own.data(), too_many, MPI_C_DOUBLE_COMPLEX,
                                             MPI_SUM, 0),
              CROSSDOCK_COUNT_OVERFLOW);
    EXPECT_EQ(crossdock_gather_scatter_free(nullptr), CROSSDOCK_SUCCESS);
}

}  // namespace
}  // namespace crossdock_c_gather_test

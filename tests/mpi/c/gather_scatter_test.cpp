#include <algorithm>
#include <array>
#include <cmath>
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
class GatherScatterInC : public InC {
  protected:
    void SetUp() override {
        InC::SetUp();
        ids = {1000 + rank, 1 + rank, 1 + next, 0, 500};
        ASSERT_SUCCESS(make(nullptr, &shared));
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_gather_scatter_free(shared));
        InC::TearDown();
    }

    crossdock_status make(const crossdock_gather_options* options,
                          crossdock_gather_scatter** result) const {
        return crossdock_gather_scatter_create(context, static_cast<int64_t>(ids.size()),
                                               ids.data(), options, result);
    }

    owned<crossdock_gather_scatter> make(const crossdock_gather_options& options) const {
        return made<crossdock_gather_scatter>(crossdock_gather_scatter_create, context, length(ids),
                                              ids.data(), &options);
    }

    template <class T>
    std::vector<T> values() const {
        return {T(7), static_cast<T>(rank + 1), static_cast<T>(rank + 2), T(9),
                static_cast<T>(rank)};
    }

    // With each value of rank r the other copy is of the rank before or after.
    template <class T>
    std::vector<T> sums() const {
        return {T(7), static_cast<T>(rank + previous + 3), static_cast<T>(rank + next + 3), T(9),
                static_cast<T>(num_ranks * (num_ranks - 1) / 2)};
    }

    /// Combines by all ranks; `values` has what came of it.
    template <class T>
    void combine(crossdock_gather_scatter* by, std::vector<T>& values, MPI_Datatype type,
                 MPI_Op operation = MPI_SUM, bool transposed = false) const {
        EXPECT_SUCCESS(crossdock_gather_scatter_combine(by, values.data(), 1, type, operation,
                                                        transposed ? 1 : 0));
    }

    numbers ids;
    crossdock_gather_scatter* shared = nullptr;
};

TEST_F(GatherScatterInC, NumbersOfAnyTypeAreSummed) {
    auto doubles = values<double>();
    combine(shared, doubles, MPI_DOUBLE);
    EXPECT_EQ(doubles, sums<double>());
    auto shorts = values<std::int16_t>();
    combine(shared, shorts, MPI_INT16_T);
    EXPECT_EQ(shorts, sums<std::int16_t>());
    // A type that the library leaves to MPI.
    auto complexes = values<std::complex<double>>();
    combine(shared, complexes, MPI_C_DOUBLE_COMPLEX);
    EXPECT_EQ(complexes, sums<std::complex<double>>());
}

TEST_F(GatherScatterInC, OperationsAreThoseOfMpi) {
    auto least = values<std::int64_t>(), greatest = least, bits = least;
    combine(shared, least, MPI_INT64_T, MPI_MIN);
    combine(shared, greatest, MPI_INT64_T, MPI_MAX);
    combine(shared, bits, MPI_INT64_T, MPI_BXOR);
    EXPECT_EQ(least[4], 0);
    EXPECT_EQ(greatest[4], last);
    std::int64_t expected = 0;
    for (int r = 0; r < num_ranks; ++r) expected ^= r;
    EXPECT_EQ(bits[4], expected);
}

TEST_F(GatherScatterInC, MinimaAndMaximaOfANanAreOne) {
    for (const MPI_Op operation : {MPI_MIN, MPI_MAX}) {
        auto doubles = values<double>();
        if (rank == 0) doubles[4] = std::numeric_limits<double>::quiet_NaN();
        combine(shared, doubles, MPI_DOUBLE, operation);
        EXPECT_TRUE(std::isnan(doubles[4]));
        EXPECT_EQ(doubles[0], 7);
    }
}

TEST_F(GatherScatterInC, AnActiveOneIsNotFreed) {
    auto doubles = values<double>();
    EXPECT_SUCCESS(
        crossdock_gather_scatter_start(shared, doubles.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    EXPECT_EQ(crossdock_gather_scatter_free(shared), CROSSDOCK_INVALID_STATE);
    EXPECT_SUCCESS(crossdock_gather_scatter_wait(shared));
    EXPECT_EQ(doubles, sums<double>());
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
    const auto by_owners = make(options);
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
        const std::array owners{rank, std::min(rank, previous), std::min(rank, next), rank, 0};
        std::vector<spaced_number> expected;
        for (std::size_t i = 0; i < owners.size(); ++i)
            expected.insert(expected.end(), per_id, {sums<int>()[i], 100 + owners[i]});
        EXPECT_EQ(numbers, expected);
    }
    MPI_Op_free(&addition);
    MPI_Type_free(&spaced);
}

TEST_F(GatherScatterInC, TestingCompletesAnOperationBesideAnother) {
    const auto twin = made<crossdock_gather_scatter>(crossdock_gather_scatter_duplicate, shared);
    auto first = values<double>(), second = first;
    EXPECT_SUCCESS(crossdock_gather_scatter_start(shared, first.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    EXPECT_EQ(given_by(crossdock_gather_scatter_is_active, shared), 1);
    EXPECT_SUCCESS(crossdock_gather_scatter_start(twin, second.data(), 1, MPI_DOUBLE, MPI_SUM, 0));
    while (given_by(crossdock_gather_scatter_test, twin) == 0) {
    }
    EXPECT_EQ(second, sums<double>());
    EXPECT_SUCCESS(crossdock_gather_scatter_wait(shared));
    EXPECT_EQ(given_by(crossdock_gather_scatter_is_active, shared), 0);
    EXPECT_EQ(first, sums<double>());
}

TEST_F(GatherScatterInC, OneCopyStaysUnflagged) {
    auto flagged = ids;
    EXPECT_SUCCESS(crossdock_flag_duplicates(context, length(flagged), flagged.data()));
    EXPECT_EQ(flagged[4], rank == 0 ? 500 : -500);

    // One copy gives its value to all; transposed it gets the sum.
    crossdock_gather_options options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.unique = 1;
    options.route = "hypercube";
    const auto copied = make(options);
    auto given = values<double>(), transposed = given;
    combine(copied, given, MPI_DOUBLE);
    EXPECT_EQ(given[4], 0);
    combine(copied, transposed, MPI_DOUBLE, MPI_SUM, true);
    EXPECT_EQ(transposed[4], rank == 0 ? sums<double>()[4] : rank);
}

TEST_F(GatherScatterInC, ItSaysWhatItDoes) {
    EXPECT_NE(text_by(crossdock_gather_scatter_explain, shared).find("owners direct"),
              std::string::npos);
    EXPECT_EQ(given_by<int64_t>(crossdock_gather_scatter_num_ids, shared), length(ids));
    int num_tried = -1, is_trying = -1;
    char* text = nullptr;
    double seconds = 0;
    EXPECT_SUCCESS(crossdock_gather_scatter_num_tried_routes(shared, &num_tried, &is_trying));
    EXPECT_EQ(num_tried, 0);
    EXPECT_EQ(is_trying, 0);
    EXPECT_EQ(crossdock_gather_scatter_tried_route(shared, 0, &text, &seconds),
              CROSSDOCK_INVALID_ARGUMENT);
    if (num_ranks > 16) return;
    crossdock_gather_options options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.method = "holders";
    options.route = "direct";
    const auto by_holders = make(options);
    EXPECT_EQ(text_by(crossdock_gather_scatter_method, by_holders), "holders");
    EXPECT_EQ(text_by(crossdock_gather_scatter_route, by_holders), "direct");
    const auto sent = given_by<crossdock_traffic>(crossdock_gather_scatter_statistics, by_holders);
    EXPECT_EQ(sent.messages, num_ranks - 1);
}

TEST_F(GatherScatterInC, WrongCallsAreRefused) {
    crossdock_gather_options options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.method = "masters";
    crossdock_gather_scatter* none = nullptr;
    EXPECT_EQ(make(&options, &none), CROSSDOCK_INVALID_ARGUMENT);
    options = CROSSDOCK_GATHER_OPTIONS_INIT;
    options.reproducible = rank == 0;
    if (num_ranks > 1) {
        EXPECT_EQ(make(&options, &none), CROSSDOCK_INVALID_ARGUMENT);
    }
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(crossdock_gather_scatter_create(context, 3, rank == 0 ? nullptr : ids.data(), nullptr,
                                              &none),
              CROSSDOCK_INVALID_ARGUMENT);
    auto outside = ids;
    outside[0] = rank == 0 ? std::numeric_limits<int64_t>::min() : 1;
    EXPECT_EQ(crossdock_flag_duplicates(context, 1, outside.data()), CROSSDOCK_INDEX_OUT_OF_RANGE);

    auto own = values<double>();
    const auto start = [&](void* data, int64_t values_per_id, MPI_Op operation,
                           MPI_Datatype type = MPI_DOUBLE) {
        return crossdock_gather_scatter_start(shared, data, values_per_id, type, operation, 0);
    };
    const auto bad = CROSSDOCK_INVALID_ARGUMENT;
    EXPECT_EQ(crossdock_gather_scatter_wait(shared), CROSSDOCK_INVALID_STATE);
    EXPECT_EQ(start(own.data(), 0, MPI_SUM), bad);
    EXPECT_EQ(start(nullptr, 1, MPI_SUM), bad);
    EXPECT_EQ(start(own.data(), 1, MPI_OP_NULL), bad);
    EXPECT_EQ(start(own.data(), int64_t{1} << 31, MPI_SUM, MPI_C_DOUBLE_COMPLEX),
              CROSSDOCK_COUNT_OVERFLOW);
    EXPECT_EQ(crossdock_gather_scatter_start_fields(shared, 0, nullptr, 1, MPI_DOUBLE, MPI_SUM, 0),
              bad);
    EXPECT_EQ(crossdock_gather_scatter_free(nullptr), CROSSDOCK_SUCCESS);
}

}  // namespace
}  // namespace crossdock_c_gather_test

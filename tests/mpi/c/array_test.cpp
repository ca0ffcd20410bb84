#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "c/errors_return.hpp"
#include "c/statuses.hpp"
#include "crossdock/detail/array/array_engine_mpi.hpp"

namespace array_c_test {
namespace {

using namespace crossdock_c_test;

constexpr int64_t num_entries = 23;
constexpr int64_t num_requests = 40;

std::size_t at(int64_t index) { return static_cast<std::size_t>(index); }

/// What each rank asks for, which all ranks know: entries repeat, on one rank and among ranks.
int64_t index_of(int rank, int64_t k) { return (rank * 7 + k * k + 3 * k) % num_entries; }
int64_t value_of(int rank, int64_t k) { return 1 + rank * 100 + k; }

numbers indices_of(int rank) {
    numbers result;
    for (int64_t k = 0; k < num_requests; ++k) result.push_back(index_of(rank, k));
    return result;
}

template <class T>
std::vector<T> values_of(int rank) {
    std::vector<T> result;
    for (int64_t k = 0; k < num_requests; ++k)
        result.push_back(static_cast<T>(1 + value_of(rank, k) % 119));
    return result;
}

/// Two numbers with a gap between them.
struct entry {
    int32_t count;
    int64_t sum;
};

void add_entries(void* calls, void* into, const void* value) {
    auto& to = *static_cast<entry*>(into);
    const auto& from = *static_cast<const entry*>(value);
    to.count += from.count;
    to.sum += from.sum;
    ++*static_cast<int64_t*>(calls);
}

void add_entries_of_mpi(void* values, void* into, int* length, MPI_Datatype*) {
    int64_t calls = 0;
    for (int i = 0; i < *length; ++i)
        add_entries(&calls, static_cast<entry*>(into) + i, static_cast<entry*>(values) + i);
}

void keep_the_odd(void*, void* into, const void* value) {
    const auto is_better = [](int64_t a, int64_t b) { return a % 2 != b % 2 ? a % 2 == 1 : a > b; };
    auto& to = *static_cast<int64_t*>(into);
    const auto from = *static_cast<const int64_t*>(value);
    if (is_better(from, to)) to = from;
}

class ArrayInC : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        is_last = rank == num_ranks - 1;
        ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, nullptr, &context));
        indices = indices_of(rank);
    }

    void TearDown() override {
        free_array();
        EXPECT_SUCCESS(crossdock_context_close(context));
        EXPECT_SUCCESS(crossdock_context_free(context));
    }

    void make(MPI_Datatype datatype = MPI_INT64_T) {
        free_array();
        ASSERT_SUCCESS(
            crossdock_distributed_array_create(context, num_entries, datatype, &options, &array));
    }

    void free_array() {
        if (array != nullptr) {
            EXPECT_SUCCESS(crossdock_distributed_array_close(array));
        }
        EXPECT_SUCCESS(crossdock_distributed_array_free(array));
        array = nullptr;
    }

    /// All entries, read by this rank.
    template <class T = int64_t>
    std::vector<T> all() {
        numbers every;
        for (int64_t i = 0; i < num_entries; ++i) every.push_back(i);
        std::vector<T> result(every.size());
        EXPECT_SUCCESS(
            crossdock_distributed_array_read(array, num_entries, every.data(), result.data()));
        return result;
    }

    /// What is to be in the array if each request does `change(entry, value)`, rank by rank.
    template <class T>
    std::vector<T> serial(const std::function<void(T&, T)>& change, T initial = {}) const {
        std::vector<T> result(num_entries, initial);
        for (int r = 0; r < num_ranks; ++r) {
            const auto values = values_of<T>(r);
            for (int64_t k = 0; k < num_requests; ++k)
                change(result[at(index_of(r, k))], values[at(k)]);
        }
        return result;
    }

    template <class T>
    void expect_updates(MPI_Datatype datatype, MPI_Op operation,
                        const std::function<void(T&, T)>& change) {
        make(datatype);
        void* entries = nullptr;
        int64_t num_local = 0;
        EXPECT_SUCCESS(crossdock_distributed_array_local(array, &entries, &num_local));
        std::fill_n(static_cast<T*>(entries), num_local, T{7});
        MPI_Barrier(MPI_COMM_WORLD);
        const auto values = values_of<T>(rank);
        EXPECT_SUCCESS(crossdock_distributed_array_update(array, num_requests, indices.data(),
                                                          values.data(), operation));
        EXPECT_EQ(all<T>(), serial<T>(change, T{7}));
    }

    int rank = -1;
    int num_ranks = 0;
    bool is_last = false;
    numbers indices;
    crossdock_context* context = nullptr;
    crossdock_array_options options = CROSSDOCK_ARRAY_OPTIONS_INIT;
    crossdock_distributed_array* array = nullptr;
};

/// As above, for every way that requests travel.
struct travel {
    std::string name;
    int transport;
    const char* route;
    const char* combine;
    int combine_locally = 1;
    int combine_on_the_way = 1;

    friend void PrintTo(const travel& one, std::ostream* to) { *to << one.name; }
};

class ArrayInCTravels : public ArrayInC, public testing::WithParamInterface<travel> {
  protected:
    void SetUp() override {
        ArrayInC::SetUp();
        options.transport = GetParam().transport;
        options.route = GetParam().route;
        options.combine = GetParam().combine;
        options.combine_locally = GetParam().combine_locally;
        options.combine_on_the_way = GetParam().combine_on_the_way;
    }

    bool is_rma() const { return options.transport == CROSSDOCK_TRANSPORT_RMA && num_ranks > 1; }
};

INSTANTIATE_TEST_SUITE_P(
    Each, ArrayInCTravels,
    testing::Values(travel{"auto", CROSSDOCK_TRANSPORT_ROUTED, nullptr, nullptr},
                    travel{"direct", CROSSDOCK_TRANSPORT_ROUTED, "direct", "hash"},
                    travel{"hypercube", CROSSDOCK_TRANSPORT_ROUTED, "hypercube", "sort"},
                    travel{"uncombined", CROSSDOCK_TRANSPORT_ROUTED, "hypercube", "none", 0, 0},
                    travel{"envelopes", CROSSDOCK_TRANSPORT_ROUTED, "hypercube", "envelope_hash"},
                    travel{"plain", CROSSDOCK_TRANSPORT_PLAIN, nullptr, nullptr},
                    travel{"rma", CROSSDOCK_TRANSPORT_RMA, nullptr, nullptr}),
    [](const auto& test) { return test.param.name; });

TEST_P(ArrayInCTravels, UpdatesNumbersByOperationsOfMpi) {
    expect_updates<int64_t>(MPI_INT64_T, MPI_SUM, [](auto& e, auto v) { e += v; });
    expect_updates<int>(MPI_INT, MPI_MAX, [](auto& e, auto v) { e = std::max(e, v); });
    expect_updates<uint8_t>(MPI_UNSIGNED_CHAR, MPI_BOR,
                            [](auto& e, auto v) { e = static_cast<uint8_t>(e | v); });
    expect_updates<double>(MPI_DOUBLE, MPI_SUM, [](auto& e, auto v) { e += v; });
    expect_updates<float>(MPI_FLOAT, MPI_MAX, [](auto& e, auto v) { e = std::max(e, v); });
    expect_updates<int16_t>(MPI_SHORT, MPI_MIN, [](auto& e, auto v) { e = std::min(e, v); });
    expect_updates<uint32_t>(MPI_UINT32_T, MPI_SUM, [](auto& e, auto v) { e += v; });
    expect_updates<uint64_t>(MPI_UINT64_T, MPI_PROD, [](auto& e, auto v) { e *= v; });
    expect_updates<int>(MPI_INT, MPI_BAND, [](auto& e, auto v) { e &= v; });
    expect_updates<int64_t>(MPI_INT64_T, MPI_BXOR, [](auto& e, auto v) { e ^= v; });
}

TEST_P(ArrayInCTravels, UpdatesByOtherOperationsOfMpi) {
    if (is_rma()) {
        make();
        const auto values = values_of<int64_t>(rank);
        expect_error(crossdock_distributed_array_update(array, num_requests, indices.data(),
                                                        values.data(), MPI_LXOR),
                     CROSSDOCK_INVALID_ARGUMENT,
                     "the transport rma takes the library's own operations on numbers, and writes "
                     "of which any stays");
        EXPECT_EQ(all(), numbers(num_entries));
        return;
    }
    expect_updates<int64_t>(MPI_INT64_T, MPI_LXOR, [](auto& e, auto v) { e = !e != !v; });
}

TEST_P(ArrayInCTravels, WritesAsTheRuleSays) {
    if (is_rma()) return;
    const auto values = values_of<int64_t>(rank);
    const auto expect_writes = [&](int rule, const std::function<void(int64_t&, int64_t)>& change) {
        options.equal_writes = rule;
        make();
        EXPECT_SUCCESS(
            crossdock_distributed_array_write(array, num_requests, indices.data(), values.data()));
        EXPECT_EQ(all(), serial<int64_t>(change)) << rule;
    };

    expect_writes(CROSSDOCK_OVERWRITE_MAXIMUM,
                  [](int64_t& e, int64_t v) { e = e == 0 ? v : std::max(e, v); });
    expect_writes(CROSSDOCK_OVERWRITE_MINIMUM,
                  [](int64_t& e, int64_t v) { e = e == 0 ? v : std::min(e, v); });
    options.choose = keep_the_odd;
    expect_writes(CROSSDOCK_OVERWRITE_USER, [](int64_t& e, int64_t v) {
        if (e == 0) e = v;
        keep_the_odd(nullptr, &e, &v);
    });

    options.equal_writes = CROSSDOCK_OVERWRITE_SMALLEST_RANK_LAST;
    make();
    EXPECT_SUCCESS(
        crossdock_distributed_array_write(array, num_requests, indices.data(), values.data()));
    numbers expected(num_entries);
    for (int r = num_ranks - 1; r >= 0; --r) {
        for (int64_t k = 0; k < num_requests; ++k)
            expected[at(index_of(r, k))] = values_of<int64_t>(r)[at(k)];
    }
    EXPECT_EQ(all(), expected);
}

TEST_P(ArrayInCTravels, HasEntriesOfAnyKind) {
    MPI_Datatype bytes = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(sizeof(entry), MPI_BYTE, &bytes);
    MPI_Type_commit(&bytes);
    make(bytes);
    std::vector<entry> values(indices.size());
    for (int64_t k = 0; k < num_requests; ++k) values[at(k)] = {1, value_of(rank, k)};
    int64_t calls = 0;

    const auto status = crossdock_distributed_array_update_with(array, num_requests, indices.data(),
                                                                values.data(), add_entries, &calls);

    if (is_rma()) {
        EXPECT_EQ(status, CROSSDOCK_INVALID_ARGUMENT);
        EXPECT_SUCCESS(
            crossdock_distributed_array_write(array, num_requests, indices.data(), values.data()));
    } else {
        EXPECT_SUCCESS(status);
        const auto found = all<entry>();
        numbers sums(num_entries);
        numbers times(num_entries);
        for (int r = 0; r < num_ranks; ++r) {
            for (int64_t k = 0; k < num_requests; ++k) {
                sums[at(index_of(r, k))] += value_of(r, k);
                ++times[at(index_of(r, k))];
            }
        }
        for (int64_t i = 0; i < num_entries; ++i) {
            EXPECT_EQ(found[at(i)].sum, sums[at(i)]);
            EXPECT_EQ(found[at(i)].count, times[at(i)]);
        }
        EXPECT_GT(calls, 0);
    }
    free_array();
    MPI_Type_free(&bytes);
}

TEST_P(ArrayInCTravels, DoesAllThreeKindsInOneStep) {
    make();
    const numbers written{0, 5};
    numbers fives{50, 55};
    numbers values = values_of<int64_t>(rank);
    numbers found(indices.size(), -1);
    const crossdock_array_requests writes{2, written.data(), fives.data()};
    const crossdock_array_requests updates{num_requests, indices.data(), values.data()};
    const crossdock_array_requests reads{num_requests, indices.data(), found.data()};

    EXPECT_SUCCESS(crossdock_distributed_array_step(array, is_last ? &writes : nullptr, &updates,
                                                    MPI_SUM, rank == 0 ? &reads : nullptr));

    auto expected = serial<int64_t>([](auto& e, auto v) { e += v; });
    expected[0] += 50;
    expected[5] += 55;
    EXPECT_EQ(all(), expected);
    for (int64_t k = 0; k < num_requests; ++k)
        EXPECT_EQ(found[at(k)], rank == 0 ? expected[at(indices[at(k)])] : -1);

    EXPECT_SUCCESS(crossdock_distributed_array_step(array, nullptr, nullptr, MPI_OP_NULL, &reads));
    for (int64_t k = 0; k < num_requests; ++k)
        EXPECT_EQ(found[at(k)], expected[at(indices[at(k)])]);
}

TEST_P(ArrayInCTravels, PreparedBatchesReadAndUpdate) {
    make();
    crossdock_prepared_batch* batch = nullptr;
    crossdock_plan* plan = nullptr;
    const auto values = values_of<int64_t>(rank);
    ASSERT_SUCCESS(
        crossdock_distributed_array_prepare(array, num_requests, indices.data(), &batch));

    for (int i = 1; i <= 2; ++i) {
        EXPECT_SUCCESS(crossdock_prepared_batch_update(batch, values.data(), MPI_SUM));
        numbers found(indices.size());
        EXPECT_SUCCESS(crossdock_prepared_batch_read(batch, found.data()));
        const auto expected = serial<int64_t>([i](auto& e, auto v) { e += i * v; });
        for (int64_t k = 0; k < num_requests; ++k)
            EXPECT_EQ(found[at(k)], expected[at(indices[at(k)])]);
    }

    ASSERT_SUCCESS(crossdock_prepared_batch_plan(batch, &plan));
    EXPECT_SUCCESS(crossdock_plan_free(plan));
    EXPECT_SUCCESS(crossdock_prepared_batch_free(batch));
}

TEST(ArrayOptionsInC, HaveTheDefaultsOfCpp) {
    const crossdock_array_options options = CROSSDOCK_ARRAY_OPTIONS_INIT;
    const crossdock::array_settings settings;

    EXPECT_EQ(options.size, sizeof options);
    EXPECT_EQ(options.num_local, -1);
    EXPECT_EQ(options.route, nullptr);
    EXPECT_EQ(options.expected_requests, settings.expected_requests);
    EXPECT_EQ(options.combine, nullptr);
    EXPECT_EQ(options.combine_locally, settings.combine.locally);
    EXPECT_EQ(options.combine_on_the_way, settings.combine.on_the_way);
    EXPECT_EQ(options.transport, static_cast<int>(settings.transport));
    EXPECT_EQ(options.equal_writes, CROSSDOCK_OVERWRITE_ANY);
    EXPECT_EQ(options.choose, nullptr);
}

TEST_F(ArrayInC, PreparedBatchesMoveEntriesWithTheirGaps) {
    MPI_Datatype spaced = MPI_DATATYPE_NULL;
    const int lengths[]{1, 1};
    const MPI_Aint places[]{offsetof(entry, count), offsetof(entry, sum)};
    const MPI_Datatype types[]{MPI_INT32_T, MPI_INT64_T};
    MPI_Type_create_struct(2, lengths, places, types, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op add = MPI_OP_NULL;
    MPI_Op_create(add_entries_of_mpi, 1, &add);
    options.route = "hypercube";
    make(spaced);
    crossdock_prepared_batch* batch = nullptr;
    const int64_t same = 3;
    const entry one{1, rank};
    entry found{};
    ASSERT_SUCCESS(crossdock_distributed_array_prepare(array, 1, &same, &batch));

    EXPECT_SUCCESS(crossdock_distributed_array_update(array, 1, &same, &one, add));
    int is_active = -1;
    EXPECT_SUCCESS(crossdock_prepared_batch_start_update(batch, &one, add));
    EXPECT_SUCCESS(crossdock_prepared_batch_is_active(batch, &is_active));
    EXPECT_EQ(is_active, 1);
    EXPECT_SUCCESS(crossdock_prepared_batch_wait(batch));
    EXPECT_SUCCESS(crossdock_prepared_batch_is_active(batch, &is_active));
    EXPECT_EQ(is_active, 0);
    EXPECT_SUCCESS(crossdock_prepared_batch_start_read(batch, &found));
    int is_complete = 0;
    while (!is_complete) EXPECT_SUCCESS(crossdock_prepared_batch_test(batch, &is_complete));

    EXPECT_EQ(found.count, 2 * num_ranks);
    EXPECT_EQ(found.sum, num_ranks * (num_ranks - 1));
    free_array();
    EXPECT_SUCCESS(crossdock_prepared_batch_read(batch, &found));
    EXPECT_EQ(found.count, 2 * num_ranks);
    EXPECT_SUCCESS(crossdock_prepared_batch_free(batch));
    MPI_Op_free(&add);
    MPI_Type_free(&spaced);
}

TEST_P(ArrayInCTravels, PreparedBatchesFetchAndUpdate) {
    make();
    crossdock_prepared_batch* batch = nullptr;
    const auto values = values_of<int64_t>(rank);
    numbers found(indices.size());
    ASSERT_SUCCESS(
        crossdock_distributed_array_prepare(array, num_requests, indices.data(), &batch));

    for (const MPI_Op operation : {MPI_SUM, MPI_BXOR, MPI_REPLACE}) {
        auto entries = all();
        EXPECT_SUCCESS(crossdock_prepared_batch_fetch_and_update(batch, values.data(), found.data(),
                                                                 operation));
        for (int r = 0; r < num_ranks; ++r) {
            const auto of_rank = values_of<int64_t>(r);
            for (int64_t k = 0; k < num_requests; ++k) {
                int64_t& e = entries[at(index_of(r, k))];
                if (r == rank) {
                    EXPECT_EQ(found[at(k)], e) << k;
                }
                const int64_t v = of_rank[at(k)];
                e = operation == MPI_SUM ? e + v : operation == MPI_BXOR ? e ^ v : v;
            }
        }
        EXPECT_EQ(all(), entries);
    }

    EXPECT_SUCCESS(crossdock_prepared_batch_free(batch));
}

TEST_P(ArrayInCTravels, PreparedBatchesGatherAndScatter) {
    make();
    crossdock_prepared_batch* batch = nullptr;
    int64_t* offsets = nullptr;
    void* gathered = nullptr;
    int64_t first = 0;
    int64_t num_local = 0;
    void* local = nullptr;
    const auto values = values_of<int64_t>(rank);
    numbers back(indices.size());
    ASSERT_SUCCESS(
        crossdock_distributed_array_prepare(array, num_requests, indices.data(), &batch));
    ASSERT_SUCCESS(crossdock_distributed_array_first_index(array, &first));
    ASSERT_SUCCESS(crossdock_distributed_array_local(array, &local, &num_local));

    ASSERT_SUCCESS(crossdock_prepared_batch_gather(batch, values.data(), &offsets, &gathered));

    numbers expected_offsets{0};
    numbers expected;
    for (int64_t e = first; e < first + num_local; ++e) {
        for (int r = 0; r < num_ranks; ++r) {
            for (int64_t k = 0; k < num_requests; ++k) {
                if (index_of(r, k) == e) expected.push_back(values_of<int64_t>(r)[at(k)]);
            }
        }
        expected_offsets.push_back(static_cast<int64_t>(expected.size()));
    }
    const auto* const came = static_cast<const int64_t*>(gathered);
    EXPECT_EQ(numbers(offsets, offsets + num_local + 1), expected_offsets);
    EXPECT_EQ(numbers(came, came + expected.size()), expected);
    EXPECT_SUCCESS(crossdock_prepared_batch_scatter(batch, gathered, back.data()));
    EXPECT_EQ(back, values);
    EXPECT_SUCCESS(crossdock_free(offsets));
    EXPECT_SUCCESS(crossdock_free(gathered));
    EXPECT_SUCCESS(crossdock_prepared_batch_free(batch));
}

TEST_F(ArrayInC, WhatOneRankGivesWrongFailsOnAll) {
    make();
    crossdock_prepared_batch* batch = nullptr;
    const auto values = values_of<int64_t>(rank);
    numbers found(indices.size());
    int64_t* offsets = nullptr;
    void* gathered = nullptr;
    ASSERT_SUCCESS(
        crossdock_distributed_array_prepare(array, num_requests, indices.data(), &batch));
    const void* const missing = is_last ? nullptr : values.data();

    expect_error(crossdock_prepared_batch_fetch_and_update(batch, values.data(), found.data(),
                                                           is_last ? MPI_OP_NULL : MPI_SUM),
                 CROSSDOCK_INVALID_ARGUMENT, "operation is MPI_OP_NULL");
    expect_null(crossdock_prepared_batch_fetch_and_update(batch, missing, found.data(), MPI_SUM),
                "values");
    expect_null(crossdock_prepared_batch_fetch_and_update(
                    batch, values.data(), is_last ? nullptr : found.data(), MPI_SUM),
                "found");
    expect_null(crossdock_prepared_batch_gather(batch, missing, &offsets, &gathered), "values");
    expect_null(crossdock_prepared_batch_gather(batch, values.data(), is_last ? nullptr : &offsets,
                                                &gathered),
                "offsets");
    ASSERT_SUCCESS(crossdock_prepared_batch_gather(batch, values.data(), &offsets, &gathered));
    expect_null(crossdock_prepared_batch_scatter(batch, gathered, is_last ? nullptr : found.data()),
                "values");
    EXPECT_SUCCESS(crossdock_prepared_batch_scatter(batch, gathered, found.data()));
    EXPECT_EQ(found, values);

    EXPECT_SUCCESS(crossdock_free(offsets));
    EXPECT_SUCCESS(crossdock_free(gathered));
    EXPECT_SUCCESS(crossdock_prepared_batch_free(batch));
}

TEST_F(ArrayInC, HasPartsOfAnyLength) {
    options.num_local = is_last ? num_entries : 0;
    make();
    void* entries = nullptr;
    int64_t answer = -1;
    int owner = -1;

    EXPECT_SUCCESS(crossdock_distributed_array_size(array, &answer));
    EXPECT_EQ(answer, num_entries);
    EXPECT_SUCCESS(crossdock_distributed_array_first_index(array, &answer));
    EXPECT_EQ(answer, 0);
    EXPECT_SUCCESS(crossdock_distributed_array_owner(array, 22, &owner));
    EXPECT_EQ(owner, num_ranks - 1);
    EXPECT_SUCCESS(crossdock_distributed_array_local(array, &entries, &answer));
    EXPECT_EQ(answer, is_last ? num_entries : 0);
    for (int64_t i = 0; i < answer; ++i) static_cast<int64_t*>(entries)[i] = 3 * i;

    numbers found(indices.size());
    EXPECT_SUCCESS(
        crossdock_distributed_array_read(array, num_requests, indices.data(), found.data()));
    for (int64_t k = 0; k < num_requests; ++k) EXPECT_EQ(found[at(k)], 3 * indices[at(k)]);

    expect_error(crossdock_distributed_array_owner(array, num_entries, &owner),
                 CROSSDOCK_INDEX_OUT_OF_RANGE, "index 23 is outside [0, 23)");
    EXPECT_EQ(crossdock_distributed_array_owner(array, -1, &owner), CROSSDOCK_INDEX_OUT_OF_RANGE);
}

TEST_F(ArrayInC, CountsItsRequests) {
    options.route = "direct";
    make();
    crossdock_array_counts counts{};
    char* route = nullptr;
    const numbers twice{0, 0, 22, 22};
    numbers found(twice.size());
    EXPECT_SUCCESS(crossdock_distributed_array_read(array, 4, twice.data(), found.data()));

    EXPECT_SUCCESS(crossdock_distributed_array_statistics(array, &counts));
    EXPECT_SUCCESS(crossdock_distributed_array_route(array, &route));

    EXPECT_STREQ(route, "direct");
    EXPECT_SUCCESS(crossdock_free(route));
    const int64_t owners_here = (rank == 0) + is_last;
    EXPECT_EQ(counts.requests, 4);
    EXPECT_EQ(counts.combined_locally, 2);
    EXPECT_EQ(counts.messages, 2 - owners_here);
    EXPECT_EQ(counts.empty_messages, num_ranks - 1 - (2 - owners_here));
    EXPECT_EQ(counts.sent, 2 - owners_here);
    EXPECT_EQ(counts.received, owners_here * (num_ranks - 1));
    EXPECT_EQ(counts.arrived, owners_here * (num_ranks - 1));
    EXPECT_EQ(counts.combined, 0);
}

TEST_F(ArrayInC, FailsOnAllRanksIfOneAsksForWhatIsNot) {
    make();
    numbers values = values_of<int64_t>(rank);
    const auto refused = [&](crossdock_status status, const std::string& sentence) {
        expect_error(status, CROSSDOCK_INVALID_ARGUMENT, sentence);
    };
    const auto* some = is_last ? nullptr : indices.data();
    auto* some_values = is_last ? nullptr : values.data();
    const int64_t some_length = is_last ? -1 : num_requests;
    const std::string null_indices = "indices is a null pointer";
    const std::string null_values = "values is a null pointer";
    const std::string bad_length = "indices has length -1";

    refused(crossdock_distributed_array_read(array, num_requests, some, values.data()),
            null_indices);
    refused(crossdock_distributed_array_read(array, num_requests, indices.data(), some_values),
            null_values);
    refused(crossdock_distributed_array_read(array, some_length, indices.data(), values.data()),
            bad_length);
    refused(crossdock_distributed_array_write(array, num_requests, some, values.data()),
            null_indices);
    refused(crossdock_distributed_array_write(array, num_requests, indices.data(), some_values),
            null_values);
    refused(crossdock_distributed_array_update(array, num_requests, some, values.data(), MPI_SUM),
            null_indices);
    refused(crossdock_distributed_array_update(array, num_requests, indices.data(), values.data(),
                                               is_last ? MPI_OP_NULL : MPI_SUM),
            "operation is MPI_OP_NULL");
    refused(
        crossdock_distributed_array_update_with(array, num_requests, indices.data(), values.data(),
                                                is_last ? nullptr : keep_the_odd, nullptr),
        "combine is a null pointer");
    crossdock_prepared_batch* batch = nullptr;
    refused(crossdock_distributed_array_prepare(array, num_requests, some, &batch), null_indices);
    refused(crossdock_distributed_array_prepare(array, num_requests, indices.data(),
                                                is_last ? nullptr : &batch),
            "result is a null pointer");
    EXPECT_EQ(batch, nullptr);
    EXPECT_EQ(all(), numbers(num_entries));
}

TEST_F(ArrayInC, RefusesOperationsThatDoNotCommute) {
    make();
    MPI_Op ordered = MPI_OP_NULL;
    MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 0, &ordered);

    expect_error(crossdock_distributed_array_update(array, 0, nullptr, nullptr, ordered),
                 CROSSDOCK_INVALID_ARGUMENT, "the operation is not commutative");

    MPI_Op_free(&ordered);
}

TEST_F(ArrayInC, IsNotMadeOnAnyRankIfOneAsksForWhatIsNot) {
    const auto refused = [&](auto spoil, crossdock_status status, const std::string& sentence) {
        auto spoilt = options;
        int64_t length = num_entries;
        MPI_Datatype datatype = MPI_INT64_T;
        if (is_last) spoil(spoilt, length, datatype);
        expect_error(crossdock_distributed_array_create(context, length, datatype, &spoilt, &array),
                     status, sentence);
        EXPECT_EQ(array, nullptr);
    };
    const auto bad = CROSSDOCK_INVALID_ARGUMENT;
    MPI_Datatype reaching_back = MPI_DATATYPE_NULL;
    const int one = 1;
    const MPI_Aint before = -8;
    MPI_Type_create_hindexed(1, &one, &before, MPI_INT64_T, &reaching_back);
    MPI_Type_commit(&reaching_back);

    refused([](auto& o, auto&, auto&) { o.size = 0; }, bad,
            "options say that they have 0 bytes; begin with their initialiser");
    refused([](auto& o, auto&, auto&) { o.transport = 3; }, bad, "there is no transport 3");
    refused([](auto& o, auto&, auto&) { o.equal_writes = -1; }, bad,
            "there is no overwrite rule -1");
    refused([](auto& o, auto&, auto&) { o.equal_writes = CROSSDOCK_OVERWRITE_USER; }, bad,
            "choose is a null pointer");
    refused([](auto&, auto&, auto& datatype) { datatype = MPI_DATATYPE_NULL; }, bad,
            "datatype is MPI_DATATYPE_NULL");
    refused([&](auto&, auto&, auto& datatype) { datatype = reaching_back; }, bad,
            "a value of the datatype lies in [-8, 0), its extent is [-8, 0): it must begin at 0 "
            "and hold the value");
    refused(
        [](auto& o, auto&, auto& datatype) {
            o.equal_writes = CROSSDOCK_OVERWRITE_MINIMUM;
            datatype = MPI_DOUBLE_INT;
        },
        bad, "values without an order have no minimum or maximum");
    EXPECT_EQ(crossdock_distributed_array_create(context, -1, MPI_INT, nullptr, &array), bad);
    expect_null(crossdock_distributed_array_create(nullptr, 1, MPI_INT, nullptr, &array),
                "context");
    expect_null(crossdock_distributed_array_create(context, 1, MPI_INT, nullptr,
                                                   is_last ? nullptr : &array),
                "result");
    EXPECT_EQ(array, nullptr);
    MPI_Type_free(&reaching_back);
}

TEST_F(ArrayInC, RefusesNullPointers) {
    make();
    crossdock_prepared_batch* batch = nullptr;
    crossdock_plan* plan = nullptr;
    crossdock_array_counts counts{};
    void* entries = nullptr;
    char* route = nullptr;
    int64_t number = 0;
    int answer = 0;
    ASSERT_SUCCESS(
        crossdock_distributed_array_prepare(array, num_requests, indices.data(), &batch));

    expect_null(crossdock_distributed_array_size(nullptr, &number), "array");
    expect_null(crossdock_distributed_array_size(array, nullptr), "result");
    expect_null(crossdock_distributed_array_local(nullptr, &entries, &number), "array");
    expect_null(crossdock_distributed_array_local(array, nullptr, &number), "entries");
    expect_null(crossdock_distributed_array_local(array, &entries, nullptr), "num_local");
    expect_null(crossdock_distributed_array_first_index(nullptr, &number), "array");
    expect_null(crossdock_distributed_array_first_index(array, nullptr), "result");
    expect_null(crossdock_distributed_array_owner(nullptr, 0, &answer), "array");
    expect_null(crossdock_distributed_array_owner(array, 0, nullptr), "result");
    expect_null(crossdock_distributed_array_read(nullptr, 0, nullptr, nullptr), "array");
    expect_null(crossdock_distributed_array_write(nullptr, 0, nullptr, nullptr), "array");
    expect_null(crossdock_distributed_array_update(nullptr, 0, nullptr, nullptr, MPI_SUM), "array");
    expect_null(crossdock_distributed_array_update_with(nullptr, 0, nullptr, nullptr, keep_the_odd,
                                                        nullptr),
                "array");
    expect_null(crossdock_distributed_array_step(nullptr, nullptr, nullptr, MPI_SUM, nullptr),
                "array");
    expect_null(crossdock_distributed_array_statistics(nullptr, &counts), "array");
    expect_null(crossdock_distributed_array_statistics(array, nullptr), "counts");
    expect_null(crossdock_distributed_array_route(nullptr, &route), "array");
    expect_null(crossdock_distributed_array_route(array, nullptr), "route");
    expect_null(crossdock_distributed_array_prepare(nullptr, 0, nullptr, &batch), "array");
    expect_null(crossdock_distributed_array_close(nullptr), "array");
    expect_null(crossdock_prepared_batch_start_read(nullptr, &number), "batch");
    expect_null(crossdock_prepared_batch_start_read(batch, nullptr), "slots");
    expect_null(crossdock_prepared_batch_start_update(nullptr, &number, MPI_SUM), "batch");
    expect_null(crossdock_prepared_batch_start_update(batch, nullptr, MPI_SUM), "slots");
    expect_null(crossdock_prepared_batch_read(nullptr, &number), "batch");
    expect_null(crossdock_prepared_batch_update(nullptr, &number, MPI_SUM), "batch");
    expect_null(crossdock_prepared_batch_test(nullptr, &answer), "batch");
    expect_null(crossdock_prepared_batch_test(batch, nullptr), "result");
    expect_null(crossdock_prepared_batch_wait(nullptr), "batch");
    expect_null(crossdock_prepared_batch_is_active(nullptr, &answer), "batch");
    expect_null(crossdock_prepared_batch_plan(nullptr, &plan), "batch");
    expect_null(crossdock_prepared_batch_plan(batch, nullptr), "result");
    int64_t* offsets = nullptr;
    expect_null(crossdock_prepared_batch_gather(nullptr, &number, &offsets, &entries), "batch");
    expect_null(crossdock_prepared_batch_gather(batch, &number, nullptr, &entries), "offsets");
    expect_null(crossdock_prepared_batch_gather(batch, &number, &offsets, nullptr), "gathered");
    expect_null(crossdock_prepared_batch_scatter(nullptr, &number, &number), "batch");
    expect_null(crossdock_prepared_batch_fetch_and_update(nullptr, &number, &number, MPI_SUM),
                "batch");
    expect_error(crossdock_prepared_batch_fetch_and_update(batch, &number, &number, MPI_OP_NULL),
                 CROSSDOCK_INVALID_ARGUMENT, "operation is MPI_OP_NULL");
    EXPECT_SUCCESS(crossdock_prepared_batch_free(nullptr));
    EXPECT_SUCCESS(crossdock_distributed_array_free(nullptr));

    EXPECT_SUCCESS(crossdock_prepared_batch_free(batch));
}

}  // namespace
}  // namespace array_c_test

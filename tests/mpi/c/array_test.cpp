#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
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

template <class T>
T value_of(int rank, int64_t k) {
    return static_cast<T>(1 + (1 + rank * 100 + k) % 119);
}

template <class T>
std::vector<T> values_of(int rank) {
    std::vector<T> result;
    for (int64_t k = 0; k < num_requests; ++k) result.push_back(value_of<T>(rank, k));
    return result;
}

/// Two numbers with a gap between them.
struct entry {
    entry(int64_t value = 0) : count(value == 0 ? 0 : 1), sum(value) {}

    int32_t count;
    int64_t sum;

    friend bool operator==(const entry&, const entry&) = default;
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

class ArrayInC : public InC {
  protected:
    void SetUp() override {
        InC::SetUp();
        for (int64_t k = 0; k < num_requests; ++k) indices.push_back(index_of(rank, k));
        values = values_of<int64_t>(rank);
        found.assign(values.size(), -1);
    }
    void TearDown() override {
        free_array();
        InC::TearDown();
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

    owned<crossdock_prepared_batch> prepare() const {
        return made<crossdock_prepared_batch>(crossdock_distributed_array_prepare, array,
                                              num_requests, indices.data());
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

    /// Those of this rank's requests.
    numbers requested(const numbers& entries) const {
        numbers result;
        for (const int64_t index : indices) result.push_back(entries[at(index)]);
        return result;
    }

    /// What is to be in the array if each request does `change(entry, value)`, rank by rank.
    template <class T>
    std::vector<T> serial(const std::function<void(T&, T)>& change, T initial = {},
                          bool from_last_rank = false) const {
        std::vector<T> result(num_entries, initial);
        for (int i = 0; i < num_ranks; ++i) {
            const int r = from_last_rank ? last - i : i;
            for (int64_t k = 0; k < num_requests; ++k)
                change(result[at(index_of(r, k))], value_of<T>(r, k));
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
        EXPECT_SUCCESS(crossdock_distributed_array_update(array, num_requests, indices.data(),
                                                          values_of<T>(rank).data(), operation));
        EXPECT_EQ(all<T>(), serial<T>(change, T{7}));
    }

    numbers indices, values, found;
    crossdock_array_options options = CROSSDOCK_ARRAY_OPTIONS_INIT;
    crossdock_distributed_array* array = nullptr;
};

/// As above, for ways that requests travel.
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

// One rank brings a NaN, and the next one a number that is less than the entry.
TEST_P(ArrayInCTravels, MinimaAndMaximaOfANanAreOne) {
    for (const MPI_Datatype type : {MPI_DOUBLE, MPI_REAL8, MPI_DOUBLE_PRECISION}) {
        for (const MPI_Op operation : {MPI_MIN, MPI_MAX}) {
            make(type);
            const int64_t index = num_entries - 1;
            const std::array<double, 2> brought{std::numeric_limits<double>::quiet_NaN(), -856};
            EXPECT_SUCCESS(crossdock_distributed_array_update(array, rank < 2 ? 1 : 0, &index,
                                                              &brought[at(rank % 2)], operation));
            const auto found_now = all<double>();
            EXPECT_TRUE(std::isnan(found_now.back()));
            EXPECT_EQ(found_now.front(), 0);
        }
    }
}

TEST_P(ArrayInCTravels, UpdatesByOtherOperationsOfMpi) {
    expect_updates<int64_t>(MPI_INT64_T, MPI_LXOR, [](auto& e, auto v) { e = !e != !v; });
}

TEST_P(ArrayInCTravels, WritesAsTheRuleSays) {
    if (is_rma()) return;
    const auto expect_writes = [&](int rule, const std::function<void(int64_t&, int64_t)>& change) {
        options.equal_writes = rule;
        make();
        EXPECT_SUCCESS(
            crossdock_distributed_array_write(array, num_requests, indices.data(), values.data()));
        EXPECT_EQ(all(), serial<int64_t>(change, 0, rule == CROSSDOCK_OVERWRITE_SMALLEST_RANK_LAST))
            << rule;
    };

    expect_writes(CROSSDOCK_OVERWRITE_MAXIMUM,
                  [](int64_t& e, int64_t v) { e = e == 0 ? v : std::max(e, v); });
    expect_writes(CROSSDOCK_OVERWRITE_MINIMUM,
                  [](int64_t& e, int64_t v) { e = e == 0 ? v : std::min(e, v); });
    expect_writes(CROSSDOCK_OVERWRITE_SMALLEST_RANK_LAST, [](int64_t& e, int64_t v) { e = v; });
    options.choose = keep_the_odd;
    expect_writes(CROSSDOCK_OVERWRITE_USER, [](int64_t& e, int64_t v) {
        if (e == 0) e = v;
        keep_the_odd(nullptr, &e, &v);
    });
}

TEST_P(ArrayInCTravels, HasEntriesOfAnyKind) {
    MPI_Datatype bytes = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(sizeof(entry), MPI_BYTE, &bytes);
    MPI_Type_commit(&bytes);
    make(bytes);
    const auto brought = values_of<entry>(rank);
    int64_t calls = 0;

    const auto status = crossdock_distributed_array_update_with(
        array, num_requests, indices.data(), brought.data(), add_entries, &calls);

    EXPECT_SUCCESS(status);
    EXPECT_EQ(all<entry>(), serial<entry>([](entry& e, entry v) {
                  int64_t none = 0;
                  add_entries(&none, &e, &v);
              }));
    EXPECT_GT(calls, 0);
    free_array();
    MPI_Type_free(&bytes);
}

TEST_P(ArrayInCTravels, DoesAllThreeKindsInOneStep) {
    make();
    const numbers written{0, 5};
    numbers fives{50, 55};
    const crossdock_array_requests writes{2, written.data(), fives.data()};
    const crossdock_array_requests updates{num_requests, indices.data(), values.data()};
    const crossdock_array_requests reads{num_requests, indices.data(), found.data()};

    EXPECT_SUCCESS(crossdock_distributed_array_step(array, is_last ? &writes : nullptr, &updates,
                                                    MPI_SUM, rank == 0 ? &reads : nullptr));

    auto expected = serial<int64_t>([](auto& e, auto v) { e += v; });
    expected[0] += 50;
    expected[5] += 55;
    EXPECT_EQ(all(), expected);
    EXPECT_EQ(found, rank == 0 ? requested(expected) : numbers(num_requests, -1));

    EXPECT_SUCCESS(crossdock_distributed_array_step(array, nullptr, nullptr, MPI_OP_NULL, &reads));
    EXPECT_EQ(found, requested(expected));
}

TEST_P(ArrayInCTravels, PreparedBatchesReadAndUpdate) {
    make();
    const auto batch = prepare();

    for (int i = 1; i <= 2; ++i) {
        EXPECT_SUCCESS(crossdock_prepared_batch_update(batch, values.data(), MPI_SUM));
        EXPECT_SUCCESS(crossdock_prepared_batch_read(batch, found.data()));
        EXPECT_EQ(found, requested(serial<int64_t>([i](auto& e, auto v) { e += i * v; })));
    }
    EXPECT_NE(made<crossdock_plan>(crossdock_prepared_batch_plan, batch), nullptr);
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
    EXPECT_EQ(options.reproducible, 0);
    EXPECT_EQ(options.choose, nullptr);
}

TEST_F(ArrayInC, ReproducibleRequestsTravelDirectly) {
    options.route = "hypercube";
    options.reproducible = 1;
    make();
    EXPECT_EQ(text_by(crossdock_distributed_array_route, array), "direct");
    options.transport = CROSSDOCK_TRANSPORT_RMA;
    crossdock_distributed_array* none = nullptr;
    EXPECT_EQ(crossdock_distributed_array_create(context, 1, MPI_INT64_T, &options, &none),
              CROSSDOCK_INVALID_ARGUMENT);
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
    const int64_t same = 3;
    const entry one(rank + 1);
    entry came;
    const auto batch =
        made<crossdock_prepared_batch>(crossdock_distributed_array_prepare, array, 1, &same);

    EXPECT_SUCCESS(crossdock_distributed_array_update(array, 1, &same, &one, add));
    EXPECT_SUCCESS(crossdock_prepared_batch_start_update(batch, &one, add));
    EXPECT_EQ(given_by(crossdock_prepared_batch_is_active, batch), 1);
    EXPECT_EQ(crossdock_prepared_batch_free(batch), CROSSDOCK_INVALID_STATE);
    EXPECT_SUCCESS(crossdock_prepared_batch_wait(batch));
    EXPECT_EQ(given_by(crossdock_prepared_batch_is_active, batch), 0);
    EXPECT_SUCCESS(crossdock_prepared_batch_start_read(batch, &came));
    while (given_by(crossdock_prepared_batch_test, batch) == 0) {
    }

    EXPECT_EQ(came.count, 2 * num_ranks);
    EXPECT_EQ(came.sum, num_ranks * (num_ranks + 1));
    free_array();
    came = 0;
    EXPECT_SUCCESS(crossdock_prepared_batch_read(batch, &came));
    EXPECT_EQ(came.count, 2 * num_ranks);
    MPI_Op_free(&add);
    MPI_Type_free(&spaced);
}

TEST_P(ArrayInCTravels, PreparedBatchesFetchAndUpdate) {
    make();
    const auto batch = prepare();

    for (const MPI_Op operation : {MPI_SUM, MPI_BXOR, MPI_REPLACE}) {
        auto entries = all();
        EXPECT_SUCCESS(crossdock_prepared_batch_fetch_and_update(batch, values.data(), found.data(),
                                                                 operation));
        numbers before;
        for (int r = 0; r < num_ranks; ++r) {
            for (int64_t k = 0; k < num_requests; ++k) {
                int64_t& e = entries[at(index_of(r, k))];
                const auto v = value_of<int64_t>(r, k);
                if (r == rank) before.push_back(e);
                e = operation == MPI_SUM ? e + v : operation == MPI_BXOR ? e ^ v : v;
            }
        }
        EXPECT_EQ(found, before);
        EXPECT_EQ(all(), entries);
    }
}

TEST_P(ArrayInCTravels, PreparedBatchesGatherAndScatter) {
    make();
    const auto batch = prepare();
    int64_t* offsets = nullptr;
    void* gathered = nullptr;
    int64_t num_local = 0;
    void* local = nullptr;
    const auto first = given_by<int64_t>(crossdock_distributed_array_first_index, array);
    ASSERT_SUCCESS(crossdock_distributed_array_local(array, &local, &num_local));

    ASSERT_SUCCESS(crossdock_prepared_batch_gather(batch, values.data(), &offsets, &gathered));

    numbers expected_offsets{0}, expected;
    for (int64_t e = first; e < first + num_local; ++e) {
        for (int r = 0; r < num_ranks; ++r) {
            for (int64_t k = 0; k < num_requests; ++k) {
                if (index_of(r, k) == e) expected.push_back(value_of<int64_t>(r, k));
            }
        }
        expected_offsets.push_back(length(expected));
    }
    const auto* const came = static_cast<const int64_t*>(gathered);
    EXPECT_EQ(numbers(offsets, offsets + num_local + 1), expected_offsets);
    EXPECT_EQ(numbers(came, came + expected.size()), expected);
    EXPECT_SUCCESS(crossdock_prepared_batch_scatter(batch, gathered, found.data()));
    EXPECT_EQ(found, values);
    EXPECT_SUCCESS(crossdock_free(offsets));
    EXPECT_SUCCESS(crossdock_free(gathered));
}

TEST_F(ArrayInC, HasPartsOfAnyLength) {
    options.num_local = is_last ? num_entries : 0;
    make();
    void* entries = nullptr;
    int64_t num_local = -1;
    int owner = -1;

    EXPECT_EQ(given_by<int64_t>(crossdock_distributed_array_size, array), num_entries);
    EXPECT_EQ(given_by<int64_t>(crossdock_distributed_array_first_index, array), 0);
    EXPECT_EQ(given_by(crossdock_distributed_array_owner, array, 22), last);
    EXPECT_SUCCESS(crossdock_distributed_array_local(array, &entries, &num_local));
    EXPECT_EQ(num_local, is_last ? num_entries : 0);
    for (int64_t i = 0; i < num_local; ++i) static_cast<int64_t*>(entries)[i] = 3 * i;

    EXPECT_SUCCESS(
        crossdock_distributed_array_read(array, num_requests, indices.data(), found.data()));
    for (int64_t k = 0; k < num_requests; ++k) EXPECT_EQ(found[at(k)], 3 * indices[at(k)]);

    for (const int64_t outside : {num_entries, int64_t{-1}})
        EXPECT_EQ(crossdock_distributed_array_owner(array, outside, &owner),
                  CROSSDOCK_INDEX_OUT_OF_RANGE);
}

TEST_F(ArrayInC, CountsItsRequests) {
    options.route = "direct";
    make();
    const numbers twice{0, 0, 22, 22};
    EXPECT_SUCCESS(crossdock_distributed_array_read(array, 4, twice.data(), found.data()));

    const auto counts =
        given_by<crossdock_array_counts>(crossdock_distributed_array_statistics, array);

    EXPECT_EQ(text_by(crossdock_distributed_array_route, array), "direct");
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

TEST_F(ArrayInC, RefusesOperationsThatDoNotCommute) {
    make();
    MPI_Op ordered = MPI_OP_NULL;
    MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 0, &ordered);

    expect_error(crossdock_distributed_array_update(array, 0, nullptr, nullptr, ordered),
                 CROSSDOCK_INVALID_ARGUMENT, "the operation is not commutative");

    MPI_Op_free(&ordered);
}

TEST_F(ArrayInC, IsNotMadeOnAnyRankIfOneAsksForWhatIsNot) {
    const auto expect_refused = [&](const std::string& sentence, auto spoil) {
        auto spoilt = options;
        MPI_Datatype datatype = MPI_INT64_T;
        if (is_last) spoil(spoilt, datatype);
        expect_error(
            crossdock_distributed_array_create(context, num_entries, datatype, &spoilt, &array),
            CROSSDOCK_INVALID_ARGUMENT, sentence);
    };
    MPI_Datatype reaching_back = MPI_DATATYPE_NULL;
    const int one = 1;
    const MPI_Aint before = -8;
    MPI_Type_create_hindexed(1, &one, &before, MPI_INT64_T, &reaching_back);
    MPI_Type_commit(&reaching_back);

    expect_refused("options say that they have 0 bytes", [](auto& o, auto&) { o.size = 0; });
    expect_refused("there is no transport 3", [](auto& o, auto&) { o.transport = 3; });
    expect_refused("there is no overwrite rule -1", [](auto& o, auto&) { o.equal_writes = -1; });
    expect_refused("choose is a null pointer",
                   [](auto& o, auto&) { o.equal_writes = CROSSDOCK_OVERWRITE_USER; });
    expect_refused("datatype is MPI_DATATYPE_NULL",
                   [](auto&, auto& datatype) { datatype = MPI_DATATYPE_NULL; });
    expect_refused("a value of the datatype lies in [-8, 0)",
                   [&](auto&, auto& datatype) { datatype = reaching_back; });
    expect_refused("values without an order", [](auto& o, auto& datatype) {
        o.equal_writes = CROSSDOCK_OVERWRITE_MINIMUM;
        datatype = MPI_DOUBLE_INT;
    });
    EXPECT_EQ(crossdock_distributed_array_create(context, -1, MPI_INT, nullptr, &array),
              CROSSDOCK_INVALID_ARGUMENT);
    expect_nulls(is_last, crossdock_distributed_array_create,
                 {"context", nullptr, nullptr, nullptr, "result"}, context, 1, MPI_INT, nullptr,
                 &array);
    EXPECT_EQ(array, nullptr);
    MPI_Type_free(&reaching_back);
}

TEST_F(ArrayInC, FailsOnAllRanksIfOneLacksAnArgument) {
    make();
    const auto batch = prepare();
    crossdock_prepared_batch* other = nullptr;
    int64_t* offsets = nullptr;
    void* gathered = nullptr;
    const auto* const i = indices.data();
    auto* const v = values.data();

    expect_nulls(is_last, crossdock_distributed_array_read, {"array", nullptr, "indices", "values"},
                 array, num_requests, i, found.data());
    expect_nulls(is_last, crossdock_distributed_array_write,
                 {"array", nullptr, "indices", "values"}, array, num_requests, i, v);
    expect_nulls(is_last, crossdock_distributed_array_update, {"array", nullptr, "indices"}, array,
                 num_requests, i, v, MPI_SUM);
    expect_nulls(is_last, crossdock_distributed_array_update_with,
                 {"array", nullptr, nullptr, nullptr, "combine"}, array, num_requests, i, v,
                 keep_the_odd, nullptr);
    expect_nulls(is_last, crossdock_distributed_array_step, {"array"}, array, nullptr, nullptr,
                 MPI_SUM, nullptr);
    expect_nulls(is_last, crossdock_distributed_array_prepare,
                 {"array", nullptr, "indices", "result"}, array, num_requests, i, &other);
    expect_nulls(is_last, crossdock_prepared_batch_fetch_and_update, {"batch", "values", "found"},
                 batch, v, found.data(), MPI_SUM);
    expect_nulls(is_last, crossdock_prepared_batch_gather,
                 {"batch", "values", "offsets", "gathered"}, batch, v, &offsets, &gathered);
    ASSERT_SUCCESS(crossdock_prepared_batch_gather(batch, v, &offsets, &gathered));
    expect_nulls(is_last, crossdock_prepared_batch_scatter, {"batch", "gathered", "values"}, batch,
                 gathered, v);
    expect_error(crossdock_distributed_array_read(array, is_last ? -1 : num_requests, i, v),
                 CROSSDOCK_INVALID_ARGUMENT, "indices has length -1");
    const MPI_Op operation = is_last ? MPI_OP_NULL : MPI_SUM;
    for (const auto status :
         {crossdock_distributed_array_update(array, num_requests, i, v, operation),
          crossdock_prepared_batch_fetch_and_update(batch, v, found.data(), operation)})
        expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "operation is MPI_OP_NULL");
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(all(), numbers(num_entries));
    EXPECT_SUCCESS(crossdock_free(offsets));
    EXPECT_SUCCESS(crossdock_free(gathered));
}

TEST_F(ArrayInC, RefusesNullPointers) {
    make();
    const auto batch = prepare();
    crossdock_plan* plan = nullptr;
    crossdock_array_counts counts{};
    void* entries = nullptr;
    char* route = nullptr;
    int64_t number = 0;
    int answer = 0;

    expect_nulls(crossdock_distributed_array_size, {"array", "result"}, array, &number);
    expect_nulls(crossdock_distributed_array_local, {"array", "entries", "num_local"}, array,
                 &entries, &number);
    expect_nulls(crossdock_distributed_array_first_index, {"array", "result"}, array, &number);
    expect_nulls(crossdock_distributed_array_owner, {"array", nullptr, "result"}, array, 0,
                 &answer);
    expect_nulls(crossdock_distributed_array_statistics, {"array", "counts"}, array, &counts);
    expect_nulls(crossdock_distributed_array_route, {"array", "route"}, array, &route);
    expect_null(crossdock_distributed_array_close(nullptr), "array");
    expect_nulls(crossdock_prepared_batch_start_read, {"batch", "values"}, batch, values.data());
    expect_nulls(crossdock_prepared_batch_start_update, {"batch", "values"}, batch, values.data(),
                 MPI_SUM);
    expect_nulls(crossdock_prepared_batch_read, {"batch"}, batch, values.data());
    expect_nulls(crossdock_prepared_batch_update, {"batch"}, batch, values.data(), MPI_SUM);
    expect_nulls(crossdock_prepared_batch_test, {"batch", "result"}, batch, &answer);
    expect_null(crossdock_prepared_batch_wait(nullptr), "batch");
    expect_nulls(crossdock_prepared_batch_is_active, {"batch"}, batch, &answer);
    expect_nulls(crossdock_prepared_batch_plan, {"batch", "result"}, batch, &plan);
    EXPECT_SUCCESS(crossdock_prepared_batch_free(nullptr));
    EXPECT_SUCCESS(crossdock_distributed_array_free(nullptr));
}

}  // namespace
}  // namespace array_c_test

// Stands between the library and MPI, hence a program of its own: what a batch says it sent is compared
// with the calls it made, and with what is counted without MPI.
#include <array>
#include <memory>
#include <vector>

#include "array/variants.hpp"
#include "src/array/route_rule.hpp"
#include "src/model/machine_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/topologies.hpp"
#include "support/watched_calls.hpp"
#include "tools/inputs/plan_batch.hpp"

namespace {

// What one rank did since it was reset.
struct watched_calls {
    MPI_Comm comm = MPI_COMM_NULL;  // the library's own
    int sends = 0;
    int reductions = 0;
    int other_collectives = 0;
    int elsewhere = 0;                             // calls on other communicators
    MPI_Win window = MPI_WIN_NULL;                 // the last that was made
    MPI_Datatype accumulated = MPI_DATATYPE_NULL;  // the last that was
    int barriers = 0;
    std::vector<MPI_Win> freed;
};
watched_calls calls;

void note(const crossdock::test::mpi_call& call) {
    if (call.comm == MPI_COMM_NULL || call.name.starts_with("Comm_") ||
        call.is_one_of({"Issend", "Irecv", "Improbe", "Barrier"}))
        return;
    const bool is_reduction = call.is_one_of({"Allreduce", "Iallreduce"});
    ++(call.name == "Isend" ? calls.sends
       : is_reduction       ? calls.reductions
                            : calls.other_collectives);
    if (call.name == "Ibarrier") ++calls.barriers;
    if (call.comm != calls.comm) ++calls.elsewhere;
}

}  // namespace

extern "C" {
int MPI_Win_create(void* base, MPI_Aint size, int displacement_unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* window) {
    note({.name = "Win_create", .comm = comm});
    const int code = PMPI_Win_create(base, size, displacement_unit, info, comm, window);
    calls.window = *window;
    return code;
}

int MPI_Accumulate(const void* data, int count, MPI_Datatype datatype, int target,
                   MPI_Aint displacement, int target_count, MPI_Datatype target_datatype,
                   MPI_Op operation, MPI_Win window) {
    calls.accumulated = target_datatype;
    return PMPI_Accumulate(data, count, datatype, target, displacement, target_count,
                           target_datatype, operation, window);
}

int MPI_Win_free(MPI_Win* window) {
    calls.freed.push_back(*window);
    return PMPI_Win_free(window);
}
}

namespace crossdock::array_calls_test {
namespace {

using test::changes;

constexpr count_t num_entries = 29;

class ArrayCalls : public test::AllRanks {
  protected:
    void SetUp() override {
        setenv("CROSSDOCK_EXECUTOR", "persistent", 1);  // talks on no other communicator
        machine_of(comm);                               // does, once
        calls = {};
        calls.comm = comm.get();
        test::on_mpi_call = note;
    }
    void TearDown() override {
        EXPECT_EQ(calls.elsewhere, 0);
        test::on_mpi_call = [](const test::mpi_call&) {};
        AllRanks::TearDown();
    }

    // Makes the calls and says which they were.
    template <class Call>
    watched_calls watch(Call&& call) const {
        calls.sends = calls.reductions = calls.other_collectives = 0;
        call();
        return calls;
    }

    std::vector<changes<int>> draw(std::uint64_t seed) const {
        return test::draw_changes<int>(num_ranks, num_entries, seed, 20, [](std::uint64_t random) {
            return static_cast<int>(random % 9);
        });
    }

    // What all ranks ask for in a batch, by routes and without MPI.
    static std::vector<std::vector<count_t>> indices_of(const std::vector<changes<int>>& all) {
        std::vector<std::vector<count_t>> indices;
        for (const auto& one : all) indices.push_back(one.indices);
        return indices;
    }

    // Messages to all partners of all stages.
    int num_partners(const std::string& route_name, const topology& regions) const {
        const auto taken = make_route(route_name, regions);
        std::size_t result = 0;
        for (int s = 0; s < taken->num_stages(); ++s)
            result += taken->partners(rank, s).destinations.size();
        return static_cast<int>(result);
    }
};

count_t messages_of(const array_statistics& batch) {
    count_t result = 0;
    for (const auto& stage : batch.stages) result += stage.sent.messages + stage.empty_messages;
    return result;
}

TEST_F(ArrayCalls, ABatchThatCannotThrowCallsNoCollective) {
    const auto all = draw(1);
    for (const auto& variant : test::variants_of_any_operation(num_ranks)) {
        if (variant.transport != array_transport::routed) continue;
        SCOPED_TRACE(variant.name);
        distributed_array<int> a(variant.where(comm), num_entries,
                                 variant.options<int>(overwrite::minimum));
        const int num_messages = num_partners(variant.route, variant.regions);

        const auto writing = watch([&] { a.write(mine(all).indices, mine(all).values); });
        EXPECT_EQ(writing.sends, num_messages);
        EXPECT_EQ(messages_of(a.statistics()), num_messages);
        const auto updating = watch([&] { a.update(mine(all).indices, mine(all).values, sum()); });
        EXPECT_EQ(updating.sends, num_messages);

        std::vector<int> out(mine(all).indices.size());
        const auto reading = watch([&] { a.read(mine(all).indices, std::span(out)); });
        count_t num_asked = 0;
        for (const auto& stage : a.statistics().stages) num_asked += stage.sent.messages;
        // Every message with requests is answered by one.
        std::array<count_t, 2> replies_and_asked{reading.sends - num_messages, num_asked};
        PMPI_Allreduce(MPI_IN_PLACE, replies_and_asked.data(), 2, MPI_INT64_T, MPI_SUM, comm.get());
        EXPECT_EQ(replies_and_asked[0], replies_and_asked[1]);

        for (const auto& one : {writing, updating, reading}) {
            EXPECT_EQ(one.reductions, 0);
            EXPECT_EQ(one.other_collectives, 0);
        }
        a.close();
    }
}

TEST_F(ArrayCalls, ABatchThatMayThrowReducesOnce) {
    const auto all = draw(2);
    const auto may_throw = [](const int& x, const int& y) { return x + y; };
    for (const auto& variant : test::few_variants(num_ranks)) {
        if (variant.transport != array_transport::routed) continue;
        SCOPED_TRACE(variant.name);
        auto options = variant.options<int>(overwrite::user);
        options.choose = may_throw;
        distributed_array<int> a(variant.where(comm), num_entries, options);
        for (const auto& one :
             {watch([&] { a.write(mine(all).indices, mine(all).values); }),
              watch([&] { a.update(mine(all).indices, mine(all).values, may_throw); }),
              watch([&] { a.step(may_throw); })}) {
            EXPECT_EQ(one.reductions, 1);
            EXPECT_EQ(one.other_collectives, 0);
        }
        a.close();
    }
}

TEST_F(ArrayCalls, APreparedBatchCallsNoCollectiveWhenItRuns) {
    const auto all = draw(3);
    for (const auto& variant : test::few_variants(num_ranks)) {
        SCOPED_TRACE(variant.name);
        distributed_array<int> a(variant.where(comm), num_entries, variant.options<int>());
        auto p = a.prepare(mine(all).indices);
        std::vector<int> out(mine(all).indices.size());
        for (const auto& one : {watch([&] { p.read(std::span(out)); }),
                                watch([&] { p.update(mine(all).values, sum()); })}) {
            EXPECT_EQ(one.reductions, 0);
            EXPECT_EQ(one.other_collectives, 0);
        }
        a.close();
    }
}

TEST_F(ArrayCalls, PlainExchangesOnceForRequestsAndOnceForReplies) {
    const auto all = draw(4);
    distributed_array<int> a(where, num_entries, {.transport = array_transport::plain});
    std::vector<int> out(mine(all).indices.size());

    const auto writing = watch([&] { a.write(mine(all).indices, mine(all).values); });
    const auto reading = watch([&] { a.read(mine(all).indices, std::span(out)); });

    // Besides the lengths of requests.
    EXPECT_EQ(writing.other_collectives, 2);
    EXPECT_EQ(reading.other_collectives, 3);
    EXPECT_EQ(writing.sends + reading.sends, 0);
    a.close();
}

void expect_equal(const array_statistics& actual, const array_statistics& expected) {
    EXPECT_EQ(actual.requests, expected.requests);
    EXPECT_EQ(actual.combined_locally, expected.combined_locally);
    EXPECT_EQ(actual.stages, expected.stages);
    EXPECT_EQ(actual.arrived, expected.arrived);
}

TEST_F(ArrayCalls, AWindowReturnsErrors) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank needs no window";
    distributed_array<int> a(where, num_entries, {.transport = array_transport::rma});
    int found = -1;
    a.read(0, &found);
    a.step();

    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    ASSERT_NE(calls.window, MPI_WIN_NULL);
    MPI_Win_get_errhandler(calls.window, &handler);

    EXPECT_EQ(handler, MPI_ERRORS_RETURN);
    EXPECT_EQ(found, 0);
    MPI_Errhandler_free(&handler);
    a.close();
}

// MPI_Finalize would free them in an order of its own, and wait for ever where ranks differ in it.
TEST_F(ArrayCalls, ACommunicatorFreesTheWindowsOfArraysThatWereNotClosed) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank needs no window";
    std::vector<std::unique_ptr<distributed_array<int>>> arrays;
    std::vector<MPI_Win> made;
    const auto make = [&] {
        arrays.push_back(std::make_unique<distributed_array<int>>(
            where, num_entries, array_options<int>{.transport = array_transport::rma}));
        int found = -1;
        arrays.back()->read(0, &found);
        arrays.back()->step();
        EXPECT_EQ(found, 0);
        made.push_back(calls.window);
    };
    make();  // MPI's accumulate is tried, in a window of its own
    arrays.back()->close();
    arrays.clear();
    made.clear();
    calls.freed.clear();
    for (int k = 0; k < 3; ++k) make();
    arrays[1]->close();
    make();
    arrays[static_cast<std::size_t>(rank % 2)].reset();

    EXPECT_EQ(calls.freed, std::vector{made[1]});
    calls.freed.clear();
    comm.close();
    EXPECT_EQ(calls.freed, (std::vector{made[0], made[2], made[3]}));
    arrays[2]->close();
    EXPECT_EQ(calls.freed.size(), 3U);
}

// MPI may mix what several write to an entry, but for numbers of its own types.
TEST_F(ArrayCalls, AWindowIsWrittenByNumbersOrByOneRankAfterTheOther) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank needs no window";
    const auto expect_written = [&]<class T>(T value, MPI_Datatype type, int num_turns) {
        distributed_array<T> a(where, num_entries, {.transport = array_transport::rma});
        calls.barriers = 0;
        a.write(std::vector<count_t>{3, 3}, std::vector<T>{T{}, value});
        EXPECT_EQ(calls.accumulated, type);
        EXPECT_EQ(calls.barriers, num_turns - 1);  // the agreement follows the last one
        T found{};
        a.read(std::vector<count_t>{3}, std::span<T>(&found, 1));
        EXPECT_EQ(found, value);
        a.close();
    };
    expect_written(7, MPI_INT32_T, 1);
    expect_written(0.5, MPI_DOUBLE, 1);
    expect_written(test::link{1, 2, 3}, MPI_BYTE, num_ranks);
}

TEST_F(ArrayCalls, ABatchCostsWhatIsCountedWithoutMpi) {
    const auto all = draw(5);
    const auto indices = indices_of(all);
    const auto regions = test::conformance_topologies(num_ranks).back();
    const auto owners = block_partition::blocks(num_entries, num_ranks);
    for (const auto& route_name : test::conformance_routes()) {
        for (const auto& combine : {combining_options{combining::sort, true, true},
                                    combining_options{combining::hash, false, true},
                                    combining_options{combining::envelope_sort, true, false},
                                    combining_options{combining::none, true, true}}) {
            SCOPED_TRACE(route_name + " " + to_string(combine.strategy));
            array_options<int> options{.route = route_name};
            options.combine = combine;
            distributed_array<int> a({comm, regions}, num_entries, options);
            const auto counted = plan_batch(regions, owners, route_name, combine, indices, false);
            const auto& expected = mine(counted).statistics;

            std::vector<int> out(mine(all).indices.size());
            a.read(mine(all).indices, std::span(out));
            expect_equal(a.statistics(), expected);
            a.update(mine(all).indices, mine(all).values, sum());
            expect_equal(a.statistics(), expected);
            a.write(mine(all).indices, mine(all).values);
            expect_equal(a.statistics(), expected);
            a.close();
        }
    }
}

TEST_F(ArrayCalls, ABatchOfWritesCombinedAtTheOwnerCostsTheSameOnTheWay) {
    const auto all = draw(6);
    const auto indices = indices_of(all);
    const auto counted = plan_batch(one_region, block_partition::blocks(num_entries, num_ranks),
                                    "grid:2", {}, indices, false);
    distributed_array<int> a(where, num_entries,
                             {.route = "grid:2", .equal_writes = overwrite::smallest_rank_last});

    a.write(mine(all).indices, mine(all).values);

    expect_equal(a.statistics(), mine(counted).statistics);
    a.close();
}

TEST_F(ArrayCalls, APreparedPlanIsTheOneThatIsMadeWithoutMpi) {
    const auto all = draw(7);
    const auto indices = indices_of(all);
    const auto regions = test::conformance_topologies(num_ranks).back();
    for (const auto& route_name : test::conformance_routes()) {
        SCOPED_TRACE(route_name);
        distributed_array<int> a({comm, regions}, num_entries, {.route = route_name});
        const auto planned = plan_batch(regions, a.owners(), route_name, {}, indices, true);

        const auto p = a.prepare(mine(all).indices);

        EXPECT_EQ(p.plan(), mine(planned).again.value());
        a.close();
    }
}

TEST_F(ArrayCalls, AutoIsARouteOfTheTopologyAndTheRequestsExpected) {
    const auto regions = test::conformance_topologies(num_ranks).back();
    for (const count_t expected : {count_t{0}, count_t{1} << 30}) {
        distributed_array<int> a({comm, regions}, num_entries, {.expected_requests = expected});
        EXPECT_EQ(a.route(), array_route_rule(regions, expected, {4, sizeof(int)}, machine_of(comm))
                                 .route_for_next());
        a.close();
    }
    distributed_array<int> plain(where, num_entries, {.transport = array_transport::plain});
    EXPECT_EQ(plain.route(), "direct");
    plain.close();
}

}  // namespace
}  // namespace crossdock::array_calls_test

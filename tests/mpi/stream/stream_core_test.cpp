// Making and closing streams, and items on all ways that a buffer can take between processes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crossdock/detail/stream/stream_core_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"

namespace {

// What this process is told about threads and about the machine.
struct {
    int thread_support = MPI_THREAD_MULTIPLE;
    bool is_main_thread = true;
    int ranks_of_machine = 0;  // 0: as it is
} pretended;

// Whether this thread pushes, and how often such threads have asked MPI what is done.
thread_local bool is_worker = false;
std::atomic<int> num_calls_of_workers{0};

// Threads inside MPI.
std::atomic<int> num_inside{0};
std::atomic<int> most_inside{0};

class inside_mpi {
  public:
    inside_mpi() {
        most_inside = std::max(most_inside.load(), ++num_inside);
        std::this_thread::yield();
    }
    ~inside_mpi() { --num_inside; }
};

}  // namespace

extern "C" {
int MPI_Testsome(int count, MPI_Request* requests, int* num_done, int* done, MPI_Status* status) {
    const inside_mpi here;
    if (is_worker) ++num_calls_of_workers;
    return PMPI_Testsome(count, requests, num_done, done, status);
}

int MPI_Query_thread(int* provided) {
    const int code = PMPI_Query_thread(provided);
    *provided = std::min(*provided, pretended.thread_support);
    return code;
}

int MPI_Is_thread_main(int* flag) {
    const int code = PMPI_Is_thread_main(flag);
    if (!pretended.is_main_thread) *flag = 0;
    return code;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part) {
    if (pretended.ranks_of_machine == 0) return PMPI_Comm_split_type(comm, type, key, info, part);
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Comm_split(comm, rank / pretended.ranks_of_machine, key, part);
}
}

namespace crossdock::stream_core_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

struct item {
    std::int32_t source;  // number of a worker
    std::int32_t value;
};

const stream_channel item_channel{sizeof(item), 16};

// Per worker of this process and source: how many came, and the sum of their values.
class adding_sink final : public stream_sink {
  public:
    struct row {
        std::vector<count_t> counts;
        std::vector<count_t> sums;
    };

    adding_sink(int num_workers, int num_sources) : rows_(static_cast<std::size_t>(num_workers)) {
        for (row& r : rows_) {
            r.counts.resize(static_cast<std::size_t>(num_sources));
            r.sums.resize(static_cast<std::size_t>(num_sources));
        }
    }

    void handle(stream_worker& worker, const stream_arrivals& arrivals) override {
        row& r = rows_[static_cast<std::size_t>(worker.id().worker)];
        for (count_t i = 0; i < arrivals.num_items; ++i) {
            item next{};
            std::memcpy(&next, arrivals.items + static_cast<std::size_t>(i) * sizeof(item),
                        sizeof(item));
            ++r.counts[static_cast<std::size_t>(next.source)];
            r.sums[static_cast<std::size_t>(next.source)] += next.value;
        }
    }
    std::uint64_t key(const std::byte*) const override { return 0; }
    void combine(std::byte*, const std::byte*) const override {}

    const row& of(int worker) const { return rows_[static_cast<std::size_t>(worker)]; }

  private:
    std::vector<row> rows_;
};

void drain(stream_worker& worker) {
    worker.start_drain();
    while (!worker.test_drain()) std::this_thread::yield();
}

class StreamCore : public test::AllRanks {
  protected:
    void SetUp() override { pretended = {}; }
    void TearDown() override {
        pretended = {};
        AllRanks::TearDown();
    }

    bool has_threads() const {
        int support = 0;
        MPI_Query_thread(&support);
        return support == MPI_THREAD_MULTIPLE;
    }

    context with_nodes(const std::string& text) const {
        return where.with_nodes(topology::from_string(text, num_ranks));
    }

    // What making a stream throws, on every rank; the communicator stays usable.
    error refused(const context& given, const stream_options& options,
                  const stream_channel& channel = item_channel) {
        const error heard = thrown_by([&] {
            adding_sink sink(1, num_ranks);
            stream_core refusing(given, std::span(&channel, 1), sink, options);
        });
        pretended = {};
        adding_sink sink(1, num_ranks);
        stream_core usable(where, std::span(&item_channel, 1), sink, {});
        usable.close();
        return heard;
    }

    void expect_refused(errc code, const std::string& text, const stream_options& options,
                        const stream_channel& channel = item_channel) {
        expect_refused(where, code, text, options, channel);
    }
    void expect_refused(const context& given, errc code, const std::string& text,
                        const stream_options& options,
                        const stream_channel& channel = item_channel) {
        SCOPED_TRACE(text);
        const error heard = refused(given, options, channel);
        EXPECT_EQ(heard.code(), code);
        EXPECT_NE(std::string(heard.what()).find(text), std::string::npos) << heard.what();
    }

    const context alone = where.with_nodes(each_alone);
    const context on_one_node = where.with_nodes(one_region);
};

// What is refused.

TEST_F(StreamCore, NumbersOutOfRangeAreNamed) {
    const auto invalid = errc::invalid_argument;
    expect_refused(invalid, "a process of 0 workers; the minimum is 1", {.workers = 0});
    expect_refused(invalid, "a process of -3 workers; the minimum is 1", {.workers = -3});
    expect_refused(invalid, "a buffer of -1 items", {.buffer_items = -1});
    expect_refused(invalid, "a buffer of 1048577 items; there must be 1 to 1048576", {},
                   {8, 1048577});
    expect_refused(invalid, "a buffer of 0 items; there must be 1 to 1048576", {}, {8, 0});
    expect_refused(invalid, "a buffer of 65536 items that combine; there must be 1 to 65535", {},
                   {8, 65536, false, true});
    expect_refused(invalid, "a buffer of 1073741825 bytes; there must be 1 to 1073741824", {},
                   {0, 1073741825});
    expect_refused(invalid, "at most -1 buffers; the minimum is 0", {.max_buffers = -1});
    expect_refused(invalid, "0 priorities; there must be 1 or 2", {.priorities = 0});
    expect_refused(invalid, "3 priorities; there must be 1 or 2", {.priorities = 3});
    expect_refused(invalid, "a maximal age of 0 seconds; it must be more than 0",
                   {.max_age_seconds = 0});
    expect_refused(invalid, "a maximal age of -0.5 seconds", {.max_age_seconds = -0.5});
    expect_refused(invalid, "a latency sample every -2 pushes; the minimum is 0",
                   {.latency_sample_interval = -2});
    expect_refused(errc::count_overflow, "does not fit into 32 bits", {}, {4096, 1048576});
}

TEST_F(StreamCore, WorkersMustBeCountable) {
    if (num_ranks == 1) GTEST_SKIP() << "as many as an int can count are fine";
    expect_refused(errc::invalid_argument,
                   fmt::format("{} ranks of 2147483647 workers are more than", num_ranks),
                   {.workers = 2147483647});
}

TEST_F(StreamCore, SoManyBuffersAreRefusedThatTheyCannotBeNumbered) {
    expect_refused(errc::invalid_argument, "buffers of one process are more than 1048575",
                   {.max_buffers = 1 << 20});
}

TEST_F(StreamCore, OrderNeedsBuffersOfOneWorkerAndARouteOfOneStage) {
    for (const auto scheme : {stream_scheme::pp, stream_scheme::node}) {
        expect_refused(
            on_one_node, errc::invalid_argument,
            fmt::format("ordered items need the scheme ww, wps or wsp, not {}", to_string(scheme)),
            {.scheme = scheme, .ordered = true});
    }
    if (num_ranks < 8) return;
    expect_refused(on_one_node, errc::invalid_argument,
                   "ordered items need a route of one stage, but \"hypercube\" has 3",
                   {.route = "hypercube", .ordered = true});
}

TEST_F(StreamCore, ATopologyMustFit) {
    const auto larger = topology::one_region(num_ranks + 1);
    expect_refused(where.with_topology(larger), errc::size_mismatch, "the topology ", {});
    expect_refused(where.with_nodes(larger), errc::size_mismatch, "the topology of nodes ", {});
    if (num_ranks == 1) return;
    expect_refused(on_one_node, errc::invalid_argument,
                   "the scheme node without shared memory needs nodes of one rank, but ",
                   {.scheme = stream_scheme::node, .shared_memory = false});
}

TEST_F(StreamCore, NodesAreTheRanksOfTheContextsNodesThatShareMemory) {
    pretended.ranks_of_machine = 1;
    adding_sink sink(1, num_ranks);
    stream_core one(on_one_node, std::span(&item_channel, 1), sink, {});
    EXPECT_EQ(one.layout().nodes().num_regions(), num_ranks);
    one.close();
}

TEST_F(StreamCore, RoutesMustExistAndFit) {
    expect_refused(errc::unknown_route, "no_such_route", {.route = "no_such_route"});
    expect_refused(errc::unknown_route, "no_such_route",
                   {.scheme = stream_scheme::ww, .route = "no_such_route"});
}

TEST_F(StreamCore, OptionsMustBeEqualOnAllRanks) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank agrees with itself";
    const std::vector<std::function<void(stream_options&)>> changes{
        [](auto& o) { o.scheme = stream_scheme::ww; },
        [](auto& o) { o.route = "hypercube"; },
        [](auto& o) { o.buffer_items = 7; },
        [](auto& o) { o.max_buffers = 7; },
        [](auto& o) { o.priorities = 2; },
        [](auto& o) { o.flush_on_idle = false; },
        [](auto& o) { o.max_age_seconds = 1; },
        [](auto& o) { o.ordered = true; },
        [](auto& o) { o.with_source = true; },
        [](auto& o) { o.shared_memory = false; },
        [](auto& o) { o.latency_sample_interval = 7; },
        [](auto& o) { o.communication_thread = true; }};
    for (const auto& change : changes) {
        for (const rank_t other : {0, num_ranks - 1}) {
            stream_options options;
            if (rank == other) change(options);
            expect_refused(errc::invalid_argument, "; give all ranks the same", options);
        }
    }
    for (const rank_t other : {0, num_ranks - 1}) {
        expect_refused(rank == other ? on_one_node : where, errc::invalid_argument,
                       other == 0 ? " has nodes = none, rank 0 has " : " has nodes = ", {});
    }
    const stream_channel own{rank == 0 ? 8U : 16U, 16};
    expect_refused(errc::invalid_argument,
                   "rank 1 has bytes of an item = 16, rank 0 has 8; give all ranks the same", {},
                   own);
}

TEST_F(StreamCore, ThePressureMayDiffer) {
    adding_sink sink(1, num_ranks);
    const auto own = rank == 0 ? back_pressure::fail : back_pressure::block;
    stream_core(where, std::span(&item_channel, 1), sink, {.pressure = own}).close();
}

TEST_F(StreamCore, WhatOneRankGetsWrongAllHear) {
    for (const rank_t faulty : {0, num_ranks - 1}) {
        stream_options options;
        if (rank == faulty) options.priorities = 5;
        const error heard = refused(where, options);
        EXPECT_EQ(heard.code(), errc::invalid_argument);
        EXPECT_EQ(heard.rank(), faulty);
    }
}

TEST_F(StreamCore, ThreadsMustHaveBeenAskedFor) {
    const auto invalid = errc::invalid_argument;
    pretended.thread_support = MPI_THREAD_SINGLE;
    expect_refused(invalid, "a process of 2 workers needs MPI_THREAD_FUNNELED", {.workers = 2});
    pretended.thread_support = MPI_THREAD_FUNNELED;
    expect_refused(invalid, "a progress thread needs MPI_THREAD_SERIALIZED",
                   {.progress_thread = true});
    pretended.thread_support = MPI_THREAD_SINGLE;
    expect_refused(invalid, "a communication thread needs MPI_THREAD_FUNNELED",
                   {.communication_thread = true});
    if (!has_threads()) return;
    pretended.thread_support = MPI_THREAD_FUNNELED;
    pretended.is_main_thread = false;
    expect_refused(invalid, "with MPI_THREAD_FUNNELED the main thread must make the stream", {});
}

TEST_F(StreamCore, SharedMemoryThatIsNotThereIsRefusedOnAllRanks) {
    if (num_ranks == 1) GTEST_SKIP() << "one rank shares nothing";
    expect_refused(on_one_node, errc::out_of_memory, "bytes of shared memory, but",
                   {.max_buffers = 1000000}, {1024, 1048576});
}

// States.

TEST_F(StreamCore, ManyMayBeOpenAtOnce) {
    std::vector<std::unique_ptr<adding_sink>> sinks;
    std::vector<std::unique_ptr<stream_core>> streams;
    for (int i = 0; i < 12; ++i) {
        sinks.push_back(std::make_unique<adding_sink>(1, num_ranks));
        streams.push_back(std::make_unique<stream_core>(where, std::span(&item_channel, 1),
                                                        *sinks.back(), stream_options{}));
    }
    for (auto& stream : streams) stream->worker(0).push_item(0, {0, 0}, item{rank, 1});
    for (auto& stream : streams) stream->worker(0).start_drain();
    // The ranks come to rest in an order of their own.
    std::size_t num_at_rest = 0;
    for (std::size_t i = static_cast<std::size_t>(rank); num_at_rest < streams.size(); ++i) {
        stream_worker& worker = streams[i % streams.size()]->worker(0);
        if (worker.is_draining() && worker.test_drain()) ++num_at_rest;
        std::this_thread::yield();
    }
    for (auto& stream : streams) stream->close();
    for (const auto& sink : sinks) {
        EXPECT_EQ(sink->of(0).sums,
                  std::vector<count_t>(static_cast<std::size_t>(num_ranks), rank == 0 ? 1 : 0));
    }
}

TEST_F(StreamCore, IsNotClosedBeforeItsItemsAreDrained) {
    adding_sink sink(1, num_ranks);
    stream_core stream(where, std::span(&item_channel, 1), sink, {.latency_sample_interval = 1});
    if (rank == num_ranks - 1) stream.worker(0).push_item(0, {0, 0}, item{rank, 5});

    expect_thrown(errc::invalid_state, num_ranks - 1, [&] { stream.close(); });
    EXPECT_TRUE(stream.is_open());
    drain(stream.worker(0));
    stream.close();

    EXPECT_EQ(sink.of(0).sums.back(), rank == 0 ? 5 : 0);
}

TEST_F(StreamCore, WorkersAreCounted) {
    adding_sink sink(1, num_ranks);
    stream_core stream(where, std::span(&item_channel, 1), sink, {});

    EXPECT_EQ(stream.num_workers(), 1);
    EXPECT_EQ(stream.worker(0).id(), (worker_id{rank, 0}));
    for (const int number : {-1, 1}) {
        const error heard = thrown_by([&] { stream.worker(number); });
        EXPECT_EQ(heard.code(), errc::index_out_of_range);
        EXPECT_EQ(heard.what(), fmt::format("worker {} is outside [0, 1)", number));
    }
    stream.close();
}

TEST_F(StreamCore, MayBeGivenUpWithItemsOnTheirWay) {
    adding_sink sink(1, num_ranks);
    {
        stream_core stream(where, std::span(&item_channel, 1), sink, {.shared_memory = false});
        for (rank_t to = 0; to < num_ranks; ++to)
            stream.worker(0).push_item(0, {to, 0}, item{rank, 1});
        stream.worker(0).flush();
        stream.drive();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    stream_core again(where, std::span(&item_channel, 1), sink, {});
    again.close();
    expect_thrown(errc::invalid_state, [&] { comm.close(); });
}

TEST_F(StreamCore, AutomaticChoosesBuffersOfOneWorkerForOrderedItems) {
    if (!has_threads()) GTEST_SKIP() << "MPI allows one thread";
    if (num_ranks == 8) GTEST_SKIP() << "takes much memory";
    const stream_channel large{4096, 4096};  // 16 MiB, so that it is pp otherwise
    for (const bool is_ordered : {false, true}) {
        adding_sink sink(2, 2 * num_ranks);
        stream_options options{.workers = 2, .max_buffers = 4, .ordered = is_ordered};
        stream_core stream(where, std::span(&large, 1), sink, options);
        EXPECT_EQ(stream.scheme(), is_ordered ? stream_scheme::wps : stream_scheme::pp);
        stream.close();
    }
}

// Items.

class StreamCoreItems : public StreamCore {
  protected:
    // Worker s pushes 20 + d % 3 items to worker d, of value s + d.
    static count_t num_items(int d) { return 20 + d % 3; }

    void run(stream_worker& worker, int num_phases) const {
        is_worker = true;
        const int num_workers = num_all / num_ranks;
        const int self = rank * num_workers + worker.id().worker;
        for (int phase = 0; phase < num_phases; ++phase) {
            for (int i = 0; i < num_all; ++i) {
                const int d = (self + i) % num_all;
                for (count_t k = 0; k < num_items(d); ++k)
                    worker.push_item(0, {d / num_workers, d % num_workers}, item{self, self + d});
            }
            drain(worker);
        }
        is_worker = false;
    }

    void expect_all(const adding_sink& sink, int num_workers, int num_phases) const {
        for (int w = 0; w < num_workers; ++w) {
            const int self = rank * num_workers + w;
            adding_sink::row expected;
            for (int s = 0; s < num_all; ++s) {
                expected.counts.push_back(num_phases * num_items(self));
                expected.sums.push_back(num_phases * num_items(self) * (s + self));
            }
            ASSERT_EQ(sink.of(w).counts, expected.counts);
            ASSERT_EQ(sink.of(w).sums, expected.sums);
        }
    }

    void exchange_all(const context& given, const stream_options& options) {
        constexpr int num_phases = 2;
        num_all = num_ranks * options.workers;
        adding_sink sink(options.workers, num_all);
        stream_core stream(given, std::span(&item_channel, 1), sink, options);
        std::vector<std::jthread> threads;
        const bool has_user_thread = options.communication_thread && !options.progress_thread;
        std::atomic<int> num_at_work{options.workers};
        for (int w = has_user_thread ? 0 : 1; w < options.workers; ++w) {
            threads.emplace_back([&, w] {
                run(stream.worker(w), num_phases);
                --num_at_work;
            });
        }
        if (has_user_thread) {
            for (; num_at_work > 0; std::this_thread::yield()) stream.drive();
        } else {
            run(stream.worker(0), num_phases);
        }
        threads.clear();
        expect_all(sink, options.workers, num_phases);
        const auto done = stream.statistics();
        count_t pushed = 0;
        for (int d = 0; d < num_all; ++d) pushed += num_items(d);
        EXPECT_EQ(done.items, num_phases * options.workers * pushed);
        stream.close();
    }

    int num_all = 0;
};

TEST_F(StreamCoreItems, AllArriveWithWhateverThreadSupportThereIs) {
    if (!has_threads()) GTEST_SKIP() << "MPI allows one thread";
    for (const int support :
         {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE}) {
        SCOPED_TRACE(support);
        pretended.thread_support = support;
        exchange_all(
            alone, {.workers = support == MPI_THREAD_SINGLE ? 1 : 2, .latency_sample_interval = 3});
    }
}

TEST_F(StreamCoreItems, StreamsTakeTurnsWhereOneThreadAtATimeMayCallMpi) {
    if (!has_threads()) GTEST_SKIP() << "MPI allows one thread";
    pretended.thread_support = MPI_THREAD_SERIALIZED;
    num_all = num_ranks;
    const context& given = alone;
    adding_sink sink(1, num_all);
    adding_sink other_sink(1, num_all);
    stream_core stream(given, std::span(&item_channel, 1), sink, {});
    stream_core other(given, std::span(&item_channel, 1), other_sink, {});
    most_inside = 0;

    std::jthread thread([&] { run(other.worker(0), 5); });
    run(stream.worker(0), 5);
    thread.join();

    EXPECT_LE(most_inside, 1);
    expect_all(sink, 1, 5);
    expect_all(other_sink, 1, 5);
    stream.close();
    other.close();
}

TEST_F(StreamCoreItems, AllArriveByAProgressThread) {
    if (!has_threads()) GTEST_SKIP() << "MPI allows one thread";
    exchange_all(alone, {.workers = 2, .progress_thread = true});
}

constexpr std::array schemes_of_messages{stream_scheme::ww, stream_scheme::wps, stream_scheme::wsp,
                                         stream_scheme::pp};

TEST_F(StreamCoreItems, WorkersLeaveMpiToACommunicationThread) {
    if (!has_threads()) GTEST_SKIP() << "MPI allows one thread";
    num_calls_of_workers = 0;
    for (const auto scheme : schemes_of_messages) {
        for (const int workers : {1, 2, 3}) {
            SCOPED_TRACE(fmt::format("{} {}", to_string(scheme), workers));
            exchange_all(alone, {.workers = workers,
                                 .scheme = scheme,
                                 .progress_thread = true,
                                 .communication_thread = true});
        }
    }
    EXPECT_EQ(num_calls_of_workers, 0);
}

TEST_F(StreamCoreItems, TheCommunicationThreadMayBeTheUsers) {
    if (!has_threads()) GTEST_SKIP() << "MPI allows one thread";
    num_calls_of_workers = 0;
    for (const int support : {MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE}) {
        pretended.thread_support = support;
        for (const int workers : {1, 2, 3}) {
            SCOPED_TRACE(fmt::format("{} {}", support, workers));
            exchange_all(alone,
                         {.workers = workers, .route = "grid:2", .communication_thread = true});
        }
    }
    EXPECT_EQ(num_calls_of_workers, 0);
}

TEST_F(StreamCoreItems, WorkersWaitForACommunicationThreadToSendTheirBuffers) {
    if (!has_threads()) GTEST_SKIP() << "MPI allows one thread";
    for (const auto pressure : {back_pressure::progress, back_pressure::block}) {
        for (const bool is_users : {false, true}) {
            exchange_all(alone, {.workers = 2,
                                 .scheme = stream_scheme::ww,
                                 .max_buffers = 1,
                                 .pressure = pressure,
                                 .progress_thread = !is_users,
                                 .communication_thread = true});
        }
    }
}

}  // namespace
}  // namespace crossdock::stream_core_test

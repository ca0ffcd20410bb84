#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "c/statuses.hpp"
#include "stream/workers.hpp"

namespace stream_c_test {
namespace {

using namespace crossdock_c_test;

class StreamInC : public InC {
  protected:
    StreamInC() { options.buffer_items = 8; }

    void TearDown() override {
        EXPECT_SUCCESS(crossdock_stream_free(stream));
        InC::TearDown();
    }

    void make(crossdock_stream_handler handler, void* user, std::size_t item_bytes = 8) {
        ASSERT_SUCCESS(
            crossdock_stream_create(context, item_bytes, handler, user, &options, &stream));
        ASSERT_SUCCESS(crossdock_stream_get_port(stream, 0, &port));
    }

    void close() {
        EXPECT_SUCCESS(crossdock_stream_close(stream));
        EXPECT_SUCCESS(crossdock_stream_free(stream));
        stream = nullptr;
    }

    void push(int to, int64_t item) {
        ASSERT_SUCCESS(crossdock_stream_port_push(port, to, 0, &item));
    }

    void drain() {
        ASSERT_SUCCESS(crossdock_stream_port_start_drain(port));
        ASSERT_SUCCESS(crossdock_stream_port_wait_drain(port));
    }

    crossdock_stream_counts counts() const {
        return given_by<crossdock_stream_counts>(crossdock_stream_statistics, stream);
    }

    crossdock_stream_options options = CROSSDOCK_STREAM_OPTIONS_INIT;
    crossdock_stream* stream = nullptr;
    crossdock_stream_port* port = nullptr;  // of worker 0
};

int add_up(void* sum, crossdock_stream_port*, const void* items, int64_t num_items) {
    const auto* first = static_cast<const int64_t*>(items);
    for (int64_t i = 0; i < num_items; ++i) *static_cast<int64_t*>(sum) += first[i];
    return 0;
}

int ignore(void*, crossdock_stream_port*, const void*, int64_t) { return 0; }

TEST(StreamOptionsInC, HaveTheDefaultsOfCpp) {
    const crossdock_stream_options options = CROSSDOCK_STREAM_OPTIONS_INIT;
    const crossdock::stream_options defaults;

    EXPECT_EQ(options.size, sizeof options);
    EXPECT_EQ(options.workers, defaults.workers);
    EXPECT_EQ(options.priorities, defaults.priorities);
    EXPECT_EQ(options.scheme, nullptr);
    EXPECT_EQ(options.route, nullptr);
    EXPECT_EQ(options.buffer_items, defaults.buffer_items);
    EXPECT_EQ(options.max_buffers, defaults.max_buffers);
    EXPECT_EQ(options.flush_on_idle, defaults.flush_on_idle);
    EXPECT_EQ(options.max_age_seconds, -1);
    EXPECT_EQ(options.pressure, static_cast<int>(defaults.pressure));
    EXPECT_EQ(options.ordered, defaults.ordered);
    EXPECT_EQ(options.with_source, defaults.with_source);
    EXPECT_EQ(options.shared_memory, defaults.shared_memory);
    EXPECT_EQ(options.progress_thread, defaults.progress_thread);
    EXPECT_EQ(options.communication_thread, defaults.communication_thread);
    EXPECT_EQ(options.latency_sample_interval, defaults.latency_sample_interval);
}

TEST_F(StreamInC, AStreamThatIsNotDrainedIsNotFreed) {
    int64_t sum = 0;
    make(add_up, &sum);
    push(next, 5);
    EXPECT_EQ(crossdock_stream_free(stream), CROSSDOCK_INVALID_STATE);
    drain();
    EXPECT_EQ(sum, 5);
    close();
}

TEST_F(StreamInC, DeliversEachItemOnce) {
    int64_t sum = 0;
    make(add_up, &sum);

    for (int phase = 1; phase <= 3; ++phase) {
        for (int to = 0; to < num_ranks; ++to) {
            for (int64_t item = 1; item <= 20; ++item) push(to, 1000 * rank + item);
        }
        drain();
        const int64_t of_phase = 20 * 1000 * num_ranks * (num_ranks - 1) / 2 + num_ranks * 210;
        EXPECT_EQ(sum, phase * of_phase);
    }

    const auto all = counts();
    EXPECT_EQ(all.items, 60 * num_ranks);
    EXPECT_EQ(all.handled, 60 * num_ranks);
    EXPECT_EQ(all.hops, 60 * num_ranks);
    EXPECT_EQ(all.message_items, 60 * num_ranks);
    EXPECT_EQ(all.combined, 0);
    EXPECT_EQ(all.messages_by_cause[CROSSDOCK_FLUSH_FULL] +
                  all.messages_by_cause[CROSSDOCK_FLUSH_DRAIN] +
                  all.messages_by_cause[CROSSDOCK_FLUSH_IDLE],
              all.messages);
    close();
}

struct byte_sum {
    int64_t item_bytes;
    int64_t sum = 0;
};

int add_up_bytes(void* user, crossdock_stream_port*, const void* items, int64_t num_items) {
    auto& to = *static_cast<byte_sum*>(user);
    const auto* const bytes = static_cast<const unsigned char*>(items);
    to.sum = std::accumulate(bytes, bytes + num_items * to.item_bytes, to.sum);
    return 0;
}

// Sizes that are copied in different ways.
TEST_F(StreamInC, BringsAllBytesOfItemsOfAnySize) {
    std::array<unsigned char, 21> item;
    std::iota(item.begin(), item.end(), static_cast<unsigned char>(1));
    for (const int64_t size : {1, 8, 16, 21}) {
        byte_sum bytes{size};
        make(add_up_bytes, &bytes, static_cast<std::size_t>(size));

        for (int i = 0; i < 11 * num_ranks; ++i)
            ASSERT_SUCCESS(crossdock_stream_port_push(port, i % num_ranks, 0, item.data()));
        drain();

        EXPECT_EQ(bytes.sum, 11 * num_ranks * size * (size + 1) / 2);
        close();
    }
}

// The item says how many more times it is to be passed on.
int pass_on(void* handled, crossdock_stream_port* port, const void* items, int64_t num_items) {
    int rank = 0;
    int worker = 0;
    int num_ranks = 0;
    crossdock_stream_port_id(port, &rank, &worker);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    *static_cast<int64_t*>(handled) += num_items;
    for (int64_t i = 0; i < num_items; ++i) {
        const int64_t left = static_cast<const int64_t*>(items)[i] - 1;
        if (left < 0) continue;
        const auto status = crossdock_stream_port_push(port, (rank + 1) % num_ranks, worker, &left);
        if (status != CROSSDOCK_SUCCESS) return status;
    }
    return 0;
}

TEST_F(StreamInC, LetsHandlersPush) {
    int64_t num_handled = 0;
    make(pass_on, &num_handled);

    push(rank, 3 * num_ranks - 1);
    drain();

    EXPECT_EQ(num_handled, 3 * num_ranks);
    close();
}

int add_up_by_worker(void* sums, crossdock_stream_port* port, const void* items,
                     int64_t num_items) {
    int rank = 0;
    int worker = 0;
    const auto status = crossdock_stream_port_id(port, &rank, &worker);
    if (status != CROSSDOCK_SUCCESS) return status;
    auto& sum = (*static_cast<numbers*>(sums))[static_cast<std::size_t>(worker)];
    return add_up(&sum, port, items, num_items);
}

TEST_F(StreamInC, HasAPortForEachWorker) {
    if (!crossdock::test::has_threads()) GTEST_SKIP() << "MPI has no threads";
    constexpr int num_workers = 2;
    numbers sums(num_workers);
    options.workers = num_workers;
    options.scheme = "wps";
    make(add_up_by_worker, &sums);
    EXPECT_STREQ(given_by<const char*>(crossdock_stream_scheme, stream), "wps");

    crossdock::test::on_workers(num_workers, [&](int w) {
        auto* const own = given_by<crossdock_stream_port*>(crossdock_stream_get_port, stream, w);
        for (int to = 0; to < num_ranks; ++to) {
            for (int worker = 0; worker < num_workers; ++worker) {
                const int64_t item = 10 * rank + w + 100 * worker;
                ASSERT_SUCCESS(crossdock_stream_port_push(own, to, worker, &item));
            }
        }
        ASSERT_SUCCESS(crossdock_stream_port_start_drain(own));
        ASSERT_SUCCESS(crossdock_stream_port_wait_drain(own));
        const auto of_port =
            given_by<crossdock_stream_counts>(crossdock_stream_port_statistics, own);
        EXPECT_EQ(of_port.items, 2 * num_ranks);
        EXPECT_EQ(of_port.handled, 2 * num_ranks);
    });

    const int64_t sum = 10 * num_ranks * (num_ranks - 1) + num_ranks;
    EXPECT_EQ(sums, (numbers{sum, sum + 200 * num_ranks}));
    EXPECT_EQ(counts().items, 4 * num_ranks);
    close();
}

struct entry {
    uint64_t key;
    int64_t sum;
};

uint64_t key_of(void*, const void* item) { return static_cast<const entry*>(item)->key; }
void add_sums(void*, void* into, const void* item) {
    static_cast<entry*>(into)->sum += static_cast<const entry*>(item)->sum;
}
int add_to_keys(void* sums, crossdock_stream_port*, const void* items, int64_t num_items) {
    const auto* first = static_cast<const entry*>(items);
    for (int64_t i = 0; i < num_items; ++i) {
        (*static_cast<numbers*>(sums))[first[i].key] += first[i].sum;
    }
    return 0;
}

TEST_F(StreamInC, CombinesItemsOfOneKey) {
    numbers sums(3);
    options.key = key_of;
    options.combine = add_sums;
    make(add_to_keys, &sums, sizeof(entry));

    for (int64_t i = 0; i < 300; ++i) {
        const entry item{static_cast<uint64_t>(i % 3), i};
        ASSERT_SUCCESS(crossdock_stream_port_push(port, 0, 0, &item));
    }
    drain();

    EXPECT_EQ(sums, rank == 0 ? (numbers{num_ranks * 14850, num_ranks * 14950, num_ranks * 15050})
                              : numbers(3));
    const auto all = counts();
    EXPECT_EQ(all.items, 300);
    EXPECT_GT(all.combined, 200);
    close();
}

struct source_check {
    int64_t num_right = 0;
    crossdock_status before = CROSSDOCK_SUCCESS;
    crossdock_status behind = CROSSDOCK_SUCCESS;
};

int check_sources(void* user, crossdock_stream_port* port, const void* items, int64_t num_items) {
    auto& check = *static_cast<source_check*>(user);
    int source = -1;
    int worker = -1;
    for (int64_t i = 0; i < num_items; ++i) {
        const auto status = crossdock_stream_port_source(port, i, &source, &worker);
        if (status != CROSSDOCK_SUCCESS) return status;
        const bool is_right = source == static_cast<const int64_t*>(items)[i] && worker == 0;
        check.num_right += is_right ? 1 : 0;
    }
    check.before = crossdock_stream_port_source(port, -1, &source, &worker);
    check.behind = crossdock_stream_port_source(port, num_items, &source, &worker);
    return 0;
}

TEST_F(StreamInC, SaysWhoPushed) {
    for (const char* scheme : {"ww", "pp"}) {
        source_check check;
        options.with_source = 1;
        options.scheme = scheme;
        make(check_sources, &check);

        for (int i = 0; i < 20 * num_ranks; ++i) push(i % num_ranks, rank);
        drain();

        EXPECT_EQ(check.num_right, 20 * num_ranks);
        EXPECT_EQ(check.before, CROSSDOCK_INDEX_OUT_OF_RANGE);
        EXPECT_EQ(check.behind, CROSSDOCK_INDEX_OUT_OF_RANGE);
        int source = 7;
        int worker = 8;
        expect_error(crossdock_stream_port_source(port, 0, &source, &worker),
                     CROSSDOCK_INVALID_STATE, "no batch is at hand");
        EXPECT_EQ(source, 7);
        EXPECT_EQ(worker, 8);
        close();
    }
}

int ask_source(void*, crossdock_stream_port* port, const void*, int64_t) {
    int source = 0;
    int worker = 0;
    return crossdock_stream_port_source(port, 0, &source, &worker) == CROSSDOCK_INVALID_STATE ? 0
                                                                                              : 1;
}

TEST_F(StreamInC, KnowsNoSourcesUnlessAsked) {
    make(ask_source, nullptr);

    push(rank, 0);
    drain();

    EXPECT_EQ(counts().handled, 1);
    close();
}

int append(void* list, crossdock_stream_port*, const void* items, int64_t num_items) {
    const auto* first = static_cast<const int64_t*>(items);
    static_cast<numbers*>(list)->insert(static_cast<numbers*>(list)->end(), first,
                                        first + num_items);
    return 0;
}

TEST_F(StreamInC, LetsUrgentItemsOvertake) {
    numbers handled;
    options.priorities = 2;
    make(append, &handled);

    for (int64_t item = 0; item < 3; ++item) push(rank, item);
    const int64_t urgent = 100;
    ASSERT_SUCCESS(crossdock_stream_port_push_urgent(port, rank, 0, &urgent));
    drain();

    EXPECT_EQ(handled, (numbers{100, 0, 1, 2}));
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_URGENT], 1);
    close();
}

// To itself, so that nobody takes what it pushed: two buffers of 8 items, then there is no room.
TEST_F(StreamInC, RefusesWhatWouldHaveToWait) {
    int64_t sum = 0;
    options.pressure = CROSSDOCK_PRESSURE_FAIL;
    options.max_buffers = 2;
    make(add_up, &sum);

    const int64_t item = 1;
    int64_t num_pushed = 0;
    const auto is_pushed = [&] {
        return given_by(crossdock_stream_port_try_push, port, rank, 0, &item) == 1;
    };
    while (is_pushed()) ++num_pushed;
    EXPECT_EQ(num_pushed, 16);
    EXPECT_EQ(crossdock_stream_port_push(port, rank, 0, &item), CROSSDOCK_INVALID_STATE);

    EXPECT_EQ(given_by<int64_t>(crossdock_stream_port_progress, port), 16);
    EXPECT_TRUE(is_pushed());
    drain();
    EXPECT_EQ(sum, 17);
    close();
}

TEST_F(StreamInC, SendsOnRequest) {
    int64_t sum = 0;
    make(add_up, &sum);

    push(rank, 5);
    EXPECT_SUCCESS(crossdock_stream_port_flush(port));
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_REQUEST], 1);
    EXPECT_SUCCESS(crossdock_stream_drive(stream));
    EXPECT_SUCCESS(crossdock_stream_port_progress(port, nullptr));
    EXPECT_EQ(sum, 5);

    push(rank, 6);
    EXPECT_SUCCESS(crossdock_stream_port_flush_to(port, rank, 0));
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_REQUEST], 2);
    EXPECT_EQ(crossdock_stream_port_flush_to(port, num_ranks, 0), CROSSDOCK_RANK_OUT_OF_RANGE);

    ASSERT_SUCCESS(crossdock_stream_port_start_drain(port));
    while (given_by(crossdock_stream_port_test_drain, port) == 0) {
    }
    EXPECT_EQ(sum, 11);
    close();
}

TEST_F(StreamInC, SendsSmallerBuffersOnRequest) {
    int64_t sum = 0;
    options.flush_on_idle = 0;
    make(add_up, &sum);

    EXPECT_SUCCESS(crossdock_stream_port_set_buffer_items(port, rank, 0, 2));
    for (int i = 0; i < 6; ++i) push(rank, 5);
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_FULL], 3);
    EXPECT_EQ(crossdock_stream_port_set_buffer_items(port, rank, 0, 9), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_stream_port_set_buffer_items(port, -1, 0, 2), CROSSDOCK_RANK_OUT_OF_RANGE);
    drain();
    EXPECT_EQ(sum, 30);
    close();
}

int fail_on_5(void*, crossdock_stream_port*, const void* items, int64_t num_items) {
    for (int64_t i = 0; i < num_items; ++i) {
        if (static_cast<const int64_t*>(items)[i] == 5) return 42;
    }
    return 0;
}

TEST_F(StreamInC, EndsOnAllRanksWhereAHandlerFails) {
    make(fail_on_5, nullptr);

    const int64_t item = 5;
    if (rank == 0) push(last, item);
    ASSERT_SUCCESS(crossdock_stream_port_start_drain(port));
    const auto status = crossdock_stream_port_wait_drain(port);
    expect_error(
        status, CROSSDOCK_HANDLER_FAILED,
        is_last ? "the handler of worker 0 of rank " + std::to_string(last) + " has returned 42"
                : "");
    EXPECT_EQ(crossdock_stream_port_push(port, 0, 0, &item), CROSSDOCK_HANDLER_FAILED);
    close();
}

TEST_F(StreamInC, RefusesToPushToWhomThereIsNot) {
    make(ignore, nullptr);
    const int64_t item = 0;
    int is_pushed = -1;

    for (const auto& [to_rank, to_worker] : {std::array{-1, 0}, {num_ranks, 0}, {0, -1}, {0, 1}}) {
        EXPECT_EQ(crossdock_stream_port_push(port, to_rank, to_worker, &item),
                  CROSSDOCK_RANK_OUT_OF_RANGE);
        EXPECT_EQ(crossdock_stream_port_try_push(port, to_rank, to_worker, &item, &is_pushed),
                  CROSSDOCK_RANK_OUT_OF_RANGE);
    }
    EXPECT_EQ(is_pushed, -1);
    crossdock_stream_port* none = nullptr;
    EXPECT_EQ(crossdock_stream_get_port(stream, 1, &none), CROSSDOCK_INDEX_OUT_OF_RANGE);
    EXPECT_EQ(crossdock_stream_get_port(stream, -1, &none), CROSSDOCK_INDEX_OUT_OF_RANGE);
    EXPECT_EQ(none, nullptr);
    drain();
    close();
}

TEST_F(StreamInC, RefusesNullPointers) {
    make(ignore, nullptr);
    const int64_t item = 0;
    int number = 0;
    const char* scheme = nullptr;
    crossdock_stream_port* other = nullptr;
    crossdock_stream_counts of_port{};

    expect_nulls(crossdock_stream_get_port, {"stream", nullptr, "result"}, stream, 0, &other);
    expect_nulls(crossdock_stream_scheme, {"stream", "scheme"}, stream, &scheme);
    expect_null(crossdock_stream_drive(nullptr), "stream");
    expect_nulls(crossdock_stream_port_push, {"port", nullptr, nullptr, "item"}, port, 0, 0, &item);
    expect_nulls(crossdock_stream_port_try_push, {"port", nullptr, nullptr, "item", "is_pushed"},
                 port, 0, 0, &item, &number);
    expect_nulls(crossdock_stream_port_push_urgent, {"port", nullptr, nullptr, "item"}, port, 0, 0,
                 &item);
    expect_null(crossdock_stream_port_progress(nullptr, nullptr), "port");
    expect_null(crossdock_stream_port_flush(nullptr), "port");
    expect_null(crossdock_stream_port_flush_to(nullptr, 0, 0), "port");
    expect_null(crossdock_stream_port_set_buffer_items(nullptr, 0, 0, 1), "port");
    expect_null(crossdock_stream_port_start_drain(nullptr), "port");
    expect_nulls(crossdock_stream_port_test_drain, {"port", "result"}, port, &number);
    expect_null(crossdock_stream_port_wait_drain(nullptr), "port");
    expect_nulls(crossdock_stream_port_id, {"port", "rank", "worker"}, port, &number, &number);
    expect_nulls(crossdock_stream_port_source, {"port", nullptr, "rank", "worker"}, port, 0,
                 &number, &number);
    expect_nulls(crossdock_stream_port_statistics, {"port", "counts"}, port, &of_port);
    expect_nulls(crossdock_stream_statistics, {"stream", "counts"}, stream, &of_port);
    expect_null(crossdock_stream_close(nullptr), "stream");
    EXPECT_SUCCESS(crossdock_stream_free(nullptr));

    drain();
    EXPECT_EQ(counts().items, 0);
    close();
}

TEST_F(StreamInC, IsNotMadeOnAnyRankIfOneAsksForWhatIsNot) {
    const auto expect_refused = [&](const std::string& sentence, auto&& spoil) {
        auto given = options;
        std::size_t item_bytes = 8;
        if (is_last) spoil(given, item_bytes);
        expect_error(crossdock_stream_create(context, item_bytes, ignore, nullptr, &given, &stream),
                     CROSSDOCK_INVALID_ARGUMENT, sentence);
    };
    const std::string both = "items that combine need both key and combine, but ";
    expect_nulls(is_last, crossdock_stream_create,
                 {"context", nullptr, "handler", nullptr, nullptr, "result"}, context, 8, ignore,
                 nullptr, nullptr, &stream);
    expect_refused("item_bytes is 0", [](auto&, auto& bytes) { bytes = 0; });
    expect_refused(both, [](auto& o, auto&) { o.key = key_of; });
    expect_refused(both, [](auto& o, auto&) { o.combine = add_sums; });
    expect_refused("options say that they have 0 bytes", [](auto& o, auto&) { o.size = 0; });
    expect_refused("there is no pressure 3", [](auto& o, auto&) { o.pressure = 3; });
    expect_refused("there is no pressure -1", [](auto& o, auto&) { o.pressure = -1; });
    expect_refused("unknown scheme \"www\"", [](auto& o, auto&) { o.scheme = "www"; });
    options.route = "nowhere";
    EXPECT_EQ(crossdock_stream_create(context, 8, ignore, nullptr, &options, &stream),
              CROSSDOCK_UNKNOWN_ROUTE);
    EXPECT_EQ(stream, nullptr);
}

TEST_F(StreamInC, OptionsMayBeNone) {
    EXPECT_SUCCESS(crossdock_stream_create(context, 8, ignore, nullptr, nullptr, &stream));
    EXPECT_STREQ(given_by<const char*>(crossdock_stream_scheme, stream), "ww");
    close();
}

}  // namespace
}  // namespace stream_c_test

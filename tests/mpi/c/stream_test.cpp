#include <array>
#include <string>
#include <vector>

#include "c/statuses.hpp"
#include "stream/workers.hpp"

namespace stream_c_test {
namespace {

using namespace crossdock_c_test;

class StreamInC : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, nullptr, &context));
        options.buffer_items = 8;
    }

    void TearDown() override {
        EXPECT_SUCCESS(crossdock_stream_free(stream));
        EXPECT_SUCCESS(crossdock_context_close(context));
        EXPECT_SUCCESS(crossdock_context_free(context));
    }

    template <class Item>
    void make(crossdock_stream_handler handler, void* user) {
        ASSERT_SUCCESS(
            crossdock_stream_create(context, sizeof(Item), handler, user, &options, &stream));
        ASSERT_SUCCESS(crossdock_stream_get_port(stream, 0, &port));
    }

    void drain() {
        ASSERT_SUCCESS(crossdock_stream_port_start_drain(port));
        ASSERT_SUCCESS(crossdock_stream_port_wait_drain(port));
    }

    crossdock_stream_counts counts() const {
        crossdock_stream_counts result{};
        EXPECT_SUCCESS(crossdock_stream_statistics(stream, &result));
        return result;
    }

    int rank = -1;
    int num_ranks = 0;
    crossdock_context* context = nullptr;
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

TEST_F(StreamInC, DeliversEachItemOnce) {
    int64_t sum = 0;
    make<int64_t>(add_up, &sum);

    for (int phase = 1; phase <= 3; ++phase) {
        for (int to = 0; to < num_ranks; ++to) {
            for (int64_t item = 1; item <= 20; ++item) {
                const int64_t value = 1000 * rank + item;
                ASSERT_SUCCESS(crossdock_stream_port_push(port, to, 0, &value));
            }
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
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

// Sizes that are copied in different ways.
template <std::size_t Size>
struct item_of {
    std::array<unsigned char, Size> bytes;
};

template <std::size_t Size>
int add_up_bytes(void* sum, crossdock_stream_port*, const void* items, int64_t num_items) {
    const auto* first = static_cast<const item_of<Size>*>(items);
    for (int64_t i = 0; i < num_items; ++i) {
        for (const auto byte : first[i].bytes) *static_cast<int64_t*>(sum) += byte;
    }
    return 0;
}

template <class Size>
class StreamOfSize : public StreamInC {};
template <std::size_t Size>
using size_constant = std::integral_constant<std::size_t, Size>;
using sizes =
    testing::Types<size_constant<1>, size_constant<8>, size_constant<16>, size_constant<21>>;
TYPED_TEST_SUITE(StreamOfSize, sizes);

TYPED_TEST(StreamOfSize, BringsAllBytes) {
    int64_t sum = 0;
    this->template make<item_of<TypeParam::value>>(add_up_bytes<TypeParam::value>, &sum);
    item_of<TypeParam::value> item{};
    for (std::size_t i = 0; i < TypeParam::value; ++i) {
        item.bytes[i] = static_cast<unsigned char>(i + 1);
    }

    for (int to = 0; to < this->num_ranks; ++to) {
        for (int i = 0; i < 11; ++i)
            ASSERT_SUCCESS(crossdock_stream_port_push(this->port, to, 0, &item));
    }
    this->drain();

    constexpr int64_t size = TypeParam::value;
    EXPECT_EQ(sum, 11 * this->num_ranks * size * (size + 1) / 2);
    EXPECT_SUCCESS(crossdock_stream_close(this->stream));
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
    make<int64_t>(pass_on, &num_handled);

    const int64_t rounds = 3 * num_ranks - 1;
    ASSERT_SUCCESS(crossdock_stream_port_push(port, rank, 0, &rounds));
    drain();

    EXPECT_EQ(num_handled, 3 * num_ranks);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
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
    make<int64_t>(add_up_by_worker, &sums);
    const char* scheme = nullptr;
    EXPECT_SUCCESS(crossdock_stream_scheme(stream, &scheme));
    EXPECT_STREQ(scheme, "wps");

    crossdock::test::on_workers(num_workers, [&](int w) {
        crossdock_stream_port* own = nullptr;
        ASSERT_SUCCESS(crossdock_stream_get_port(stream, w, &own));
        for (int to = 0; to < num_ranks; ++to) {
            for (int worker = 0; worker < num_workers; ++worker) {
                const int64_t item = 10 * rank + w + 100 * worker;
                ASSERT_SUCCESS(crossdock_stream_port_push(own, to, worker, &item));
            }
        }
        ASSERT_SUCCESS(crossdock_stream_port_start_drain(own));
        ASSERT_SUCCESS(crossdock_stream_port_wait_drain(own));
        crossdock_stream_counts of_port{};
        EXPECT_SUCCESS(crossdock_stream_port_statistics(own, &of_port));
        EXPECT_EQ(of_port.items, 2 * num_ranks);
        EXPECT_EQ(of_port.handled, 2 * num_ranks);
    });

    const int64_t sum = 10 * num_ranks * (num_ranks - 1) + num_ranks;
    EXPECT_EQ(sums, (numbers{sum, sum + 200 * num_ranks}));
    EXPECT_EQ(counts().items, 4 * num_ranks);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
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
    make<entry>(add_to_keys, &sums);

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
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

struct source_check {
    int64_t num_right = 0;
    crossdock_status before = CROSSDOCK_SUCCESS;
    crossdock_status behind = CROSSDOCK_SUCCESS;
    std::string sentence;
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
    check.sentence = crossdock_last_error();
    return check.sentence == "item " + std::to_string(num_items) + " is outside [0, " +
                                 std::to_string(num_items) + ")"
               ? 0
               : 1;
}

TEST_F(StreamInC, SaysWhoPushed) {
    for (const char* scheme : {"ww", "pp"}) {
        source_check check;
        options.with_source = 1;
        options.scheme = scheme;
        make<int64_t>(check_sources, &check);

        const int64_t item = rank;
        for (int i = 0; i < 20; ++i) {
            for (int to = 0; to < num_ranks; ++to) {
                ASSERT_SUCCESS(crossdock_stream_port_push(port, to, 0, &item));
            }
        }
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
        EXPECT_SUCCESS(crossdock_stream_close(stream));
        EXPECT_SUCCESS(crossdock_stream_free(stream));
        stream = nullptr;
    }
}

int ask_source(void* status, crossdock_stream_port* port, const void*, int64_t) {
    int source = 0;
    int worker = 0;
    *static_cast<crossdock_status*>(status) =
        crossdock_stream_port_source(port, 0, &source, &worker);
    return 0;
}

TEST_F(StreamInC, KnowsNoSourcesUnlessAsked) {
    auto status = CROSSDOCK_SUCCESS;
    make<int64_t>(ask_source, &status);

    const int64_t item = 0;
    ASSERT_SUCCESS(crossdock_stream_port_push(port, rank, 0, &item));
    drain();

    EXPECT_EQ(status, CROSSDOCK_INVALID_STATE);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
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
    make<int64_t>(append, &handled);

    for (int64_t item = 0; item < 3; ++item) {
        ASSERT_SUCCESS(crossdock_stream_port_push(port, rank, 0, &item));
    }
    const int64_t urgent = 100;
    ASSERT_SUCCESS(crossdock_stream_port_push_urgent(port, rank, 0, &urgent));
    drain();

    EXPECT_EQ(handled, (numbers{100, 0, 1, 2}));
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_URGENT], 1);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

// To itself, so that nobody takes what it pushed: two buffers of 8 items, then there is no room.
TEST_F(StreamInC, RefusesWhatWouldHaveToWait) {
    int64_t sum = 0;
    options.pressure = CROSSDOCK_PRESSURE_FAIL;
    options.max_buffers = 2;
    make<int64_t>(add_up, &sum);

    const int64_t item = 1;
    int is_pushed = 1;
    int64_t num_pushed = 0;
    while (is_pushed == 1) {
        ASSERT_SUCCESS(crossdock_stream_port_try_push(port, rank, 0, &item, &is_pushed));
        num_pushed += is_pushed;
    }
    EXPECT_EQ(is_pushed, 0);
    EXPECT_EQ(num_pushed, 16);
    EXPECT_EQ(crossdock_stream_port_push(port, rank, 0, &item), CROSSDOCK_INVALID_STATE);

    int64_t num_handled = 0;
    EXPECT_SUCCESS(crossdock_stream_port_progress(port, &num_handled));
    EXPECT_EQ(num_handled, 16);
    ASSERT_SUCCESS(crossdock_stream_port_try_push(port, rank, 0, &item, &is_pushed));
    EXPECT_EQ(is_pushed, 1);
    drain();
    EXPECT_EQ(sum, 17);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

TEST_F(StreamInC, SendsOnRequest) {
    int64_t sum = 0;
    make<int64_t>(add_up, &sum);

    const int64_t item = 5;
    ASSERT_SUCCESS(crossdock_stream_port_push(port, rank, 0, &item));
    EXPECT_SUCCESS(crossdock_stream_port_flush(port));
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_REQUEST], 1);
    EXPECT_SUCCESS(crossdock_stream_drive(stream));
    EXPECT_SUCCESS(crossdock_stream_port_progress(port, nullptr));
    EXPECT_EQ(sum, 5);

    ASSERT_SUCCESS(crossdock_stream_port_start_drain(port));
    int is_at_rest = 0;
    while (is_at_rest == 0) ASSERT_SUCCESS(crossdock_stream_port_test_drain(port, &is_at_rest));
    EXPECT_EQ(is_at_rest, 1);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

TEST_F(StreamInC, SendsToOneWorkerOnRequest) {
    int64_t sum = 0;
    make<int64_t>(add_up, &sum);

    const int64_t item = 5;
    ASSERT_SUCCESS(crossdock_stream_port_push(port, rank, 0, &item));
    EXPECT_SUCCESS(crossdock_stream_port_flush_to(port, rank, 0));
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_REQUEST], 1);
    EXPECT_EQ(crossdock_stream_port_flush_to(port, num_ranks, 0), CROSSDOCK_RANK_OUT_OF_RANGE);
    drain();
    EXPECT_EQ(sum, 5);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

TEST_F(StreamInC, SendsSmallerBuffersOnRequest) {
    int64_t sum = 0;
    options.flush_on_idle = 0;
    make<int64_t>(add_up, &sum);

    EXPECT_SUCCESS(crossdock_stream_port_set_buffer_items(port, rank, 0, 2));
    const int64_t item = 5;
    for (int i = 0; i < 6; ++i) ASSERT_SUCCESS(crossdock_stream_port_push(port, rank, 0, &item));
    EXPECT_EQ(counts().messages_by_cause[CROSSDOCK_FLUSH_FULL], 3);
    EXPECT_EQ(crossdock_stream_port_set_buffer_items(port, rank, 0, 9), CROSSDOCK_INVALID_ARGUMENT);
    EXPECT_EQ(crossdock_stream_port_set_buffer_items(port, -1, 0, 2), CROSSDOCK_RANK_OUT_OF_RANGE);
    drain();
    EXPECT_EQ(sum, 30);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

int fail_on_5(void*, crossdock_stream_port*, const void* items, int64_t num_items) {
    for (int64_t i = 0; i < num_items; ++i) {
        if (static_cast<const int64_t*>(items)[i] == 5) return 42;
    }
    return 0;
}

TEST_F(StreamInC, EndsOnAllRanksWhereAHandlerFails) {
    const int failing = num_ranks - 1;
    make<int64_t>(fail_on_5, nullptr);

    const int64_t item = 5;
    if (rank == 0) {
        ASSERT_SUCCESS(crossdock_stream_port_push(port, failing, 0, &item));
    }
    ASSERT_SUCCESS(crossdock_stream_port_start_drain(port));
    EXPECT_EQ(crossdock_stream_port_wait_drain(port), CROSSDOCK_HANDLER_FAILED);
    if (rank == failing) {
        EXPECT_EQ(crossdock_last_error(), "the handler of worker 0 of rank " +
                                              std::to_string(failing) + " has returned 42");
    }
    EXPECT_EQ(crossdock_stream_port_push(port, 0, 0, &item), CROSSDOCK_HANDLER_FAILED);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

TEST_F(StreamInC, RefusesToPushToWhomThereIsNot) {
    make<int64_t>(ignore, nullptr);
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
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

TEST_F(StreamInC, RefusesNullPointers) {
    make<int64_t>(ignore, nullptr);
    const int64_t item = 0;
    int number = 0;
    const char* scheme = nullptr;
    crossdock_stream_counts of_port{};

    expect_null(crossdock_stream_create(nullptr, 8, ignore, nullptr, nullptr, &stream), "context");
    expect_null(crossdock_stream_get_port(nullptr, 0, &port), "stream");
    expect_null(crossdock_stream_get_port(stream, 0, nullptr), "result");
    expect_null(crossdock_stream_scheme(nullptr, &scheme), "stream");
    expect_null(crossdock_stream_scheme(stream, nullptr), "scheme");
    expect_null(crossdock_stream_drive(nullptr), "stream");
    expect_null(crossdock_stream_port_push(nullptr, 0, 0, &item), "port");
    expect_null(crossdock_stream_port_push(port, 0, 0, nullptr), "item");
    expect_null(crossdock_stream_port_try_push(nullptr, 0, 0, &item, &number), "port");
    expect_null(crossdock_stream_port_try_push(port, 0, 0, nullptr, &number), "item");
    expect_null(crossdock_stream_port_try_push(port, 0, 0, &item, nullptr), "is_pushed");
    expect_null(crossdock_stream_port_push_urgent(nullptr, 0, 0, &item), "port");
    expect_null(crossdock_stream_port_push_urgent(port, 0, 0, nullptr), "item");
    expect_null(crossdock_stream_port_progress(nullptr, nullptr), "port");
    expect_null(crossdock_stream_port_flush(nullptr), "port");
    expect_null(crossdock_stream_port_flush_to(nullptr, 0, 0), "port");
    expect_null(crossdock_stream_port_set_buffer_items(nullptr, 0, 0, 1), "port");
    expect_null(crossdock_stream_port_start_drain(nullptr), "port");
    expect_null(crossdock_stream_port_test_drain(nullptr, &number), "port");
    expect_null(crossdock_stream_port_test_drain(port, nullptr), "result");
    expect_null(crossdock_stream_port_wait_drain(nullptr), "port");
    expect_null(crossdock_stream_port_id(nullptr, &number, &number), "port");
    expect_null(crossdock_stream_port_id(port, nullptr, &number), "rank");
    expect_null(crossdock_stream_port_id(port, &number, nullptr), "worker");
    expect_null(crossdock_stream_port_source(nullptr, 0, &number, &number), "port");
    expect_null(crossdock_stream_port_source(port, 0, nullptr, &number), "rank");
    expect_null(crossdock_stream_port_source(port, 0, &number, nullptr), "worker");
    expect_null(crossdock_stream_port_statistics(nullptr, &of_port), "port");
    expect_null(crossdock_stream_port_statistics(port, nullptr), "counts");
    expect_null(crossdock_stream_statistics(nullptr, &of_port), "stream");
    expect_null(crossdock_stream_statistics(stream, nullptr), "counts");
    expect_null(crossdock_stream_close(nullptr), "stream");
    EXPECT_SUCCESS(crossdock_stream_free(nullptr));

    drain();
    EXPECT_EQ(counts().items, 0);
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

TEST_F(StreamInC, IsNotMadeOnAnyRankIfOneAsksForWhatIsNot) {
    const auto expect_refused = [&](const std::string& sentence, auto&& spoil) {
        auto given = options;
        std::size_t item_bytes = 8;
        crossdock_stream_handler handler = ignore;
        crossdock_stream** result = &stream;
        if (rank == num_ranks - 1) spoil(given, item_bytes, handler, result);
        expect_error(crossdock_stream_create(context, item_bytes, handler, nullptr, &given, result),
                     CROSSDOCK_INVALID_ARGUMENT, sentence);
        EXPECT_EQ(stream, nullptr);
    };
    const std::string both = "items that combine need both key and combine, but ";
    expect_refused("handler is a null pointer", [](auto&, auto&, auto& h, auto&) { h = nullptr; });
    expect_refused("result is a null pointer", [](auto&, auto&, auto&, auto& r) { r = nullptr; });
    expect_refused("item_bytes is 0", [](auto&, auto& bytes, auto&...) { bytes = 0; });
    expect_refused(both, [](auto& o, auto&...) { o.key = key_of; });
    expect_refused(both, [](auto& o, auto&...) { o.combine = add_sums; });
    expect_refused("options say that they have 0 bytes; begin with their initialiser",
                   [](auto& o, auto&...) { o.size = 0; });
    expect_refused("there is no pressure 3", [](auto& o, auto&...) { o.pressure = 3; });
    expect_refused("there is no pressure -1", [](auto& o, auto&...) { o.pressure = -1; });
    expect_refused("unknown scheme \"www\"; there are auto, ww, wps, wsp, pp, node",
                   [](auto& o, auto&...) { o.scheme = "www"; });
    options.route = "nowhere";
    EXPECT_EQ(crossdock_stream_create(context, 8, ignore, nullptr, &options, &stream),
              CROSSDOCK_UNKNOWN_ROUTE);
    EXPECT_EQ(stream, nullptr);
}

TEST_F(StreamInC, OptionsMayBeNone) {
    EXPECT_SUCCESS(crossdock_stream_create(context, 8, ignore, nullptr, nullptr, &stream));
    const char* scheme = nullptr;
    EXPECT_SUCCESS(crossdock_stream_scheme(stream, &scheme));
    EXPECT_STREQ(scheme, "ww");
    EXPECT_SUCCESS(crossdock_stream_close(stream));
}

}  // namespace
}  // namespace stream_c_test

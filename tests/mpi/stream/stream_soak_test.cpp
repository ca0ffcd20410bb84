// Items in many phases through streams of every kind, while workers stall at random: nothing is
// lost, doubled or led astray, and memory stays flat. The environment variable CROSSDOCK_SOAK_ITEMS
// sets how many items there are. Replaces the global allocation functions to count bytes, hence a
// program of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crossdock/stream.hpp"
#include "support/contexts.hpp"
#include "support/counted_memory.hpp"
#include "support/thread_sanitizer.hpp"

namespace {

int pretended_thread_support = MPI_THREAD_MULTIPLE;

}  // namespace

extern "C" int MPI_Query_thread(int* provided) {
    const int code = PMPI_Query_thread(provided);
    *provided = std::min(*provided, pretended_thread_support);
    return code;
}

namespace crossdock::stream_soak_test {
namespace {

constexpr int num_workers = 2;
constexpr int num_rounds = 4;  // each runs one phase of every stream
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr count_t usual_items = 200'000;
#else
constexpr count_t usual_items = 4'000'000;
#endif

count_t wanted_items() {
    const char* const text = std::getenv("CROSSDOCK_SOAK_ITEMS");
    return text == nullptr ? usual_items : std::stoll(text);
}

struct item {
    std::uint64_t value;         // unique: the worker that pushes it, and its number there
    std::int32_t destination;    // number of a worker
    std::int32_t num_to_follow;  // the handler pushes one with one less
};

// The finisher of SplitMix64.
std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
}

// Of the values of all items for one worker, in any order.
struct checksum {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;
    std::uint64_t exclusive_or = 0;

    void add(std::uint64_t value) {
        const std::uint64_t hash = mixed(value);
        ++count;
        sum += hash;
        exclusive_or ^= mixed(hash);
    }
};

// Checksums for all workers of all ranks.
struct checksums {
    std::vector<std::uint64_t> counts, sums, exclusive_ors;

    explicit checksums(std::size_t num_all)
        : counts(num_all), sums(num_all), exclusive_ors(num_all) {}

    void add(std::size_t to, const checksum& one) {
        counts[to] += one.count;
        sums[to] += one.sum;
        exclusive_ors[to] ^= one.exclusive_or;
    }

    void add_over_ranks(MPI_Comm comm) {
        for (auto* const words : {&counts, &sums, &exclusive_ors}) {
            MPI_Allreduce(MPI_IN_PLACE, words->data(), static_cast<int>(words->size()),
                          MPI_UINT64_T, words == &exclusive_ors ? MPI_BXOR : MPI_SUM, comm);
        }
    }
};

// How a stream is made, and how it is used.
struct way {
    stream_options options;
    topology nodes;
    int thread_support;
    std::int32_t longest_chain;  // of items that handlers push because of one another
};

way make_way(std::size_t i, stream_scheme scheme, const topology& nodes, const std::string& route) {
    return {{.workers = num_workers,
             .scheme = scheme,
             .route = route,
             .buffer_items = i % 4 == 3 ? 1000 : 64 << i % 4,
             .max_buffers = i % 5 == 1 ? 5 : 0,
             .priorities = i % 2 == 0 ? 1 : 2,
             .pressure = i % 4 == 2 ? back_pressure::block : back_pressure::progress,
             .with_source = i % 2 == 0,
             .shared_memory = test::processes_may_share_memory,
             .latency_sample_interval = i % 3 == 0 ? 100 : 0},
            nodes,
            i % 3 == i / 3 % 3 ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE,
            static_cast<std::int32_t>(i % 4)};
}

// All schemes, with one node, two, and one for each rank, and over several routes.
std::vector<way> all_ways(rank_t num_ranks) {
    const rank_t half = num_ranks / 2;
    const std::string two = half > 0 ? fmt::format("{},{}", half, num_ranks - half) : "1";
    const std::vector<topology> nodes{
        topology::one_region(num_ranks), topology::from_string(two, num_ranks),
        topology::from_string(fmt::format("{}x1", num_ranks), num_ranks)};
    const std::vector<std::string> routes{"direct", "grid:2", "hypercube"};
    std::vector<way> result;
    for (const auto scheme : {stream_scheme::ww, stream_scheme::wps, stream_scheme::wsp,
                              stream_scheme::pp, stream_scheme::node}) {
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const bool is_of_single = nodes[n].num_regions() == num_ranks;
            if (scheme == stream_scheme::node && !is_of_single && !test::processes_may_share_memory)
                continue;
            const std::size_t i = result.size();
            result.push_back(
                make_way(i, scheme, nodes[n], routes[(i / nodes.size() + n) % routes.size()]));
        }
    }
    return result;
}

using soak_stream = stream<item>;

struct alignas(64) soaking_worker {
    explicit soaking_worker(std::size_t own_number, std::size_t num_all)
        : number(own_number), sent(num_all) {}

    std::uint64_t draw() { return mixed(number << 48 | ++num_draws); }

    // Seldom, and seldom for long.
    void stall_at_random() {
        const std::uint64_t random = draw();
        if (random % 1024 != 0) return;
        const std::uint64_t kind = random >> 56;
        if (kind < 192) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(kind < 252 ? kind : 3000));
        }
    }

    void push(soak_stream::port_type& port, std::size_t to, std::int32_t num_to_follow,
              bool is_urgent) {
        const item next{number << 48 | ++num_pushed, static_cast<std::int32_t>(to), num_to_follow};
        const worker_id id{static_cast<rank_t>(to) / num_workers,
                           static_cast<int>(to) % num_workers};
        sent[to].add(next.value);
        if (is_urgent) {
            port.push_urgent(id, next);
        } else {
            port.push(id, next);
        }
    }

    std::size_t number;
    std::uint64_t num_pushed = 0;  // in all phases
    std::uint64_t num_draws = 0;
    std::uint64_t num_astray = 0;  // items for others, or not of whom they are said to be
    std::vector<checksum> sent;    // in this phase
    checksum handled;
};

class StreamSoak : public testing::Test {
  protected:
    void SetUp() override {
        for (int w = 0; w < num_workers; ++w)
            workers.emplace_back(static_cast<std::size_t>(rank * num_workers + w), num_all);
    }
    void TearDown() override {
        pretended_thread_support = MPI_THREAD_MULTIPLE;
        where.close();
    }

    std::unique_ptr<soak_stream> make_stream(const way& w) {
        pretended_thread_support = w.thread_support;
        auto result = std::make_unique<soak_stream>(
            where.with_nodes(w.nodes),
            [this, &w](soak_stream::port_type& port, const stream_batch<item>& batch) {
                handle(w, port, batch);
            },
            w.options);
        pretended_thread_support = MPI_THREAD_MULTIPLE;
        return result;
    }

    void handle(const way& w, soak_stream::port_type& port, const stream_batch<item>& batch) {
        soaking_worker& own = workers[static_cast<std::size_t>(port.id().worker)];
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const item& next = batch[i];
            own.handled.add(next.value);
            if (static_cast<std::size_t>(next.destination) != own.number) ++own.num_astray;
            if (w.options.with_source && number_of(batch.source(i)) != next.value >> 48)
                ++own.num_astray;
            if (next.num_to_follow > 0)
                own.push(port, own.draw() % num_all, next.num_to_follow - 1, is_urgent(w, own));
            own.stall_at_random();
        }
    }

    static std::uint64_t number_of(worker_id id) {
        return static_cast<std::uint64_t>(id.rank * num_workers + id.worker);
    }
    static bool is_urgent(const way& w, const soaking_worker& own) {
        return w.options.priorities == 2 && own.num_pushed % 50 == 0;
    }

    // Every phase loads the workers in another way.
    std::size_t choose_destination(soaking_worker& own, int phase) const {
        const std::uint64_t random = own.draw();
        const bool is_usual = random >> 63 == 0;
        switch (phase % 4) {
            case 0: return random % num_all;
            case 1: return is_usual ? random % num_all : own.number;
            case 2: return is_usual ? random % num_all : static_cast<std::size_t>(phase) % num_all;
            default: return (own.number + random % 4) % num_all;
        }
    }

    // A chain of every length as often as any other.
    static count_t items_of_chains(const way& w) {
        return (w.longest_chain + 1) * (w.longest_chain + 2) / 2;
    }
    count_t chains_of_phase(const way& w) const {
        const count_t divisor = num_phases * static_cast<count_t>(num_all) * items_of_chains(w);
        return (num_wanted + divisor - 1) / divisor;
    }

    void run_worker(const way& w, soak_stream::port_type& port, int phase) {
        soaking_worker& own = workers[static_cast<std::size_t>(port.id().worker)];
        for (count_t n = chains_of_phase(w); n > 0; --n) {
            for (std::int32_t length = 0; length <= w.longest_chain; ++length)
                own.push(port, choose_destination(own, phase), length, is_urgent(w, own));
            if (n % 128 == 0) port.progress();
            own.stall_at_random();
        }
        port.drain().wait();
    }

    void run_phase(const way& w, soak_stream& all, int phase) {
        {
            std::jthread other([&] { run_worker(w, all.port(1), phase); });
            run_worker(w, all.port(0), phase);
        }
        num_expected += chains_of_phase(w) * items_of_chains(w) * static_cast<count_t>(num_all);
        ASSERT_NO_FATAL_FAILURE(expect_all_came());
        const auto most =
            all.layout().buffers().size() * static_cast<std::size_t>(w.options.priorities);
        EXPECT_LE(all.statistics().peak_buffers, static_cast<count_t>(num_workers * most));
    }

    void expect_all_came() {
        checksums sent(num_all);
        checksums handled(num_all);
        for (soaking_worker& own : workers) {
            for (std::size_t to = 0; to < num_all; ++to) sent.add(to, own.sent[to]);
            handled.add(own.number, own.handled);
            own.sent.assign(num_all, {});
            own.handled = {};
        }
        sent.add_over_ranks(where.comm().get());
        handled.add_over_ranks(where.comm().get());
        for (const auto count : handled.counts) num_handled += static_cast<count_t>(count);
        count_t num_astray_here = 0;
        for (const soaking_worker& own : workers)
            num_astray_here += static_cast<count_t>(own.num_astray);
        ASSERT_EQ(over_ranks(num_astray_here, MPI_SUM), 0);
        ASSERT_EQ(handled.counts, sent.counts);
        ASSERT_EQ(handled.sums, sent.sums);
        ASSERT_EQ(handled.exclusive_ors, sent.exclusive_ors);
    }

    count_t over_ranks(count_t own, MPI_Op op) const {
        MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT64_T, op, where.comm().get());
        return own;
    }

    context where = test::one_region(communicator(MPI_COMM_WORLD));
    const rank_t rank = where.rank();
    const rank_t num_ranks = where.num_ranks();
    const std::size_t num_all = static_cast<std::size_t>(num_ranks * num_workers);
    const count_t num_wanted = wanted_items();
    const std::vector<way> ways = all_ways(num_ranks);
    const count_t num_phases = num_rounds * static_cast<count_t>(ways.size());
    std::vector<soaking_worker> workers;
    count_t num_expected = 0, num_handled = 0;
    std::vector<count_t> live_bytes;  // once all is at rest, on the rank with most
};

// Lists of what the busiest moment took keep their room, and that moment may come late.
constexpr count_t most_growth_bytes = 256 << 10;

TEST_F(StreamSoak, LosesAndDoublesNothingAndItsMemoryStaysFlat) {
    int thread_support = 0;
    MPI_Query_thread(&thread_support);
    if (thread_support < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI allows one thread";
    std::vector<std::unique_ptr<soak_stream>> streams;
    for (const way& w : ways) streams.push_back(make_stream(w));

    for (int phase = 0; phase < num_phases; ++phase) {
        const std::size_t i = static_cast<std::size_t>(phase) % ways.size();
        ASSERT_NO_FATAL_FAILURE(run_phase(ways[i], *streams[i], phase));
        if (i + 1 == ways.size())
            live_bytes.push_back(over_ranks(static_cast<count_t>(test::used_bytes), MPI_MAX));
    }
    for (auto& one : streams) one->close();

    EXPECT_EQ(num_handled, num_expected);
    EXPECT_GE(num_handled, num_wanted);
    EXPECT_LE(live_bytes.back() - live_bytes.front(), most_growth_bytes);
}

}  // namespace
}  // namespace crossdock::stream_soak_test

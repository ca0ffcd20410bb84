#include "src/stream/stream_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "src/stream/scheme.hpp"
#include "support.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::stream_engine_test {
namespace {

using test::all_schemes;
using test::drain;
using test::stream_world;
using test::thrown_by;

struct item {
    std::uint32_t source;  // number of the worker that pushed it
    std::uint32_t value;
    std::int32_t follow_ups;  // that its handler and those of its follow-ups push, one each
    std::int32_t channel;
};

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<stream_channel> channels_of_items(const stream_options& options) {
    std::vector<stream_channel> result{{sizeof(item), options.buffer_items}};
    if (options.priorities == 2) result.push_back({sizeof(item), options.buffer_items, true});
    return result;
}

stream_options options_of(stream_scheme scheme, const char* route = "direct", int workers = 1,
                          count_t buffer_items = 8) {
    stream_options result;
    result.scheme = scheme;
    result.route = route;
    result.workers = workers;
    result.buffer_items = buffer_items;
    return result;
}

std::string name_of(const topology& nodes, const stream_options& options) {
    return std::string(to_string(options.scheme)) + " on " + options.route + ", nodes " +
           nodes.to_string() + ", " + std::to_string(options.workers) + " workers";
}

std::vector<item> items_of(const stream_arrivals& arrivals) {
    std::vector<item> result(index(arrivals.num_items));
    std::memcpy(result.data(), arrivals.items, result.size() * sizeof(item));
    return result;
}

// What came to each worker from each.
struct tally {
    count_t count = 0;
    count_t sum = 0;
    friend bool operator==(const tally&, const tally&) = default;
};
using tallies = std::vector<std::vector<tally>>;  // by destination, then source

tallies empty_tallies(int num_workers) {
    return tallies(index(num_workers), std::vector<tally>(index(num_workers)));
}

void count(tallies& all, int destination, const item& one) {
    tally& t = all[index(destination)][one.source];
    ++t.count;
    t.sum += one.value;
}

// Where the handler of `one` at a worker sends the next one.
int follow_up_of(const item& one, int here, int num_workers) {
    return (here + static_cast<int>(one.source) + 1) % num_workers;
}

// Every worker pushes so many items to every worker; handlers push on.
struct workload {
    int num_rounds;
    int follow_ups;

    item pushed(int from, int to, int round, int channel) const {
        return {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(1000 * to + round),
                follow_ups, channel};
    }

    tallies expected(int num_workers) const {
        tallies all = empty_tallies(num_workers);
        for (int from = 0; from < num_workers; ++from) {
            for (int to = 0; to < num_workers; ++to) {
                for (int round = 0; round < num_rounds; ++round) {
                    int here = to;
                    for (item one = pushed(from, to, round, 0);;) {
                        count(all, here, one);
                        if (one.follow_ups-- == 0) break;
                        const int next = follow_up_of(one, here, num_workers);
                        one.source = static_cast<std::uint32_t>(here);
                        here = next;
                    }
                }
            }
        }
        return all;
    }
};

// Every third round is urgent, if there are priorities.
void push_all(stream_world& world, stream_worker& worker, int number, const workload& load) {
    for (int round = 0; round < load.num_rounds; ++round) {
        const int channel = round % 3 == 0 ? world.options().priorities - 1 : 0;
        for (int to = 0; to < world.num_workers(); ++to)
            worker.push_item(channel, world.id_of(to), load.pushed(number, to, round, channel));
        if (round % 4 == 3) worker.progress();
    }
}

// Runs a workload in several phases and compares all tallies after each.
void expect_exact(stream_world& world, const workload& load, int num_phases) {
    const int num_workers = world.num_workers();
    const tallies expected = load.expected(num_workers);
    tallies found = empty_tallies(num_workers);
    world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals& arrivals) {
        const int here = world.number_of(worker.id());
        std::size_t i = 0;
        for (item one : items_of(arrivals)) {
            if (world.options().with_source) {
                const std::uint32_t source =
                    arrivals.sources != nullptr ? arrivals.sources[i] : arrivals.source;
                EXPECT_EQ(source, one.source);
            }
            ++i;
            EXPECT_EQ(arrivals.channel, one.channel);
            count(found, here, one);
            if (one.follow_ups-- == 0) continue;
            const int next = follow_up_of(one, here, num_workers);
            one.source = static_cast<std::uint32_t>(here);
            worker.push_item(one.channel, world.id_of(next), one);
        }
    };
    world.on_all([&](stream_worker& worker, int number) {
        for (int phase = 0; phase < num_phases; ++phase) {
            push_all(world, worker, number, load);
            drain(worker);
            // Nothing of this worker is missing, and nothing of the next phase has come.
            for (int source = 0; source < num_workers; ++source) {
                const tally& one = expected[index(number)][index(source)];
                EXPECT_EQ(found[index(number)][index(source)],
                          (tally{one.count * (phase + 1), one.sum * (phase + 1)}))
                    << source << " to " << number << ", phase " << phase;
            }
        }
    });
    for (rank_t rank = 0; rank < world.nodes().num_ranks(); ++rank) {
        EXPECT_TRUE(world.engine(rank).is_at_rest());
    }
}

// Statistics that hold for any run.
void expect_consistent(stream_world& world, const workload& load, int num_phases) {
    const count_t workers = world.num_workers();
    const count_t pushed = workers * workers * load.num_rounds * (1 + load.follow_ups) * num_phases;
    const stream_statistics all = world.statistics();
    EXPECT_EQ(all.items, pushed);
    EXPECT_EQ(all.handled, pushed);
    EXPECT_EQ(all.combined, 0);
    EXPECT_EQ(all.message_items, pushed + all.forwarded);
    EXPECT_EQ(all.hops, pushed + all.forwarded);
    count_t by_cause = 0;
    for (const count_t messages : all.messages_by_cause) by_cause += messages;
    EXPECT_EQ(by_cause, all.messages);
}

class EngineOfScheme : public testing::TestWithParam<stream_scheme> {
  protected:
    template <class Check>
    void for_all_worlds(const Check& check) {
        for (const char* const nodes : {"1x1", "1x3", "3x1", "2,1", "1,3"}) {
            for (const char* const route : {"direct", "grid:2", "hypercube"}) {
                for (const int workers : {1, 3}) {
                    const topology where = topology::from_string(nodes);
                    const stream_options options = options_of(GetParam(), route, workers);
                    SCOPED_TRACE(name_of(where, options));
                    check(where, options);
                    if (HasFailure()) return;
                }
            }
        }
    }
};

TEST_P(EngineOfScheme, EveryItemIsHandledOnceByItsWorker) {
    for_all_worlds([](const topology& nodes, const stream_options& options) {
        stream_world world(nodes, options, channels_of_items(options));
        const workload load{10, 0};

        expect_exact(world, load, 1);

        expect_consistent(world, load, 1);
    });
}

TEST_P(EngineOfScheme, WhatHandlersPushIsHandledInItsPhase) {
    for_all_worlds([](const topology& nodes, stream_options options) {
        options.with_source = true;
        options.priorities = 2;
        stream_world world(nodes, options, channels_of_items(options), 2);
        const workload load{5, 2};

        expect_exact(world, load, 3);

        expect_consistent(world, load, 3);
    });
}

TEST_P(EngineOfScheme, FewBuffersToAWorkerAreEnough) {
    for (const back_pressure pressure : {back_pressure::progress, back_pressure::block}) {
        for (const auto& [route, max_buffers] :
             {std::pair{"direct", 1}, std::pair{"direct", 2}, std::pair{"hypercube", 2}}) {
            stream_options options = options_of(GetParam(), route, 2, 3);
            options.max_buffers = max_buffers;
            options.pressure = pressure;
            SCOPED_TRACE(name_of(topology::from_string("2,1"), options));
            stream_world world(topology::from_string("2,1"), options, channels_of_items(options));
            const workload load{8, 1};

            expect_exact(world, load, 2);

            expect_consistent(world, load, 2);
            EXPECT_GT(world.statistics().waits, 0);
        }
    }
}

TEST_P(EngineOfScheme, WithoutSharedMemoryProcessesOfANodeSendMessages) {
    if (GetParam() == stream_scheme::node) return;  // its nodes are then single processes
    stream_options options = options_of(GetParam(), "direct", 2);
    options.shared_memory = false;
    stream_world world(topology::one_region(3), options, channels_of_items(options));

    expect_exact(world, {6, 1}, 2);

    EXPECT_GT(world.statistics().mpi_messages, 0);
}

TEST_P(EngineOfScheme, WorkersThatShareMemorySendNoMessages) {
    const stream_options options = options_of(GetParam(), "direct", 2);
    stream_world world(topology::one_region(3), options, channels_of_items(options));

    expect_exact(world, {6, 1}, 2);

    EXPECT_EQ(world.statistics().mpi_messages, 0);
    EXPECT_EQ(world.statistics().mpi_bytes, 0);
    EXPECT_GT(world.statistics().messages, 0);
}

// Per source: a worker, a process or a node.
TEST_P(EngineOfScheme, MessagesAndBuffersKeepToTheBounds) {
    for (const count_t g : {1, 4, 7, 1000}) {
        stream_options options = options_of(GetParam(), "direct", 2, g);
        options.flush_on_idle = false;
        options.max_buffers = 256;
        const topology nodes = topology::from_string("2,2");
        stream_world world(nodes, options, channels_of_items(options));
        const workload load{9, 0};

        expect_exact(world, load, 1);

        const bool is_node = GetParam() == stream_scheme::node;
        const count_t num_endpoints = is_node ? nodes.num_regions() : nodes.num_ranks();
        std::map<int, stream_statistics> by_source;
        for (int number = 0; number < world.num_workers(); ++number) {
            const rank_t rank = world.id_of(number).rank;
            const int source = is_node                      ? nodes.region_of(rank)
                               : fills_together(GetParam()) ? rank
                                                            : number;
            by_source[source] += world.worker(number).statistics();
        }
        for (const auto& [source, counts] : by_source) {
            const message_bounds bounds =
                stream_message_bounds(GetParam(), counts.items, g, num_endpoints, 2);
            EXPECT_GE(counts.messages, bounds.least) << g;
            EXPECT_LE(counts.messages, bounds.most) << g;
            EXPECT_EQ(counts.overflow_buffers, 0);
        }
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            const count_t peak = world.statistics(rank).peak_buffers;
            EXPECT_LE(peak * g, max_buffered_items(GetParam(), g, num_endpoints, 2));
        }
        EXPECT_GT(world.statistics().peak_buffers, 0);
    }
}

TEST_P(EngineOfScheme, ABufferTakesNoMoreBytesThanItsItemsAndAFewMore) {
    for_all_worlds([](const topology& nodes, stream_options options) {
        options.with_source = true;
        stream_world world(nodes, options, channels_of_items(options));
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            const auto& shape = world.engine(rank).shape();
            const auto items = index(options.buffer_items) * (sizeof(item) + 8);
            EXPECT_LE(shape.stride(), items + 400 + 8 * index(shape.group_size()));
        }
    });
}

// ------------------------------------------------------------------------------- combining

struct keyed {
    std::uint64_t key;
    std::int64_t value;
};

keyed keyed_at(const std::byte* bytes) {
    keyed result{};
    std::memcpy(&result, bytes, sizeof result);
    return result;
}

void combine_keyed(std::byte* into, const std::byte* other) {
    keyed both = keyed_at(into);
    both.value += keyed_at(other).value;
    std::memcpy(into, &both, sizeof both);
}

void push_keyed(stream_worker& worker, worker_id to, const keyed& one) {
    worker.push_combining(
        0, to, one, one.key, [](const std::byte* waiting) { return keyed_at(waiting).key; },
        [&](std::byte* waiting) {
            combine_keyed(waiting, reinterpret_cast<const std::byte*>(&one));
        });
}

TEST_P(EngineOfScheme, CombinedItemsHaveTheSumOfAll) {
    constexpr int num_keys = 2;
    constexpr int num_rounds = 40;
    for_all_worlds([](const topology& nodes, stream_options options) {
        options.buffer_items = 64;
        stream_world world(nodes, options, {{sizeof(keyed), options.buffer_items, false, true}});
        const int num_workers = world.num_workers();
        std::vector<std::array<std::int64_t, num_keys>> sums(index(num_workers));
        world.sink.key_of = [](const std::byte* one) { return keyed_at(one).key; };
        world.sink.combine_into = combine_keyed;
        world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals& arrivals) {
            auto& own = sums[index(world.number_of(worker.id()))];
            for (count_t i = 0; i < arrivals.num_items; ++i) {
                const keyed one = keyed_at(arrivals.items + index(i) * sizeof(keyed));
                own[one.key] += one.value;
            }
        };

        world.on_all([&](stream_worker& worker, int number) {
            for (int round = 0; round < num_rounds; ++round) {
                for (int to = 0; to < num_workers; ++to) {
                    push_keyed(worker, world.id_of(to),
                               {static_cast<std::uint64_t>(round % num_keys), number + round});
                }
            }
            drain(worker);
        });

        for (int key = 0; key < num_keys; ++key) {
            std::int64_t expected = 0;
            for (int number = 0; number < num_workers; ++number) {
                for (int round = key; round < num_rounds; round += num_keys) {
                    expected += number + round;
                }
            }
            for (const auto& own : sums) EXPECT_EQ(own[index(key)], expected);
        }
        const stream_statistics all = world.statistics();
        EXPECT_EQ(all.items, count_t{num_rounds} * num_workers * num_workers);
        EXPECT_EQ(all.handled + all.combined, all.items);
        EXPECT_GT(all.combined, 0);
    });
}

INSTANTIATE_TEST_SUITE_P(All, EngineOfScheme, testing::ValuesIn(all_schemes),
                         [](const auto& one) { return std::string(to_string(one.param)); });

TEST(StreamEngine, OrderedItemsComeInTheOrderOfTheirPushes) {
    for (const stream_scheme scheme : {stream_scheme::ww, stream_scheme::wps, stream_scheme::wsp}) {
        for (const char* const where : {"4x1", "2,2", "1x4"}) {
            stream_options options = options_of(scheme, "direct", 2, 3);
            options.ordered = true;
            SCOPED_TRACE(name_of(topology::from_string(where), options));
            stream_world world(topology::from_string(where), options, channels_of_items(options));
            constexpr std::uint32_t num_items = 60;
            const int num_workers = world.num_workers();
            std::vector<std::vector<std::uint32_t>> next(
                index(num_workers), std::vector<std::uint32_t>(index(num_workers)));
            world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals& arrivals) {
                auto& of_source = next[index(world.number_of(worker.id()))];
                for (const item& one : items_of(arrivals)) {
                    EXPECT_EQ(one.value, of_source[one.source]++);
                }
            };

            world.on_all([&](stream_worker& worker, int number) {
                for (std::uint32_t i = 0; i < num_items; ++i) {
                    for (int to = 0; to < num_workers; ++to) {
                        worker.push_item(0, world.id_of(to),
                                         item{static_cast<std::uint32_t>(number), i, 0, 0});
                    }
                    if (i % 7 == 0) worker.progress();
                }
                drain(worker);
            });

            for (const auto& of_source : next) {
                for (const std::uint32_t n : of_source) EXPECT_EQ(n, num_items);
            }
        }
    }
}

// --------------------------------------------------------------------------- one worker

// One process with one worker: everything happens in a known order.
class LoneWorker : public testing::Test {
  protected:
    // Handlers run in `progress()` only.
    stream_worker& start(stream_options options, std::vector<stream_channel> channels) {
        options.workers = 1;
        if (options.pressure == back_pressure::progress) options.pressure = back_pressure::block;
        world_.emplace(topology::one_region(1), std::move(options), std::move(channels));
        world_->sink.on_arrival = [this](stream_worker&, const stream_arrivals& arrivals) {
            for (const item& one : items_of(arrivals)) values_.push_back(one.value);
        };
        return world_->worker(0);
    }
    stream_worker& start(const stream_options& options) {
        return start(options, channels_of_items(options));
    }

    static void push(stream_worker& worker, std::uint32_t value, int channel = 0) {
        worker.push_item(channel, {0, 0}, item{0, value, 0, 0});
    }

    std::array<count_t, num_flush_causes> causes() {
        return world_->worker(0).statistics().messages_by_cause;
    }

    std::optional<stream_world> world_;
    std::vector<std::uint32_t> values_;
};

// In the order full, request, idle, age, pressure, urgent, drain.
using by_cause = std::array<count_t, num_flush_causes>;

TEST_F(LoneWorker, ABufferMayBeSmallerThanOthers) {
    stream_worker& worker = start(options_of(stream_scheme::ww, "direct", 1, 5));
    push(worker, 0);

    worker.set_buffer_items({0, 0}, 2);
    for (std::uint32_t i = 1; i < 6; ++i) push(worker, i);
    worker.set_buffer_items({0, 0}, 5);
    for (std::uint32_t i = 6; i < 12; ++i) push(worker, i);

    // 0 and 5 left when sizes changed; 1 2, 3 4 and 6 to 10 when they were full.
    EXPECT_EQ(causes(), (by_cause{3, 2, 0, 0, 0, 0, 0}));
    EXPECT_EQ(worker.progress(), 11);
    drain(worker);
    EXPECT_EQ(values_, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(LoneWorker, TheSizeOfABufferHasBounds) {
    for (const stream_scheme scheme : all_schemes) {
        stream_worker& worker = start(options_of(scheme, "direct", 1, 5));

        for (const count_t items : {-1, 0, 6}) {
            EXPECT_THROW(worker.set_buffer_items({0, 0}, items), error);
        }
        EXPECT_THROW(worker.set_buffer_items({1, 0}, 3), error);
        if (fills_together(scheme)) {
            EXPECT_THROW(worker.set_buffer_items({0, 0}, 3), error);
        }
        push(worker, 7);
        drain(worker);
        EXPECT_EQ(values_, std::vector<std::uint32_t>{7});
        values_.clear();
    }
    stream_worker& of_records = start(options_of(stream_scheme::ww), {{0, 96}});
    EXPECT_THROW(of_records.set_buffer_items({0, 0}, 3), error);
}

TEST_F(LoneWorker, AnIdleWorkerSendsWhatThereIs) {
    stream_worker& worker = start(options_of(stream_scheme::ww, "direct", 1, 2));
    push(worker, 1);
    push(worker, 2);
    push(worker, 3);

    EXPECT_EQ(worker.progress(), 2);  // was not idle
    EXPECT_EQ(causes(), (by_cause{1, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(worker.progress(), 0);

    EXPECT_EQ(causes(), (by_cause{1, 0, 1, 0, 0, 0, 0}));
    EXPECT_EQ(worker.progress(), 1);
}

TEST_F(LoneWorker, AYoungBufferStays) {
    stream_options options = options_of(stream_scheme::pp);
    options.flush_on_idle = false;
    options.max_age_seconds = 1000;
    stream_worker& worker = start(options);
    push(worker, 1);

    worker.progress();

    EXPECT_EQ(causes(), by_cause{});
}

TEST_F(LoneWorker, AnOldSharedBufferLeaves) {
    stream_options options = options_of(stream_scheme::pp, "direct", 1, 100);
    options.flush_on_idle = false;
    options.max_age_seconds = 0.01;
    stream_worker& worker = start(options);
    for (std::uint32_t i = 0; i < 50; ++i) push(worker, i);

    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    worker.progress();

    EXPECT_EQ(causes(), (by_cause{0, 0, 0, 1, 0, 0, 0}));
    EXPECT_EQ(worker.progress(), 50);
}

TEST_F(LoneWorker, ADrainSendsTheRest) {
    for (const stream_scheme scheme : all_schemes) {
        stream_worker& worker = start(options_of(scheme, "direct", 1, 3));
        for (std::uint32_t i = 0; i < 4; ++i) push(worker, i);

        drain(worker);

        EXPECT_EQ(causes(), (by_cause{1, 0, 0, 0, 0, 0, 1})) << to_string(scheme);
        EXPECT_EQ(worker.statistics().handled, 4);
    }
}

TEST(StreamEngine, UnderPressureTheOldestBufferLeaves) {
    stream_options options = options_of(stream_scheme::ww);
    options.max_buffers = 2;
    stream_world world(topology::from_string("1x3"), options, channels_of_items(options));
    world.sink.on_arrival = [](stream_worker&, const stream_arrivals&) {};
    stream_worker& worker = world.worker(0);
    worker.push_item(0, {1, 0}, item{});
    worker.push_item(0, {2, 0}, item{});
    EXPECT_EQ(worker.statistics().messages, 0);
    std::thread other([&] {
        while (world.worker(1).statistics().handled == 0) world.worker(1).progress();
    });

    worker.push_item(0, {0, 0}, item{});  // waits until rank 1 has given its buffer back
    other.join();

    EXPECT_EQ(worker.statistics().messages_by_cause, (by_cause{0, 0, 0, 0, 1, 0, 0}));
    EXPECT_EQ(worker.statistics().waits, 1);
    EXPECT_EQ(world.worker(1).statistics().handled, 1);
}

// While the only buffer within the bound is being handled: 128 items to each.
TEST(StreamEngine, WhatHandlersPushBeyondTheBoundFillsItsBuffers) {
    for (const stream_scheme scheme : all_schemes) {
        stream_options options = options_of(scheme, "direct", 1, 128);
        options.max_buffers = 1;
        const topology nodes = topology::from_string("2x1");
        stream_world world(nodes, options, channels_of_items(options));
        count_t num_handled = 0;
        world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals& arrivals) {
            num_handled += arrivals.num_items;
            if (worker.id().rank != 0) return;
            for (int i = 0; i < 1024; ++i) worker.push_item(0, {1, 0}, item{});
        };
        world.worker(0).push_item(0, {0, 0}, item{});

        world.on_all([](stream_worker& worker, int) { drain(worker); });

        EXPECT_EQ(num_handled, 1025) << to_string(scheme);
        EXPECT_EQ(world.statistics().overflow_buffers, 8) << to_string(scheme);
    }
}

// One worker pushes 10 times as much as all buffers hold to one that handles only when nothing more can be pushed.
TEST(StreamEngine, ForASlowReceiverNoMoreIsHeldThanTheBound) {
    for (const count_t receive_buffers : {0, 32}) {
        stream_options options = options_of(stream_scheme::ww);
        options.max_buffers = 4;
        options.pressure = back_pressure::fail;
        options.shared_memory = receive_buffers == 0;
        stream_world world(topology::from_string("2"), options, channels_of_items(options));
        const count_t bound = (options.max_buffers + receive_buffers) * options.buffer_items;
        stream_worker& slow = world.worker(1);
        count_t num_handled = 0;
        world.sink.on_arrival = [&](stream_worker&, const stream_arrivals& a) {
            num_handled += a.num_items;
        };
        const auto finds_room = [&] {
            bool found = false;
            for (int i = 0; !found && i < 100; ++i) found = world.worker(0).has_room(0, {1, 0});
            return found;
        };
        EXPECT_EQ(slow.progress(), 0);  // posts its receives

        count_t most_held = 0;
        for (count_t num_pushed = 0; num_pushed < 10 * bound;) {
            if (finds_room()) {
                world.worker(0).push_item(0, {1, 0}, item{});
                most_held = std::max(most_held, ++num_pushed - num_handled);
            } else {
                EXPECT_LE(slow.progress(),
                          receive_buffers == 0 ? bound : 32 * options.buffer_items);
            }
        }
        world.on_all([](stream_worker& worker, int) { drain(worker); });

        EXPECT_EQ(most_held, bound);
        EXPECT_EQ(num_handled, 10 * bound);
        EXPECT_EQ(world.statistics().overflow_buffers, 0);
    }
}

// In calls: whatever has come is handled by the next one, between nodes up to 32 buffers.
TEST(StreamEngine, AnItemThatIsFlushedIsHandledByTheNextCallOfAReceiverOfItsNode) {
    const stream_options options = options_of(stream_scheme::ww);
    stream_world world(topology::from_string("2"), options, channels_of_items(options));
    world.sink.on_arrival = [](stream_worker&, const stream_arrivals&) {};
    for (const count_t num_items : {1, 8, 8 * 20 + 3}) {
        for (count_t i = 0; i < num_items; ++i) world.worker(0).push_item(0, {1, 0}, item{});

        world.worker(0).flush();

        EXPECT_EQ(world.worker(1).progress(), num_items);
    }
}

TEST_F(LoneWorker, WithoutRoomAPushMayFail) {
    stream_options options = options_of(stream_scheme::ww, "direct", 1, 2);
    options.max_buffers = 1;
    options.pressure = back_pressure::fail;
    stream_worker& worker = start(options);
    EXPECT_TRUE(worker.has_room(0, {0, 0}));
    push(worker, 1);
    EXPECT_TRUE(worker.has_room(0, {0, 0}));  // in the buffer that has begun
    EXPECT_EQ(causes(), by_cause{});
    push(worker, 2);

    EXPECT_FALSE(worker.has_room(0, {0, 0}));
    EXPECT_EQ(thrown_by([&] { push(worker, 3); }).code(), errc::invalid_state);
    EXPECT_EQ(worker.progress(), 2);
    push(worker, 4);
    drain(worker);
    EXPECT_EQ(values_, (std::vector<std::uint32_t>{1, 2, 4}));
    EXPECT_EQ(worker.statistics().items, 3);
}

TEST_F(LoneWorker, UrgentItemsLeaveAtOnceAndAreHandledFirst) {
    for (const stream_scheme scheme : all_schemes) {
        values_.clear();
        stream_options options = options_of(scheme, "direct", 1, 2);
        options.priorities = 2;
        options.flush_on_idle = false;
        stream_worker& worker = start(options);
        push(worker, 1);
        push(worker, 2);
        push(worker, 3);
        push(worker, 100, 1);
        push(worker, 101, 1);
        push(worker, 102, 1);

        worker.progress();
        worker.progress();

        EXPECT_EQ(values_, (std::vector<std::uint32_t>{100, 101, 1, 2, 102})) << to_string(scheme);
        EXPECT_EQ(causes(), (by_cause{2, 0, 0, 0, 0, 1, 0})) << to_string(scheme);
    }
}

TEST_F(LoneWorker, UrgentItemsLeaveEvenIfTheyJustFillWhatIsStaged) {
    constexpr std::uint32_t num_items = 512 / sizeof(item);
    for (const stream_scheme scheme : {stream_scheme::pp, stream_scheme::node}) {
        values_.clear();
        stream_options options = options_of(scheme, "direct", 1, 100);
        options.priorities = 2;
        stream_worker& worker = start(options);
        for (std::uint32_t i = 0; i < num_items; ++i) push(worker, i, 1);

        worker.progress();
        worker.progress();

        EXPECT_EQ(values_.size(), num_items) << to_string(scheme);
        EXPECT_EQ(causes(), (by_cause{0, 0, 0, 0, 0, 1, 0})) << to_string(scheme);
    }
}

TEST(StreamEngine, AnExceptionOfAHandlerReachesItsWorkerAndEndsTheStream) {
    for (const stream_scheme scheme : all_schemes) {
        const stream_options options = options_of(scheme, "direct", 2);
        stream_world world(topology::from_string("2,1"), options, channels_of_items(options));
        constexpr int thrower = 3;  // worker 1 of rank 1
        world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals&) {
            if (world.number_of(worker.id()) == thrower) throw std::runtime_error("no more");
        };
        std::vector<std::string> texts(index(world.num_workers()));
        std::vector<int> num_refused(index(world.num_workers()));

        world.on_all([&](stream_worker& worker, int number) {
            try {
                push_all(world, worker, number, {3, 0});
            } catch (const error& early) {
                EXPECT_EQ(early.code(), errc::handler_failed);
            }
            try {
                drain(worker);
            } catch (const error& fault) {
                EXPECT_EQ(fault.code(), errc::handler_failed);
                EXPECT_EQ(fault.rank(), 1);
                texts[index(number)] = "elsewhere";
            } catch (const std::runtime_error& fault) {
                texts[index(number)] = fault.what();
            }
            try {
                worker.push_item(0, {0, 0}, item{});
            } catch (const error& fault) {
                EXPECT_EQ(fault.code(), errc::handler_failed);
                ++num_refused[index(number)];
            }
        });

        std::vector<std::string> expected(index(world.num_workers()), "elsewhere");
        expected[thrower] = "no more";
        EXPECT_EQ(texts, expected) << to_string(scheme);
        EXPECT_EQ(num_refused, std::vector<int>(index(world.num_workers()), 1));
    }
}

// --------------------------------------------------------------------------- samples, records

TEST_F(LoneWorker, EveryNthPushIsSampled) {
    for (const stream_scheme scheme : all_schemes) {
        stream_options options = options_of(scheme, "direct", 1, 8);
        options.latency_sample_interval = 10;
        stream_worker& worker = start(options);

        for (std::uint32_t i = 0; i < 53; ++i) push(worker, i);
        drain(worker);

        EXPECT_EQ(worker.statistics().latency.count(), 5) << to_string(scheme);
    }
}

TEST_F(LoneWorker, SamplesThatTravelAreCountedAtTheirEnd) {
    for (const stream_scheme scheme : all_schemes) {
        for (const char* const route : {"direct", "hypercube"}) {
            stream_options options = options_of(scheme, route, 2, 4);
            options.latency_sample_interval = 10;
            stream_world world(topology::from_string("4x1"), options, channels_of_items(options));
            world.sink.on_arrival = [](stream_worker&, const stream_arrivals&) {};

            world.on_all([&](stream_worker& worker, int) {
                for (int i = 0; i < 40; ++i) {
                    worker.push_item(0, world.id_of(i % world.num_workers()), item{});
                }
                drain(worker);
            });

            const count_t samples = world.statistics().latency.count();
            EXPECT_LE(samples, 8 * 4) << to_string(scheme) << ' ' << route;
            EXPECT_GT(samples, 0) << to_string(scheme) << ' ' << route;
        }
    }
}

TEST(StreamEngine, RecordsOfAnySizeArrive) {
    for (const stream_scheme scheme : all_schemes) {
        for (const char* const route : {"direct", "grid:2", "hypercube"}) {
            stream_options options = options_of(scheme, route, 2, 96);
            options.with_source = true;
            SCOPED_TRACE(name_of(topology::from_string("2,3"), options));
            stream_world world(topology::from_string("2,3"), options, {{0, 96}});
            const int num_workers = world.num_workers();
            std::vector<std::map<std::size_t, int>> sizes(index(num_workers));
            world.sink.on_arrival = [&](stream_worker& worker, const stream_arrivals& arrivals) {
                const std::byte* at = arrivals.items;
                for (count_t i = 0; i < arrivals.num_items; ++i) {
                    stream_record record;
                    std::memcpy(&record, at, sizeof record);
                    for (std::uint32_t b = 0; b < record.num_bytes; ++b) {
                        EXPECT_EQ(at[sizeof record + b], std::byte(arrivals.sources[i]));
                    }
                    ++sizes[index(world.number_of(worker.id()))][record.num_bytes];
                    at += stream_record::room(record.num_bytes);
                }
                EXPECT_EQ(at, arrivals.items + arrivals.num_bytes);
            };

            world.on_all([&](stream_worker& worker, int number) {
                const std::vector<std::byte> bytes(80, std::byte(number));
                for (const std::size_t size : {0u, 1u, 8u, 80u, 30u, 80u, 0u, 79u}) {
                    for (int to = 0; to < num_workers; ++to) {
                        worker.push_record(0, world.id_of(to), bytes.data(), size);
                    }
                }
                drain(worker);
            });

            const std::map<std::size_t, int> expected{{0, 2 * num_workers}, {1, num_workers},
                                                      {8, num_workers},     {30, num_workers},
                                                      {79, num_workers},    {80, 2 * num_workers}};
            for (const auto& own : sizes) EXPECT_EQ(own, expected);
            const stream_statistics all = world.statistics();
            EXPECT_EQ(all.items, 8 * num_workers * num_workers);
            EXPECT_EQ(all.handled, all.items);
        }
    }
}

TEST_F(LoneWorker, ARecordThatDoesNotFitIsRefused) {
    stream_worker& worker = start(options_of(stream_scheme::ww), {{0, 64}});
    const std::vector<std::byte> bytes(64);
    world_->sink.on_arrival = [](stream_worker&, const stream_arrivals&) {};

    EXPECT_EQ(thrown_by([&] {
                  worker.push_record(0, {0, 0}, bytes.data(), 49);
              }).code(),
              errc::size_mismatch);
    worker.push_record(0, {0, 0}, bytes.data(), 48);
    drain(worker);
    EXPECT_EQ(worker.statistics().handled, 1);
}

// Among processes that share memory nothing of the stream is under way by MPI.
TEST(Engine, AWorkerThatWaitsMakesProgressBesideTheStreamNowAndThen) {
    const auto options = options_of(stream_scheme::ww);
    stream_world world(topology::from_string("2"), options, channels_of_items(options));

    for (int turn = 0; turn < 600; ++turn) EXPECT_EQ(world.worker(0).progress(), 0);

    EXPECT_EQ(world.num_progress_calls(), 2);
}

stream_options with_communication_thread() {
    auto options = options_of(stream_scheme::ww);
    options.communication_thread = true;
    return options;
}

TEST(Engine, OnlyACommunicationThreadSendsAndReceives) {
    const auto options = with_communication_thread();
    stream_world world(topology::from_string("1,1"), options, channels_of_items(options));
    count_t num_handled = 0;
    world.sink.on_arrival = [&](stream_worker&, const stream_arrivals& a) {
        num_handled += a.num_items;
    };
    world.worker(0).push_item(0, {1, 0}, item{});
    world.worker(0).flush();

    for (int turn = 0; turn < 600; ++turn) {
        world.worker(0).progress();
        world.worker(1).progress();
    }
    EXPECT_EQ(num_handled, 0);
    EXPECT_EQ(world.num_progress_calls(), 0);

    while (num_handled == 0) {
        for (const rank_t rank : {0, 1}) world.engine(rank).drive();
        world.worker(1).progress();
    }
    EXPECT_EQ(num_handled, 1);
}

TEST(Engine, WhatFailsACommunicationThreadAllPortsOfTheProcessThrow) {
    auto options = with_communication_thread();
    options.workers = 2;
    stream_world world(topology::from_string("1,1"), options, channels_of_items(options));
    world.worker(0).start_drain();
    world.take_network_down();
    EXPECT_FALSE(world.worker(0).test_drain());

    EXPECT_THROW(world.engine(0).drive(), std::runtime_error);

    EXPECT_THROW(world.worker(0).test_drain(), std::runtime_error);
    EXPECT_THROW(world.worker(1).progress(), std::runtime_error);
    EXPECT_EQ(world.worker(2).progress(), 0);
}

TEST(Engine, ACommunicationThreadThatAloneMayDriveUsesNoPort) {
    const auto options = with_communication_thread();
    stream_world world(topology::from_string("1,1"), options, channels_of_items(options), 1,
                       std::this_thread::get_id());
    world.worker(0).push_item(0, {1, 0}, item{});

    EXPECT_EQ(thrown_by([&] { world.worker(0).progress(); }).code(), errc::invalid_state);
}

}  // namespace
}  // namespace crossdock::stream_engine_test

#include "src/stream/stream_chunk.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "chunk_blocks.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::stream_chunk_test {
namespace {

using test::shared_node;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<chunk_ref> free_chunks(const chunk_memory& memory, std::uint32_t owner) {
    std::vector<chunk_ref> result;
    memory.take_free(owner, result);
    return result;
}

const std::vector<stream_channel> words{{8, 10}};

struct extras {
    int tag_bytes;
    int source_bytes;
};
constexpr std::array all_extras{extras{0, 0}, extras{2, 0}, extras{4, 0},
                                extras{0, 4}, extras{2, 4}, extras{4, 4}};

// A chunk of channel 0 with `units` items filled in as a worker does.
void fill(const chunk& c, const chunk_layout& shape, extras e, std::uint32_t units) {
    c.head().channel = 0;
    for (std::uint32_t i = 0; i < units; ++i) {
        const std::uint64_t item = 1000 + i;
        const std::uint32_t tag = 50000 + i;
        std::memcpy(c.items() + 8 * i, &item, 8);
        std::memcpy(c.open_tags() + index(e.tag_bytes) * i, &tag, index(e.tag_bytes));
        if (e.source_bytes > 0) c.open_sources()[i] = 70000 + i;
    }
    ASSERT_LE(units, shape.capacity(0));
}

TEST(Chunk, ClosingMovesTagsAndSourcesBehindTheItems) {
    for (const extras e : all_extras) {
        const chunk_layout shape(words, 3, e.tag_bytes, e.source_bytes);
        const shared_node node(shape, {1, 1, 0, 0}, 1);
        const chunk c = node.processes[0].at(free_chunks(node.processes[0], 0).at(0));
        for (std::uint32_t units = 0; units <= 10; ++units) {
            fill(c, shape, e, units);

            c.close(units);

            SCOPED_TRACE(units);
            EXPECT_EQ(c.head().units, units);
            EXPECT_EQ(c.tags(), c.items() + (8 * units + 3) / 4 * 4);
            for (std::uint32_t i = 0; i < units; ++i) {
                std::uint64_t item = 0;
                std::memcpy(&item, c.items() + 8 * i, 8);
                EXPECT_EQ(item, 1000U + i);
                if (e.source_bytes > 0) {
                    EXPECT_EQ(c.sources()[i], 70000U + i);
                }
            }
            std::uint32_t next = 0;
            c.for_each_tag([&](std::uint32_t i, std::uint32_t tag) {
                EXPECT_EQ(i, next++);
                EXPECT_EQ(tag, e.tag_bytes > 0 ? 50000U + i : 0);
            });
            EXPECT_EQ(next, units);
            EXPECT_EQ(c.message().size(), shape.end(0, units) - shape.head_at());
            EXPECT_EQ(c.message().data(), reinterpret_cast<const std::byte*>(&c.head()));
        }
    }
}

TEST(Chunk, KeepsTheFirstSamples) {
    const chunk_layout shape(words, 1, 0, 0);
    const shared_node node(shape, {1, 1, 0, 0}, 1);
    const chunk c = node.processes[0].at(free_chunks(node.processes[0], 0).at(0));

    for (std::uint32_t i = 0; i < 5; ++i) c.add_sample(i, 100 + i);

    EXPECT_EQ(c.head().num_samples.load(), 5U);  // those without room are counted
    EXPECT_EQ(c.head().sample_positions, (std::array<std::uint32_t, 2>{0, 1}));
    EXPECT_EQ(c.head().sample_nanoseconds, (std::array<std::int64_t, 2>{100, 101}));
}

TEST(ChunkMemory, MoreChunksThanAReferenceNamesAreRefused) {
    const chunk_layout shape(words, 1, 0, 0);
    const auto bytes = [&](std::uint32_t chunks) {
        return chunk_memory::block_bytes(shape, {2, chunks, 0, 0});
    };

    EXPECT_EQ(test::thrown_by([&] { bytes(1 << 19); }).code(), errc::invalid_argument);
    EXPECT_GT(bytes((1 << 19) - 1), std::size_t{1} << 20);
}

TEST(ChunkMemory, TheMostSharedBuffersAtATimeAreKnownToAll) {
    const chunk_layout shape(words, 2, 2, 0);
    const shared_node node(shape, {1, 1, 0, 9}, 2);

    for (const int change : {-1, -1, 1, 1, 1, 1, 1, -1, -1, 1})
        node.processes[1].count_shared(0, change);

    EXPECT_EQ(node.processes[0].peak_shared(0), 3);
    EXPECT_EQ(node.processes[0].peak_shared(1), 0);
    EXPECT_EQ(node.processes[0].shared_buffer(0, 8).load(), 0U);
}

// What a sender writes into a chunk, so that the taker can tell order and loss.
struct mark {
    std::uint32_t sender;
    std::uint32_t number;
};

// Puts a free chunk of worker `sender` with the next number; false if none is free.
void send_numbered(const chunk_memory& memory, std::uint32_t sender, std::uint32_t count,
                   int receiver) {
    std::vector<chunk_ref> free;
    for (std::uint32_t number = 0; number < count;) {
        memory.take_free(sender, free);
        if (free.empty()) std::this_thread::yield();
        while (!free.empty() && number < count) {
            const mark m{sender, number++};
            std::memcpy(memory.at(free.back()).items(), &m, sizeof m);
            memory.put(memory.here(), receiver, false, free.back());
            free.pop_back();
        }
    }
    for (const chunk_ref ref : free) memory.give_back(ref);
}

// Several threads put and take back free chunks; one takes and gives back.
TEST(ChunkMemory, NothingIsLostOrReorderedAmongThreads) {
    constexpr std::uint32_t num_senders = 3;
    constexpr std::uint32_t count = 5000;
    constexpr int receiver = 3;
    const chunk_layout shape(words, 4, 0, 0);
    const shared_node node(shape, {4, 5, 0, 0}, 1);
    const chunk_memory& memory = node.processes[0];
    std::vector<std::thread> senders;
    for (std::uint32_t s = 0; s < num_senders; ++s) {
        senders.emplace_back([&, s] { send_numbered(memory, s, count, receiver); });
    }

    std::array<std::uint32_t, num_senders> next{};
    std::vector<chunk_ref> taken;
    for (std::uint32_t total = 0; total < num_senders * count;) {
        taken.clear();
        memory.take(receiver, false, taken);
        if (taken.empty()) std::this_thread::yield();
        for (const chunk_ref ref : taken) {
            mark m{};
            std::memcpy(&m, memory.at(ref).items(), sizeof m);
            ASSERT_EQ(m.number, next[m.sender]++);
            memory.give_back(ref);
            ++total;
        }
    }
    for (std::thread& sender : senders) sender.join();

    EXPECT_EQ(next, (std::array<std::uint32_t, num_senders>{count, count, count}));
    EXPECT_FALSE(memory.has_arrivals(receiver));
    for (std::uint32_t s = 0; s < num_senders; ++s) EXPECT_EQ(free_chunks(memory, s).size(), 5U);
}

// Two processes pass all chunks to and fro, and free each other's.
TEST(ChunkMemory, ProcessesFreeEachOthersChunks) {
    constexpr int rounds = 3000;
    const chunk_layout shape(words, 2, 0, 0);
    const shared_node node(shape, {1, 4, 0, 0}, 2);
    std::array<int, 2> handled{};
    const auto run = [&](int here) {
        const chunk_memory& memory = node.processes[index(here)];
        std::vector<chunk_ref> free;
        std::vector<chunk_ref> taken;
        for (int sent = 0; sent < rounds || handled[index(here)] < rounds;) {
            memory.take_free(0, free);
            while (!free.empty() && sent < rounds) {
                memory.put(1 - here, 0, false, free.back());
                free.pop_back();
                ++sent;
            }
            taken.clear();
            memory.take(0, false, taken);
            if (taken.empty()) std::this_thread::yield();
            for (const chunk_ref ref : taken) memory.give_back(ref);
            handled[index(here)] += static_cast<int>(taken.size());
        }
        for (const chunk_ref ref : free) memory.give_back(ref);
    };

    std::thread other([&] { run(1); });
    run(0);
    other.join();

    EXPECT_EQ(handled, (std::array<int, 2>{rounds, rounds}));
    EXPECT_EQ(free_chunks(node.processes[0], 0).size(), 4U);
    EXPECT_EQ(free_chunks(node.processes[1], 0).size(), 4U);
}

}  // namespace
}  // namespace crossdock::stream_chunk_test

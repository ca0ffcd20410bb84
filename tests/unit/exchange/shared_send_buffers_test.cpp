// A thread for each rank of a domain, so that ThreadSanitizer sees how messages are handed over.
#include "src/exchange/shared_send_buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>

namespace crossdock::shared_send_buffers_test {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t head_bytes = sizeof(envelope_head);

struct line_delete {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{line}); }
};

// What a rank hands to another: who it is really for, and the text.
struct note {
    std::size_t member;
    rank_t destination;
    std::string text;
    bool is_announced = false;
};

struct received_note {
    rank_t source;
    rank_t destination;
    count_t bytes;
    std::string text;
    bool is_announced;

    friend bool operator==(const received_note&, const received_note&) = default;
};

// One rank of a domain, which keeps what comes.
class member {
  public:
    member(std::vector<std::byte*> send_buffers, std::size_t here, std::size_t room_bytes)
        : send_buffers_(std::move(send_buffers), here, room_bytes),
          here_(static_cast<rank_t>(here)) {
        send_buffers_.initialize();
    }

    std::vector<received_note> exchange(const std::vector<note>& notes,
                                        const error_vote& own = {false, {1, 8}}) {
        std::vector<placed_envelope> messages;
        for (const auto& one : notes) {
            const auto* const data = reinterpret_cast<const std::byte*>(one.text.data());
            messages.push_back({{here_, one.destination, static_cast<count_t>(one.text.size()),
                                 one.text.empty() ? nullptr : data, one.is_announced},
                                one.member});
        }
        std::deque<std::string> came;
        std::vector<envelope> arrived;
        agreed = send_buffers_.exchange(
            agreement(own), messages,
            [&](count_t bytes) {
                auto& room = came.emplace_back(static_cast<std::size_t>(bytes), '?');
                return reinterpret_cast<std::byte*>(room.data());
            },
            [] { std::this_thread::yield(); }, arrived);
        std::vector<received_note> result;
        for (std::size_t i = 0; i < arrived.size(); ++i) {
            const auto& [source, destination, bytes, data, is_announced] = arrived[i];
            result.push_back({source, destination, bytes, came[i], is_announced});
        }
        std::ranges::stable_sort(result, {}, &received_note::source);  // rounds bring them in turn
        return result;
    }

    agreement agreed;

  private:
    shared_send_buffers send_buffers_;
    rank_t here_;
};

class domain {
  public:
    domain(std::size_t num_ranks, std::size_t room_bytes) {
        const std::size_t bytes = shared_send_buffers::send_buffer_bytes(num_ranks, room_bytes);
        std::vector<std::byte*> send_buffers;
        for (std::size_t rank = 0; rank < num_ranks; ++rank) {
            memory_.emplace_back(
                static_cast<std::byte*>(::operator new (bytes, std::align_val_t{line})));
            send_buffers.push_back(memory_.back().get());
        }
        for (std::size_t rank = 0; rank < num_ranks; ++rank)
            members_.emplace_back(send_buffers, rank, room_bytes);
    }

    // Calls `run(rank, member)` in a thread for each rank.
    template <class Run>
    void in_threads(Run&& run) {
        std::vector<std::jthread> threads;
        for (std::size_t rank = 0; rank < members_.size(); ++rank)
            threads.emplace_back([&, rank] { run(rank, members_[rank]); });
    }

  private:
    std::vector<std::unique_ptr<std::byte, line_delete>> memory_;
    std::deque<member> members_;
};

// Few words for most, several for some, and now and then one that is longer than any send buffer of these tests.
std::vector<note> random_notes(std::size_t here, std::size_t num_ranks, std::mt19937_64& random) {
    std::vector<note> notes;
    for (auto i = random() % 7; num_ranks > 1 && i > 0; --i) {
        const std::size_t other = (here + 1 + random() % (num_ranks - 1)) % num_ranks;
        const bool is_long = random() % 16 == 0;
        const std::size_t length = random() % (is_long ? 700 : 30);
        notes.push_back({other, static_cast<rank_t>(random() % 100),
                         std::string(length, static_cast<char>('a' + random() % 26)),
                         random() % 8 == 0});
    }
    return notes;
}

std::vector<received_note> expected_at(std::size_t rank,
                                       const std::vector<std::vector<note>>& all) {
    std::vector<received_note> expected;
    for (std::size_t source = 0; source < all.size(); ++source) {
        for (const auto& one : all[source]) {
            if (one.member != rank) continue;
            expected.push_back({static_cast<rank_t>(source), one.destination,
                                static_cast<count_t>(one.text.size()),
                                one.is_announced ? std::string() : one.text, one.is_announced});
        }
    }
    return expected;
}

class SharedSendBufferThreads : public testing::TestWithParam<std::size_t> {};

TEST_P(SharedSendBufferThreads, HandOverAllMessagesOfEveryExchangeInTheirOrder) {
    constexpr int num_exchanges = 300;
    const std::size_t num_ranks = GetParam();
    for (const std::size_t room_bytes : {head_bytes + 8, head_bytes + 48, std::size_t{4096}}) {
        SCOPED_TRACE(room_bytes);
        std::mt19937_64 random(room_bytes);
        std::vector<std::vector<std::vector<note>>> sent(num_exchanges);
        for (auto& all : sent) {
            for (std::size_t rank = 0; rank < num_ranks; ++rank)
                all.push_back(random_notes(rank, num_ranks, random));
        }
        std::vector<std::vector<std::vector<received_note>>> came(num_ranks);
        domain ranks(num_ranks, room_bytes);

        ranks.in_threads([&](std::size_t rank, member& here) {
            for (const auto& all : sent) came[rank].push_back(here.exchange(all[rank]));
        });

        for (std::size_t rank = 0; rank < num_ranks; ++rank) {
            for (std::size_t e = 0; e < sent.size(); ++e)
                ASSERT_EQ(came[rank][e], expected_at(rank, sent[e])) << e;
        }
    }
}

TEST_P(SharedSendBufferThreads, TellAllOfAFaultAndOfNumbersThatDiffer) {
    const std::size_t num_ranks = GetParam();
    const std::size_t last = num_ranks - 1;
    std::vector<std::vector<agreement>> agreed(num_ranks);
    domain ranks(num_ranks, 64);

    ranks.in_threads([&](std::size_t rank, member& here) {
        for (const bool has_fault : {false, true, false}) {
            here.exchange({}, {has_fault && rank == last, {3, 8}});
            agreed[rank].push_back(here.agreed);
        }
        here.exchange({}, {false, {rank == last ? 5 : 3, 8}});
        agreed[rank].push_back(here.agreed);
    });

    for (const auto& found : agreed) {
        EXPECT_TRUE(found[0].is_good());
        EXPECT_EQ(found[1].has_fault, 1);
        EXPECT_TRUE(found[2].is_good());
        EXPECT_EQ(found[3].least[0], num_ranks == 1 ? 5 : 3);
        EXPECT_EQ(found[3].greatest[0], 5);
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedSendBufferThreads, testing::Values(1, 2, 3, 5, 8));

TEST(SharedSendBuffers, TakeTheBytesOfTwoHalves) {
    // A line for the head, one for up to 16 sections, and the room.
    EXPECT_EQ(shared_send_buffers::send_buffer_bytes(16, 4096), 2 * (64 + 64 + 4096));
    EXPECT_EQ(shared_send_buffers::send_buffer_bytes(17, 24), 2 * (64 + 128 + 64));
}

}  // namespace
}  // namespace crossdock::shared_send_buffers_test

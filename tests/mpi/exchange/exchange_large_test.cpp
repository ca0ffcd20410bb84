// A message of more bytes than an int can count. Takes 7 GB, hence a program of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

namespace crossdock::exchange_large_test {
namespace {

constexpr count_t message_bytes = (count_t{1} << 31) + 12345;
constexpr count_t word_bytes = sizeof(std::uint64_t);
constexpr count_t needed_gigabytes = 16;

count_t available_gigabytes() {
    std::ifstream file("/proc/meminfo");
    std::string key, unit;
    for (count_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, unit)) {
        if (key == "MemAvailable:") return kilobytes >> 20;
    }
    return 0;
}

// All words differ, so that no part of the message can stand for another.
std::uint64_t word_at(count_t index) {
    return static_cast<std::uint64_t>(index + 1) * 0x9e3779b97f4a7c15;
}

// Calls `use(index, first, bytes)` for every word of the message; the last one is not a whole one.
template <class Use>
void for_each_word(Use&& use) {
    for (count_t first = 0; first < message_bytes; first += word_bytes) {
        use(first / word_bytes, first,
            static_cast<std::size_t>(std::min(word_bytes, message_bytes - first)));
    }
}

std::vector<std::byte> long_message() {
    std::vector<std::byte> result(static_cast<std::size_t>(message_bytes));
    for_each_word([&](count_t index, count_t first, std::size_t bytes) {
        const auto word = word_at(index);
        std::memcpy(result.data() + first, &word, bytes);
    });
    return result;
}

count_t num_wrong_words(const std::byte* message) {
    count_t result = 0;
    for_each_word([&](count_t index, count_t first, std::size_t bytes) {
        const auto word = word_at(index);
        if (std::memcmp(message + first, &word, bytes) != 0) ++result;
    });
    return result;
}

class LargeExchange : public testing::Test {
  protected:
    void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "too slow, and too much memory, under a sanitizer";
#endif
        count_t gigabytes = available_gigabytes();
        MPI_Bcast(&gigabytes, 1, MPI_INT64_T, 0, comm.get());
        if (gigabytes < needed_gigabytes) {
            GTEST_SKIP() << gigabytes << " GB of memory are available, of " << needed_gigabytes
                         << " that are asked for";
        }
    }
    void TearDown() override { comm.close(); }

    communicator comm{MPI_COMM_WORLD};
};

TEST_F(LargeExchange, DeliversAMessageOfMoreThanTwoToThe31Bytes) {
    const bool sends = comm.rank() == 0;
    std::vector<std::byte> message;
    bytes_to_send to_send;
    if (sends) {
        message = long_message();
        to_send.messages = {{1, message_bytes, message.data()}, {1, 3, message.data()}};
    }
    for (const char* algorithm : {"personalized", "nonblocking", "auto"}) {
        SCOPED_TRACE(algorithm);
        const auto inbox = exchange_bytes({comm, topology::one_region(comm.num_ranks())}, to_send,
                                          {.algorithm = algorithm});

        const auto arrived = inbox.messages();
        ASSERT_EQ(arrived.size(), sends ? 0u : 2u);
        if (sends) continue;
        EXPECT_EQ(arrived[0].peer, 0);
        ASSERT_EQ(arrived[0].bytes, message_bytes);
        EXPECT_EQ(num_wrong_words(arrived[0].data), 0);
        const auto first_word = word_at(0);
        ASSERT_EQ(arrived[1].bytes, 3);
        EXPECT_EQ(std::memcmp(arrived[1].data, &first_word, 3), 0);
    }
}

}  // namespace
}  // namespace crossdock::exchange_large_test

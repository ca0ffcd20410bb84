#include "src/array/radix_rank.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "src/array/combined_requests.hpp"

namespace crossdock::radix_rank_test {
namespace {

template <class Index>
using index_lists = std::vector<std::vector<Index>>;

template <class Index>
void expect_ranked(const index_lists<Index>& lists, count_t num_entries) {
    std::vector<request_list<Index>> requests;
    std::vector<Index> all;
    for (const auto& list : lists) {
        requests.push_back({list, {}, nullptr, false});
        all.insert(all.end(), list.begin(), list.end());
    }
    std::vector<position_t> positions(all.size());

    const auto sorted = radix_rank<Index>(std::pmr::new_delete_resource())
                            .rank(requests, num_entries, std::span<position_t>(positions));

    const std::set<Index> once(all.begin(), all.end());
    ASSERT_TRUE(std::equal(sorted.begin(), sorted.end(), once.begin(), once.end()));
    for (std::size_t k = 0; k < all.size(); ++k) ASSERT_EQ(sorted[positions[k]], all[k]);
}

// Around where the digits change their width, and the whole its method.
constexpr std::initializer_list<std::size_t> lengths{0, 1, 2, 31, 32, 33, 63, 64, 65, 5000};

// All over the array, and so that most share their upper digits with many others.
template <class Index>
void expect_random_indices_are_ranked(std::initializer_list<count_t> all_sizes) {
    std::mt19937_64 draw(5);
    for (const count_t num_entries : all_sizes) {
        const auto size = static_cast<std::uint64_t>(num_entries);
        const std::uint64_t base = draw() % size;
        for (const std::size_t length : lengths) {
            SCOPED_TRACE(num_entries);
            index_lists<Index> spread(2), near(2);
            for (std::size_t k = 0; k < length; ++k) {
                spread[k % 2].push_back(static_cast<Index>(draw() % size));
                near[k % 2].push_back(
                    static_cast<Index>(std::min(base + draw() % 10000, size - 1)));
            }
            if (length > 0) spread[0].back() = static_cast<Index>(size - 1);
            expect_ranked(spread, num_entries);
            expect_ranked(near, num_entries);
        }
    }
}

TEST(RadixRank, NumbersNarrowIndicesInAscendingOrder) {
    expect_random_indices_are_ranked<std::uint32_t>(
        {1, 2, 63, 4095, 4096, 4097, 1 << 23, (1 << 23) + 1, count_t{1} << 31, count_t{1} << 32});
}

TEST(RadixRank, NumbersWideIndicesInAscendingOrder) {
    expect_random_indices_are_ranked<std::uint64_t>({1, 5000, (count_t{1} << 32) + 1,
                                                     count_t{1} << 45, count_t{1} << 62,
                                                     std::numeric_limits<count_t>::max()});
}

TEST(RadixRank, NumbersOneIndexThatOccursOftenOnce) {
    for (const std::size_t length : lengths)
        expect_ranked<std::uint32_t>({std::vector<std::uint32_t>(length, 4294967295U)},
                                     count_t{1} << 32);
}

TEST(RadixRank, TakesNoRequestsOfAnEmptyArray) { expect_ranked<std::uint32_t>({{}}, 0); }

}  // namespace
}  // namespace crossdock::radix_rank_test

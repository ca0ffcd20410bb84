#include "src/array/combined_requests.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>

namespace crossdock::combined_requests_test {
namespace {

constexpr count_t two_to_32 = count_t{1} << 32;

template <class Index>
using index_lists = std::vector<std::vector<Index>>;

template <class Index>
std::vector<request_list<Index>> as_requests(const index_lists<Index>& lists) {
    std::vector<request_list<Index>> result;
    for (const auto& list : lists) {
        const bool is_sorted =
            std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
        result.push_back({list, {}, nullptr, is_sorted});
    }
    return result;
}

// The positions of a list's requests, by stretches that must follow each other.
template <class Index>
std::vector<position_t> positions_of(const combined_requests<Index>& combined, std::size_t l,
                                     const std::vector<Index>& list) {
    std::vector<position_t> result;
    combined.for_each_stretch(l, std::span<const Index>(list),
                              [&](std::size_t first, std::span<const position_t> positions) {
                                  EXPECT_EQ(first, result.size());
                                  result.insert(result.end(), positions.begin(), positions.end());
                              });
    return result;
}

// Every index once, and each request at the position of its index.
template <class Index>
void expect_combined(combining strategy, const index_lists<Index>& lists, count_t num_entries) {
    SCOPED_TRACE(to_string(strategy));
    combined_requests<Index> combined;
    combined.combine(strategy, as_requests(lists), num_entries);

    std::map<Index, position_t> position_of;
    std::size_t num_requests = 0;
    for (std::size_t i = 0; i < combined.indices().size(); ++i)
        position_of[combined.indices()[i]] = static_cast<position_t>(i);
    std::set<Index> issued;
    for (std::size_t l = 0; l < lists.size(); ++l) {
        num_requests += lists[l].size();
        issued.insert(lists[l].begin(), lists[l].end());
        std::vector<position_t> expected;
        for (const Index index : lists[l]) expected.push_back(position_of[index]);
        if (strategy != combining::none) {
            EXPECT_EQ(positions_of(combined, l, lists[l]), expected);
            continue;
        }
        for (const position_t position : positions_of(combined, l, lists[l]))
            EXPECT_EQ(combined.indices()[position],
                      lists[l][position - (num_requests - lists[l].size())]);
    }
    EXPECT_EQ(position_of.size(), issued.size());
    EXPECT_EQ(combined.size(),
              static_cast<count_t>(strategy == combining::none ? num_requests : issued.size()));
    if (combined.is_sorted()) {
        EXPECT_TRUE(std::is_sorted(combined.indices().begin(), combined.indices().end()));
    }
}

template <class Index>
void expect_combined_by_all(const index_lists<Index>& lists, count_t num_entries) {
    for (const auto& one : registered_combining())
        expect_combined(one.strategy, lists, num_entries);
}

template <class Index>
index_lists<Index> random_lists(std::size_t num_lists, std::size_t length, count_t num_entries,
                                bool are_sorted) {
    std::mt19937_64 draw(num_lists + length);
    index_lists<Index> lists(num_lists);
    for (auto& list : lists) {
        for (std::size_t k = 0; k < draw() % (length + 1); ++k)
            list.push_back(static_cast<Index>(draw() % static_cast<std::uint64_t>(num_entries)));
        if (!are_sorted) continue;
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return lists;
}

template <class Index>
void expect_random_lists_are_combined(std::initializer_list<count_t> all_sizes) {
    for (const count_t num_entries : all_sizes) {
        for (const std::size_t num_lists : {1U, 2U, 3U, 6U}) {
            for (const std::size_t length : {5U, 3000U}) {
                for (const bool are_sorted : {false, true}) {
                    SCOPED_TRACE(num_entries);
                    expect_combined_by_all(
                        random_lists<Index>(num_lists, length, num_entries, are_sorted),
                        num_entries);
                }
            }
        }
    }
}

TEST(CombinedRequests, HoldEveryNarrowIndexOnce) {
    expect_random_lists_are_combined<std::uint32_t>({1, 2, 40, 2048, 2049, 1 << 23, two_to_32});
}

TEST(CombinedRequests, HoldEveryWideIndexOnce) {
    expect_random_lists_are_combined<std::uint64_t>(
        {7, two_to_32 + 5, count_t{1} << 44, std::numeric_limits<count_t>::max()});
}

TEST(CombinedRequests, MayBeNone) {
    expect_combined_by_all<std::uint32_t>({{}, {}}, 0);
    expect_combined_by_all<std::uint32_t>({{}, {3, 1, 3}, {}}, 4);
    expect_combined_by_all<std::uint32_t>({{}, {1, 3}, {}}, 4);
}

TEST(CombinedRequests, ReachBothEndsOfTheNarrowIndices) {
    expect_combined_by_all<std::uint32_t>({{0, 4294967295}, {4294967294, 4294967295}, {0}},
                                          two_to_32);
    expect_combined_by_all<std::uint32_t>({{4294967295, 0, 4294967295, 2147483648}}, two_to_32);
}

TEST(CombinedRequests, TellWideIndicesApartThatShareTheirLowerHalf) {
    expect_combined_by_all<std::uint64_t>(
        {{7, 4294967303, 8589934599}, {4294967295, 4294967296, 4294967303}}, 3 * two_to_32);
}

// The next request is at once, a few positions on, or far behind; the last is the very last
// position.
TEST(CombinedRequests, AreFoundAgainAtAllDistances) {
    std::vector<std::uint32_t> all(1000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(3 * i);
    index_lists<std::uint32_t> lists{all, {0}, {2997}, {0, 2997}, {2994, 2997}, {0, 3}};
    for (std::uint32_t distance = 1; distance < 1000; distance += 1 + distance / 2) {
        auto& list = lists.emplace_back();
        for (std::uint32_t i = 0; i < 1000; i += distance) list.push_back(3 * i);
        lists.push_back({0, 3 * distance});
        lists.push_back({3 * (999 - distance), 2997});
    }
    expect_combined(combining::sort, lists, 3000);
}

TEST(CombinedRequests, MayBeCombinedAnew) {
    for (const auto& one : registered_combining()) {
        combined_requests<std::uint32_t> combined;
        for (const bool are_sorted : {false, true, false}) {
            const auto lists = random_lists<std::uint32_t>(3, 50, 20, are_sorted);
            combined.combine(one.strategy, as_requests(lists), 20);
            for (std::size_t l = 0; l < lists.size(); ++l) {
                const auto positions = positions_of(combined, l, lists[l]);
                ASSERT_EQ(positions.size(), lists[l].size());
                for (std::size_t k = 0; k < positions.size(); ++k)
                    EXPECT_EQ(combined.indices()[positions[k]], lists[l][k]);
            }
        }
    }
}

}  // namespace
}  // namespace crossdock::combined_requests_test

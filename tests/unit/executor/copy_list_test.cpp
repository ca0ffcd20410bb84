#include "crossdock/detail/executor/copy_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "src/executor/index_appender.hpp"

namespace crossdock::copy_list_test {
namespace {

using indices = std::vector<count_t>;

index_list list_of(const indices& values) {
    index_list list;
    for (const count_t index : values) list.append(index);
    return list;
}

indices spelled_out(const index_list& list) {
    indices result;
    list.with_lookup([&](auto index) {
        for (count_t i = 0; i < list.size(); ++i) result.push_back(index(i));
    });
    return result;
}

std::size_t num_pieces(const index_list& list) {
    copy_list both;
    for (count_t i = 0; i < list.size(); ++i) both.to.append(i);
    both.from = list;
    std::size_t num = 0;
    both.for_each_piece([&](const index_piece&, const index_piece&) { ++num; });
    return num;
}

indices in_steps(count_t first, count_t step, count_t size) {
    indices result;
    for (count_t i = 0; i < size; ++i) result.push_back(first + i * step);
    return result;
}

indices joined(const std::vector<indices>& parts) {
    indices result;
    for (const auto& part : parts) result.insert(result.end(), part.begin(), part.end());
    return result;
}

constexpr count_t long_enough = index_list::min_steady;

// As pieces: where each begins, its step or its offsets, and its size.
std::vector<indices> pieces_of(const index_list& list) {
    copy_list both;
    both.from = both.to = list;
    std::vector<indices> result;
    both.for_each_piece([&](const index_piece& piece, const index_piece&) {
        result.push_back({piece.first, piece.size, piece.offsets ? -1 : piece.step});
        if (piece.offsets)
            result.back().insert(result.back().end(), piece.offsets, piece.offsets + piece.size);
    });
    return result;
}

TEST(IndexAppender, ManyIndicesAtOnceMakeTheSameListAsOneByOne) {
    std::mt19937 random(7);
    const auto below = [&](count_t end) {
        return std::uniform_int_distribution<count_t>(0, end - 1)(random);
    };
    for (int trial = 0; trial < 2000; ++trial) {
        index_list one_by_one, at_once;
        for (count_t parts = 1 + below(6); parts > 0; --parts) {
            const count_t first = below(3) == 0 ? below(count_t{1} << 40) : below(100);
            const count_t size = below(3) == 0 ? below(4) : below(3 * index_list::min_steady);
            const count_t step = below(2) == 0 ? 1 : below(5) - 2;
            const bool is_mixed = below(3) == 0;
            auto part = in_steps(first, step, size);
            if (is_mixed) std::ranges::shuffle(part, random);
            for (const count_t index : part) one_by_one.append(index);
            index_appender appender(at_once);
            if (step == 1 && !is_mixed) {
                appender.append_run(first, size);
            } else {
                appender.append_all(size,
                                    [&](count_t i) { return part[static_cast<std::size_t>(i)]; });
            }
        }
        ASSERT_EQ(pieces_of(at_once), pieces_of(one_by_one)) << trial;
        one_by_one.append(5);
        at_once.append(5);
        ASSERT_EQ(pieces_of(at_once), pieces_of(one_by_one)) << trial;
    }
}

TEST(IndexList, IndicesInStepsOtherThanOneAreNoRun) {
    EXPECT_FALSE(list_of({4, 6}).is_consecutive());
    EXPECT_FALSE(list_of({5, 4, 3}).is_consecutive());
    EXPECT_FALSE(list_of({5, 5}).is_consecutive());
    EXPECT_FALSE(list_of({5, 6, 8}).is_consecutive());
    EXPECT_TRUE(list_of({5}).is_consecutive());
    EXPECT_TRUE(list_of({}).is_consecutive());
}

TEST(IndexList, ConstantStepsAreOnePieceHoweverMany) {
    for (const count_t step : {-3, 0, 1, 2}) {
        for (const count_t size : {1, 2, 3, 1000}) {
            const auto values = in_steps(5000, step, size);
            EXPECT_EQ(num_pieces(list_of(values)), 1u) << step << " " << size;
            EXPECT_EQ(spelled_out(list_of(values)), values) << step << " " << size;
        }
    }
}

TEST(IndexList, OnlyLongStretchesInConstantStepsAreAPieceOfTheirOwn) {
    const indices loose{9, 2, 70};

    const auto short_one = joined({loose, in_steps(100, 2, long_enough - 1), loose});
    const auto long_one = joined({loose, in_steps(100, 2, long_enough), loose});

    EXPECT_EQ(num_pieces(list_of(short_one)), 1u);
    EXPECT_EQ(spelled_out(list_of(short_one)), short_one);
    EXPECT_EQ(num_pieces(list_of(long_one)), 3u);
    EXPECT_EQ(spelled_out(list_of(long_one)), long_one);
}

TEST(IndexList, LongRunsOneAfterTheOtherArePiecesWithNothingBetween) {
    const auto values = joined(
        {in_steps(0, 1, long_enough), in_steps(100, 1, 2 * long_enough), in_steps(7, 1, 50)});

    EXPECT_EQ(num_pieces(list_of(values)), 3u);
    EXPECT_EQ(spelled_out(list_of(values)), values);
}

TEST(IndexList, HoldsIndicesTooFarApartFor32Bits) {
    const count_t far = count_t{1} << 40;
    for (const auto& values : {indices{0, far, 1, far + 1, 3}, indices{0, far, 2 * far, 1, 2, 9},
                               indices{far, far + 2, far + 1, 0, 5, 3, far},
                               joined({in_steps(0, far, long_enough), {1, 5, 2}})}) {
        EXPECT_EQ(spelled_out(list_of(values)), values);
    }
}

TEST(IndexList, FindsIndicesInAnyOrder) {
    const auto values = joined({in_steps(0, 1, 40), {7, 3, 3}, in_steps(90, 5, 40), {1, 100, 2}});
    const auto list = list_of(values);
    std::mt19937_64 random(1);

    list.with_lookup([&](auto index) {
        for (int i = 0; i < 1000; ++i) {
            const auto place = random() % values.size();
            EXPECT_EQ(index(static_cast<count_t>(place)), values[place]) << place;
        }
    });
}

constexpr count_t num_indices = 700;

// Parts of all kinds and lengths, one after the other; distinct where each index is to come once.
indices random_indices(std::mt19937_64& random, bool is_distinct) {
    const auto below = [&](count_t end) {
        return static_cast<count_t>(random() % static_cast<std::uint64_t>(end));
    };
    if (is_distinct) {
        indices blocks(num_indices / 70), result;
        std::iota(blocks.begin(), blocks.end(), 0);
        std::shuffle(blocks.begin(), blocks.end(), random);
        for (const count_t block : blocks) {
            indices part = in_steps(block * 70, 1, 70);
            if (below(3) == 0) std::reverse(part.begin(), part.end());
            if (below(3) == 0) std::shuffle(part.begin(), part.begin() + below(70), random);
            result.insert(result.end(), part.begin(), part.end());
        }
        return result;
    }
    indices result;
    while (static_cast<count_t>(result.size()) < num_indices) {
        const count_t step = below(4);
        const count_t left = num_indices - static_cast<count_t>(result.size());
        const auto part = in_steps(below(num_indices / 2), step, std::min(1 + below(80), left));
        for (const count_t index : part) result.push_back(index % num_indices);
    }
    return result;
}

struct copy_list_case {
    std::string name;
    indices from;
    indices to;

    copy_list list() const {
        copy_list result;
        for (std::size_t k = 0; k < from.size(); ++k) result.append(from[k], to[k]);
        return result;
    }
};

std::vector<copy_list_case> all_cases() {
    std::mt19937_64 random(7);
    const auto consecutive = in_steps(0, 1, num_indices);
    std::vector<copy_list_case> cases{
        {"nothing", {}, {}},
        {"one run", consecutive, consecutive},
        {"every second", in_steps(0, 2, num_indices / 2), in_steps(1, 1, num_indices / 2)},
        {"to every second", in_steps(0, 1, num_indices / 2), in_steps(1, 2, num_indices / 2)},
        {"three", {5, 1, 9}, {2, 3, 4}}};
    for (int i = 0; i < 5; ++i) {
        cases.push_back({"gather", random_indices(random, false), consecutive});
        cases.push_back({"scatter", consecutive, random_indices(random, true)});
        cases.push_back({"both", random_indices(random, false), random_indices(random, true)});
    }
    return cases;
}

TEST(CopyList, PiecesAreTheListInOrder) {
    for (const auto& c : all_cases()) {
        indices from, to;
        c.list().for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
            EXPECT_EQ(from_piece.size, to_piece.size);
            for (count_t k = 0; k < to_piece.size; ++k) {
                from_piece.with_lookup([&](auto index) { from.push_back(index(k)); });
                to_piece.with_lookup([&](auto index) { to.push_back(index(k)); });
            }
        });
        EXPECT_EQ(from, c.from) << c.name;
        EXPECT_EQ(to, c.to) << c.name;
    }
}

TEST(CopyItems, CopiesEveryKindOfPieceInItemsOfEverySize) {
    for (const auto& c : all_cases()) {
        const auto list = c.list();
        for (const std::size_t item_bytes :
             {1u, 2u, 3u, 4u, 8u, 12u, 16u, 24u, 32u, 40u, 48u, 56u, 64u, 96u, 128u, 136u}) {
            std::vector<std::byte> from(num_indices * item_bytes);
            std::mt19937 random(3);
            for (auto& byte : from) byte = static_cast<std::byte>(random());
            std::vector<std::byte> to(from.size()), expected(from.size());
            for (std::size_t k = 0; k < c.from.size(); ++k) {
                std::copy_n(from.begin() + c.from[k] * static_cast<count_t>(item_bytes), item_bytes,
                            expected.begin() + c.to[k] * static_cast<count_t>(item_bytes));
            }

            copy_items(to.data(), from.data(), list, item_bytes);

            EXPECT_EQ(to, expected) << c.name << ", " << item_bytes << " bytes";
        }
    }
}

// Where several values go to one place, the last stays.
TEST(CopyItems, CopiesInOrder) {
    const auto repeated = joined({in_steps(3, 0, 40), {1, 3}});
    copy_list list;
    for (std::size_t k = 0; k < repeated.size(); ++k) {
        list.append(static_cast<count_t>(k) + 2, repeated[k]);
    }
    indices from(50), to(4);
    std::iota(from.begin(), from.end(), 100);

    copy_items(reinterpret_cast<std::byte*>(to.data()),
               reinterpret_cast<const std::byte*>(from.data()), list, sizeof(count_t));

    EXPECT_EQ(to, (indices{0, 142, 0, 143}));
}

TEST(CombineItems, CombinesInOrder) {
    const auto append = [](std::uint64_t sum, std::uint64_t next) { return 31 * sum + next; };
    for (auto c : all_cases()) {
        std::vector<std::uint64_t> from(num_indices), to(num_indices, 1);
        std::iota(from.begin(), from.end(), std::uint64_t{1});
        for (auto& index : c.to) index /= 3;  // several go to one place
        auto expected = to;
        for (std::size_t k = 0; k < c.from.size(); ++k) {
            auto& sum = expected[static_cast<std::size_t>(c.to[k])];
            sum = append(sum, from[static_cast<std::size_t>(c.from[k])]);
        }

        combine_items(to.data(), from.data(), c.list(), append);

        EXPECT_EQ(to, expected) << c.name;
    }
}

}  // namespace
}  // namespace crossdock::copy_list_test

#include "src/base/strong_index.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "src/executor/shared_memory_schedule.hpp"

namespace crossdock::strong_index_test {
namespace {

template <class A, class B>
concept comparable = requires(A a, B b) {
    a == b;
};
template <class Vector, class Index>
concept indexed_by = requires(Vector v, Index i) {
    v[i];
};

using sections = index_vector<section_number, char>;

static_assert(!std::is_convertible_v<section_number, counter_number>);
static_assert(!std::is_constructible_v<section_number, counter_number>);
static_assert(!std::is_convertible_v<int, section_number>);
static_assert(!std::is_convertible_v<section_number, int>);
static_assert(!comparable<section_number, counter_number>);
static_assert(!comparable<section_number, int>);
static_assert(indexed_by<sections, section_number>);
static_assert(!indexed_by<sections, counter_number>);
static_assert(!indexed_by<sections, int>);
static_assert(sizeof(section_number) == sizeof(int));
static_assert(sizeof(slot_number) == sizeof(count_t));

TEST(StrongIndex, CountsUpAndMeasuresDistances) {
    slot_number slot(40);
    ++slot;

    EXPECT_EQ(slot, slot_number(41));
    EXPECT_EQ(slot + 4, slot_number(45));
    EXPECT_EQ(slot - 1, slot_number(40));
    EXPECT_EQ(slot - slot_number(11), 30);
    EXPECT_LT(slot, slot_number(42));
    EXPECT_EQ(slot_number().value(), 0);
}

TEST(IndexVector, EndsBehindItsLastElement) {
    sections all;
    EXPECT_EQ(all.end_index(), section_number(0));

    all.push_back('a');
    all.push_back('b');

    EXPECT_EQ(all.end_index(), section_number(2));
    EXPECT_EQ(all[section_number(1)], 'b');
    EXPECT_EQ(std::as_const(all)[section_number(0)], 'a');
}

}  // namespace
}  // namespace crossdock::strong_index_test

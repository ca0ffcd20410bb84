#include "src/array/entry_owner.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "support/thrown_by.hpp"

namespace crossdock::entry_owner_test {
namespace {

using index_list = std::vector<std::uint64_t>;

constexpr count_t first_index = (count_t{1} << 33) + 5;

index_list indices_at(const std::vector<std::uint64_t>& offsets) {
    index_list result;
    for (const auto offset : offsets)
        result.push_back(static_cast<std::uint64_t>(first_index) + offset);
    return result;
}

template <class T>
std::byte* bytes(std::vector<T>& values) {
    return reinterpret_cast<std::byte*>(values.data());
}

// More than are found at a time.
TEST(EntryOwner, AppliesManyValuesInTheirOrder) {
    const entry_owner<std::uint64_t> owner(3, first_index);
    const auto last_digit = make_update_operation<int>(
        [](const int& a, const int& b) noexcept { return (10 * a + b) % 10000; });
    std::vector<std::uint64_t> offsets(3001);
    std::vector<int> values(offsets.size());
    for (std::size_t k = 0; k < offsets.size(); ++k) {
        offsets[k] = k % 2;
        values[k] = static_cast<int>(k % 10);
    }
    std::vector<int> entries{0, 0, 5};

    owner.apply(last_digit, indices_at(offsets), bytes(values), bytes(entries));

    EXPECT_EQ(entries, (std::vector<int>{4680, 3579, 5}));
}

TEST(EntryOwner, SaysForWhichIndexAnOperationThrew) {
    const entry_owner<std::uint64_t> owner(3, 100);
    const auto refuse = make_update_operation<int>([](const int& a, const int& b) {
        if (b == 2000) throw std::runtime_error("too much");
        return a + b;
    });
    std::vector<int> values(3000);
    std::iota(values.begin(), values.end(), 0);
    index_list indices(3000, 101);
    indices[2000] = 102;
    std::vector<int> entries(3);

    const auto fault =
        test::thrown_by([&] { owner.apply(refuse, indices, bytes(values), bytes(entries)); });

    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_EQ(fault.rank(), 3);
    EXPECT_NE(std::string(fault.what()).find("102: too much"), std::string::npos);
}

}  // namespace
}  // namespace crossdock::entry_owner_test

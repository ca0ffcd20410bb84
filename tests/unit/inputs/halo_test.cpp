#include "tools/inputs/halo.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "support.hpp"

namespace crossdock::halo_test {
namespace {

using test::read_data;
using test::temporary_file;
using test::thrown_by;
using counts = std::vector<count_t>;
using numbers = std::vector<double>;

std::size_t as_size(count_t n) { return static_cast<std::size_t>(n); }

/// The matrix drawn at `halo`.
sparse_matrix small_matrix() {
    return {4, 4, {0, 2, 3, 4, 6}, {0, 1, 1, 2, 1, 3}, numbers(6, 1.0), {}, matrix_field::pattern};
}

TEST(Halo, ListsWhatTheSmallExampleDraws) {
    const sparse_matrix m = small_matrix();

    const std::vector<halo> halos = halos_from_matrix(m, make_partition(m, "block", 2));

    ASSERT_EQ(halos.size(), 2U);
    EXPECT_EQ(halos[0].owned_rows, (counts{0, 1}));
    EXPECT_EQ(halos[0].ghost_columns, counts{});
    EXPECT_EQ(halos[1].owned_columns, (counts{2, 3}));
    EXPECT_EQ(halos[1].ghost_columns, (counts{1}));
    pattern first{
        .rank = 0, .num_ranks = 2, .num_items = 2, .num_slots = 0, .sends = {}, .receives = {}};
    first.sends.append(1, counts{1});
    pattern second{
        .rank = 1, .num_ranks = 2, .num_items = 2, .num_slots = 1, .sends = {}, .receives = {}};
    second.receives.append(0, counts{0});
    EXPECT_EQ(halos[0].exchange, first);
    EXPECT_EQ(halos[1].exchange, second);
}

TEST(Halo, OrdersSlotsByOwnerThenColumn) {
    const sparse_matrix m{1, 4, {0, 4}, {0, 1, 2, 3}, numbers(4, 1.0), {}, matrix_field::real};

    const std::vector<halo> halos = halos_from_matrix(m, {3, {0}, {2, 1, 2, 1}});

    EXPECT_EQ(halos[0].ghost_columns, (counts{1, 3, 0, 2}));
    EXPECT_EQ(halos[0].exchange.receives.ranks, (std::vector<rank_t>{1, 2}));
    EXPECT_EQ(halos[0].exchange.receives.offsets, (counts{0, 2, 4}));
}

TEST(Halo, RefusesPartitionsOfOthers) {
    const auto code_of = [](const partition& owners) {
        return thrown_by([&] { halos_from_matrix(small_matrix(), owners); }).code();
    };

    EXPECT_EQ(code_of({2, {0, 1, 1}, {0, 0, 1, 1}}), errc::size_mismatch);
    EXPECT_EQ(code_of({2, {0, 0, 1, 1}, {0, 0, 1, 2}}), errc::rank_out_of_range);
}

/// Every rank's ghost values, fetched as an exchange would: list by list, k-th item to k-th slot.
std::vector<numbers> exchange(const std::vector<halo>& halos, const numbers& x) {
    std::vector<numbers> ghosts;
    for (const halo& h : halos) ghosts.emplace_back(h.ghost_columns.size(), 0.0);
    std::vector<std::size_t> next_receive(halos.size(), 0);
    for (const halo& source : halos) {
        for (std::size_t entry = 0; entry < source.exchange.sends.size(); ++entry) {
            const auto destination = static_cast<std::size_t>(source.exchange.sends.ranks[entry]);
            const neighbor_list& receives = halos[destination].exchange.receives;
            // Sources are visited in rank order, and receives ascend by source.
            const std::size_t match = next_receive[destination]++;
            EXPECT_EQ(receives.ranks.at(match), source.exchange.rank);
            const auto items = source.exchange.sends[entry];
            const auto slots = receives[match];
            EXPECT_EQ(items.size(), slots.size());
            for (std::size_t k = 0; k < items.size(); ++k) {
                ghosts[destination][as_size(slots[k])] =
                    x[as_size(source.owned_columns[as_size(items[k])])];
            }
        }
    }
    return ghosts;
}

/// y = A x, where every rank reads only its own entries of x and its ghosts.
numbers distributed_product(const sparse_matrix& m, const std::vector<halo>& halos,
                            const numbers& x) {
    const std::vector<numbers> ghosts = exchange(halos, x);
    numbers y(as_size(m.num_rows), 0.0);
    numbers known(as_size(m.num_columns));
    for (std::size_t rank = 0; rank < halos.size(); ++rank) {
        const halo& h = halos[rank];
        known.assign(known.size(), std::numeric_limits<double>::quiet_NaN());
        for (const count_t column : h.owned_columns) known[as_size(column)] = x[as_size(column)];
        for (std::size_t j = 0; j < h.ghost_columns.size(); ++j) {
            known[as_size(h.ghost_columns[j])] = ghosts[rank][j];
        }
        for (const count_t row : h.owned_rows) {
            for (count_t k = m.row_offsets[as_size(row)]; k < m.row_offsets[as_size(row) + 1];
                 ++k) {
                y[as_size(row)] += m.values[as_size(k)] * known[as_size(m.columns[as_size(k)])];
            }
        }
    }
    return y;
}

struct product_case {
    const char* matrix;
    const char* spec;
    rank_t num_ranks;
};

class DistributedProduct : public testing::TestWithParam<product_case> {};

std::string owners_in_turn(const sparse_matrix& m, rank_t num_ranks) {
    std::string text;
    const count_t num_owners = m.num_rows + (m.is_square() ? 0 : m.num_columns);
    for (count_t i = 0; i < num_owners; ++i) text += std::to_string(i * 7 % num_ranks) + "\n";
    return text;
}

TEST_P(DistributedProduct, EqualsTheSerialOne) {
    const auto [name, spec, num_ranks] = GetParam();
    const sparse_matrix m = read_data(name);
    const temporary_file file(owners_in_turn(m, num_ranks));
    numbers x(as_size(m.num_columns));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 + static_cast<double>(i % 1000);

    const std::vector<halo> halos = halos_from_matrix(
        m, make_partition(m, spec == std::string("file") ? file.path() : spec, num_ranks));

    for (const halo& h : halos) EXPECT_NO_THROW(validate(h.exchange));
    EXPECT_EQ(distributed_product(m, halos, x), multiply(m, x));
}

std::vector<product_case> product_cases() {
    std::vector<product_case> cases;
    for (const char* matrix : {"radfr1", "tumorAntiAngiogenesis_4", "D_10", "bibd_49_3"}) {
        for (const char* spec : {"block", "metis", "random:5", "file"}) {
            for (const rank_t num_ranks : {1, 7, 64, 600}) {
                cases.push_back({matrix, spec, num_ranks});
            }
        }
    }
    return cases;
}

INSTANTIATE_TEST_SUITE_P(Halo, DistributedProduct, testing::ValuesIn(product_cases()),
                         [](const auto& instance) {
                             const std::string spec = instance.param.spec;
                             return fmt::format("{}_{}_{}ranks", instance.param.matrix,
                                                spec.substr(0, spec.find(':')),
                                                instance.param.num_ranks);
                         });

TEST(Halo, ManyRanksShareAMatrixWithADenseColumn) {
    constexpr count_t num_rows = 100'000;
    constexpr rank_t num_ranks = 16'384;
    sparse_matrix m;
    m.num_rows = m.num_columns = num_rows;
    for (count_t row = 0; row < num_rows; ++row) {
        m.columns.push_back(0);
        if (row > 0) m.columns.push_back(row);
        m.row_offsets.push_back(static_cast<count_t>(m.columns.size()));
    }

    const std::vector<halo> halos = halos_from_matrix(m, make_partition(m, "block", num_ranks));

    EXPECT_EQ(halos[0].exchange.sends.size(), as_size(num_ranks - 1));
    EXPECT_EQ(halos[0].exchange.sends.indices, counts(as_size(num_ranks - 1), 0));
    for (std::size_t rank = 1; rank < halos.size(); ++rank)
        ASSERT_EQ(halos[rank].exchange.sends.size(), 0u);
}

}  // namespace
}  // namespace crossdock::halo_test

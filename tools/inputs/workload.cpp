#include "tools/inputs/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

namespace crossdock {

namespace {

constexpr std::string_view dense_prefix = "dense:";
constexpr std::string_view random_prefix = "random:";
constexpr std::uint64_t random_seed = 1;

// The K behind a prefix.
count_t parse_number(const std::string& file, std::string_view prefix, const char* what) {
    count_t value = 0;
    const char* const end = file.data() + file.size();
    const auto [stop, fault] = std::from_chars(file.data() + prefix.size(), end, value);
    if (fault != std::errc() || stop != end || value < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("\"{}\": {}K needs a positive number of {} K", file, prefix, what));
    }
    return value;
}

// Row p is rank p's; its entries are the columns that rank p needs of every rank.
workload dense_workload(count_t items_per_message, const topology& regions) {
    const rank_t num_ranks = regions.num_ranks();
    constexpr count_t most_entries = count_t{1} << 32;
    if (items_per_message > most_entries / num_ranks / num_ranks) {
        throw error(
            errc::invalid_argument,
            fmt::format(
                "dense:{} among {} ranks has more than {} entries; use fewer ranks or items",
                items_per_message, num_ranks, most_entries));
    }
    const count_t columns_per_rank = items_per_message * regions.num_regions();
    workload result;
    auto& matrix = result.matrix;
    matrix.num_rows = num_ranks;
    matrix.num_columns = num_ranks * columns_per_rank;
    result.owners.num_ranks = num_ranks;
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        for (rank_t owner = 0; owner < num_ranks; ++owner) {
            const count_t first =
                owner * columns_per_rank + regions.region_of(rank) * items_per_message;
            for (count_t k = 0; k < items_per_message; ++k) matrix.columns.push_back(first + k);
        }
        matrix.row_offsets.push_back(static_cast<count_t>(matrix.columns.size()));
        result.owners.row_owner.push_back(rank);
        result.owners.column_owner.insert(result.owners.column_owner.end(),
                                          static_cast<std::size_t>(columns_per_rank), rank);
    }
    matrix.values.assign(matrix.columns.size(), 1.0);
    return result;
}

// Different ranks other than `rank`, ascending.
std::vector<rank_t> random_partners(rank_t rank, rank_t num_ranks, std::size_t count,
                                    std::mt19937_64& random) {
    std::vector<rank_t> partners;
    while (partners.size() < count) {
        while (partners.size() < count) {
            const auto other =
                static_cast<rank_t>(random() % static_cast<std::uint64_t>(num_ranks - 1));
            partners.push_back(other < rank ? other : other + 1);
        }
        std::sort(partners.begin(), partners.end());
        partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
    }
    return partners;
}

// Row p is rank p's. The columns of a rank are numbered as its partners ask for them.
workload random_workload(count_t num_partners, rank_t num_ranks) {
    if (num_partners >= num_ranks) {
        throw error(
            errc::invalid_argument,
            fmt::format("random:{} needs more than {} ranks; start more, or lower the number",
                        num_partners, num_ranks));
    }
    std::mt19937_64 random(random_seed);
    std::vector<rank_t> owners;
    std::vector<count_t> first_column(static_cast<std::size_t>(num_ranks) + 1);
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        for (const rank_t owner :
             random_partners(rank, num_ranks, static_cast<std::size_t>(num_partners), random)) {
            owners.push_back(owner);
            ++first_column[static_cast<std::size_t>(owner) + 1];
        }
    }
    std::partial_sum(first_column.begin(), first_column.end(), first_column.begin());
    workload result;
    auto& matrix = result.matrix;
    matrix.num_rows = num_ranks;
    matrix.num_columns = first_column.back();
    result.owners.num_ranks = num_ranks;
    auto next_column = first_column;
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        const auto p = static_cast<std::size_t>(rank);
        result.owners.row_owner.push_back(rank);
        result.owners.column_owner.resize(static_cast<std::size_t>(first_column[p + 1]), rank);
        matrix.row_offsets.push_back((rank + count_t{1}) * num_partners);
    }
    for (const rank_t owner : owners)
        matrix.columns.push_back(next_column[static_cast<std::size_t>(owner)]++);
    matrix.values.assign(matrix.columns.size(), 1.0);
    return result;
}

}  // namespace

workload load_workload(const std::string& file, const std::string& partition_spec,
                       const topology& regions) {
    const bool is_random = file.starts_with(random_prefix);
    if (!is_random && !file.starts_with(dense_prefix)) {
        workload result{read_matrix_market(file), {}};
        result.owners = make_partition(result.matrix, partition_spec, regions.num_ranks());
        return result;
    }
    if (partition_spec != "block") {
        throw error(errc::invalid_argument,
                    fmt::format("\"{}\" has its own partition, \"{}\" does not apply", file,
                                partition_spec));
    }
    if (is_random)
        return random_workload(parse_number(file, random_prefix, "partners"), regions.num_ranks());
    return dense_workload(parse_number(file, dense_prefix, "items"), regions);
}

std::string default_partition(const std::string& file) {
    std::filesystem::path owners(file);
    const bool is_matrix = owners.extension() == ".mtx";
    owners.replace_extension(".owners");
    return is_matrix && std::filesystem::exists(owners) ? owners.string() : "block";
}

count_t recorded_item_bytes(const std::string& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    std::getline(stream, line);
    constexpr std::string_view before = "% items of ";
    count_t bytes = 0;
    if (line.starts_with(before))
        std::from_chars(line.data() + before.size(), line.data() + line.size(), bytes);
    return bytes > 0 ? bytes : 8;
}

double column_value(count_t column) noexcept {
    // Any value does whose sums round: a wrong term or order then shows.
    return 1.0 / static_cast<double>(column + 3);
}

double row_weight(count_t row) noexcept { return static_cast<double>(row % 1000 + 1); }

std::vector<double> serial_column_sums(const sparse_matrix& matrix) {
    std::vector<double> sums(static_cast<std::size_t>(matrix.num_columns));
    for (count_t row = 0; row < matrix.num_rows; ++row) {
        for (const count_t column : matrix.row(row))
            sums[static_cast<std::size_t>(column)] += row_weight(row);
    }
    return sums;
}

std::vector<double> serial_product(const sparse_matrix& matrix) {
    std::vector<double> x(static_cast<std::size_t>(matrix.num_columns));
    for (std::size_t column = 0; column < x.size(); ++column) {
        x[column] = column_value(static_cast<count_t>(column));
    }
    return multiply(matrix, x);
}

}  // namespace crossdock

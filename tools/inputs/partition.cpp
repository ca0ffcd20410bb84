#include "partition.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>

#include "crossdock/block_partition.hpp"
#include "metis.hpp"

namespace crossdock {

namespace {

template <class Number>
std::optional<Number> to_number(std::string_view text) {
    Number number{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

void append_blocks(owner_list& owners, count_t length, rank_t num_ranks) {
    const auto blocks = block_partition::blocks(length, num_ranks);
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        owners.insert(owners.end(), static_cast<std::size_t>(blocks.size(rank)), rank);
    }
}

owner_list block_owners(const sparse_matrix& matrix, rank_t num_ranks) {
    owner_list owners;
    append_blocks(owners, matrix.num_rows, num_ranks);
    if (!matrix.is_square()) append_blocks(owners, matrix.num_columns, num_ranks);
    return owners;
}

owner_list random_owners(const sparse_matrix& matrix, std::string_view seed, rank_t num_ranks) {
    const auto number = to_number<std::uint64_t>(seed);
    if (!number) {
        throw error(errc::invalid_argument, fmt::format("the seed '{}' is not a number", seed));
    }
    std::mt19937_64 generator(*number);
    owner_list owners(static_cast<std::size_t>(num_owners(matrix)));
    for (rank_t& owner : owners) {
        owner = static_cast<rank_t>(generator() % static_cast<std::uint64_t>(num_ranks));
    }
    return owners;
}

owner_list file_owners(const sparse_matrix& matrix, const std::string& path, rank_t num_ranks) {
    std::ifstream file(path);
    if (!file || std::filesystem::is_directory(path)) {
        throw error(errc::file_error, fmt::format("cannot open {}", path));
    }
    owner_list owners;
    std::string word;
    while (file >> word) {
        const auto owner = to_number<count_t>(word);
        if (!owner) {
            throw error(errc::parse_error, fmt::format("{}: owner {} is '{}', not a number", path,
                                                       owners.size(), word));
        }
        if (*owner < 0 || *owner >= num_ranks) {
            throw error(errc::rank_out_of_range,
                        fmt::format("{}: owner {} is {}, outside [0, {}); take at least as many "
                                    "ranks as wrote the file, or another partition",
                                    path, owners.size(), *owner, num_ranks));
        }
        owners.push_back(static_cast<rank_t>(*owner));
    }
    if (static_cast<count_t>(owners.size()) != num_owners(matrix)) {
        throw error(
            errc::size_mismatch,
            fmt::format("{} has {} owners, but a matrix of {} rows and {} columns needs {}", path,
                        owners.size(), matrix.num_rows, matrix.num_columns, num_owners(matrix)));
    }
    return owners;
}

owner_list owners_by_spec(const sparse_matrix& matrix, std::string_view spec, rank_t num_ranks) {
    constexpr std::string_view random_prefix = "random:";
    constexpr std::string_view file_prefix = "file:";
    if (spec == "block") return block_owners(matrix, num_ranks);
    if (spec == "metis") return metis_owners(matrix, num_ranks, false);
    if (spec == "metis:entries") return metis_owners(matrix, num_ranks, true);
    if (spec.starts_with(random_prefix)) {
        return random_owners(matrix, spec.substr(random_prefix.size()), num_ranks);
    }
    if (spec.starts_with(file_prefix)) {
        return file_owners(matrix, std::string(spec.substr(file_prefix.size())), num_ranks);
    }
    std::error_code ignored;
    if (std::filesystem::is_regular_file(spec, ignored)) {
        return file_owners(matrix, std::string(spec), num_ranks);
    }
    throw error(
        errc::invalid_argument,
        fmt::format("'{}' is no partition; choose block, metis, metis:entries, random:SEED, "
                    "file:PATH or the path of a file",
                    spec));
}

}  // namespace

partition make_partition(const sparse_matrix& matrix, std::string_view spec, rank_t num_ranks) {
    if (num_ranks < 1) {
        throw error(errc::invalid_argument,
                    fmt::format("a matrix cannot be divided among {} ranks", num_ranks));
    }
    owner_list owners = owners_by_spec(matrix, spec, num_ranks);
    if (matrix.is_square()) return {num_ranks, owners, owners};
    const auto columns = owners.begin() + matrix.num_rows;
    owner_list column_owner(columns, owners.end());
    owners.erase(columns, owners.end());
    return {num_ranks, std::move(owners), std::move(column_owner)};
}

}  // namespace crossdock

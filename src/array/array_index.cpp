#include "array_index.hpp"

#include <fmt/format.h>

namespace crossdock {

void check_indices(std::span<const count_t> indices, count_t num_entries, rank_t rank) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
        if (indices[k] >= 0 && indices[k] < num_entries) continue;
        throw error(errc::index_out_of_range,
                    fmt::format("request {} of rank {} is for index {}, outside [0, {})", k, rank,
                                indices[k], num_entries),
                    rank);
    }
}

template <class Index>
raw_vector<Index> to_indices(std::span<const count_t> indices, count_t num_entries, rank_t rank,
                             std::pmr::memory_resource* memory) {
    raw_vector<Index> result(indices.size(), memory);
    const auto end = static_cast<std::uint64_t>(num_entries);
    bool are_inside = true;
    for (std::size_t k = 0; k < indices.size(); ++k) {
        const auto index = static_cast<std::uint64_t>(indices[k]);  // large where it is negative
        are_inside &= index < end;
        result[k] = static_cast<Index>(index);
    }
    if (!are_inside) check_indices(indices, num_entries, rank);
    return result;
}

template raw_vector<std::uint32_t> to_indices(std::span<const count_t>, count_t, rank_t,
                                              std::pmr::memory_resource*);
template raw_vector<std::uint64_t> to_indices(std::span<const count_t>, count_t, rank_t,
                                              std::pmr::memory_resource*);

}  // namespace crossdock

#include "entry_owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "../base/item_bytes.hpp"

namespace crossdock {

namespace {

constexpr std::size_t stretch_length = 1024;

}  // namespace

error operation_error(rank_t rank, count_t index) {
    const auto located = [&](errc code, const char* what) {
        return error(
            code, fmt::format("an operation threw at rank {} for index {}: {}", rank, index, what),
            rank);
    };
    try {
        throw;
    } catch (const error& known) {
        return located(known.code(), known.what());
    } catch (const std::exception& other) {
        return located(errc::invalid_argument, other.what());
    } catch (...) {
        return located(errc::invalid_argument, "not a std::exception");
    }
}

template <class Index>
void entry_owner<Index>::append_offsets(std::span<const Index> indices,
                                        std::vector<count_t>& offsets) const {
    for (const Index index : indices) offsets.push_back(offset_of(index));
}

template <class Index>
void entry_owner<Index>::apply(const value_operation& operation, std::span<const Index> indices,
                               const std::byte* values, std::byte* entries) const {
    const std::size_t value_bytes = operation.value_bytes();
    std::array<count_t, stretch_length> offsets;
    for (std::size_t first = 0; first < indices.size(); first += stretch_length) {
        const std::size_t length = std::min(stretch_length, indices.size() - first);
        for (std::size_t k = 0; k < length; ++k) offsets[k] = offset_of(indices[first + k]);
        std::size_t failed_at = 0;
        try {
            operation.apply(entries, values + first * value_bytes,
                            std::span<const count_t>(offsets.data(), length), failed_at);
        } catch (...) {
            throw operation_error(rank_, static_cast<count_t>(indices[first + failed_at]));
        }
    }
}

template <class Index>
void entry_owner<Index>::read(const std::byte* entries, std::size_t item_bytes,
                              std::span<const Index> indices, std::byte* to) const {
    with_item_bytes(item_bytes, [&](auto bytes) {
        for (std::size_t k = 0; k < indices.size(); ++k) {
            const auto offset = static_cast<std::size_t>(offset_of(indices[k]));
            std::memcpy(to + k * bytes, entries + offset * bytes, bytes);
        }
    });
}

template class entry_owner<std::uint32_t>;
template class entry_owner<std::uint64_t>;

}  // namespace crossdock

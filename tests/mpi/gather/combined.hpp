/// @file
/// @brief What gather-scatters must give.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock::test {

/// @brief What the values of all ranks become, by a serial loop.
template <class T, class Op>
std::vector<std::vector<T>> combined(const std::vector<std::vector<count_t>>& ids,
                                     std::vector<std::vector<T>> values, Op op, bool transposed) {
    std::map<count_t, T> result;
    std::map<count_t, bool> is_plain;
    for (std::size_t r = 0; r < ids.size(); ++r) {
        for (std::size_t i = 0; i < ids[r].size(); ++i) {
            if (ids[r][i] > 0) is_plain[ids[r][i]] = true;
            if (ids[r][i] == 0 || (ids[r][i] < 0 && !transposed)) continue;
            const auto [known, is_new] = result.try_emplace(std::abs(ids[r][i]), values[r][i]);
            if (!is_new) known->second = op(known->second, values[r][i]);
        }
    }
    for (std::size_t r = 0; r < ids.size(); ++r)
        for (std::size_t i = 0; i < ids[r].size(); ++i)
            if (is_plain.contains(std::abs(ids[r][i])) && (ids[r][i] > 0 || !transposed))
                values[r][i] = result.at(std::abs(ids[r][i]));
    return values;
}

}  // namespace crossdock::test

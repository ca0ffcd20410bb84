// How requests for equal indices are found and combined.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How a rank finds requests for equal indices.
enum class combining {
    none,  ///< not at all: every request travels by itself
    sort,  ///< radix sort; what comes sorted is merged, and found again by exponential search
    hash,  ///< a hash table from the index to its position
    search_tree,    ///< a B-tree from the index to its position
    envelope_hash,  ///< as `hash`; requests carry a return address, and replies come in any order
    envelope_sort,  ///< as `sort`, by radix sort only; with return addresses
};

/// @brief Which requests of a batch are combined. Equal on all ranks.
struct combining_options {
    combining strategy = combining::sort;
    bool locally = true;     ///< a rank's own requests
    bool on_the_way = true;  ///< requests of several ranks that meet at one
};

/// @brief About how many requests a rank makes in a batch, if nothing else is said.
inline constexpr count_t default_expected_requests = count_t{1} << 15;

/// @brief One line of the list of strategies.
struct combining_description {
    std::string name;
    std::string summary;
    combining strategy;
};

/// @brief Every strategy, in the order of the documentation.
const std::vector<combining_description>& registered_combining();

/// @brief The strategy with a name, such as "envelope_sort".
/// @throws error(errc::invalid_argument)  there is none; the text lists them
combining parse_combining(std::string_view name);

const std::string& to_string(combining strategy);

}  // namespace crossdock

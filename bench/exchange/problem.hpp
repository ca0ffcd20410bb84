/// @file
/// @brief What the sparse exchanges of a distributed matrix are about.
#pragma once

#include <vector>

#include "bench/common/share.hpp"
#include "crossdock/sparse_exchange.hpp"

namespace crossdock::bench::sparse {

/// @brief What ranks tell the owners of the columns they need, who do not know that they will.
enum class message_values {
    pattern,  ///< how many columns: one number each
    indices,  ///< which columns: their global numbers
};

/// @brief `message_values::pattern`, as one rank knows it.
///
///     rank 1 needs columns 2 and 7 of rank 0:   destinations {0}, values {2}
struct pattern_problem {
    using value_type = int;  // as in the study

    std::vector<rank_t> destinations;
    std::vector<int> values;
    received<int> expected;

    constant_messages<int> messages() const { return {destinations, 1, values}; }
};

/// @brief `message_values::indices`, as one rank knows it.
///
///     rank 1 needs columns 2 and 7 of rank 0:   destinations {0}, counts {2}, values {2 7}
struct indices_problem {
    using value_type = count_t;

    std::vector<rank_t> destinations;
    std::vector<count_t> counts;
    std::vector<count_t> values;
    received<count_t> expected;

    variable_messages<count_t> messages() const { return {destinations, counts, {}, values}; }
};

/// @brief The owners are the sources of the halo; what must come is read from its other side.
/// @par Source
/// \cite geyko2024sdde, the two ways in which a halo is found.
pattern_problem make_pattern_problem(const share& part);
indices_problem make_indices_problem(const share& part);

}  // namespace crossdock::bench::sparse

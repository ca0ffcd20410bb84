/// @file
/// @brief The matrix that multigrid is set up for.
#pragma once

#include "tools/inputs/workload.hpp"

namespace crossdock::bench {

/// @brief The matrix with rows and columns renumbered so that every rank's are consecutive, in the
/// order of ranks.
///
/// Where values are missing or complex, or one on the diagonal is 0, they are those of a Laplacian:
/// -1 for every entry of A + A' off the diagonal, and on it their number + 1/1024.
///
///     owners 1 0 1   [ 2 5 . ]            [ 2 3 . ]   owners 0 1 1
///                    [ 3 2 . ]   becomes  [ 5 2 . ]
///                    [ . . 4 ]            [ . . 4 ]
/// @throws error(errc::invalid_argument)  the matrix is not square
workload make_amg_matrix(const workload& work);

}  // namespace crossdock::bench

#include "../matrix.hpp"

namespace crossdock {

sparse_matrix read_matrix_market(const std::string& path) {
    throw error(errc::file_error,
                "crossdock was built without Matrix Market files, and cannot read " + path +
                    "; CROSSDOCK_WITH_MATRIX_MARKET=ON builds it with them");
}

}  // namespace crossdock

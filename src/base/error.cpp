#include "crossdock/error.hpp"

namespace crossdock {

const char* to_string(errc code) noexcept {
    switch (code) {
        case errc::success: return "success";
        case errc::invalid_argument: return "invalid_argument";
        case errc::invalid_topology: return "invalid_topology";
        case errc::unknown_route: return "unknown_route";
        case errc::invalid_route: return "invalid_route";
        case errc::size_mismatch: return "size_mismatch";
        case errc::rank_out_of_range: return "rank_out_of_range";
        case errc::index_out_of_range: return "index_out_of_range";
        case errc::count_mismatch: return "count_mismatch";
        case errc::count_overflow: return "count_overflow";
        case errc::file_error: return "file_error";
        case errc::parse_error: return "parse_error";
        case errc::invalid_state: return "invalid_state";
        case errc::invalid_plan: return "invalid_plan";
        case errc::mpi_failure: return "mpi_failure";
        case errc::out_of_memory: return "out_of_memory";
        case errc::handler_failed: return "handler_failed";
        case errc::peer_failed: return "peer_failed";
        case errc::timeout: return "timeout";
        case errc::rank_failed: return "rank_failed";
        case errc::internal: return "internal";
    }
    return "unknown";
}

}  // namespace crossdock

#include "operation_error.hpp"

#include <fmt/format.h>

namespace crossdock {

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

}  // namespace crossdock

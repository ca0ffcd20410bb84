#include "environment_mpi.hpp"

#include <cstdlib>

#include "share_of_first_mpi.hpp"

namespace crossdock {

environment::environment(const communicator& comm) {
    static constexpr const char* names[num_variables] = {
        "CROSSDOCK_ROUTE",    "CROSSDOCK_FORCE_ROUTE", "CROSSDOCK_TOPOLOGY", "CROSSDOCK_MACHINE",
        "CROSSDOCK_EXECUTOR", "CROSSDOCK_ALGORITHM",   "CROSSDOCK_CHECK",    "CROSSDOCK_REPORT",
        "CROSSDOCK_TRACE",    "CROSSDOCK_WATCHDOG"};
    const auto make = [] {
        std::string all;  // each value and a null character
        for (const char* const name : names) {
            const char* const value = std::getenv(name);
            all += value != nullptr ? value : "";
            all += '\0';
        }
        return all;
    };
    values_ = share_of_first(comm, make, [](const std::string& text) {
        std::array<std::string, num_variables> values;
        const char* next = text.data();
        for (auto& value : values) {
            value = next;
            next += value.size() + 1;
        }
        return values;
    });
}

bool environment::checks() const noexcept {
#ifdef CROSSDOCK_IS_DEBUG_BUILD
    if (values_[6].empty()) return true;
#endif
    return is_set(values_[6].c_str());
}

}  // namespace crossdock

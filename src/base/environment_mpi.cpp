#include "environment_mpi.hpp"

#include <cstdlib>
#include <utility>

#include "broadcast_text_mpi.hpp"

namespace crossdock {

environment::environment(const communicator& comm) {
    static constexpr const char* names[num_variables] = {
        "CROSSDOCK_ROUTE",    "CROSSDOCK_FORCE_ROUTE", "CROSSDOCK_TOPOLOGY", "CROSSDOCK_MACHINE",
        "CROSSDOCK_EXECUTOR", "CROSSDOCK_EXCHANGE",    "CROSSDOCK_CHECK"};
    comm.wait_for_all();
    std::string text;  // each value and a null character
    if (comm.rank() == 0) {
        for (const char* const name : names) {
            const char* const value = std::getenv(name);
            text += value != nullptr ? value : "";
            text += '\0';
        }
    }
    text = broadcast_text(comm, std::move(text));
    const char* next = text.data();
    for (auto& value : values_) {
        value = next;
        next += value.size() + 1;
    }
}

}  // namespace crossdock

#include "executor_mpi.hpp"

#include "../base/environment_mpi.hpp"

namespace crossdock {

// Each in a file of its own.
std::unique_ptr<executor> make_schedule_executor(const executor_setup& setup);

const std::vector<executor_description>& registered_executors() {
    static const std::vector<executor_description> executors{
        {"auto", "shared_memory where ranks share memory and enough of it is left",
         memory_use::if_possible, &make_schedule_executor},
        {"persistent", "MPI's persistent requests for every message", memory_use::none,
         &make_schedule_executor},
        {"shared_memory", "ranks that share memory read and write each other's items",
         memory_use::required, &make_schedule_executor},
    };
    return executors;
}

const executor_description& find_executor(std::string_view name) {
    std::string known;
    for (const auto& entry : registered_executors()) {
        if (entry.name == name) return entry;
        known += (known.empty() ? "" : ", ") + entry.name;
    }
    throw error(errc::invalid_argument,
                "there is no executor \"" + std::string(name) + "\": " + known);
}

const executor_description& find_executor(const communicator& comm, std::string_view name) {
    const std::string& asked = comm.resource<environment>().executor();
    return find_executor(name == "auto" && !asked.empty() ? asked : name);
}

}  // namespace crossdock

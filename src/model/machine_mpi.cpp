#include "machine_mpi.hpp"

#include <string>

#include "../base/environment_mpi.hpp"
#include "../base/share_of_first_mpi.hpp"
#include "assumed_machine_mpi.hpp"

namespace crossdock {

namespace {

constexpr const char* variable = "CROSSDOCK_MACHINE";

struct known_machine final : communicator_resource {
    explicit known_machine(const communicator& comm)
        : value(find(comm, comm.resource<environment>().machine())) {}

    bool is_for_parts() const noexcept override { return true; }

    static machine find(const communicator& comm, const std::string& name) {
        if (name.empty()) return assumed_machine(comm);
        try {
            return load_machine_of_first(comm, name);
        } catch (const error& fault) {
            throw error(fault.code(), std::string(variable) + ": " + fault.what(), fault.rank());
        }
    }

    machine value;
};

}  // namespace

machine load_machine_of_first(const communicator& comm, const std::string& name) {
    return share_of_first(
        comm, [&] { return to_json(load_machine(name)); },
        [](const std::string& text) { return machine_from_json(text); });
}

const machine& machine_of(const communicator& comm) { return comm.resource<known_machine>().value; }

}  // namespace crossdock

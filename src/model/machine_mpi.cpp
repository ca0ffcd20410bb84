#include "crossdock/model/machine_mpi.hpp"

#include <cstdlib>
#include <string>

#include "crossdock/model/assumed_machine_mpi.hpp"

namespace crossdock {

namespace {

constexpr const char* variable = "CROSSDOCK_MACHINE";

// The text of rank 0's machine; empty if it names none.
std::string text_of_first(const communicator& comm) {
    auto text = on_all_or_none(comm, [&]() -> std::string {
        const char* const name = comm.rank() == 0 ? std::getenv(variable) : nullptr;
        if (name == nullptr || *name == '\0') return "";
        try {
            return to_json(load_machine(name));
        } catch (const error& fault) {
            throw error(fault.code(), std::string(variable) + ": " + fault.what(), fault.rank());
        }
    });
    int length = static_cast<int>(text.size());
    CROSSDOCK_MPI(MPI_Bcast(&length, 1, MPI_INT, 0, comm.get()));
    text.resize(static_cast<std::size_t>(length));
    CROSSDOCK_MPI(MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm.get()));
    return text;
}

struct known_machine final : communicator_resource {
    explicit known_machine(const communicator& comm) {
        const auto text = text_of_first(comm);
        value = text.empty() ? assumed_machine(comm) : machine_from_json(text);
    }

    machine value;
};

}  // namespace

const machine& machine_of(const communicator& comm) { return comm.resource<known_machine>().value; }

}  // namespace crossdock

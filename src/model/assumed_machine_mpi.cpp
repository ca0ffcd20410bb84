#include "assumed_machine_mpi.hpp"

#include "../base/rank_fault_mpi.hpp"
#include "crossdock/discover_topology.hpp"

namespace crossdock {

namespace {

constexpr const char* shared_cores_name = "shared_cores";

struct assumption final : communicator_resource {
    explicit assumption(const communicator& comm) {
        comm.wait_for_all();  // counting blocks in MPI
        std::optional<error> fault;
        const int num_cores = count_shared_cores(comm, fault);
        attempt(comm.rank(), fault, [&] {
            value = default_machine();
            if (num_cores == 0) return;
            value = load_machine(shared_cores_name);
            value.num_cores = num_cores;
            value.sources["num_cores"] = "counted: the cores that the ranks may run on";
        });
        agree(comm, fault);
    }

    machine value;
};

}  // namespace

const machine& assumed_machine(const communicator& comm) {
    return comm.resource<assumption>().value;
}

}  // namespace crossdock

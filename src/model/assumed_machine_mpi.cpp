#include "assumed_machine_mpi.hpp"

#include "host_cores_mpi.hpp"

namespace crossdock {

namespace {

constexpr const char* shared_cores_name = "shared_cores";

struct assumption final : communicator_resource {
    explicit assumption(const communicator& comm) {
        comm.wait_for_all();  // counting blocks in MPI
        const int num_cores = count_shared_cores(comm);
        value = on_all_or_none(comm, [&] {
            if (num_cores == 0) return default_machine();
            auto shared = load_machine(shared_cores_name);
            shared.num_cores = num_cores;
            shared.sources["num_cores"] = "counted: the cores that the ranks may run on";
            return shared;
        });
    }

    machine value;
};

}  // namespace

const machine& assumed_machine(const communicator& comm) {
    return comm.resource<assumption>().value;
}

}  // namespace crossdock

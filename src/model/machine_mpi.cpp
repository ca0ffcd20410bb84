#include "machine_mpi.hpp"

#include <sched.h>

#include <array>
#include <fstream>
#include <limits>
#include <string>

#include "../base/collective_mpi.hpp"
#include "../base/environment_mpi.hpp"
#include "../base/rank_fault_mpi.hpp"
#include "../base/share_of_first_mpi.hpp"
#include "../base/watchdog_mpi.hpp"
#include "crossdock/discover_topology.hpp"

namespace crossdock {

namespace {

int number_of_host() {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    // Not every system has one, or shows it.
    if (text.empty()) {
        text.resize(MPI_MAX_PROCESSOR_NAME);
        int length = 0;
        CROSSDOCK_MPI(MPI_Get_processor_name(text.data(), &length));
        text.resize(static_cast<std::size_t>(length));
    }
    return static_cast<int>(agreement_hash(text) % std::numeric_limits<int>::max());
}

// Those that any of the ranks of a host may run on; none where there are more than a set holds.
int count_cores(const communicator& comm, MPI_Comm host) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof cores, &cores);
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, &cores, sizeof cores, MPI_BYTE, MPI_BOR, host, request);
    });
    return CPU_COUNT(&cores);
}

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

int count_shared_cores(const communicator& comm, std::optional<error>& fault) {
    const collective_call now("counting cores", comm);
    int number = 0;
    attempt(comm.rank(), fault, [&] { number = number_of_host(); });
    MPI_Comm host = MPI_COMM_NULL;
    insist([&] { return MPI_Comm_split(comm.get(), number, comm.rank(), &host); });
    rank_t rank = 0, num_ranks = 0;
    insist([&] { return MPI_Comm_rank(host, &rank); });
    insist([&] { return MPI_Comm_size(host, &num_ranks); });
    const int num_cores = count_cores(comm, host);
    insist([&] { return MPI_Comm_free(&host); });
    const bool is_first = rank == 0;
    const bool is_shared = num_cores > 0 && num_ranks > num_cores;
    std::array<int, 2> sums{is_first ? num_cores : 0, is_shared ? 1 : 0};
    allreduce(comm, sums.data(), 2, MPI_INT, MPI_SUM);
    return sums[1] > 0 ? sums[0] : 0;
}

const machine& assumed_machine(const communicator& comm) {
    return comm.resource<assumption>().value;
}

machine load_machine_of_first(const communicator& comm, const std::string& name) {
    return share_of_first(
        comm, [&] { return to_json(load_machine(name)); },
        [](const std::string& text) { return machine_from_json(text); });
}

const machine& machine_of(const communicator& comm) { return comm.resource<known_machine>().value; }

}  // namespace crossdock

#include "host_cores_mpi.hpp"

#include <sched.h>

#include <fstream>
#include <map>
#include <string>

namespace crossdock {

namespace {

struct host_entry {
    std::int64_t host = 0;
    cpu_set_t cores;
};

host_entry find_own() {
    host_entry own;
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    own.host = agreement_hash(text);
    CPU_ZERO(&own.cores);
    sched_getaffinity(0, sizeof own.cores, &own.cores);  // none where there are more than it holds
    return own;
}

struct host_load {
    cpu_set_t cores;
    int num_ranks = 0;

    host_load() { CPU_ZERO(&cores); }
};

}  // namespace

int count_shared_cores(const communicator& comm) {
    const host_entry own = find_own();
    std::vector<host_entry> all(static_cast<std::size_t>(comm.num_ranks()));
    CROSSDOCK_MPI(
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, comm.get()));
    std::map<std::int64_t, host_load> hosts;
    for (const auto& entry : all) {
        auto& host = hosts[entry.host];
        CPU_OR(&host.cores, &host.cores, &entry.cores);
        ++host.num_ranks;
    }
    int num_cores = 0;
    bool is_shared = false;
    for (const auto& [key, host] : hosts) {
        const int count = CPU_COUNT(&host.cores);
        num_cores += count;
        is_shared = is_shared || (count > 0 && host.num_ranks > count);
    }
    return is_shared ? num_cores : 0;
}

}  // namespace crossdock

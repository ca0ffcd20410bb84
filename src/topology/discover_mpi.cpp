#include "crossdock/discover_topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../base/rank_fault_mpi.hpp"
#include "../base/share_of_first_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"
#include "placement_builder.hpp"

namespace crossdock {

namespace {

// This process's place in its node.

struct hwloc_deleter {
    void operator()(hwloc_topology_t machine) const noexcept { hwloc_topology_destroy(machine); }
    void operator()(hwloc_bitmap_t cpus) const noexcept { hwloc_bitmap_free(cpus); }
};
using machine_ptr = std::unique_ptr<hwloc_topology, hwloc_deleter>;
using cpus_ptr = std::unique_ptr<hwloc_bitmap_s, hwloc_deleter>;

machine_ptr inspect_machine() {
    hwloc_topology_t machine = nullptr;
    if (hwloc_topology_init(&machine) != 0) throw std::bad_alloc();
    machine_ptr owner(machine);
    // Processes of a node may be allowed different cores, but must number its objects alike.
    hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(machine) != 0)
        throw error(errc::invalid_topology, "hwloc cannot inspect this machine");
    return owner;
}

hwloc_obj_type_t object_type(locality level) {
    switch (level) {
        case locality::socket: return HWLOC_OBJ_PACKAGE;
        case locality::numa: return HWLOC_OBJ_NUMANODE;
        case locality::l3: return HWLOC_OBJ_L3CACHE;
        case locality::node: break;
    }
    return HWLOC_OBJ_MACHINE;
}

// The number from 1 of the object that includes this thread's binding, or 0 for the remainder. Not
// the process's: MPI's own threads are often free to run anywhere.
int find_own_object(locality level) {
    const machine_ptr machine = inspect_machine();
    const cpus_ptr binding(hwloc_bitmap_alloc());
    if (!binding) throw std::bad_alloc();
    if (hwloc_get_cpubind(machine.get(), binding.get(), HWLOC_CPUBIND_THREAD) != 0) return 0;
    const hwloc_obj_type_t type = object_type(level);
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(machine.get(), type, object));) {
        if (hwloc_bitmap_isincluded(binding.get(), object->cpuset))
            return checked_cast<int>(object->logical_index) + 1;
    }
    return 0;
}

// From each rank's region to the topology.

MPI_Comm split(MPI_Comm comm, int key, rank_t rank) {
    MPI_Comm part = MPI_COMM_NULL;
    insist([&] { return MPI_Comm_split(comm, key, rank, &part); });
    return part;
}

MPI_Comm split_by_node(const communicator& comm) {
    MPI_Comm node = MPI_COMM_NULL;
    insist([&] {
        return MPI_Comm_split_type(comm.get(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL,
                                   &node);
    });
    return node;
}

// How many regions have a smaller smallest rank; `members` are in rank order.
region_t number_region(const communicator& comm, MPI_Comm members) {
    rank_t local_rank = 0;
    insist([&] { return MPI_Comm_rank(members, &local_rank); });
    const int is_smallest = local_rank == 0;
    region_t region = 0;  // rank 0 keeps it: a scan that excludes the own value gives it none
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Iexscan(&is_smallest, &region, 1, MPI_INT, MPI_SUM, comm.get(), request);
    });
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Ibcast(&region, 1, MPI_INT, 0, members, request);
    });
    return region;
}

constexpr int placement_ints = 5;
static_assert(sizeof(placement) == placement_ints * sizeof(int) && std::is_same_v<rank_t, int> &&
              std::is_same_v<region_t, int>);

std::vector<placement> receive_placements(const communicator& comm, rank_t source, int tag) {
    MPI_Status status;
    insist([&] { return MPI_Probe(source, tag, comm.get(), &status); });
    int num_ints = 0;
    insist([&] { return MPI_Get_count(&status, MPI_INT, &num_ints); });
    auto code = with_reserve([&] {
        return std::vector<placement>(static_cast<std::size_t>(num_ints / placement_ints));
    });
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Irecv(code.data(), num_ints, MPI_INT, source, tag, comm.get(), request);
    });
    return code;
}

// Up a binomial tree: a rank speaks for the 1, 2, 4, … ranks from itself on, until it is the upper
// half of the next power of two. Rank 0 returns the code of all ranks, the others nothing. With a fault a rank sends
// nothing, but it sends; then rank 0 has nothing either.
std::vector<placement> gather_placements(const communicator& comm, region_t own_region,
                                         std::optional<error>& fault) {
    const auto tags = comm.reserve_tags(1);
    const int tag = tags.first();
    placement_builder builder;
    std::vector<placement> code;
    bool is_complete = true;
    builder.append(own_region, 1);
    const auto finish = [&] {
        if (is_complete) attempt(comm.rank(), fault, [&] { code = std::move(builder).finish(); });
    };
    for (rank_t step = 1; step < comm.num_ranks(); step *= 2) {
        if (comm.rank() & step) {
            finish();
            run_collective(comm, [&](MPI_Request* request) {
                return MPI_Isend(code.data(), static_cast<int>(code.size()) * placement_ints,
                                 MPI_INT, comm.rank() - step, tag, comm.get(), request);
            });
            return {};
        }
        if (step >= comm.num_ranks() - comm.rank()) continue;
        const auto parts = receive_placements(comm, comm.rank() + step, tag);
        is_complete = is_complete && !parts.empty();
        attempt(comm.rank(), fault, [&] {
            for (const placement& part : parts) builder.append(part);
        });
    }
    finish();
    return code;
}

// All ranks agree on what they have failed with before and on `same` as well.
topology share_topology(const communicator& comm, region_t own_region, std::optional<error> fault,
                        std::int64_t same = 0, const char* what = "the arguments") {
    auto gathered = gather_placements(comm, own_region, fault);
    const auto make = [&] {
        if (gathered.empty()) throw peer_stopped();
        return std::move(gathered);
    };
    return share_of_first(
        comm, make,
        [](const std::vector<placement>& code) { return topology::from_placements(code); }, fault,
        same, what);
}

}  // namespace

const char* to_string(locality level) noexcept {
    switch (level) {
        case locality::node: return "node";
        case locality::socket: return "socket";
        case locality::numa: return "numa";
        case locality::l3: return "l3";
    }
    return "unknown";
}

std::optional<locality> find_locality(std::string_view name) noexcept {
    for (const locality level : {locality::node, locality::socket, locality::numa, locality::l3}) {
        if (name == to_string(level)) return level;
    }
    return std::nullopt;
}

locality parse_locality(std::string_view name) {
    if (const auto level = find_locality(name)) return *level;
    throw_error(errc::invalid_topology,
                "there is no locality \"{}\"; there are node, socket, numa, l3", name);
}

topology discover_topology(const communicator& comm, locality level) {
    const collective_call now("discovering a topology", comm);
    int object = 0;
    std::optional<error> fault;
    attempt(comm.rank(), fault, [&] {
        if (level != locality::node) object = find_own_object(level);
    });
    MPI_Comm node = split_by_node(comm);
    MPI_Comm members = split(node, object, comm.rank());
    insist([&] { return MPI_Comm_free(&node); });
    const region_t region = number_region(comm, members);
    insist([&] { return MPI_Comm_free(&members); });
    return share_topology(comm, region, std::move(fault), static_cast<std::int64_t>(level),
                          "the localities");
}

topology gather_topology(const communicator& comm, region_t key) {
    const collective_call now("gathering a topology", comm);
    std::optional<error> fault;
    attempt(comm.rank(), fault, [&] {
        if (key < 0)
            throw_error_of(comm.rank(), errc::invalid_argument,
                           "the key of rank {} is {}; the minimum is 0", comm.rank(), key);
    });
    MPI_Comm members = split(comm.get(), std::max(key, 0), comm.rank());
    const region_t region = number_region(comm, members);
    insist([&] { return MPI_Comm_free(&members); });
    return share_topology(comm, region, std::move(fault));
}

}  // namespace crossdock

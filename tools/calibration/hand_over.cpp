#include "hand_over.hpp"

#include <array>
#include <atomic>
#include <new>
#include <vector>

#include "crossdock/detail/base/suspension.hpp"
#include "crossdock/discover_topology.hpp"
#include "measuring.hpp"

namespace crossdock {

namespace {

// The first two ranks of the first of the machines that have as many.
std::optional<rank_pair> find_sharing_pair(const communicator& comm, const communicator& node) {
    const rank_t own = comm.rank();
    std::vector<rank_t> members(static_cast<std::size_t>(node.num_ranks()));
    CROSSDOCK_MPI(MPI_Allgather(&own, 1, MPI_INT, members.data(), 1, MPI_INT, node.get()));
    const rank_t none = comm.num_ranks();
    // Of one node: the one with the lowest rank that has a second.
    std::array<rank_t, 2> pair{none, none};
    if (members.size() > 1) pair = {members[0], members[1]};
    rank_t first = pair[0];
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm.get()));
    if (first == none) return std::nullopt;
    CROSSDOCK_MPI(MPI_Bcast(pair.data(), 2, MPI_INT, first, comm.get()));
    return rank_pair{pair[0], pair[1]};
}

// A number of each rank of a node, in a cache line of its own.
class shared_flags {
  public:
    explicit shared_flags(MPI_Comm node) {
        constexpr MPI_Aint line_bytes = 64;
        void* own = nullptr;
        CROSSDOCK_MPI(MPI_Win_allocate_shared(line_bytes, 1, MPI_INFO_NULL, node, &own, &window_));
        new (own) std::int64_t(0);
    }

    std::atomic_ref<std::int64_t> of(int rank) const {
        MPI_Aint num_bytes = 0;
        int unit = 0;
        void* memory = nullptr;
        CROSSDOCK_MPI(MPI_Win_shared_query(window_, rank, &num_bytes, &unit, &memory));
        return std::atomic_ref<std::int64_t>(*static_cast<std::int64_t*>(memory));
    }

    void free() { CROSSDOCK_MPI(MPI_Win_free(&window_)); }

  private:
    MPI_Win window_ = MPI_WIN_NULL;
};

// There and back, many times; `flag` is what both have raised before.
double hand_over(bool is_first, const shared_flags& flags, std::int64_t& flag) {
    constexpr int num_trips = 100;
    const auto raise_own = [&] {
        flags.of(is_first ? 0 : 1).store(++flag, std::memory_order_release);
    };
    const auto see_other = [&](std::int64_t value) {
        constexpr int looks_between_yields = 1000;
        const auto other = flags.of(is_first ? 1 : 0);
        for (int looks = 1; other.load(std::memory_order_acquire) < value; ++looks) {
            if (looks % looks_between_yields == 0) pause_wait();
        }
    };
    const double start = MPI_Wtime();
    for (int k = 0; k < num_trips; ++k) {
        if (!is_first) see_other(flag + 1);
        raise_own();
        if (is_first) see_other(flag);
    }
    return elapsed_since(start) / (2 * num_trips);
}

}  // namespace

std::optional<double> measure_hand_over(const communicator& comm, double seconds) {
    const auto nodes = discover_topology(comm);
    comm.wait_for_all();  // what follows blocks in MPI
    auto node = comm.split(nodes.region_of(comm.rank()));
    const auto pair = find_sharing_pair(comm, node);
    auto flags = on_all_or_none(comm, [&] { return shared_flags(node.get()); });
    std::optional<double> found;
    if (pair) {
        std::int64_t flag = 0;
        found = measure_by_two(comm.get(), *pair, 1, seconds, [&](auto) {
                    return hand_over(comm.rank() == pair->first, flags, flag);
                }).front();
    }
    comm.wait_for_all();  // so do these
    flags.free();
    node.close();
    return found;
}

}  // namespace crossdock

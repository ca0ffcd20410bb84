#include "bench/neighbor/contender.hpp"

#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT MPI_Neighbor_alltoallv_init
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#include <mpi-ext.h>
#define CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT MPIX_Neighbor_alltoallv_init
#endif

namespace crossdock::bench {

namespace {

// The values of one side of all messages; counts and displacements in items.
struct side {
    std::span<const rank_t> ranks;
    std::byte* values;
    std::vector<int> counts;
    std::vector<int> displacements;

    // Open MPI's persistent call refuses null pointers where there is no neighbor.
    side(std::span<const rank_t> neighbors, std::byte* first) : ranks(neighbors), values(first) {
        counts.reserve(neighbors.size() + 1);
        displacements.reserve(neighbors.size() + 1);
    }

    void append(std::size_t count, count_t displacement) {
        counts.push_back(checked_cast<int>(count));
        displacements.push_back(checked_cast<int>(displacement));
    }
};

side packed_side(const pattern& what, packed_items& packed) {
    side result(what.sends.ranks, packed.data());
    for (std::size_t e = 0; e < what.sends.size(); ++e)
        result.append(what.sends[e].size(), what.sends.offsets[e]);
    return result;
}

side slot_side(const pattern& what, std::span<std::byte> slots) {
    side result(what.receives.ranks, slots.data());
    for (std::size_t e = 0; e < what.receives.size(); ++e)
        result.append(what.receives[e].size(), what.receives[e].front());
    return result;
}

// What both collectives need: the graph, and the arguments that describe the values.
class graph_collective : public contender {
  public:
    traffic sent() const override { return direct_traffic(task_.where.topology(), task_.what); }

  protected:
    explicit graph_collective(const exchange_task& task)
        : task_(task),
          type_(task.item_bytes),
          packed_(task),
          from_(packed_side(task.what, packed_)),
          to_(slot_side(task.what, task.slots)) {
        if (!task.is_forward()) std::swap(from_, to_);
        CROSSDOCK_MPI(MPI_Dist_graph_create_adjacent(
            task.where.comm().get(), checked_cast<int>(to_.ranks.size()), to_.ranks.data(),
            MPI_UNWEIGHTED, checked_cast<int>(from_.ranks.size()), from_.ranks.data(),
            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_));
    }

    ~graph_collective() override { MPI_Comm_free(&graph_); }

    void before() {
        if (task_.is_forward()) packed_.pack();
    }

    void after() {
        if (!task_.is_forward()) packed_.add();
    }

    exchange_task task_;
    item_datatype type_;
    packed_items packed_;
    side from_;
    side to_;
    MPI_Comm graph_ = MPI_COMM_NULL;
};

class blocking_call final : public graph_collective {
  public:
    explicit blocking_call(const exchange_task& task) : graph_collective(task) {}

    void start() override {
        before();
        CROSSDOCK_MPI(MPI_Neighbor_alltoallv(
            from_.values, from_.counts.data(), from_.displacements.data(), type_.get(), to_.values,
            to_.counts.data(), to_.displacements.data(), type_.get(), graph_));
        after();
    }

    void test() override {}
    void wait() override {}
};

#ifdef CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT

class persistent_call final : public graph_collective {
  public:
    explicit persistent_call(const exchange_task& task) : graph_collective(task) {
        CROSSDOCK_MPI(CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT(
            from_.values, from_.counts.data(), from_.displacements.data(), type_.get(), to_.values,
            to_.counts.data(), to_.displacements.data(), type_.get(), graph_, MPI_INFO_NULL,
            &request_));
    }

    ~persistent_call() override { MPI_Request_free(&request_); }

    void start() override {
        before();
        CROSSDOCK_MPI(MPI_Start(&request_));
    }

    void test() override {
        int is_complete = 0;
        CROSSDOCK_MPI(MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE));
    }

    void wait() override {
        CROSSDOCK_MPI(MPI_Wait(&request_, MPI_STATUS_IGNORE));
        after();
    }

  private:
    MPI_Request request_ = MPI_REQUEST_NULL;
};

#endif

}  // namespace

entrant mpi_neighbor_alltoallv() {
    return {"mpi_neighbor_alltoallv", "", false, "",
            [](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<blocking_call>(task);
            }};
}

entrant mpi_neighbor_alltoallv_init() {
    const std::string name = "mpi_neighbor_alltoallv_init";
#ifdef CROSSDOCK_NEIGHBOR_ALLTOALLV_INIT
    return {name, "", false, "", [](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<persistent_call>(task);
            }};
#else
    return {name, "", false, "this MPI has no MPI_Neighbor_alltoallv_init", {}};
#endif
}

}  // namespace crossdock::bench

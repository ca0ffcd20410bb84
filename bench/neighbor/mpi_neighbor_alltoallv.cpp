#include "bench/neighbor/contender.hpp"

namespace crossdock::bench {

namespace {

// The values of one side of all messages; counts and displacements in items.
struct side {
    std::span<const rank_t> ranks;
    std::byte* values;
    std::vector<int> counts;
    std::vector<int> displacements;

    void append(std::size_t count, count_t displacement) {
        counts.push_back(checked_cast<int>(count));
        displacements.push_back(checked_cast<int>(displacement));
    }
};

side packed_side(const pattern& what, packed_items& packed) {
    side result{what.sends.ranks, packed.data(), {}, {}};
    for (std::size_t e = 0; e < what.sends.size(); ++e)
        result.append(what.sends[e].size(), what.sends.offsets[e]);
    return result;
}

side slot_side(const pattern& what, std::span<std::byte> slots) {
    side result{what.receives.ranks, slots.data(), {}, {}};
    for (std::size_t e = 0; e < what.receives.size(); ++e)
        result.append(what.receives[e].size(), what.receives[e].front());
    return result;
}

class neighbor_alltoallv final : public contender {
  public:
    explicit neighbor_alltoallv(const exchange_task& task)
        : task_(task),
          type_(task.item_bytes),
          packed_(task),
          from_(packed_side(task.what, packed_)),
          to_(slot_side(task.what, task.slots)) {
        if (!task.is_forward()) std::swap(from_, to_);
        CROSSDOCK_MPI(MPI_Dist_graph_create_adjacent(
            task.comm.get(), checked_cast<int>(to_.ranks.size()), to_.ranks.data(), MPI_UNWEIGHTED,
            checked_cast<int>(from_.ranks.size()), from_.ranks.data(), MPI_UNWEIGHTED,
            MPI_INFO_NULL, 0, &graph_));
    }

    ~neighbor_alltoallv() override { MPI_Comm_free(&graph_); }

    void start() override {
        if (task_.is_forward()) packed_.pack();
        CROSSDOCK_MPI(MPI_Neighbor_alltoallv(
            from_.values, from_.counts.data(), from_.displacements.data(), type_.get(), to_.values,
            to_.counts.data(), to_.displacements.data(), type_.get(), graph_));
        if (!task_.is_forward()) packed_.add();
    }

    void test() override {}
    void wait() override {}

    traffic sent() const override { return direct_traffic(task_.regions, task_.what); }

  private:
    exchange_task task_;
    item_datatype type_;
    packed_items packed_;
    side from_;
    side to_;
    MPI_Comm graph_ = MPI_COMM_NULL;
};

}  // namespace

entrant mpi_neighbor_alltoallv() {
    return {"mpi_neighbor_alltoallv", "", false, "",
            [](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<neighbor_alltoallv>(task);
            }};
}

}  // namespace crossdock::bench

#include "bench/neighbor/contender.hpp"

namespace crossdock::bench {

namespace {

// The counts and displacements of one side, in items.
struct side {
    std::vector<int> counts;
    std::vector<int> displacements;

    void append(std::size_t count, count_t displacement) {
        counts.push_back(checked_cast<int>(count));
        displacements.push_back(checked_cast<int>(displacement));
    }
};

class neighbor_alltoallv final : public contender {
  public:
    explicit neighbor_alltoallv(const exchange_task& task)
        : task_(task), type_(task.item_bytes), packed_(task) {
        const auto& sends = task.what.sends;
        const auto& receives = task.what.receives;
        for (std::size_t e = 0; e < sends.size(); ++e)
            sends_.append(sends[e].size(), sends.offsets[e]);
        for (std::size_t e = 0; e < receives.size(); ++e)
            receives_.append(receives[e].size(), receives[e].front());
        CROSSDOCK_MPI(MPI_Dist_graph_create_adjacent(
            task.comm.get(), checked_cast<int>(receives.size()), receives.ranks.data(),
            MPI_UNWEIGHTED, checked_cast<int>(sends.size()), sends.ranks.data(), MPI_UNWEIGHTED,
            MPI_INFO_NULL, 0, &graph_));
    }

    ~neighbor_alltoallv() override { MPI_Comm_free(&graph_); }

    void start() override {
        packed_.pack();
        CROSSDOCK_MPI(MPI_Neighbor_alltoallv(packed_.data(), sends_.counts.data(),
                                             sends_.displacements.data(), type_.get(),
                                             task_.slots.data(), receives_.counts.data(),
                                             receives_.displacements.data(), type_.get(), graph_));
    }

    void test() override {}
    void wait() override {}

    traffic sent() const override { return direct_traffic(task_.regions, task_.what); }

  private:
    exchange_task task_;
    item_datatype type_;
    packed_items packed_;
    side sends_;
    side receives_;
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

#include "bench/neighbor/contender.hpp"

namespace crossdock::bench {

namespace {

class persistent_requests final : public contender {
  public:
    explicit persistent_requests(const exchange_task& task)
        : task_(task), type_(task.item_bytes), packed_(task), tag_(task.comm.reserve_tags(1)) {
        for (std::size_t e = 0; e < task.what.receives.size(); ++e) add_receive(e);
        for (std::size_t e = 0; e < task.what.sends.size(); ++e) add_send(e);
    }

    ~persistent_requests() override {
        for (auto& request : requests_) MPI_Request_free(&request);
    }

    // Some MPIs refuse the null pointer of an empty array.
    void start() override {
        if (requests_.empty()) return;
        packed_.pack();
        CROSSDOCK_MPI(MPI_Startall(static_cast<int>(requests_.size()), requests_.data()));
    }

    void test() override {
        if (requests_.empty()) return;
        int is_complete = 0;
        CROSSDOCK_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(),
                                  &is_complete, MPI_STATUSES_IGNORE));
    }

    void wait() override {
        if (requests_.empty()) return;
        CROSSDOCK_MPI(
            MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    }

    traffic sent() const override { return direct_traffic(task_.regions, task_.what); }

  private:
    void add_receive(std::size_t entry) {
        const auto slots = task_.what.receives[entry];
        CROSSDOCK_MPI(MPI_Recv_init(
            task_.slots.data() + static_cast<std::size_t>(slots.front()) * task_.item_bytes,
            checked_cast<int>(slots.size()), type_.get(), task_.what.receives.ranks[entry], tag_,
            task_.comm.get(), &requests_.emplace_back()));
    }

    void add_send(std::size_t entry) {
        CROSSDOCK_MPI(MPI_Send_init(
            packed_.message(entry), checked_cast<int>(task_.what.sends[entry].size()), type_.get(),
            task_.what.sends.ranks[entry], tag_, task_.comm.get(), &requests_.emplace_back()));
    }

    exchange_task task_;
    item_datatype type_;
    packed_items packed_;
    int tag_;
    std::vector<MPI_Request> requests_;
};

}  // namespace

entrant mpi_persistent() {
    return {"mpi_persistent", "", false, "",
            [](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<persistent_requests>(task);
            }};
}

}  // namespace crossdock::bench

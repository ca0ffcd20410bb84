#include "bench/neighbor/contender.hpp"

namespace crossdock::bench {

namespace {

class persistent_requests final : public contender {
  public:
    explicit persistent_requests(const exchange_task& task)
        : task_(task),
          type_(task.item_bytes),
          packed_(task),
          tags_(task.where.comm().reserve_tags(1)) {
        const auto add_slots = [&] {
            for (std::size_t e = 0; e < task.what.receives.size(); ++e) add_slots_of(e);
        };
        const auto add_items = [&] {
            for (std::size_t e = 0; e < task.what.sends.size(); ++e) add_items_for(e);
        };
        // What receives comes first.
        if (task.is_forward()) {
            add_slots();
            add_items();
        } else {
            add_items();
            add_slots();
        }
    }

    ~persistent_requests() override {
        for (auto& request : requests_) MPI_Request_free(&request);
    }

    // Some MPIs refuse the null pointer of an empty array.
    void start() override {
        if (requests_.empty()) return;
        if (task_.is_forward()) packed_.pack();
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
        if (!task_.is_forward()) packed_.add();
    }

    traffic sent() const override { return direct_traffic(task_.where.topology(), task_.what); }

  private:
    void add_slots_of(std::size_t entry) {
        const auto slots = task_.what.receives[entry];
        add(task_.is_forward(), task_.what.receives.ranks[entry],
            task_.slots.data() + static_cast<std::size_t>(slots.front()) * task_.item_bytes,
            slots.size());
    }

    void add_items_for(std::size_t entry) {
        add(!task_.is_forward(), task_.what.sends.ranks[entry], packed_.message(entry),
            task_.what.sends[entry].size());
    }

    void add(bool receives, rank_t neighbor, std::byte* values, std::size_t num_items) {
        const int count = checked_cast<int>(num_items);
        MPI_Request& request = requests_.emplace_back();
        if (receives) {
            CROSSDOCK_MPI(MPI_Recv_init(values, count, type_.get(), neighbor, tags_.first(),
                                        task_.where.comm().get(), &request));
        } else {
            CROSSDOCK_MPI(MPI_Send_init(values, count, type_.get(), neighbor, tags_.first(),
                                        task_.where.comm().get(), &request));
        }
    }

    exchange_task task_;
    item_datatype type_;
    packed_items packed_;
    tag_block tags_;
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

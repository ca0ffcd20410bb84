#include "bench/common/petsc_sf.hpp"
#include "bench/neighbor/contender.hpp"

namespace crossdock::bench {

namespace {

// Roots are items, leaves are slots.
class forest_of_slots final : public contender {
  public:
    forest_of_slots(const exchange_task& task, const std::string& type)
        : task_(task),
          unit_(task.item_bytes),
          forest_(task.where.comm(), task.what.num_items, sources(task.what), task.slot_items,
                  type) {}

    ~forest_of_slots() override { forest_.close(); }

    void start() override {
        if (task_.is_forward()) {
            forest_.start_read(task_.items.data(), task_.slots.data(), unit_.get());
        } else {
            forest_.start_update(task_.slots.data(), task_.items.data(), unit_.get(), MPI_SUM);
        }
    }

    void test() override {}

    void wait() override {
        if (task_.is_forward()) {
            forest_.finish_read(task_.items.data(), task_.slots.data(), unit_.get());
        } else {
            forest_.finish_update(task_.slots.data(), task_.items.data(), unit_.get(), MPI_SUM);
        }
    }

    traffic sent() const override { return direct_traffic(task_.where.topology(), task_.what); }

  private:
    static std::vector<rank_t> sources(const pattern& what) {
        std::vector<rank_t> ranks(static_cast<std::size_t>(what.num_slots));
        for (std::size_t e = 0; e < what.receives.size(); ++e) {
            for (const count_t slot : what.receives[e])
                ranks[static_cast<std::size_t>(slot)] = what.receives.ranks[e];
        }
        return ranks;
    }

    exchange_task task_;
    item_datatype unit_;
    petsc_sf forest_;
};

}  // namespace

entrant petsc_forest(const std::string& type) {
    return {"petsc_sf_" + type, "", false, petsc_obstacle(type),
            [type](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<forest_of_slots>(task, type);
            }};
}

}  // namespace crossdock::bench

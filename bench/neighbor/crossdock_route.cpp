#include "bench/neighbor/contender.hpp"
#include "crossdock/neighbor/neighbor.hpp"

namespace crossdock::bench {

namespace {

class library_neighbor final : public contender {
  public:
    library_neighbor(const exchange_task& task, const std::string& route, bool deduplicate)
        : task_(task),
          type_(task.item_bytes),
          neighbor_(task.comm, task.regions, task.what, route, {.deduplicate = deduplicate}) {}

    void start() override { neighbor_.start(task_.items.data(), task_.slots.data(), type_.get()); }

    void test() override {
        if (neighbor_.is_active()) neighbor_.test();
    }

    void wait() override {
        if (neighbor_.is_active()) neighbor_.wait();
    }

    traffic sent() const override {
        return total_traffic(task_.regions, neighbor_.compiled_plan());
    }

  private:
    exchange_task task_;
    item_datatype type_;
    neighbor neighbor_;
};

}  // namespace

entrant crossdock_route(const std::string& route, bool deduplicate) {
    return {route, "persistent", deduplicate, "",
            [=](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<library_neighbor>(task, route, deduplicate);
            }};
}

}  // namespace crossdock::bench

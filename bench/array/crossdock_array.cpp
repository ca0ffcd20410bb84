#include "bench/array/contender.hpp"

namespace crossdock::bench::array {

namespace {

class library_array final : public contender {
  public:
    library_array(const context& where, count_t num_entries, const array_options<value_t>& options)
        : array_(where, num_entries, options) {}

    std::span<value_t> entries() override { return array_.local(); }

    void run(const request_batch& batch, std::span<value_t> replies) override {
        switch (batch.kind) {
            case request_traits::read: return array_.read(batch.indices, replies);
            case request_traits::sum: return array_.update(batch.indices, batch.values, sum());
            case request_traits::minimum:
                return array_.update(batch.indices, batch.values, minimum());
        }
    }

    array_statistics statistics() const override { return array_.statistics(); }

    void close() override { array_.close(); }

  private:
    distributed_array<value_t> array_;
};

auto make_with(const context& where, const array_options<value_t>& options) {
    return [where, options](count_t num_entries) -> std::unique_ptr<contender> {
        return std::make_unique<library_array>(where, num_entries, options);
    };
}

entrant baseline(const std::string& name, bool is_counted, array_transport transport,
                 const communicator& comm, const topology& regions) {
    array_options<value_t> options;
    options.transport = transport;
    return {name, std::nullopt, std::nullopt, is_counted,
            make_with(context(comm, regions), options)};
}

}  // namespace

entrant plain(const communicator& comm, const topology& regions) {
    return baseline("plain", true, array_transport::plain, comm, regions);
}

entrant rma(const communicator& comm, const topology& regions) {
    return baseline("rma", false, array_transport::rma, comm, regions);
}

entrant crossdock_route(const communicator& comm, const topology& regions, const std::string& name,
                        const std::string& route, const combining_options& combine) {
    array_options<value_t> options;
    options.route = route;
    options.combine = combine;
    return {name, options.route, to_string(combine.strategy), true,
            make_with(context(comm, regions), options)};
}

}  // namespace crossdock::bench::array

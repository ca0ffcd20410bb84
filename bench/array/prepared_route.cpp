#include "bench/array/prepared.hpp"

namespace crossdock::bench::array {

namespace {

class library_prepared final : public prepared_contender {
  public:
    library_prepared(const communicator& comm, const topology& regions,
                     const array_options<value_t>& options, const rank_work& work)
        : regions_(regions),
          work_(work),
          array_(context(comm, regions), work.owners.num_entries(), options) {
        fill_first_values(work, array_.local());
    }

    void clear() override { batch_.reset(); }
    void set_up() override { batch_.emplace(array_.prepare(ends_of(work_.edges))); }
    void read(std::span<value_t> out) override { batch_->read(out); }

    void close() override {
        clear();
        array_.close();
    }

    std::optional<traffic> sent() const override { return total_traffic(regions_, batch_->plan()); }

  private:
    const topology& regions_;
    const rank_work& work_;
    distributed_array<value_t> array_;
    std::optional<prepared_batch<value_t>> batch_;
};

}  // namespace

prepared_entrant prepared_route(const communicator& comm, const topology& regions,
                                const std::string& name, const std::string& route,
                                const combining_options& combine) {
    array_options<value_t> options;
    options.route = route;
    options.combine = combine;
    return {
        name, route, to_string(combine.strategy),
        [&comm, &regions, options](const rank_work& work) -> std::unique_ptr<prepared_contender> {
            return std::make_unique<library_prepared>(comm, regions, options, work);
        }};
}

}  // namespace crossdock::bench::array

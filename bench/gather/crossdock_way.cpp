#include "bench/gather/contender.hpp"
#include "crossdock/gather_scatter.hpp"

namespace crossdock::bench::gather {

namespace {

class library_gather final : public contender {
  public:
    library_gather(const context& where, std::span<const count_t> ids,
                   const gather_options& options)
        : shared_(where, ids, options) {}

    void combine(std::span<double> values) override { shared_.combine(values, sum{}); }
    traffic sent() const override { return shared_.statistics(); }
    bool is_settled() const override { return !shared_.is_trying(); }
    std::string choice() const override { return shared_.method() + "/" + shared_.route(); }

  private:
    gather_scatter shared_;
};

}  // namespace

entrant crossdock_way(const std::string& way, const std::string& executor) {
    const auto slash = way.find('/');
    gather_options options;
    options.executor = executor;
    if (slash != std::string::npos) options.method = way.substr(0, slash);
    options.route = way.substr(slash + 1);  // npos + 1 is 0
    return {way, false,
            [options](const context& where,
                      std::span<const count_t> ids) -> std::unique_ptr<contender> {
                return std::make_unique<library_gather>(where, ids, options);
            }};
}

}  // namespace crossdock::bench::gather

// Every edge's holder reads the value of the vertex that the edge leads to, and adds one to it.
#include "tools/inputs/array/workload.hpp"

namespace crossdock::bench::array {

namespace {

class neighborhood_program final : public rank_program {
  public:
    explicit neighborhood_program(const rank_work& work) : work_(work) {}

    void fill(std::span<value_t> entries) const override { fill_first_values(work_, entries); }

    // What is added is what was read, so that entries show whether replies were right.
    std::optional<request_batch> next(std::span<value_t>,
                                      std::span<const value_t> replies) override {
        switch (num_batches_++) {
            case 0: return request_batch{request_traits::read, ends_of(work_.edges), {}};
            case 1:
                return request_batch{
                    request_traits::sum, ends_of(work_.edges), {replies.begin(), replies.end()}};
            default: return std::nullopt;
        }
    }

  private:
    const rank_work& work_;
    int num_batches_ = 0;
};

std::vector<std::vector<value_t>> compute_neighborhood(const spread_graph& graph,
                                                       const block_partition& owners) {
    std::vector<value_t> values(static_cast<std::size_t>(graph.num_vertices));
    for (std::size_t v = 0; v < values.size(); ++v)
        values[v] = first_value(static_cast<count_t>(v));
    for (const auto& edges : graph.edges) {
        for (const edge& one : edges)
            values[static_cast<std::size_t>(one.to)] += first_value(one.to);
    }
    return cut(values, owners);
}

}  // namespace

workload_description neighborhood() {
    return {"neighborhood",
            "every edge's holder reads the vertex it leads to, and adds to it (sum)", true,
            [](const rank_work& work) -> std::unique_ptr<rank_program> {
                return std::make_unique<neighborhood_program>(work);
            },
            &compute_neighborhood};
}

}  // namespace crossdock::bench::array

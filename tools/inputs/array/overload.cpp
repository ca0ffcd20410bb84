// Every rank reads each of a few entries many times.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "tools/inputs/array/workload.hpp"

namespace crossdock::bench::array {

namespace {

class overload_program final : public rank_program {
  public:
    explicit overload_program(const rank_work& work) : work_(work) {}

    void fill(std::span<value_t> entries) const override { fill_first_values(work_, entries); }

    std::optional<request_batch> next(std::span<value_t>,
                                      std::span<const value_t> replies) override {
        if (!std::exchange(has_asked_, true))
            return request_batch{request_traits::read, ends_of(work_.edges), {}};
        replies_.assign(replies.begin(), replies.end());
        return std::nullopt;
    }

    std::vector<value_t> outcome(std::span<const value_t>) const override { return replies_; }

  private:
    const rank_work& work_;
    bool has_asked_ = false;
    std::vector<value_t> replies_;
};

std::vector<std::vector<value_t>> compute_overload(const spread_graph& graph,
                                                   const block_partition&) {
    std::vector<std::vector<value_t>> replies;
    for (const auto& edges : graph.edges) {
        auto& values = replies.emplace_back();
        for (const edge& one : edges) values.push_back(first_value(one.to));
    }
    return replies;
}

}  // namespace

spread_graph overload_graph(const workload_options& options, rank_t num_ranks) {
    if (options.requests_per_rank < options.entries) {
        throw error(errc::invalid_argument,
                    fmt::format("{} requests of a rank are too few to reach each of {} entries",
                                options.requests_per_rank, options.entries));
    }
    const count_t num_requests =
        options.requests_per_rank - options.requests_per_rank % options.entries;
    spread_graph graph{options.entries, {}};
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        auto& edges = graph.edges.emplace_back();
        for (count_t k = 0; k < num_requests; ++k) edges.push_back({rank, k % options.entries});
        std::mt19937_64 draw(options.graph.seed + static_cast<std::uint64_t>(rank));
        std::shuffle(edges.begin(), edges.end(), draw);
    }
    return graph;
}

workload_description overload() {
    return {"overload", "every rank reads each of a few entries many times", false,
            [](const rank_work& work) -> std::unique_ptr<rank_program> {
                return std::make_unique<overload_program>(work);
            },
            &compute_overload};
}

}  // namespace crossdock::bench::array

// One round of Borůvka's algorithm for minimum spanning trees, in which every vertex is a component:
// each finds its lightest edge and hooks itself to the other end of it, then all find their root.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tools/inputs/array/workload.hpp"

namespace crossdock::bench::array {

namespace {

// Weights of edges are distinct, for they name both ends: a number of 52 bits, scrambled.
class edge_weights {
  public:
    static constexpr count_t max_vertices = count_t{1} << 26;

    explicit edge_weights(count_t num_vertices) : n_(static_cast<std::uint64_t>(num_vertices)) {
        if (num_vertices > max_vertices) {
            throw error(
                errc::invalid_argument,
                fmt::format("a graph of {} vertices has too many for distinct weights, more "
                            "than {}",
                            num_vertices, max_vertices));
        }
    }

    value_t of(const edge& one) const noexcept {
        const auto [low, high] = std::minmax(one.from, one.to);
        return static_cast<value_t>(
            scramble(static_cast<std::uint64_t>(low) * n_ + static_cast<std::uint64_t>(high)));
    }

    count_t other_end(value_t weight, count_t vertex) const noexcept {
        const std::uint64_t ends = unscramble(static_cast<std::uint64_t>(weight));
        const auto low = static_cast<count_t>(ends / n_);
        return low == vertex ? static_cast<count_t>(ends % n_) : low;
    }

  private:
    static constexpr std::uint64_t mask = (std::uint64_t{1} << 52U) - 1;
    static constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;  // odd, so it has an inverse

    // By Newton's method, which doubles the number of right bits.
    static constexpr std::uint64_t inverse(std::uint64_t odd) {
        std::uint64_t x = odd;
        for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
        return x;
    }

    static std::uint64_t scramble(std::uint64_t x) noexcept {
        for (int round = 0; round < 2; ++round) {
            x = (x * factor) & mask;
            x ^= x >> 26U;
        }
        return x;
    }

    static std::uint64_t unscramble(std::uint64_t x) noexcept {
        for (int round = 0; round < 2; ++round) {
            x ^= x >> 26U;
            x = (x * inverse(factor)) & mask;
        }
        return x;
    }

    std::uint64_t n_;
};

constexpr value_t no_edge = std::numeric_limits<value_t>::infinity();

// An entry is the weight of its vertex's lightest edge, and from `hook` on the vertex's parent.
class boruvka_program final : public rank_program {
  public:
    explicit boruvka_program(const rank_work& work)
        : work_(work), weights_(work.owners.num_entries()), first_(work.owners.first(work.rank)) {}

    void fill(std::span<value_t> entries) const override {
        std::fill(entries.begin(), entries.end(), no_edge);
    }

    std::optional<request_batch> next(std::span<value_t> entries,
                                      std::span<const value_t> replies) override {
        switch (std::exchange(now_, following(now_))) {
            case part::find_lightest: return find_lightest();
            case part::hook: hook(entries); return ask_parents(entries, false);
            case part::cut_cycles: cut_cycles(entries, replies); return ask_parents(entries, true);
            case part::double_pointers: break;
        }
        double_pointers(entries, replies);
        return ask_parents(entries, true);
    }

  private:
    enum class part { find_lightest, hook, cut_cycles, double_pointers };

    static part following(part one) {
        return one == part::double_pointers ? one : static_cast<part>(static_cast<int>(one) + 1);
    }

    count_t vertex(std::size_t v) const { return first_ + static_cast<count_t>(v); }

    request_batch find_lightest() const {
        request_batch batch{request_traits::minimum, {}, {}};
        batch.indices.reserve(2 * work_.edges.size());
        batch.values.reserve(2 * work_.edges.size());
        for (const edge& one : work_.edges) {
            if (one.from == one.to) continue;
            const value_t weight = weights_.of(one);
            batch.indices.insert(batch.indices.end(), {one.from, one.to});
            batch.values.insert(batch.values.end(), {weight, weight});
        }
        return batch;
    }

    void hook(std::span<value_t> entries) {
        for (std::size_t v = 0; v < entries.size(); ++v) {
            const bool is_alone = entries[v] == no_edge;
            entries[v] = static_cast<value_t>(is_alone ? vertex(v)
                                                       : weights_.other_end(entries[v], vertex(v)));
            if (!is_alone) unfinished_.push_back(v);
        }
    }

    request_batch ask_parents(std::span<const value_t> entries, bool may_end) const {
        request_batch batch{request_traits::read, {}, {}, may_end};
        batch.indices.reserve(unfinished_.size());
        for (const std::size_t v : unfinished_)
            batch.indices.push_back(static_cast<count_t>(entries[v]));
        return batch;
    }

    // Weights are distinct: so a cycle has two vertices, with the same lightest edge.
    void cut_cycles(std::span<value_t> entries, std::span<const value_t> grandparents) {
        keep_unfinished([&](std::size_t v, std::size_t k) {
            const auto own = static_cast<value_t>(vertex(v));
            const bool is_root = grandparents[k] == own && own < entries[v];
            if (is_root) entries[v] = own;
            return !is_root;
        });
    }

    void double_pointers(std::span<value_t> entries, std::span<const value_t> grandparents) {
        keep_unfinished([&](std::size_t v, std::size_t k) {
            return std::exchange(entries[v], grandparents[k]) != grandparents[k];
        });
    }

    // Vertices for which `visit(v, place in unfinished_)` is true.
    template <class Visit>
    void keep_unfinished(Visit&& visit) {
        std::size_t num_kept = 0;
        for (std::size_t k = 0; k < unfinished_.size(); ++k) {
            const std::size_t v = unfinished_[k];
            if (visit(v, k)) unfinished_[num_kept++] = v;
        }
        unfinished_.resize(num_kept);
    }

    const rank_work& work_;
    edge_weights weights_;
    count_t first_;
    part now_ = part::find_lightest;
    std::vector<std::size_t> unfinished_;  // vertices whose parent may be no root
};

// Sets of vertices, each with its least member as its name.
class disjoint_sets {
  public:
    explicit disjoint_sets(std::size_t size) : parents_(size) {
        std::iota(parents_.begin(), parents_.end(), std::size_t{0});
    }

    std::size_t find(std::size_t v) {
        while (parents_[v] != v) v = parents_[v] = parents_[parents_[v]];
        return v;
    }

    void unite(std::size_t v, std::size_t w) {
        v = find(v);
        w = find(w);
        parents_[std::max(v, w)] = std::min(v, w);
    }

  private:
    std::vector<std::size_t> parents_;
};

std::vector<value_t> lightest_edges(const spread_graph& graph, const edge_weights& weights) {
    std::vector<value_t> lightest(static_cast<std::size_t>(graph.num_vertices), no_edge);
    for (const auto& edges : graph.edges) {
        for (const edge& one : edges) {
            if (one.from == one.to) continue;
            for (const count_t end : {one.from, one.to}) {
                value_t& least = lightest[static_cast<std::size_t>(end)];
                least = std::min(least, weights.of(one));
            }
        }
    }
    return lightest;
}

// Without hooks and pointers: a component's root is the lesser end of its lightest edge.
std::vector<std::vector<value_t>> compute_boruvka(const spread_graph& graph,
                                                  const block_partition& owners) {
    const edge_weights weights(graph.num_vertices);
    const auto lightest = lightest_edges(graph, weights);
    disjoint_sets components(lightest.size());
    for (std::size_t v = 0; v < lightest.size(); ++v) {
        if (lightest[v] == no_edge) continue;
        const count_t other = weights.other_end(lightest[v], static_cast<count_t>(v));
        components.unite(v, static_cast<std::size_t>(other));
    }
    std::vector<std::size_t> roots(lightest.size(), lightest.size());
    for (std::size_t v = 0; v < lightest.size(); ++v) {
        std::size_t& root = roots[components.find(v)];
        if (root == lightest.size() || lightest[v] < lightest[root]) root = v;
    }
    std::vector<value_t> result(lightest.size());
    for (std::size_t v = 0; v < lightest.size(); ++v)
        result[v] = static_cast<value_t>(roots[components.find(v)]);
    return cut(result, owners);
}

}  // namespace

workload_description boruvka() {
    return {"boruvka", "every vertex finds its lightest edge (minimum), then its root (reads)",
            true,
            [](const rank_work& work) -> std::unique_ptr<rank_program> {
                return std::make_unique<boruvka_program>(work);
            },
            &compute_boruvka};
}

}  // namespace crossdock::bench::array

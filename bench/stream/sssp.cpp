#include <algorithm>
#include <limits>
#include <memory>

#include "bench/stream/team.hpp"
#include "bench/stream/weighted_graph.hpp"
#include "crossdock/block_partition.hpp"
#include "crossdock/stream.hpp"

namespace crossdock::bench::streaming {

namespace {

// "There is a way of this length to your vertex."
struct relaxation {
    std::uint32_t vertex;  // counted from the owner's first
    std::uint32_t distance;
};

struct key_of_vertex {
    std::uint64_t operator()(const relaxation& one) const { return one.vertex; }
};

struct keep_shorter {
    void operator()(relaxation& into, const relaxation& one) const {
        into.distance = std::min(into.distance, one.distance);
    }
};

using combine_by_vertex = combine_by_key<key_of_vertex, keep_shorter>;

// An edge as its relaxation needs it.
struct way {
    worker_id owner;
    std::uint32_t vertex;
    std::uint32_t weight;
};

// The vertices of one worker, with the distances that must come out.
struct graph_part {
    std::vector<std::size_t> offsets{0};
    std::vector<way> ways;
    std::vector<std::uint32_t> expected;

    std::size_t num_vertices() const noexcept { return expected.size(); }
};

struct sssp_problem {
    sssp_problem(const context& where, const workload_options& options);

    std::vector<graph_part> parts;  // of the workers of this rank
    int root_worker = -1;           // of this rank, or -1
    std::uint32_t root = 0;
    count_t delta;
};

template <class Value>
void broadcast(const communicator& comm, std::vector<Value>& values, MPI_Datatype type) {
    count_t size = static_cast<count_t>(values.size());
    CROSSDOCK_MPI(MPI_Bcast(&size, 1, MPI_INT64_T, 0, comm.get()));
    values.resize(static_cast<std::size_t>(size));
    CROSSDOCK_MPI(MPI_Bcast(values.data(), checked_cast<int>(size), type, 0, comm.get()));
}

// Rank 0 reads the graph once for all; each rank keeps what its workers own.
sssp_problem::sssp_problem(const context& where, const workload_options& options)
    : delta(options.delta) {
    auto graph = on_all_or_none(
        where, [&] { return where.rank() == 0 ? load_weighted_graph(options) : weighted_graph{}; });
    broadcast(where, graph.offsets, MPI_INT64_T);
    broadcast(where, graph.targets, MPI_UINT32_T);
    broadcast(where, graph.weights, MPI_UINT32_T);
    const std::size_t root_vertex = choose_root(graph);
    std::vector<std::uint32_t> distances;
    if (where.rank() == 0) distances = shortest_distances(graph, root_vertex);
    broadcast(where, distances, MPI_UINT32_T);

    const int workers = options.stream.workers;
    const auto owners = block_partition::blocks(static_cast<count_t>(graph.num_vertices()),
                                                where.num_ranks() * workers);
    const auto way_to = [&](std::size_t e) {
        const rank_t number = owners.owner(graph.targets[e]);
        return way{{number / workers, number % workers},
                   static_cast<std::uint32_t>(graph.targets[e] - owners.first(number)),
                   graph.weights[e]};
    };
    parts.resize(static_cast<std::size_t>(workers));
    for (int worker = 0; worker < workers; ++worker) {
        const rank_t number = where.rank() * workers + worker;
        auto& part = parts[static_cast<std::size_t>(worker)];
        const auto first = static_cast<std::size_t>(owners.first(number));
        const auto last = static_cast<std::size_t>(owners.first(number + 1));
        for (std::size_t v = first; v < last; ++v) {
            const auto end = static_cast<std::size_t>(graph.offsets[v + 1]);
            for (auto e = static_cast<std::size_t>(graph.offsets[v]); e < end; ++e)
                part.ways.push_back(way_to(e));
            part.offsets.push_back(part.ways.size());
            part.expected.push_back(distances[v]);
        }
        if (root_vertex < first || root_vertex >= last) continue;
        root_worker = worker;
        root = static_cast<std::uint32_t>(root_vertex - first);
    }
}

// What one worker knows of its vertices.
class alignas(64) worker_distances {
  public:
    void start(const graph_part& part) {
        part_ = &part;
        distances_.assign(part.num_vertices(), unreached);
        expanded_at_.assign(part.num_vertices(), unreached);
        is_kept_.assign(part.num_vertices(), 0);
        kept_.clear();
        handled_ = improved_ = 0;
    }

    // A distance below `limit` travels on at once, another waits for its bucket.
    template <class Port>
    void take(Port& port, const relaxation& one, std::uint32_t limit) {
        ++handled_;
        if (one.distance >= distances_[one.vertex]) return;
        ++improved_;
        set(one.vertex, one.distance);
        if (one.distance < limit) {
            expand(port, one.vertex);
        } else {
            keep(one.vertex);
        }
    }

    void begin_at(std::uint32_t root) {
        set(root, 0);
        keep(root);
    }

    // The least distance that still waits.
    std::uint32_t least_kept() const {
        std::uint32_t least = unreached;
        for (const std::uint32_t v : kept_) {
            if (waits(v)) least = std::min(least, distances_[v]);
        }
        return least;
    }

    template <class Port>
    void expand_kept(Port& port, std::uint32_t limit) {
        turn_.swap(kept_);
        kept_.clear();
        for (const std::uint32_t v : turn_) {
            is_kept_[v] = 0;
            if (!waits(v)) continue;
            if (distances_[v] < limit) {
                expand(port, v);
            } else {
                keep(v);
            }
        }
        turn_.clear();
    }

    bool is_right() const { return distances_ == part_->expected; }

    // Of all relaxations that came, one for each vertex was needed: the one that brought what stays.
    work_counts counts() const {
        const auto reached = static_cast<count_t>(
            std::count_if(distances_.begin(), distances_.end(),
                          [](std::uint32_t d) { return d != unreached && d != 0; }));
        return {handled_ - reached, improved_ - reached, 0};
    }

  private:
    bool waits(std::uint32_t v) const { return expanded_at_[v] != distances_[v]; }
    void set(std::uint32_t v, std::uint32_t distance) { distances_[v] = distance; }

    void keep(std::uint32_t v) {
        if (is_kept_[v] != 0) return;
        is_kept_[v] = 1;
        kept_.push_back(v);
    }

    template <class Port>
    void expand(Port& port, std::uint32_t v) {
        const std::uint32_t distance = distances_[v];
        expanded_at_[v] = distance;
        for (std::size_t w = part_->offsets[v]; w < part_->offsets[v + 1]; ++w) {
            const way& one = part_->ways[w];
            port.push(one.owner, relaxation{one.vertex, distance + one.weight});
        }
    }

    const graph_part* part_ = nullptr;
    std::vector<std::uint32_t> distances_;
    std::vector<std::uint32_t> expanded_at_;
    std::vector<char> is_kept_;
    std::vector<std::uint32_t> kept_;
    std::vector<std::uint32_t> turn_;
    count_t handled_ = 0;
    count_t improved_ = 0;
};

// Label correcting in buckets: within one, every improvement travels on at once.
template <class Combine>
class sssp_stream final : public contender {
  public:
    sssp_stream(const context& where, std::shared_ptr<sssp_problem> problem,
                const workload_options& options, const stream_choice& choice)
        : comm_(where),
          problem_(std::move(problem)),
          distances_(problem_->parts.size()),
          threads_(options.stream.workers),
          stream_(
              where,
              [this](auto& port, const stream_batch<relaxation>& came) {
                  auto& own = distances_[static_cast<std::size_t>(port.id().worker)];
                  for (const relaxation& one : came) own.take(port, one, limit_);
              },
              with_choice(options.stream, choice), Combine{}) {}

    void prepare() override {
        for (std::size_t w = 0; w < distances_.size(); ++w) distances_[w].start(problem_->parts[w]);
        if (problem_->root_worker >= 0)
            distances_[static_cast<std::size_t>(problem_->root_worker)].begin_at(problem_->root);
    }

    void run() override {
        threads_.run([this](int worker) { relax(worker); });
    }

    bool is_right() override {
        return std::all_of(distances_.begin(), distances_.end(),
                           [](const auto& own) { return own.is_right(); });
    }

    work_counts counts() const override {
        work_counts all;
        for (const auto& own : distances_) {
            const auto [wasted, superseded, rejected] = own.counts();
            all.wasted += wasted;
            all.superseded += superseded;
        }
        return all;
    }

    std::optional<stream_statistics> statistics() const override { return stream_.statistics(); }
    std::optional<stream_scheme> scheme() const override { return stream_.scheme(); }
    void close() override { stream_.close(); }

  private:
    void relax(int worker) {
        auto& port = stream_.port(worker);
        auto& own = distances_[static_cast<std::size_t>(worker)];
        while (true) {
            threads_.meet();
            if (worker == 0) begin_bucket();
            threads_.meet();
            if (limit_ == unreached) return;
            own.expand_kept(port, limit_);
            port.drain().wait();
        }
    }

    // Empty buckets are passed over.
    void begin_bucket() {
        std::uint32_t least = unreached;
        for (const auto& own : distances_) least = std::min(least, own.least_kept());
        CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UINT32_T, MPI_MIN, comm_.get()));
        const count_t end = (least / problem_->delta + 1) * problem_->delta;
        limit_ = least == unreached
                     ? unreached
                     : static_cast<std::uint32_t>(std::min<count_t>(end, unreached - 1));
    }

    const communicator& comm_;
    std::shared_ptr<sssp_problem> problem_;
    std::vector<worker_distances> distances_;
    std::uint32_t limit_ = 0;  // of the present bucket
    team threads_;
    stream<relaxation, Combine> stream_;
};

}  // namespace

std::vector<entrant> sssp_entrants(const context& where, const workload_options& options,
                                   const std::vector<stream_choice>& choices) {
    auto problem = std::make_shared<sssp_problem>(where, options);
    std::vector<entrant> all;
    for (const auto& choice : choices) {
        all.push_back(
            {"stream", choice, [&where, problem, options, choice]() -> std::unique_ptr<contender> {
                 if (options.combine)
                     return std::make_unique<sssp_stream<combine_by_vertex>>(where, problem,
                                                                             options, choice);
                 return std::make_unique<sssp_stream<keep_all>>(where, problem, options, choice);
             }});
    }
    return all;
}

}  // namespace crossdock::bench::streaming

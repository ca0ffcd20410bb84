/// @file
/// @brief Communicators with a random topology, each made twice: one for the calls under test, one for their twins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "functions.hpp"
#include "random.hpp"

namespace conformance {

struct edge {
    int source;
    int destination;
};

/// Two communicators of the same ranks and topology; MPI_COMM_NULL on ranks that are not in it.
struct comm_pair {
    MPI_Comm taken = MPI_COMM_NULL;
    MPI_Comm twin = MPI_COMM_NULL;
};

class topology {
  public:
    /// Collective on MPI_COMM_WORLD, with equal numbers on all ranks.
    explicit topology(random_numbers& shared) : weight_seed_(shared.next()) {
        MPI_Comm parent = draw_parent(shared);
        const int kind = shared.below(10);
        pairs_.emplace_back();
        if (parent != MPI_COMM_NULL) PMPI_Comm_rank(parent, &rank_);
        // All ranks draw the same numbers, those outside the parent too.
        if (kind < 4)
            make_dist_graph(shared, parent, true);
        else if (kind < 6)
            make_dist_graph(shared, parent, false);
        else if (kind < 8)
            make_cart(shared, parent);
        else
            make_graph(shared, parent);
        if (parent != MPI_COMM_NULL) PMPI_Comm_free(&parent);
        if (shared.chance(30)) duplicate(shared.chance(50));
    }
    topology(const topology&) = delete;
    topology& operator=(const topology&) = delete;
    ~topology() {
        free_taken();
        for (auto& pair : pairs_)
            if (pair.twin != MPI_COMM_NULL) PMPI_Comm_free(&pair.twin);
    }

    /// What the calls under test are made on, with exchanges in flight or not.
    void free_taken() {
        for (auto& pair : pairs_)
            if (pair.taken != MPI_COMM_NULL) MPI_Comm_free(&pair.taken);
    }

    const std::string& name() const { return name_; }
    bool is_cartesian() const { return is_cartesian_; }
    /// Whether it is a grid that is periodic along one or two ranks: then its neighbors up and down are the same.
    bool has_paired_edges() const { return has_paired_edges_; }
    bool has_this_rank() const { return pairs_.front().twin != MPI_COMM_NULL; }
    int rank() const { return rank_; }
    /// In MPI's order; MPI_PROC_NULL beyond the ends of a grid.
    const std::vector<int>& sources() const { return sources_; }
    const std::vector<int>& destinations() const { return destinations_; }
    const std::vector<comm_pair>& pairs() const { return pairs_; }

  private:
    // The world, its ranks in reverse order, or some of them.
    MPI_Comm draw_parent(random_numbers& shared) {
        int rank = 0;
        PMPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        const int kind = shared.below(5);
        const auto seed = shared.next();
        const auto is_member = [&](int r) {
            return kind != 4 || r == 0 || hash_of(seed, r) % 4 != 0;
        };
        const int key = kind == 3 ? -rank : rank;
        MPI_Comm parent = MPI_COMM_NULL;
        PMPI_Comm_split(MPI_COMM_WORLD, is_member(rank) ? 0 : MPI_UNDEFINED, key, &parent);
        int num_members = 0;
        for (int r = 0; r < num_ranks_; ++r) num_members += is_member(r) ? 1 : 0;
        num_ranks_ = num_members;
        return parent;
    }

    std::vector<edge> draw_edges(random_numbers& shared, int num_ranks) {
        std::vector<edge> edges;
        const int style = shared.below(10);
        for (int source = 0; source < num_ranks; ++source) {
            if (style == 0) continue;
            if (style == 1) {
                for (int r = 0; r < num_ranks; ++r) edges.push_back({source, r});
            } else if (style == 2) {
                edges.push_back({source, (source + 1) % num_ranks});
                edges.push_back({source, (source + num_ranks - 1) % num_ranks});
            } else if (style == 3) {
                edges.push_back({source, 0});
                edges.push_back({0, source});
            } else {
                for (int left = shared.below(7); left > 0; --left)
                    edges.push_back({source, shared.below(num_ranks)});
            }
        }
        if (shared.chance(30)) {
            for (std::size_t i = 0, end = edges.size(); i < end; i += 2) edges.push_back(edges[i]);
            name_ += " several edges between two ranks,";
        }
        if (shared.chance(20)) {
            for (int r = 0; r < num_ranks; r += 2) edges.push_back({r, r});
            name_ += " self edges,";
        }
        if (shared.chance(20)) {
            const int isolated = shared.below(num_ranks);
            std::erase_if(edges, [&](const edge& e) {
                return e.source == isolated || e.destination == isolated;
            });
            name_ += " an isolated rank,";
        }
        shared.shuffle(edges);
        return edges;
    }

    void make_dist_graph(random_numbers& shared, MPI_Comm parent, bool is_adjacent) {
        name_ = is_adjacent ? "dist_graph_adjacent" : "dist_graph";
        const bool is_weighted = shared.chance(50);
        if (is_weighted) name_ += " weighted,";
        const auto edges = draw_edges(shared, num_ranks_);
        const auto order_seed = shared.next();
        if (parent == MPI_COMM_NULL) return;
        auto& pair = pairs_.front();
        if (!is_adjacent) {
            make_general(parent, edges, is_weighted, order_seed);
            query_dist_graph();
        } else {
            for (const auto& e : edges) {
                if (e.destination == rank_) sources_.push_back(e.source);
                if (e.source == rank_) destinations_.push_back(e.destination);
            }
            random_numbers own(hash_of(order_seed, rank_));
            own.shuffle(sources_);
            make_adjacent(taken_functions, parent, is_weighted, pair.taken);
        }
        // In the order that the first one has: where any rank names edges, the MPI chooses it.
        make_adjacent(twin_functions, parent, is_weighted, pair.twin);
    }

    void make_adjacent(const functions& mpi, MPI_Comm parent, bool is_weighted, MPI_Comm& made) {
        const auto in = weights(sources_.size());
        const auto out = weights(destinations_.size());
        mpi.dist_graph_create_adjacent(parent, static_cast<int>(sources_.size()), sources_.data(),
                                       weights_of(in, is_weighted),
                                       static_cast<int>(destinations_.size()), destinations_.data(),
                                       weights_of(out, is_weighted), MPI_INFO_NULL, 0, &made);
    }

    // Each edge is named by some rank, and one source may be named several times.
    void make_general(MPI_Comm parent, const std::vector<edge>& edges, bool is_weighted,
                      std::uint64_t seed) {
        std::vector<int> sources;
        std::vector<int> degrees;
        std::vector<int> destinations;
        for (std::size_t i = 0; i < edges.size(); ++i) {
            if (static_cast<int>(hash_of(seed, i) % num_ranks_) != rank_) continue;
            if (sources.empty() || sources.back() != edges[i].source) {
                sources.push_back(edges[i].source);
                degrees.push_back(0);
            }
            ++degrees.back();
            destinations.push_back(edges[i].destination);
        }
        const auto values = weights(destinations.size());
        MPI_Dist_graph_create(parent, static_cast<int>(sources.size()), sources.data(),
                              degrees.data(), destinations.data(), weights_of(values, is_weighted),
                              MPI_INFO_NULL, 0, &pairs_.front().taken);
    }

    void query_dist_graph() {
        const auto comm = pairs_.front().taken;
        int num_sources = 0;
        int num_destinations = 0;
        int is_weighted = 0;
        MPI_Dist_graph_neighbors_count(comm, &num_sources, &num_destinations, &is_weighted);
        sources_.resize(static_cast<std::size_t>(num_sources));
        destinations_.resize(static_cast<std::size_t>(num_destinations));
        auto in = weights(sources_.size());
        auto out = weights(destinations_.size());
        MPI_Dist_graph_neighbors(comm, num_sources, sources_.data(), in.data(), num_destinations,
                                 destinations_.data(), out.data());
    }

    std::vector<int> weights(std::size_t num_edges) const {
        std::vector<int> values(num_edges);
        for (std::size_t i = 0; i < num_edges; ++i)
            values[i] = 1 + static_cast<int>(hash_of(weight_seed_, i) % 9);
        return values;
    }

    static const int* weights_of(const std::vector<int>& values, bool is_weighted) {
        if (!is_weighted) return MPI_UNWEIGHTED;
        return values.empty() ? MPI_WEIGHTS_EMPTY : values.data();
    }

    void make_cart(random_numbers& shared, MPI_Comm parent) {
        name_ = "cart";
        is_cartesian_ = true;
        std::vector<int> lengths;
        std::vector<int> periods;
        int left = num_ranks_;
        for (int dimensions = 1 + shared.below(3); dimensions > 0; --dimensions) {
            lengths.push_back(dimensions == 1 && shared.chance(60) ? left : 1 + shared.below(left));
            periods.push_back(shared.below(2));
            left /= lengths.back();
            has_paired_edges_ = has_paired_edges_ || (periods.back() != 0 && lengths.back() <= 2);
            name_ += " " + std::to_string(lengths.back()) + (periods.back() ? " periodic," : ",");
        }
        if (parent == MPI_COMM_NULL) return;
        auto& pair = pairs_.front();
        const auto num_dimensions = static_cast<int>(lengths.size());
        const auto make = [&](const functions& mpi, MPI_Comm& made) {
            mpi.cart_create(parent, num_dimensions, lengths.data(), periods.data(), 0, &made);
        };
        make(taken_functions, pair.taken);
        make(twin_functions, pair.twin);
        if (pair.taken == MPI_COMM_NULL) return;
        for (int d = 0; d < num_dimensions; ++d) {
            int before = 0;
            int after = 0;
            MPI_Cart_shift(pair.taken, d, 1, &before, &after);
            sources_.insert(sources_.end(), {before, after});
        }
        destinations_ = sources_;
    }

    // Both ends name each edge, as the neighborhood collectives want it.
    void make_graph(random_numbers& shared, MPI_Comm parent) {
        name_ = "graph";
        const int num_nodes = shared.chance(70) ? num_ranks_ : 1 + shared.below(num_ranks_);
        std::vector<std::vector<int>> neighbors(static_cast<std::size_t>(num_nodes));
        for (const auto& e : draw_edges(shared, num_nodes)) {
            neighbors[static_cast<std::size_t>(e.source)].push_back(e.destination);
            if (e.source != e.destination)
                neighbors[static_cast<std::size_t>(e.destination)].push_back(e.source);
        }
        std::vector<int> ends;
        std::vector<int> all;
        for (const auto& one : neighbors) {
            all.insert(all.end(), one.begin(), one.end());
            ends.push_back(static_cast<int>(all.size()));
        }
        all.reserve(1);  // MPICH wants an address even where there is no edge.
        if (parent == MPI_COMM_NULL) return;
        auto& pair = pairs_.front();
        const auto make = [&](const functions& mpi, MPI_Comm& made) {
            mpi.graph_create(parent, num_nodes, ends.data(), all.data(), 0, &made);
        };
        make(taken_functions, pair.taken);
        make(twin_functions, pair.twin);
        if (pair.taken != MPI_COMM_NULL) sources_ = neighbors[static_cast<std::size_t>(rank_)];
        destinations_ = sources_;
    }

    void duplicate(bool replaces) {
        name_ += replaces ? " duplicate" : " and a duplicate";
        if (!has_this_rank()) return;
        const auto original = pairs_.front();
        comm_pair copy;
        taken_functions.comm_dup(original.taken, &copy.taken);
        twin_functions.comm_dup(original.twin, &copy.twin);
        pairs_.push_back(copy);
        if (!replaces) return;
        MPI_Comm_free(&pairs_.front().taken);
        PMPI_Comm_free(&pairs_.front().twin);
        pairs_.erase(pairs_.begin());
    }

    std::uint64_t weight_seed_;
    std::string name_;
    bool is_cartesian_ = false;
    bool has_paired_edges_ = false;
    int num_ranks_ = 0;
    int rank_ = 0;
    std::vector<int> sources_;
    std::vector<int> destinations_;
    std::vector<comm_pair> pairs_;
};

}  // namespace conformance

#include "neighbors.hpp"

#include <algorithm>
#include <utility>

#include "crossdock/communicator.hpp"

namespace crossdock::drop_in {

namespace {

both_sides of_dist_graph(MPI_Comm comm) {
    int num_sources = 0, num_destinations = 0, is_weighted = 0;
    CROSSDOCK_MPI(
        MPI_Dist_graph_neighbors_count(comm, &num_sources, &num_destinations, &is_weighted));
    // MPI writes weights even where it is told that nobody wants them, if there are some.
    std::vector<int> sources(static_cast<std::size_t>(num_sources)), source_weights(sources);
    std::vector<int> destinations(static_cast<std::size_t>(num_destinations)),
        destination_weights(destinations);
    CROSSDOCK_MPI(MPI_Dist_graph_neighbors(
        comm, num_sources, sources.data(), is_weighted ? source_weights.data() : MPI_UNWEIGHTED,
        num_destinations, destinations.data(),
        is_weighted ? destination_weights.data() : MPI_UNWEIGHTED));
    return {neighbors(std::move(sources)), neighbors(std::move(destinations))};
}

both_sides of_graph(MPI_Comm comm, int rank) {
    int num_neighbors = 0;
    CROSSDOCK_MPI(MPI_Graph_neighbors_count(comm, rank, &num_neighbors));
    std::vector<int> ranks(static_cast<std::size_t>(num_neighbors));
    CROSSDOCK_MPI(MPI_Graph_neighbors(comm, rank, num_neighbors, ranks.data()));
    const neighbors made(std::move(ranks));
    return {made, made};
}

struct grid_shape {
    explicit grid_shape(MPI_Comm comm) {
        int num_dimensions = 0;
        CROSSDOCK_MPI(MPI_Cartdim_get(comm, &num_dimensions));
        const auto size = static_cast<std::size_t>(num_dimensions);
        extents.resize(size);
        are_periodic.resize(size);
        std::vector<int> coordinates(size);
        CROSSDOCK_MPI(MPI_Cart_get(comm, num_dimensions, extents.data(), are_periodic.data(),
                                   coordinates.data()));
    }

    std::vector<int> extents;
    std::vector<int> are_periodic;
};

int topology_kind(MPI_Comm comm) {
    int kind = MPI_UNDEFINED;
    CROSSDOCK_MPI(MPI_Topo_test(comm, &kind));
    return kind;
}

std::optional<both_sides> of_cartesian(MPI_Comm comm) {
    const grid_shape grid(comm);
    std::vector<int> ranks;
    for (std::size_t d = 0; d < grid.extents.size(); ++d) {
        if (grid.are_periodic[d] && grid.extents[d] <= 2) return std::nullopt;
        int below = 0, above = 0;
        CROSSDOCK_MPI(MPI_Cart_shift(comm, static_cast<int>(d), 1, &below, &above));
        ranks.insert(ranks.end(), {below, above});
    }
    const neighbors made(std::move(ranks));
    return both_sides{made, made};
}

}  // namespace

neighbors::neighbors(std::vector<rank_t> all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] == MPI_PROC_NULL) continue;
        ranks.push_back(all[i]);
        entries.push_back(static_cast<int>(i));
    }
}

void neighbors::number_among(std::span<const rank_t> members) {
    std::size_t num_kept = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const auto found = std::ranges::lower_bound(members, ranks[i]);
        if (found == members.end() || *found != ranks[i]) continue;
        ranks[num_kept] = static_cast<rank_t>(found - members.begin());
        entries[num_kept++] = entries[i];
    }
    ranks.resize(num_kept);
    entries.resize(num_kept);
}

std::optional<both_sides> neighbors_of(MPI_Comm comm) {
    int is_inter = 0;
    CROSSDOCK_MPI(MPI_Comm_test_inter(comm, &is_inter));
    if (is_inter) return std::nullopt;
    int rank = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(comm, &rank));
    const int kind = topology_kind(comm);
    if (kind == MPI_DIST_GRAPH) return of_dist_graph(comm);
    if (kind == MPI_GRAPH) return of_graph(comm, rank);
    if (kind == MPI_CART) return of_cartesian(comm);
    return std::nullopt;
}

}  // namespace crossdock::drop_in

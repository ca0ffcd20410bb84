#include <algorithm>

#include "crossdock/make_pattern.hpp"
#include "handles.hpp"

namespace crossdock::c {

graph_degrees degrees_of(MPI_Comm graph) {
    graph_degrees found;
    int kind = MPI_UNDEFINED;
    int is_weighted = 0;
    if (graph != MPI_COMM_NULL) CROSSDOCK_MPI(MPI_Topo_test(graph, &kind));
    if (kind == MPI_DIST_GRAPH)
        CROSSDOCK_MPI(MPI_Dist_graph_neighbors_count(graph, &found.num_sources,
                                                     &found.num_destinations, &is_weighted));
    return found;
}

}  // namespace crossdock::c

using namespace crossdock::c;
using crossdock::count_t;
using crossdock::on_all_or_none;

namespace {

crossdock::neighbor_counts counts_from(const crossdock_neighbor_alltoallv_arguments& a) {
    return {
        .send_counts = array(a.send_counts, a.num_destinations, "send_counts"),
        .send_displacements = array(a.send_displacements, a.num_destinations, "send_displacements"),
        .receive_counts = array(a.receive_counts, a.num_sources, "receive_counts"),
        .receive_displacements =
            array(a.receive_displacements, a.num_sources, "receive_displacements"),
        .send_ids = array(a.send_ids, a.num_send_ids, "send_ids")};
}

}  // namespace

crossdock_status crossdock_pattern_from_neighbor_alltoallv(
    int rank, int num_ranks, const crossdock_neighbor_alltoallv_arguments* arguments,
    crossdock_pattern** result) {
    return guarded([&] {
        require(arguments, "arguments");
        require(result, "result");
        const auto& a = *arguments;
        const auto destinations = array(a.destinations, a.num_destinations, "destinations");
        const auto sources = array(a.sources, a.num_sources, "sources");
        const auto counts = counts_from(a);
        give(result, crossdock::pattern_from_neighbor_alltoallv(
                         rank, num_ranks,
                         {.destinations = destinations,
                          .send_counts = counts.send_counts,
                          .send_displacements = counts.send_displacements,
                          .sources = sources,
                          .receive_counts = counts.receive_counts,
                          .receive_displacements = counts.receive_displacements,
                          .send_ids = counts.send_ids}));
    });
}

crossdock_status crossdock_pattern_from_dist_graph(
    MPI_Comm graph, const crossdock_neighbor_alltoallv_arguments* arguments,
    crossdock_pattern** result) {
    return guarded([&] {
        require(arguments, "arguments");
        require(result, "result");
        auto counted = *arguments;
        const auto degrees = degrees_of(graph);
        if (counted.num_destinations == 0) counted.num_destinations = degrees.num_destinations;
        if (counted.num_sources == 0) counted.num_sources = degrees.num_sources;
        give(result, crossdock::pattern_from_dist_graph(graph, counts_from(counted)));
    });
}

crossdock_status crossdock_pattern_from_needed(const crossdock_context* context, int64_t num_owned,
                                               const int64_t* owned, int64_t num_needed,
                                               const int64_t* needed, crossdock_pattern** result) {
    return guarded(context, [&] {
        const auto& ranks = value_of(context, "context").comm();
        std::span<const count_t> owned_indices;
        std::span<const count_t> needed_indices;
        on_all_or_none(ranks, [&] {
            owned_indices = array(owned, num_owned, "owned");
            needed_indices = array(needed, num_needed, "needed");
            require(result, "result");
        });
        give(result, crossdock::pattern_from_needed(ranks, owned_indices, needed_indices));
    });
}

crossdock_status crossdock_pattern_from_needed_range(const crossdock_context* context,
                                                     int64_t first_owned, int64_t num_owned,
                                                     int64_t num_needed, const int64_t* needed,
                                                     crossdock_pattern** result) {
    return guarded(context, [&] {
        const auto& ranks = value_of(context, "context").comm();
        const auto indices = on_all_or_none(ranks, [&] {
            require(result, "result");
            return array(needed, num_needed, "needed");
        });
        give(result, crossdock::pattern_from_needed(ranks, first_owned, num_owned, indices));
    });
}

crossdock_status crossdock_renumber_columns(int64_t first_owned, int64_t num_owned,
                                            int64_t num_entries, const int64_t* columns,
                                            int64_t* local_columns, int64_t* ghosts,
                                            int64_t* num_ghosts) {
    return guarded([&] {
        const auto global = array(columns, num_entries, "columns");
        require(num_ghosts, "num_ghosts");
        if (num_entries > 0) {
            require(local_columns, "local_columns");
            require(ghosts, "ghosts");
        }
        const auto found = crossdock::renumber_columns(first_owned, num_owned, global);
        std::ranges::copy(found.columns, local_columns);
        std::ranges::copy(found.ghosts, ghosts);
        *num_ghosts = static_cast<int64_t>(found.ghosts.size());
    });
}

crossdock_status crossdock_pattern_num_items(const crossdock_pattern* pattern, int64_t* num_items) {
    return give_number(num_items, [&] { return value_of(pattern, "pattern").num_items; });
}

crossdock_status crossdock_pattern_num_slots(const crossdock_pattern* pattern, int64_t* num_slots) {
    return give_number(num_slots, [&] { return value_of(pattern, "pattern").num_slots; });
}

crossdock_status crossdock_pattern_write(const crossdock_context* context,
                                         const crossdock_pattern* pattern, const char* path,
                                         int64_t item_bytes) {
    return guarded(context, [&] {
        const auto& ranks = value_of(context, "context").comm();
        on_all_or_none(ranks, [&] {
            require(pattern, "pattern");
            require(path, "path");
        });
        crossdock::write_pattern(ranks, pattern->value, path, item_bytes);
    });
}

crossdock_status crossdock_pattern_free(crossdock_pattern* pattern) { return release(pattern); }

#include "crossdock/discover_topology.hpp"
#include "handles.hpp"

using namespace crossdock::c;
using crossdock::locality;
using crossdock::on_all_or_none;

crossdock_status crossdock_topology_discover(const crossdock_context* context, int level,
                                             crossdock_topology** result) {
    return guarded(context, [&] {
        const auto& ranks = value_of(context, "context").comm();
        const locality wanted = on_all_or_none(ranks, [&] {
            require(result, "result");
            return checked_enum<locality>(level, CROSSDOCK_L3 + 1, "locality");
        });
        give(result, crossdock::discover_topology(ranks, wanted));
    });
}

crossdock_status crossdock_topology_gather(const crossdock_context* context, int key,
                                           crossdock_topology** result) {
    return guarded(context, [&] {
        const auto& ranks = value_of(context, "context").comm();
        on_all_or_none(ranks, [&] { require(result, "result"); });
        give(result, crossdock::gather_topology(ranks, key));
    });
}

crossdock_status crossdock_topology_from_string(const char* text, crossdock_topology** result) {
    return guarded([&] {
        require(text, "text");
        require(result, "result");
        give(result, crossdock::topology::from_string(text));
    });
}

crossdock_status crossdock_topology_from_regions(int num_ranks, const int* region_of_rank,
                                                 crossdock_topology** result) {
    return guarded([&] {
        const auto regions = array(region_of_rank, num_ranks, "region_of_rank");
        require(result, "result");
        give(result, crossdock::topology::from_regions(regions));
    });
}

crossdock_status crossdock_topology_num_ranks(const crossdock_topology* topology, int* num_ranks) {
    return give_number(num_ranks, [&] { return value_of(topology, "topology").num_ranks(); });
}

crossdock_status crossdock_topology_num_regions(const crossdock_topology* topology,
                                                int* num_regions) {
    return give_number(num_regions, [&] { return value_of(topology, "topology").num_regions(); });
}

crossdock_status crossdock_topology_region_of(const crossdock_topology* topology, int rank,
                                              int* region) {
    return give_number(region, [&] { return value_of(topology, "topology").region_of(rank); });
}

crossdock_status crossdock_topology_local_rank(const crossdock_topology* topology, int rank,
                                               int* local_rank) {
    return give_number(local_rank, [&] { return value_of(topology, "topology").local_rank(rank); });
}

crossdock_status crossdock_topology_region_size(const crossdock_topology* topology, int region,
                                                int* num_ranks) {
    return give_number(num_ranks,
                       [&] { return value_of(topology, "topology").region_size(region); });
}

crossdock_status crossdock_topology_rank_at(const crossdock_topology* topology, int region,
                                            int local_rank, int* rank) {
    return give_number(rank,
                       [&] { return value_of(topology, "topology").rank_at(region, local_rank); });
}

crossdock_status crossdock_topology_to_string(const crossdock_topology* topology, char** text) {
    return give_text(no_handle, text, "text",
                     [&] { return value_of(topology, "topology").to_string(); });
}

crossdock_status crossdock_topology_free(crossdock_topology* topology) { return release(topology); }

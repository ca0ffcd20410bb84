#include "tools/inputs/array/workload.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crossdock::bench::array {

const char* to_string(request_traits kind) {
    switch (kind) {
        case request_traits::read: return "read";
        case request_traits::sum: return "sum";
        case request_traits::minimum: return "minimum";
    }
    return "";
}

const std::vector<workload_description>& registered_workloads() {
    static const std::vector<workload_description> workloads{boruvka(), neighborhood(), overload()};
    return workloads;
}

const workload_description& find_workload(std::string_view name) {
    std::string known;
    for (const auto& one : registered_workloads()) {
        if (one.name == name) return one;
        known += (known.empty() ? "" : ", ") + one.name;
    }
    throw error(errc::invalid_argument,
                fmt::format("no workload is called \"{}\"; there are {}", name, known));
}

std::vector<rank_work> make_work(const workload_options& options, rank_t num_ranks) {
    return make_work(options.workload,
                     find_workload(options.workload).has_graph
                         ? load_graph(options.graph, num_ranks)
                         : overload_graph(options, num_ranks),
                     num_ranks);
}

std::vector<rank_work> make_work(const std::string& workload, spread_graph graph,
                                 rank_t num_ranks) {
    const auto owners = block_partition::blocks(graph.num_vertices, num_ranks);
    auto expected = find_workload(workload).compute(graph, owners);
    std::vector<rank_work> work;
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        work.push_back({workload, owners, rank, std::move(graph.edges[r]), std::move(expected[r])});
    }
    return work;
}

std::unique_ptr<rank_program> make_program(const rank_work& work) {
    return find_workload(work.workload).make_program(work);
}

value_t first_value(count_t index) noexcept { return static_cast<value_t>(index % 1009 + 1); }

void fill_first_values(const rank_work& work, std::span<value_t> entries) {
    count_t index = work.owners.first(work.rank);
    for (value_t& entry : entries) entry = first_value(index++);
}

std::vector<count_t> ends_of(const std::vector<edge>& edges) {
    std::vector<count_t> indices(edges.size());
    std::transform(edges.begin(), edges.end(), indices.begin(),
                   [](const edge& one) { return one.to; });
    return indices;
}

std::vector<std::vector<value_t>> cut(const std::vector<value_t>& values,
                                      const block_partition& owners) {
    std::vector<std::vector<value_t>> parts;
    for (rank_t rank = 0; rank < owners.num_ranks(); ++rank)
        parts.emplace_back(values.begin() + owners.first(rank),
                           values.begin() + owners.first(rank + 1));
    return parts;
}

}  // namespace crossdock::bench::array

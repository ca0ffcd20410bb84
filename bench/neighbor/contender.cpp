#include "bench/neighbor/contender.hpp"

#include <cstring>

#include "src/base/item_bytes.hpp"

namespace crossdock::bench {

std::vector<entrant> baselines() {
    std::vector<entrant> all{mpi_persistent()};
    for (auto& collective : neighborhood_collectives()) all.push_back(std::move(collective));
    for (const char* type : {"basic", "neighbor", "crossdock"}) all.push_back(petsc_forest(type));
    return all;
}

item_datatype::item_datatype(std::size_t item_bytes) {
    if (item_bytes == sizeof(double)) return;
    const bool is_doubles = item_bytes % sizeof(double) == 0;
    const std::size_t count = is_doubles ? item_bytes / sizeof(double) : item_bytes;
    CROSSDOCK_MPI(
        MPI_Type_contiguous(checked_cast<int>(count), is_doubles ? MPI_DOUBLE : MPI_BYTE, &type_));
    CROSSDOCK_MPI(MPI_Type_commit(&type_));
}

void packed_items::pack() {
    with_item_bytes(task_.item_bytes, [&](auto item_bytes) {
        std::byte* to = bytes_.data();
        for (const count_t item : task_.what.sends.indices) {
            std::memcpy(to, task_.items.data() + static_cast<std::size_t>(item) * item_bytes,
                        item_bytes);
            to += item_bytes;
        }
    });
}

void packed_items::add() {
    with_item_bytes(task_.item_bytes, [&](auto item_bytes) {
        const std::size_t num_values = item_bytes / sizeof(double);
        auto* const items = reinterpret_cast<double*>(task_.items.data());
        const auto* from = reinterpret_cast<const double*>(bytes_.data());
        for (const count_t item : task_.what.sends.indices) {
            double* const to = items + static_cast<std::size_t>(item) * num_values;
            for (std::size_t v = 0; v < num_values; ++v) to[v] += *from++;
        }
    });
}

traffic direct_traffic(const topology& regions, const pattern& what) {
    const region_t own_region = regions.region_of(what.rank);
    traffic sum;
    for (std::size_t e = 0; e < what.sends.size(); ++e) {
        const auto num_items = static_cast<count_t>(what.sends[e].size());
        const bool is_inter_region = regions.region_of(what.sends.ranks[e]) != own_region;
        sum += {1, num_items, is_inter_region ? 1 : 0, is_inter_region ? num_items : 0};
    }
    return sum;
}

}  // namespace crossdock::bench

#include "bench/neighbor/contender.hpp"

#include <cstring>

namespace crossdock::bench {

namespace {

// A size known to the compiler makes every copy one or two moves.
template <std::size_t ItemBytes>
void gather(const exchange_task& task, std::byte* to) {
    for (const count_t item : task.what.sends.indices) {
        std::memcpy(to, task.items.data() + static_cast<std::size_t>(item) * ItemBytes, ItemBytes);
        to += ItemBytes;
    }
}

void gather_any(const exchange_task& task, std::byte* to) {
    for (const count_t item : task.what.sends.indices) {
        std::memcpy(to, task.items.data() + static_cast<std::size_t>(item) * task.item_bytes,
                    task.item_bytes);
        to += task.item_bytes;
    }
}

}  // namespace

std::vector<entrant> baselines() {
    return {mpi_persistent(), mpi_neighbor_alltoallv(), petsc_forest("basic"),
            petsc_forest("neighbor")};
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
    switch (task_.item_bytes) {
        case 4: return gather<4>(task_, bytes_.data());
        case 8: return gather<8>(task_, bytes_.data());
        case 16: return gather<16>(task_, bytes_.data());
        default: return gather_any(task_, bytes_.data());
    }
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

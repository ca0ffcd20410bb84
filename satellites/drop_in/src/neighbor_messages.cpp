#include "neighbor_messages.hpp"

#include "crossdock/communicator.hpp"

namespace crossdock::drop_in {

neighbor_messages::neighbor_messages(const call_side& sends, const call_side& receives,
                                     const graph_edges& along) {
    with_reserve([&] { requests_.reserve(sends.blocks().size() + receives.blocks().size()); });
    const auto for_each = [&](const call_side& side, std::span<const rank_t> ranks, auto&& start) {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            if (!along.has_empty_messages && side.layout().lengths[i] == 0) continue;
            auto one = side.blocks()[i];
            if (one.count == 0) one.type = MPI_BYTE;
            start(side.begin_of(i), one, ranks[i], &requests_.emplace_back(MPI_REQUEST_NULL));
        }
    };
    for_each(receives, along.sources,
             [&](void* to, const block& one, rank_t source, MPI_Request* request) {
                 CROSSDOCK_MPI(CROSSDOCK_WIDEST(Irecv)(to, one.count, one.type, source, along.tag,
                                                       along.comm, request));
             });
    for_each(sends, along.destinations,
             [&](const void* from, const block& one, rank_t destination, MPI_Request* request) {
                 CROSSDOCK_MPI(CROSSDOCK_WIDEST(Isend)(from, one.count, one.type, destination,
                                                       along.tag, along.comm, request));
             });
}

bool neighbor_messages::test() {
    int are_complete = 0;
    CROSSDOCK_MPI(PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_complete,
                               MPI_STATUSES_IGNORE));
    return are_complete != 0;
}

void neighbor_messages::wait() {
    CROSSDOCK_MPI(
        PMPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
}

}  // namespace crossdock::drop_in

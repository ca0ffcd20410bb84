#include "neighbor_messages.hpp"

#include <thread>

#include "crossdock/communicator.hpp"

namespace crossdock::drop_in {

neighbor_messages::neighbor_messages(const call_side& sends, const call_side& receives,
                                     const graph_edges& along) {
    with_reserve([&] {
        const auto number = sends.blocks().size() + receives.blocks().size();
        requests_.reserve(number);
        statuses_.resize(number);
    });
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

// A message that fails leaves the others to be completed.
void neighbor_messages::note(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    if (code != MPI_ERR_IN_STATUS) throw mpi_error(code, call);
    for (const auto& one : statuses_)
        if (one.MPI_ERROR != MPI_SUCCESS && one.MPI_ERROR != MPI_ERR_PENDING)
            failure_ = one.MPI_ERROR;
}

bool neighbor_messages::test() {
    int are_complete = 0;
    const int code = PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(),
                                  &are_complete, statuses_.data());
    note(code, "MPI_Testall");
    if (code != MPI_SUCCESS || !are_complete) return false;
    if (failure_ != MPI_SUCCESS) throw mpi_error(failure_, "MPI_Irecv");
    return true;
}

void neighbor_messages::wait() {
    note(PMPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data()),
         "MPI_Waitall");
    while (!test()) std::this_thread::yield();
}

}  // namespace crossdock::drop_in

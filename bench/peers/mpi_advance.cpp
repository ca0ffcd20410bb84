// MPI Advance: persistent neighborhood collectives, without and with joined messages.
#include <locality_aware.h>

#include "peer.hpp"

namespace {

using namespace crossdock::bench;

template <NeighborAlltoallvInitMethod method>
class request final : public peer {
  public:
    explicit request(const peer_halo& halo) : packed_(halo) {
        const auto sends = lengths_of(halo.send_starts), receives = lengths_of(halo.slot_starts);
        MPIL_Info* info = nullptr;
        MPIL_Topo* neighbors = nullptr;
        MPIL_Info_init(&info);
        MPIL_Comm_init(&comm_, halo.comm);
        MPIL_Topo_init(static_cast<int>(halo.sources.size()), halo.sources.data(), receives.data(),
                       static_cast<int>(halo.destinations.size()), halo.destinations.data(),
                       sends.data(), info, &neighbors);
        MPIL_Set_alltoallv_neighbor_init_alogorithm(method);
        MPIL_Neighbor_alltoallv_init_topo(packed_.pack(), sends.data(), halo.send_starts.data(),
                                          MPI_DOUBLE, halo.slots.data(), receives.data(),
                                          halo.slot_starts.data(), MPI_DOUBLE, neighbors, comm_,
                                          info, &request_);
        MPIL_Topo_free(&neighbors);
        MPIL_Info_free(&info);
    }
    ~request() override {
        MPIL_Request_free(&request_);
        MPIL_Comm_free(&comm_);
    }

    void start() override {
        packed_.pack();
        MPIL_Start(request_);
    }
    void wait() override {
        MPI_Status status;
        MPIL_Wait(request_, &status);
    }

  private:
    packed_values packed_;
    MPIL_Comm* comm_ = nullptr;
    MPIL_Request* request_ = nullptr;
};

template <NeighborAlltoallvInitMethod method>
std::unique_ptr<peer> set_up(const peer_halo& halo) {
    return std::make_unique<request<method>>(halo);
}

}  // namespace

std::span<const named_peer> crossdock_peers() {
    static constexpr named_peer all[]{
        {"mpi_advance_standard", set_up<NEIGHBOR_ALLTOALLV_INIT_STANDARD>},
        {"mpi_advance_locality", set_up<NEIGHBOR_ALLTOALLV_INIT_LOCALITY>}};
    return all;
}

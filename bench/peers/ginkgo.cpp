// Ginkgo, from 1.10 on: its row gatherer, by MPI_Ineighbor_alltoallv and by MPI_Ialltoallv.
#include <ginkgo/ginkgo.hpp>

#include "peer.hpp"

namespace {

using namespace crossdock::bench;
namespace mpi = gko::experimental::mpi;
namespace distributed = gko::experimental::distributed;

using global_index = gko::int64;
using gatherer = distributed::RowGatherer<gko::int32>;
using values = gko::matrix::Dense<double>;

template <class Communicator>
class gather final : public peer {
  public:
    explicit gather(const peer_halo& halo) : slots_(halo.slots) {
        const mpi::communicator comm(halo.comm);
        const auto num_items = halo.items.size();
        const auto partition =
            gko::share(distributed::build_partition_from_local_range<gko::int32, global_index>(
                exec_, comm,
                gko::span(static_cast<gko::size_type>(halo.first_item),
                          static_cast<gko::size_type>(halo.first_item) + num_items)));
        const gko::array<global_index> needed(exec_, halo.slot_items.begin(),
                                              halo.slot_items.end());
        const distributed::index_map<gko::int32, global_index> map(exec_, partition, comm.rank(),
                                                                   needed);
        // Ginkgo's own order, by owner and index.
        places_ = map.map_to_local(needed, distributed::index_space::non_local);
        gatherer_ = gatherer::create(exec_, std::make_shared<Communicator>(comm, map), map);
        items_ = gko::share(distributed::Vector<double>::create(
            exec_, comm, gko::dim<2>(partition->get_size(), 1),
            values::create(
                exec_, gko::dim<2>(num_items, 1),
                gko::make_array_view(exec_, num_items, const_cast<double*>(halo.items.data())),
                1)));
        gathered_ = values::create(exec_, gko::dim<2>(halo.slots.size(), 1));
    }

    void start() override { request_ = gatherer_->apply_async(items_, gathered_); }
    void wait() override {
        request_.wait();
        for (std::size_t i = 0; i < slots_.size(); ++i)
            slots_[i] = gathered_->get_const_values()[places_.get_const_data()[i]];
    }

  private:
    std::shared_ptr<gko::Executor> exec_ = gko::ReferenceExecutor::create();
    std::span<double> slots_;
    gko::array<gko::int32> places_{exec_};
    std::shared_ptr<gatherer> gatherer_;
    std::shared_ptr<distributed::Vector<double>> items_;
    std::unique_ptr<values> gathered_;
    mpi::request request_;
};

template <class Communicator>
std::unique_ptr<peer> set_up(const peer_halo& halo) {
    return std::make_unique<gather<Communicator>>(halo);
}

}  // namespace

std::span<const named_peer> crossdock_peers() {
    static constexpr named_peer all[]{
        {"ginkgo_neighborhood", set_up<mpi::NeighborhoodCommunicator>},
        {"ginkgo_dense", set_up<mpi::DenseCommunicator>}};
    return all;
}

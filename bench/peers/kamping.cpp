// KaMPIng: its sparse exchange, in which receivers do not know their sources, and the one over a grid of ranks. Neither
// keeps anything from one exchange to the next.
#include <kamping/communicator.hpp>
#include <kamping/plugin/alltoall_grid.hpp>
#include <kamping/plugin/alltoall_sparse.hpp>

#include <algorithm>
#include <utility>

#include "peer.hpp"

namespace {

using namespace crossdock::bench;
namespace plugin = kamping::plugin;

using communicator =
    kamping::Communicator<std::vector, plugin::SparseAlltoall, plugin::GridCommunicator>;

class sparse final : public peer {
  public:
    explicit sparse(const peer_halo& halo) : halo_(halo), packed_(halo), comm_(halo.comm) {}

    void start() override {
        double* const values = packed_.pack();
        std::vector<std::pair<int, kamping::Span<double>>> messages;
        for (std::size_t i = 0; i < halo_.destinations.size(); ++i)
            messages.emplace_back(halo_.destinations[i],
                                  kamping::Span<double>(values + halo_.send_starts[i],
                                                        values + halo_.send_starts[i + 1]));
        comm_.alltoallv_sparse(
            plugin::sparse_alltoall::sparse_send_buf(messages),
            plugin::sparse_alltoall::on_message([this](auto& message) {
                const auto source = std::ranges::find(halo_.sources, message.source_signed());
                const auto place = static_cast<std::size_t>(source - halo_.sources.begin());
                const std::vector<double> came = message.recv();
                std::ranges::copy(came, halo_.slots.begin() + halo_.slot_starts[place]);
            }));
    }

  private:
    peer_halo halo_;
    packed_values packed_;
    communicator comm_;
};

class grid final : public peer {
  public:
    explicit grid(const peer_halo& halo)
        : halo_(halo), comm_(halo.comm), grid_(comm_.make_grid_communicator()) {
        // Of all ranks, in their order.
        counts_.resize(comm_.size());
        starts_.resize(comm_.size());
        values_.resize(halo.send_items.size());
        const auto lengths = lengths_of(halo.send_starts);
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            counts_[static_cast<std::size_t>(halo.destinations[i])] = lengths[i];
            starts_[static_cast<std::size_t>(halo.destinations[i])] = halo.send_starts[i];
        }
        order_.resize(halo.sources.size());
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        std::ranges::sort(order_, {}, [&](std::size_t i) { return halo.sources[i]; });
    }

    void start() override {
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] = halo_.items[static_cast<std::size_t>(halo_.send_items[i])];
        const std::vector<double> came =
            grid_.alltoallv(kamping::send_buf(values_), kamping::send_counts(counts_),
                            kamping::send_displs(starts_));
        auto next = came.begin();
        for (const auto i : order_) {
            const auto length = halo_.slot_starts[i + 1] - halo_.slot_starts[i];
            std::copy_n(next, length, halo_.slots.begin() + halo_.slot_starts[i]);
            next += length;
        }
    }

  private:
    peer_halo halo_;
    communicator comm_;
    decltype(std::declval<communicator>().make_grid_communicator()) grid_;
    std::vector<int> counts_, starts_;
    std::vector<double> values_;
    std::vector<std::size_t> order_;
};

}  // namespace

std::span<const named_peer> crossdock_peers() {
    static constexpr named_peer all[]{
        {"kamping_sparse",
         [](const peer_halo& halo) -> std::unique_ptr<peer> {
             return std::make_unique<sparse>(halo);
         }},
        {"kamping_grid", [](const peer_halo& halo) -> std::unique_ptr<peer> {
             return std::make_unique<grid>(halo);
         }}};
    return all;
}

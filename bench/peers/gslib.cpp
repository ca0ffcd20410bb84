// gslib: an item and its slots have one id. Slots are flagged: they give nothing and get the sum, of integers, which
// keeps the bits of values that are not numbers.
#include <mpi.h>

#include <algorithm>
#include <cstddef>

extern "C" {
#include <gslib.h>
}

#include "peer.hpp"

namespace {

using namespace crossdock::bench;

template <gs_method method>
class sum final : public peer {
  public:
    explicit sum(const peer_halo& halo)
        : halo_(halo), sent_(halo.send_items.begin(), halo.send_items.end()) {
        std::ranges::sort(sent_);
        sent_.erase(std::ranges::unique(sent_).begin(), sent_.end());
        std::vector<slong> ids;
        for (const int item : sent_) ids.push_back(static_cast<slong>(halo.first_item + item + 1));
        for (const auto item : halo.slot_items) ids.push_back(static_cast<slong>(-item - 1));
        values_.resize(ids.size());
        struct comm comm;
        comm_init(&comm, halo.comm);
        handle_ = gs_setup(ids.data(), static_cast<uint>(ids.size()), &comm, 0, method, 0);
        comm_free(&comm);
    }
    ~sum() override { gs_free(handle_); }

    void start() override {
        for (std::size_t i = 0; i < sent_.size(); ++i)
            values_[i] = halo_.items[static_cast<std::size_t>(sent_[i])];
        gs(values_.data(), gs_long, gs_add, 0, handle_, nullptr);
        std::copy(values_.begin() + static_cast<std::ptrdiff_t>(sent_.size()), values_.end(),
                  halo_.slots.begin());
    }

  private:
    peer_halo halo_;
    std::vector<int> sent_;
    std::vector<double> values_;
    struct gs_data* handle_ = nullptr;
};

template <gs_method method>
std::unique_ptr<peer> set_up(const peer_halo& halo) {
    return std::make_unique<sum<method>>(halo);
}

}  // namespace

std::span<const named_peer> crossdock_peers() {
    static constexpr named_peer all[]{{"gslib_pairwise", set_up<gs_pairwise>},
                                      {"gslib_crystal_router", set_up<gs_crystal_router>}};
    return all;
}

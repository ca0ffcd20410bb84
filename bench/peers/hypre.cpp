// hypre: a communication package, and an exchange of its job 1.
#include <HYPRE.h>
#include <_hypre_parcsr_mv.h>

#include <algorithm>

#include "peer.hpp"

namespace {

using namespace crossdock::bench;

class package final : public peer {
  public:
    explicit package(const peer_halo& halo) : packed_(halo), slots_(halo.slots) {
        HYPRE_Init();
        const auto copy = [](std::span<const int> from) {
            auto* const to = hypre_TAlloc(HYPRE_Int, from.size() + 1, HYPRE_MEMORY_HOST);
            std::ranges::copy(from, to);
            return to;
        };
        hypre_ParCSRCommPkgCreateAndFill(
            halo.comm, static_cast<HYPRE_Int>(halo.sources.size()), copy(halo.sources),
            copy(halo.slot_starts), static_cast<HYPRE_Int>(halo.destinations.size()),
            copy(halo.destinations), copy(halo.send_starts), copy(halo.send_items), &package_);
    }
    ~package() override { hypre_MatvecCommPkgDestroy(package_); }

    void start() override {
        handle_ = hypre_ParCSRCommHandleCreate(1, package_, packed_.pack(), slots_.data());
    }
    void wait() override { hypre_ParCSRCommHandleDestroy(handle_); }

  private:
    packed_values packed_;
    std::span<double> slots_;
    hypre_ParCSRCommPkg* package_ = nullptr;
    hypre_ParCSRCommHandle* handle_ = nullptr;
};

}  // namespace

std::span<const named_peer> crossdock_peers() {
    static constexpr named_peer all[]{{"hypre", [](const peer_halo& halo) -> std::unique_ptr<peer> {
                                           return std::make_unique<package>(halo);
                                       }}};
    return all;
}

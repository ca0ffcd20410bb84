// Tpetra: vectors over the benchmark's arrays, and an Import between them.
#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_Import.hpp>
#include <Tpetra_Map.hpp>
#include <Tpetra_Vector.hpp>

#include "peer.hpp"

namespace {

using namespace crossdock::bench;

using map = Tpetra::Map<>;
using vector = Tpetra::Vector<double>;

class import final : public peer {
  public:
    explicit import(const peer_halo& halo) {
        if (!Tpetra::isInitialized()) {
            int num_arguments = 0;
            char** arguments = nullptr;
            Tpetra::initialize(&num_arguments, &arguments, halo.comm);
            std::atexit(finalize);
        }
        const auto comm = Teuchos::rcp(new Teuchos::MpiComm<int>(halo.comm));
        const auto unknown = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
        const auto of_items = Teuchos::rcp(new map(unknown, halo.items.size(), 0, comm));
        const std::vector<map::global_ordinal_type> ids(halo.slot_items.begin(),
                                                        halo.slot_items.end());
        const auto of_slots = Teuchos::rcp(new map(
            unknown, Teuchos::ArrayView(ids.data(), static_cast<int>(ids.size())), 0, comm));
        items_ = over(of_items, const_cast<double*>(halo.items.data()), halo.items.size());
        slots_ = over(of_slots, halo.slots.data(), halo.slots.size());
        import_ = Teuchos::rcp(new Tpetra::Import<>(of_items, of_slots));
    }

    void start() override { slots_->doImport(*items_, *import_, Tpetra::INSERT); }

  private:
    // MPI is finalized before.
    static void finalize() { Kokkos::finalize(); }

    static Teuchos::RCP<vector> over(const Teuchos::RCP<const map>& entries, double* first,
                                     std::size_t length) {
        const Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> values(first, length,
                                                                                   1);
        return Teuchos::rcp(new vector(entries, vector::dual_view_type(values, values)));
    }

    Teuchos::RCP<vector> items_, slots_;
    Teuchos::RCP<const Tpetra::Import<>> import_;
};

}  // namespace

std::span<const named_peer> crossdock_peers() {
    static constexpr named_peer all[]{
        {"tpetra_import", [](const peer_halo& halo) -> std::unique_ptr<peer> {
             return std::make_unique<import>(halo);
         }}};
    return all;
}

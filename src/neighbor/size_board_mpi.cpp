#include "size_board_mpi.hpp"

#include <new>

#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

size_board::size_board(const std::shared_ptr<node_memory>& memory)
    : memory_(memory, sizeof(board), [](std::byte* own) { new (own) board; }) {
    const auto here = static_cast<std::size_t>(memory->domain().here().value());
    own_ = reinterpret_cast<board*>(memory_.all()[here]);
}

size_board::~size_board() {
    if (own_ == nullptr || !memory_.is_open()) return;
    for (std::byte* const one : memory_.all())
        reinterpret_cast<board*>(one)->num_left.fetch_add(1, std::memory_order_acq_rel);
    try {
        memory_.give_back([own = own_, num_ranks = memory_.all().size()] {
            return own->num_left.load(std::memory_order_acquire) == num_ranks;
        });
    } catch (const std::bad_alloc&) {
        // Nobody uses it again.
    }
}

std::size_t size_board::find(const communicator& comm) const {
    if (own_ == nullptr) return 0;
    while (true) {
        bool have_all = true;
        for (std::byte* const one : memory_.all()) {
            const auto posted =
                post_of(*reinterpret_cast<board*>(one)).load(std::memory_order_relaxed);
            const auto ahead =
                static_cast<std::int32_t>(static_cast<std::uint32_t>(posted >> 32) - exchange_);
            if (ahead == 0 && posted != post_for(0)) return posted & ~std::uint32_t{0};
            if (ahead < 0) have_all = false;
        }
        if (have_all) return 0;
        comm.progress();
        pause_wait();
    }
}

}  // namespace crossdock

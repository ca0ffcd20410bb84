#include "size_board_mpi.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

size_board::piece::piece(std::shared_ptr<node_memory> of)
    : here(static_cast<std::size_t>(of->domain().here().value())),
      memory(std::move(of), sizeof(content), [](std::byte* own) { new (own) content; }) {}

size_board::piece::~piece() {
    if (!memory.is_open()) return;
    const std::size_t num_ranks = memory.all().size();
    for (std::size_t k = 0; k < num_ranks; ++k)
        of_rank(k).num_left.fetch_add(1, std::memory_order_acq_rel);
    try {
        memory.give_back([&own = of_rank(here), num_ranks] {
            return own.num_left.load(std::memory_order_acquire) == num_ranks;
        });
    } catch (const std::bad_alloc&) {
        // Nobody uses it again.
    }
}

std::size_t size_board::find(const communicator& comm) const {
    if (!piece_) return 0;
    while (true) {
        bool have_all = true;
        for (std::size_t k = 0; k < piece_->memory.all().size(); ++k) {
            const auto posted =
                post_of(piece_->of_rank(k).boards[number_]).load(std::memory_order_relaxed);
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

size_board size_boards::next(const std::shared_ptr<node_memory>& memory) {
    constexpr std::size_t num_boards =
        std::tuple_size_v<decltype(size_board::piece::content::boards)>;
    return with_reserve([&] {
        auto found = std::ranges::find(last_, memory.get(), &entry::of);
        if (found == last_.end()) found = last_.insert(found, {memory.get(), nullptr});
        if (!found->boards || found->num_taken == num_boards) {
            found->boards = std::make_shared<const size_board::piece>(memory);
            found->num_taken = 0;
        }
        return size_board(found->boards, found->num_taken++);
    });
}

}  // namespace crossdock

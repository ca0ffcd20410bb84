// Where ranks that share memory tell each other the size of their items.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../context/node_memory_mpi.hpp"

namespace crossdock {

/// @brief The sizes of the items of the last exchanges of an object, which numbers them from 1.
///
/// A rank whose arguments hide the size takes that of another one. Each rank posts the size in shared
/// memory before it prepares or starts an exchange.
///
///     ranks 0 and 1 have posted exchange 7, rank 2 has not yet    0: {7, 4 bytes}  1: {7, unknown}  2: {6, 8 bytes}
///
/// Boards keep the last 64 sizes. A rank that is further ahead of another one exchanges nothing with it: those that do
/// are at most two exchanges apart in each direction and prepared size.
class size_board {
  public:
    /// @brief Of a rank that shares no memory.
    size_board() = default;

    /// @brief The next exchange has items of this size; 0 if this rank does not know.
    void post(std::size_t item_bytes) noexcept {
        ++exchange_;
        if (own_ != nullptr) post_of(*own_).store(post_for(item_bytes), std::memory_order_relaxed);
    }

    /// @brief The size that another rank has posted for the present exchange, or 0 if no rank of the domain knows.
    ///
    /// Waits for the first one that knows, or for all; makes progress on all work meanwhile.
    std::size_t find(const communicator& comm) const;

  private:
    friend class size_boards;

    static constexpr std::size_t num_posts = 64;
    using post_word = std::atomic<std::uint64_t>;
    static_assert(post_word::is_always_lock_free);
    using board = std::array<post_word, num_posts>;
    // The boards of several objects, which take one piece of memory together.
    struct piece {
        struct content {
            post_word num_left{0};  // ranks that do not read it any more
            alignas(shared_window::alignment) std::array<board, 16> boards{};
        };

        explicit piece(std::shared_ptr<node_memory> of);
        ~piece();
        piece(const piece&) = delete;
        piece& operator=(const piece&) = delete;
        content& of_rank(std::size_t number) const {
            return *reinterpret_cast<content*>(memory.all()[number]);
        }

        std::size_t here;
        memory_piece memory;
    };

    size_board(std::shared_ptr<const piece> of, std::size_t number)
        : piece_(std::move(of)),
          number_(number),
          own_(&piece_->of_rank(piece_->here).boards[number]) {}

    post_word& post_of(board& one) const { return one[exchange_ % num_posts]; }
    std::uint64_t post_for(std::size_t item_bytes) const {
        return std::uint64_t{exchange_} << 32 | static_cast<std::uint32_t>(item_bytes);
    }

    std::shared_ptr<const piece> piece_;  // null where nothing is shared
    std::size_t number_ = 0;
    board* own_ = nullptr;
    std::uint32_t exchange_ = 0;
};

/// @brief The boards of a communicator's objects.
class size_boards final : public communicator_resource {
  public:
    explicit size_boards(const communicator&) {}

    /// @brief The next object's board.
    /// @par Collective
    /// Over the domain, in the same order on its ranks: one of 16 calls waits for them, and makes progress on all work
    /// meanwhile.
    /// @throws as `node_memory::share`
    size_board next(const std::shared_ptr<node_memory>& memory);

    void close() override { last_.clear(); }

  private:
    struct entry {
        const node_memory* of;
        std::shared_ptr<const size_board::piece> boards;
        std::size_t num_taken = 0;
    };
    std::vector<entry> last_;
};

}  // namespace crossdock

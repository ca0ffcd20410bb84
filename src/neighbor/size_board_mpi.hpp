/// @file
/// @brief Where ranks that share memory tell each other the size of their items.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

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
    /// @par Collective
    /// Over the domain: waits for its ranks, and makes progress on all work meanwhile.
    /// @throws as `node_memory::share`
    explicit size_board(const std::shared_ptr<node_memory>& memory);
    ~size_board();
    size_board(const size_board&) = delete;
    size_board& operator=(const size_board&) = delete;

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
    static constexpr std::size_t num_posts = 64;
    using post_word = std::atomic<std::uint64_t>;
    static_assert(post_word::is_always_lock_free);
    struct board {
        post_word num_left{0};  // ranks that do not read it any more
        alignas(shared_window::alignment) std::array<post_word, num_posts> posts{};
    };

    post_word& post_of(board& one) const { return one.posts[exchange_ % num_posts]; }
    std::uint64_t post_for(std::size_t item_bytes) const {
        return std::uint64_t{exchange_} << 32 | static_cast<std::uint32_t>(item_bytes);
    }

    memory_piece memory_;
    board* own_ = nullptr;  // null where nothing is shared
    std::uint32_t exchange_ = 0;
};

}  // namespace crossdock

/// @file
/// @brief How the ranks of a domain hand each other messages in memory that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "forwarder.hpp"

namespace crossdock {

/// @brief The send buffers of all ranks of a domain, as one of them sees them.
///
/// An exchange has rounds. In each, a rank writes into its send buffer as much as there is room for, says so with the
/// round's number, waits for the send buffers of all others, and copies what is for it. There is another round while
/// anybody has more, so that messages of any number and length pass through send buffers of one size.
///
///     send buffer of rank 0 of 3   round, agreement, has more | 0 32 56 | - "to 1" "to 1" - "to 2" -
///                                                        ends of the sections for ranks 0, 1, 2
///
/// A send buffer has two halves for rounds in turn. To end a round a rank must have heard that all others began it, and
/// so have read all of the round before: the half of that one is free for the next.
class shared_send_buffers {
  public:
    /// @brief Memory for a message that comes in.
    using room_maker = std::function<std::byte*(count_t bytes)>;

    /// @brief The bytes of a half for messages, in each send buffer.
    static constexpr std::size_t default_room_bytes = std::size_t{1} << 16;

    /// @param room_bytes  of a half for messages; a multiple of 8, and more than 16
    static std::size_t send_buffer_bytes(std::size_t num_ranks,
                                         std::size_t room_bytes = default_room_bytes);

    /// @param send_buffers  of all ranks, `send_buffer_bytes` each, aligned to 64 bytes; must outlive this
    /// @param here      which of them is this rank's
    shared_send_buffers(std::vector<std::byte*> send_buffers, std::size_t here,
                        std::size_t room_bytes = default_room_bytes);

    /// @brief Initializes this rank's send buffer, before any other rank uses it.
    void initialize() const;

    /// @brief Hands messages over and takes those that came.
    /// @param own         agreed on by all ranks in passing
    /// @param messages    each to the rank with the number `place`, which is not this one
    /// @param make_room   where a message that comes in stays
    /// @param pause       called again and again while others are waited for
    /// @param arrived     what came is added, by rank within a round; messages of one rank stay in their order
    /// @return the agreement of all ranks
    /// @par Collective
    /// Yes, over the domain; waits for all of it.
    agreement exchange(const agreement& own, std::vector<placed_envelope> messages,
                       const room_maker& make_room, const std::function<void()>& pause,
                       std::vector<envelope>& arrived);

  private:
    class half;

    // How far messages are written: those before the present one, and bytes of it.
    struct cursor {
        std::size_t message = 0;
        std::size_t bytes = 0;
    };
    // The rest of a message that another rank has handed over in part.
    struct unfinished {
        std::byte* to = nullptr;
        std::size_t bytes = 0;
    };

    half half_of(std::size_t rank) const;
    bool write(std::span<const placed_envelope> messages, cursor& done) const;
    void read(std::size_t source, const room_maker& make_room, std::vector<envelope>& arrived);

    std::vector<std::byte*> send_buffers_;
    std::size_t here_;
    std::size_t room_bytes_;
    std::uint64_t round_ = 0;
    std::vector<unfinished> begun_;  // by rank
};

}  // namespace crossdock

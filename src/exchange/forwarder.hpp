/// @file
/// @brief What one rank does in a routed exchange, without the sending.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "agreement.hpp"
#include "crossdock/detail/base/raw_buffer.hpp"
#include "crossdock/route.hpp"

namespace crossdock {

/// @brief A message on its way; its bytes lie elsewhere.
struct envelope {
    rank_t source = 0;       ///< any number; the route does not look at it
    rank_t destination = 0;  ///< a rank of the route's topology
    count_t bytes = 0;
    const std::byte* data = nullptr;
    bool is_announced = false;  ///< its bytes do not take the route
};

/// @brief An envelope and where it goes: one of several bundles, or ranks of a domain.
struct placed_envelope {
    envelope message;
    std::size_t place = 0;
};

/// @brief The bytes that travel with an envelope.
inline count_t carried_bytes(const envelope& message) noexcept {
    return message.is_announced ? 0 : message.bytes;
}

/// @brief What is written of an envelope.
struct envelope_head {
    rank_t source;
    rank_t destination;
    count_t bytes;  ///< of an announced message, less than 0: -1 - bytes

    envelope_head() = default;
    explicit envelope_head(const envelope& message) noexcept
        : source(message.source),
          destination(message.destination),
          bytes(message.is_announced ? -1 - message.bytes : message.bytes) {}

    /// @param data  the bytes that travel with it
    envelope with(const std::byte* data) const noexcept {
        const bool is_announced = bytes < 0;
        return {source, destination, is_announced ? -1 - bytes : bytes,
                is_announced ? nullptr : data, is_announced};
    }
};

/// @brief Copies a value to bytes that need not be aligned.
/// @return what lies behind it
template <class Value>
std::byte* write_value(std::byte* to, const Value& value) noexcept {
    std::memcpy(to, &value, sizeof(Value));
    return to + sizeof(Value);
}

template <class Value>
Value read_value(const std::byte* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof(Value));
    return value;
}

/// @brief What one rank sends another in one stage.
///
///     agreement, number of envelopes, bytes | source, destination, bytes | … | data | …
struct bundle {
    raw_buffer data;
    count_t bytes = 0;
};

/// @brief Packs envelopes with their messages; a bundle without any carries the agreement.
std::vector<bundle> make_bundles(const agreement& agreement,
                                 std::span<const placed_envelope> messages,
                                 std::size_t num_bundles);

/// @brief What was packed; the messages' bytes stay where they are.
struct opened_bundle {
    agreement agreed;
    std::vector<envelope> messages;
};

opened_bundle open_bundle(const std::byte* data);

/// @brief One rank of a routed exchange: holds messages, packs them for the next hop, takes what
/// came.
///
/// Messages from one rank to another stay in the order in which they were held.
class forwarder {
  public:
    /// @param r  borrowed
    forwarder(const route& r, rank_t here, const error_vote& own)
        : route_(r), here_(here), agreed_(own) {}

    /// @brief Takes charge of a message; one for `here` has arrived.
    void hold(const envelope& message);

    /// @brief Packs what leaves in a stage: a bundle for each of `destinations`, empty or not.
    /// @param destinations  of `route::partners(here, stage)`
    std::vector<bundle> pack(int stage, std::span<const rank_t> destinations);

    /// @brief Votes that this rank has a fault, while all will still hear of it: before anything is
    /// sent.
    void vote_fault() noexcept { agreed_.has_fault = 1; }

    /// @brief From now on says in all bundles that messages were lost: so late that not all ranks
    /// would hear of a vote.
    void note_loss() noexcept { has_lost_ = true; }

    /// @brief Whether messages for this rank may have been lost on their way.
    bool has_lost() const noexcept { return has_lost_; }

    /// @brief A bundle without messages, in place of those that this rank failed to pack. Lies in the
    /// forwarder.
    std::span<const std::byte> bare_bundle() noexcept;

    /// @brief Takes a bundle that came; its memory must outlive the messages.
    void take(const std::byte* data);

    /// @brief The messages for this rank so far.
    const std::vector<envelope>& arrived() const noexcept { return arrived_; }

    /// @brief After the last stage, that of all ranks.
    const agreement& agreed() const noexcept { return agreed_; }

  private:
    const route& route_;
    rank_t here_;
    agreement agreed_;
    std::array<std::byte, sizeof(agreement) + sizeof(count_t)> bare_{};
    bool has_lost_ = false;
    std::vector<envelope> held_;
    std::vector<envelope> arrived_;
};

}  // namespace crossdock

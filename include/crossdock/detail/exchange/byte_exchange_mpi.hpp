/// @file
/// @brief A sparse data exchange of bytes: what the typed exchanges, planning and C are made of.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/equal_arguments.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/raw_buffer.hpp"
#include "crossdock/exchange_algorithm.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How messages are ordered that came.
enum class message_order {
    by_source,  ///< sources ascend: the same on every run
    arrival,    ///< as they came in
};

/// @brief How to exchange. Equal on all ranks but for `order`, `sent` and `name`.
struct exchange_options {
    /// A name of `parse_exchange_algorithm`; or "auto": what the environment variable `CROSSDOCK_ALGORITHM` of rank 0
    /// says when the communicator is first used, and else `choose_exchange_algorithm` on the context's machine;
    /// `shared_memory` in its place where that suits, once there have been 16 such exchanges.
    std::string algorithm = "auto";
    message_order order = message_order::by_source;
    /// How many messages will come to this rank, if that is known on every rank: `personalized` and `reduce_scatter`
    /// then need no reduction of P counts. A wrong number may leave a rank waiting for ever; with CROSSDOCK_CHECK=1 in
    /// rank 0's environment the exchange fails on all ranks instead.
    std::optional<count_t> num_sources = std::nullopt;
    /// Longer messages are cut; 0 stands for the default.
    count_t max_message_bytes = count_t{1} << 30;
    /// In a routed exchange, and between nodes in `shared_memory`, a longer message travels directly and only its
    /// announcement takes the route. By default none does, but under "auto" those above `auto_max_forwarded_bytes`.
    std::optional<count_t> max_forwarded_bytes = std::nullopt;
    /// Receives what this rank sent, if given.
    exchange_traffic* sent = nullptr;
    /// In reports; all exchanges without a name are one. Rank 0's counts.
    std::string name = "";
};

/// @brief The `max_forwarded_bytes` of "auto".
inline constexpr count_t auto_max_forwarded_bytes = 4096;

/// @brief Bytes to a rank (that is sent) or from a rank (in an inbox), which lie elsewhere. What is sent stays the
/// caller's until the exchange is over; what came lives as long as its inbox.
struct byte_message {
    rank_t peer = 0;
    count_t bytes = 0;
    const std::byte* data = nullptr;  ///< may be null if there are no bytes
};

/// @brief What an exchange's messages consist of; equal on all ranks.
struct message_shape {
    count_t item_bytes = 1;
    std::optional<count_t> items_per_message = std::nullopt;  ///< unset: as many as it likes

    friend bool operator==(const message_shape&, const message_shape&) = default;
};

/// @brief What one rank brings to an exchange.
struct bytes_to_send {
    std::vector<byte_message> messages;
    message_shape shape;
    std::optional<error> fault = std::nullopt;  ///< what made the rest unusable, if anything did
    /// Arguments of the caller, compared in passing where messages may have any length.
    equal_arguments same = {};
};

/// @brief What came, and the memory it lies in.
class byte_inbox {
  public:
    /// @param memory  must outlive the inbox
    explicit byte_inbox(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
        : memory_(memory) {}

    std::span<const byte_message> messages() const noexcept { return messages_; }

    /// @brief Of all messages together.
    count_t num_bytes() const noexcept;

    /// @brief Puts all messages one after the other.
    /// @param to  room for `num_bytes()`
    void copy_to(std::byte* to) const;

    /// @brief Room for a message that comes in, which stays where it is; aligned as a std::max_align_t.
    std::byte* make_room(count_t bytes);

    void add(const byte_message& message) { messages_.push_back(message); }
    void add(const std::vector<byte_message>& messages) {
        messages_.insert(messages_.end(), messages.begin(), messages.end());
    }
    void sort_by_source();

  private:
    std::pmr::memory_resource* memory_;
    std::vector<byte_message> messages_;
    std::vector<raw_buffer> blocks_;
    std::byte* free_ = nullptr;  // the rest of the last block for short messages
    count_t num_free_bytes_ = 0;
};

/// @brief Delivers messages to ranks that do not expect them.
///
/// A destination may occur several times: its messages arrive one by one, in the order given. Messages without bytes
/// arrive too, and so do those to the rank itself. What is wrong on one rank is told to all by the messages that travel
/// anyway; then nothing is delivered anywhere and the communicator is as before.
/// @param where  its topology and machine are equal on all ranks
/// @return valid however long `to_send` lives
/// @par Collective
/// Yes; waits for all ranks, and waiting yields the core. `where` and `options` must be equal, which only
/// `CROSSDOCK_CHECK=1` checks.
/// @par Complexity
/// Messages: see `exchange_method`. Memory follows what this rank sends, receives and forwards; `personalized`,
/// `locality_personalized` and `reduce_scatter` reduce a vector of P counts.
/// @throws error  on all ranks: `to_send.fault` of the lowest rank that has one; errc::rank_out_of_range if a
/// destination is not a rank; errc::invalid_argument if a count of bytes is negative, or positive where data is null,
/// `to_send.same` differs, the algorithm is unknown, or it `takes_one_size_only` and messages may differ in size;
/// errc::count_mismatch if shapes differ, or `num_sources` do not add up to what is sent; errc::size_mismatch if the
/// topology has not the communicator's number of ranks; errc::out_of_memory if a node has too little memory to share
/// for `shared_memory`
/// @throws as `context::machine`
/// @par Source
/// \cite geyko2024sdde (the algorithms), \cite hoefler2010nbx (`nonblocking`, `reduce_scatter`). Differs: regions of
/// any size and order; nothing is lost that is zero or empty; `rma` gives out places by tickets and needs no window of
/// size P, which `rma_fence` has; errors and sizes are agreed on in passing; `routed` and `shared_memory` are new.
byte_inbox exchange_bytes(const context& where, const bytes_to_send& to_send,
                          const exchange_options& options = {});

/// @brief What exchanges with the algorithm `name` run there; under "auto", from now on.
/// @param name         as in `exchange_options`
/// @param is_one_size  whether messages are constant
/// @throws error(errc::invalid_argument)  there is no such algorithm
/// @par Collective
/// Yes; blocks where it is the communicator's first exchange or question, and where "auto" makes memory, which it
/// otherwise does only after some exchanges.
exchange_algorithm resolve_exchange_algorithm(const context& where, const std::string& name,
                                              bool is_one_size);

}  // namespace crossdock

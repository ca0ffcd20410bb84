/// @file
/// @brief How messages and their receives find each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "crossdock/detail/base/picoseconds.hpp"
#include "crossdock/schedule.hpp"
#include "search_queues.hpp"

namespace crossdock {

/// @brief MPI's two queues of each rank: posted receives, and unexpected messages.
///
/// A message is known by the number of its receive, over all ranks. Where the receive is posted, whichever of
/// the two comes last searches for the other and passes those that came before it. Where it is probed for, the
/// message is always unexpected, and the probe passes those that came before it: these have other tags, as long
/// as probes of one tag find their messages in the order in which they came. Known messages and items in shared
/// memory are in no queue: nothing searches for them.
class message_matching {
  public:
    /// @brief What follows when a receive is posted.
    enum class outcome {
        waits,     ///< for the message, or for its request
        has_come,  ///< the message can be received
        may_come,  ///< only a request has come: the sender may send now
    };

    explicit message_matching(const schedule& s);

    /// @brief The sender's core is done with a message.
    void send(std::uint32_t receive, picoseconds now) { messages_[receive].sent = now; }

    /// @brief A receive is posted, or a probe for it begins.
    outcome post(rank_t rank, std::uint32_t receive);

    /// @brief The request of a rendezvous comes.
    /// @return when the message was sent, if its receive waits for it
    std::optional<picoseconds> request(rank_t rank, std::uint32_t receive);

    /// @brief All of a message has come.
    /// @return whether its receive waits for it
    bool arrive(rank_t rank, std::uint32_t receive);

    /// @brief Puts the receives, all of one rank, whose messages a probe would find to the end, in the order in
    /// which these came.
    void sort_by_arrival(std::vector<std::uint32_t>& operations) const;

    /// @brief How many others were looked at before the message or its receive was found.
    std::uint32_t num_passed(std::uint32_t receive) const { return messages_[receive].num_passed; }

    static constexpr std::size_t bytes_per_message() { return sizeof(message_state); }

  private:
    struct message_state {
        picoseconds sent = 0;
        std::uint32_t place = 0;  // in the queue that it is in
        std::uint32_t num_passed = 0;
        matching_kind matching = matching_kind::posted;
        bool is_posted = false;
        bool is_requested = false;
        bool has_come = false;
        bool is_found = false;  // in the queue of unexpected messages

        bool is_unexpected() const { return has_come || is_requested; }
    };

    // While a probe waits for it.
    void find_by_probe(rank_t rank, message_state& message);

    std::vector<message_state> messages_;
    search_queues posted_;
    search_queues unexpected_;
};

}  // namespace crossdock

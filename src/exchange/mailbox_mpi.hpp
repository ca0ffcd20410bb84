/// @file
/// @brief Messages of any length between ranks that need not expect them, and what an algorithm does with them.
#pragma once

#include <cstring>
#include <deque>
#include <forward_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "../base/rank_fault_mpi.hpp"
#include "../base/word_message.hpp"
#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"
#include "forwarder.hpp"

namespace crossdock {

/// @brief A message, or the first part of one, that was matched and not yet received.
struct matched_part {
    MPI_Message handle = MPI_MESSAGE_NULL;
    rank_t source = 0;
    int bytes = 0;
};

/// @brief Requests that are waited for together; asking again and again costs no more than they
/// are.
class pending_requests {
  public:
    MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

    /// @brief Whether all are complete. Does not wait.
    bool are_complete();

  private:
    std::vector<MPI_Request> requests_;
    std::size_t num_complete_ = 0;  // of the first ones
};

/// @brief Sends and receives for one exchange.
///
/// A message of `max_message_bytes` or more travels in parts: one of exactly that length, a word
/// that says how many bytes are left, and those, cut again. Only so many parts leave before the
/// receiver takes them: MPI walks over all parts that wait at a receiver whenever that one probes
/// for something else. What arrives stays in the inbox's memory.
class mailbox {
  public:
    mailbox(const communicator& comm, const topology& regions, count_t max_message_bytes,
            byte_inbox& arrivals);

    const communicator& comm() const noexcept { return comm_; }
    const topology& regions() const noexcept { return regions_; }
    byte_inbox& arrivals() noexcept { return arrivals_; }

    /// @brief Starts to send bytes that stay where they are until `are_sent()`.
    void send(const byte_message& message, int tag) { post(message, tag, &MPI_Isend); }

    /// @brief As `send`, but is not complete before the message is received.
    void send_synchronously(const byte_message& message, int tag) {
        post(message, tag, &MPI_Issend);
    }

    /// @brief As `send`, and keeps the bytes itself.
    void send(bundle&& bytes, rank_t destination, int tag);

    /// @brief As `send`, to a rank that knows the length and calls `start_receive`.
    void send_announced(const byte_message& message, int tag);

    /// @brief Whether all that was sent is complete. Does not wait.
    bool are_sent() {
        send_parts();
        return departures_.empty() && sends_.are_complete();
    }

    /// @brief Receives a message if there is one with this tag. If it throws, the message is lost.
    std::optional<byte_message> receive(int tag);

    /// @brief Receives what is there with this tag, and keeps nothing of it.
    void discard_all(int tag) noexcept;

    /// @brief Receives a message with this tag, and waits until there is one.
    byte_message wait_for_message(int tag);

    /// @brief Starts to receive a message whose length is known.
    /// @return complete when `are_received()`
    byte_message start_receive(rank_t source, count_t bytes, int tag);

    /// @brief Whether all that was started is complete. Does not wait.
    bool are_received() { return receives_.are_complete(); }

    /// @brief Calls `is_done()` until it is true; meanwhile others make progress.
    /// @param is_done  where it is false, it has called MPI and found nothing
    template <class IsDone>
    void wait_until(IsDone&& is_done) {
        while (!is_done()) pause();
    }

    /// @brief Makes progress on the communicator's other work, and now and then yields the core.
    void pause();

    /// @brief Counts a message that was sent in another way.
    void count(const byte_message& message);

    const exchange_traffic& sent() const noexcept { return sent_; }

  private:
    using send_function = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

    // A message in parts, of which some have not left.
    struct departure {
        byte_message rest;
        send_function start = nullptr;
        bool says_length = false;  // behind its first part
        MPI_Request taken = MPI_REQUEST_NULL;
    };

    void post(const byte_message& message, int tag, send_function start);
    void post_parts(const byte_message& message, int tag, send_function start, bool says_length);
    void send_parts();
    bool send_parts_of(departure& one, rank_t peer, int tag);
    void start_send(send_function start, const void* data, count_t bytes, rank_t peer, int tag,
                    MPI_Request* request);
    byte_message receive_rest(matched_part& first_part, int tag);
    void start_receive_into(std::byte* data, rank_t source, count_t bytes, int tag);

    const communicator& comm_;
    const topology& regions_;
    count_t max_message_bytes_;
    byte_inbox& arrivals_;
    pending_requests sends_;
    pending_requests receives_;
    // By destination and tag, where messages must not overtake each other.
    std::map<std::pair<rank_t, int>, std::deque<departure>> departures_;
    std::vector<bundle> bundles_;
    std::forward_list<count_t> lengths_;  // words under way
    exchange_traffic sent_;
    int num_pauses_ = 0;
};

/// @brief The tags of one exchange.
///
/// A rank may be one exchange ahead of another, never two: to complete one it must have heard, in
/// one way or another, from all ranks. So tags are used in turn by even and odd exchanges.
struct exchange_tags {
    static constexpr int max_stages = 32;
    static constexpr int count = max_stages + 2;

    int first = 0;

    int found() const noexcept { return first; }          ///< messages whose sources are unknown
    int announced() const noexcept { return first + 1; }  ///< messages announced on a route
    int stage(int s) const noexcept { return first + 2 + s; }
};

/// @brief What an algorithm works on: messages, none of them to the rank itself.
struct exchange_task {
    mailbox& mail;
    exchange_tags tags;
    std::vector<byte_message> messages;
    error_vote own;                      ///< with a fault there are no messages
    std::optional<count_t> num_sources;  ///< of messages that will come, if known
    /// Receives what this rank fails with. It takes part in all the rest: if it has not voted yet,
    /// its vote says so, and otherwise it alone has failed.
    std::optional<error>& fault;
    /// Receives the bits of votes that all ranks have, where messages carry an `agreement`; else 0.
    std::uint32_t& common_bits;
    std::vector<byte_message>& found;  ///< receives what came, in memory of the mailbox's inbox

    error_vote vote() const { return {own.has_fault || fault.has_value(), own.shape, own.bits}; }

    /// @brief Whether the ranks have agreed that all is good.
    bool take(const agreement& agreed) const {
        common_bits = agreed.common_bits;
        return agreed.is_good();
    }

    /// @brief Does what this rank does in any case.
    template <class Part>
    void note_fault_of(Part&& part) const noexcept {
        try {
            part();
        } catch (...) {
            if (!fault) fault = current_error_of(mail.comm().rank());
        }
    }
};

inline constexpr auto word_bytes = static_cast<count_t>(sizeof(std::int64_t));

/// @brief The words of a message, where they lie.
inline byte_message bytes_of(const word_message& message) {
    return {message.peer, static_cast<count_t>(message.words.size()) * word_bytes,
            reinterpret_cast<const std::byte*>(message.words.data())};
}

/// @brief Copies of what came.
inline std::vector<word_message> words_of(const byte_inbox& arrived) {
    std::vector<word_message> inbox;
    inbox.reserve(arrived.messages().size());
    for (const auto& [source, num_bytes, data] : arrived.messages()) {
        auto& words = inbox.emplace_back(word_message{source, {}}).words;
        words.resize(static_cast<std::size_t>(num_bytes / word_bytes));
        if (num_bytes > 0) std::memcpy(words.data(), data, static_cast<std::size_t>(num_bytes));
    }
    return inbox;
}

}  // namespace crossdock

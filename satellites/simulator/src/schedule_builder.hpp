// Writes the operations of all ranks side by side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crossdock/schedule.hpp"

namespace crossdock {

/// @brief What is copied for a message: before it is sent, and after it is received.
struct message_copies {
    count_t bytes_before = 0;
    count_t items_before = 0;
    count_t bytes_after = 0;
};

/// @brief Puts a schedule together message by message instead of rank by rank.
///
/// A rank's *ready* operations are those that its next phase waits for.
class schedule_builder {
  public:
    using numbers = std::vector<std::uint32_t>;

    explicit schedule_builder(rank_t num_ranks) : programs_(static_cast<std::size_t>(num_ranks)) {}

    rank_t num_ranks() const noexcept { return static_cast<rank_t>(programs_.size()); }

    /// @brief The numbers of a message's ends in their ranks.
    struct ends {
        std::uint32_t sent;
        std::uint32_t received;
    };

    /// @brief One end of a message without its other end.
    /// @return its number
    std::uint32_t add_send(rank_t source, rank_t destination, count_t bytes, int tag,
                           std::span<const std::uint32_t> required,
                           const message_copies& copied = {});
    std::uint32_t add_receive(rank_t source, rank_t destination, count_t bytes, int tag,
                              std::span<const std::uint32_t> required,
                              const message_copies& copied = {},
                              matching_kind matching = matching_kind::posted);

    /// @brief Both ends.
    ends send(rank_t source, rank_t destination, count_t bytes, int tag,
              std::span<const std::uint32_t> before_send,
              std::span<const std::uint32_t> before_receive, const message_copies& copied = {},
              matching_kind matching = matching_kind::posted) {
        return {add_send(source, destination, bytes, tag, before_send, copied),
                add_receive(source, destination, bytes, tag, before_receive, copied, matching)};
    }

    /// @brief `rank` copies something when it is ready, and is ready again then.
    void copy(rank_t rank, count_t bytes);

    const numbers& ready(rank_t rank) const { return at(rank).ready; }

    /// @brief From now on `rank` is ready when these are complete, or as before if there are none.
    void set_ready(rank_t rank, numbers&& last);

    schedule take() &&;

  private:
    struct program {
        schedule own;  // of one rank
        numbers ready;
    };

    program& at(rank_t rank) { return programs_[static_cast<std::size_t>(rank)]; }
    const program& at(rank_t rank) const { return programs_[static_cast<std::size_t>(rank)]; }

    std::vector<program> programs_;
};

/// @brief All ranks sum words; each begins when it is ready, and is ready again with the result.
void add_allreduce(schedule_builder& into, count_t num_words, int first_tag);

/// @brief The same among some ranks.
void add_allreduce(schedule_builder& into, std::span<const rank_t> ranks, count_t num_words,
                   int first_tag);

/// @brief The same, but every rank gets an equal part of the sum.
void add_reduce_scatter(schedule_builder& into, count_t num_words, int first_tag);

}  // namespace crossdock

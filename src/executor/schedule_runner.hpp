/// @file
/// @brief Runs the tasks of a shared-memory schedule, synchronized with the other ranks of the
/// domain.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "shared_memory_schedule.hpp"

namespace crossdock {

/// @brief A rank's shared memory: ready flags and arrival counters, and slots for items.
///
/// Exchanges are numbered from 1; a number is an *epoch*. The buffer has two halves, for the items
/// of odd and of even epochs. So a rank can begin an exchange while others still read the items of
/// the last one.
///
/// | word | written by | holds |
/// |---|---|---|
/// | finished | its rank | the last epoch that it has finished |
/// | receivable | its rank | the last epoch whose items others may receive here |
/// | read[b] | reader b | the last epoch whose items b has read or sent from here |
/// | section[s] | its rank, or the receiver | the last epoch in which section s is readable |
/// | arrival counter[g][half] | contributors | how many shares were filled, in all epochs |
/// | failure of a section or counter[half] | as the section or counter | an epoch in which the items
/// are missing, and by whose fault |
///
/// A word is stored (release) after the items that it is about are written. It is loaded (acquire)
/// before they are read.
class exchange_buffer {
  public:
    using word = std::atomic<std::uint64_t>;
    static_assert(word::is_always_lock_free);

    exchange_buffer() = default;
    /// @brief The last epoch of a half whose items are missing, and the rank whose fault it is.
    ///
    /// It is in the line of the word that says that the items are there, and is written before it.
    /// It is not written while nothing fails.
    struct failure {
        word epoch{0};
        word rank{0};
    };

    /// @brief The buffer that `make` has made at an address, here or on another rank.
    explicit exchange_buffer(std::byte* memory) : memory_(memory) {}

    static constexpr std::size_t alignment = 64;
    static std::size_t size_bytes(const shared_memory_schedule& work, std::size_t item_bytes);

    /// @brief Makes a buffer in memory that nobody else looks at yet.
    static exchange_buffer make(std::byte* memory, const shared_memory_schedule& work,
                                std::size_t item_bytes);

    word& finished() const { return line(0); }
    word& receivable() const { return line(1); }
    word& read(buffer_number reader) const { return line(2 + reader.value()); }
    word& section(section_number number) const {
        return line(2 + head().num_buffers + number.value());
    }
    word& counter(counter_number number, std::size_t half) const {
        return line(2 + head().num_buffers + head().num_sections + 2 * number.value() +
                    static_cast<int>(half));
    }
    /// @param of  a section or an arrival counter
    static failure& failure_of(word& of, std::size_t half) {
        return reinterpret_cast<word_line&>(of).failures[half];
    }
    std::byte* slots(std::size_t half) const {
        return memory_ + head().slots_at + half * head().half_bytes;
    }

  private:
    struct buffer_head {
        word finished;
        std::int32_t num_buffers;
        std::int32_t num_sections;
        std::uint64_t slots_at;
        std::uint64_t half_bytes;
    };
    static_assert(sizeof(buffer_head) <= alignment);
    struct word_line {
        word value{0};
        failure failures[2];
    };
    static_assert(sizeof(word_line) <= alignment && std::is_standard_layout_v<word_line>);

    static std::size_t num_lines(const shared_memory_schedule& work);
    static std::size_t half_bytes(const shared_memory_schedule& work, std::size_t item_bytes);

    buffer_head& head() const { return *reinterpret_cast<buffer_head*>(memory_); }
    // Each word has a cache line of its own, so that ranks do not contend for lines.
    word& line(int number) const {
        return *reinterpret_cast<word*>(memory_ + static_cast<std::size_t>(number) * alignment);
    }

    std::byte* memory_ = nullptr;
};

/// @brief Runs one rank's schedule, except for the messages between domains.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `begin` | active |
/// | active | `advance`, `note_received`, … | `end`: idle |
///
/// It never waits: what cannot be done yet is done by a later `advance`.
class schedule_runner {
  public:
    /// @brief What sends parts to other domains.
    class sender {
      public:
        /// @brief Starts to send a part; all of its items are there.
        virtual void send(send_number part) = 0;
        /// @brief Starts to send, in place of a part, the rank whose fault it is that items of the
        /// part are missing.
        virtual void send_failure(send_number part, rank_t origin) = 0;

      protected:
        ~sender() = default;
    };

    /// @brief No rank has failed.
    static constexpr rank_t nobody = -1;

    /// @param buffers   of all ranks of the domain, by number
    /// @param own_rank  what others learn if this rank fails
    schedule_runner(std::shared_ptr<const shared_memory_schedule> work,
                    index_vector<buffer_number, exchange_buffer> buffers, std::size_t item_bytes,
                    rank_t own_rank = 0);

    const shared_memory_schedule& work() const noexcept { return *work_; }
    const exchange_buffer& own_buffer() const { return own_buffer_; }

    void begin(const std::byte* input, std::byte* output, combine_function combine);

    /// @brief Begins an exchange to which this rank gives nothing, and of which it takes nothing:
    /// only what others gave is passed on.
    void begin_empty(rank_t failed);

    /// @brief Whether parts may be received into sections: all readers have read the items that
    /// came two exchanges ago.
    bool may_receive();
    /// @brief Says that a part has been received into its section.
    /// @param origin  whose fault it is that its items are missing, or `nobody`
    void note_received(receive_number part, rank_t origin = nobody);
    /// @brief Says that a part of the output is missing.
    void note_failure(rank_t origin) noexcept { failed_ = origin; }

    /// @brief Does what can be done. `to` gets each part once, and those of one message in order.
    void advance(sender& to);

    /// @brief Whether others, or messages, wait for something that this rank still has to do.
    bool owes() const noexcept {
        return left_.num_duties > 0 || left_.num_unsent > 0 || !left_.is_receivable ||
               (left_.num_unreceived > 0 && receives_for_others_);
    }
    /// @brief Whether something here waits for other ranks of the domain. Then no message tells
    /// when it can be done.
    bool awaits_domain() const noexcept {
        return left_.num_foreign > 0 || left_.num_counted > 0 || !left_.is_receivable;
    }
    /// @brief Whether parts are still to be sent, or to be received into sections.
    bool has_messages_left() const noexcept {
        return left_.num_unsent > 0 || left_.num_unreceived > 0;
    }
    /// @brief Whether everything is done. Parts that the sender got may still be under way.
    bool is_done() const noexcept {
        return left_.num_tasks == 0 && !has_messages_left() && left_.is_receivable;
    }

    int num_tasks_left() const noexcept { return left_.num_tasks; }
    /// @brief Whose items the first task waits for that could not run; `no_buffer` if it waits for none.
    buffer_number awaited() const noexcept {
        return pending_.empty() ? no_buffer : awaited_by(pending_.front());
    }
    /// @brief The ranks of the domain that tasks wait for, some more than once; all others, where it is not known
    /// which.
    std::vector<buffer_number> all_awaited() const;

    /// @brief What the function that combines has thrown here, if anything.
    const std::exception_ptr& thrown() const noexcept { return thrown_; }
    /// @brief Whose fault it is that some of the output is missing, or `nobody`.
    rank_t failed() const noexcept { return failed_; }

    /// @brief Tells the others that this rank has finished the exchange.
    /// @pre `is_done()`, and all parts have been sent
    void end();

    /// @brief 0 or 1: the half of this exchange.
    std::size_t half() const noexcept { return epoch_ & half_mask_; }
    /// @brief Where a part lies that is not in place.
    std::byte* address(const schedule_part& part, std::size_t half) const {
        return slots(part.buffer, half) + static_cast<std::size_t>(part.slot.value()) * item_bytes_;
    }
    std::size_t num_halves() const noexcept { return half_mask_ + 1; }

    /// @brief A function that says whether all readers have read everything, so that the buffer can
    /// be used for something else. It may be called when this object is gone.
    std::function<bool()> read_check() const;

  private:
    // A task that could not be run at once.
    struct pending_task {
        int number;
        int next_awaited;        // those before are readable
        rank_t origin = nobody;  // of a failure in what was awaited
    };
    // How much is to be done in an exchange.
    struct agenda {
        int num_tasks = 0;
        int num_duties = 0;   // of the tasks: those that others, or messages, wait for
        int num_foreign = 0;  // of the tasks: those that wait for others
        int num_counted = 0;  // parts to be sent that others fill too
        int num_unsent = 0;
        int num_unreceived = 0;
        bool readers_are_finished = true;
        bool is_receivable = true;
    };
    // Of a part that is sent.
    enum part_state : char { is_contributed = 1, is_sent = 2, is_broken = 4 };

    buffer_number awaited_by(const pending_task& task) const noexcept {
        const auto next = static_cast<std::size_t>(task.next_awaited);
        const bool awaits =
            task.next_awaited < work_->tasks[static_cast<std::size_t>(task.number)].end_awaited;
        return awaits ? work_->awaited[next].buffer : no_buffer;
    }
    const exchange_buffer& buffer(buffer_number number) const { return buffers_[number]; }
    std::byte* slots(buffer_number number, std::size_t half) const {
        return slots_[half * buffers_.size() + static_cast<std::size_t>(number.value())];
    }
    bool is_finished(std::uint64_t epoch) const { return epoch + 2 >= epoch_; }
    bool readers_are_finished();
    void tell_receivable();
    bool can_run(const schedule_task& task, pending_task& pending);
    bool has_run(pending_task& pending, sender& to);
    void look_at_all(sender& to);
    void look_at_pending(sender& to);
    void run(const schedule_task& task) const;
    bool needs_user(const schedule_task& task) const;
    rank_t run_or_fail(const schedule_task& task);
    rank_t failure_at(exchange_buffer::word& of) const;
    void mark_failure(exchange_buffer::word& of, rank_t origin) const;
    void complete(const schedule_task& task, rank_t origin, sender& to);
    bool has(part_state state, send_number part) const { return (parts_[part] & state) != 0; }
    bool is_filled(send_number part) const;
    rank_t origin_of(send_number part) const;
    void send_if_filled(send_number part, sender& to);
    void send_part(send_number part, rank_t origin, sender& to);

    // In the order in which an exchange uses them. The caches may be cold, so lines count.
    std::shared_ptr<const shared_memory_schedule> work_;
    bool receives_for_others_;
    bool has_looked_ = true;  // at every task
    agenda all_;
    agenda left_;
    std::uint64_t epoch_ = 0;
    std::uint64_t half_mask_;
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
    std::size_t item_bytes_;
    piece_copy copy_;
    index_vector<send_number, char> parts_;      // states
    index_vector<send_number, rank_t> origins_;  // of the parts that are broken
    index_vector<buffer_number, exchange_buffer> buffers_;
    exchange_buffer own_buffer_;
    std::vector<std::byte*> slots_;  // of all buffers in one half, then in the other
    std::vector<pending_task> pending_;
    combine_function combine_;
    rank_t own_rank_;
    rank_t failed_ = nobody;
    rank_t empty_for_ = nobody;  // by whose fault this rank gives nothing
    std::exception_ptr thrown_;
};

}  // namespace crossdock

/// @file
/// @brief What runs one direction of a plan.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../base/exchange_watch.hpp"
#include "../context/node_memory_mpi.hpp"
#include "crossdock/communicator.hpp"
#include "schedule_runner.hpp"

namespace crossdock {

/// @brief What an executor is made from.
struct executor_setup {
    const communicator& comm;
    /// What this rank does in an exchange; not changed.
    std::shared_ptr<const shared_memory_schedule> work;
    /// Of the domain that `work` was compiled for, or null if that is one rank.
    std::shared_ptr<node_memory> memory;
    /// Its own tags begin here: one for each stage of the plan, twice as many if messages are
    /// split.
    int first_tag = 0;
    /// Bytes of an item, at least 1.
    std::size_t item_bytes = 1;
};

/// @brief Runs one direction of a plan again and again, for items of one size: a shared-memory schedule,
/// with MPI's persistent requests for the parts between domains.
///
/// A part leaves as soon as all of its items are there, whatever its stage. Parts whose items are
/// one run of the user's array are sent from or received there.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, destruction | `start`: active |
/// | active | `test`, `wait`, destruction | `test` that returns true, `wait`: idle |
///
/// An exchange that others wait for is `background_work` of the communicator. The destructor does
/// not communicate. That of an active executor leaves its buffers to the messages under way.
class executor final : private background_work,
                       private schedule_runner::sender,
                       public leavable_wait {
  public:
    /// @par Collective
    /// Over the domain: waits for its ranks, and makes progress on all work meanwhile. In a domain
    /// of one rank it makes local calls of MPI only.
    /// @throws error(errc::out_of_memory)  on all ranks of the domain: no shared memory left
    explicit executor(const executor_setup& setup);
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    ~executor() override;

    /// @brief Posts receives and sends what needs no arrival; waits for nobody.
    /// @param combine  may be empty if the shared-memory schedule combines nothing
    void start(const void* input, void* output, combine_function combine);

    /// @brief Starts an exchange to which this rank gives nothing and of which it takes nothing,
    /// because it cannot start as it should. It forwards what others gave. All who need something
    /// of this rank get errc::peer_failed.
    /// @param failed      the rank whose fault it is
    /// @param knows_size  whether the others exchange items of this size, too; where this is not known, messages to
    /// this rank may have any length, and those from it have none, which no size of items can take for a value
    void start_empty(rank_t failed, bool knows_size);

    /// @brief Makes progress; true once complete.
    /// @throws what the function that combines threw here, or error(errc::peer_failed): the
    /// exchange is over, and the next may start
    bool test();

    /// @brief Completes. Waiting yields the core.
    /// @throws as `test`
    void wait();

    bool is_active() const noexcept { return is_active_; }

    /// @brief From the next start on, tells `details` what this rank does, unless that is null.
    void watch(exchange_watch* details) noexcept { watch_ = details; }
    void describe(wait_facts& facts) const override;
    /// @brief What this rank sends in an exchange.
    const mpi_traffic& sent(const topology& regions);

  private:
    // What is sent in place of a part whose items are missing: a rank, as bytes, the lowest first. It has
    // less bytes than the part, which tells it from one. Where the rank does not fit, it has none.
    struct failure_mark {
        std::array<unsigned char, sizeof(rank_t)> bytes;
        int size = -1;  // of a mark that is not sent

        failure_mark() = default;
        failure_mark(rank_t origin, count_t part_bytes);
        // The rank in a mark of `size` bytes, or `neighbor`, who sent it.
        static rank_t read(const std::byte* at, int size, rank_t neighbor);
    };
    index_vector<buffer_number, exchange_buffer> make_buffers(
        const shared_memory_schedule& work, const std::shared_ptr<node_memory>& memory);
    std::unique_ptr<schedule_runner> make_runner(const executor_setup& setup);
    const shared_memory_schedule& work() const noexcept { return runner_->work(); }
    int tag_of(const schedule_part& part) const { return first_tag_ + part.stage; }
    std::size_t receive_request(receive_number part, std::size_t half) const;
    std::size_t send_request(send_number part, std::size_t half) const;
    MPI_Request& free_request(std::size_t number);
    std::byte* receive_address(receive_number part, std::size_t half) const;
    void make_receive(receive_number part, std::size_t half);
    void make_send(send_number part, std::size_t half);
    void bind_input(const void* input);
    void bind_output(void* output);
    void begin();

    void start_receives(receive_number first, receive_number end);
    /// Looks at all tasks.
    void run_tasks() {
        if (watch_) [[unlikely]]
            return run_watched_tasks();
        runner_->advance(*this);
    }
    void run_watched_tasks();
    void wait_for_each();
    void wait_by_tests();
    bool owes() const noexcept { return runner_->owes() || num_to_probe_ > 0; }
    void probe();
    void take_probed(receive_number part, MPI_Message& message, const MPI_Status& status);
    void send(send_number part) override;
    void send_failure(send_number part, rank_t origin) override;
    void advance();
    rank_t origin_of(receive_number part, const MPI_Status& status) const;
    void note_all();
    bool test_all();
    void take_arrived(decltype(&MPI_Testsome) find_some);
    void poll();
    void progress() override;
    void progress_on_thread() noexcept override;
    void rethrow_of_thread();
    void end_work() noexcept;
    bool awaits_memory_alone();
    void finish();
    void remove_marks();

    communicator comm_;
    memory_piece buffer_;
    int first_tag_;
    std::size_t item_bytes_;
    std::size_t least_item_bytes_;  // that others may have now: 0 if they may have any number
    MPI_Datatype item_ = MPI_DATATYPE_NULL;
    std::unique_ptr<schedule_runner> runner_;

    // Receives in sections, for one half and then for the other; receives in place; then sends, as
    // many for each half.
    std::vector<MPI_Request> requests_;
    receive_number end_of_sections_;
    receive_number end_of_receives_;
    bool must_match_in_order_;
    std::size_t num_receive_requests_;
    std::vector<int> completed_;
    std::vector<MPI_Status> statuses_;
    index_vector<send_number, failure_mark> marks_;  // sent in place of parts
    bool has_marks_ = false;
    // Of an exchange that this rank starts empty.
    std::unique_ptr<std::byte[]> unused_output_;
    rank_t failed_ = schedule_runner::nobody;
    index_vector<receive_number, char> is_probed_;  // where the size of items is not known
    int num_to_probe_ = 0;                          // parts that are still to come

    const void* input_ = nullptr;
    void* output_ = nullptr;
    bool is_active_ = false;
    bool has_posted_ = false;
    bool is_registered_ = false;
    bool is_left_to_thread_ = false;  // the work stays until somebody waits
    std::exception_ptr thrown_on_thread_;
    exchange_watch* watch_ = nullptr;
    std::optional<mpi_traffic> sent_;
};

/// @brief Whether the ranks of a node are one domain, or each is one for itself.
enum class memory_use {
    none,         ///< every rank for itself
    if_possible,  ///< ranks share memory if they can and there is enough of it
    required,     ///< as above, but set-up fails on all ranks where there is not enough
};

/// @brief What the option `executor` asks for.
/// @throws error(errc::invalid_argument)  there is no such executor; the text lists the names
memory_use memory_use_of(std::string_view executor);

/// @brief The option itself, once it is sure that there is such an executor.
inline std::string checked_executor(std::string executor) {
    static_cast<void>(memory_use_of(executor));
    return executor;
}

/// @brief As `memory_use_of`; what CROSSDOCK_EXECUTOR says in place of "auto".
/// @par Collective
/// Yes; blocks where it is the first to ask for the communicator's environment.
memory_use memory_use_of(const communicator& comm, std::string_view executor);

}  // namespace crossdock

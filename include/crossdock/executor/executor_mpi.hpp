/// @file
/// @brief Runs a shared-memory schedule again and again, with MPI's persistent requests between domains.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "crossdock/base/communicator_mpi.hpp"
#include "crossdock/executor/node_memory_mpi.hpp"
#include "crossdock/executor/schedule_runner.hpp"

namespace crossdock {

/// @brief One direction of a plan, with its buffer and requests, for items of one size.
///
/// Driven by data flow: a message leaves as soon as what it is made of has arrived, whatever its
/// stage. A message whose items lie in one run of the user's array is sent from or received there.
/// Inside a domain there are no messages, see `shared_memory_schedule`.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start` | active |
/// | active | `test`, `wait` | `test` that returns true, `wait`: idle |
class executor final : private background_work, private schedule_runner::sender {
  public:
    /// @param comm        borrowed
    /// @param work        shared; not changed
    /// @param memory      of the domain that `work` was compiled for, or null if that is one rank
    /// @param first_tag   its own tags begin here, one per stage of the plan and, if messages are split, one
    ///                    more
    /// @param item_bytes  bytes of an item, at least 1
    /// @par Collective
    /// Over the domain: waits for its ranks, and makes progress on all work meanwhile. Makes local MPI
    /// calls only where that is one rank.
    /// @throws error(errc::out_of_memory)  on all ranks of the domain: no shared memory left
    executor(const communicator& comm, std::shared_ptr<const shared_memory_schedule> work,
             std::shared_ptr<node_memory> memory, int first_tag, std::size_t item_bytes);
    ~executor();
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;

    /// @brief Posts receives and sends what needs no arrival; waits for nobody.
    /// @param combine  may be empty if the shared-memory schedule combines nothing
    void start(const void* input, void* output, combine_function combine = {});

    /// @brief Makes progress; true once complete.
    bool test();

    /// @brief Completes. Waiting yields the core.
    void wait();

    std::size_t item_bytes() const noexcept { return item_bytes_; }

  private:
    struct buffer_deleter {
        void operator()(std::byte* buffer) const noexcept {
            ::operator delete (buffer, std::align_val_t{exchange_buffer::alignment});
        }
    };

    index_vector<buffer_number, exchange_buffer> make_buffers(const shared_memory_schedule& work);
    const shared_memory_schedule& work() const noexcept { return runner_->work(); }
    // Stripes of several messages may take the same way, beside a message that is not split.
    int tag_of(const schedule_part& part) const {
        return first_tag_ + part.stage + (part.is_stripe ? work().num_stages : 0);
    }
    std::size_t receive_request(receive_number part, std::size_t half) const;
    std::size_t send_request(send_number part, std::size_t half) const;
    MPI_Request& free_request(std::size_t number);
    void make_receive(receive_number part, std::size_t half);
    void make_send(send_number part, std::size_t half);
    void bind(const void* input, void* output);

    void start_receives(receive_number first, receive_number end);
    void send(send_number part) override;
    void advance();
    void take_arrived(decltype(&MPI_Testsome) find_some);
    void poll();
    void progress() override;
    void finish();

    communicator comm_;
    std::shared_ptr<node_memory> memory_;
    std::unique_ptr<std::byte, buffer_deleter> private_buffer_;  // where no memory is shared
    std::byte* own_buffer_ = nullptr;
    int first_tag_;
    std::size_t item_bytes_;
    MPI_Datatype item_ = MPI_DATATYPE_NULL;
    std::unique_ptr<schedule_runner> runner_;

    // Receives in sections of one half, of the other, in place; then sends, as many for each half.
    std::vector<MPI_Request> requests_;
    receive_number end_of_sections_;
    receive_number end_of_receives_;
    bool must_match_in_order_;
    std::size_t num_receive_requests_;
    std::vector<int> completed_;

    const void* input_ = nullptr;
    void* output_ = nullptr;
    bool is_active_ = false;
    bool has_posted_ = false;
    bool is_registered_ = false;
};

}  // namespace crossdock

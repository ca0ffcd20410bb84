/// @file
/// @brief Runs a circuit again and again, with MPI's persistent requests between domains.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "crossdock/base/communicator_mpi.hpp"
#include "crossdock/executor/circuit_runner.hpp"
#include "crossdock/executor/node_memory_mpi.hpp"

namespace crossdock {

/// @brief One direction of a plan, with its block and requests, for items of one size.
///
/// Driven by data flow: a message leaves as soon as what it is made of has arrived, whatever its
/// stage. A message whose items lie in one run of the user's array is sent from or received there.
/// Inside a domain there are no messages, see `circuit`.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start` | active |
/// | active | `test`, `wait` | `test` that returns true, `wait`: idle |
class executor final : private background_work, private circuit_runner::sender {
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
    executor(const communicator& comm, std::shared_ptr<const circuit> work,
             std::shared_ptr<node_memory> memory, int first_tag, std::size_t item_bytes);
    ~executor();
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;

    /// @brief Posts receives and sends what needs no arrival; waits for nobody.
    /// @param combine  may be empty if the circuit combines nothing
    void start(const void* input, void* output, combine_function combine = {});

    /// @brief Makes progress; true once complete.
    bool test();

    /// @brief Completes. Waiting yields the core.
    void wait();

    std::size_t item_bytes() const noexcept { return item_bytes_; }

  private:
    struct block_deleter {
        void operator()(std::byte* block) const noexcept {
            ::operator delete (block, std::align_val_t{circuit_block::alignment});
        }
    };

    std::vector<circuit_block> make_blocks(const circuit& work);
    const circuit& work() const noexcept { return runner_->work(); }
    // Lanes of several messages may take the same way, beside a message that is not split.
    int tag_of(const circuit_part& part) const {
        return first_tag_ + part.stage + (part.is_lane ? work().num_stages : 0);
    }
    std::size_t receive_request(std::size_t part, std::size_t half) const;
    std::size_t send_request(std::size_t part, std::size_t half) const;
    MPI_Request& free_request(std::size_t number);
    void make_receive(std::size_t part, std::size_t half);
    void make_send(std::size_t part, std::size_t half);
    void bind(const void* input, void* output);

    void start_receives(std::size_t first, std::size_t end);
    void send(std::size_t part) override;
    void advance();
    void take_arrived(decltype(&MPI_Testsome) find_some);
    void poll();
    void progress() override;
    void finish();

    communicator comm_;
    std::shared_ptr<node_memory> memory_;
    std::unique_ptr<std::byte, block_deleter> private_block_;  // where no memory is shared
    std::byte* own_block_ = nullptr;
    int first_tag_;
    std::size_t item_bytes_;
    MPI_Datatype item_ = MPI_DATATYPE_NULL;
    std::unique_ptr<circuit_runner> runner_;

    // Receives in sections of one half, of the other, in place; then sends, as many for each half.
    std::vector<MPI_Request> requests_;
    std::size_t num_section_receives_;
    std::size_t num_receives_;
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

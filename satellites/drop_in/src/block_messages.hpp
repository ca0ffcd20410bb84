/// @file
/// @brief The messages of a call's blocks.
#pragma once

#include <exception>

#include "message_beside.hpp"
#include "neighbor_call.hpp"

namespace crossdock::drop_in {

/// @brief Messages of a call from rank to rank, beside the plan.
class block_messages {
  public:
    /// @param call  borrowed until they are complete
    explicit block_messages(const neighbor_call& call) noexcept : call_(&call) {}
    block_messages(const block_messages&) = delete;
    block_messages& operator=(const block_messages&) = delete;

  protected:
    ~block_messages() = default;

    // That of block `i`, with the next tag if the block is to be compared.
    message_beside& add(messages_beside& to, const neighbors& all, std::size_t i,
                        const tagged_comm& along, bool is_again) const;
    void send_all();
    // Whether all are complete. Throws `failure_` then, if there is one.
    bool test_messages();
    virtual void compare(const message_beside&) const {}
    // Only the first failure is told.
    void note(std::exception_ptr why) noexcept;
    // A block has less room than was sent.
    void note_truncation() noexcept;

    const neighbor_call* call_;
    std::exception_ptr failure_;
    messages_beside sent_, received_;

  private:
    void take_received();
    typed_values memory_for(message_beside& one, count_t num_bytes) const;
    void end(const message_beside& one);
};

}  // namespace crossdock::drop_in

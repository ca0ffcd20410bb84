/// @file
/// @brief Runs a flow again and again with MPI's persistent requests.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "crossdock/base/communicator_mpi.hpp"
#include "crossdock/executor/flow.hpp"

namespace crossdock {

/// @brief One direction of a plan, with its buffers and requests, for items of one size.
///
/// Driven by data flow: a message leaves as soon as the messages that feed it have arrived,
/// whatever its stage. A message whose items lie in one run of the user's array is sent from or
/// received there.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start` | active |
/// | active | `test`, `wait` | `test` that returns true, `wait`: idle |
class persistent_executor final : private background_work {
  public:
    /// @param comm               borrowed
    /// @param work               shared; not changed
    /// @param first_tag          its own tags, one per stage of the plan, begin here
    /// @param item_bytes         bytes of an item, at least 1
    /// @param max_message_bytes  longer messages are sent in parts
    /// @par Collective
    /// No; makes local MPI calls only.
    persistent_executor(const communicator& comm, std::shared_ptr<const flow> work, int first_tag,
                        std::size_t item_bytes, std::size_t max_message_bytes);
    ~persistent_executor();
    persistent_executor(const persistent_executor&) = delete;
    persistent_executor& operator=(const persistent_executor&) = delete;

    /// @brief Posts all receives and sends what needs no arrival; waits for nobody.
    /// @param combine  may be empty if the flow combines nothing
    void start(const void* input, void* output, combine_function combine = {});

    /// @brief Makes progress; true once complete.
    bool test();

    /// @brief Completes. Waits inside MPI, which yields as it was told to.
    void wait();

    bool is_active() const noexcept { return is_active_; }
    std::size_t item_bytes() const noexcept { return item_bytes_; }

  private:
    // A part of a message, at most INT_MAX items and max_message_bytes.
    struct part {
        std::size_t message;
        count_t first_item;  // within the message
        int num_items;
    };

    static std::vector<part> split(const std::vector<flow_message>& messages, count_t max_items);
    void bind(const void* input, void* output);
    void make_receive(std::size_t i);
    void make_send(std::size_t i);
    void start_requests(std::size_t first, std::size_t end);
    void run(const flow_task& task, std::byte* to);
    void send(std::size_t message);
    void arrive(std::size_t part_index);
    void forward(decltype(&MPI_Testsome) find_some);
    void progress() override;
    void finish();

    communicator comm_;
    std::shared_ptr<const flow> work_;
    int first_tag_;
    std::size_t item_bytes_;
    MPI_Datatype item_ = MPI_DATATYPE_NULL;

    std::vector<part> receives_;
    std::vector<part> sends_;
    std::size_t num_feeding_parts_ = 0;
    std::vector<std::size_t> first_send_of_;  // by outgoing message, its parts in `sends_`
    std::vector<MPI_Request> requests_;       // of `receives_`, then of `sends_`
    std::vector<int> completed_;

    std::unique_ptr<std::byte[]> arrived_;
    std::unique_ptr<std::byte[]> departing_;
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
    combine_function combine_;

    bool is_active_ = false;
    std::size_t num_unsent_ = 0;             // outgoing messages that wait for others
    std::vector<int> missing_dependencies_;  // by outgoing message
    std::vector<int> missing_parts_;         // by incoming message that feeds others
};

}  // namespace crossdock

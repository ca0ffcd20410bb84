/// @file
/// @brief A stream of bytes over MPI; `stream` and `request_stream` give it types.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/stream_channel.hpp"
#include "crossdock/detail/stream/stream_worker.hpp"
#include "crossdock/stream_options.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The route that the option `route` of a stream stands for.
std::string stream_route(const context& where, const std::string& route);

/// @brief The process's end of a stream: its workers, its memory, and its messages.
class stream_core {
  public:
    /// @param where     kept; its nodes are the regions of the route
    /// @param channels  equal on all ranks
    /// @param sink      kept by reference
    /// @par Collective
    /// Yes; may block. All options but `pressure` must be equal on all ranks.
    /// @throws error(errc::invalid_argument)  an option is out of range or differs between ranks,
    /// or MPI was initialised with less thread support than the options need
    /// @throws error(errc::unknown_route), error(errc::invalid_route), error(errc::out_of_memory)
    stream_core(const context& where, std::span<const stream_channel> channels, stream_sink& sink,
                const stream_options& options);
    ~stream_core();
    stream_core(const stream_core&) = delete;
    stream_core& operator=(const stream_core&) = delete;

    int num_workers() const noexcept;
    /// @throws error(errc::index_out_of_range)  there is no such worker
    stream_worker& worker(int number);

    /// @brief The scheme in use, never `automatic`.
    stream_scheme scheme() const noexcept;
    /// @brief Places, workers and buffers.
    const stream_layout& layout() const noexcept;

    /// @brief Drives MPI, if this thread may and no other is at it. Handles nothing.
    /// @throws error(errc::invalid_state)  after `close()`
    void drive();

    /// @brief Gives shared memory and pending receives back.
    /// @par Collective
    /// Yes; may block.
    /// @throws error(errc::invalid_state)  items have been pushed since the last drain, on any rank
    void close();
    bool is_open() const noexcept;

    /// @brief Of all workers of this process. Call while none of them is at work.
    stream_statistics statistics() const;

  private:
    struct CROSSDOCK_HIDDEN parts;
    std::unique_ptr<parts> parts_;
};

}  // namespace crossdock

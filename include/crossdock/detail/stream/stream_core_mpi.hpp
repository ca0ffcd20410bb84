// A stream of bytes over MPI; `stream` and `request_stream` give it types.
#pragma once

#include <memory>
#include <source_location>
#include <span>
#include <string>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/stream_worker.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The route that the option `route` of a stream stands for.
std::string stream_route(const context& where, const std::string& route);

/// @brief The process's end of a stream: its workers, its memory, and its messages.
class stream_core {
  public:
    /// @param where     kept; its nodes are the regions of the route
    /// @param channels  equal on all ranks
    /// @param sink      kept by reference
    /// Collective: yes, with the errors of a `stream`; may block.
    stream_core(const context& where, std::span<const stream_channel> channels, stream_sink& sink,
                const stream_options& options, const std::source_location& place = {});
    ~stream_core();
    stream_core(const stream_core&) = delete;
    stream_core& operator=(const stream_core&) = delete;

    // As of a `stream`.
    int num_workers() const noexcept;
    stream_worker& worker(int number);
    stream_scheme scheme() const noexcept;
    const stream_layout& layout() const noexcept;
    void drive();
    void close();
    bool is_open() const noexcept;
    /// @brief Whether the destructor would lose items.
    bool is_unfinished() const noexcept;
    stream_statistics statistics() const;

  private:
    struct CROSSDOCK_HIDDEN parts;
    std::unique_ptr<parts> parts_;
};

}  // namespace crossdock

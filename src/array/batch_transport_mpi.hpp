// What carries the messages of a batch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../exchange/mailbox_mpi.hpp"
#include "batch_route.hpp"

namespace crossdock {

/// @brief Carries one message to each partner of a stage, and replies back.
class batch_transport {
  public:
    virtual ~batch_transport() = default;

    /// @brief Room for the stage's next messages, aligned as a std::max_align_t. May be called again.
    /// @param bytes  by destination for requests, by source for replies
    virtual std::vector<std::byte*> make_room(std::span<const count_t> bytes) = 0;

    /// @brief Sends what was written there to every destination, and takes what came from every
    /// source, in their order. It stays as long as the transport.
    virtual std::vector<const std::byte*> exchange_requests(std::size_t stage) = 0;

    /// @brief Sends what was written there to every source.
    /// @param bytes  what comes from every destination; nothing travels where that is 0
    virtual void start_replies(std::size_t stage, std::span<const count_t> bytes) = 0;

    /// @brief Takes what comes from every destination, in their order.
    virtual std::vector<const std::byte*> finish_replies() = 0;

    /// @brief Waits until all is sent.
    virtual void finish() = 0;
};

/// @brief Messages from rank to rank along a route.
/// @param first_tag  of 2 for every stage
/// @param memory     for messages; must outlive the transport
std::unique_ptr<batch_transport> make_routed_transport(const communicator& comm,
                                                       const batch_route& routing, int first_tag,
                                                       std::pmr::memory_resource* memory);

/// @brief MPI_Alltoallv over all ranks, with a routing whose one stage leads to all others.
std::unique_ptr<batch_transport> make_alltoallv_transport(const communicator& comm,
                                                          const batch_route& routing,
                                                          std::pmr::memory_resource* memory);

}  // namespace crossdock

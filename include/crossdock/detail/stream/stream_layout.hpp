// Which buffers a process fills, and where each leads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/stream/stream_options.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The buffers of one process of a stream, computed from topology, route and scheme. Immutable once made.
///
/// An **endpoint** is what a buffer leads to: a process, or for the scheme `node` a node. The workers of an endpoint
/// are numbered from 0; a **tag** says for which of them an item is. On routes of several hops a tag is the number rank
/// * workers + worker of the worker it is for.
///
///     2 nodes of 2 ranks, 3 workers each
///     wps:  endpoints 0 1 2 3, tags 0 1 2
///     node: endpoints 0 1, tags 0 1 2 for the first rank of a node, 3 4 5 for the second
class stream_layout {
  public:
    /// @brief Where an item goes that a worker pushes: buffer and tag, less the worker.
    struct target {
        std::uint32_t buffer;  ///< the first of the endpoint's buffers
        std::uint32_t tag;     ///< of worker 0
    };

    /// @brief What a buffer leads to.
    struct buffer_end {
        int endpoint;
        int stage;   ///< the next one when it arrives
        int worker;  ///< whom it is for, or -1 for all workers of the endpoint
    };

    /// @param nodes    who shares memory; the topology of the route as well
    /// @param scheme   not `automatic`
    /// @param workers  of each process
    /// @param here     whose buffers
    /// @throws error(errc::unknown_route), error(errc::invalid_route)  as `make_route`
    stream_layout(const topology& nodes, std::string_view route, stream_scheme scheme, int workers,
                  rank_t here);

    stream_scheme scheme() const noexcept { return scheme_; }
    int num_workers() const noexcept { return num_workers_; }
    rank_t num_ranks() const noexcept { return nodes_.num_ranks(); }
    const topology& nodes() const noexcept { return nodes_; }
    int num_stages() const noexcept { return num_stages_; }
    bool has_one_hop() const noexcept { return num_stages_ == 1; }

    int here() const noexcept { return here_; }  ///< the own endpoint

    /// @brief Where items for a rank go that start here.
    const std::vector<target>& targets() const noexcept { return targets_; }

    /// @brief All buffers, in the order of their numbers.
    const std::vector<buffer_end>& buffers() const noexcept { return buffers_; }

    /// @brief The first of the buffers for items that are here before `stage` and go to `endpoint`.
    /// @pre `endpoint != here()`
    std::uint32_t buffer_on_the_way(int stage, int endpoint) const noexcept {
        return buffers_on_the_way_[static_cast<std::size_t>(stage) *
                                       static_cast<std::size_t>(num_endpoints_) +
                                   static_cast<std::size_t>(endpoint)];
    }

    int num_endpoints() const noexcept { return num_endpoints_; }
    int endpoint_of(rank_t rank) const { return is_node_ ? nodes_.region_of(rank) : rank; }

    /// @brief Workers of the largest endpoint.
    int max_group_size() const noexcept { return max_group_size_; }
    int group_size(int endpoint) const {
        return num_workers_ * (is_node_ ? nodes_.region_size(endpoint) : 1);
    }

    /// @brief Whether one buffer leads to one worker.
    bool is_per_worker() const noexcept { return scheme_ == stream_scheme::ww; }
    bool is_node() const noexcept { return is_node_; }

    /// @brief Bytes of a tag: 0 where there is nothing to tell, 2, or 4.
    int tag_bytes() const noexcept { return tag_bytes_; }

    /// @brief Endpoints that this one sends buffers to, itself included; one that it sends to in several stages counts
    /// once for each.
    count_t num_partners() const noexcept {
        return static_cast<count_t>(buffers_.size()) / buffers_of_an_endpoint();
    }

  private:
    int buffers_of_an_endpoint() const noexcept { return is_per_worker() ? num_workers_ : 1; }
    std::uint32_t add_buffers(int endpoint, int stage);

    topology nodes_;
    stream_scheme scheme_;
    int num_workers_;
    bool is_node_;
    int num_endpoints_;
    int here_;
    int num_stages_ = 1;
    int max_group_size_;
    int tag_bytes_;
    std::vector<target> targets_;
    std::vector<buffer_end> buffers_;
    std::vector<std::uint32_t> buffers_on_the_way_;  // per stage and endpoint
};

}  // namespace crossdock

/// @file
/// @brief What the exchanges of a communicator keep from one to the next.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../context/node_memory_mpi.hpp"
#include "../context/object_records_mpi.hpp"
#include "crossdock/context.hpp"
#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/route.hpp"
#include "shared_send_buffers.hpp"
#include "study/windows_mpi.hpp"

namespace crossdock {

/// @brief A route over the ranks of a communicator or of this rank's region, and the partners on
/// it.
struct kept_route {
    struct stage {
        std::vector<rank_t> destinations;       // in the route's ranks, ascending
        std::vector<rank_t> destination_ranks;  // the same in the communicator's
        std::size_t num_sources = 0;
    };

    std::string name;
    topology regions;
    std::optional<machine> own_machine;  // of the context that it was chosen for, inside a region
    bool is_inside_region = false;
    std::unique_ptr<route> r;
    rank_t here = 0;  // in the route's ranks
    std::vector<stage> stages;
};

/// @brief Whether the memory is made that an exchange would like to have.
enum class memory_wish {
    never,         ///< it is used if it is there
    when_it_pays,  ///< once there have been so many exchanges that it is likely to pay
    at_once,
};

/// @brief What exchanges keep whose contexts let the same ranks share memory.
struct exchange_memory {
    exchange_memory(const communicator& comm, const std::optional<topology>& given);

    /// @brief The send buffers of this rank's node, made when they are first asked for.
    /// @par Collective
    /// Yes, over `comm`; blocks where they are made.
    /// @throws error(errc::out_of_memory)  a node has not so much memory to share; on all ranks
    shared_send_buffers& make_send_buffers(const communicator& comm);

    std::optional<topology> allowed;  // `context::nodes`
    topology nodes;
    memory_piece send_buffer;
    std::optional<shared_send_buffers> send_buffers;
    bool is_lacking = false;  // was refused some
    int num_without = 0;
    put_window window;            // for `rma`
    fence_window between_fences;  // for `rma_fence` and `locality_rma`
    // For which the rule last chose; a machine only if it was the context's own.
    std::optional<topology> ruled_regions;
    std::optional<machine> ruled_machine;
    exchange_algorithm ruled;
};

/// @brief Tags, windows and routes; made at a communicator's first exchange.
class exchange_state final : public communicator_resource {
  public:
    /// @par Collective
    /// Yes; blocks.
    explicit exchange_state(const communicator& comm);

    void close() override;

    exchange_tags next_tags() noexcept;

    /// @brief Whether options are compared, and the known numbers of sources checked: CROSSDOCK_CHECK.
    bool checks() const noexcept { return checks_; }

    object_records& records() noexcept { return records_; }

    /// @brief The algorithm with a name; for "auto", what rank 0's environment says, or else the
    /// rule.
    /// @param is_one_size  whether messages are; some algorithms of the environment are for such only
    /// @par Collective
    /// Yes; blocks where it makes memory.
    exchange_algorithm resolve(const std::string& name, const context& where, bool is_one_size,
                               memory_wish wish);

    /// @brief A route over all ranks; kept for the next time.
    const kept_route& over_all(const std::string& name, const context& where);

    /// @brief The route that suits the ranks of this rank's region; kept for the next time.
    const kept_route& inside_region(const context& where);

    /// @brief What is kept for the ranks that share memory in this context.
    /// @param where  whose `nodes` are of its ranks
    exchange_memory& memory(const context& where);

  private:
    const kept_route& keep(kept_route&& one);
    const exchange_algorithm& rule(const context& where, exchange_memory& kept);
    bool has_memory(const communicator& comm, exchange_memory& kept, memory_wish wish);

    tag_block tags_;
    std::uint64_t num_exchanges_ = 0;
    std::string environment_choice_;
    bool checks_;
    object_records& records_;
    std::vector<std::unique_ptr<exchange_memory>> memories_;
    std::vector<std::unique_ptr<kept_route>> routes_;
};

}  // namespace crossdock

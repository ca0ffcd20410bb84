/// @file
/// @brief Routes: the interface that all of them implement, and the registry that makes them by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The leaders of a rank's region: for each other region, the member that sends to it, and the member there that
/// receives.
///
/// The ranks of a region agree on leaders when they compile a plan. A rank has entries only for the regions that it has
/// items for. Balanced routes read the table; for a region without an entry they compute the leader from its number.
struct leader_table {
    std::unordered_map<region_t, rank_t> senders;  ///< the member of the own region that sends
    std::unordered_map<region_t, rank_t>
        receivers;  ///< the member there that receives; only the sender knows it
};

/// @brief The partners of a rank in one stage: all ranks that it may exchange messages with, whatever the pattern. Both
/// lists ascend and leave out the rank itself. Rank q is a destination of p exactly if p is a source of q.
struct stage_partners {
    std::vector<rank_t> destinations;  ///< ranks that it may send to
    std::vector<rank_t> sources;       ///< ranks that may send to it

    friend bool operator==(const stage_partners&, const stage_partners&) = default;
};

/// @brief What the ranks of a region can know together of where a route takes items, before it is compiled; estimates
/// of its costs follow from it.
enum class cost_trace {
    /// A rank knows the hops of its own items and of those for it. It is taken to forward for others
    /// what others forward for it. So it is right for every route.
    own_items,
    /// Two stages: to the rank that `next_hop` names in the region of the destination, and inside
    /// it. What a rank forwards is for members of its region, which tell it.
    counterparts,
    /// Three stages: to the member that speaks with the other region, across, and inside. Members find out who speaks.
    leaders,
};

/// @brief A routing rule: how an item gets from any rank to any other in a fixed number of stages.
///
/// A route is a pure function of topology, present rank, destination and stage. It holds the topology that it was made
/// for, sends nothing and has no other state. An item from s to d is at h(0) = s before the first stage and at h(t+1) =
/// next_hop(h(t), d, t) after stage t; h(num_stages()) is d.
///
/// @par Thread safety
/// All members are const and may be called concurrently.
class route {
  public:
    virtual ~route() = default;

    /// @brief The name from which `make_route` makes this route.
    const std::string& name() const noexcept { return name_; }

    /// @brief The number of stages, which is the largest number of hops of an item.
    virtual int num_stages() const = 0;

    /// @brief The rank to which an item for `destination` goes in `stage`, if it is at `here` before.
    /// @param leaders  the leaders that the regions agreed on; empty unless `is_balanced()`
    /// @return the next rank, or `here` if the item stays; an arbitrary rank if no item for `destination` can be at
    /// `here` before `stage`
    virtual rank_t next_hop(rank_t here, rank_t destination, int stage,
                            const leader_table& leaders) const = 0;

    /// @brief The most members of a region that the leader table names; 0: `next_hop` does not depend on it.
    virtual rank_t max_leaders() const { return 0; }
    /// @brief Whether `next_hop` depends on the leader table.
    bool is_balanced() const { return max_leaders() > 0; }

    /// @brief How estimates follow items on this route.
    virtual cost_trace trace() const { return cost_trace::own_items; }

    /// @brief The partners of `here` in `stage`, if the leader table has no entries.
    ///
    /// No rank is listed in vain: each is the next hop of some item. If every rank sends to all of its partners, even
    /// when it has nothing to send, then each rank knows its sources without asking.
    /// @par Complexity
    /// Linear in the number of partners of all stages, and sorting of them.
    virtual stage_partners partners(rank_t here, int stage) const = 0;

    /// @brief The partners of `here` in `stage` with any leader table, each of which may be the next hop of some item;
    /// nothing if they depend on the table.
    virtual std::optional<stage_partners> certain_partners(rank_t here, int stage) const {
        if (is_balanced()) return std::nullopt;
        return partners(here, stage);
    }

    /// @brief An upper bound of the messages that a rank sends in one exchange, whatever the pattern.
    virtual count_t max_messages_per_rank() const = 0;

  protected:
    route(std::string name, topology regions)
        : regions_(std::move(regions)), name_(std::move(name)) {}

    const topology& regions() const noexcept { return regions_; }

  private:
    topology regions_;
    std::string name_;
};

/// @brief Makes a route from its name, such as "three_step" or "grid:4x4"; `docs/routes.md` lists the names.
/// @param name     the name of a registered route or of a named grid, followed by a colon and parameters if the route
/// takes them
/// @param regions  the topology; the route copies it
/// @throws error(errc::unknown_route)  there is no such name; the text lists the names
/// @throws error(errc::invalid_route)  the parameters are malformed or do not fit the ranks
[[nodiscard]] std::unique_ptr<route> make_route(std::string_view name, const topology& regions);

/// @brief An entry of the registry of routes.
struct route_description {
    std::string name;     ///< as `make_route` takes it, without parameters
    std::string example;  ///< a complete text for `make_route` that fits any topology
    std::string summary;
    std::unique_ptr<route> (*make)(std::string_view parameters, const topology& regions);
    /// The names under which the route may be the cheapest on these regions: what "auto" chooses among. Null: the
    /// example, everywhere.
    std::vector<std::string> (*candidates)(const topology& regions, bool shares_cores) = nullptr;
};

/// @brief All routes that are not named grids, in the order of the documentation; and then those that were registered.
const std::vector<route_description>& registered_routes();

/// @brief Adds a route: `make_route` makes it, "auto" chooses among its candidates, and whoever tries all routes finds
/// it. Ranks that exchange with each other register the same routes in the same order.
/// @par Thread safety
/// To be called before anything else of the library, and not concurrently.
/// @throws error(errc::invalid_argument)  a route or a named grid has this name, or it cannot be made
void register_route(route_description added);

/// @brief Named grids: names for certain shapes of the registered route `grid`, in the order of the documentation.
/// `make_route` takes these names as well. Whoever tries all routes can leave them out, as items travel on them as on
/// `grid`.
const std::vector<route_description>& named_grids();

}  // namespace crossdock

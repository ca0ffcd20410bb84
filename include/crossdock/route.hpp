/// @file
/// @brief How an item travels: the interface of all routes, and the registry that makes them by
/// name.
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

/// @brief For each region this rank's region sends to: the members of both regions that speak.
///
/// Agreed inside the regions when a plan is compiled, and only for the regions this rank has items
/// for. Read by balanced routes; a region without an entry is spoken with by number.
struct leader_table {
    std::unordered_map<region_t, rank_t> senders;  ///< the own region's member that sends there
    std::unordered_map<region_t, rank_t>
        receivers;  ///< the member there that receives; known to the sender
};

/// @brief Those a rank may have to do with in one stage, whatever the pattern.
///
/// Both lists ascend and leave out the rank itself. q is among p's destinations exactly if p is
/// among q's sources.
struct stage_partners {
    std::vector<rank_t> destinations;  ///< to whom it may send
    std::vector<rank_t> sources;       ///< who may send to it

    friend bool operator==(const stage_partners&, const stage_partners&) = default;
};

/// @brief A way from every rank to every other in a fixed number of stages.
///
/// A route is a pure function of (topology, here, destination, stage): it holds the topology it was
/// made for, sends nothing and keeps nothing. An item from s to d is at h(0) = s before the first
/// stage and at h(t+1) = next_hop(h(t), d, t) after stage t; h(num_stages()) is d.
///
/// @par Thread safety
/// All members are const and may be called concurrently.
class route {
  public:
    virtual ~route() = default;

    /// @brief The text that `make_route` makes this route from.
    const std::string& name() const noexcept { return name_; }

    /// @brief The largest number of hops; fixed for a topology.
    virtual int num_stages() const = 0;

    /// @brief Where an item for `destination` that is at `here` before `stage` goes in it.
    /// @param leaders  what the regions agreed on; empty unless `is_balanced()`
    /// @return the next rank, or `here` if the item stays; some rank where no item for `destination`
    /// can be at `here` before `stage`
    virtual rank_t next_hop(rank_t here, rank_t destination, int stage,
                            const leader_table& leaders) const = 0;

    /// @brief Whether `next_hop` reads the leader table.
    virtual bool is_balanced() const { return false; }

    /// @brief The ranks that `here` may send to and hear from in `stage`, for a leader table
    /// without entries.
    ///
    /// Exactly those: each is some item's next hop. When messages describe themselves, everybody
    /// hears from all of these sources, and nobody has to ask who sends.
    /// @par Complexity
    /// Linear in the number of partners of all stages, but for sorting them.
    virtual stage_partners partners(rank_t here, int stage) const = 0;

    /// @brief As `partners`, for whatever leader table; nothing where that may be anyone.
    ///
    /// Each may be some item's next hop.
    virtual std::optional<stage_partners> certain_partners(rank_t here, int stage) const {
        if (is_balanced()) return std::nullopt;
        return partners(here, stage);
    }

    /// @brief No rank sends more messages than this in one exchange, whatever the pattern.
    virtual count_t max_messages_per_rank() const = 0;

  protected:
    route(std::string name, topology regions)
        : regions_(std::move(regions)), name_(std::move(name)) {}

    const topology& regions() const noexcept { return regions_; }

  private:
    topology regions_;
    std::string name_;
};

/// @brief Makes a route from its name, e.g. "three_step" or "grid:4x4"; `docs/routes.md` lists
/// them.
/// @param name     that of a registered route or a named grid, with parameters after a colon where
/// the route takes them
/// @param regions  copied into the route
/// @throws error(errc::unknown_route)  no such name; the text lists those there are
/// @throws error(errc::invalid_route)  the parameters are malformed or do not fit the ranks
std::unique_ptr<route> make_route(std::string_view name, const topology& regions);

/// @brief One line of the registry.
struct route_description {
    std::string name;     ///< as `make_route` takes it, without parameters
    std::string example;  ///< a complete text for `make_route` that fits any topology
    std::string summary;
    std::unique_ptr<route> (*make)(std::string_view parameters, const topology& regions);
};

/// @brief Every way to travel, in the order of the documentation.
const std::vector<route_description>& registered_routes();

/// @brief Names for shapes of the registered route `grid`, in the order of the documentation.
///
/// `make_route` takes them as well. What goes through all routes need not go through these: they
/// travel as `grid` does.
const std::vector<route_description>& named_grids();

}  // namespace crossdock

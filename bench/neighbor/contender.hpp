/// @file
/// @brief What competes in the neighbor benchmark.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/topology.hpp"

namespace crossdock::bench {

/// @brief Which way values travel.
enum class direction {
    forward,  ///< every item is copied into its slots
    reverse   ///< every item gets all of its slots added; items are of doubles
};

/// @brief An exchange of items of any size between two arrays that stay where they are.
struct exchange_task {
    const context& where;
    const pattern& what;  ///< of a halo: a source's slots are consecutive, no rank repeats
    std::span<const count_t> slot_items;  ///< the item that fills every slot, as its source counts
    direction way;
    std::size_t item_bytes;
    std::span<std::byte> items;
    std::span<std::byte> slots;

    bool is_forward() const noexcept { return way == direction::forward; }
};

/// @brief An exchange that is set up; the arrays of its task outlive it.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, `exchange` | `start`: active |
/// | active | `test`, `wait` | `wait`: idle |
class contender {
  public:
    contender() = default;
    virtual ~contender() = default;
    contender(const contender&) = delete;
    contender& operator=(const contender&) = delete;

    /// @brief Starts to bring every needed item into its slots, or the slots' sums into items; a blocking call
    /// does it all here.
    virtual void start() = 0;

    /// @brief Makes progress without waiting, where there is a call for that.
    virtual void test() = 0;

    /// @brief Completes the exchange.
    virtual void wait() = 0;

    void exchange() {
        start();
        wait();
    }

    /// @brief What this rank sends in one exchange; in reverse, what it receives.
    virtual traffic sent() const = 0;

    /// @brief Whether further exchanges are like the last one; the same on all ranks.
    virtual bool is_settled() const { return true; }

    /// @brief The route that it takes, if it is the library.
    virtual std::string route() const { return {}; }
};

/// @brief A contender that can be set up, again and again.
struct entrant {
    std::string name;
    std::string executor;  ///< the library's that runs the plan; empty if it is not the library
    bool is_deduplicated;
    std::string obstacle;  ///< why this build has it not; empty if it does
    /// Collective over the task's communicator, as are the result's destructor and its exchanges.
    std::function<std::unique_ptr<contender>(const exchange_task&)> set_up;
    /// Only chooses a route, collectively; empty if that was given.
    std::function<void(const exchange_task&)> choose = {};
};

/// @brief What the library is compared with, by name; also what this build does not have.
std::vector<entrant> baselines();

/// @brief Written by hand: persistent requests, a loop that packs, slots received in place.
entrant mpi_persistent();

/// @brief Pack, and call MPI_Neighbor_alltoallv in its three forms on a distributed graph: MPI's own, and those that a
/// program gets by the drop-in. Its requests are counted as what the program asks for, whatever the drop-in sends.
std::vector<entrant> neighborhood_collectives();

/// @brief PETSc's star forest, leaves are slots: PetscSFBcast, in reverse PetscSFReduce.
/// @param type  PETSc's name of the implementation: "basic" or "neighbor", or this library's "crossdock"
entrant petsc_forest(const std::string& type);

/// @brief The contenders of a shared object that `bench/peers/build` made. They exchange doubles, forward.
/// @throws error(errc::file_error)  it cannot be loaded, or is no such object
std::vector<entrant> peers_of(const std::string& file);

/// @brief The library, over one of its routes, "auto" or "auto:measure".
/// @param how  item size and reverse exchanges are the task's
entrant crossdock_route(const std::string& route, const neighbor_options& how);

/// @brief Items of `item_bytes` bytes as an MPI datatype: doubles if that is possible.
class item_datatype {
  public:
    explicit item_datatype(std::size_t item_bytes);
    ~item_datatype() {
        if (type_ != MPI_DOUBLE) MPI_Type_free(&type_);
    }
    item_datatype(const item_datatype&) = delete;
    item_datatype& operator=(const item_datatype&) = delete;

    MPI_Datatype get() const noexcept { return type_; }

  private:
    MPI_Datatype type_ = MPI_DOUBLE;
};

/// @brief The items that all messages of a pattern carry, message by message, packed; in reverse,
/// what arrives for them.
class packed_items {
  public:
    explicit packed_items(const exchange_task& task)
        : task_(task), bytes_(task.what.sends.indices.size() * task.item_bytes) {}

    /// @brief Fills all messages from the items, before they are sent.
    void pack();

    /// @brief Adds the doubles of all messages to the items, once they are received.
    void add();

    std::byte* data() noexcept { return bytes_.data(); }

    /// @brief Where the message of a pattern's entry starts.
    std::byte* message(std::size_t entry) {
        return bytes_.data() +
               static_cast<std::size_t>(task_.what.sends.offsets[entry]) * task_.item_bytes;
    }

  private:
    exchange_task task_;
    std::vector<std::byte> bytes_;
};

/// @brief What a rank sends if every entry of its pattern is one message.
traffic direct_traffic(const topology& regions, const pattern& what);

}  // namespace crossdock::bench

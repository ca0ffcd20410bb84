/// @file
/// @brief The persistent neighbor collective a user holds.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "crossdock/base/communicator_mpi.hpp"
#include "crossdock/base/operation.hpp"
#include "crossdock/executor/copy_list.hpp"
#include "crossdock/model/machine.hpp"
#include "crossdock/pattern/pattern.hpp"
#include "crossdock/plan/plan.hpp"
#include "crossdock/select/route_trials.hpp"
#include "crossdock/topology/topology.hpp"

namespace crossdock {

/// @brief What runs a plan.
enum class executor_kind {
    automatic,      ///< `shared_memory` where ranks share memory and enough of it is left
    persistent,     ///< MPI's persistent requests for every message
    shared_memory,  ///< ranks that share memory read and write each other's items; requests elsewhere
};

/// @brief "auto", "persistent" or "shared_memory".
const char* to_string(executor_kind kind) noexcept;

/// @brief The kind with a given name.
/// @throws error(errc::invalid_argument)  there is none; the text lists the names
executor_kind parse_executor(std::string_view name);

/// @brief How a neighbor collective is set up; equal on all ranks.
struct neighbor_options {
    /// An item whose destinations share the next hop is sent there once.
    bool deduplicate = true;
    /// Longer messages are sent in parts of at most this many bytes, but at least one item; 0 is
    /// the default.
    std::size_t max_message_bytes = std::size_t{1} << 30;
    /// `automatic` may be overruled by the environment variable CROSSDOCK_EXECUTOR of rank 0, which is
    /// read when the first neighbor collective on a communicator is made.
    executor_kind executor = executor_kind::automatic;
    /// Only ranks of one region share memory, if they can. Unset: all that can.
    std::optional<topology> nodes = std::nullopt;
    /// Bytes of the items that set-up makes everything ready for; 0 is the default. The first exchange
    /// of items of another size does so again.
    std::size_t item_bytes = 8;
    /// A message between nodes is split over the ranks of its two nodes, so that each carries at least
    /// this many bytes of it; 0: none is, nor if `executor` is `persistent`.
    std::size_t stripe_bytes = 0;
    /// Makes reverse exchanges ready, too; otherwise the first one does.
    bool prepare_reverse = false;
    /// What the route "auto" is chosen for; null: `machine_of` the communicator.
    std::shared_ptr<const crossdock::machine> machine = nullptr;
    /// What the route "auto:measure" may cost.
    measure_options measure = {};
};

/// @brief A pattern compiled along a route and ready to be exchanged again and again.
///
/// `items` is the rank's local array (the plan's num_items values), `slots` its output array
/// (num_slots values). Forward copies items into the slots that need them; reverse brings what is
/// in the slots home and combines it into the items.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, `start_reverse`, `duplicate` | `start`, `start_reverse`: active |
/// | idle | `exchange`, `reverse` | idle |
/// | active | `test`, `wait`, `duplicate` | `test` that returns true, `wait`: idle |
/// | moved from | destruction, assignment | |
///
/// While active, the input must not change and the output must not be read. Every rank starts the same
/// exchanges of one object in the same order; different objects (also duplicates, which share the plan)
/// are independent: any number may be active at once, and be waited for in any order.
///
/// On a route of several stages, and where ranks share memory, a rank does something for others inside
/// `test`, `wait` and the library's collective calls on the same communicator. While an exchange is
/// active, a rank must not block elsewhere (in MPI_Barrier, say) for something that another rank does
/// only after its wait.
///
/// *First starts.* The first exchange of items of another size than the last one in its direction, and the
/// first reverse one unless `prepare_reverse` says otherwise, set memory up: its start blocks until the
/// ranks that share memory start it too (all ranks, if `executor` is `shared_memory` or messages are
/// split). Such starts come in one order on all ranks, and none waits for another exchange in between that
/// a rank starts only afterwards.
///
/// *Trials.* The route "auto:measure" compiles the plans of the cheapest candidates of "auto", and takes
/// another one after `measure.exchanges_each` exchanges in one direction and with one item size, or twice as
/// many of all. When each had its turn, or the next may lose too much time, the one that was fastest on the
/// slowest rank is kept, and the others are freed. Directions and sizes weigh as often as they occurred in the
/// first route's turn. Every exchange is as right as any other; in reverse,
/// values combine in the order of the plan, so that the bits may change until the trials are over. The start
/// after a route's turn waits for all ranks, and the next route's first exchange is a first start; both
/// come in one order as those do. A duplicate has the plan that leads so far, and tries nothing.
///
/// Arrays that stay the same from one start to the next save a little set-up.
///
/// The destructor does not communicate. An object must be idle when it is destroyed; one that is not
/// leaves its buffers to the messages under way. After an mpi_error only destruction is legal.
/// @par Thread safety
/// One thread at a time for all objects of one communicator; several threads with communicators of
/// their own need MPI_THREAD_MULTIPLE.
class neighbor {
  public:
    /// @brief Chooses a route, unless one is given, and compiles the plan.
    /// @param comm     stays open for the life of this object
    /// @param regions  equal on all ranks
    /// @param p        this rank's pattern; not kept
    /// @param route    as `make_route` takes it, or "auto": what CROSSDOCK_ROUTE of rank 0 says, and else
    /// the cheapest that `choose_route_mpi` finds; or "auto:measure": see above; equal on all ranks
    /// @par Collective
    /// Yes; blocks.
    /// @throws error  on all ranks or none, as `resolve_route` and `compile_mpi`; or error(errc::out_of_memory) if a node has
    /// not enough memory to share, and `executor` is `shared_memory` or `stripe_bytes` is not 0
    neighbor(const communicator& comm, const topology& regions, const pattern& p,
             std::string_view route = automatic_route, const neighbor_options& options = {});

    /// @brief Takes a plan that was compiled elsewhere; `deduplicate` has no say.
    /// @param compiled  this rank's of plans that belong together
    /// @param options   equal on all ranks
    /// @throws error(errc::size_mismatch)  on this rank: the plan is of another rank or number of ranks
    /// @throws error(errc::invalid_plan)   it has more than 32 stages; on all ranks
    /// @throws error(errc::out_of_memory)  as above
    /// @par Collective
    /// Yes; waits for the ranks that share memory, and for all where it is the communicator's first.
    neighbor(const communicator& comm, plan compiled, const neighbor_options& options = {});

    /// @brief As above, with a plan that several may use, such as those of `plan_maker` and `plan_cache`.
    neighbor(const communicator& comm, std::shared_ptr<const plan> compiled,
             const neighbor_options& options = {});
    ~neighbor();
    neighbor(neighbor&&) noexcept;
    neighbor& operator=(neighbor&&) noexcept;

    /// @brief A second object on the same plan, which may be active at the same time.
    /// @throws error(errc::out_of_memory)  as the constructor
    /// @par Collective
    /// Yes; waits for the ranks that share memory, or for all as a first start does.
    neighbor duplicate() const;

    /// @brief The compiled plan of this rank; during trials that of the last exchange, until the next start.
    const plan& compiled_plan() const noexcept;

    /// @brief What the route was chosen from; null if it was given, or a plan was.
    const route_choice* choice() const noexcept;

    /// @brief Whether routes are still being tried: the next exchanges may take another one each.
    bool is_trying() const noexcept;

    /// @brief What "auto:measure" tried so far, and found; the same on all ranks.
    std::vector<tried_route> tried_routes() const;

    /// @brief Starts a forward exchange; returns without waiting for anyone, but for first starts.
    /// @param items  `num_items` values or more; must stay unchanged until the exchange is complete
    /// @param slots  `num_slots` values or more; those no item comes to stay as they are
    /// @throws error(errc::size_mismatch)  an array is too short
    /// @throws error(errc::invalid_state)  an exchange is active
    /// Such an error is this rank's alone: the others wait for it.
    /// @throws error(errc::out_of_memory)  in a first start, as the constructor
    /// @par Collective
    /// Yes, with every rank of the communicator; does not block, but for first starts.
    template <item_type T>
    void start(std::span<const T> items, std::span<T> slots) {
        check_lengths(items.size(), slots.size());
        start_forward(items.data(), slots.data(), sizeof(T));
    }

    /// @brief As above, with values of an MPI datatype, one per item, `extent` apart.
    ///
    /// Contiguous types travel as bytes, others are packed by MPI.
    /// @param datatype  committed, at least one byte; may be freed once the exchange is complete
    /// @throws error(errc::invalid_argument)  a null pointer, MPI_DATATYPE_NULL, or an empty datatype
    void start(const void* items, void* slots, MPI_Datatype datatype);

    /// @brief Starts a reverse exchange: items[i] = op(items[i], all slots that item i is sent to).
    ///
    /// Values combine on the way, in an order that depends on the plan alone, not on timing.
    /// @param slots  `num_slots` values or more; only those that receive an item are read
    /// @param items  `num_items` values or more; combined into
    /// @param op     associative and commutative; copied; must not throw
    /// @throws as `start`
    /// @par Collective
    /// Yes; does not block, but for first starts.
    template <item_type T, combine_operation<T> Op>
    void start_reverse(std::span<const T> slots, std::span<T> items, Op op) {
        check_lengths(items.size(), slots.size());
        start_backward(slots.data(), items.data(), sizeof(T),
                       [op](std::byte* to, const std::byte* from, const copy_list& list) mutable {
                           combine_items(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from),
                                         list, op);
                       });
    }

    /// @brief As above, with values of an MPI datatype and an MPI operation.
    /// @param datatype   committed, lower bound 0 and true extent at most its extent; every array is
    ///                   readable in full extents
    /// @param operation  predefined for `datatype`, or from MPI_Op_create; must be commutative. MPI ends
    ///                   the program where a predefined operation is not defined for the datatype.
    /// @throws error(errc::invalid_argument)  a null pointer or null handle; the datatype is not as said;
    ///                                        the operation is not commutative
    void start_reverse(const void* slots, void* items, MPI_Datatype datatype, MPI_Op operation);

    /// @brief Makes progress without waiting; true if the exchange is complete and its output
    /// valid.
    /// @throws error(errc::invalid_state)  no exchange is active
    bool test();

    /// @brief Completes the exchange.
    /// @throws error(errc::invalid_state)  no exchange is active
    void wait();

    /// @brief `start` and `wait`.
    template <item_type T>
    void exchange(std::span<const T> items, std::span<T> slots) {
        start(items, slots);
        wait();
    }

    /// @brief `start_reverse` and `wait`.
    template <item_type T, combine_operation<T> Op>
    void reverse(std::span<const T> slots, std::span<T> items, Op op) {
        start_reverse(slots, items, std::move(op));
        wait();
    }

    bool is_active() const noexcept;

  private:
    struct implementation;
    explicit neighbor(std::unique_ptr<implementation> state);

    void check_lengths(std::size_t num_items, std::size_t num_slots) const;
    void start_forward(const void* items, void* slots, std::size_t item_bytes);
    void start_backward(const void* slots, void* items, std::size_t item_bytes,
                        combine_function combine);

    std::unique_ptr<implementation> state_;
};

}  // namespace crossdock

/// @file
/// @brief The persistent neighbor exchange a user holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/operation.hpp"
#include "crossdock/pattern.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"

namespace CROSSDOCK_EXPORT crossdock {

class CROSSDOCK_HIDDEN gathering;

/// @brief The executor that stands for the one that suits.
inline constexpr const char* automatic_executor = "auto";

/// @brief What is made ready when a neighbor exchange is made, and with a size of items that is new to it.
///
/// To make a direction ready, ranks that share memory tell each other where their items will lie. A rank that shares
/// none does it alone, for reverse exchanges when the first one starts. What is not ready is made so by the first start
/// that needs it, which blocks.
enum class preparation {
    both,     ///< forward and reverse exchanges
    forward,  ///< forward exchanges
    lazy,     ///< nothing but what a start needs
};

/// @brief How a neighbor exchange is set up; equal on all ranks.
struct neighbor_options {
    /// As `make_route` takes it; or "auto": what CROSSDOCK_ROUTE says, and else the cheapest that `choose_route` finds;
    /// or "auto:measure", which tries the cheapest few. CROSSDOCK_FORCE_ROUTE overrules all of them.
    std::string route = "auto";
    /// An item whose destinations share the next hop is sent there once.
    bool deduplicate = true;
    /// Longer messages are sent in parts of at most this many bytes, but at least one item; 0 is the default.
    std::size_t max_message_bytes = std::size_t{1} << 30;
    /// What runs the plan. "persistent": MPI's persistent requests for every message. "shared_memory": ranks that share
    /// memory read and write each other's items. "auto": what CROSSDOCK_EXECUTOR says, and else "shared_memory" where
    /// ranks share memory and enough of it is left.
    std::string executor = automatic_executor;
    /// Bytes of the items that a route is chosen for, and that exchanges are made ready for now, such as 4 for `float`;
    /// 0 is the default. The first start with another size makes that one ready, too, and blocks.
    std::size_t item_bytes = 8;
    /// What is made ready now.
    preparation prepare = preparation::both;
    /// What the route "auto:measure" may cost.
    measure_options measure = {};
    /// Reverse exchanges give the same bits on any route, executor and topology, for as many ranks and the same
    /// pattern: into an item first the rank's own slots are combined, then those of the others in the order of ranks,
    /// and those of one rank as the pattern lists them. Nothing is combined on the way, as though `deduplicate` were
    /// false.
    bool reproducible = false;
    /// In reports; by default the place that makes the object. Rank 0's counts.
    std::string name = "";
};

/// @brief Values one after the other, such as a vector, an array or a span of them.
template <class R>
concept item_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    item_type<std::ranges::range_value_t<R>>;

/// @brief Values that outlive the call: a variable, or a view such as `std::span`, but no temporary vector.
template <class R>
concept lasting_items = item_range<R> && std::ranges::borrowed_range<R>;

/// @brief Arrays that outlive the call, in a list that need not: variables, or spans of them.
template <class R>
concept lasting_fields = std::ranges::input_range<R> &&
    lasting_items<std::ranges::range_reference_t<R>> &&
    (std::ranges::borrowed_range<R> || lasting_items<std::ranges::range_value_t<R>>);

/// @brief A temporary that takes its values with it.
template <class R>
concept temporary_range = std::ranges::range<R> && !std::ranges::borrowed_range<R>;

/// @brief Whether values can go from one range into another.
template <class From, class To>
concept same_items =
    std::same_as<std::ranges::range_value_t<From>, std::ranges::range_value_t<To>> &&
    std::ranges::output_range<To, std::ranges::range_value_t<From>>;

/// @brief Records of any length: that of item or slot i is `values[offsets[i]]` … `values[offsets[i + 1] - 1]`.
template <item_type T>
struct item_records {
    std::vector<count_t> offsets{0};
    std::vector<T> values;

    friend bool operator==(const item_records&, const item_records&) = default;
};

/// @brief A pattern compiled along a route and ready to be exchanged again and again.
///
/// `items` is the rank's local array (the plan's num_items values), `slots` its output array (num_slots values).
/// Forward copies items into the slots that need them; reverse brings what is in the slots home and combines it into
/// the items.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, `start_reverse`, those of fields, `duplicate` | starts: active |
/// | idle | `forward`, `reverse`, those of fields and records, `prepare` | idle |
/// | active | `test`, `wait`, `duplicate` | `test` that returns true, `wait`: idle |
/// | moved from, or closed by `close` | destruction, assignment, `close`, `is_active` | |
/// | the context is closed | as idle, but nothing that communicates | |
///
/// All other calls throw error(errc::invalid_state).
///
/// @par Collective
/// Constructors, `duplicate`, `prepare`, `forward_records` and starts, over all ranks of the context. The constructor
/// from a pattern and `forward_records` block. The others wait for the ranks that share memory, and for all ranks where
/// the communicator has no exchange yet, or `executor` is `shared_memory`. A start waits for nobody, unless it makes
/// something ready. All other calls are the rank's own.
///
/// While active, the input must not change and the output must not be read. Every rank starts the same exchanges of one
/// object in the same order; different objects (also duplicates, which share the plan) are independent: any number may
/// be active at once, and be waited for in any order. Items and slots may be parts of one array, or overlap as
/// addresses, as long as no item that is sent lies where a slot is filled. Arrays that stay the same from one start to
/// the next save a little set-up.
///
/// On a route of several stages, and where ranks share memory, a rank does something for others inside `test`, `wait`
/// and the library's collective calls, on any context of the process; only on the same one if MPI was initialised with
/// MPI_THREAD_MULTIPLE. While an exchange is active, a rank must not block elsewhere (in MPI_Barrier, say) for
/// something that another rank does only after its wait. A context's `progress_thread` lifts this.
///
/// *Preparation.* An exchange is ready when the ranks that share memory have told each other where items lie; a start
/// then never blocks. The constructor makes ready what the option `prepare` names, for items of `item_bytes`. The first
/// start with another size, or in a direction that is not ready, makes it ready, with what `prepare` names, and blocks
/// until the others start it too. Such starts come in one order on all ranks, and none waits for another exchange in
/// between that a rank starts only afterwards. Who wants no such start calls `prepare`. The last eight sizes stay
/// ready.
///
/// *Trials.* The route "auto:measure" compiles the plans of the cheapest candidates of "auto", and takes another one
/// after `measure.exchanges_each` exchanges in one direction and with one item size, or twice as many of all. When each
/// had its turn, or the next may lose too much time, the one that was fastest on the slowest rank is kept, and the
/// others are freed. Directions and sizes weigh as often as they occurred in the first route's turn. Every exchange is
/// as right as any other; in reverse, values combine in the order of the plan, so that the bits may change until the
/// trials are over, unless `reproducible` is set. The start after a route's turn waits for all ranks, and makes the
/// next route ready; such starts come in one order on all ranks. A duplicate has the plan that leads so far, and tries
/// nothing.
///
/// *Failure.* A start that fails on one rank throws there, and leaves the object idle. The rank takes part in the
/// exchange all the same: it sends messages without items, and forwards what others sent. Whoever awaits a message that
/// lacks an item, directly or from a rank that forwards, gets errc::peer_failed from its `wait` or `test`, and some of
/// its output stays as it was. Where a route puts items of several ranks into one message, this may be more ranks than
/// those that need the item. All others get their items. Then every rank may start the next exchange. The rank that
/// failed completes the one before it first, in its next start; until then it forwards in the library's collective
/// calls and in the waits of other objects, also if this object has ended. `context::last_peer_error` says later why
/// the start failed. A faulty start that does not know the size of the items waits until a rank that shares memory
/// starts with one.
///
/// The destructor does not communicate. An object must be idle when it is destroyed; one that is not leaves its buffers
/// to the messages under way, and `context::close` names it. After an mpi_error only destruction is legal.
/// @par Thread safety
/// One thread at a time for all objects of one communicator; several threads with communicators of their own need
/// MPI_THREAD_MULTIPLE.
class neighbor_exchange {
  public:
    /// @brief Chooses a route, unless one is given, and compiles the plan; or finds it, if one of the last exchanges of
    /// the context had an equal pattern on all ranks.
    /// @param where    stays open for the life of this object
    /// @param p        this rank's pattern; not kept
    /// @param place    names the object in reports, unless the options do
    /// @throws error  on all ranks or none, as `resolve_route` and `compile`; or errc::out_of_memory if a node has not
    /// enough memory to share, and `executor` is `shared_memory`
    neighbor_exchange(const context& where, const pattern& p, const neighbor_options& options = {},
                      const std::source_location& place = std::source_location::current());

    /// @brief Takes a plan that was compiled elsewhere; `route` and `deduplicate` have no say.
    /// @param compiled  this rank's of plans that belong together
    /// @throws error(errc::size_mismatch)  on this rank: the plan is of another rank or number of ranks
    /// @throws error(errc::invalid_plan)   it has more than 32 stages, or it is deduplicated and `reproducible` is set;
    /// on all ranks
    /// @throws error(errc::out_of_memory)  as above
    neighbor_exchange(const context& where, crossdock::plan compiled,
                      const neighbor_options& options = {},
                      const std::source_location& place = std::source_location::current());
    /// @brief As above, with a plan that several may use.
    neighbor_exchange(const context& where, std::shared_ptr<const crossdock::plan> compiled,
                      const neighbor_options& options = {},
                      const std::source_location& place = std::source_location::current());
    ~neighbor_exchange();
    neighbor_exchange(neighbor_exchange&&) noexcept;
    neighbor_exchange& operator=(neighbor_exchange&&) noexcept;

    /// @brief A second object on the same plan, which may be active at the same time. It is ready for what the option
    /// `prepare` names, with items of the size that was made ready last.
    /// @throws error(errc::out_of_memory)  as the constructor
    [[nodiscard]] neighbor_exchange duplicate() const;

    /// @brief The compiled plan of this rank; during trials that of the last exchange, until the next start.
    const crossdock::plan& plan() const;

    /// @brief The route that the plan was compiled along.
    const std::string& route() const { return plan().route(); }

    /// @brief What the route was chosen from; null if it was given, or a plan was.
    const route_choice* choice() const;

    /// @brief Whether routes are still being tried: the next exchanges may take another one each.
    bool is_trying() const;

    /// @brief What "auto:measure" tried so far, and found; the same on all ranks.
    std::vector<tried_route> tried_routes() const;

    /// @brief Makes items of a size ready, so that no start blocks: in both directions, or forward only where the
    /// option `prepare` says so.
    /// @param item_bytes  at least 1; equal on all ranks
    /// @throws error(errc::invalid_argument)  `item_bytes` is 0; on this rank
    /// @throws error(errc::invalid_state)     an exchange is active; on this rank
    /// @throws error(errc::out_of_memory)     as the constructor
    void prepare(std::size_t item_bytes);

    /// @brief Starts a forward exchange.
    /// @param items  `num_items` values or more; must stay unchanged until the exchange is complete
    /// @param slots  `num_slots` values or more; those no item comes to stay as they are
    /// @throws error(errc::size_mismatch)     an array is too short
    /// @throws error(errc::invalid_argument)  an item that is sent and a slot that is filled lie in the same memory
    /// @throws error(errc::invalid_state)     an exchange is active. Such errors are this rank's alone. It then takes
    /// part with nothing, unless an exchange was active.
    /// @throws error(errc::out_of_memory)     as the constructor, if it makes something ready: on all ranks of a node
    template <lasting_items Items, lasting_items Slots>
    requires same_items<Items, Slots>
    void start(Items&& items, Slots&& slots) {
        start_bytes(bytes_of(items), writable_bytes_of(slots),
                    sizeof(std::ranges::range_value_t<Items>));
    }

    /// @brief As above, with items of a size that is known only when the program runs.
    /// @param items  `num_items` times `item_bytes` bytes or more
    /// @param slots  likewise
    /// @throws error(errc::invalid_argument)  `item_bytes` is 0
    void start_bytes(std::span<const std::byte> items, std::span<std::byte> slots,
                     std::size_t item_bytes);
    /// @brief A temporary would be gone before the exchange is complete.
    template <temporary_range Items>
    void start_bytes(Items&& items, std::span<std::byte> slots, std::size_t item_bytes) = delete;

    /// @brief As `start`, with several arrays in one set of messages.
    ///
    /// The values that are sent are copied now, and what has come is copied to the slots when the exchange is complete.
    /// @param items  arrays of one type, each as `items` of `start`; equally many on all ranks
    /// @param slots  as many, each as `slots` of `start`
    /// @throws error(errc::invalid_argument)  there is no array
    /// @throws error(errc::size_mismatch)     there are not as many arrays of items as of slots; as `start`
    template <lasting_fields Items, lasting_fields Slots>
    requires same_items<std::ranges::range_value_t<Items>, std::ranges::range_value_t<Slots>>
    void start_fields(Items&& items, Slots&& slots) {
        start_fields_bytes(bytes_of_all<const std::byte>(items), bytes_of_all<std::byte>(slots),
                           sizeof(std::ranges::range_value_t<std::ranges::range_value_t<Items>>));
    }

    /// @brief As above, with values of a size that is known only when the program runs.
    void start_fields_bytes(std::span<const std::span<const std::byte>> items,
                            std::span<const std::span<std::byte>> slots, std::size_t value_bytes);

    /// @brief As above, with values of an MPI datatype, one per item, `extent` apart. Contiguous types travel as bytes,
    /// others are packed by MPI. The size of an item is the datatype's size; in reverse, its extent.
    /// @param datatype  committed, at least one byte; may be freed once the exchange is complete
    /// @throws error(errc::invalid_argument)  a null pointer, MPI_DATATYPE_NULL, or an empty datatype
    void start(const void* items, void* slots, MPI_Datatype datatype);

    /// @brief As above, where items and slots lie in memory in different ways.
    /// @param slot_type  with as many bytes as `item_type`, which need not be the same on all ranks
    /// @throws error(errc::size_mismatch)  the datatypes differ in bytes
    void start(const void* items, MPI_Datatype item_type, void* slots, MPI_Datatype slot_type);

    /// @brief Starts a reverse exchange: items[i] = op(items[i], all slots that item i is sent to). Values combine on
    /// the way, in an order that depends on the plan alone, not on timing.
    /// @param slots  `num_slots` values or more; only those that receive an item are read
    /// @param items  `num_items` values or more; combined into
    /// @param op     associative and commutative; copied; must not throw. Items that are arrays of numbers combine
    /// element by element, unless it takes arrays only.
    /// @throws as `start`
    template <lasting_items Slots, lasting_items Items, class Op>
    requires same_items<Slots, Items> && item_operation<Op, std::ranges::range_value_t<Slots>>
    void start_reverse(Slots&& slots, Items&& items, Op op) {
        using T = std::ranges::range_value_t<Slots>;
        start_reverse_bytes(bytes_of(slots), writable_bytes_of(items), sizeof(T), with_reserve([&] {
                                return combine_function(
                                    [op = operation_on<T>(op)](std::byte* to, const std::byte* from,
                                                               const copy_list& list) mutable {
                                        combine_items(reinterpret_cast<T*>(to),
                                                      reinterpret_cast<const T*>(from), list, op);
                                    });
                            }));
    }

    /// @brief As above, with items of a size that is known only when the program runs.
    /// @param combine  combines the items of one array into another, as a list of copies says;
    /// associative and commutative
    /// @throws error(errc::invalid_argument)  `item_bytes` is 0
    void start_reverse_bytes(std::span<const std::byte> slots, std::span<std::byte> items,
                             std::size_t item_bytes, combine_function combine);
    /// @brief As `start_bytes` of a temporary.
    template <temporary_range Slots>
    void start_reverse_bytes(Slots&& slots, std::span<std::byte> items, std::size_t item_bytes,
                             combine_function combine) = delete;

    /// @brief As `start_reverse`, with several arrays in one set of messages.
    /// @param slots  arrays of one type, each as `slots` of `start_reverse`; equally many on all ranks
    /// @param items  as many, each as `items` of `start_reverse`
    /// @throws as `start_fields`
    template <lasting_fields Slots, lasting_fields Items, class Op>
    requires same_items<std::ranges::range_value_t<Slots>, std::ranges::range_value_t<Items>>
    void start_reverse_fields(Slots&& slots, Items&& items, Op op) {
        using T = std::ranges::range_value_t<std::ranges::range_value_t<Slots>>;
        using value = typename operands<T, Op>::type;
        const auto width =
            std::ranges::distance(slots) * static_cast<count_t>(operands<T, Op>::per_item);
        start_reverse_fields_bytes(
            bytes_of_all<const std::byte>(slots), bytes_of_all<std::byte>(items), sizeof(T),
            with_reserve([&] {
                return combine_function([op, width](std::byte* to, const std::byte* from,
                                                    const copy_list& list) mutable {
                    combine_in_steps(reinterpret_cast<value*>(to), width,
                                     reinterpret_cast<const value*>(from), {width, width}, list,
                                     op);
                });
            }));
    }

    /// @brief As above, with values of a size that is known only when the program runs.
    /// @param combine  of items that are the values of all arrays, one after the other
    void start_reverse_fields_bytes(std::span<const std::span<const std::byte>> slots,
                                    std::span<const std::span<std::byte>> items,
                                    std::size_t value_bytes, combine_function combine);

    /// @brief As above, with values of an MPI datatype and an MPI operation.
    /// @param datatype   committed, lower bound 0 and true extent at most its extent; every array is readable in full
    /// extents
    /// @param operation  predefined for `datatype`, or from MPI_Op_create; must be commutative. MPI_MIN and MPI_MAX of
    /// floating-point numbers are `minimum` and `maximum`. MPI ends the program where a predefined operation is not
    /// defined for the datatype.
    /// @throws error(errc::invalid_argument)  a null pointer or null handle; the datatype is not as said; the operation
    /// is not commutative
    void start_reverse(const void* slots, void* items, MPI_Datatype datatype, MPI_Op operation);

    /// @brief Takes part with nothing, as a start that throws does: for a caller that finds a mistake
    /// in its own arguments before it can start. The exchange is not active afterwards.
    /// @param item_bytes  0 if it is not known: then this call waits for a rank that shares memory, and takes
    /// the size of that one; or the size of the last exchange, if no such rank knows it
    /// @param why         what others are told later (`context::last_peer_error`)
    /// @throws error(errc::invalid_state)  an exchange is active
    void fail_start(bool is_reverse, std::size_t item_bytes, const error& why);

    /// @brief Makes progress; true if the exchange is complete and its output valid. Cheap in a loop: within a
    /// microsecond of a test that found it incomplete it returns false at once.
    /// @throws error(errc::invalid_state)  no exchange is active
    /// @throws error(errc::peer_failed)    another rank's start failed, so that items are missing; its `rank()` is that
    /// rank. The exchange is over, and the next may start, as after what `combine` threw on this rank.
    [[nodiscard]] bool test();

    /// @brief Completes the exchange.
    /// @throws as `test`
    void wait();

    /// @brief `start` and `wait`; the input may be a temporary.
    template <item_range Items, item_range Slots>
    requires same_items<Items, Slots>
    void forward(const Items& items, Slots&& slots) {
        start(items, slots);
        wait();
    }

    /// @brief A forward exchange of records of any length. Each travels as its length and its values, in the bytes
    /// that the longest one takes, rounded up to a power of 2: for records whose lengths differ little.
    /// @param items  `num_items` records
    /// @return `num_slots` records, empty where no item comes to
    /// @par Collective
    /// Yes; blocks. A reduction, and an exchange, which has a size of items that may be new.
    /// @throws error(errc::size_mismatch)  on all ranks: on one of them `offsets` is not of as many ascending numbers
    /// from 0 to the number of values
    /// @throws error(errc::invalid_state)  on all ranks: on one of them an exchange is active
    template <item_type T>
    [[nodiscard]] item_records<T> forward_records(const item_records<T>& items) {
        std::ptrdiff_t width = 0;
        const auto packed = forward_packed(items.offsets, bytes_of(items.values), sizeof(T), width);
        return with_reserve([&] {
            item_records<T> slots;
            for (auto from = packed.begin(); from != packed.end(); from += width) {
                count_t length = 0;
                std::memcpy(&length, &*from, sizeof length);
                slots.offsets.push_back(slots.offsets.back() + length);
                slots.values.resize(static_cast<std::size_t>(slots.offsets.back()));
                std::copy_n(
                    from + sizeof length, length * static_cast<count_t>(sizeof(T)),
                    reinterpret_cast<std::byte*>(slots.values.data() + slots.values.size()) -
                        length * static_cast<count_t>(sizeof(T)));
            }
            return slots;
        });
    }

    /// @brief `start_fields` and `wait`.
    template <std::ranges::input_range Items, std::ranges::input_range Slots>
    void forward_fields(Items&& items, Slots&& slots) {
        start_fields(items, slots);
        wait();
    }

    /// @brief `start_reverse_fields` and `wait`.
    template <std::ranges::input_range Slots, std::ranges::input_range Items, class Op>
    void reverse_fields(Slots&& slots, Items&& items, Op op) {
        start_reverse_fields(slots, items, std::move(op));
        wait();
    }

    /// @brief `start_reverse` and `wait`; the input may be a temporary.
    template <item_range Slots, item_range Items, class Op>
    requires same_items<Slots, Items> && item_operation<Op, std::ranges::range_value_t<Slots>>
    void reverse(const Slots& slots, Items&& items, Op op) {
        start_reverse(slots, items, std::move(op));
        wait();
    }

    bool is_active() const noexcept;

    /// @brief Whether the destructor would lose what is under way.
    bool is_unfinished() const noexcept;

    /// @brief What this rank sends in one forward exchange, in all stages.
    traffic statistics() const;

    /// @brief The route, and what each candidate was estimated to cost where it was chosen; some lines of text.
    std::string explain() const;

    /// @brief What this object and all others of its name have done on this rank, and how long it took.
    object_report report() const;

    /// @brief Gives memory and requests back, as the destructor; the object can then only be destroyed. An exchange
    /// that is active keeps its buffers, which are lost.
    void close() noexcept;

  private:
    friend class gathering;
    struct CROSSDOCK_HIDDEN implementation;
    struct CROSSDOCK_HIDDEN report_part;
    explicit neighbor_exchange(std::unique_ptr<implementation> state);
    // A part of another object, in whose report it is counted.
    neighbor_exchange(const context& where, std::shared_ptr<const crossdock::plan> compiled,
                      const neighbor_options& options, const report_part& part);

    template <class R>
    static std::span<const std::byte> bytes_of(const R& range) {
        return std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range)));
    }
    template <class R>
    static std::span<std::byte> writable_bytes_of(R& range) {
        return std::as_writable_bytes(
            std::span(std::ranges::data(range), std::ranges::size(range)));
    }

    template <class Byte, class Fields>
    static std::vector<std::span<Byte>> bytes_of_all(Fields& fields) {
        return with_reserve([&] {
            std::vector<std::span<Byte>> all;
            for (auto&& field : fields) {
                if constexpr (std::is_const_v<Byte>) {
                    all.push_back(bytes_of(field));
                } else {
                    all.push_back(writable_bytes_of(field));
                }
            }
            return all;
        });
    }

    // Lengths and values of all slots' records, `width` bytes for each.
    std::vector<std::byte> forward_packed(std::span<const count_t> offsets,
                                          std::span<const std::byte> values,
                                          std::size_t value_bytes, std::ptrdiff_t& width);

    // Starts an exchange to which this rank gives nothing, by the fault of a rank.
    void start_empty(bool is_reverse, std::size_t item_bytes, rank_t failed);
    // The size of what starts now: as given, or if that is 0 what ranks that share memory say; 0 if none knows.
    std::size_t find_size(std::size_t item_bytes);
    // As a start that finds a size not ready, in all directions that the options name. What fails, the start says.
    void prepare_at_start(std::size_t item_bytes);

    /// @throws error(errc::invalid_state)  closed or moved from
    implementation& state() const;

    std::unique_ptr<implementation> state_;
};

}  // namespace crossdock

/// @file
/// @brief Shared degrees of freedom: every copy of an id gets what all copies combine to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/executor/copy_list.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/operation.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How a gather-scatter is set up; equal on all ranks.
struct gather_options {
    /// Who combines the copies of an id. "owners": one of the ranks that have it, which gets all values and sends the
    /// result. "holders": each of them, which get the values of all others. "auto": what is estimated to be cheaper, or
    /// with "auto:measure" found to be; on a route that is given, "holders" where no id has more than two.
    std::string method = "auto";
    /// As `neighbor_options::route`; "auto:measure" judges the whole operation.
    std::string route = "auto";
    /// As though `flag_duplicates` had been called for the ids, which stay as they are.
    bool unique = false;
    /// As in `neighbor_options`, as are those that follow.
    bool deduplicate = true;
    std::size_t max_message_bytes = std::size_t{1} << 30;
    std::string executor = automatic_executor;
    /// Bytes of all values of an id that operations are made ready for now; 0 is the default.
    std::size_t item_bytes = 8;
    measure_options measure = {};
    /// Results have the same bits with any method, route, executor and topology, for as many ranks and the same ids:
    /// copies are combined first on each rank, in the order of its ids, and then in the order of ranks; the owner's
    /// come first.
    bool reproducible = false;
    std::string name = "";
};

/// @brief The values of every id: `per_id` of them together in each of the arrays.
struct value_arrays {
    std::vector<std::byte*> arrays;
    count_t per_id = 1;
    std::size_t value_bytes = 0;
    combine_values combine;
    std::size_t shortest = std::numeric_limits<std::size_t>::max();  ///< values in an array

    void add(std::byte* array, std::size_t num_values) {
        arrays.push_back(array);
        shortest = std::min(shortest, num_values);
    }

    /// @brief Values of one id in all arrays.
    count_t width() const noexcept { return per_id * static_cast<count_t>(arrays.size()); }
    std::size_t item_bytes() const noexcept {
        return static_cast<std::size_t>(width()) * value_bytes;
    }
};

/// @brief What an operation works on; equal on all ranks.
struct gather_call {
    /// Flagged copies give and do not get, in place of the other way round.
    bool transposed = false;
    /// Values of one id that lie together in an array.
    count_t values_per_id = 1;
};

/// @brief Combines the values of all copies of an id, wherever they are, and gives every copy the result.
///
/// Rank p names the id of each place of its arrays. Places with one id are its *copies*, on one rank or on several. An
/// id of 0 takes no part. A negative id -j is a *flagged* copy of j:
///
/// | | gives its value | gets the result |
/// |---|---|---|
/// | copy | yes | yes |
/// | flagged copy | no | yes |
/// | copy, transposed | yes | yes |
/// | flagged copy, transposed | yes | no |
///
///     rank 0   ids {7  8 0}   values {1  2 3}   sum: {1+5  2+4 3}
///     rank 1   ids {8 -7 7}   values {4 90 5}   sum: {2+4  1+5 1+5}
///
/// Where all copies of an id are flagged, they stay as they are. All copies get the same bits, and the same ones each
/// time as long as the same method and route are taken, or with any if `reproducible` is set.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, `start_fields`, `duplicate` | start: active |
/// | idle | `combine`, `combine_fields` | idle |
/// | active | `test`, `wait`, `duplicate` | `test` that returns true, `wait`: idle |
/// | moved from, or closed by `close` | destruction, assignment, `close`, `is_active` | |
/// | the context is closed | as idle, but nothing that communicates | |
///
/// All other calls throw error(errc::invalid_state).
///
/// A start reads the values, and when `test` returns true or `wait` returns all results are in place. In between the
/// arrays must stay where they are, and values of ids with several copies must be neither read nor written. Every rank
/// starts the same operations of one object in the same order, with the same number and size of values to each id.
///
/// What holds for a `neighbor_exchange` holds here: which calls are collective and what they wait for, who makes
/// progress for others, what the first operation with another number of bytes to each id makes ready, what a start that
/// fails does to the others, how the object ends, and which threads may use it.
/// @par Source
/// The semantics are those of gslib. Differs: ids without a copy that is not flagged stay as they are.
class gather_scatter {
  public:
    /// @brief Finds out who has which ids, elects owners, and compiles the plans. An owner is the lowest rank with a
    /// copy that is not flagged.
    /// @param where  stays open for the life of this object
    /// @param ids    not kept
    /// @throws error(errc::index_out_of_range)  an id is -2^63; on all ranks
    /// @throws error(errc::invalid_argument)    options differ between ranks; there is no such method; or "holders",
    /// and an id has flagged copies or more than 16 holders; on all ranks
    /// @throws as `neighbor_exchange`
    /// @par Complexity
    /// Two sparse exchanges with the ranks that an id's hash names, two reductions, and compiling. Time and memory grow
    /// with the ids of this rank and their holders; nothing is of size P.
    gather_scatter(const context& where, std::span<const count_t> ids,
                   const gather_options& options = {},
                   const std::source_location& place = std::source_location::current());
    ~gather_scatter();
    gather_scatter(gather_scatter&&) noexcept;
    gather_scatter& operator=(gather_scatter&&) noexcept;

    /// @brief A second object with the same plans, which may be active at the same time.
    [[nodiscard]] gather_scatter duplicate() const;

    /// @brief The number of ids that the object was made with.
    count_t num_ids() const;

    /// @brief Starts to combine values in place.
    /// @param values  `values_per_id` for each id, or more. If they are arrays of numbers, `op` combines them element
    /// by element, unless it takes arrays only.
    /// @param op      associative and commutative; copied; must not throw
    /// @throws error(errc::size_mismatch)     there are too few values
    /// @throws error(errc::invalid_argument)  `values_per_id` is not positive
    /// @throws error(errc::invalid_state)     an operation is active. Such errors are this rank's alone, as of a
    /// neighbor exchange.
    template <lasting_items Values, class Op>
    requires item_operation<Op, std::ranges::range_value_t<Values>> &&
        std::ranges::output_range<Values, std::ranges::range_value_t<Values>>
    void start(Values&& values, Op op, const gather_call& how = {}) {
        start_arrays(with_reserve([&] {
                         auto arrays = arrays_of<std::ranges::range_value_t<Values>>(op, how);
                         add_array(arrays, values);
                         return arrays;
                     }),
                     how);
    }

    /// @brief Starts to combine the values of several arrays in one exchange.
    /// @param fields  arrays of one type, each as `values` of `start`; equally many on all ranks
    /// @throws error(errc::invalid_argument)  there is no array
    /// @throws as `start`
    template <lasting_fields Fields, class Op>
    void start_fields(Fields&& fields, Op op, const gather_call& how = {}) {
        using T = std::ranges::range_value_t<std::ranges::range_value_t<Fields>>;
        static_assert(item_operation<Op, T>);
        start_arrays(with_reserve([&] {
                         auto arrays = arrays_of<T>(op, how);
                         for (auto&& field : fields) add_array(arrays, field);
                         return arrays;
                     }),
                     how);
    }

    /// @brief As above, with values of a size that is known only when the program runs.
    /// @param fields       `values_per_id` times `value_bytes` bytes for each id, or more, in each
    /// @param value_bytes  at least 1; equal on all ranks
    /// @param combine      associative and commutative; must not throw
    /// @throws error(errc::invalid_argument)  `value_bytes` is 0; as `start_fields`
    void start_bytes(std::span<const std::span<std::byte>> fields, std::size_t value_bytes,
                     combine_values combine, const gather_call& how = {});

    /// @brief As `neighbor_exchange::fail_start`.
    /// @param value_bytes  of all values of an id
    void fail_start(bool transposed, std::size_t value_bytes, const error& why);

    /// @brief Makes progress; true if the operation is complete and its results are in place.
    /// @throws error(errc::invalid_state)  no operation is active
    /// @throws error(errc::peer_failed)    another rank's start failed, so that values are missing; its `rank()` is
    /// that rank. The operation is over, its values are undefined, and the next may start, as after what `op` threw on
    /// this rank.
    [[nodiscard]] bool test();

    /// @brief Completes the operation.
    /// @throws as `test`
    void wait();

    /// @brief `start` and `wait`.
    template <item_range Values, class Op>
    void combine(Values&& values, Op op, const gather_call& how = {}) {
        start(values, std::move(op), how);
        wait();
    }

    /// @brief `start_fields` and `wait`.
    template <std::ranges::input_range Fields, class Op>
    void combine_fields(Fields&& fields, Op op, const gather_call& how = {}) {
        start_fields(fields, std::move(op), how);
        wait();
    }

    bool is_active() const noexcept;

    /// @brief Whether the destructor would lose what is under way.
    bool is_unfinished() const noexcept;

    /// @brief "owners" or "holders"; during trials that of the last operation, as is the route.
    const std::string& method() const;
    const std::string& route() const;

    /// @brief Whether methods and routes are still being tried.
    bool is_trying() const;

    /// @brief What "auto:measure" tried so far, such as "owners three_step"; the same on all ranks.
    std::vector<tried_route> tried_routes() const;

    /// @brief What this rank sends in one operation that is not transposed.
    traffic statistics() const;

    /// @brief The method and the route, and what each candidate was estimated to cost where they were chosen; some
    /// lines of text.
    std::string explain() const;

    /// @brief As `neighbor_exchange::report`, of whole operations.
    object_report report() const;

    /// @brief Gives memory and requests back; the object can then only be destroyed.
    void close() noexcept;

  private:
    struct CROSSDOCK_HIDDEN implementation;
    explicit gather_scatter(std::unique_ptr<implementation> state);

    template <class T, class Op>
    static value_arrays arrays_of(Op op, const gather_call& how) {
        using value = typename operands<T, Op>::type;
        return {{},
                how.values_per_id * static_cast<count_t>(operands<T, Op>::per_item),
                sizeof(value),
                [op](std::byte* to, count_t to_step, const std::byte* from,
                     value_layout from_layout, const copy_list& list) mutable {
                    combine_in_steps(reinterpret_cast<value*>(to), to_step,
                                     reinterpret_cast<const value*>(from), from_layout, list, op);
                }};
    }
    template <class Values>
    static void add_array(value_arrays& arrays, Values&& values) {
        arrays.add(reinterpret_cast<std::byte*>(std::ranges::data(values)),
                   std::ranges::size(values));
    }
    void start_arrays(value_arrays arrays, const gather_call& how);

    /// @throws error(errc::invalid_state)  closed or moved from
    implementation& state() const;

    std::unique_ptr<implementation> state_;
};

/// @brief Flags all copies of every id but one, by negation: the first that is not flagged, on the
/// lowest rank that has one.
/// @par Collective
/// Yes; blocks.
/// @throws error(errc::index_out_of_range)  an id is -2^63; on all ranks
void flag_duplicates(const context& where, std::span<count_t> ids);

}  // namespace crossdock

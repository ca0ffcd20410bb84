/// @file
/// @brief The neighbor exchange, the gather-scatter and the sparse exchange of arrays in a device's memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/device.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/sparse_exchange.hpp"

namespace CROSSDOCK_EXPORT crossdock {
namespace device {

/// @brief A `crossdock::neighbor_exchange` whose items and slots are in a device's memory.
///
/// Items take one of two paths. *staged*: those that travel are packed on the device, each once, and copied down to
/// pinned memory of the host. An exchange on the host takes them to the other ranks. What has come is copied up and
/// unpacked on the device. *direct*: they are packed on the device in the order of the messages, and an MPI that can
/// read and write memory of devices takes each message to its receiver. Results have the same bits as on the host.
///
/// A start enqueues on its stream what packs the items, and returns. The messages start when that is done, inside
/// `test`, `wait`, or any call of the library that waits; so a rank that calls none of them sends nothing. `wait`
/// blocks the host until all messages have come, because MPI has no streams, and enqueues the rest on its stream: what
/// is enqueued there afterwards finds the output complete. `test` does so as well when it returns true.
///
/// In between the output must be neither read nor written. The input may be changed by what its stream gets after the
/// start. In reverse the items are the output, and input as well. The streams of a start and of its wait may differ.
///
/// What the host exchange says holds here, too: which calls are collective, in which order ranks start, what a start
/// that fails does, how the object ends, and which threads may use it. Differs: items and slots may overlap; arrays are
/// spans of addresses of the device; a start whose size or direction is not ready, and every start while routes are
/// being tried, waits on the host for its stream. After errc::peer_failed no slot has changed.
class neighbor_exchange {
  public:
    /// @param on    null: the one that `open()` finds
    /// @param path  "staged", "direct", or "auto": what CROSSDOCK_DEVICE_PATH says, and else the cheaper one by the
    /// machine's costs; staged where these, or an MPI for `direct`, are missing, or the options give a route. On the
    /// path `direct` the option `max_message_bytes` is for items of the size `item_bytes`.
    /// @throws error(errc::invalid_argument)  there is no such path, or ranks give different ones
    /// @throws error(errc::invalid_state)     `path` is "direct", and this MPI takes no memory of the device
    /// @throws as the host's exchange and `open`; on all ranks or none
    neighbor_exchange(const context& where, const pattern& p, const neighbor_options& options = {},
                      std::shared_ptr<driver> on = nullptr, const std::string& path = "auto");
    ~neighbor_exchange();
    neighbor_exchange(neighbor_exchange&&) noexcept;
    neighbor_exchange& operator=(neighbor_exchange&&) noexcept;

    /// @brief Starts a forward exchange.
    /// @param items, slots  as of the host's exchange, such as `std::span(x, n)`; in memory that the device can use
    /// @throws error(errc::invalid_argument)  the device cannot use the memory
    /// @throws error(errc::size_mismatch)     an array is too short
    /// @throws error(errc::count_overflow)    on the path `direct` a message has 2 GiB, and items are larger than the
    /// option `item_bytes` says
    /// @throws error(errc::invalid_state)     an exchange is active, or the driver has refused something
    template <lasting_items Items, lasting_items Slots>
    requires same_items<Items, Slots>
    void start(Items&& items, Slots&& slots, stream on) {
        start_bytes(std::as_bytes(std::span(items)), std::as_writable_bytes(std::span(slots)),
                    sizeof(std::ranges::range_value_t<Items>), on);
    }
    void start_bytes(std::span<const std::byte> items, std::span<std::byte> slots,
                     std::size_t item_bytes, stream on);

    /// @brief Starts a reverse exchange: items[i] = op(items[i], all slots that item i is sent to), in the host's
    /// order; on the path `direct` in that of the host's option `reproducible`.
    /// @param op  the host calls it. On the path `direct` the device does what `fold_of` knows, and other operations
    /// take the path `staged`.
    /// @throws as `start`
    template <lasting_items Slots, lasting_items Items, class Op>
    requires same_items<Slots, Items> && item_operation<Op, std::ranges::range_value_t<Slots>>
    void start_reverse(Slots&& slots, Items&& items, Op op, stream on) {
        using T = std::ranges::range_value_t<Slots>;
        start_reverse_bytes(
            std::as_bytes(std::span(slots)), std::as_writable_bytes(std::span(items)), sizeof(T),
            [op = operation_on<T>(op)](std::byte* to, const std::byte* from,
                                       const copy_list& list) mutable {
                combine_items(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), list, op);
            },
            on, fold_of<T, Op>());
    }
    /// @param on_device  the same operation for the device, equal on all ranks
    void start_reverse_bytes(std::span<const std::byte> slots, std::span<std::byte> items,
                             std::size_t item_bytes, combine_function combine, stream on,
                             const std::optional<fold_call>& on_device = {});

    /// @brief Takes part with nothing, as a start that throws does: `fail_start` of the host's exchange.
    /// @param on_device  as of the others' `start_reverse_bytes`
    /// @throws error(errc::invalid_state)  an exchange is active
    void fail_start(bool is_reverse, std::size_t item_bytes, const error& why,
                    const std::optional<fold_call>& on_device = {});

    /// @brief True if the messages have come; the rest is then enqueued.
    /// @throws as of the host's exchange
    /// @throws error(errc::invalid_state)  what the start enqueued has failed; this rank took part with nothing
    [[nodiscard]] bool test(stream on);
    /// @brief Waits for the messages, and enqueues the rest.
    /// @throws as `test`
    void wait(stream on);

    bool is_active() const noexcept;

    /// @brief The exchange on the host: its route, its plan, what it sends.
    const crossdock::neighbor_exchange& on_host() const;

    /// @brief The device, the path that items take and why, and the choice of the route.
    std::string explain() const;

  private:
    struct CROSSDOCK_HIDDEN implementation;
    std::unique_ptr<implementation> state_;
};

/// @brief A `crossdock::gather_scatter` of values in a device's memory.
///
/// The device combines the copies of an id that this rank has, and gives them the result. Only ids that other ranks
/// have too travel, through memory of the host. Values have the same bits as on the host.
///
/// `start` and `wait` are as of the `neighbor_exchange` of a device; values of ids with several copies must be neither
/// read nor written in between.
class gather_scatter {
  public:
    /// @param ids  on the host; not kept
    /// @param on   null: the one that `open()` finds
    /// @throws as the host's gather-scatter and `open`; on all ranks or none
    gather_scatter(const context& where, std::span<const count_t> ids,
                   const gather_options& options = {}, std::shared_ptr<driver> on = nullptr);
    ~gather_scatter();
    gather_scatter(gather_scatter&&) noexcept;
    gather_scatter& operator=(gather_scatter&&) noexcept;

    /// @brief Starts to combine values in place.
    /// @param values  `how.values_per_id` for each id, or more; in memory that the device can use
    /// @param op      `sum`, `minimum` or `maximum`
    /// @throws as the host's, and as `start` of a device's neighbor exchange
    template <lasting_items Values, fold_operator Op>
    requires foldable<std::ranges::range_value_t<Values>>
    void start(Values&& values, Op op, stream on, const gather_call& how = {}) {
        using T = std::ranges::range_value_t<Values>;
        start_bytes(
            std::as_writable_bytes(std::span(values)), *fold_of<T, Op>(), sizeof(T),
            [op](std::byte* to, count_t to_step, const std::byte* from, value_layout from_layout,
                 const copy_list& list) mutable {
                combine_in_steps(reinterpret_cast<T*>(to), to_step,
                                 reinterpret_cast<const T*>(from), from_layout, list, op);
            },
            on, how);
    }

    /// @brief As `fail_start` of the host's gather-scatter.
    /// @throws error(errc::invalid_state)  an operation is active
    void fail_start(bool transposed, std::size_t item_bytes, const error& why);

    [[nodiscard]] bool test(stream on);
    void wait(stream on);
    bool is_active() const noexcept;

    /// @brief What travels, on the host.
    const crossdock::gather_scatter& on_host() const;
    std::string explain() const;

  private:
    struct CROSSDOCK_HIDDEN implementation;
    void start_bytes(std::span<std::byte> values, const fold_call& fold, std::size_t value_bytes,
                     combine_values combine, stream on, const gather_call& how);
    std::unique_ptr<implementation> state_;
};

/// @brief What came in a sparse exchange: arranged on the host, with values on a device.
template <class T>
struct received : received_messages {
    std::span<T> values;           ///< in memory of the device, messages one after the other
    std::shared_ptr<void> memory;  ///< of the values; the last copy frees it

    /// @brief The values of one message.
    std::span<T> message(std::size_t index) const {
        return values.subspan(static_cast<std::size_t>(displacements[index]),
                              static_cast<std::size_t>(counts[index]));
    }
};

received<std::byte> sparse_exchange_bytes(const context& where, const integer_range& destinations,
                                          const integer_range& counts,
                                          std::span<const std::byte> values, std::size_t item_bytes,
                                          stream on, const exchange_options& options = {},
                                          std::shared_ptr<driver> of = nullptr);

/// @brief The `crossdock::sparse_exchange` of values in a device's memory, through memory of the host.
///
/// Waits for what the stream holds, and returns when the values that came are on the device: any stream may use them.
/// @param values  `counts[i]` of them, one after the other, to rank `destinations[i]`; in memory that the device can
/// use
/// @param of      null: the one that `open()` finds
/// @par Collective
/// As on the host, with one reduction more.
/// @throws as on the host and as `open`; on all ranks or none
/// @throws error(errc::invalid_argument)  on all ranks: the device of one cannot use the memory
template <std::ranges::contiguous_range Values>
[[nodiscard]] auto sparse_exchange(const context& where, const integer_range& destinations,
                                   const integer_range& counts, const Values& values, stream on,
                                   const exchange_options& options = {},
                                   std::shared_ptr<driver> of = nullptr) {
    using T = std::ranges::range_value_t<Values>;
    auto bytes =
        sparse_exchange_bytes(where, destinations, counts, std::as_bytes(std::span(values)),
                              sizeof(T), on, options, std::move(of));
    return received<T>{std::move(static_cast<received_messages&>(bytes)),
                       {reinterpret_cast<T*>(bytes.values.data()), bytes.values.size() / sizeof(T)},
                       std::move(bytes.memory)};
}

}  // namespace device
}  // namespace crossdock

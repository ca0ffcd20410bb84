/// @file
/// @brief Views of Kokkos as items and slots, in any memory space; compiled by the program, which has Kokkos.
///
///     crossdock::device::neighbor_exchange halo(world, pattern);
///     crossdock::device::start(halo, x, ghosts, space);     // space: an execution space, such as Kokkos::Cuda
///     compute_interior(x);
///     crossdock::device::wait(halo, space);
///
/// An item is an entry of a view of rank 1, or a row of one of rank 2 with LayoutRight. Where Kokkos has no device,
/// take a `crossdock::neighbor_exchange`, with the same functions: they let `space` finish before messages are read.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "crossdock/device_exchange.hpp"

namespace crossdock::device {

/// @brief The stream of an execution space; null, the default stream, where it has none.
template <class Space>
stream stream_of(const Space& space) {
    if constexpr (requires { space.cuda_stream(); }) {
        return space.cuda_stream();
    } else if constexpr (requires { space.hip_stream(); }) {
        return space.hip_stream();
    } else {
        static_cast<void>(space);
        return nullptr;
    }
}

/// @brief A view whose items lie one after the other.
template <class View>
concept item_view = (View::rank == 1 ||
                     (View::rank == 2 &&
                      std::is_same_v<typename View::array_layout, Kokkos::LayoutRight>)) &&
                    std::is_trivially_copyable_v<typename View::value_type>;

/// @brief The bytes of a view, and those of an item.
/// @throws error(errc::invalid_argument)  there are gaps between its items
template <item_view View>
auto bytes_of_view(const View& view) {
    using value = typename View::value_type;
    using byte = std::conditional_t<std::is_const_v<value>, const std::byte, std::byte>;
    const std::size_t values_per_item = View::rank == 2 ? view.extent(1) : 1;
    if (!view.span_is_contiguous())
        throw error(errc::invalid_argument, "a view has gaps between its items; give a whole one");
    return std::pair{
        std::span<byte>(reinterpret_cast<byte*>(view.data()), view.size() * sizeof(value)),
        values_per_item * sizeof(value)};
}

/// @brief Views of what an exchange combines.
template <class View>
auto span_of_view(const View& view) {
    static_assert(View::rank == 1, "a view of rank 1 is combined");
    static_cast<void>(bytes_of_view(view));
    return std::span(view.data(), view.size());
}

/// @brief Items and slots of the same type.
template <class Items, class Slots>
concept same_views = item_view<Items> && item_view<Slots> &&
    std::is_same_v<typename Items::non_const_value_type, typename Slots::non_const_value_type>;

/// @brief The bytes of items and slots, and those of an item.
/// @throws error(errc::invalid_argument)  there are gaps, or rows differ in length
template <class Items, class Slots>
auto bytes_of_views(const Items& items, const Slots& slots) {
    const auto [from, item_bytes] = bytes_of_view(items);
    const auto [to, slot_bytes] = bytes_of_view(slots);
    if (item_bytes != slot_bytes) {
        throw error(errc::invalid_argument, "a row of items has " + std::to_string(item_bytes) +
                                                " bytes, but one of slots " +
                                                std::to_string(slot_bytes));
    }
    return std::tuple{from, to, item_bytes};
}

/// @brief What `views` gives. Where they are wrong, `fail` lets this rank take part with nothing.
template <class Views, class Fail>
auto views_or_nothing(Views&& views, Fail&& fail) {
    try {
        return views();
    } catch (const error& why) {
        fail(why);
        throw;
    }
}

/// @brief The exchanges that views are for.
template <class Exchange>
concept exchange_of_views = std::is_same_v<Exchange, neighbor_exchange> ||
    std::is_same_v<Exchange, crossdock::neighbor_exchange>;
template <class Exchange>
inline constexpr bool is_on_device = std::is_same_v<Exchange, neighbor_exchange>;

/// @brief As `start` of the exchange: of a device's on the stream of `space`, of the host's after what `space` does. If
/// views are wrong, this rank takes part with nothing.
/// @throws error(errc::invalid_argument)  as `bytes_of_views`
template <exchange_of_views Exchange, class Items, class Slots, class Space>
requires same_views<Items, Slots>
void start(Exchange& halo, const Items& items, const Slots& slots, const Space& space) {
    const auto [from, to, item_bytes] =
        views_or_nothing([&] { return bytes_of_views(items, slots); },
                         [&](const error& why) { halo.fail_start(false, 0, why); });
    if constexpr (is_on_device<Exchange>) {
        halo.start_bytes(from, to, item_bytes, stream_of(space));
    } else {
        space.fence();
        halo.start_bytes(from, to, item_bytes);
    }
}

/// @brief As `start_reverse` of the exchange, likewise.
template <exchange_of_views Exchange, class Slots, class Items, class Op, class Space>
requires same_views<Slots, Items>
void start_reverse(Exchange& halo, const Slots& slots, const Items& items, Op op,
                   const Space& space) {
    using T = typename Items::value_type;
    const auto spans = [&] { return std::pair{span_of_view(slots), span_of_view(items)}; };
    if constexpr (is_on_device<Exchange>) {
        const auto [from, to] = views_or_nothing(spans, [&](const error& why) {
            halo.fail_start(true, sizeof(T), why, fold_of<T, Op>());
        });
        halo.start_reverse(from, to, op, stream_of(space));
    } else {
        const auto [from, to] = views_or_nothing(
            spans, [&](const error& why) { halo.fail_start(true, sizeof(T), why); });
        space.fence();
        halo.start_reverse(from, to, op);
    }
}

/// @brief As `wait` of the exchange.
template <exchange_of_views Exchange, class Space>
void wait(Exchange& halo, const Space& space) {
    if constexpr (is_on_device<Exchange>) {
        halo.wait(stream_of(space));
    } else {
        halo.wait();
    }
}

}  // namespace crossdock::device

/// @file
/// @brief Views of Kokkos as items and slots, in any memory space; compiled by the program, which has Kokkos.
///
///     crossdock::device::neighbor_exchange halo(world, pattern);
///     crossdock::device::start(halo, x, ghosts, space);     // space: an execution space, such as Kokkos::Cuda
///     compute_interior(x);
///     crossdock::device::wait(halo, space);
///
/// An item is an entry of a view of rank 1, or a row of one of rank 2 with LayoutRight. Where Kokkos has no device, take
/// a `crossdock::neighbor_exchange`, with the same functions: they let `space` finish before messages are read.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <span>
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

/// @brief As `start` of the exchange, on the stream of `space`.
template <item_view Items, item_view Slots, class Space>
void start(neighbor_exchange& halo, const Items& items, const Slots& slots, const Space& space) {
    const auto [from, item_bytes] = bytes_of_view(items);
    halo.start_bytes(from, bytes_of_view(slots).first, item_bytes, stream_of(space));
}
template <item_view Items, item_view Slots, class Space>
void start(crossdock::neighbor_exchange& halo, const Items& items, const Slots& slots,
           const Space& space) {
    const auto [from, item_bytes] = bytes_of_view(items);
    space.fence();
    halo.start_bytes(from, bytes_of_view(slots).first, item_bytes);
}

/// @brief As `start_reverse` of the exchange.
template <item_view Slots, item_view Items, class Op, class Space>
void start_reverse(neighbor_exchange& halo, const Slots& slots, const Items& items, Op op,
                   const Space& space) {
    halo.start_reverse(span_of_view(slots), span_of_view(items), op, stream_of(space));
}
template <item_view Slots, item_view Items, class Op, class Space>
void start_reverse(crossdock::neighbor_exchange& halo, const Slots& slots, const Items& items,
                   Op op, const Space& space) {
    space.fence();
    halo.start_reverse(span_of_view(slots), span_of_view(items), op);
}

/// @brief As `wait` of the exchange.
template <class Space>
void wait(neighbor_exchange& halo, const Space& space) {
    halo.wait(stream_of(space));
}
template <class Space>
void wait(crossdock::neighbor_exchange& halo, const Space&) {
    halo.wait();
}

}  // namespace crossdock::device

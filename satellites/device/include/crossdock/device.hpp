/// @file
/// @brief What exchanges need of a device: memory, copies, events, and two kinds of kernels.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/operation.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {
namespace device {

/// @brief A stream of the driver's: a `cudaStream_t`, `CUstream` or `hipStream_t`. Null is its default stream.
using stream = void*;
/// @brief An event of a driver.
using event_handle = void*;

/// @brief Items to copy from places of one array to places of another. Without a list the places are 0, 1, 2 ...
struct copy_call {
    void* to = nullptr;
    const void* from = nullptr;
    const count_t* to_list = nullptr;  ///< in memory of the device, as is everything here
    const count_t* from_list = nullptr;
    count_t num_items = 0;
    std::size_t item_bytes = 0;
};

/// @brief What values are combined by, and their type.
enum class fold_operation { sum, minimum, maximum };
enum class fold_type { int32, int64, float32, float64 };

/// @brief Groups of items to combine into one item each, in the order of the list. Group g consists of the items
/// `list[offsets[g]] … list[offsets[g + 1] - 1]`; no group is empty.
struct fold_call {
    void* to = nullptr;
    const void* from = nullptr;
    const count_t* offsets = nullptr;
    const count_t* list = nullptr;
    count_t num_groups = 0;
    count_t width = 1;  ///< values of an item
    fold_operation operation = fold_operation::sum;
    fold_type type = fold_type::float64;
};

/// @brief A device and its driver.
///
/// What takes a stream is enqueued there and returns; all else is done at once. Memory that an enqueued step uses must
/// live until the step is done.
/// @throws error(errc::invalid_state)  from any call: the driver has refused it, or something enqueued before has
/// failed
/// @throws error(errc::out_of_memory)  from those that allocate
class driver {
  public:
    driver() = default;
    virtual ~driver() = default;
    driver(const driver&) = delete;
    driver& operator=(const driver&) = delete;

    /// @brief "cuda", "hip" or "mock".
    virtual std::string name() const = 0;
    /// @brief The device, and how far this backend is known to work; one line.
    virtual std::string description() const = 0;
    /// @brief Whether kernels may use memory at this address.
    virtual bool can_use(const void* address) = 0;

    virtual void* allocate(std::size_t num_bytes) = 0;
    virtual void free(void* memory) noexcept = 0;
    /// @brief Memory of the host that the device copies from and to while the host goes on.
    virtual void* allocate_pinned(std::size_t num_bytes) = 0;
    virtual void free_pinned(void* memory) noexcept = 0;

    virtual void copy_down(void* pinned, const void* device, std::size_t num_bytes, stream on) = 0;
    virtual void copy_up(void* device, const void* pinned, std::size_t num_bytes, stream on) = 0;

    virtual event_handle make_event() = 0;
    virtual void free_event(event_handle event) noexcept = 0;
    /// @brief The event is complete once all that the stream holds now is done.
    virtual void record(event_handle event, stream on) = 0;
    /// @brief What the stream gets from now on waits for what the event stands for now.
    virtual void let_wait(stream on, event_handle event) = 0;
    /// @brief True for an event that was never recorded.
    virtual bool is_complete(event_handle event) = 0;
    virtual void wait(event_handle event) = 0;

    /// @brief For programs that have no streams of their own.
    virtual stream make_stream() = 0;
    virtual void free_stream(stream one) noexcept = 0;
    virtual void wait_for(stream one) = 0;

    // Virtual, so that libraries call them that are not linked with this one.
    virtual void copy(const copy_call& what, stream on);
    virtual void fold(const fold_call& what, stream on);

    /// @brief Runs a kernel in `num_threads` threads; `copy` and `fold` call it.
    /// @param kernel     its place in `kernel_names`
    /// @param arguments  of `num_bytes` bytes, which the call copies
    virtual void launch(int kernel, const void* arguments, std::size_t num_bytes,
                        count_t num_threads, stream on) = 0;

    static constexpr int num_kernels = 17;
    static const std::array<const char*, num_kernels> kernel_names;
};

/// @brief Opens a device. All who open the same one share it.
/// @param name  "cuda" and "hip": the device of this thread's current context, or else the first one. "mock:17": memory
/// that the processor cannot touch, and streams whose steps are late, in an order that the seed 17 gives; for tests, on
/// any machine. "mock:17:record" forgets to record events, to see whether tests find that; so do "let_wait" and
/// "is_complete". "auto": what CROSSDOCK_DEVICE says, and else the first of "cuda" and "hip" that has a device.
/// @throws error(errc::invalid_argument)  there is no such name
/// @throws error(errc::invalid_state)     there is no such device here, and why
[[nodiscard]] std::shared_ptr<driver> open(const std::string& name = "auto");

/// @brief Operations that a device combines values by, and their types.
template <class T>
concept foldable = std::is_same_v<T, double> || std::is_same_v<T, float> ||
    (std::is_integral_v<T>&& std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

template <class Op>
concept fold_operator =
    std::is_same_v<Op, sum> || std::is_same_v<Op, minimum> || std::is_same_v<Op, maximum>;

/// @brief How a device combines items of type T, which may be arrays of numbers; nothing if it cannot.
template <class T, class Op>
std::optional<fold_call> fold_of() {
    using value = typename operands<T, Op>::type;
    if constexpr (foldable<value> && fold_operator<Op>) {
        fold_call call;
        call.width = static_cast<count_t>(operands<T, Op>::per_item);
        call.operation = std::is_same_v<Op, sum>       ? fold_operation::sum
                         : std::is_same_v<Op, minimum> ? fold_operation::minimum
                                                       : fold_operation::maximum;
        call.type = std::is_same_v<value, double>  ? fold_type::float64
                    : std::is_same_v<value, float> ? fold_type::float32
                    : sizeof(value) == 4           ? fold_type::int32
                                                   : fold_type::int64;
        return call;
    } else {
        return std::nullopt;
    }
}

}  // namespace device
}  // namespace crossdock

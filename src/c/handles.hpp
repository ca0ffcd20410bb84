// What is behind the handles of the C interface, and how its functions begin and end.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../base/watchdog.hpp"
#include "crossdock/crossdock.h"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/extend.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/pattern.hpp"
#include "error_site.hpp"

struct crossdock_context {
    crossdock::context value;
    crossdock::c::error_site errors;
};
struct crossdock_topology {
    crossdock::topology value;
};
struct crossdock_pattern {
    crossdock::pattern value;
};
struct crossdock_plan {
    crossdock::plan value;
};
struct crossdock_neighbor_exchange {
    crossdock::neighbor_exchange value;
    crossdock::c::error_site errors;
};
struct crossdock_gather_scatter {
    crossdock::gather_scatter value;
    crossdock::c::error_site errors;
};

namespace crossdock::c {

/// @brief As `remember_error`, and calls the error handler of a communicator, or of a handle's. MPI that is not
/// initialised, or not for this thread, is not called.
/// @param comm  null: MPI_COMM_SELF
crossdock_status report_error(MPI_Comm comm) noexcept;
crossdock_status report_error(const error_site& errors) noexcept;

/// @brief A bad argument, with the MPI error class that MPI would give it.
class argument_error : public error {
  public:
    argument_error(errc code, int mpi_class, const std::string& message, rank_t rank)
        : error(code, message, rank), mpi_class_(mpi_class) {}

    int mpi_class() const noexcept { return mpi_class_; }

  private:
    int mpi_class_;
};

using crossdock::take_announced;

inline void throw_any(const std::optional<error>& fault) {
    if (fault) throw error(*fault);
}

/// @brief Checks arguments of a start. If they are wrong, this rank takes part with nothing, and the others hear of it.
/// @param item_bytes  what `check` knows of the size then; 0 if nothing
template <class Object, class Check>
void check_start(Object& to_start, bool is_reverse, const std::size_t& item_bytes, Check&& check) {
    try {
        check();
    } catch (...) {
        to_start.fail_start(is_reverse, item_bytes, current_error());
        throw;
    }
}

/// @brief Runs `body`; no exception leaves.
/// @param handle    the one whose communicator's error handler is called
/// @param function  in which lines of CROSSDOCK_WATCHDOG say that a rank waits
template <class Handle, class Body>
crossdock_status guarded(const Handle* handle, Body&& body,
                         const char* function = __builtin_FUNCTION()) noexcept {
    std::optional<watched_wait> now;
    if (watchdog::is_on.load(std::memory_order_relaxed)) [[unlikely]]
        now.emplace(function);
    try {
        body();
        return CROSSDOCK_SUCCESS;
    } catch (...) {
        return handle == nullptr ? report_error(MPI_COMM_SELF) : report_error(handle->errors);
    }
}

/// @brief For a function without a context and without what is made with one.
inline constexpr const crossdock_context* no_handle = nullptr;
template <class Body>
crossdock_status guarded(Body&& body) noexcept {
    return guarded(no_handle, body);
}

/// @brief Throws errc::invalid_argument where a pointer is null.
/// @param what  the argument's name, for the text
/// @param why   the end of the text
void require(const void* pointer, const char* what, const char* why = "");

/// @brief What a handle holds.
template <class Handle>
auto& value_of(Handle* handle, const char* what) {
    require(handle, what, ": it was never created, or is freed");
    return handle->value;
}

/// @brief An array of the caller's; null only if it is empty.
template <class T>
std::span<const T> array(const T* data, count_t length, const char* what) {
    if (length < 0)
        throw error(errc::invalid_argument, std::string(what) + " has length " +
                                                std::to_string(length) + "; the minimum is 0");
    if (length > 0) require(data, what);
    return {data, static_cast<std::size_t>(length)};
}

/// @brief The arrays of several fields, each of so many values.
template <class Byte, class Pointer>
std::vector<std::span<Byte>> fields_of(const Pointer* arrays, count_t num_fields,
                                       count_t num_values, std::size_t value_bytes,
                                       const char* what) {
    const std::size_t num_bytes = static_cast<std::size_t>(num_values) * value_bytes;
    std::vector<std::span<Byte>> fields;
    for (const auto one : array(arrays, num_fields, "fields")) {
        if (num_bytes > 0) require(one, what);
        fields.emplace_back(static_cast<Byte*>(one), num_bytes);
    }
    return fields;
}

/// @brief An element of a list.
/// @param what  for the text: "route 7 is outside [0, 5)"
/// @throws error(errc::invalid_argument)
template <class List>
const auto& element(const List& list, int index, const char* what) {
    if (index < 0 || static_cast<std::size_t>(index) >= list.size())
        throw error(errc::invalid_argument, std::string(what) + " " + std::to_string(index) +
                                                " is outside [0, " + std::to_string(list.size()) +
                                                ")");
    return list[static_cast<std::size_t>(index)];
}

/// @brief Copies of what an array of handles holds.
template <class Handle>
auto values_of(Handle* const* handles, count_t length, const char* what) {
    std::vector<decltype(Handle::value)> values;
    for (const Handle* handle : array(handles, length, what))
        values.push_back(value_of(handle, what));
    return values;
}

/// @brief Gives a new handle through `result`, of parts that other ranks have, too.
/// @tparam Handle  what it makes with other ranks throws no std::bad_alloc
template <class Handle, class... Parts>
void give(Handle** result, Parts&&... parts) {
    *result = with_reserve([&] { return new Handle{std::forward<Parts>(parts)...}; });
}

/// @brief Gives a second object like that of a handle that communicates.
template <class Handle>
crossdock_status give_duplicate(const Handle* handle, const char* what, Handle** result,
                                const char* function = __builtin_FUNCTION()) noexcept {
    const auto body = [&] {
        // First, so that tags stay alike on all ranks.
        auto twin = value_of(handle, what).duplicate();
        require(result, "result");
        give(result, std::move(twin), handle->errors);
    };
    return guarded(handle, body, function);
}

/// @brief Gives a number through `result`; errors as of `guarded`.
template <class Handle, class Number, class Query>
crossdock_status give_number(const Handle* handle, Number* result, Query&& query,
                             const char* function = __builtin_FUNCTION()) noexcept {
    const auto body = [&] {
        require(result, "result");
        *result = static_cast<Number>(query());
    };
    return guarded(handle, body, function);
}
template <class Number, class Query>
crossdock_status give_number(Number* result, Query&& query) noexcept {
    return give_number(no_handle, result, query);
}

/// @brief Gives a text through `result`, to be freed with `crossdock_free`.
void give_text(char** result, const std::string& text);
/// @brief As `give_number`.
/// @param what  the name of `result`, for the text of an error
template <class Handle, class Query>
crossdock_status give_text(const Handle* handle, char** result, const char* what, Query&& query,
                           const char* function = __builtin_FUNCTION()) noexcept {
    const auto body = [&] {
        const auto& text = query();
        require(result, what);
        give_text(result, text);
    };
    return guarded(handle, body, function);
}

/// @brief What an exchange on "auto:measure" has tried.
template <class Exchange>
void give_num_tried(const Exchange& exchange, int* num_tried_routes, int* is_trying) {
    require(num_tried_routes, "num_tried_routes");
    require(is_trying, "is_trying");
    *num_tried_routes = static_cast<int>(exchange.tried_routes().size());
    *is_trying = exchange.is_trying();
}
template <class Exchange>
void give_tried(const Exchange& exchange, int index, char** route, double* seconds) {
    const auto all = exchange.tried_routes();
    require(route, "route");
    require(seconds, "seconds");
    const auto& tried = element(all, index, "tried route");
    give_text(route, tried.route);
    *seconds = tried.seconds;
}

struct free_memory {
    void operator()(void* memory) const { std::free(memory); }
};

/// @brief An array that C frees with `crossdock_free`.
template <class T>
using c_array = std::unique_ptr<T[], free_memory>;

/// @brief Zeros; null if there are none.
template <class T>
c_array<T> zeros(count_t length) {
    if (length == 0) return nullptr;
    c_array<T> array(static_cast<T*>(std::calloc(static_cast<std::size_t>(length), sizeof(T))));
    if (array == nullptr) throw std::bad_alloc();
    return array;
}

/// @brief A copy of values; null if there are none.
template <class T>
c_array<T> copied(const std::vector<T>& values) {
    auto array = zeros<T>(static_cast<count_t>(values.size()));
    std::copy(values.begin(), values.end(), array.get());
    return array;
}

/// @brief Frees a handle.
template <class Handle>
crossdock_status release(Handle* handle) noexcept {
    return guarded([&] { delete handle; });
}

/// @brief Frees a handle of what may be under way, unless that would be lost.
/// @param missing  what would complete it, such as "wait"
template <class Handle, class Object>
crossdock_status release_finished(Handle* handle, Object Handle::*object, const char* missing,
                                  const char* function = __builtin_FUNCTION()) noexcept {
    const auto body = [&] {
        if (handle != nullptr && (handle->*object).is_unfinished())
            throw error(errc::invalid_state,
                        std::string("what is to be freed is under way: call ") + missing +
                            " first; nothing was freed");
        delete handle;
    };
    return guarded(handle, body, function);
}

using crossdock::known_options;

/// @brief A text of the caller's; `unset` if it is a null pointer.
inline std::string text_or(const char* text, const char* unset) {
    return text == nullptr ? unset : text;
}

/// @brief A number that stands for one of an enumeration of `count`.
/// @param what  for the text: "there is no executor 3"
/// @throws error(errc::invalid_argument)
template <class Enumeration>
Enumeration checked_enum(int number, int count, const char* what) {
    if (number < 0 || number >= count)
        throw error(errc::invalid_argument,
                    std::string("there is no ") + what + " " + std::to_string(number));
    return static_cast<Enumeration>(number);
}

/// @brief C has no places: what has no name is one in reports.
inline constexpr std::source_location no_place{};

inline crossdock_traffic to_c(const traffic& t) {
    return {t.messages, t.items, t.inter_region_messages, t.inter_region_items};
}

neighbor_options options_from(const crossdock_neighbor_options* options);
gather_options options_from(const crossdock_gather_options* options);

/// @brief How many neighbors this rank has in a distributed graph; none without one.
struct graph_degrees {
    int num_sources = 0;
    int num_destinations = 0;
};
graph_degrees degrees_of(MPI_Comm graph);

}  // namespace crossdock::c

// What the bindings share: errors, arguments, arrays, waits and contexts.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "collective_call.hpp"
#include "crossdock/context.hpp"
#include "crossdock/extend.hpp"

namespace crossdock::python {

namespace nb = nanobind;

/// @brief The error that stands for the exception in flight, on ranks that only hear of it.
error fault_in_flight();

/// @brief The exception of Python for an error.
nb::object exception_of(const error& fault);

/// @brief Raises `TypeError(message)`.
[[noreturn]] void raise_type_error(const std::string& message);

/// @brief Raises `ValueError(message)`.
[[noreturn]] void raise_value_error(const std::string& message);

/// @brief The module numpy.
nb::handle numpy();

/// @brief What `str()` makes of an object.
std::string text_of(nb::handle object);

/// @brief "int", for the text of a TypeError.
std::string name_of_type(nb::handle object);

/// @brief What the calls on contexts that share a communicator leave behind.
struct context_calls {
    bool is_under_way = false;                        // a thread of Python is in one
    std::vector<std::shared_ptr<void>> dropped = {};  // meanwhile
    collective_call_owner interrupted = {};           // by Ctrl-C, if any
};

/// @brief A context, and its calls.
struct context_state {
    context where;
    std::shared_ptr<context_calls> calls = std::make_shared<context_calls>();

    /// @brief Destroys what was made with the context, once no other thread is in a call on it.
    void drop(std::shared_ptr<void> object) {
        if (calls->is_under_way) calls->dropped.push_back(std::move(object));
    }
};
using shared_context = std::shared_ptr<context_state>;

/// @brief Keeps other threads out of a context for the time of a call: the calls release the GIL.
class call_scope {
  public:
    /// @throws error(errc::invalid_state)  the context is closed, or a thread is in a call on it
    explicit call_scope(context_state& state);
    ~call_scope() {
        calls_->dropped.clear();
        calls_->is_under_way = false;
    }
    call_scope(const call_scope&) = delete;
    call_scope& operator=(const call_scope&) = delete;

  private:
    std::shared_ptr<context_calls> calls_;
};

/// @brief As `call_scope`, for calls that others may count on: first what Ctrl-C has interrupted comes to its end.
class begin_scope {
  public:
    /// @throws error(errc::invalid_state)  as `call_scope`; or another thread's call was interrupted
    /// @throws nb::python_error            Ctrl-C again
    explicit begin_scope(context_state& state);

  private:
    call_scope scope_;
};

/// @brief Runs `body()` without the GIL.
template <class Body>
auto without_gil(Body&& body) {
    nb::gil_scoped_release release;
    return body();
}

/// @brief What a function returned, or what it threw.
template <class T>
struct attempted {
    std::optional<T> value;
    std::optional<error> fault;

    /// @param same  what must be equal on all ranks, in lines as `agree` shows them
    /// Collective; blocks. Throws on all ranks or on none.
    T& agreed(const communicator& comm, const std::string& same) {
        agree(comm, fault, agreement_hash(same), same.c_str());
        return *value;
    }
};

/// @brief Runs `local()`, which may call Python.
template <class Local>
auto attempt(Local&& local) {
    attempted<decltype(local())> result;
    try {
        result.value.emplace(local());
    } catch (...) {
        result.fault = fault_in_flight();
    }
    return result;
}

/// @brief Runs a function that communicates, without the GIL, and Python's signal handlers in between.
/// @param body  as of a `collective_call`
/// @throws nb::python_error  a handler raised, as Ctrl-C does; `body` then goes on in the next `begin_scope`
void run_collective(context_state& state, std::function<void()> body);

/// @brief As `run_collective`.
/// @return what `body` returned
template <class Body>
auto collectively(context_state& state, Body&& body) {
    using result = std::invoke_result_t<std::decay_t<Body>&>;
    const auto own_body = std::make_shared<std::decay_t<Body>>(std::forward<Body>(body));
    if constexpr (std::is_void_v<result>) {
        run_collective(state, [own_body] { (*own_body)(); });
    } else {
        const auto returned = std::make_shared<std::optional<result>>();
        run_collective(state, [own_body, returned] { returned->emplace((*own_body)()); });
        return std::move(**returned);
    }
}

/// @brief Runs `local()`, which may call Python, and with what it returned `use(context, it)`, which communicates.
///
/// If `local` throws on any rank, all ranks throw.
/// @param same  after `local`: what must be equal on all ranks, as `attempted::agreed` takes it
/// @return what `use` returned
/// @throws nb::python_error  as `run_collective`
template <class Local, class Use>
auto agree_and_use(context_state& state, Local&& local, Use use, const std::string& same) {
    const begin_scope scope(state);
    auto given = attempt(local);
    return collectively(state, [where = state.where, given = std::move(given), use = std::move(use),
                                same]() mutable { return use(where, given.agreed(where, same)); });
}

/// @brief Calls `test()` until it returns true, without the GIL, and runs Python's signal handlers in between.
/// @throws nb::python_error  a handler raised, as Ctrl-C does
template <class Test>
void wait_until(Test&& test) {
    const auto test_for_a_while = [&] {
        if (test()) return true;
        const auto end = std::chrono::steady_clock::now() + between_signals;
        do {
            std::this_thread::yield();
            if (test()) return true;
        } while (std::chrono::steady_clock::now() < end);
        return false;
    };
    while (!without_gil(test_for_a_while)) {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

/// @brief Of every argument: None is left to the function, which says what it expects on all ranks.
template <class>
auto with_none() {
    auto one = nb::arg().none();
    return one;
}

/// @brief Binds a function that takes any objects.
template <class Class, class Result, class... Arguments>
void define_static(Class& bound, const char* name, Result (*function)(Arguments...)) {
    bound.def_static(name, function, with_none<Arguments>()...);
}
template <class Result, class... Arguments>
void define(nb::module_& module, const char* name, Result (*function)(Arguments...)) {
    module.def(name, function, with_none<Arguments>()...);
}
template <class Class, class Object, class Result, class... Arguments>
void define(Class& bound, const char* name, Result (Object::*function)(Arguments...)) {
    bound.def(name, function, with_none<Arguments>()...);
}

/// @brief What Python gives, as a T.
/// @param name      the argument's, for the text
/// @param expected  as in "a str"
/// @throws nb::python_error  a TypeError
template <class T>
T argument(nb::handle given, const char* name, const char* expected) {
    T value;
    if (!nb::try_cast<T>(given, value))
        raise_type_error(std::string(name) + " must be " + expected + ", not " +
                         name_of_type(given));
    return value;
}

/// @brief What an argument of a type is, as `argument` expects it.
template <class T>
constexpr const char* words_for() {
    if constexpr (std::is_same_v<T, std::string>) return "a str";
    if constexpr (std::is_same_v<T, bool>) return "a bool";
    if constexpr (std::is_floating_point_v<T>) return "a float";
    return std::is_unsigned_v<T> ? "an int >= 0" : "an int";
}

/// @brief Reads an option; throws as `argument`.
template <class T>
void read(T& option, nb::handle given, const char* name, const char* expected = words_for<T>()) {
    option = argument<T>(given, name, expected);
}

/// @brief The value with the name that Python gives, of a few.
/// @throws nb::python_error  a TypeError, or a ValueError that names them all
template <class T, std::size_t Size>
T choice_of(nb::handle given, const char* name, const std::pair<const char*, T> (&known)[Size]) {
    const auto chosen = argument<std::string>(given, name, "a str");
    std::string all;
    for (std::size_t i = 0; i < Size; ++i) {
        if (chosen == known[i].first) return known[i].second;
        all += (i == 0         ? "\""
                : i + 1 < Size ? ", \""
                               : " or \"") +
               std::string(known[i].first) + "\"";
    }
    raise_value_error(std::string(name) + " must be " + all + ", not \"" + chosen + "\"");
}

/// @brief An object of a bound class.
template <class T>
T& object_argument(nb::handle given, const char* name, const char* expected) {
    T* value = nullptr;
    if (!nb::try_cast<T*>(given, value) || value == nullptr)
        raise_type_error(std::string(name) + " must be " + expected + ", not " +
                         name_of_type(given));
    return *value;
}

/// @brief The operation with a name, for items of `item_bytes` bytes that consist of numbers of a dtype.
/// @throws nb::python_error  a ValueError if there is no such operation, a TypeError if the numbers have none
value_combination value_operation_of(const std::string& name, nb::handle dtype,
                                     std::size_t item_bytes);

/// @brief A ufunc of NumPy that combines items, each an array of numbers; empty where there is none.
class item_ufunc {
  public:
    item_ufunc() = default;
    /// @throws nb::python_error  a TypeError if it does not give such numbers
    item_ufunc(nb::handle ufunc, nb::handle dtype, std::size_t item_bytes);

    explicit operator bool() const noexcept { return function_.is_valid(); }
    nb::handle function() const { return function_; }

    /// @brief into[positions[k]] = function(it, values[k]), for every k in order. Takes the GIL.
    /// @throws error(errc::invalid_argument)  the function raised
    void combine(std::byte* into, std::span<const count_t> positions,
                 const std::byte* values) const;

  private:
    nb::object function_;
    nb::object dtype_;
    std::size_t item_bytes_ = 0;
    count_t width_ = 1;
};

/// @brief What combines items of one kind, in an exchange that many ranks take part in.
class item_operation {
  public:
    /// @param given  a name, a ufunc or an operation of MPI's
    /// @throws nb::python_error  a ValueError if there is no such operation, a TypeError if it is none, or the
    /// numbers have none
    void set(nb::handle given, nb::handle dtype, std::size_t item_bytes);

    const combine_function& function() const noexcept { return combine_; }

    /// @brief Raises what a ufunc has raised since the last call.
    void raise_fault();

  private:
    nb::object given_;
    nb::object dtype_;
    std::size_t item_bytes_ = 0;
    combine_function combine_;
    std::shared_ptr<std::optional<error>> fault_ = std::make_shared<std::optional<error>>();
};

/// @brief A NumPy array; arrays that offer a buffer or DLPack are taken as one that shares their memory.
/// @throws nb::python_error  a TypeError
nb::object as_array(nb::handle given, const char* name);

/// @brief A one-dimensional, contiguous array of int64 with these integers; itself, if it is one.
/// @throws nb::python_error  as `integers`
/// @throws error(errc::count_overflow)  one does not fit
nb::object as_integers(nb::handle given, const char* name);

/// @brief A one-dimensional array of integers, converted to count_t or rank_t.
/// @throws nb::python_error  a TypeError if they are no integers, a ValueError if there are more dimensions
/// @throws error(errc::count_overflow)  one does not fit
template <class Integer>
std::vector<Integer> integers(nb::handle given, const char* name);

/// @brief `numpy.dtype(given)`.
/// @throws nb::python_error  as NumPy, or a TypeError if it has Python objects, or no bytes
nb::object as_dtype(nb::handle given);

/// @brief The bytes of an item of `as_dtype(given)`.
inline std::size_t item_bytes_of(nb::handle given) {
    return nb::cast<std::size_t>(as_dtype(given).attr("itemsize"));
}

/// @brief A new NumPy array with a copy of values.
template <class Integer>
nb::object array_of(std::span<const Integer> values);

/// @brief The items of an array, one for each index of its first dimension.
class item_array {
  public:
    item_array() = default;
    ~item_array() { release(); }
    item_array(const item_array&) = delete;
    item_array& operator=(const item_array&) = delete;

    /// @brief Keeps the memory of an array, until `release`.
    /// @throws nb::python_error  a TypeError or ValueError that names the array
    void hold(nb::handle given, const char* name, bool is_output);
    void release() noexcept;
    /// @brief Gives the memory up for good: messages under way may use it.
    void leak() noexcept;

    /// @throws nb::python_error  a TypeError if dtypes differ, a ValueError if shapes of items differ
    void require_same_items(const item_array& other) const;
    /// @throws nb::python_error  a ValueError
    void require_no_overlap(const item_array& other) const;
    /// @brief That there are as many items as something has; the rest is for the text.
    /// @throws nb::python_error  a ValueError
    void require_length(count_t length, const char* something_has, const char* what) const;

    nb::handle dtype() const { return dtype_; }
    count_t length() const noexcept { return view_.shape[0]; }
    std::size_t item_bytes() const noexcept { return item_bytes_; }
    std::span<std::byte> bytes() const noexcept {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    std::string shape_of_items() const;

    const char* name_ = "";
    nb::object dtype_;
    Py_buffer view_{};
    std::size_t item_bytes_ = 0;
};

void bind_context(nb::module_& module);
void bind_pattern(nb::module_& module);
void bind_neighbor(nb::module_& module);
void bind_gather(nb::module_& module);
void bind_sparse(nb::module_& module);
void bind_array(nb::module_& module);
void bind_stream(nb::module_& module);
void bind_planning(nb::module_& module);
void bind_calibration(nb::module_& module);

}  // namespace crossdock::python

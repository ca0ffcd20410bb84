#include "support.hpp"

#include <algorithm>

namespace crossdock::python {

// Kept until the process ends: it outlives every module.
nb::handle numpy() {
    static PyObject* const module = nb::module_::import_("numpy").release().ptr();
    return module;
}

namespace {

nb::handle array_type() {
    static PyObject* const type = nb::object(numpy().attr("ndarray")).release().ptr();
    return type;
}

nb::object dtype_of(nb::handle array) {
    static PyObject* const name = PyUnicode_InternFromString("dtype");  // found faster than a text
    PyObject* const found = PyObject_GetAttr(array.ptr(), name);
    if (found == nullptr) throw nb::python_error();
    return nb::steal(found);
}

void refuse_objects(nb::handle dtype, const char* name) {
    if (nb::cast<bool>(dtype.attr("hasobject")))
        raise_type_error(std::string(name) + " has dtype " + text_of(dtype) +
                         ": Python objects cannot travel as bytes");
}

template <class Integer>
constexpr const char* integer_dtype = sizeof(Integer) == 8 ? "int64" : "int32";

}  // namespace

void raise_type_error(const std::string& message) {
    PyErr_SetString(PyExc_TypeError, message.c_str());
    throw nb::python_error();
}

void raise_value_error(const std::string& message) {
    PyErr_SetString(PyExc_ValueError, message.c_str());
    throw nb::python_error();
}

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

std::string name_of_type(nb::handle object) { return text_of(object.type().attr("__name__")); }

nb::object exception_of(const error& fault) {
    return nb::module_::import_("crossdock.errors")
        .attr("from_code")(static_cast<int>(fault.code()), fault.what(), fault.rank());
}

error fault_in_flight() {
    try {
        throw;
    } catch (nb::python_error& raised) {
        std::string message = text_of(raised.value());
        if (raised.matches(PyExc_MemoryError)) return {errc::out_of_memory, message};
        if (raised.matches(PyExc_OSError)) return {errc::file_error, message};
        return {errc::invalid_argument, message};
    } catch (...) {
        return current_error();
    }
}

call_scope::call_scope(context_state& state) : calls_(state.calls) {
    if (!state.where.is_open()) throw error(errc::invalid_state, "the context is closed");
    if (calls_->is_under_way)
        throw error(errc::invalid_state,
                    "another thread, or a signal handler's caller, is in a call on this context");
    calls_->is_under_way = true;
}

namespace {

// Returns when the call is done; until then a signal handler may raise.
void finish(collective_call_owner& call) {
    while (!without_gil([&] { return call->run(); })) {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

}  // namespace

begin_scope::begin_scope(context_state& state) : scope_(state) {
    auto& interrupted = state.calls->interrupted;
    if (!interrupted) return;
    if (!interrupted->is_of_this_thread())
        throw error(errc::invalid_state,
                    "Ctrl-C has interrupted a call of another thread, which has to end it first");
    finish(interrupted);
    interrupted.reset();  // nobody waits for its result, nor for its error
}

void run_collective(context_state& state, std::function<void()> body) {
    collective_call_owner call(new collective_call(std::move(body)));
    try {
        finish(call);
    } catch (...) {
        state.calls->interrupted = std::move(call);
        throw;
    }
    if (const auto thrown = call->thrown()) std::rethrow_exception(thrown);
}

nb::object as_array(nb::handle given, const char* name) {
    if (PyObject_TypeCheck(given.ptr(), reinterpret_cast<PyTypeObject*>(array_type().ptr())))
        return nb::borrow(given);
    if (PyObject_CheckBuffer(given.ptr()) || nb::hasattr(given, "__array_interface__"))
        return numpy().attr("asarray")(given);
    if (nb::hasattr(given, "__dlpack__")) return numpy().attr("from_dlpack")(given);
    raise_type_error(std::string(name) +
                     " must be a NumPy array, or offer a buffer or DLPack, not " +
                     name_of_type(given) + "; of a list of numbers pass numpy.asarray");
}

namespace {

// A one-dimensional, contiguous array of a dtype that holds the integers.
template <class Integer>
nb::object as_integers_of(nb::handle given, const char* name) {
    const nb::object array = numpy().attr("asarray")(given);
    const nb::object dtype = array.attr("dtype");
    const std::string kind = text_of(dtype.attr("kind"));
    const bool is_empty = nb::cast<std::size_t>(array.attr("size")) == 0;
    if (!is_empty && kind != "i" && kind != "u")
        raise_type_error(std::string(name) + " must be integers, not " + text_of(dtype));
    if (nb::cast<int>(array.attr("ndim")) != 1)
        raise_value_error(std::string(name) + " must have one dimension, not " +
                          text_of(array.attr("ndim")));
    const auto bytes = nb::cast<std::size_t>(dtype.attr("itemsize"));
    const bool fits = bytes < sizeof(Integer) || (bytes == sizeof(Integer) && kind == "i");
    if (!is_empty && !fits) {
        for (const char* const extreme : {"min", "max"}) {
            const nb::object bound = array.attr(extreme)();
            Integer value = 0;
            if (!nb::try_cast(nb::int_(bound), value))
                throw error(errc::count_overflow, std::string(name) + " has " + text_of(bound) +
                                                      ", which does not fit into " +
                                                      integer_dtype<Integer>);
        }
    }
    return numpy().attr("ascontiguousarray")(array, integer_dtype<Integer>);
}

}  // namespace

nb::object as_integers(nb::handle given, const char* name) {
    return as_integers_of<count_t>(given, name);
}

template <class Integer>
std::vector<Integer> integers(nb::handle given, const char* name) {
    item_array items;
    items.hold(as_integers_of<Integer>(given, name), name, false);
    const auto* const first = reinterpret_cast<const Integer*>(items.bytes().data());
    return {first, first + items.length()};
}
template std::vector<rank_t> integers<rank_t>(nb::handle, const char*);
template std::vector<count_t> integers<count_t>(nb::handle, const char*);

nb::object as_dtype(nb::handle given) {
    nb::object dtype = numpy().attr("dtype")(given);
    refuse_objects(dtype, "dtype");
    if (nb::cast<std::size_t>(dtype.attr("itemsize")) == 0)
        raise_type_error("dtype " + text_of(dtype) + " has no bytes");
    return dtype;
}

template <class Integer>
nb::object array_of(std::span<const Integer> values) {
    nb::object array = numpy().attr("empty")(values.size(), integer_dtype<Integer>);
    item_array room;
    room.hold(array, "result", true);
    std::ranges::copy(std::as_bytes(values), room.bytes().begin());
    return array;
}
template nb::object array_of<rank_t>(std::span<const rank_t>);
template nb::object array_of<count_t>(std::span<const count_t>);

void item_array::hold(nb::handle given, const char* name, bool is_output) {
    release();
    name_ = name;
    const nb::object array = as_array(given, name);
    nb::object dtype = dtype_of(array);
    if (!dtype_.is(dtype)) {
        refuse_objects(dtype, name);
        dtype_ = std::move(dtype);
    }
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_STRIDED_RO) != 0) throw nb::python_error();
    const auto fail = [&](const std::string& what) {
        release();
        raise_value_error(std::string(name) + what);
    };
    if (view_.ndim == 0) fail(" has no dimension: items are what its first one counts");
    if (!PyBuffer_IsContiguous(&view_, 'C'))
        fail(" is not C-contiguous: pass numpy.ascontiguousarray of it");
    if (is_output && view_.readonly) fail(" is read-only");
    item_bytes_ = static_cast<std::size_t>(view_.itemsize);
    for (int d = 1; d < view_.ndim; ++d) item_bytes_ *= static_cast<std::size_t>(view_.shape[d]);
    if (item_bytes_ == 0) fail(" has items of 0 bytes");
}

void item_array::release() noexcept {
    PyBuffer_Release(&view_);  // nothing where it holds nothing
}

void item_array::leak() noexcept { view_ = {}; }

std::string item_array::shape_of_items() const {
    std::string text = "(";
    for (int d = 1; d < view_.ndim; ++d) text += std::to_string(view_.shape[d]) + ",";
    return text + ")";
}

void item_array::require_same_items(const item_array& other) const {
    if (!dtype_.is(other.dtype_) && !dtype_.equal(other.dtype_))
        raise_type_error(std::string(name_) + " has dtype " + text_of(dtype_) + ", but " +
                         other.name_ + " " + text_of(other.dtype_));
    if (!std::equal(view_.shape + 1, view_.shape + view_.ndim, other.view_.shape + 1,
                    other.view_.shape + other.view_.ndim))
        raise_value_error(std::string(name_) + " has items of shape " + shape_of_items() +
                          ", but " + other.name_ + " " + other.shape_of_items());
}

void item_array::require_no_overlap(const item_array& other) const {
    const auto mine = bytes(), others = other.bytes();
    if (!mine.empty() && !others.empty() && mine.data() < others.data() + others.size() &&
        others.data() < mine.data() + mine.size())
        raise_value_error(std::string(name_) + " and " + other.name_ + " share memory");
}

void item_array::require_length(count_t expected, const char* something_has,
                                const char* what) const {
    if (length() == expected) return;
    raise_value_error(std::string(name_) + " has " + std::to_string(length()) + " items, but " +
                      something_has + " " + std::to_string(expected) + " " + what);
}

}  // namespace crossdock::python

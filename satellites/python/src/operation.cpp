#include "crossdock/extend.hpp"

#include <algorithm>
#include <complex>
#include <cstring>

#include "support.hpp"

namespace crossdock::python {

namespace {

// Of items that are `width` numbers each.
template <class T, class Op>
combine_function combining(count_t width, Op op) {
    return [op, width](std::byte* to, const std::byte* from, const copy_list& list) {
        combine_in_steps(reinterpret_cast<T*>(to), width, reinterpret_cast<const T*>(from),
                         {width, width}, list, op);
    };
}

// Of one item.
template <class T, class Op>
value_combination combining_value(count_t width, Op op) {
    return [op, width](std::byte* into, const std::byte* value) {
        // Values may lie anywhere in a message.
        for (count_t i = 0; i < width; ++i) {
            T a, b;
            std::memcpy(&a, into + i * static_cast<count_t>(sizeof(T)), sizeof(T));
            std::memcpy(&b, value + i * static_cast<count_t>(sizeof(T)), sizeof(T));
            const T both = op(a, b);
            std::memcpy(into + i * static_cast<count_t>(sizeof(T)), &both, sizeof(T));
        }
    };
}

// Of items in lists, and of single ones; empty where numbers of a type have no such operation.
struct combination {
    combine_function items;
    value_combination value;
};

combination find_combination(const std::string& name, nb::handle dtype, std::size_t item_bytes) {
    std::string known;
    bool is_known = false;
    for_each_operation<int>([&](const auto& one) {
        known += std::string(known.empty() ? "" : ", ") + one.name;
        is_known = is_known || name == one.name;
    });
    if (!is_known) raise_value_error("there is no operation \"" + name + "\"; there are " + known);
    const nb::object base = dtype.attr("base");
    combination found;
    const auto find = [&](auto number) {
        using T = decltype(number);
        const auto width = static_cast<count_t>(item_bytes / sizeof(T));
        for_each_operation<T>([&](const auto& one) {
            if (name == one.name)
                found = {combining<T>(width, one.apply), combining_value<T>(width, one.apply)};
        });
    };
    if (nb::cast<bool>(base.attr("isnative")) && base.attr("fields").is_none()) {
        const char kind = text_of(base.attr("kind")).front();
        const auto bytes = nb::cast<std::size_t>(base.attr("itemsize"));
        if (kind == 'c' && bytes == 8) find(std::complex<float>());
        if (kind == 'c' && bytes == 16) find(std::complex<double>());
        // "no" and "yes" have no sum.
        if (kind == 'b' && name != "sum" && name != "prod") find(std::uint8_t());
        with_number({kind, bytes}, find);
    }
    if (found.items) return found;
    raise_type_error("values of dtype " + text_of(dtype) + " have no operation \"" + name + "\"");
}

}  // namespace

value_combination value_operation_of(const std::string& name, nb::handle dtype,
                                     std::size_t item_bytes) {
    return find_combination(name, dtype, item_bytes).value;
}

item_ufunc::item_ufunc(nb::handle ufunc, nb::handle dtype, std::size_t item_bytes)
    : function_(nb::borrow(ufunc)), dtype_(dtype.attr("base")), item_bytes_(item_bytes) {
    width_ = static_cast<count_t>(item_bytes / nb::cast<std::size_t>(dtype_.attr("itemsize")));
    const nb::object none = numpy().attr("empty")(0, dtype_);
    const nb::object given = function_(none, none).attr("dtype");
    if (!nb::cast<bool>(numpy().attr("can_cast")(given, dtype_, "same_kind")))
        raise_type_error(text_of(function_.attr("__name__")) + " makes " + text_of(given) +
                         " of values of dtype " + text_of(dtype_));
}

void item_ufunc::combine(std::byte* into, std::span<const count_t> positions,
                         const std::byte* values) const {
    if (positions.empty()) return;
    const nb::gil_scoped_acquire acquired;
    const auto as_items = [&](const std::byte* memory, count_t length) {
        auto* const begin = const_cast<char*>(reinterpret_cast<const char*>(memory));
        const auto num_bytes = length * static_cast<count_t>(item_bytes_);
        const nb::object view = nb::steal(PyMemoryView_FromMemory(begin, num_bytes, PyBUF_WRITE));
        const nb::object numbers = numpy().attr("frombuffer")(view, dtype_);
        return nb::object(numbers.attr("reshape")(length, width_));
    };
    try {
        const count_t end = *std::ranges::max_element(positions) + 1;
        function_.attr("at")(as_items(into, end), array_of<count_t>(positions),
                             as_items(values, static_cast<count_t>(positions.size())));
    } catch (nb::python_error& raised) {
        throw error(errc::invalid_argument, text_of(raised.value()));
    }
}

namespace {

// Of lists: what is combined lies one after the other for the call.
combine_function combining_by(const item_ufunc& ufunc, std::size_t item_bytes,
                              const std::shared_ptr<std::optional<error>>& fault) {
    // Executors copy and drop what combines without the GIL.
    const std::shared_ptr<item_ufunc> function(new item_ufunc(ufunc), [](item_ufunc* last) {
        const nb::gil_scoped_acquire acquired;
        delete last;
    });
    return
        [function, item_bytes, fault](std::byte* to, const std::byte* from, const copy_list& list) {
            std::vector<count_t> positions;
            std::vector<std::byte> values;
            list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
                from_piece.with_lookup([&](auto from_index) {
                    to_piece.with_lookup([&](auto to_index) {
                        for (count_t k = 0; k < to_piece.size; ++k) {
                            positions.push_back(to_index(k));
                            const std::byte* const value =
                                from + from_index(k) * static_cast<count_t>(item_bytes);
                            values.insert(values.end(), value, value + item_bytes);
                        }
                    });
                });
            });
            try {
                function->combine(to, positions, values.data());
            } catch (const error& raised) {
                if (!*fault) *fault = raised;
            }
        };
}

}  // namespace

// Finding one asks Python much.
void item_operation::set(nb::handle given, nb::handle dtype, std::size_t item_bytes) {
    if (combine_ && item_bytes == item_bytes_ && dtype.is(dtype_) &&
        (given.is(given_) || given.equal(given_)))
        return;
    const nb::object op =
        nb::module_::import_("crossdock._operations").attr("resolve")(given, dtype);
    combine_ = nb::isinstance<nb::str>(op)
                   ? find_combination(nb::cast<std::string>(op), dtype, item_bytes).items
                   : combining_by(item_ufunc(op, dtype, item_bytes), item_bytes, fault_);
    given_ = nb::borrow(given);
    dtype_ = nb::borrow(dtype);
    item_bytes_ = item_bytes;
}

void item_operation::raise_fault() {
    if (const auto raised = std::exchange(*fault_, std::nullopt)) throw *raised;
}

}  // namespace crossdock::python

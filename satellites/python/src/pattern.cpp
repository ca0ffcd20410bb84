#include "crossdock/pattern.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "crossdock/make_pattern.hpp"
#include "support.hpp"

namespace crossdock::python {

namespace {

struct owned_range {
    count_t first = 0;
    count_t length = 0;
};

// What a rank owns: a range, or indices in any order.
struct owned_and_needed {
    std::optional<owned_range> range;
    std::vector<count_t> owned;
    std::vector<count_t> needed;
};

std::optional<owned_range> as_range(nb::handle owned) {
    if (!PyRange_Check(owned.ptr())) return std::nullopt;
    const auto field = [&](const char* name) {
        count_t value = 0;
        if (!nb::try_cast(owned.attr(name), value))
            throw error(errc::count_overflow,
                        std::string("owned.") + name + " does not fit into int64");
        return value;
    };
    if (nb::len(owned) > 0 && field("step") != 1) return std::nullopt;
    return owned_range{field("start"), static_cast<count_t>(nb::len(owned))};
}

pattern from_needed(context_state& state, nb::handle owned, nb::handle needed) {
    const auto read_all = [&] {
        owned_and_needed result;
        result.range = as_range(owned);
        if (!result.range) result.owned = integers<count_t>(owned, "owned");
        result.needed = integers<count_t>(needed, "needed");
        return result;
    };
    const auto make = [](const context& where, const owned_and_needed& given) {
        return given.range ? pattern_from_needed(where, given.range->first, given.range->length,
                                                 given.needed)
                           : pattern_from_needed(where, given.owned, given.needed);
    };
    return agree_and_use(state, read_all, make, "a pattern");
}

pattern from_neighbor_alltoallv(rank_t rank, rank_t num_ranks, nb::handle destinations,
                                nb::handle send_counts, nb::handle send_displacements,
                                nb::handle sources, nb::handle receive_counts,
                                nb::handle receive_displacements, nb::handle send_ids) {
    const auto to = integers<rank_t>(destinations, "destinations"),
               from = integers<rank_t>(sources, "sources");
    const auto send_n = integers<count_t>(send_counts, "send_counts");
    const auto send_at = integers<count_t>(send_displacements, "send_displacements");
    const auto receive_n = integers<count_t>(receive_counts, "receive_counts");
    const auto receive_at = integers<count_t>(receive_displacements, "receive_displacements");
    const auto ids = integers<count_t>(send_ids, "send_ids");
    return pattern_from_neighbor_alltoallv(rank, num_ranks,
                                           {to, send_n, send_at, from, receive_n, receive_at, ids});
}

std::string path_argument(nb::handle given) {
    PyObject* encoded = nullptr;
    if (PyUnicode_FSConverter(given.ptr(), &encoded) == 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
        PyErr_Clear();
        raise_type_error("path must be a str or an os.PathLike, not " + name_of_type(given));
    }
    const auto bytes = nb::steal<nb::bytes>(encoded);
    return {bytes.c_str(), bytes.size()};
}

void write(const pattern& p, context_state& state, nb::handle path, nb::handle dtype) {
    const auto read_all = [&] { return std::pair(path_argument(path), item_bytes_of(dtype)); };
    const auto write_file = [p](const context& where, const auto& to) {
        write_pattern(where, p, to.first, static_cast<count_t>(to.second));
    };
    agree_and_use(state, read_all, write_file, "writing a pattern");
}

std::tuple<nb::object, nb::object, nb::object> arrays_of(const neighbor_list& list) {
    return {array_of<rank_t>(list.ranks), array_of<count_t>(list.offsets),
            array_of<count_t>(list.indices)};
}

}  // namespace

void bind_pattern(nb::module_& module) {
    nb::class_<pattern> bound(module, "Pattern");
    define_static(bound, "from_needed", &from_needed);
    define_static(bound, "from_neighbor_alltoallv", &from_neighbor_alltoallv);
    bound.def_ro("rank", &pattern::rank)
        .def_ro("num_ranks", &pattern::num_ranks)
        .def_ro("num_items", &pattern::num_items)
        .def_ro("num_slots", &pattern::num_slots)
        .def_prop_ro("sends", [](const pattern& p) { return arrays_of(p.sends); })
        .def_prop_ro("receives", [](const pattern& p) { return arrays_of(p.receives); })
        .def("write", &write, nb::arg(), nb::arg().none(), nb::arg().none())
        .def("is_equal", [](const pattern& a, const pattern& b) { return a == b; });
}

}  // namespace crossdock::python

#include "crossdock/gslib/gslib.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/extend.hpp"
#include "crossdock/gather_scatter.hpp"
#include "succeeds.hpp"

using crossdock::context_of;
using crossdock::count_t;
using crossdock::errc;
using crossdock::error;
using crossdock::gather_scatter;
using crossdock::shared_context;
using crossdock::gslib::last_error;
using crossdock::gslib::required;
using crossdock::gslib::succeeds;

namespace {

crossdock::gather_options options_of(gs_method method, bool unique) {
    crossdock::gather_options options;
    options.unique = unique;
    if (method == gs_pairwise) options.route = "direct";
    if (method == gs_crystal_router) {
        options.route = "hypercube";
        options.method = "owners";
    }
    return options;
}

std::span<const count_t> ids_of(const slong* id, uint n) {
    static_assert(sizeof(slong) == sizeof(count_t));
    if (n > 0) required(id, "id");
    return {reinterpret_cast<const count_t*>(id), n};
}

// The lowest node of a binary tree above two others, as gslib numbers them.
struct lowest_above {
    template <class T>
    T operator()(const T& a, const T& b) const {
        if (a == T{0} || b == T{0}) return a == T{0} ? b : a;
        auto one = static_cast<uint>(a);
        auto other = static_cast<uint>(b);
        while (one != other) (one < other ? other : one) /= 2;
        return static_cast<T>(one);
    }
};

// An active operation, or a free place for one.
struct started_operation {
    gs_data* of = nullptr;
    std::size_t object = 0;
};

std::vector<started_operation>& started() {
    static std::vector<started_operation> all;
    return all;
}

}  // namespace

struct gs_data {
    gs_data(const slong* id, uint n, const comm& ranks, bool unique, gs_method method)
        : where(context_of(ranks.c)) {
        const auto ids = ids_of(id, n);
        objects.emplace_back(where->where, ids, options_of(method, unique));
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (ids[i] < 0) flagged.push_back(i);
    }

    // An object that is idle. Collective where it is a new one.
    std::size_t idle_object() {
        for (std::size_t i = 0; i < objects.size(); ++i)
            if (!objects[i].is_active()) return i;
        objects.push_back(objects.front().duplicate());
        return objects.size() - 1;
    }

    std::shared_ptr<shared_context> where;
    std::vector<gather_scatter> objects;
    std::vector<std::size_t> flagged;
};

namespace {

// The arrays of a call: several, or several values of an id in one.
struct call_arrays {
    std::span<void* const> arrays;
    unsigned values_per_id = 1;
};

template <class T, class Op>
std::size_t start_with(gs_data& data, const call_arrays& values, bool transposed, Op op,
                       T identity) {
    const auto next = data.idle_object();
    auto& object = data.objects[next];
    const auto length = static_cast<std::size_t>(object.num_ids()) * values.values_per_id;
    std::vector<std::span<T>> fields;
    for (void* const array : values.arrays) {
        if (length > 0) required(static_cast<T*>(array), "u");
        fields.emplace_back(static_cast<T*>(array), length);
    }
    if (!transposed)
        for (auto& field : fields)
            for (const auto i : data.flagged)
                std::ranges::fill(field.subspan(i * values.values_per_id, values.values_per_id),
                                  identity);
    object.start_fields(fields, op,
                        {.transposed = transposed, .values_per_id = values.values_per_id});
    return next;
}

template <class T>
std::size_t start_typed(gs_data& data, const call_arrays& values, gs_op op, bool transposed) {
    using limits = std::numeric_limits<T>;
    switch (op) {
        case gs_add: return start_with<T>(data, values, transposed, crossdock::sum{}, 0);
        case gs_mul: return start_with<T>(data, values, transposed, crossdock::product{}, 1);
        case gs_min:
            return start_with<T>(data, values, transposed, crossdock::minimum{}, limits::max());
        case gs_max:
            return start_with<T>(data, values, transposed, crossdock::maximum{}, limits::lowest());
        case gs_bpr: return start_with<T>(data, values, transposed, lowest_above{}, 0);
        default:
            throw error(errc::invalid_argument,
                        "there is no operation " + std::to_string(static_cast<int>(op)) +
                            "; there are gs_add, gs_mul, gs_min, gs_max and gs_bpr");
    }
}

std::size_t start(gs_data* handle, const call_arrays& values, gs_dom dom, gs_op op,
                  unsigned transpose) {
    auto& data = required(handle, "the handle");
    const bool transposed = transpose != 0;
    switch (dom) {
        case gs_double: return start_typed<double>(data, values, op, transposed);
        case gs_float: return start_typed<float>(data, values, op, transposed);
        case gs_int: return start_typed<int>(data, values, op, transposed);
        case gs_long: return start_typed<long>(data, values, op, transposed);
        case gs_long_long: return start_typed<long long>(data, values, op, transposed);
        default:
            throw error(errc::invalid_argument,
                        "there is no type " + std::to_string(static_cast<int>(dom)) +
                            "; there are gs_double, gs_float, gs_int, gs_long and gs_long_long");
    }
}

void combine(gs_data* handle, const call_arrays& values, gs_dom dom, gs_op op, unsigned transpose) {
    if (values.values_per_id == 0 || values.arrays.empty()) return;
    succeeds([&] {
        const auto object = start(handle, values, dom, op, transpose);
        handle->objects[object].wait();
    });
}

void start_request(gs_data* handle, const call_arrays& values, gs_dom dom, gs_op op,
                   unsigned transpose, int* request) {
    succeeds([&] {
        required(request, "the request") = -1;
        if (values.values_per_id == 0 || values.arrays.empty()) return;
        auto& all = started();
        auto place = std::ranges::find(all, nullptr, &started_operation::of);
        if (place == all.end()) place = all.insert(all.end(), started_operation{});
        place->object = start(handle, values, dom, op, transpose);
        place->of = handle;
        *request = static_cast<int>(place - all.begin());
    });
}

}  // namespace

gs_data* gs_setup(const slong* id, uint n, const comm* comm, int unique, gs_method method, int) {
    gs_data* made = nullptr;
    succeeds([&] { made = new gs_data(id, n, required(comm, "comm"), unique != 0, method); });
    return made;
}

void gs_free(gs_data* handle) { delete handle; }

void gs_unique(slong* id, uint n, const comm* comm) {
    succeeds([&] {
        const auto where = context_of(required(comm, "comm").c);
        crossdock::flag_duplicates(where->where,
                                   {reinterpret_cast<count_t*>(id), ids_of(id, n).size()});
    });
}

void gs(void* u, gs_dom dom, gs_op op, unsigned transpose, gs_data* handle, buffer*) {
    combine(handle, {{&u, 1}, 1}, dom, op, transpose);
}

void gs_vec(void* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose, gs_data* handle,
            buffer*) {
    combine(handle, {{&u, 1}, vn}, dom, op, transpose);
}

void gs_many(void* const* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose, gs_data* handle,
             buffer*) {
    combine(handle, {{u, vn}, 1}, dom, op, transpose);
}

void igs(void* u, gs_dom dom, gs_op op, unsigned transpose, gs_data* handle, buffer*,
         int* request) {
    start_request(handle, {{&u, 1}, 1}, dom, op, transpose, request);
}

void igs_vec(void* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose, gs_data* handle,
             buffer*, int* request) {
    start_request(handle, {{&u, 1}, vn}, dom, op, transpose, request);
}

void igs_many(void* const* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose,
              gs_data* handle, buffer*, int* request) {
    start_request(handle, {{u, vn}, 1}, dom, op, transpose, request);
}

void gs_wait(int request) {
    succeeds([&] {
        if (request == -1) return;
        auto& all = started();
        if (request < 0 || static_cast<std::size_t>(request) >= all.size() ||
            !all[static_cast<std::size_t>(request)].of)
            throw error(errc::invalid_argument, "request " + std::to_string(request) +
                                                    " is not active; pass what igs has returned");
        const auto [of, object] = std::exchange(all[static_cast<std::size_t>(request)], {});
        of->objects[object].wait();
    });
}

const char* crossdock_gslib_last_error() { return last_error().c_str(); }

// What programs for gslib's crystal router do with the records that came: they sort them, and reduce numbers of them.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "crossdock/communicator.hpp"
#include "crossdock/gslib/gslib.h"
#include "succeeds.hpp"

using crossdock::errc;
using crossdock::error;
using crossdock::gslib::required;
using crossdock::gslib::succeeds;

namespace {

template <class Body>
void with_type(gs_dom dom, Body&& body) {
    switch (dom) {
        case gs_double: return body(double{}, MPI_DOUBLE);
        case gs_float: return body(float{}, MPI_FLOAT);
        case gs_int: return body(int{}, MPI_INT);
        case gs_long: return body(long{}, MPI_LONG);
        case gs_long_long: return body(long_long{}, MPI_LONG_LONG);
        default:
            throw error(errc::invalid_argument,
                        "there is no type " + std::to_string(static_cast<int>(dom)) +
                            "; there are gs_double, gs_float, gs_int, gs_long and gs_long_long");
    }
}

MPI_Op operation_of(gs_op op) {
    switch (op) {
        case gs_add: return MPI_SUM;
        case gs_mul: return MPI_PROD;
        case gs_min: return MPI_MIN;
        case gs_max: return MPI_MAX;
        default:
            throw error(errc::invalid_argument,
                        "operation " + std::to_string(static_cast<int>(op)) +
                            " is none of gs_add, gs_mul, gs_min and gs_max");
    }
}

template <class T>
T identity_of(gs_op op) {
    using limits = std::numeric_limits<T>;
    return op == gs_add   ? T{0}
           : op == gs_mul ? T{1}
           : op == gs_min ? limits::max()
                          : limits::lowest();
}

// Less than, equal to or more than zero, as the values that two records have at one place.
template <class T>
int compare_as(const std::byte* a, const std::byte* b) {
    T first, second;
    std::memcpy(&first, a, sizeof first);
    std::memcpy(&second, b, sizeof second);
    return first < second ? -1 : second < first ? 1 : 0;
}

int compare(const std::byte* a, const std::byte* b, const crossdock_sort_key& by) {
    a += by.offset;
    b += by.offset;
    switch (by.type) {
        case 0: return compare_as<uint>(a, b);
        case 1: return compare_as<unsigned long long>(a, b);
        case 2: return compare_as<float>(a, b);
        case 3: return compare_as<double>(a, b);
        default:
            throw error(errc::invalid_argument,
                        "a field's type is 0, 1, 2 or 3, not " + std::to_string(by.type));
    }
}

}  // namespace

void comm_allreduce(const comm* ranks, gs_dom dom, gs_op op, void* v, uint vn, void*) {
    succeeds([&] {
        with_type(dom, [&](auto, MPI_Datatype type) {
            CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, v, static_cast<int>(vn), type,
                                        operation_of(op), required(ranks, "comm").c));
        });
    });
}

void comm_scan(void* scan, const comm* ranks, gs_dom dom, gs_op op, const void* v, uint vn, void*) {
    succeeds([&] {
        with_type(dom, [&]<class T>(T, MPI_Datatype type) {
            const auto& all = required(ranks, "comm");
            const auto operation = operation_of(op);
            const int length = static_cast<int>(vn);
            auto* const below = static_cast<T*>(scan);
            CROSSDOCK_MPI(MPI_Exscan(v, below, length, type, operation, all.c));
            if (all.id == 0) std::fill_n(below, vn, identity_of<T>(op));
            CROSSDOCK_MPI(MPI_Allreduce(v, below + vn, length, type, operation, all.c));
        });
    });
}

void crossdock_sarray_sort(void* A, size_t n, size_t size, const crossdock_sort_key* by,
                           int num_keys) {
    succeeds([&] {
        if (n == 0) return;
        auto* const records = &required(static_cast<std::byte*>(A), "A");
        const std::span keys(by, static_cast<std::size_t>(num_keys));
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            for (const auto& key : keys)
                if (const int found = compare(records + a * size, records + b * size, key))
                    return found < 0;
            return false;
        });
        std::vector<std::byte> sorted(n * size);
        for (std::size_t i = 0; i < n; ++i)
            std::memcpy(sorted.data() + i * size, records + order[i] * size, size);
        std::memcpy(records, sorted.data(), sorted.size());
    });
}

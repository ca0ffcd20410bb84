// What Fortran calls, with arguments by reference. A handle is a number from 0; -1 is none.
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "crossdock/gslib/gslib.h"
#include "succeeds.hpp"

namespace {

using crossdock::errc;
using crossdock::error;
using crossdock::gslib::succeeds;

std::vector<gs_data*>& handles() {
    static std::vector<gs_data*> all;
    return all;
}

std::vector<crystal*>& routers() {
    static std::vector<crystal*> all;
    return all;
}

crystal* router_of(sint handle) {
    const auto& all = routers();
    return handle >= 0 && static_cast<std::size_t>(handle) < all.size()
               ? all[static_cast<std::size_t>(handle)]
               : nullptr;
}

struct value_type {
    gs_dom dom;
    std::size_t bytes;
};

// Fortran numbers types from 1, of which gslib knows three, and has single precision as 0.
value_type type_of(int dom) {
    switch (dom) {
        case 0: return {gs_float, sizeof(float)};
        case 1: return {gs_double, sizeof(double)};
        case 2: return {gs_sint, sizeof(sint)};
        case 3: return {gs_slong, sizeof(slong)};
        default: return {gs_dom_n, 0};
    }
}

gs_op operation_of(int op) { return op >= 1 && op <= gs_op_n ? gs_op(op - 1) : gs_op_n; }

// In MPI 5 the numbers of Fortran's handles are C's, and the header of its ABI has no other function for them.
MPI_Comm comm_of(sint handle) {
#if MPI_VERSION >= 5
    return MPI_Comm_fromint(handle);
#else
    return MPI_Comm_f2c(handle);
#endif
}

// A communicator of Fortran's. A wrong number of ranks is refused, as by null.
comm ranks_of(const sint* handle, const sint* np) {
    comm ranks{0, 0, comm_of(*handle)};
    int num_ranks = 0;
    MPI_Comm_size(ranks.c, &num_ranks);
    if (num_ranks != *np) ranks.c = MPI_COMM_NULL;
    return ranks;
}

// Arrays that come as arguments of their own.
constexpr unsigned most_arrays = 6;

unsigned as_count(const sint* n) { return *n > 0 ? static_cast<unsigned>(*n) : 0; }

unsigned array_count(const sint* n) {
    return as_count(n) < most_arrays ? as_count(n) : most_arrays;
}

// A column of numbers for each of several tuples.
template <class T>
struct columns {
    T* values;
    std::size_t height;

    // Column i becomes the one that was at order[i].
    void permute(const std::vector<std::size_t>& order) {
        const std::vector<T> were(values, values + height * order.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            std::copy_n(were.begin() + static_cast<std::ptrdiff_t>(height * order[i]), height,
                        values + height * i);
    }
};

// Sorts by the numbers that the keys name; those of `longs` follow on those of `integers`.
void sort_tuples(std::size_t num_tuples, columns<sint> integers, columns<slong> longs,
                 columns<double> reals, std::span<const sint> keys) {
    succeeds([&] {
        for (const auto key : keys)
            if (key < 1 || static_cast<std::size_t>(key) > integers.height + longs.height)
                throw error(errc::invalid_argument,
                            "key " + std::to_string(key) + " is no integer of a tuple, which has " +
                                std::to_string(integers.height + longs.height));
        const auto number = [&](std::size_t tuple, sint key) -> slong {
            const auto row = static_cast<std::size_t>(key) - 1;
            return row < integers.height
                       ? integers.values[tuple * integers.height + row]
                       : longs.values[tuple * longs.height + row - integers.height];
        };
        std::vector<std::size_t> order(num_tuples);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            for (const auto key : keys)
                if (number(a, key) != number(b, key)) return number(a, key) < number(b, key);
            return false;
        });
        integers.permute(order);
        longs.permute(order);
        reals.permute(order);
    });
}

}  // namespace

gs_data* gs_hf2c(sint handle) {
    const auto& all = handles();
    return handle >= 0 && static_cast<std::size_t>(handle) < all.size()
               ? all[static_cast<std::size_t>(handle)]
               : nullptr;
}

extern "C" {
#pragma GCC visibility push(default)

void fgslib_gs_setup_pick_(sint* handle, const slong* id, const sint* n, const sint* comm_handle,
                           const sint* np, const sint* method) {
    const auto ranks = ranks_of(comm_handle, np);
    auto* const made = gs_setup(id, as_count(n), &ranks, 0, gs_method(*method), 0);
    *handle = made ? static_cast<sint>(handles().size()) : -1;
    if (made) handles().push_back(made);
}

void fgslib_gs_setup_(sint* handle, const slong* id, const sint* n, const sint* comm_handle,
                      const sint* np) {
    const sint method = gs_auto;
    fgslib_gs_setup_pick_(handle, id, n, comm_handle, np, &method);
}

void fgslib_gs_free_(const sint* handle) {
    gs_free(gs_hf2c(*handle));
    if (gs_hf2c(*handle)) handles()[static_cast<std::size_t>(*handle)] = nullptr;
}

void fgslib_gs_unique_(slong* id, const sint* n, const sint* comm_handle, const sint* np) {
    const auto ranks = ranks_of(comm_handle, np);
    gs_unique(id, as_count(n), &ranks);
}

void fgslib_gs_op_(const sint* handle, void* u, const sint* dom, const sint* op,
                   const sint* transpose) {
    gs(u, type_of(*dom).dom, operation_of(*op), *transpose != 0, gs_hf2c(*handle), nullptr);
}

void fgslib_gs_op_vec_(const sint* handle, void* u, const sint* n, const sint* dom, const sint* op,
                       const sint* transpose) {
    gs_vec(u, as_count(n), type_of(*dom).dom, operation_of(*op), *transpose != 0, gs_hf2c(*handle),
           nullptr);
}

// NOLINTBEGIN(readability-function-size): as Fortran has it.
void fgslib_gs_op_many_(const sint* handle, void* u1, void* u2, void* u3, void* u4, void* u5,
                        void* u6, const sint* n, const sint* dom, const sint* op,
                        const sint* transpose) {
    void* const arrays[most_arrays] = {u1, u2, u3, u4, u5, u6};
    gs_many(arrays, array_count(n), type_of(*dom).dom, operation_of(*op), *transpose != 0,
            gs_hf2c(*handle), nullptr);
}

void fgslib_igs_op_many_(const sint* handle, void* u1, void* u2, void* u3, void* u4, void* u5,
                         void* u6, const sint* n, const sint* dom, const sint* op,
                         const sint* transpose, int* request) {
    void* const arrays[most_arrays] = {u1, u2, u3, u4, u5, u6};
    igs_many(arrays, array_count(n), type_of(*dom).dom, operation_of(*op), *transpose != 0,
             gs_hf2c(*handle), nullptr, request);
}
// NOLINTEND(readability-function-size)

void fgslib_gs_op_fields_(const sint* handle, void* u, const sint* stride, const sint* n,
                          const sint* dom, const sint* op, const sint* transpose) {
    std::vector<void*> arrays;
    const auto step = static_cast<std::size_t>(as_count(stride)) * type_of(*dom).bytes;
    for (unsigned i = 0; i < as_count(n); ++i) arrays.push_back(static_cast<char*>(u) + i * step);
    gs_many(arrays.data(), as_count(n), type_of(*dom).dom, operation_of(*op), *transpose != 0,
            gs_hf2c(*handle), nullptr);
}

void fgslib_igs_op_(const sint* handle, void* u, const sint* dom, const sint* op,
                    const sint* transpose, int* request) {
    igs(u, type_of(*dom).dom, operation_of(*op), *transpose != 0, gs_hf2c(*handle), nullptr,
        request);
}

void fgslib_igs_op_vec_(const sint* handle, void* u, const sint* n, const sint* dom, const sint* op,
                        const sint* transpose, int* request) {
    igs_vec(u, as_count(n), type_of(*dom).dom, operation_of(*op), *transpose != 0, gs_hf2c(*handle),
            nullptr, request);
}

void fgslib_gs_op_wait_(const int* request) { gs_wait(*request); }

void fgslib_crystal_setup_(sint* handle, const sint* comm_handle, const sint* np) {
    const auto ranks = ranks_of(comm_handle, np);
    auto* const made = new crystal{};
    crystal_init(made, &ranks);
    *handle = made->communicator ? static_cast<sint>(routers().size()) : -1;
    if (made->communicator)
        routers().push_back(made);
    else
        delete made;
}

void fgslib_crystal_free_(const sint* handle) {
    auto* const router = router_of(*handle);
    if (!router) return;
    crystal_free(router);
    delete router;
    routers()[static_cast<std::size_t>(*handle)] = nullptr;
}

// NOLINTBEGIN(readability-function-size): as Fortran has it.
void fgslib_crystal_tuple_transfer_(const sint* handle, sint* n, const sint* max, sint* vi,
                                    const sint* mi, slong* vl, const sint* ml, double* vr,
                                    const sint* mr, const sint* key) {
    const std::size_t num = as_count(n), room = as_count(max);
    array integers{vi, num, room}, longs{vl, num, room}, reals{vr, num, room};
    array* const arrays[] = {&integers, &longs, &reals};
    const unsigned sizes[] = {as_count(mi) * unsigned{sizeof(sint)},
                              as_count(ml) * unsigned{sizeof(slong)},
                              as_count(mr) * unsigned{sizeof(double)}};
    const auto place = (as_count(key) - 1) * unsigned{sizeof(sint)};
    const bool has_key = *key >= 1 && *key <= *mi;
    const auto num_came =
        sarray_transfer_many(arrays, sizes, 3, 1, 0, 1, place,
                             has_key ? reinterpret_cast<const uint*>(vi + *key - 1) : nullptr,
                             sizes[0], router_of(*handle));
    // If it has failed, all tuples are still there.
    *n = static_cast<sint>(std::max<std::size_t>(num_came, integers.n));
}

void fgslib_crystal_ituple_transfer_(const sint* handle, sint* tuples, const sint* m, sint* n,
                                     const sint* max, const sint* key) {
    const sint none = 0;
    fgslib_crystal_tuple_transfer_(handle, n, max, tuples, m, nullptr, &none, nullptr, &none, key);
}

void fgslib_crystal_tuple_sort_(const sint*, const sint* n, sint* vi, const sint* mi, slong* vl,
                                const sint* ml, double* vr, const sint* mr, const sint* keys,
                                const sint* num_keys) {
    sort_tuples(as_count(n), {vi, as_count(mi)}, {vl, as_count(ml)}, {vr, as_count(mr)},
                {keys, as_count(num_keys)});
}
// NOLINTEND(readability-function-size)

void fgslib_crystal_ituple_sort_(const sint*, sint* tuples, const sint* m, const sint* n,
                                 const sint* keys, const sint* num_keys) {
    sort_tuples(as_count(n), {tuples, as_count(m)}, {nullptr, 0}, {nullptr, 0},
                {keys, as_count(num_keys)});
}

#pragma GCC visibility pop
}

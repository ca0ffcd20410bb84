// What Fortran calls, with arguments by reference. A handle is a number from 0; -1 is none.
#include <vector>

#include "crossdock/gslib/gslib.h"

namespace {

std::vector<gs_data*>& handles() {
    static std::vector<gs_data*> all;
    return all;
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

// A communicator of Fortran's. A wrong number of ranks is refused, as by null.
comm ranks_of(const MPI_Fint* handle, const sint* np) {
    comm ranks{0, 0, MPI_Comm_f2c(*handle)};
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

}  // namespace

gs_data* gs_hf2c(sint handle) {
    const auto& all = handles();
    return handle >= 0 && static_cast<std::size_t>(handle) < all.size()
               ? all[static_cast<std::size_t>(handle)]
               : nullptr;
}

extern "C" {
#pragma GCC visibility push(default)

void fgslib_gs_setup_pick_(sint* handle, const slong* id, const sint* n,
                           const MPI_Fint* comm_handle, const sint* np, const sint* method) {
    const auto ranks = ranks_of(comm_handle, np);
    auto* const made = gs_setup(id, as_count(n), &ranks, 0, gs_method(*method), 0);
    *handle = made ? static_cast<sint>(handles().size()) : -1;
    if (made) handles().push_back(made);
}

void fgslib_gs_setup_(sint* handle, const slong* id, const sint* n, const MPI_Fint* comm_handle,
                      const sint* np) {
    const sint method = gs_auto;
    fgslib_gs_setup_pick_(handle, id, n, comm_handle, np, &method);
}

void fgslib_gs_free_(const sint* handle) {
    gs_free(gs_hf2c(*handle));
    if (gs_hf2c(*handle)) handles()[static_cast<std::size_t>(*handle)] = nullptr;
}

void fgslib_gs_unique_(slong* id, const sint* n, const MPI_Fint* comm_handle, const sint* np) {
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

#pragma GCC visibility pop
}

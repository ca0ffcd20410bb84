/// @file
/// @brief Gather-scatter under the names of gslib, for C and C++: a program written for them
/// compiles with this header in place of gslib's, and links with libcrossdock_gslib.
///
/// The header lies in a folder of its own, which a program may search for "gslib.h".
///
/// - Types are those of gslib built with GSLIB_USE_MPI and GSLIB_USE_GLOBAL_LONG_LONG, and symbols
///   have its usual prefix: `gs` is the function `gslib_gs`, and Fortran calls `fgslib_gs_op`.
/// - Nothing is printed and nothing ends the program. What failed, and why, says
///   `crossdock_gslib_last_error`; a handle that could not be made is a null pointer, and calls with
///   it fail. What fails collectively fails on all ranks.
/// - Buffers and `verbose` are accepted and not used.
/// - The environment variables of crossdock apply, such as CROSSDOCK_ROUTE.
#ifndef CROSSDOCK_GSLIB_H
#define CROSSDOCK_GSLIB_H

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned int uint;  ///< lengths of local arrays, and ranks
typedef int sint;           ///< `uint` with a sign
typedef long long slong;    ///< ids
typedef long long long_long;

/// @brief Types of values.
typedef enum { gs_double, gs_float, gs_int, gs_long, gs_long_long, gs_dom_n } gs_dom;
#define gs_sint gs_int
#define gs_slong gs_long_long

/// @brief Operations. `gs_bpr` takes values to be nodes of a binary tree in which n is above 2n and
/// 2n + 1, and finds the lowest that is above both; 0 is none.
typedef enum { gs_add, gs_mul, gs_min, gs_max, gs_bpr, gs_op_n } gs_op;

/// @brief How values travel: `gs_pairwise` is the route `direct`, `gs_crystal_router` the route
/// `hypercube` to owners and back; the others are what crossdock chooses.
typedef enum { gs_auto, gs_pairwise, gs_crystal_router, gs_all_reduce } gs_method;

typedef MPI_Comm comm_ext;

/// @brief A communicator.
struct comm {
    uint id;     ///< this rank
    uint np;     ///< the number of ranks
    comm_ext c;  ///< a duplicate of the user's
};

/// @brief A piece of memory.
struct array {
    void* ptr;
    size_t n, max;
};
typedef struct array buffer;
#define null_array \
    { 0, 0, 0 }
#define null_buffer null_array

/// @brief A gather-scatter that is set up.
struct gs_data;

#define gs gslib_gs
#define gs_vec gslib_gs_vec
#define gs_many gslib_gs_many
#define igs gslib_igs
#define igs_vec gslib_igs_vec
#define igs_many gslib_igs_many
#define gs_wait gslib_gs_wait
#define gs_setup gslib_gs_setup
#define gs_free gslib_gs_free
#define gs_unique gslib_gs_unique
#define gs_hf2c gslib_gs_hf2c

#pragma GCC visibility push(default)

/// @brief Sets a gather-scatter up; see `gather_scatter`.
/// @param id      0: takes no part; negative: flagged
/// @param comm    may be freed before the result
/// @param unique  not 0: as though `gs_unique` had been called for a copy of the ids
/// @return null if it could not be made
/// @par Collective
/// Yes; blocks.
struct gs_data* gs_setup(const slong* id, uint n, const struct comm* comm, int unique,
                         gs_method method, int verbose);

/// @brief Frees it; a null pointer is nothing to free.
/// @par Collective
/// Yes; may block.
void gs_free(struct gs_data* handle);

/// @brief Flags all copies of every id but one.
/// @par Collective
/// Yes; blocks.
void gs_unique(slong* id, uint n, const struct comm* comm);

/// @brief Combines the values u[i] of all copies of an id, in place.
///
/// With `transpose` 0 flagged copies do not give and get the result, or what changes nothing where
/// all are flagged: 0 for `gs_add`. With 1 they give and do not get.
/// @par Collective
/// Yes; blocks.
void gs(void* u, gs_dom dom, gs_op op, unsigned transpose, struct gs_data* handle, buffer* buf);

/// @brief As `gs`, of `vn` values to each id: u[i * vn] ... u[i * vn + vn - 1].
void gs_vec(void* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose, struct gs_data* handle,
            buffer* buf);

/// @brief As `gs`, of `vn` arrays in one exchange.
void gs_many(void* const* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose,
             struct gs_data* handle, buffer* buf);

/// @brief Start the same; `gs_wait` completes it. Several may be active, of one `gs_data` too.
/// @param request  out: what `gs_wait` takes; -1 if nothing was started
/// @par Collective
/// Yes; the first of a kind blocks, and so does one that starts while as many as never before of
/// the same `gs_data` are active.
void igs(void* u, gs_dom dom, gs_op op, unsigned transpose, struct gs_data* handle, buffer* buf,
         int* request);
void igs_vec(void* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose, struct gs_data* handle,
             buffer* buf, int* request);
void igs_many(void* const* u, unsigned vn, gs_dom dom, gs_op op, unsigned transpose,
              struct gs_data* handle, buffer* buf, int* request);

/// @brief Completes what was started; -1 is nothing.
void gs_wait(int request);

/// @brief The `gs_data` of a handle that Fortran has; null if it has none.
struct gs_data* gs_hf2c(sint handle);

/// @brief What the last call of this thread that failed was about; an empty text if none did.
const char* crossdock_gslib_last_error(void);

#pragma GCC visibility pop

/// @brief Duplicates `ce`. Collective.
static inline void comm_init(struct comm* c, comm_ext ce) {
    int n = 0;
    MPI_Comm_dup(ce, &c->c);
    MPI_Comm_rank(c->c, &n);
    c->id = (uint)n;
    MPI_Comm_size(c->c, &n);
    c->np = (uint)n;
}

static inline void comm_free(struct comm* c) { MPI_Comm_free(&c->c); }

/// @brief Makes `*d` another duplicate. Collective.
static inline void comm_dup(struct comm* d, const struct comm* s) { comm_init(d, s->c); }

static inline void comm_barrier(const struct comm* c) { MPI_Barrier(c->c); }

static inline double comm_time(void) { return MPI_Wtime(); }

static inline void buffer_init(buffer* b, size_t max) {
    b->n = 0;
    b->max = max;
    b->ptr = malloc(max);
}

static inline void buffer_free(buffer* b) { free(b->ptr); }

#ifndef tmalloc
#define tmalloc(type, count) ((type*)malloc((count) * sizeof(type)))
#define tcalloc(type, count) ((type*)calloc((count), sizeof(type)))
#endif

#ifdef __cplusplus
}
#endif

#endif

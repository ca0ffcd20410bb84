/// @file
/// @brief Gather-scatter and crystal router under the names of gslib, for C and C++: a program written for them
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

#include <limits.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What programs ask of the configuration of gslib.
#ifndef GSLIB_USE_MPI
#define GSLIB_USE_MPI
#endif
#ifndef GSLIB_USE_GLOBAL_LONG_LONG
#define GSLIB_USE_GLOBAL_LONG_LONG
#endif

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

/// @brief Where messages are routed, and those of one call.
struct crystal {
    struct comm comm;    ///< a duplicate
    buffer data;         ///< of `uint`, of which there are `data.n`
    buffer work;         ///< not used
    void* communicator;  ///< crossdock's own
};

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
#define comm_allreduce gslib_comm_allreduce
#define comm_scan gslib_comm_scan
#define crystal_init gslib_crystal_init
#define crystal_free gslib_crystal_free
#define crystal_router gslib_crystal_router
#define sarray_transfer_many gslib_sarray_transfer_many
#define sarray_transfer_ gslib_sarray_transfer_
#define sarray_transfer_ext_ gslib_sarray_transfer_ext_

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

/// @brief Makes a router for the ranks of `comm`, which may be freed before it.
/// @par Collective
/// Yes; blocks.
void crystal_init(struct crystal* cr, const struct comm* comm);

/// @par Collective
/// Yes; may block.
void crystal_free(struct crystal* cr);

/// @brief Sends messages to ranks that do not expect them.
///
/// `data` has one message after the other: the rank that it goes to, the one that it comes from, the number m of
/// values, and these m values. Afterwards `data` has those that came, which are ordered by the rank that sent them;
/// those of one rank stay in their order. If the call fails, on all ranks, `data` is as before.
/// @par Collective
/// Yes; blocks.
void crystal_router(struct crystal* cr);

/// @brief Sends each T of an array to the rank that its field of type `uint` names; the array then has those that came,
/// in the order of `crystal_router`.
/// @param A        `struct array*`, whose memory is from `malloc`; it grows as needed
/// @param set_src  whether the field then names the rank that sent the record; else it names this rank
#define sarray_transfer(T, A, field, set_src, cr) \
    sarray_transfer_(A, sizeof(T), offsetof(T, field), set_src, cr)

/// @brief As above, with the ranks in an array of `uint`, `stride` bytes apart.
#define sarray_transfer_ext(T, A, proc, stride, cr) \
    sarray_transfer_ext_(A, sizeof(T), proc, stride, cr)

/// @brief What both are made of: records whose parts lie in `num` arrays.
/// @param A      record i is A[0][i], A[1][i] ...
/// @param size   bytes of an entry of each array; equal on all ranks
/// @param fixed  not 0: arrays do not grow, and get no more than the smallest `max`
/// @param ext    0: `proc` is `p_off` bytes behind the start of A[0], and `proc_stride` is size[0]
/// @return how many records came, which may be more than a fixed array has; 0 if the call failed
/// @par Collective
/// Yes; blocks.
uint sarray_transfer_many(struct array* const* A, const unsigned* size, unsigned num, int fixed,
                          int ext, int set_src, unsigned p_off, const uint* proc,
                          unsigned proc_stride, struct crystal* cr);
void sarray_transfer_(struct array* A, unsigned size, unsigned p_off, int set_src,
                      struct crystal* cr);
void sarray_transfer_ext_(struct array* A, unsigned size, const uint* proc, unsigned proc_stride,
                          struct crystal* cr);

/// @brief Combines v[i] of all ranks, in place, by any operation but `gs_bpr`, which leaves v as it is and sets the
/// last error.
/// @par Collective
/// Yes; blocks.
void comm_allreduce(const struct comm* c, gs_dom dom, gs_op op, void* v, uint vn, void* buf);

/// @brief scan[i] combines v[i] of the ranks before this one, and scan[vn + i] those of all; operations as above. On
/// rank 0 scan[i] is the operation's identity.
/// @par Collective
/// Yes; blocks.
void comm_scan(void* scan, const struct comm* c, gs_dom dom, gs_op op, const void* v, uint vn,
               void* buf);

/// @brief A field of a record: `uint` if its type is 0, `unsigned long long` if 1, `float` if 2, `double` if 3.
struct crossdock_sort_key {
    size_t offset;
    int type;
};

/// @brief Sorts `n` records of type T by fields, the first one first. Equal records stay in their order. `buf` is not
/// used.
#define sarray_sort(T, A, n, field, is_long, buf) \
    crossdock_sarray_sort_by(A, n, sizeof(T), buf, {offsetof(T, field), is_long})
#define sarray_sort_2(T, A, n, field1, is_long1, field2, is_long2, buf)             \
    crossdock_sarray_sort_by(A, n, sizeof(T), buf, {offsetof(T, field1), is_long1}, \
                             {offsetof(T, field2), is_long2})
#define crossdock_sarray_sort_by(A, n, size, buf, ...)                                   \
    do {                                                                                 \
        const struct crossdock_sort_key keys_[] = {__VA_ARGS__};                         \
        (void)(buf);                                                                     \
        crossdock_sarray_sort(A, n, size, keys_, (int)(sizeof keys_ / sizeof keys_[0])); \
    } while (0)
void crossdock_sarray_sort(void* A, size_t n, size_t size, const struct crossdock_sort_key* by,
                           int num_keys);

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

static inline void comm_free(struct comm* c) {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (!is_over) MPI_Comm_free(&c->c);
}

/// @brief Makes `*d` another duplicate. Collective.
static inline void comm_dup(struct comm* d, const struct comm* s) { comm_init(d, s->c); }

static inline void comm_barrier(const struct comm* c) { MPI_Barrier(c->c); }

static inline double comm_time(void) { return MPI_Wtime(); }

static inline void* crossdock_array_resize(struct array* a, size_t max, size_t size) {
    a->max = max;
    return a->ptr = realloc(a->ptr, max * size);
}

static inline void crossdock_array_init(struct array* a, size_t max, size_t size) {
    a->ptr = NULL;
    a->n = 0;
    crossdock_array_resize(a, max, size);
}

// Grows by half, so that an array that grows again and again is not always copied.
static inline void* crossdock_array_reserve(struct array* a, size_t min, size_t size) {
    const size_t half_more = a->max + a->max / 2;
    if (a->max >= min) return a->ptr;
    return crossdock_array_resize(a, half_more < min ? min : half_more, size);
}

static inline void crossdock_array_cat(struct array* a, const void* more, size_t n, size_t size) {
    char* const to = (char*)crossdock_array_reserve(a, a->n + n, size);
    if (n > 0) memcpy(to + a->n * size, more, n * size);
    a->n += n;
}

#define array_init(T, a, max) crossdock_array_init(a, max, sizeof(T))
#define array_resize(T, a, max) crossdock_array_resize(a, max, sizeof(T))
#define array_reserve(T, a, min) crossdock_array_reserve(a, min, sizeof(T))
#define array_cat(T, a, more, n) crossdock_array_cat(a, more, n, sizeof(T))
#define array_free(a) (free((a)->ptr))
#define buffer_init(b, max) array_init(char, b, max)
#define buffer_resize(b, max) array_resize(char, b, max)
#define buffer_reserve(b, min) array_reserve(char, b, min)
#define buffer_free(b) array_free(b)

#ifndef tmalloc
#define tmalloc(type, count) ((type*)malloc((count) * sizeof(type)))
#define tcalloc(type, count) ((type*)calloc((count), sizeof(type)))
#define trealloc(type, pointer, count) ((type*)realloc((pointer), (count) * sizeof(type)))
#endif

#ifdef __cplusplus
}
#endif

#endif

/// @file
/// @brief crossdock for C: contexts, patterns, routes, plans, and what communicates: the neighbor exchange, the
/// gather-scatter, the sparse exchange, distributed arrays and streams.
///
/// - The order of arguments is that of C++: first where (a context), then what (a pattern, arrays), then how (options),
///   then what is to be filled.
/// - Every function returns a `crossdock_status` and gives results through its last pointers, which stay untouched
///   unless it succeeds; the sparse exchanges say where they differ. `crossdock_last_error()` says what went wrong.
/// - Errors: before a function returns another status than CROSSDOCK_SUCCESS, it calls an error handler of MPI's, as
///   MPI's own functions do. By default (MPI_ERRORS_ARE_FATAL) the program ends with the sentence. A program that looks
///   at statuses sets MPI_ERRORS_RETURN. A function that takes a context, or what was made with one, calls the handler
///   of the communicator that the context was made of. It is the handler of the time of the error; if that communicator
///   was freed, the last that it had, and this gets the context's duplicate in its place. All other functions, and
///   those that get a null handle, call that of MPI_COMM_SELF. The handler's error code is of class MPI_ERR_OTHER, and
///   MPI_Error_string gives its sentence, up to 150 characters. There is one code for each status, and its text is that
///   of the last such error. No handler is called before MPI_Init, after MPI_Finalize, or by threads that MPI's thread
///   support lets make no calls.
/// - A null pointer where a value is needed is CROSSDOCK_INVALID_ARGUMENT, as is a negative length. Arrays of length 0
///   may be null.
/// - A call that is not legal in an object's state is CROSSDOCK_INVALID_STATE; tables say which calls are.
/// - Counts, displacements, indices and lengths are in items, never in bytes, unless the name ends in `_bytes`.
/// - A structure of options begins with its size, which its initialiser sets:
///
///       crossdock_neighbor_options options = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;
///       options.route = "three_step";
///
///   Where the library knows more fields than the program, these have their defaults. Where the program knows more,
///   these must be zero bytes: otherwise, and where the size is 0, it is CROSSDOCK_INVALID_ARGUMENT. A null pointer
///   means the defaults. Options are equal on all ranks, and texts and arrays in them need not outlive the call.
/// - Collective: all ranks of the context together, in one order, call the functions that take a context, and those
///   that duplicate, prepare, start, read, write, update, step, gather, scatter or close something. They block, but for
///   starts and where a comment says otherwise; a start waits for nobody, but to make ready what is not. All other
///   functions are this rank's alone, and so are queries of a context, `crossdock_context_with_topology` and
///   `_with_nodes`, `_free`, and the calls of a stream's port.
/// - A function that blocks collectively returns the same error on all ranks or on none; only where the object itself,
///   its first argument, is a null pointer does a rank fail alone. Starting, testing and waiting for an exchange
///   communicate without agreeing: if a start fails on a rank, it takes part with nothing, those that need something of
///   it get CROSSDOCK_PEER_FAILED when they test or wait, and the next start is as usual. Errors of a stream's ports
///   are the rank's own.
/// - What is started has `_test`, which makes progress and gives 1 if it is complete, otherwise 0; `_wait`, which
///   completes it; and `_is_active`, which gives 1 from a start until it is complete. Beside each start is a function
///   that starts and waits. Until then the input must not change, the output must not be read, and a datatype must not
///   be freed.
/// - A context stays open as long as what was made with it is in use. What a function creates is the caller's and goes
///   with the matching `_free`, in any order; a null pointer is nothing to free. `_free` does not communicate; what is
///   active must not be freed. Texts and arrays are freed with `crossdock_free`, unless a comment says "never freed".
#ifndef CROSSDOCK_CROSSDOCK_H
#define CROSSDOCK_CROSSDOCK_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "crossdock/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/// @brief What went wrong; the numbers never change.
typedef enum crossdock_status {
    CROSSDOCK_SUCCESS = 0,
    CROSSDOCK_INVALID_ARGUMENT = 1,    ///< a value is outside what the function accepts
    CROSSDOCK_INVALID_TOPOLOGY = 2,    ///< a topology is malformed or does not fit the ranks
    CROSSDOCK_UNKNOWN_ROUTE = 3,       ///< no registered route has this name
    CROSSDOCK_INVALID_ROUTE = 4,       ///< a route's parameters do not fit the ranks
    CROSSDOCK_SIZE_MISMATCH = 5,       ///< arguments that must agree in length do not
    CROSSDOCK_RANK_OUT_OF_RANGE = 6,   ///< a source or destination is not a rank
    CROSSDOCK_INDEX_OUT_OF_RANGE = 7,  ///< an item, slot or global index is outside its array
    CROSSDOCK_COUNT_MISMATCH = 8,      ///< a sender and its receiver disagree about the count
    CROSSDOCK_COUNT_OVERFLOW = 9,      ///< a number does not fit the type MPI or a plan needs
    CROSSDOCK_FILE_ERROR = 10,         ///< a file is missing or unreadable
    CROSSDOCK_PARSE_ERROR = 11,        ///< a file or text is malformed or truncated
    CROSSDOCK_INVALID_STATE = 12,      ///< the call is not legal in the object's present state
    CROSSDOCK_INVALID_PLAN = 13,       ///< a plan does not do what its pattern asks
    CROSSDOCK_MPI_FAILURE = 14,        ///< an MPI call failed
    CROSSDOCK_OUT_OF_MEMORY = 15,      ///< an allocation failed
    CROSSDOCK_INTERNAL = 16,           ///< a fault of the library itself
    CROSSDOCK_HANDLER_FAILED = 17,     ///< a handler of a stream has failed
    CROSSDOCK_PEER_FAILED = 18,        ///< another rank failed, and what this one needs is missing
    CROSSDOCK_TIMEOUT = 19,            ///< a wait lasted longer than CROSSDOCK_WATCHDOG allows
    CROSSDOCK_RANK_FAILED = 20         ///< a rank has ended, and MPI tells of it
} crossdock_status;

/// @brief What a region is to be.
typedef enum crossdock_locality {
    CROSSDOCK_NODE = 0,    ///< ranks that can share memory
    CROSSDOCK_SOCKET = 1,  ///< ranks bound to one processor package
    CROSSDOCK_NUMA = 2,    ///< ranks bound to the cores of one NUMA node
    CROSSDOCK_L3 = 3       ///< ranks bound to the cores of one L3 cache
} crossdock_locality;

typedef struct crossdock_context crossdock_context;    ///< ranks, their topology, their machine
typedef struct crossdock_topology crossdock_topology;  ///< which rank is in which region
typedef struct crossdock_pattern crossdock_pattern;    ///< what one rank sends and receives
typedef struct crossdock_plan crossdock_plan;          ///< what one rank does in an exchange
typedef struct crossdock_neighbor_exchange crossdock_neighbor_exchange;  ///< a plan ready to run
typedef struct crossdock_gather_scatter crossdock_gather_scatter;        ///< who shares which ids
typedef struct crossdock_distributed_array
    crossdock_distributed_array;  ///< an array spread over all ranks
typedef struct crossdock_prepared_batch
    crossdock_prepared_batch;                      ///< requests for the same entries
typedef struct crossdock_stream crossdock_stream;  ///< the process's end, with all workers
typedef struct crossdock_stream_port crossdock_stream_port;  ///< one worker's end of a stream

#pragma GCC visibility push(default)

/// @brief Makes `into` both values. Any order and grouping of values may happen.
typedef void (*crossdock_combine)(void* user, void* into, const void* value);

/// @brief The sentence of this thread's last error, "" if there was none; valid until the next one.
const char* crossdock_last_error(void);

/// @brief The status in lower case, e.g. "count_mismatch"; "unknown" for other numbers.
const char* crossdock_status_name(int status);

/// @brief Frees a text or an array that the library gave.
crossdock_status crossdock_free(void* memory);

/// @brief The version of the library that is linked, which may be newer than this header's.
crossdock_status crossdock_version(int* major, int* minor, int* patch);

/// @brief What the library is that is linked, as one line of JSON: version, commit, build and MPI. `configuration` of
/// crossdock/context.hpp says what is in it. May be called before MPI_Init and after MPI_Finalize.
/// @param result  freed with `crossdock_free`
crossdock_status crossdock_configuration(char** result);

/// @name For libraries on top of this one
///
/// Bindings of other languages and interfaces with other names report errors in their own way, and find some mistakes
/// themselves.
/// @{

/// @brief MPI's error class of this thread's last error, e.g. MPI_ERR_RANK, or MPI_ERR_TRUNCATE for too little room;
/// MPI_SUCCESS if there was none.
int crossdock_last_error_class(void);

/// @brief Whether errors of this thread call MPI's error handlers, as they do at first.
/// @return what it was before
int crossdock_call_error_handlers(int are_called);

/// @brief Fails with a status and a sentence, as a function without a context.
crossdock_status crossdock_fail(int status, const char* sentence);

/// @brief The next call of this thread fails with a status and a sentence, as if this rank's arguments were wrong: a
/// start takes part with nothing, and a collective call fails on all ranks. Of several errors the first counts.
///
/// That call is the next one of `start_arrays` and `start_reverse_arrays` of a neighbor exchange; starts of a
/// gather-scatter or a prepared batch; sparse exchanges; `read`, `write`, `update`, `update_with`, `step` and `local`
/// of a distributed array; `gather`, `scatter` and `fetch_and_update` of a prepared batch; and the sparse exchange of
/// crossdock_device.h.
void crossdock_fail_next(int status, const char* sentence);

/// @}
/// @name Contexts
///
/// A context says where communication takes place. It is made once and is the first argument of everything that
/// communicates:
///
///     crossdock_context* world;
///     crossdock_context_create(MPI_COMM_WORLD, NULL, &world);
///     crossdock_neighbor_exchange_create(world, pattern, NULL, &halo);
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | closed by `close` |
/// | closed | `close`, `free`, `rank`, `num_ranks`, `topology` | |
/// @{

/// @brief How a context is made. A null pointer for a text means its default.
typedef struct crossdock_context_options {
    size_t size;
    /// The regions of the ranks: what `crossdock_topology_from_string` reads; or "node", "socket", "numa" or "l3",
    /// which are discovered. By default what CROSSDOCK_TOPOLOGY says in the environment of rank 0, and else "node".
    /// Ranks of several regions still share memory if they can: to keep regions apart, as on so many nodes, give them
    /// as `nodes`, too.
    const char* topology;
    /// Who may share memory: the ranks of a region of this topology, if they can. By default all that can.
    const char* nodes;
    /// The machine that routes are chosen for: a preset's name, a file that rank 0 reads, or JSON. By default what
    /// CROSSDOCK_MACHINE says there, and else what is assumed of this machine.
    const char* machine;
    /// Where the report of all objects goes when the context is closed: "1" for a table on rank 0's standard error;
    /// else a file, to which rank 0 appends lines of JSON; "0" for none. By default what CROSSDOCK_REPORT says.
    const char* report;
    /// 1: a thread makes progress on active neighbor exchanges, and on the present step of gather-scatters, while this
    /// rank computes. Needs MPI_THREAD_MULTIPLE. Functions that combine values may run on it.
    int64_t progress_thread;
} crossdock_context_options;

#define CROSSDOCK_CONTEXT_OPTIONS_INIT \
    { sizeof(crossdock_context_options), NULL, NULL, NULL, NULL, 0 }

/// @brief Duplicates `user`, and finds out or takes what the options say. No message of the library meets one of the
/// caller's. All ranks of `user` call it.
/// @return CROSSDOCK_INVALID_ARGUMENT if `user` is MPI_COMM_NULL or an intercommunicator, or options differ between
/// ranks; CROSSDOCK_INVALID_TOPOLOGY if a topology's text is malformed, or of another number of ranks;
/// CROSSDOCK_FILE_ERROR or CROSSDOCK_PARSE_ERROR as the machine's file is
crossdock_status crossdock_context_create(MPI_Comm user, const crossdock_context_options* options,
                                          crossdock_context** result);

/// @brief The context with another topology. It shares the duplicate: closing either closes both. Who shares memory
/// stays as it is; see `crossdock_context_with_nodes`. Does not communicate.
/// @param topology  equal on all ranks; that it has as many ranks as the context is found out where it is used
crossdock_status crossdock_context_with_topology(const crossdock_context* context,
                                                 const crossdock_topology* topology,
                                                 crossdock_context** result);

/// @brief The context with other nodes: only ranks of one region share memory. Otherwise as
/// `crossdock_context_with_topology`.
crossdock_status crossdock_context_with_nodes(const crossdock_context* context,
                                              const crossdock_topology* nodes,
                                              crossdock_context** result);

/// @brief A copy of the context's topology.
crossdock_status crossdock_context_topology(const crossdock_context* context,
                                            crossdock_topology** result);

/// @brief This process's rank in the context, from 0.
crossdock_status crossdock_context_rank(const crossdock_context* context, int* rank);
crossdock_status crossdock_context_num_ranks(const crossdock_context* context, int* num_ranks);

/// @brief The error of one rank alone that all ranks were told of last, such as the reason of CROSSDOCK_PEER_FAILED.
///
/// The next collective call that agrees on its arguments tells all ranks of a start that has failed on one: where
/// something is made, prepared or duplicated, and `crossdock_context_close`. If several ranks have failed since the
/// last such call, the lowest of them tells its last error.
/// @param rank  that failed; -1 if none has failed so far
/// @param text  its sentence, "" if there is none
crossdock_status crossdock_context_last_peer_error(const crossdock_context* context, int* rank,
                                                   char** text);

/// @brief What the objects of each name have done on this rank, a line of JSON for each: `object_report` of
/// crossdock/context.hpp says what is in it. Empty without a report.
/// @param text  freed with `crossdock_free`
crossdock_status crossdock_context_reports(const crossdock_context* context, char** text);

/// @brief Frees the duplicate, and what is kept with it. What was made with the context can then only be freed: all
/// else returns CROSSDOCK_INVALID_STATE. A context that was closed before stays closed; one that nobody closes is
/// closed by MPI_Finalize.
/// @return CROSSDOCK_INVALID_STATE, on all ranks, while an exchange is active or a stream is not drained on any of
/// them, or if such an object was destroyed, which is said once; the context stays open
crossdock_status crossdock_context_close(crossdock_context* context);

/// @brief Frees the handle. Does not close.
crossdock_status crossdock_context_free(crossdock_context* context);

/// @}
/// @name Topologies
/// @{

/// @brief The topology of a context's ranks, as the machine and the processes' bindings have it.
/// @param level  a `crossdock_locality`, equal on all ranks; an int, as C may pass any number
crossdock_status crossdock_topology_discover(const crossdock_context* context, int level,
                                             crossdock_topology** result);

/// @brief The topology in which ranks with equal keys (>= 0) share a region.
crossdock_status crossdock_topology_gather(const crossdock_context* context, int key,
                                           crossdock_topology** result);

/// @brief Reads a topology: "4x16", "16,16,8", "cyclic:4x16" or "list:0,1,0,1".
/// @return CROSSDOCK_INVALID_TOPOLOGY if the text is malformed
crossdock_status crossdock_topology_from_string(const char* text, crossdock_topology** result);

/// @brief From the region of every rank.
crossdock_status crossdock_topology_from_regions(int num_ranks, const int* region_of_rank,
                                                 crossdock_topology** result);

crossdock_status crossdock_topology_num_ranks(const crossdock_topology* topology, int* num_ranks);
crossdock_status crossdock_topology_num_regions(const crossdock_topology* topology,
                                                int* num_regions);

/// @brief The region of a rank.
crossdock_status crossdock_topology_region_of(const crossdock_topology* topology, int rank,
                                              int* region);

/// @brief A rank's place among the ranks of its region, from 0.
crossdock_status crossdock_topology_local_rank(const crossdock_topology* topology, int rank,
                                               int* local_rank);

/// @brief How many ranks a region has.
crossdock_status crossdock_topology_region_size(const crossdock_topology* topology, int region,
                                                int* num_ranks);

/// @brief The rank with a given place in a region.
crossdock_status crossdock_topology_rank_at(const crossdock_topology* topology, int region,
                                            int local_rank, int* rank);

/// @brief The shortest text that `crossdock_topology_from_string` reads back.
crossdock_status crossdock_topology_to_string(const crossdock_topology* topology, char** text);
crossdock_status crossdock_topology_free(crossdock_topology* topology);

/// @}
/// @name Patterns
/// @{

/// @brief The arguments of MPI_Neighbor_alltoallv, with 64-bit counts and displacements.
typedef struct crossdock_neighbor_alltoallv_arguments {
    int num_destinations;
    const int* destinations;
    const int64_t* send_counts;         ///< one per destination
    const int64_t* send_displacements;  ///< one per destination
    int num_sources;
    const int* sources;
    const int64_t* receive_counts;         ///< one per source
    const int64_t* receive_displacements;  ///< one per source
    /// Positions of the send buffer with an equal id hold the same value, which then travels once.
    /// As long as the send buffer; 0 and null without ids.
    int64_t num_send_ids;
    const int64_t* send_ids;
} crossdock_neighbor_alltoallv_arguments;

/// @brief The same with the numbers that MPI takes.
typedef struct crossdock_neighbor_alltoallv_int_arguments {
    int num_destinations;
    const int* destinations;
    const int* send_counts;         ///< one per destination
    const int* send_displacements;  ///< one per destination
    int num_sources;
    const int* sources;
    const int* receive_counts;         ///< one per source
    const int* receive_displacements;  ///< one per source
    int64_t num_send_ids;              ///< as above
    const int64_t* send_ids;
} crossdock_neighbor_alltoallv_int_arguments;

/// @brief Item i is position i of the send buffer, slot j position j of the receive buffer.
/// @return CROSSDOCK_SIZE_MISMATCH if there are too few ids; CROSSDOCK_RANK_OUT_OF_RANGE if a neighbor is no rank;
/// CROSSDOCK_INVALID_ARGUMENT if a count or displacement is negative, or a slot is filled twice
crossdock_status crossdock_pattern_from_neighbor_alltoallv(
    int rank, int num_ranks, const crossdock_neighbor_alltoallv_arguments* arguments,
    crossdock_pattern** result);

/// @brief As above with the neighbors of a distributed graph, in the order of MPI_Dist_graph_neighbors; `destinations`
/// and `sources` are not read. Does not communicate.
/// @param arguments  its `num_destinations` and `num_sources` are 0, or as many as the graph has
/// @return CROSSDOCK_INVALID_ARGUMENT if the communicator has no distributed graph; CROSSDOCK_SIZE_MISMATCH if it has
/// another number of neighbors
crossdock_status crossdock_pattern_from_dist_graph(
    MPI_Comm graph, const crossdock_neighbor_alltoallv_arguments* arguments,
    crossdock_pattern** result);

/// @brief Item i is global index `owned[i]`, slot j is global index `needed[j]`.
/// @param owned   each owned by one rank only, in any order
/// @param needed  in any order, also repeatedly, also own ones
/// @return CROSSDOCK_INDEX_OUT_OF_RANGE if an index is negative, or needed but owned by no rank;
///         CROSSDOCK_INVALID_ARGUMENT if one is owned twice
crossdock_status crossdock_pattern_from_needed(const crossdock_context* context, int64_t num_owned,
                                               const int64_t* owned, int64_t num_needed,
                                               const int64_t* needed, crossdock_pattern** result);

/// @brief As above for a rank that owns `first_owned` ... `first_owned + num_owned - 1`.
crossdock_status crossdock_pattern_from_needed_range(const crossdock_context* context,
                                                     int64_t first_owned, int64_t num_owned,
                                                     int64_t num_needed, const int64_t* needed,
                                                     crossdock_pattern** result);

/// @brief Finds the ghosts of a rank's matrix rows, and renumbers all columns for an array of what the rank owns, with
/// the ghosts behind.
///
///     rank 1 owns columns 2 and 3        columns of its rows   2 1 3 3 0
///     array: 2 3 | 0 1                   ghosts                0 1
///                                        local columns         0 3 1 1 2
///
/// The ghosts are what `crossdock_pattern_from_needed_range` takes.
/// @param columns        the global column of each entry of the rank's rows, as CSR has them
/// @param local_columns  gets as many; may be `columns` itself
/// @param ghosts         gets the global columns of other ranks, each once, ascending; has room for `num_entries`
/// @return CROSSDOCK_INDEX_OUT_OF_RANGE if a column is negative
crossdock_status crossdock_renumber_columns(int64_t first_owned, int64_t num_owned,
                                            int64_t num_entries, const int64_t* columns,
                                            int64_t* local_columns, int64_t* ghosts,
                                            int64_t* num_ghosts);

/// @brief The length of the local array.
crossdock_status crossdock_pattern_num_items(const crossdock_pattern* pattern, int64_t* num_items);

/// @brief The length of the output array.
crossdock_status crossdock_pattern_num_slots(const crossdock_pattern* pattern, int64_t* num_slots);

/// @brief Writes what all ranks send to a file that `crossdock try`, `analyze`, `explain`, `simulate`, `draw`, `export`
/// and `bench neighbor` read, and the rank of each of its rows to the file beside it with `.owners` in place of `.mtx`.
/// @param path        ends in .mtx, not null on any rank; what rank 0 says counts, and rank 0 writes
/// @param item_bytes  bytes of an item, which `crossdock try` exchanges; what rank 0 says counts
/// @return CROSSDOCK_FILE_ERROR if a file cannot be written; CROSSDOCK_INVALID_ARGUMENT if `path` ends otherwise or
///         `item_bytes` is below 1; CROSSDOCK_SIZE_MISMATCH if the pattern is another rank's, or of other ranks
crossdock_status crossdock_pattern_write(const crossdock_context* context,
                                         const crossdock_pattern* pattern, const char* path,
                                         int64_t item_bytes);
crossdock_status crossdock_pattern_free(crossdock_pattern* pattern);

/// @}
/// @name Routes
/// @{

/// @brief How many routes are registered.
crossdock_status crossdock_num_routes(int* num_routes);

/// @brief The name of a registered route, without parameters; never freed.
/// @return CROSSDOCK_INVALID_ARGUMENT if `index` is outside [0, num_routes)
crossdock_status crossdock_route_name(int index, const char** name);

/// @brief The route with parameters that fit any topology, e.g. "grid:2"; never freed.
crossdock_status crossdock_route_example(int index, const char** route);

/// @brief What is made ready when a neighbor exchange is made, and with a size of items that is new to it.
///
/// To make a direction ready, ranks that share memory tell each other where their items will lie. A rank that shares
/// none does it alone, for reverse exchanges when the first one starts. What is not ready is made so by the first start
/// that needs it, which blocks.
typedef enum crossdock_preparation {
    CROSSDOCK_PREPARE_BOTH = 0,     ///< forward and reverse exchanges
    CROSSDOCK_PREPARE_FORWARD = 1,  ///< forward exchanges
    CROSSDOCK_PREPARE_LAZY = 2      ///< nothing but what a start needs
} crossdock_preparation;

/// @brief How plans are compiled and run; equal on all ranks but for the clock.
typedef struct crossdock_neighbor_options {
    size_t size;
    /// A route with its parameters, e.g. "three_step" or "grid:4x4"; null or "auto": what CROSSDOCK_ROUTE says in the
    /// environment of rank 0, and else the one that is estimated to be cheapest on the context's machine;
    /// "auto:measure": the fastest of the cheapest few, which the first exchanges try. CROSSDOCK_FORCE_ROUTE overrules
    /// all of them.
    const char* route;
    int deduplicate;  ///< 0: an item travels once for each of its destinations
    /// "persistent": MPI's persistent requests for every message; "shared_memory": no messages between ranks that share
    /// memory; null or "auto": what CROSSDOCK_EXECUTOR says, and else "shared_memory" where ranks share memory and
    /// enough of it is left.
    const char* executor;
    size_t max_message_bytes;  ///< longer messages are sent in parts; 0 is the default: 2^30
    /// Items of this size are made ready now, 0 is the default: 8. The first start with another size makes that one
    /// ready, too, and blocks.
    size_t item_bytes;
    int prepare;  ///< a `crossdock_preparation`
    /// 1: reverse exchanges give the same bits on any route, executor and topology, for as many ranks and the same
    /// pattern. Nothing is combined on the way, as though `deduplicate` were 0.
    int reproducible;
    /// "auto:measure" tries at most so many routes, each until it had so many exchanges of one kind, or twice as many
    /// of all; and no further one if trials lost, or the next is expected to lose, more.
    int measure_max_candidates;
    int measure_exchanges_each;
    double measure_max_lost_seconds;
    double (*measure_clock)(void);  ///< seconds since any moment; null: a steady clock
    const char* name;               ///< in reports; null: all exchanges without a name are one
} crossdock_neighbor_options;

#define CROSSDOCK_NEIGHBOR_OPTIONS_INIT                                                           \
    {                                                                                             \
        sizeof(crossdock_neighbor_options), NULL, 1, NULL, 0, 0, CROSSDOCK_PREPARE_BOTH, 0, 3, 8, \
            0.1, NULL, NULL                                                                       \
    }

/// @brief Compiles this rank's plan together with all other ranks.
/// @param options  of these `route`, which must not be "auto:measure", and `deduplicate` are used;
/// CROSSDOCK_FORCE_ROUTE does not overrule a route that is named
/// @return CROSSDOCK_UNKNOWN_ROUTE or CROSSDOCK_INVALID_ROUTE as the route is; CROSSDOCK_SIZE_MISMATCH if the context's
/// topology, the pattern and the context differ in ranks; CROSSDOCK_COUNT_MISMATCH if a sender and its receiver
/// disagree, with both in the text; CROSSDOCK_INVALID_ARGUMENT if topologies, routes or options differ between ranks
crossdock_status crossdock_plan_compile(const crossdock_context* context,
                                        const crossdock_pattern* pattern,
                                        const crossdock_neighbor_options* options,
                                        crossdock_plan** result);

/// @brief Compiles the plans of all P ranks of a topology, without MPI.
/// @param patterns  P of them, entry p for rank p
/// @param route     a route with its parameters; "auto" is none, as there is no machine
/// @param options   of these `deduplicate` is used
/// @param plans     P of them, each to be freed; equal to those of `crossdock_plan_compile`
/// @return as `crossdock_plan_compile`
crossdock_status crossdock_plan_compile_all(const crossdock_topology* topology,
                                            crossdock_pattern* const* patterns, const char* route,
                                            const crossdock_neighbor_options* options,
                                            crossdock_plan** plans);

/// @brief Proves that each needed item reaches each slot exactly once.
/// @param plans     of all ranks, entry p for rank p
/// @param patterns  what they were compiled from
/// @return CROSSDOCK_INVALID_PLAN if the proof fails
crossdock_status crossdock_plan_verify(int num_ranks, crossdock_plan* const* plans,
                                       crossdock_pattern* const* patterns);

/// @brief What a rank sends: all of it, and the part that leaves its region.
typedef struct crossdock_traffic {
    int64_t messages;
    int64_t items;
    int64_t inter_region_messages;
    int64_t inter_region_items;
} crossdock_traffic;

/// @brief The route that the plan was compiled along.
crossdock_status crossdock_plan_route(const crossdock_plan* plan, char** route);
crossdock_status crossdock_plan_num_stages(const crossdock_plan* plan, int* num_stages);

/// @brief What the plan's rank sends in one stage.
/// @return CROSSDOCK_INVALID_ARGUMENT if there is no such stage; CROSSDOCK_SIZE_MISMATCH if the
///         topology is of another number of ranks
crossdock_status crossdock_plan_stage_traffic(const crossdock_topology* topology,
                                              const crossdock_plan* plan, int stage,
                                              crossdock_traffic* traffic);

/// @brief What the plan's rank sends in all stages.
crossdock_status crossdock_plan_total_traffic(const crossdock_topology* topology,
                                              const crossdock_plan* plan,
                                              crossdock_traffic* traffic);

/// @brief The items the plan's rank needs buffers for.
crossdock_status crossdock_plan_buffer_items(const crossdock_plan* plan, int64_t* num_items);

/// @brief The plan for people, a few lines per stage.
crossdock_status crossdock_plan_to_string(const crossdock_plan* plan, char** text);

/// @brief The plan as JSON.
crossdock_status crossdock_plan_to_json(const crossdock_plan* plan, char** json);

/// @brief Reads what `crossdock_plan_to_json` wrote.
/// @return CROSSDOCK_PARSE_ERROR if the text is malformed; CROSSDOCK_INVALID_PLAN if it is no plan
crossdock_status crossdock_plan_from_json(const char* json, crossdock_plan** result);

/// @brief 1 if the plans are equal, otherwise 0.
crossdock_status crossdock_plan_is_equal(const crossdock_plan* a, const crossdock_plan* b,
                                         int* is_equal);
crossdock_status crossdock_plan_free(crossdock_plan* plan);

/// @}
/// @name Neighbor exchanges
///
/// The persistent neighbor collective: MPI's neighborhood collective, exchanged again and again.
///
///     crossdock_neighbor_exchange_start(halo, x, ghosts, MPI_DOUBLE);
///     ... compute what needs no ghosts ...
///     crossdock_neighbor_exchange_wait(halo);
///     crossdock_neighbor_exchange_reverse(halo, ghosts, x, MPI_DOUBLE, MPI_SUM);
///
/// The last call brings ghosts home and adds them up.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, `start_reverse` | active |
/// | idle | `forward`, `reverse`, `prepare`, `duplicate` | idle |
/// | idle | `free` | |
/// | active | `duplicate` | active |
/// | active | `test`, `wait` | idle once complete |
///
/// Every rank starts the same exchanges of one object in the same order. After CROSSDOCK_PEER_FAILED the exchange is
/// over, and the next may start. An error of `duplicate` is the rank's own.
///
/// On a route of several stages a rank forwards for others, inside `test`, `wait` and the library's collective calls,
/// on any context; on the same one only with MPI_THREAD_MULTIPLE. While such an exchange is active, a rank must not
/// block elsewhere (in MPI_Barrier, say) for something that another rank does only after its wait.
///
/// A start waits for nobody, if what it exchanges is ready: at first what the option `prepare` names, for items of the
/// option `item_bytes`. The first start with items of another size, or in a direction that is not ready, makes it
/// ready: it blocks until the ranks of the node start it too, and such starts come in one order on all ranks. The last
/// eight sizes stay ready. In a forward exchange the size of an item is the size of its datatype, in a reverse one the
/// extent.
///
/// Items and slots may lie in one array, as long as no item that is sent lies where a slot is filled; else a start is
/// CROSSDOCK_INVALID_ARGUMENT.
/// @{

/// @brief Compiles a pattern along a route.
/// @return as `crossdock_plan_compile`; CROSSDOCK_OUT_OF_MEMORY if a node has not enough memory to share, and the
/// executor is "shared_memory"
crossdock_status crossdock_neighbor_exchange_create(const crossdock_context* context,
                                                    const crossdock_pattern* pattern,
                                                    const crossdock_neighbor_options* options,
                                                    crossdock_neighbor_exchange** result);

/// @brief Takes a plan that was compiled before; `route` and `deduplicate` of the options have no say.
/// @param plan  this rank's of plans that belong together; copied
/// @return CROSSDOCK_SIZE_MISMATCH if a plan is of another rank or number of ranks; CROSSDOCK_INVALID_PLAN if it has
/// more than 32 stages; CROSSDOCK_OUT_OF_MEMORY as above
crossdock_status crossdock_neighbor_exchange_create_from_plan(
    const crossdock_context* context, const crossdock_plan* plan,
    const crossdock_neighbor_options* options, crossdock_neighbor_exchange** result);

/// @brief Takes what MPI_Neighbor_alltoallv_init does, but for the buffers, which each start gives.
/// @param send_counts  values for each destination, in the order of MPI_Dist_graph_neighbors
/// @param send_displs  where these lie in `items`, in extents of `datatype`
/// @param recv_counts  values from each source
/// @param recv_displs  where these go in `slots`; no slot is filled twice
/// @param graph        a communicator with a distributed graph, whose ranks are those of the context
/// @param datatype     of the items, which are made ready; the option `item_bytes` has no say
/// @return CROSSDOCK_INVALID_ARGUMENT if `graph` has no distributed graph or has the ranks in another order, a count or
/// displacement is negative, a slot is filled twice, or `datatype` is MPI_DATATYPE_NULL or has no bytes;
/// CROSSDOCK_COUNT_MISMATCH if a sender and its receiver disagree; as `crossdock_neighbor_exchange_create`
crossdock_status crossdock_neighbor_alltoallv_init(const crossdock_context* context,
                                                   const int send_counts[], const int send_displs[],
                                                   const int recv_counts[], const int recv_displs[],
                                                   MPI_Comm graph, MPI_Datatype datatype,
                                                   const crossdock_neighbor_options* options,
                                                   crossdock_neighbor_exchange** result);

/// @brief As above, with the neighbors in arrays, for programs that have no graph.
/// @return as above; CROSSDOCK_RANK_OUT_OF_RANGE if a neighbor is no rank; CROSSDOCK_SIZE_MISMATCH if there are too few
/// ids
crossdock_status crossdock_neighbor_exchange_create_from_arguments(
    const crossdock_context* context, const crossdock_neighbor_alltoallv_int_arguments* arguments,
    MPI_Datatype datatype, const crossdock_neighbor_options* options,
    crossdock_neighbor_exchange** result);

/// @brief A second exchange on the same plan, which may be active at the same time. Waits for the
/// ranks that share memory, or for all, if the executor must share.
crossdock_status crossdock_neighbor_exchange_duplicate(const crossdock_neighbor_exchange* exchange,
                                                       crossdock_neighbor_exchange** result);

/// @brief Makes items of a size ready, so that no start blocks: in both directions, or forward only where the option
/// `prepare` says so. Waits as `duplicate`. An error of a null pointer, of a size of 0 and of the state is the rank's
/// own.
/// @param item_bytes  at least 1; equal on all ranks
/// @return CROSSDOCK_INVALID_ARGUMENT if `item_bytes` is 0; CROSSDOCK_INVALID_STATE if an exchange is active
crossdock_status crossdock_neighbor_exchange_prepare(crossdock_neighbor_exchange* exchange,
                                                     size_t item_bytes);

/// @brief The route, and why it was chosen: a line for each candidate, the cheapest first, with its
/// estimated time and what most of that goes to; or one line with the route that was given.
crossdock_status crossdock_neighbor_exchange_explain(const crossdock_neighbor_exchange* exchange,
                                                     char** text);

/// @brief The route that the plan was compiled along; while "auto:measure" tries routes, that of the last exchange.
crossdock_status crossdock_neighbor_exchange_route(const crossdock_neighbor_exchange* exchange,
                                                   char** route);

/// @brief A copy of this rank's plan; while "auto:measure" tries routes, of the last exchange's.
crossdock_status crossdock_neighbor_exchange_plan(const crossdock_neighbor_exchange* exchange,
                                                  crossdock_plan** result);
crossdock_status crossdock_neighbor_exchange_is_active(const crossdock_neighbor_exchange* exchange,
                                                       int* is_active);

/// @brief What this rank sends in one forward exchange, in all stages.
crossdock_status crossdock_neighbor_exchange_statistics(const crossdock_neighbor_exchange* exchange,
                                                        crossdock_traffic* traffic);

/// @brief How many routes "auto:measure" has tried, and whether the next exchanges may take another one; equal on all
/// ranks.
crossdock_status crossdock_neighbor_exchange_num_tried_routes(
    const crossdock_neighbor_exchange* exchange, int* num_tried_routes, int* is_trying);

/// @brief A route that was tried, and how long an exchange took on the slowest rank: the lower quartile.
/// @param index    from 0, in the order in which they were tried
/// @return CROSSDOCK_INVALID_ARGUMENT if so many were not tried
crossdock_status crossdock_neighbor_exchange_tried_route(
    const crossdock_neighbor_exchange* exchange, int index, char** route, double* seconds);

/// @brief Starts to copy items into the slots that need them.
/// @param items     as many as the pattern has, an extent of `datatype` apart
/// @param slots     as many as the pattern has; those no item comes to stay as they are
/// @param datatype  committed
crossdock_status crossdock_neighbor_exchange_start(crossdock_neighbor_exchange* exchange,
                                                   const void* items, void* slots,
                                                   MPI_Datatype datatype);

/// @brief As above, where items and slots lie in memory in different ways. A reverse exchange has no such form: MPI's
/// operations combine values of one datatype.
/// @param slot_type  with as many bytes as `item_type`; the pair may differ between ranks. MPI also takes datatypes
/// whose values are of different sizes if the sequences of their numbers are equal; what is counted in an exchange are
/// items of one size
/// @return CROSSDOCK_SIZE_MISMATCH if the datatypes differ in bytes
crossdock_status crossdock_neighbor_exchange_start_types(crossdock_neighbor_exchange* exchange,
                                                         const void* items, MPI_Datatype item_type,
                                                         void* slots, MPI_Datatype slot_type);

/// @brief Starts items[i] = operation(items[i], all slots that item i is sent to).
/// @param datatype   committed, lower bound 0, true extent at most its extent
/// @param operation  commutative; defined for `datatype`. MPI_MIN and MPI_MAX of floating-point numbers are IEEE
/// 754-2019's minimum and maximum, whatever MPI's are: a NaN if any value is one, and -0 is less than +0.
crossdock_status crossdock_neighbor_exchange_start_reverse(crossdock_neighbor_exchange* exchange,
                                                           const void* slots, void* items,
                                                           MPI_Datatype datatype, MPI_Op operation);

/// @brief As `start`, with several values for each item, and arrays whose lengths are checked. Values are an extent
/// apart, and travel with their gaps.
/// @param values_per_item  at least 1; equal on all ranks
/// @param datatype         lower bound 0, true extent at most its extent
/// @return CROSSDOCK_SIZE_MISMATCH if an array is too short
crossdock_status crossdock_neighbor_exchange_start_arrays(crossdock_neighbor_exchange* exchange,
                                                          int64_t num_items, const void* items,
                                                          int64_t num_slots, void* slots,
                                                          int64_t values_per_item,
                                                          MPI_Datatype datatype);

/// @brief As `start_reverse`, likewise; the operation combines value by value.
crossdock_status crossdock_neighbor_exchange_start_reverse_arrays(
    crossdock_neighbor_exchange* exchange, int64_t num_slots, const void* slots, int64_t num_items,
    void* items, int64_t values_per_item, MPI_Datatype datatype, MPI_Op operation);

/// @brief As `start`, with several arrays of one datatype in one set of messages. Fields of different datatypes travel
/// by `start` with one structured datatype, whose displacements are the distances of the arrays.
/// @param num_fields  at least 1; equal on all ranks
/// @param items       of each field, as `items` of `start`
/// @param slots       likewise
/// @param datatype    lower bound 0, true extent at most its extent; values travel with their gaps
crossdock_status crossdock_neighbor_exchange_start_fields(crossdock_neighbor_exchange* exchange,
                                                          int64_t num_fields,
                                                          const void* const* items,
                                                          void* const* slots,
                                                          MPI_Datatype datatype);

/// @brief As `start_reverse`, likewise; the operation combines value by value.
crossdock_status crossdock_neighbor_exchange_start_reverse_fields(
    crossdock_neighbor_exchange* exchange, int64_t num_fields, const void* const* slots,
    void* const* items, MPI_Datatype datatype, MPI_Op operation);

crossdock_status crossdock_neighbor_exchange_test(crossdock_neighbor_exchange* exchange,
                                                  int* is_complete);
crossdock_status crossdock_neighbor_exchange_wait(crossdock_neighbor_exchange* exchange);
crossdock_status crossdock_neighbor_exchange_forward(crossdock_neighbor_exchange* exchange,
                                                     const void* items, void* slots,
                                                     MPI_Datatype datatype);
crossdock_status crossdock_neighbor_exchange_reverse(crossdock_neighbor_exchange* exchange,
                                                     const void* slots, void* items,
                                                     MPI_Datatype datatype, MPI_Op operation);

/// @return CROSSDOCK_INVALID_STATE, and frees nothing, while one is under way that has not failed: wait first
crossdock_status crossdock_neighbor_exchange_free(crossdock_neighbor_exchange* exchange);

/// @}
/// @name Shared degrees of freedom
///
/// Every copy of a global id, on whatever ranks, gets what the values of all copies combine to.
///
///     rank 0   ids {7 8 0}   values {1 2 3}     with MPI_SUM {1+5 2+4 3}
///     rank 1   ids {8 7}     values {4 5}                    {2+4 1+5}
///
/// An id of 0 takes no part. A negative id -j is a flagged copy of j: it gets the result and does
/// not give its value; transposed, it gives its value and does not get the result.
///
///     crossdock_gather_scatter_create(world, num_points, ids, NULL, &shared);
///     crossdock_gather_scatter_start(shared, mass, 1, MPI_DOUBLE, MPI_SUM, 0);
///     ... compute what is not shared ...
///     crossdock_gather_scatter_wait(shared);
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | `start`, `start_fields` | active |
/// | idle | `combine`, `duplicate` | idle |
/// | idle | `free` | |
/// | active | `duplicate` | active |
/// | active | `test`, `wait` | idle once complete |
///
/// While active, values of ids with several copies must be neither read nor written. After
/// CROSSDOCK_PEER_FAILED they are undefined. All else is as for a neighbor exchange.
/// @{

/// @brief How a gather-scatter is set up; equal on all ranks but for the clock.
typedef struct crossdock_gather_options {
    size_t size;
    /// Who combines the copies of an id. "owners": one of the ranks that have it; "holders": each of them; null or
    /// "auto": what is estimated to be cheaper.
    const char* method;
    const char* route;  ///< as in `crossdock_neighbor_options`, as are those that follow `unique`
    int unique;         ///< 1: as though `crossdock_flag_duplicates` had been called for the ids
    int deduplicate;
    const char* executor;
    size_t max_message_bytes;
    /// Bytes of all values of an id that operations are made ready for, 0 is the default: 8. The first operation with
    /// another number makes it ready, and waits for the ranks of the node.
    size_t item_bytes;
    int reproducible;  ///< 1: the same bits with any method, route, executor and topology
    int measure_max_candidates;
    int measure_exchanges_each;
    double measure_max_lost_seconds;
    double (*measure_clock)(void);
    const char* name;
} crossdock_gather_options;

#define CROSSDOCK_GATHER_OPTIONS_INIT \
    { sizeof(crossdock_gather_options), NULL, NULL, 0, 1, NULL, 0, 0, 0, 3, 8, 0.1, NULL, NULL }

/// @brief Finds out who has which ids, and compiles the plans.
/// @param ids  not kept
/// @return CROSSDOCK_INDEX_OUT_OF_RANGE if an id is -2^63; CROSSDOCK_INVALID_ARGUMENT if options differ between ranks,
/// there is no such method, or "holders" is not for these ids; as `crossdock_neighbor_exchange_create`
crossdock_status crossdock_gather_scatter_create(const crossdock_context* context, int64_t num_ids,
                                                 const int64_t* ids,
                                                 const crossdock_gather_options* options,
                                                 crossdock_gather_scatter** result);

/// @brief Flags all copies of every id but one, by negation.
/// @return CROSSDOCK_INDEX_OUT_OF_RANGE if an id is -2^63
crossdock_status crossdock_flag_duplicates(const crossdock_context* context, int64_t num_ids,
                                           int64_t* ids);

/// @brief A second object with the same plans, which may be active at the same time.
crossdock_status crossdock_gather_scatter_duplicate(const crossdock_gather_scatter* shared,
                                                    crossdock_gather_scatter** result);

/// @brief Starts to combine values in place.
/// @param values         `values_per_id` together for each id
/// @param values_per_id  at least 1; equal on all ranks, as are those that follow
/// @param datatype       committed, lower bound 0, true extent at most its extent. Values are an extent apart, and
/// travel with their gaps.
/// @param operation      as of `crossdock_neighbor_exchange_start_reverse`
/// @return CROSSDOCK_COUNT_OVERFLOW if an id has 2^31 values or more in all fields, and MPI combines them
crossdock_status crossdock_gather_scatter_start(crossdock_gather_scatter* shared, void* values,
                                                int64_t values_per_id, MPI_Datatype datatype,
                                                MPI_Op operation, int transposed);

/// @brief Starts to combine the values of several arrays in one exchange.
/// @param num_fields  at least 1; equal on all ranks
/// @param fields      each as `values` of `crossdock_gather_scatter_start`
crossdock_status crossdock_gather_scatter_start_fields(crossdock_gather_scatter* shared,
                                                       int64_t num_fields, void* const* fields,
                                                       int64_t values_per_id, MPI_Datatype datatype,
                                                       MPI_Op operation, int transposed);

crossdock_status crossdock_gather_scatter_test(crossdock_gather_scatter* shared, int* is_complete);
crossdock_status crossdock_gather_scatter_is_active(const crossdock_gather_scatter* shared,
                                                    int* is_active);
crossdock_status crossdock_gather_scatter_wait(crossdock_gather_scatter* shared);
crossdock_status crossdock_gather_scatter_combine(crossdock_gather_scatter* shared, void* values,
                                                  int64_t values_per_id, MPI_Datatype datatype,
                                                  MPI_Op operation, int transposed);
crossdock_status crossdock_gather_scatter_combine_fields(crossdock_gather_scatter* shared,
                                                         int64_t num_fields, void* const* fields,
                                                         int64_t values_per_id,
                                                         MPI_Datatype datatype, MPI_Op operation,
                                                         int transposed);

/// @brief How many ids this rank has given.
crossdock_status crossdock_gather_scatter_num_ids(const crossdock_gather_scatter* shared,
                                                  int64_t* num_ids);

/// @brief The method in use, never "auto".
crossdock_status crossdock_gather_scatter_method(const crossdock_gather_scatter* shared,
                                                 char** method);

/// @brief The route in use, never "auto"; while "auto:measure" tries routes, that of the last operation.
crossdock_status crossdock_gather_scatter_route(const crossdock_gather_scatter* shared,
                                                char** route);

/// @brief As of a neighbor exchange.
crossdock_status crossdock_gather_scatter_num_tried_routes(const crossdock_gather_scatter* shared,
                                                           int* num_tried_routes, int* is_trying);
crossdock_status crossdock_gather_scatter_tried_route(const crossdock_gather_scatter* shared,
                                                      int index, char** route, double* seconds);

/// @brief The method and the route, and what each candidate was estimated to cost where they were chosen.
crossdock_status crossdock_gather_scatter_explain(const crossdock_gather_scatter* shared,
                                                  char** text);

/// @brief What this rank sends in one operation that is not transposed.
crossdock_status crossdock_gather_scatter_statistics(const crossdock_gather_scatter* shared,
                                                     crossdock_traffic* traffic);

/// @return CROSSDOCK_INVALID_STATE, and frees nothing, while one is under way that has not failed: wait first
crossdock_status crossdock_gather_scatter_free(crossdock_gather_scatter* shared);

/// @}
/// @name Sparse exchanges
///
/// A rank knows to whom it sends, not who sends to it. Several messages to one destination arrive as several, in the
/// order given; so do messages without values, and those to the rank itself.
///
/// After an error the context is as before, and no rank's arrays have been written; the context alone must not be null
/// on one rank only. The context's topology, `options` (but for its `order` and `sent`), the sizes of `sendtype`, and
/// `sendcount` must be equal on all ranks. Sparse exchanges return
///
/// - CROSSDOCK_RANK_OUT_OF_RANGE if a destination is not a rank;
/// - CROSSDOCK_INVALID_ARGUMENT if a count or displacement is negative, an array is null but not empty, a datatype is
///   MPI_DATATYPE_NULL or has no bytes, or there is no such algorithm or order;
/// - CROSSDOCK_COUNT_MISMATCH if `sendcount` or the size of a value differs between ranks, or between what a rank sends
///   and what it receives, or known numbers of sources are wrong;
/// - CROSSDOCK_UNKNOWN_ROUTE or CROSSDOCK_INVALID_ROUTE as the route of "routed:ROUTE" is;
/// - CROSSDOCK_SIZE_MISMATCH if the context's topology is of another number of ranks.
/// @{

/// @brief How many algorithms are registered.
crossdock_status crossdock_num_exchange_algorithms(int* num_algorithms);

/// @brief The name of a registered algorithm; "routed" takes a route after a colon. Never freed.
/// @return CROSSDOCK_INVALID_ARGUMENT if `index` is outside [0, num_algorithms)
crossdock_status crossdock_exchange_algorithm_name(int index, const char** name);

/// @brief The algorithm as the option `algorithm` takes it, e.g. "routed:grid:2"; never freed.
crossdock_status crossdock_exchange_algorithm_example(int index, const char** algorithm);

/// @brief How messages are ordered that came.
typedef enum crossdock_message_order {
    CROSSDOCK_BY_SOURCE = 0,  ///< sources ascend: the same on every run
    CROSSDOCK_ARRIVAL = 1     ///< as they came in
} crossdock_message_order;

/// @brief What one rank sent in a sparse exchange; a copy to itself is no message.
typedef struct crossdock_exchange_traffic {
    int64_t messages;
    int64_t message_bytes;  ///< with the envelopes that name sources and destinations
    int64_t inter_region_messages;
    int64_t inter_region_message_bytes;
} crossdock_exchange_traffic;

/// @brief How to exchange.
typedef struct crossdock_exchange_options {
    size_t size;
    const char* algorithm;      ///< "personalized", "routed:grid:2", ...; null or "auto": chosen
    int order;                  ///< a `crossdock_message_order`
    int64_t num_sources;        ///< how many messages will come, if all ranks know; -1: unknown
    int64_t max_message_bytes;  ///< longer messages are cut; 0 is the default: 2^30
    /// Longer messages take a routed exchange's route only as an announcement; -1 is the default.
    int64_t max_forwarded_bytes;
    crossdock_exchange_traffic* sent;  ///< receives what this rank sent, unless null
    const char* name;                  ///< in reports; null: all exchanges without a name are one
} crossdock_exchange_options;

#define CROSSDOCK_EXCHANGE_OPTIONS_INIT \
    { sizeof(crossdock_exchange_options), NULL, CROSSDOCK_BY_SOURCE, -1, 0, -1, NULL, NULL }

/// @brief Delivers messages of one size.
///
///     send_nnz 2, dest {3, 0}, sendcount 2, sendvals {a b c d}:   a b to rank 3, c d to rank 0
///
/// If more messages come to any rank than it has room for, all ranks return CROSSDOCK_SIZE_MISMATCH, because all have
/// to call again: on every rank `*recv_nnz` is then what it needs.
/// @param sendcount  values per message
/// @param recv_nnz   in: for how many messages there is room; out: how many came
/// @param src        who sent each message
/// @param recvcount  equal to `sendcount`
/// @param recvtype   with as many bytes per value as `sendtype`
/// @param recvvals   `recvcount` values of each message, one after the other
crossdock_status crossdock_sparse_exchange(const crossdock_context* context, int64_t send_nnz,
                                           const int* dest, int64_t sendcount,
                                           MPI_Datatype sendtype, const void* sendvals,
                                           int64_t* recv_nnz, int* src, int64_t recvcount,
                                           MPI_Datatype recvtype, void* recvvals,
                                           const crossdock_exchange_options* options);

/// @brief Delivers messages of any size.
///
///     dest {3, 0}, sendcounts {1, 2}, sdispls {2, 0}, sendvals {a b c}:   c to rank 3, a b to rank 0
///
/// Too little room is an error as above, and leaves both sizes as needed.
/// @param send_size   at least the values of all messages together
/// @param sdispls     where each message's values start; null: one after the other
/// @param recv_size   in: for how many values there is room; out: how many came
/// @param recvcounts  values of each message
/// @param rdispls     where each message's values start; they come one after the other
crossdock_status crossdock_sparse_exchange_v(
    const crossdock_context* context, int64_t send_nnz, int64_t send_size, const int* dest,
    const int64_t* sendcounts, const int64_t* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int64_t* recv_nnz, int64_t* recv_size, int* src, int64_t* recvcounts, int64_t* rdispls,
    MPI_Datatype recvtype, void* recvvals, const crossdock_exchange_options* options);

/// @brief As `crossdock_sparse_exchange`, into arrays that are made as long as they must be.
/// @param src       null if no message came
/// @param recvvals  values of `sendtype`, gaps zero; null if no value came
crossdock_status crossdock_sparse_exchange_alloc(const crossdock_context* context, int64_t send_nnz,
                                                 const int* dest, int64_t sendcount,
                                                 MPI_Datatype sendtype, const void* sendvals,
                                                 int64_t* recv_nnz, int** src, void** recvvals,
                                                 const crossdock_exchange_options* options);

/// @brief As `crossdock_sparse_exchange_v`, into arrays that are made as long as they must be.
/// @param src  null where empty, as are `recvcounts`, `rdispls` and `recvvals`
crossdock_status crossdock_sparse_exchange_v_alloc(
    const crossdock_context* context, int64_t send_nnz, int64_t send_size, const int* dest,
    const int64_t* sendcounts, const int64_t* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int64_t* recv_nnz, int64_t* recv_size, int** src, int64_t** recvcounts, int64_t** rdispls,
    void** recvvals, const crossdock_exchange_options* options);

/// @brief As `crossdock_sparse_exchange`, with the numbers that MPI takes, as the three functions that follow.
/// @param recv_nnz  in: -1: room for as many as come, or for none if the arrays are null
/// @return also CROSSDOCK_COUNT_OVERFLOW if a result does not fit an int
crossdock_status crossdock_sparse_exchange_int(const crossdock_context* context, int send_nnz,
                                               const int* dest, int sendcount,
                                               MPI_Datatype sendtype, const void* sendvals,
                                               int* recv_nnz, int* src, int recvcount,
                                               MPI_Datatype recvtype, void* recvvals,
                                               const crossdock_exchange_options* options);

/// @param recv_size  as `recv_nnz`
crossdock_status crossdock_sparse_exchange_v_int(
    const crossdock_context* context, int send_nnz, int send_size, const int* dest,
    const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int* recv_nnz, int* recv_size, int* src, int* recvcounts, int* rdispls, MPI_Datatype recvtype,
    void* recvvals, const crossdock_exchange_options* options);

/// @param recvvals  values of `recvtype`
crossdock_status crossdock_sparse_exchange_alloc_int(const crossdock_context* context, int send_nnz,
                                                     const int* dest, int sendcount,
                                                     MPI_Datatype sendtype, const void* sendvals,
                                                     int* recv_nnz, int** src, int recvcount,
                                                     MPI_Datatype recvtype, void** recvvals,
                                                     const crossdock_exchange_options* options);

/// @param rdispls   one more than messages: the last is the number of values
/// @param recvvals  values of `recvtype`
crossdock_status crossdock_sparse_exchange_v_alloc_int(
    const crossdock_context* context, int send_nnz, int send_size, const int* dest,
    const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, const void* sendvals,
    int* recv_nnz, int* recv_size, int** src, int** recvcounts, int** rdispls,
    MPI_Datatype recvtype, void** recvvals, const crossdock_exchange_options* options);

/// @}
/// @name Distributed arrays
///
/// An array of n entries, each on one rank, that all ranks read and change at any indices, in batches. Requests for the
/// same entry meet on the way to its owner and travel on as one.
///
///     crossdock_distributed_array_create(world, num_entries, MPI_DOUBLE, NULL, &a);
///     crossdock_distributed_array_update(a, num_indices, indices, values, MPI_SUM);
///     crossdock_distributed_array_read(a, num_indices, indices, values);
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | closed by `close` |
/// | a prepared batch is active | `prepare`, queries; more batches if none updates | open by `wait` |
/// | closed | `close`, `free`, queries, prepared batches | |
///
/// In `read`, `write`, `update` and `step` a rank may ask for nothing. They fail with the fault of the lowest rank that
/// has one, and then no entry has changed and no output is written. They return
///
/// - CROSSDOCK_INDEX_OUT_OF_RANGE if an index is outside [0, size);
/// - CROSSDOCK_INVALID_ARGUMENT if a length is negative, an array is null but not empty, or ranks ask for different
///   things, such as different operations;
/// - CROSSDOCK_INVALID_STATE if the array is closed, or a prepared batch is active; on this rank alone, if an operation
///   of the caller's makes requests.
/// @{

/// @brief What carries the requests of a batch.
typedef enum crossdock_array_transport {
    CROSSDOCK_TRANSPORT_ROUTED = 0,  ///< a route, with requests combined on the way
    /// MPI_Alltoallv, once for requests and once for replies; combines nothing.
    CROSSDOCK_TRANSPORT_PLAIN = 1,
    /// MPI_Get and MPI_Accumulate, request by request. Where MPI has no operation that does the same, which are MPI_MIN
    /// and MPI_MAX of floating-point numbers, other operations than those on numbers, and values that are no numbers,
    /// one rank changes entries after the other, which is slow. Of several values written, any stays.
    CROSSDOCK_TRANSPORT_RMA = 2
} crossdock_array_transport;

/// @brief Which of several values written to an entry in one batch stays.
typedef enum crossdock_overwrite {
    CROSSDOCK_OVERWRITE_ANY = 0,                 ///< one of them
    CROSSDOCK_OVERWRITE_SMALLEST_RANK_LAST = 1,  ///< the smallest rank's; of its own, the last
    CROSSDOCK_OVERWRITE_MINIMUM = 2,  ///< the least; entries are integers, float or double
    CROSSDOCK_OVERWRITE_MAXIMUM = 3,  ///< the greatest; likewise
    CROSSDOCK_OVERWRITE_USER = 4      ///< as `choose` makes of two
} crossdock_overwrite;

/// @brief How a distributed array is made; equal on all ranks but for `num_local`.
typedef struct crossdock_array_options {
    size_t size;
    int64_t num_local;  ///< this rank's entries, which add up to all; -1 on all ranks: blocks
    /// A route with its parameters; null or "auto": what CROSSDOCK_ROUTE says in the environment of rank 0, and else
    /// for each batch the one that suits.
    const char* route;
    int64_t expected_requests;  ///< about how many a rank makes in the first batch; for "auto"
    /// How requests for one entry are found: "none", "sort", "hash", "search_tree", "envelope_hash" or "envelope_sort";
    /// null: "sort".
    const char* combine;
    int combine_locally;     ///< 0: a rank's own requests do not combine
    int combine_on_the_way;  ///< 0: requests of several ranks do not combine
    int transport;           ///< a `crossdock_array_transport`
    int equal_writes;        ///< a `crossdock_overwrite`
    int reproducible;  ///< 1: the same bits with any route, topology and `combine`; requests travel on "direct"
    crossdock_combine choose;  ///< for CROSSDOCK_OVERWRITE_USER; associative and commutative
    void* user;                ///< given to `choose`
    const char* name;          ///< what reports call it; null: "unnamed"
} crossdock_array_options;

#define CROSSDOCK_ARRAY_OPTIONS_INIT                                                 \
    {                                                                                \
        sizeof(crossdock_array_options), -1, NULL, 1 << 15, NULL, 1, 1,              \
            CROSSDOCK_TRANSPORT_ROUTED, CROSSDOCK_OVERWRITE_ANY, 0, NULL, NULL, NULL \
    }

/// @brief Makes an array whose entries are zero bytes.
/// @param num_entries  equal on all ranks
/// @param datatype     of an entry: committed, lower bound 0, true extent at most its extent; not freed before the
/// array and its prepared batches. Entries, and values in arrays, are an extent apart, and travel with their gaps.
/// MPI_Type_contiguous(sizeof(x), MPI_BYTE, ...) makes one of any structure that only the caller's functions combine.
/// @return CROSSDOCK_INVALID_ARGUMENT if a length is negative, the datatype is none or not as said, options are out of
/// range or differ, `choose` is missing, values have no order, or CROSSDOCK_TRANSPORT_RMA is to be reproducible;
/// CROSSDOCK_SIZE_MISMATCH if parts do not add up; CROSSDOCK_UNKNOWN_ROUTE or CROSSDOCK_INVALID_ROUTE as the route is;
/// CROSSDOCK_OUT_OF_MEMORY
crossdock_status crossdock_distributed_array_create(const crossdock_context* context,
                                                    int64_t num_entries, MPI_Datatype datatype,
                                                    const crossdock_array_options* options,
                                                    crossdock_distributed_array** result);

/// @brief How many entries there are on all ranks.
crossdock_status crossdock_distributed_array_size(const crossdock_distributed_array* array,
                                                  int64_t* num_entries);

/// @brief This rank's entries; valid until the array and its prepared batches are freed. They must not change while a
/// prepared batch is active.
crossdock_status crossdock_distributed_array_local(crossdock_distributed_array* array,
                                                   void** entries, int64_t* num_local);

/// @brief The datatype that the array was made with.
crossdock_status crossdock_distributed_array_datatype(const crossdock_distributed_array* array,
                                                      MPI_Datatype* datatype);

/// @brief The index of this rank's first entry.
crossdock_status crossdock_distributed_array_first_index(const crossdock_distributed_array* array,
                                                         int64_t* first_index);

/// @brief The rank that owns an entry.
/// @return CROSSDOCK_INDEX_OUT_OF_RANGE if there is no such entry
crossdock_status crossdock_distributed_array_owner(const crossdock_distributed_array* array,
                                                   int64_t index, int* rank);

/// @brief values[k] = the entry at indices[k].
crossdock_status crossdock_distributed_array_read(crossdock_distributed_array* array,
                                                  int64_t num_indices, const int64_t* indices,
                                                  void* values);

/// @brief The entry at indices[k] = values[k]; of several for one entry, as the option `equal_writes` says.
crossdock_status crossdock_distributed_array_write(crossdock_distributed_array* array,
                                                   int64_t num_indices, const int64_t* indices,
                                                   const void* values);

/// @brief The entry at indices[k] = operation(it, values[k]), for all k on all ranks.
/// @param operation  as of `crossdock_neighbor_exchange_start_reverse`, or MPI_REPLACE; where it is not defined for the
/// array's datatype, MPI ends the program
/// @return CROSSDOCK_INVALID_ARGUMENT if the operation is MPI_OP_NULL or not commutative
crossdock_status crossdock_distributed_array_update(crossdock_distributed_array* array,
                                                    int64_t num_indices, const int64_t* indices,
                                                    const void* values, MPI_Op operation);

/// @brief As `crossdock_distributed_array_update`, with a function of the caller's.
/// @param combine  associative and commutative; the same on all ranks; called on all ranks
/// @param user     given to `combine`
crossdock_status crossdock_distributed_array_update_with(crossdock_distributed_array* array,
                                                         int64_t num_indices,
                                                         const int64_t* indices, const void* values,
                                                         crossdock_combine combine, void* user);

/// @brief Requests of one kind.
typedef struct crossdock_array_requests {
    int64_t num_indices;
    const int64_t* indices;
    void* values;  ///< one for each index; only those of reads are written
} crossdock_array_requests;

/// @brief Does all writes, then all updates, then all reads, of all ranks, in one batch: requests of all three kinds
/// travel in the same messages.
/// @param writes     null, as are `updates` and `reads`: none of this rank's
/// @param operation  of updates; MPI_OP_NULL on all ranks if there are none
crossdock_status crossdock_distributed_array_step(crossdock_distributed_array* array,
                                                  const crossdock_array_requests* writes,
                                                  const crossdock_array_requests* updates,
                                                  MPI_Op operation,
                                                  const crossdock_array_requests* reads);

/// @brief What one rank's part of a batch was, all stages together. Requests of several kinds are counted together.
typedef struct crossdock_array_counts {
    int64_t requests;               ///< issued by this rank
    int64_t combined_locally;       ///< of these, those that need not leave
    int64_t messages;               ///< that this rank sent with requests
    int64_t empty_messages;         ///< sent without requests, for partners that wait in any case
    int64_t sent;                   ///< requests in the messages
    int64_t inter_region_messages;  ///< of the messages, those to other regions
    int64_t inter_region_sent;      ///< requests in these
    int64_t received;               ///< requests that came
    int64_t combined;  ///< by how many there were fewer after they met here, on the way
    int64_t arrived;   ///< came in the last stage, for this rank's entries
    double combine_locally_seconds;
    double combine_on_the_way_seconds;
    double write_seconds;  ///< at the owner: writes and updates
    double read_seconds;   ///< at the owner
    double split_seconds;  ///< replies, where requests were combined
    double communicate_seconds;
} crossdock_array_counts;

/// @brief Of the last batch on this rank; with CROSSDOCK_TRANSPORT_RMA requests alone are counted.
crossdock_status crossdock_distributed_array_statistics(const crossdock_distributed_array* array,
                                                        crossdock_array_counts* counts);

/// @brief The route that the last batch took; before the first one, what its route is to be.
crossdock_status crossdock_distributed_array_route(const crossdock_distributed_array* array,
                                                   char** route);

/// @brief Compiles requests for the same entries, which are then made again and again without their indices. A batch
/// may outlive its array.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | all but `test` and `wait` | active by `start_read`, `start_update` |
/// | active | `test`, `wait` | idle once complete |
/// @return as `crossdock_distributed_array_read`
crossdock_status crossdock_distributed_array_prepare(crossdock_distributed_array* array,
                                                     int64_t num_indices, const int64_t* indices,
                                                     crossdock_prepared_batch** result);

/// @brief Starts values[k] = the entry of request k. Until the batch is complete the array must not change.
crossdock_status crossdock_prepared_batch_start_read(crossdock_prepared_batch* batch, void* values);

/// @brief Starts the entry of request k = operation(it, values[k]), for all k on all ranks.
/// @param operation  as of `crossdock_neighbor_exchange_start_reverse`
crossdock_status crossdock_prepared_batch_start_update(crossdock_prepared_batch* batch,
                                                       const void* values, MPI_Op operation);

crossdock_status crossdock_prepared_batch_test(crossdock_prepared_batch* batch, int* is_complete);
crossdock_status crossdock_prepared_batch_is_active(const crossdock_prepared_batch* batch,
                                                    int* is_active);
crossdock_status crossdock_prepared_batch_wait(crossdock_prepared_batch* batch);
crossdock_status crossdock_prepared_batch_read(crossdock_prepared_batch* batch, void* values);
crossdock_status crossdock_prepared_batch_update(crossdock_prepared_batch* batch,
                                                 const void* values, MPI_Op operation);

/// @brief Brings the values of all requests to where their entries are, each by itself.
///
///     entry 0 requested by rank 1, entry 1 by ranks 0 and 2    offsets 0 1 3    gathered v1 v0 v2
///
/// The first call of this or of the next two plans a second time, and combines nothing.
/// @param values    one for each request of this rank
/// @param offsets   by entry of this rank, where its values start, and the end: one number more than there are entries
/// @param gathered  of an entry's requests by rank, then in the rank's order; null if there is none
crossdock_status crossdock_prepared_batch_gather(crossdock_prepared_batch* batch,
                                                 const void* values, int64_t** offsets,
                                                 void** gathered);

/// @brief Brings a value to each request: the reverse of `crossdock_prepared_batch_gather`.
/// @param gathered  of the length and order of those
crossdock_status crossdock_prepared_batch_scatter(crossdock_prepared_batch* batch,
                                                  const void* gathered, void* values);

/// @brief The entry of request k = operation(it, values[k]); found[k] = what it was just before.
///
/// Requests for one entry take effect one after the other: by rank, then in the rank's order.
/// @param operation  as of `crossdock_distributed_array_update`
crossdock_status crossdock_prepared_batch_fetch_and_update(crossdock_prepared_batch* batch,
                                                           const void* values, void* found,
                                                           MPI_Op operation);

/// @brief How many requests this rank prepared, and how many entries it owns: as many values and, but for one more,
/// offsets belong to them.
/// @param datatype  of an entry
crossdock_status crossdock_prepared_batch_sizes(const crossdock_prepared_batch* batch,
                                                MPI_Datatype* datatype, int64_t* num_requests,
                                                int64_t* num_entries);

/// @brief How many values `gather` brings to this rank, and `scatter` takes. Collective as these.
crossdock_status crossdock_prepared_batch_num_gathered(crossdock_prepared_batch* batch,
                                                       int64_t* num_gathered);

/// @brief A copy of this rank's plan: forward it reads, in reverse it updates.
crossdock_status crossdock_prepared_batch_plan(const crossdock_prepared_batch* batch,
                                               crossdock_plan** result);

/// @return CROSSDOCK_INVALID_STATE, and frees nothing, while it is active and has not failed: wait first
crossdock_status crossdock_prepared_batch_free(crossdock_prepared_batch* batch);

/// @brief Frees what only all ranks together can; nothing if the context was closed before. No
/// prepared batch may be active.
crossdock_status crossdock_distributed_array_close(crossdock_distributed_array* array);
crossdock_status crossdock_distributed_array_free(crossdock_distributed_array* array);

/// @}
/// @name Streams
///
/// A continuous flow of small items from many threads to many others, collected on the way. Each process has workers,
/// each worker a port; one thread at a time uses a port. A port pushes items to workers and handles those that come,
/// inside `progress`, `test_drain`, `wait_drain` and a push that waits for a buffer, on the thread that calls them.
///
/// | state of a port | legal calls outside handlers | next |
/// |---|---|---|
/// | open | all | draining by `start_drain`, closed by `close` |
/// | draining | `progress`, `test_drain`, `wait_drain`, `port_statistics` | open once at rest |
/// | closed | `port_statistics` | |
///
/// Handlers may push, and call nothing else of their port but `source`, `port_id` and `flush`. Calls of a port are the
/// rank's alone.
///
///     crossdock_stream_create(world, sizeof(item), handle, user, NULL, &stream);
///     crossdock_stream_get_port(stream, 0, &port);
///     for (...) crossdock_stream_port_push(port, rank, 0, &item);
///     crossdock_stream_port_start_drain(port);
///     crossdock_stream_port_wait_drain(port);    every item of every rank has been handled
/// @{

/// @brief Takes a batch of items that came to a port.
/// @param items  one after the other, valid during the call
/// @return 0; anything else ends the stream with CROSSDOCK_HANDLER_FAILED on all ports of all ranks
typedef int (*crossdock_stream_handler)(void* user, crossdock_stream_port* port, const void* items,
                                        int64_t num_items);

/// @brief The key of an item. Called by several threads at once.
typedef uint64_t (*crossdock_stream_key)(void* user, const void* item);

/// @brief What a push does when all buffers of its worker are on their way.
typedef enum crossdock_back_pressure {
    CROSSDOCK_PRESSURE_PROGRESS = 0,  ///< handles what has come to this worker meanwhile
    CROSSDOCK_PRESSURE_BLOCK = 1,     ///< waits without running a handler
    CROSSDOCK_PRESSURE_FAIL = 2       ///< is CROSSDOCK_INVALID_STATE; see `try_push`
} crossdock_back_pressure;

/// @brief How a stream collects, sends and delivers; equal on all ranks but for `pressure`.
typedef struct crossdock_stream_options {
    size_t size;
    int workers;         ///< threads of a process that push and handle
    int priorities;      ///< 1, or 2 if items may be urgent
    const char* scheme;  ///< "ww", "wps", "wsp", "pp" or "node"; null or "auto": chosen
    /// Between processes, e.g. "grid:2"; null or "auto": what CROSSDOCK_ROUTE says in the environment of rank 0, and
    /// else "direct".
    const char* route;
    int64_t buffer_items;    ///< items of a full buffer; 0: 64 KiB of them
    int max_buffers;         ///< of a worker, those on their way included; 0 is the default
    int flush_on_idle;       ///< `progress` that finds nothing to do sends what there is
    double max_age_seconds;  ///< the longest time that an item waits in a buffer; -1: any
    int pressure;            ///< a `crossdock_back_pressure`
    int ordered;      ///< items of one port to one worker are handled in the order of their pushes
    int with_source;  ///< handlers may ask who pushed an item
    int shared_memory;    ///< processes of a node hand buffers over without MPI
    int progress_thread;  ///< not 0: a thread of the library drives MPI
    /// Not 0: workers call no MPI, only the progress thread does, or without one a thread of the user's that calls
    /// `crossdock_stream_drive` until all drains of the process have ended.
    int communication_thread;
    int64_t latency_sample_interval;  ///< N: every N-th push is timed; 0: none is
    crossdock_stream_key key;         ///< null, as `combine`, where items do not combine
    crossdock_combine combine;        ///< of items of one key; called by several threads at once
    const char* name;                 ///< what reports call it; null: "unnamed"
} crossdock_stream_options;

#define CROSSDOCK_STREAM_OPTIONS_INIT                                       \
    {                                                                       \
        sizeof(crossdock_stream_options), 1, 1, NULL, NULL, 0, 0, 1, -1,    \
            CROSSDOCK_PRESSURE_PROGRESS, 0, 0, 1, 0, 0, 0, NULL, NULL, NULL \
    }

/// @brief Makes a stream of items of `item_bytes` bytes each, equally many on all ranks. Whether items combine is
/// equal, too. The context's nodes are who shares memory.
/// @param handler  called with every batch that comes, by several threads if there are several workers
/// @param user     given to all callbacks
/// @return CROSSDOCK_INVALID_ARGUMENT if an option is out of range or differs between ranks, or MPI was initialised
/// with less thread support than the options need; CROSSDOCK_UNKNOWN_ROUTE or CROSSDOCK_INVALID_ROUTE as the route is
crossdock_status crossdock_stream_create(const crossdock_context* context, size_t item_bytes,
                                         crossdock_stream_handler handler, void* user,
                                         const crossdock_stream_options* options,
                                         crossdock_stream** result);

/// @brief The port of one worker; it belongs to the stream.
/// @return CROSSDOCK_INDEX_OUT_OF_RANGE if there is no such worker
crossdock_status crossdock_stream_get_port(crossdock_stream* stream, int worker,
                                           crossdock_stream_port** result);

/// @brief The scheme in use, e.g. "wps"; never freed.
crossdock_status crossdock_stream_scheme(const crossdock_stream* stream, const char** scheme);

/// @brief Drives MPI if this thread may. Handles nothing.
crossdock_status crossdock_stream_drive(crossdock_stream* stream);

/// @brief Appends an item to the buffer for a worker. Waits if all buffers are in use, as the option `pressure` says;
/// never in a handler.
/// @return CROSSDOCK_RANK_OUT_OF_RANGE if there is no such worker; CROSSDOCK_HANDLER_FAILED once a handler has failed
/// anywhere
crossdock_status crossdock_stream_port_push(crossdock_stream_port* port, int rank, int worker,
                                            const void* item);

/// @brief As `crossdock_stream_port_push`; does nothing and gives 0 where that would have to wait.
crossdock_status crossdock_stream_port_try_push(crossdock_stream_port* port, int rank, int worker,
                                                const void* item, int* is_pushed);

/// @brief As `crossdock_stream_port_push`, for an item that leaves at the next `progress` and overtakes.
/// @return CROSSDOCK_INVALID_ARGUMENT if the stream has one priority
crossdock_status crossdock_stream_port_push_urgent(crossdock_stream_port* port, int rank,
                                                   int worker, const void* item);

/// @brief Checks the size of an item, of which a push takes only the address.
/// @return CROSSDOCK_SIZE_MISMATCH if items of the stream have another
crossdock_status crossdock_stream_port_check_item(const crossdock_stream_port* port,
                                                  size_t item_bytes);

/// @brief Handles what has come, sends what is due, and drives MPI if this thread may.
/// @param num_handled  may be null
crossdock_status crossdock_stream_port_progress(crossdock_stream_port* port, int64_t* num_handled);

/// @brief Sends all buffers of the port as they are.
crossdock_status crossdock_stream_port_flush(crossdock_stream_port* port);

/// @brief As `crossdock_stream_port_flush`, only for items for one worker.
/// @return CROSSDOCK_RANK_OUT_OF_RANGE if there is no such worker
crossdock_status crossdock_stream_port_flush_to(crossdock_stream_port* port, int rank, int worker);

/// @brief From now on the buffer for a worker leaves with so many items; a worker that gets few then gets them sooner.
/// Sends what it holds. Route and scheme may have other workers share it.
/// @param num_items  from 1 to `buffer_items` of the options
/// @return CROSSDOCK_RANK_OUT_OF_RANGE if there is no such worker; CROSSDOCK_INVALID_ARGUMENT if the number is out of
/// range, or several workers fill the buffer (schemes "pp" and "node")
crossdock_status crossdock_stream_port_set_buffer_items(crossdock_stream_port* port, int rank,
                                                        int worker, int64_t num_items);

/// @brief Begins to bring the stream to rest: every port of every rank must call it, and then nothing is pushed but by
/// handlers until all items are handled, those that handlers push too. Does not wait.
crossdock_status crossdock_stream_port_start_drain(crossdock_stream_port* port);

/// @brief Makes progress; 1 if everything is at rest, otherwise 0.
/// @return CROSSDOCK_HANDLER_FAILED once a handler has failed anywhere
crossdock_status crossdock_stream_port_test_drain(crossdock_stream_port* port, int* is_at_rest);

/// @brief Makes progress until everything is at rest, on other drains of this thread, too.
/// @return as `crossdock_stream_port_test_drain`
crossdock_status crossdock_stream_port_wait_drain(crossdock_stream_port* port);

/// @brief Whose port it is.
crossdock_status crossdock_stream_port_id(const crossdock_stream_port* port, int* rank,
                                          int* worker);

/// @brief Who pushed an item of the batch at hand; only in a handler.
/// @return CROSSDOCK_INVALID_STATE outside handlers, or without the option `with_source`; CROSSDOCK_INDEX_OUT_OF_RANGE
/// if the batch has no such item
crossdock_status crossdock_stream_port_source(const crossdock_stream_port* port, int64_t item,
                                              int* rank, int* worker);

/// @brief Why a buffer left.
typedef enum crossdock_flush_cause {
    CROSSDOCK_FLUSH_FULL = 0,      ///< no room for another item
    CROSSDOCK_FLUSH_REQUEST = 1,   ///< `flush`
    CROSSDOCK_FLUSH_IDLE = 2,      ///< `progress` had nothing else to do
    CROSSDOCK_FLUSH_AGE = 3,       ///< its first item had waited for `max_age_seconds`
    CROSSDOCK_FLUSH_PRESSURE = 4,  ///< all buffers were in use
    CROSSDOCK_FLUSH_URGENT = 5,    ///< urgent items, at the next `progress`
    CROSSDOCK_FLUSH_DRAIN = 6,     ///< the last ones before a drain
    CROSSDOCK_NUM_FLUSH_CAUSES = 7
} crossdock_flush_cause;

/// @brief What a port has done so far, or several together.
typedef struct crossdock_stream_counts {
    int64_t items;          ///< pushed here
    int64_t combined;       ///< of all pushed or forwarded, those that became part of another
    int64_t handled;        ///< given to handlers
    int64_t forwarded;      ///< that travelled on from here
    int64_t hops;           ///< travelled by the items handled here
    int64_t messages;       ///< buffers that left, also to workers that share memory
    int64_t mpi_messages;   ///< of those, sent by MPI
    int64_t mpi_bytes;      ///< in them
    int64_t message_items;  ///< in all buffers that left
    int64_t messages_by_cause[CROSSDOCK_NUM_FLUSH_CAUSES];  ///< by `crossdock_flush_cause`
    int64_t overflow_buffers;                               ///< that handlers took beyond the bound
    int64_t waits;                                          ///< pushes that waited for a buffer
    int64_t peak_buffers;     ///< filled at the same time; of several ports, their sum
    int64_t latency_samples;  ///< items handled here whose time was taken
    double latency_median_seconds;
    double latency_p99_seconds;
    double latency_max_seconds;
} crossdock_stream_counts;

/// @brief Of one port.
crossdock_status crossdock_stream_port_statistics(const crossdock_stream_port* port,
                                                  crossdock_stream_counts* counts);

/// @brief Of all ports of this process. Call while none of them is at work.
crossdock_status crossdock_stream_statistics(const crossdock_stream* stream,
                                             crossdock_stream_counts* counts);

/// @brief Ends the stream, which can then only be freed and asked for its statistics. No port may be in use.
/// @return CROSSDOCK_INVALID_STATE if items have been pushed since the last drain, on any rank
crossdock_status crossdock_stream_close(crossdock_stream* stream);

/// @brief Frees a stream with its ports. What only all ranks together can give back is lost unless it was closed.
/// @return CROSSDOCK_INVALID_STATE, and frees nothing, while items wait for a drain that has not failed: drain first
crossdock_status crossdock_stream_free(crossdock_stream* stream);

/// @}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif

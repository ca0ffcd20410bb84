/// @file
/// @brief The functions that are compared: MPI_*, which a preloaded library may define, and PMPI_*, the MPI's own.
///
/// CROSSDOCK_HAS_NEIGHBOR_INIT says that the MPI has MPI_Neighbor_*_init, CROSSDOCK_HAS_MPI_EXTENSIONS that it has
/// MPIX_Neighbor_*_init in mpi-ext.h, and CROSSDOCK_HAS_LARGE_COUNTS that it has MPI_Neighbor_*_c.
#pragma once

#include <mpi.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#endif

#include <string>

namespace conformance {

enum class call { allgather, allgatherv, alltoall, alltoallv, alltoallw };
enum class form { blocking, nonblocking, persistent };

inline std::string name_of(form how, call which) {
    constexpr const char* calls[] = {"allgather", "allgatherv", "alltoall", "alltoallv",
                                     "alltoallw"};
    const std::string of = calls[static_cast<int>(which)];
    if (how == form::persistent) return "Neighbor_" + of + "_init";
    return (how == form::blocking ? "Neighbor_" : "Ineighbor_") + of;
}

/// The five calls of one form, in the order of `call`; the forms differ in the last arguments.
template <class Count, class Displacement, class... Last>
struct calls {
    using equal_blocks = int (*)(const void*, Count, MPI_Datatype, void*, Count, MPI_Datatype,
                                 Last...);
    equal_blocks allgather;
    int (*allgatherv)(const void*, Count, MPI_Datatype, void*, const Count*, const Displacement*,
                      MPI_Datatype, Last...);
    equal_blocks alltoall;
    int (*alltoallv)(const void*, const Count*, const Displacement*, MPI_Datatype, void*,
                     const Count*, const Displacement*, MPI_Datatype, Last...);
    int (*alltoallw)(const void*, const Count*, const MPI_Aint*, const MPI_Datatype*, void*,
                     const Count*, const MPI_Aint*, const MPI_Datatype*, Last...);
};

template <class Count, class Displacement>
struct forms {
    calls<Count, Displacement, MPI_Comm> blocking;
    calls<Count, Displacement, MPI_Comm, MPI_Request*> nonblocking;
    calls<Count, Displacement, MPI_Comm, MPI_Info, MPI_Request*> persistent;
};

/// What a call is told of the data that it sends, or of those that it receives; each call takes what it needs.
template <class Count, class Displacement>
struct arguments {
    void* base;
    Count count;
    const Count* counts;
    const Displacement* displacements;
    const MPI_Aint* byte_displacements;
    const MPI_Datatype* types;
};

template <class Count, class Displacement, class... Last>
int invoke(const calls<Count, Displacement, Last...>& mpi, call which,
           const arguments<Count, Displacement>& s, const arguments<Count, Displacement>& r,
           Last... last) {
    switch (which) {
        case call::allgather:
            return mpi.allgather(s.base, s.count, s.types[0], r.base, r.count, r.types[0], last...);
        case call::allgatherv:
            return mpi.allgatherv(s.base, s.count, s.types[0], r.base, r.counts, r.displacements,
                                  r.types[0], last...);
        case call::alltoall:
            return mpi.alltoall(s.base, s.count, s.types[0], r.base, r.count, r.types[0], last...);
        case call::alltoallv:
            return mpi.alltoallv(s.base, s.counts, s.displacements, s.types[0], r.base, r.counts,
                                 r.displacements, r.types[0], last...);
        default:
            return mpi.alltoallw(s.base, s.counts, s.byte_displacements, s.types, r.base, r.counts,
                                 r.byte_displacements, r.types, last...);
    }
}

struct functions {
    decltype(&MPI_Dist_graph_create_adjacent) dist_graph_create_adjacent;
    decltype(&MPI_Cart_create) cart_create;
    decltype(&MPI_Graph_create) graph_create;
    decltype(&MPI_Comm_dup) comm_dup;
    decltype(&MPI_Start) start;
    decltype(&MPI_Wait) wait;
    decltype(&MPI_Request_free) request_free;
    forms<int, int> small;
    forms<MPI_Count, MPI_Aint> large;
};

#define CONFORMANCE_CALLS(name, suffix)                                            \
    {                                                                              \
        name##allgather##suffix, name##allgatherv##suffix, name##alltoall##suffix, \
            name##alltoallv##suffix, name##alltoallw##suffix                       \
    }
#if defined(CROSSDOCK_HAS_NEIGHBOR_INIT)
#define CONFORMANCE_PERSISTENT(mpi) CONFORMANCE_CALLS(mpi##_Neighbor_, _init)
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#define CONFORMANCE_PERSISTENT(mpi) CONFORMANCE_CALLS(mpi##X_Neighbor_, _init)
#else
#define CONFORMANCE_PERSISTENT(mpi) \
    {}
#endif
#ifdef CROSSDOCK_HAS_LARGE_COUNTS
#define CONFORMANCE_LARGE(mpi)                                                           \
    {                                                                                    \
        CONFORMANCE_CALLS(mpi##_Neighbor_, _c), CONFORMANCE_CALLS(mpi##_Ineighbor_, _c), \
            CONFORMANCE_CALLS(mpi##_Neighbor_, _init_c)                                  \
    }
#else
#define CONFORMANCE_LARGE(mpi) \
    {}
#endif
#define CONFORMANCE_FUNCTIONS(mpi)                                                               \
    {                                                                                            \
        mpi##_Dist_graph_create_adjacent, mpi##_Cart_create, mpi##_Graph_create, mpi##_Comm_dup, \
            mpi##_Start, mpi##_Wait, mpi##_Request_free,                                         \
            {CONFORMANCE_CALLS(mpi##_Neighbor_, ), CONFORMANCE_CALLS(mpi##_Ineighbor_, ),        \
             CONFORMANCE_PERSISTENT(mpi)},                                                       \
            CONFORMANCE_LARGE(mpi)                                                               \
    }

/// What the program under test calls, and what it is compared with.
inline const functions taken_functions = CONFORMANCE_FUNCTIONS(MPI);
inline const functions twin_functions = CONFORMANCE_FUNCTIONS(PMPI);

inline bool has_persistent() { return twin_functions.small.persistent.alltoallv != nullptr; }
inline bool has_large_counts() { return twin_functions.large.blocking.alltoallv != nullptr; }

}  // namespace conformance

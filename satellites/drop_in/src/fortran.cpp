// The functions of MPI that libcrossdock_mpi.so takes the place of, as Fortran programs call them (mpif.h, `use mpi`,
// `use mpi_f08`): the Fortran bindings of Open MPI call PMPI_, below the functions in C.
//
// Compilers append one underscore to a name. Those that append none are left out, since programs in C have functions of
// their own called mpi_comm_dup and the like; and those that append two, which name the constants otherwise, too.
#include <mpi.h>

#include <concepts>
#include <cstddef>
#include <mutex>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fortran_place.hpp"
#include "own_functions.hpp"

// A Fortran program names a constant by the address of one of these, which libmpi has.
extern "C" {
extern MPI_Fint mpi_fortran_bottom_;
extern MPI_Fint mpi_fortran_in_place_;
extern MPI_Fint mpi_fortran_status_ignore_;
extern MPI_Fint mpi_fortran_statuses_ignore_;
extern MPI_Fint mpi_fortran_unweighted_;
extern MPI_Fint mpi_fortran_weights_empty_;
}

namespace {

template <class T>
concept handle = std::same_as<T, MPI_Comm> || std::same_as<T, MPI_Datatype> ||
    std::same_as<T, MPI_Info> || std::same_as<T, MPI_Request>;

template <class T>
T from_fortran(MPI_Fint given) {
    if constexpr (std::same_as<T, MPI_Comm>)
        return PMPI_Comm_f2c(given);
    else if constexpr (std::same_as<T, MPI_Datatype>)
        return PMPI_Type_f2c(given);
    else if constexpr (std::same_as<T, MPI_Info>)
        return PMPI_Info_f2c(given);
    else if constexpr (std::same_as<T, MPI_Request>)
        return PMPI_Request_f2c(given);
    else
        return given;
}
MPI_Fint to_fortran(MPI_Comm comm) { return PMPI_Comm_c2f(comm); }
MPI_Fint to_fortran(MPI_Request request) { return PMPI_Request_c2f(request); }

// What a function in C takes as a T, from the address that Fortran passes. Here: a buffer, an array of integers, or
// statuses, which have the same layout in both. A LOGICAL in an array is true if it is not zero, as in C.
template <class T>
struct argument {
    explicit argument(void* at) : in_c(static_cast<T>(at)) {
        if constexpr (std::is_void_v<std::remove_pointer_t<T>>) {
            if (at == &mpi_fortran_bottom_) in_c = MPI_BOTTOM;
            if (at == &mpi_fortran_in_place_) in_c = MPI_IN_PLACE;
        } else if constexpr (std::same_as<T, const int*>) {
            if (at == &mpi_fortran_unweighted_) in_c = MPI_UNWEIGHTED;
            if (at == &mpi_fortran_weights_empty_) in_c = MPI_WEIGHTS_EMPTY;
        } else if constexpr (std::same_as<T, MPI_Status*>) {
            if (at == &mpi_fortran_status_ignore_) in_c = MPI_STATUS_IGNORE;
            if (at == &mpi_fortran_statuses_ignore_) in_c = MPI_STATUSES_IGNORE;
        }
    }
    T& get() { return in_c; }
    void give_back() {}
    T in_c;
};

template <class T>
requires handle<T> || std::same_as<T, int>
struct argument<T> {
    explicit argument(void* at) : in_c(from_fortran<T>(*static_cast<MPI_Fint*>(at))) {}
    T& get() { return in_c; }
    void give_back() {}
    T in_c;
};

// A handle that the function makes or changes.
template <handle T>
struct argument<T*> {
    explicit argument(void* given) : at(static_cast<MPI_Fint*>(given)) {}
    void read() { in_c = before = from_fortran<T>(*at); }
    T* get() { return &in_c; }
    void give_back() {
        if (in_c != before) *at = to_fortran(in_c);
    }
    MPI_Fint* at;
    T in_c{};
    T before{};
};

// The datatypes of all neighbors or ranks.
template <>
struct argument<const MPI_Datatype*> {
    explicit argument(void* given) : at(static_cast<const MPI_Fint*>(given)) {}
    void read(int size) {
        for (int i = 0; i < size; ++i) types.push_back(from_fortran<MPI_Datatype>(at[i]));
        types.push_back(MPI_DATATYPE_NULL);  // MPI refuses null arrays
        in_c = types.data();
    }
    // MPI reads the array until a nonblocking call is complete, and the program has none in C: each that differs is
    // kept.
    void keep() {
        static std::mutex one_at_a_time;
        static auto& all = *new std::set<std::vector<MPI_Datatype>>;
        const std::lock_guard lock(one_at_a_time);
        in_c = all.insert(std::move(types)).first->data();
    }
    const MPI_Datatype* get() { return in_c; }
    void give_back() {}
    const MPI_Fint* at;
    std::vector<MPI_Datatype> types;
    const MPI_Datatype* in_c = nullptr;
};

struct degrees {
    int num_sources = 0;
    int num_destinations = 0;
};

// None where there is no topology; MPI says so then.
degrees degrees_of(MPI_Comm comm) {
    int kind = MPI_UNDEFINED, degree = 0, other_degree = 0, is_weighted = 0;
    if (comm != MPI_COMM_NULL) PMPI_Topo_test(comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &degree, &other_degree, &is_weighted);
        return {degree, other_degree};
    }
    if (kind == MPI_GRAPH) {
        int rank = 0;
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &degree);
    } else if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &degree);
        degree *= 2;
    }
    return {degree, degree};
}

// All ranks are sources and destinations.
degrees num_ranks_of(MPI_Comm comm) {
    int is_inter = 0, num_ranks = 0;
    if (comm == MPI_COMM_NULL) return {};
    PMPI_Comm_test_inter(comm, &is_inter);
    (is_inter ? PMPI_Comm_remote_size : PMPI_Comm_size)(comm, &num_ranks);
    return {num_ranks, num_ranks};
}

template <class... C, class... Addresses>
int call_in_c(int (*function)(C...), Addresses... addresses) {
    constexpr std::size_t size = sizeof...(C);
    std::tuple<argument<C>...> all{argument<C>(addresses)...};
    if constexpr (requires { std::get<0>(all).read(); }) std::get<0>(all).read();
    // What makes a communicator has the LOGICAL `reorder` before it, or no integer.
    if constexpr (size > 2) {
        auto& last_but_one = std::get<size - 2>(all).in_c;
        if constexpr (std::same_as<decltype(last_but_one), int&>) last_but_one = last_but_one != 0;
    }
    if constexpr ((std::same_as<C, const MPI_Datatype*> || ...)) {
        // Displacements between neighbors are addresses.
        constexpr bool has_neighbors = (std::same_as<C, const MPI_Aint*> || ...);
        const auto comm = std::get<argument<MPI_Comm>>(all).in_c;
        const auto present = has_neighbors ? degrees_of(comm) : num_ranks_of(comm);
        std::get<3>(all).read(std::get<0>(all).in_c == MPI_IN_PLACE ? 0 : present.num_destinations);
        std::get<7>(all).read(present.num_sources);
        if constexpr ((std::same_as<C, MPI_Request*> || ...)) {
            std::get<3>(all).keep();
            std::get<7>(all).keep();
        }
    }
    const int code = std::apply([&](auto&... one) { return function(one.get()...); }, all);
    std::apply([](auto&... one) { (one.give_back(), ...); }, all);
    return code;
}

// A C function that takes an array of requests, and perhaps one of statuses.
template <class... C, class... Addresses>
int call_in_c(int (*function)(int, MPI_Request*, C...), void* count, void* first,
              Addresses... addresses) {
    const int size = *static_cast<MPI_Fint*>(count);
    auto* const given = static_cast<MPI_Fint*>(first);
    std::vector<MPI_Request> requests;
    for (int i = 0; i < size; ++i) requests.push_back(from_fortran<MPI_Request>(given[i]));
    const int code = function(size, requests.data(), argument<C>(addresses).get()...);
    for (std::size_t i = 0; i < requests.size(); ++i) given[i] = to_fortran(requests[i]);
    return code;
}

// mpi_f08 may leave out `ierror`.
template <class Function, class... Addresses>
void call(const void* place, MPI_Fint* ierror, Function function, Addresses... addresses) noexcept {
    int code = MPI_SUCCESS;
    crossdock::drop_in::fortran_place = place;
    try {
        code = call_in_c(function, addresses...);
    } catch (...) {
        code = MPI_ERR_NO_MEM;
        PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    }
    crossdock::drop_in::fortran_place = nullptr;
    if (ierror != nullptr) *ierror = code;
}

// Fortran counts from 1.
int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    const int code = MPI_Waitany(count, requests, index, status);
    if (*index != MPI_UNDEFINED) ++*index;
    return code;
}

int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    const int code = MPI_Testany(count, requests, index, flag, status);
    if (*index != MPI_UNDEFINED) ++*index;
    return code;
}

int Waitsome(int count, MPI_Request* requests, int* number, int* indices, MPI_Status* statuses) {
    const int code = MPI_Waitsome(count, requests, number, indices, statuses);
    for (int i = 0; i < *number; ++i) ++indices[i];
    return code;
}

int Testsome(int count, MPI_Request* requests, int* number, int* indices, MPI_Status* statuses) {
    const int code = MPI_Testsome(count, requests, number, indices, statuses);
    for (int i = 0; i < *number; ++i) ++indices[i];
    return code;
}

}  // namespace

#define CROSSDOCK_NAMES_1 a
#define CROSSDOCK_NAMES_2 CROSSDOCK_NAMES_1, b
#define CROSSDOCK_NAMES_3 CROSSDOCK_NAMES_2, c
#define CROSSDOCK_NAMES_4 CROSSDOCK_NAMES_3, d
#define CROSSDOCK_NAMES_5 CROSSDOCK_NAMES_4, e
#define CROSSDOCK_NAMES_6 CROSSDOCK_NAMES_5, f
#define CROSSDOCK_NAMES_7 CROSSDOCK_NAMES_6, g
#define CROSSDOCK_NAMES_8 CROSSDOCK_NAMES_7, h
#define CROSSDOCK_NAMES_9 CROSSDOCK_NAMES_8, i
#define CROSSDOCK_NAMES_10 CROSSDOCK_NAMES_9, j
#define CROSSDOCK_NAMES_11 CROSSDOCK_NAMES_10, k
#define CROSSDOCK_ADDRESSES_1 void* a
#define CROSSDOCK_ADDRESSES_2 CROSSDOCK_ADDRESSES_1, void* b
#define CROSSDOCK_ADDRESSES_3 CROSSDOCK_ADDRESSES_2, void* c
#define CROSSDOCK_ADDRESSES_4 CROSSDOCK_ADDRESSES_3, void* d
#define CROSSDOCK_ADDRESSES_5 CROSSDOCK_ADDRESSES_4, void* e
#define CROSSDOCK_ADDRESSES_6 CROSSDOCK_ADDRESSES_5, void* f
#define CROSSDOCK_ADDRESSES_7 CROSSDOCK_ADDRESSES_6, void* g
#define CROSSDOCK_ADDRESSES_8 CROSSDOCK_ADDRESSES_7, void* h
#define CROSSDOCK_ADDRESSES_9 CROSSDOCK_ADDRESSES_8, void* i
#define CROSSDOCK_ADDRESSES_10 CROSSDOCK_ADDRESSES_9, void* j
#define CROSSDOCK_ADDRESSES_11 CROSSDOCK_ADDRESSES_10, void* k

// `size` counts what stands before `ierror`.
#define CROSSDOCK_FORTRAN(size, name, fortran_name)                                 \
    extern "C" void fortran_name##_(CROSSDOCK_ADDRESSES_##size, MPI_Fint* ierror) { \
        call(__builtin_return_address(0), ierror, name, CROSSDOCK_NAMES_##size);    \
    }                                                                               \
    extern "C" [[gnu::alias(#fortran_name "_")]] decltype(fortran_name##_) fortran_name##_f08_;

#ifdef CROSSDOCK_INIT
#define CROSSDOCK_EXPANDED(size, name, fortran_name) CROSSDOCK_FORTRAN(size, name, fortran_name)
#define CROSSDOCK_FORTRAN_INIT(size, name, fortran_name) \
    CROSSDOCK_EXPANDED(size, CROSSDOCK_INIT(name, ), CROSSDOCK_FORTRAN_INIT_NAME(fortran_name))
#else
#define CROSSDOCK_FORTRAN_INIT(size, name, fortran_name)
#endif
// The three forms of a call; a nonblocking one has a request, a persistent one an info besides.
#define CROSSDOCK_FORTRAN_FORMS(name, nonblocking_name, fortran_name, size, nonblocking_size, \
                                persistent_size)                                              \
    CROSSDOCK_FORTRAN(size, MPI_##name, mpi_##fortran_name)                                   \
    CROSSDOCK_FORTRAN(nonblocking_size, MPI_##nonblocking_name, mpi_i##fortran_name)          \
    CROSSDOCK_FORTRAN_INIT(persistent_size, name, fortran_name)

#pragma GCC visibility push(default)

CROSSDOCK_FORTRAN_FORMS(Neighbor_alltoall, Ineighbor_alltoall, neighbor_alltoall, 7, 8, 9)
CROSSDOCK_FORTRAN_FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, neighbor_alltoallv, 9, 10, 11)
CROSSDOCK_FORTRAN_FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, neighbor_alltoallw, 9, 10, 11)
CROSSDOCK_FORTRAN_FORMS(Neighbor_allgather, Ineighbor_allgather, neighbor_allgather, 7, 8, 9)
CROSSDOCK_FORTRAN_FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, neighbor_allgatherv, 8, 9, 10)
CROSSDOCK_FORTRAN_FORMS(Alltoall, Ialltoall, alltoall, 7, 8, 9)
CROSSDOCK_FORTRAN_FORMS(Alltoallv, Ialltoallv, alltoallv, 9, 10, 11)
CROSSDOCK_FORTRAN_FORMS(Alltoallw, Ialltoallw, alltoallw, 9, 10, 11)
CROSSDOCK_FORTRAN(1, MPI_Start, mpi_start)
CROSSDOCK_FORTRAN(2, MPI_Startall, mpi_startall)
CROSSDOCK_FORTRAN(2, MPI_Wait, mpi_wait)
CROSSDOCK_FORTRAN(3, MPI_Waitall, mpi_waitall)
CROSSDOCK_FORTRAN(4, Waitany, mpi_waitany)
CROSSDOCK_FORTRAN(5, Waitsome, mpi_waitsome)
CROSSDOCK_FORTRAN(3, MPI_Test, mpi_test)
CROSSDOCK_FORTRAN(4, MPI_Testall, mpi_testall)
CROSSDOCK_FORTRAN(5, Testany, mpi_testany)
CROSSDOCK_FORTRAN(5, Testsome, mpi_testsome)
CROSSDOCK_FORTRAN(3, MPI_Request_get_status, mpi_request_get_status)
CROSSDOCK_FORTRAN(1, MPI_Request_free, mpi_request_free)
CROSSDOCK_FORTRAN(1, MPI_Cancel, mpi_cancel)
CROSSDOCK_FORTRAN(10, MPI_Dist_graph_create_adjacent, mpi_dist_graph_create_adjacent)
CROSSDOCK_FORTRAN(9, MPI_Dist_graph_create, mpi_dist_graph_create)
CROSSDOCK_FORTRAN(6, MPI_Graph_create, mpi_graph_create)
CROSSDOCK_FORTRAN(6, MPI_Cart_create, mpi_cart_create)
CROSSDOCK_FORTRAN(3, MPI_Cart_sub, mpi_cart_sub)
// Without `ierror`.
extern "C" void mpi_pcontrol_(const MPI_Fint* level) { MPI_Pcontrol(*level); }
extern "C" [[gnu::alias("mpi_pcontrol_")]] decltype(mpi_pcontrol_) mpi_pcontrol_f08_;
CROSSDOCK_FORTRAN(2, MPI_Comm_dup, mpi_comm_dup)
CROSSDOCK_FORTRAN(3, MPI_Comm_dup_with_info, mpi_comm_dup_with_info)
CROSSDOCK_FORTRAN(1, MPI_Comm_free, mpi_comm_free)
CROSSDOCK_FORTRAN(1, MPI_Comm_disconnect, mpi_comm_disconnect)

#pragma GCC visibility pop

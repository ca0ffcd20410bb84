// Many communicators with neighbors, alive together: what the library takes from MPI does not grow with their number,
// and each rank frees them in an order of its own.
#include <dlfcn.h>
#include <mpi.h>
#ifdef CROSSDOCK_HAS_MPI_EXTENSIONS
#include <mpi-ext.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "world.hpp"

namespace {

// What MPI was asked for, and has not got back.
struct taken {
    int communicators = 0;
    int windows = 0;
    int groups = 0;
    int keys = 0;
    friend bool operator==(const taken&, const taken&) = default;
};
taken now;

template <class Function>
Function* next(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int count(int& number, int code) {
    if (code == MPI_SUCCESS) ++number;
    return code;
}

}  // namespace

// Below the library, and below the functions of MPI that it does not define.
#define COUNTED(counter, name, parameters, arguments)                      \
    extern "C" int PMPI_##name parameters {                                \
        return count(counter, next(PMPI_##name, "PMPI_" #name) arguments); \
    }
#define COUNTED_TWICE(counter, name, parameters, arguments) \
    COUNTED(counter, name, parameters, arguments)           \
    extern "C" int MPI_##name parameters { return PMPI_##name arguments; }
#define FREED(counter, name, handle)                    \
    extern "C" int PMPI_##name(handle* ended) {         \
        --(counter);                                    \
        return next(PMPI_##name, "PMPI_" #name)(ended); \
    }
COUNTED(now.communicators, Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
COUNTED(now.communicators, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made),
        (comm, color, key, made))
COUNTED(now.communicators, Comm_split_type,
        (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
        (comm, type, key, info, made))
COUNTED(now.communicators, Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made),
        (comm, group, made))
COUNTED(now.communicators, Dist_graph_create_adjacent,
        (MPI_Comm comm, int indegree, const int* sources, const int* weights, int outdegree,
         const int* destinations, const int* other_weights, MPI_Info info, int reorder,
         MPI_Comm* made),
        (comm, indegree, sources, weights, outdegree, destinations, other_weights, info, reorder,
         made))
COUNTED(now.communicators, Cart_create,
        (MPI_Comm comm, int number, const int* extents, const int* are_periodic, int reorder,
         MPI_Comm* made),
        (comm, number, extents, are_periodic, reorder, made))
FREED(now.communicators, Comm_free, MPI_Comm)
COUNTED_TWICE(now.windows, Win_allocate_shared,
              (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* made),
              (size, unit, info, comm, base, made))
COUNTED_TWICE(now.groups, Comm_group, (MPI_Comm comm, MPI_Group* made), (comm, made))
FREED(now.groups, Group_free, MPI_Group)
extern "C" int MPI_Group_free(MPI_Group* ended) { return PMPI_Group_free(ended); }
COUNTED_TWICE(now.keys, Comm_create_keyval,
              (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function* remove, int* key,
               void* state),
              (copy, remove, key, state))

namespace {

enum class form { blocking, nonblocking, persistent };
enum class kind { ring, without_last, of_some_ranks, grid, all_ranks };

struct maker {
    world& in;
    MPI_Comm some = MPI_COMM_NULL;  // all but the last rank

    MPI_Comm ring_on(MPI_Comm comm, bool is_in_it, int num_in_it) const {
        std::array<int, 2> from{}, to{};
        int rank = 0, degree = is_in_it ? 2 : 0;
        MPI_Comm_rank(comm, &rank);
        from = to = {(rank + 1) % num_in_it, (rank + num_in_it - 1) % num_in_it};
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Dist_graph_create_adjacent(comm, degree, from.data(), MPI_UNWEIGHTED, degree, to.data(),
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
        return made;
    }
    MPI_Comm make(kind what) const {
        MPI_Comm made = MPI_COMM_NULL;
        const int last = in.num_ranks - 1, is_periodic = in.num_ranks > 2;
        switch (what) {
            case kind::ring: return ring_on(MPI_COMM_WORLD, true, in.num_ranks);
            case kind::without_last:
                return ring_on(MPI_COMM_WORLD, in.rank < last, std::max(last, 1));
            case kind::of_some_ranks:
                return some == MPI_COMM_NULL ? made : ring_on(some, true, last);
            case kind::grid:
                MPI_Cart_create(MPI_COMM_WORLD, 1, &in.num_ranks, &is_periodic, 0, &made);
                return made;
            case kind::all_ranks: MPI_Comm_dup(MPI_COMM_WORLD, &made); return made;
        }
        return made;
    }
};

// As a program would call MPI; each rank tells its number and that of the call.
void exchange(world& in, MPI_Comm comm, kind what, form how, int num_calls) {
    if (comm == MPI_COMM_NULL) return;
    int size = 0, rank = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    const auto number = static_cast<std::size_t>(std::max(size, 2));
    std::vector<int> sent(number), received(number), counts(number, 1), places(number);
    std::iota(places.begin(), places.end(), 0);
    MPI_Request request = MPI_REQUEST_NULL;
#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define INIT(name) MPI_##name##_init
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#define INIT(name) MPIX_##name##_init
#endif
#define ARGUMENTS                                                                       \
    sent.data(), counts.data(), places.data(), MPI_INT, received.data(), counts.data(), \
        places.data(), MPI_INT, comm
    const bool has_all = what == kind::all_ranks;
#ifdef INIT
    if (how == form::persistent && has_all) INIT(Alltoallv)(ARGUMENTS, MPI_INFO_NULL, &request);
    if (how == form::persistent && !has_all)
        INIT(Neighbor_alltoallv)(ARGUMENTS, MPI_INFO_NULL, &request);
#else
    if (how == form::persistent) return;
#endif
    for (int call = 0; call < num_calls; ++call) {
        std::fill(sent.begin(), sent.end(), 1000 * call + rank);
        std::fill(received.begin(), received.end(), -1);
        if (how == form::blocking && has_all) MPI_Alltoallv(ARGUMENTS);
        if (how == form::blocking && !has_all) MPI_Neighbor_alltoallv(ARGUMENTS);
        if (how == form::nonblocking && has_all) MPI_Ialltoallv(ARGUMENTS, &request);
        if (how == form::nonblocking && !has_all) MPI_Ineighbor_alltoallv(ARGUMENTS, &request);
        if (how == form::persistent) MPI_Start(&request);
        if (how != form::blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
        int sum = 0, expected = 0;
        for (const int one : received)
            if (one != -1) sum += one - 1000 * call;
        if (has_all) expected = size * (size - 1) / 2;
        const int before = (rank + size - 1) % size, after = (rank + 1) % size;
        if (what == kind::ring || what == kind::of_some_ranks) expected = before + after;
        if (what == kind::without_last && size > 1 && rank < size - 1)
            expected = (rank + size - 2) % (size - 1) + (rank + 1) % (size - 1);
        if (what == kind::grid && size > 2) expected = before + after;
        if (what == kind::grid && size == 2) expected = 1 - rank;
        in.expect(sum == expected, "call " + std::to_string(call) + " brought " +
                                       std::to_string(sum) + " in place of " +
                                       std::to_string(expected));
    }
    if (how == form::persistent) MPI_Request_free(&request);
}

// Makes, uses and keeps so many more communicators.
void add(std::vector<MPI_Comm>& all, const maker& by, kind what, form how, int number,
         int num_calls) {
    for (int i = 0; i < number; ++i) {
        all.push_back(by.make(what));
        exchange(by.in, all.back(), what, how, num_calls);
    }
}

void try_kind(world& in, const maker& by, kind what, form how, int num_calls) {
    constexpr int num_first = 3, num_more = 20;
    std::vector<MPI_Comm> all;
    add(all, by, what, how, num_first, num_calls);
    const auto before = now;
    add(all, by, what, how, num_more, num_calls);
    auto expected = before;
    if (all.back() != MPI_COMM_NULL) expected.communicators += num_more;
    in.expect(now == expected, "the library took " +
                                   std::to_string(now.communicators - expected.communicators) +
                                   " communicators more for " + std::to_string(num_more) +
                                   " graphs, kind " + std::to_string(static_cast<int>(what)) +
                                   ", form " + std::to_string(static_cast<int>(how)));
    in.expect(now.groups == 0, std::to_string(now.groups) + " groups are left");
    // In another order on each rank, and some not before MPI_Finalize.
    std::rotate(all.begin(), all.begin() + (7 * in.rank) % std::ssize(all), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] != MPI_COMM_NULL) MPI_Comm_free(&all[i]);
    add(all, by, what, how, 2, num_calls);
}

// More calls than there are tags for, and one rank that is late: each call gets its own blocks.
void start_many_calls(world& in, const maker& by) {
    constexpr int num_calls = 300;
    MPI_Comm comm = by.make(kind::ring);
    std::vector<std::array<int, 2>> sent(num_calls), received(num_calls, {-1, -1});
    std::vector<MPI_Request> requests(num_calls, MPI_REQUEST_NULL);
    if (in.rank == in.num_ranks - 1) usleep(20000);
    for (std::size_t call = 0; call < num_calls; ++call) {
        const int first = 1000 * static_cast<int>(call) + 2 * in.rank;
        sent[call] = {first, first + 1};
        MPI_Ineighbor_alltoall(sent[call].data(), 1, MPI_INT, received[call].data(), 1, MPI_INT,
                               comm, &requests[call]);
    }
    MPI_Waitall(num_calls, requests.data(), MPI_STATUSES_IGNORE);
    const int before = (in.rank + in.num_ranks - 1) % in.num_ranks,
              after = (in.rank + 1) % in.num_ranks;
    for (std::size_t call = 0; call < num_calls; ++call) {
        const int first = 1000 * static_cast<int>(call);
        // From the rank after comes its block for the one before; with two ranks or one, both come from one.
        const bool is_right =
            in.num_ranks > 2
                ? received[call] == std::array{first + 2 * after + 1, first + 2 * before}
                : received[call][0] / 1000 == static_cast<int>(call) &&
                      received[call][1] / 1000 == static_cast<int>(call);
        in.expect(is_right, "call " + std::to_string(call) + " of many brought " +
                                std::to_string(received[call][0]) + " and " +
                                std::to_string(received[call][1]));
    }
    MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_all(argc, argv, [&](world& in) {
        maker by{in};
        MPI_Comm_split(MPI_COMM_WORLD, in.rank < in.num_ranks - 1 ? 0 : MPI_UNDEFINED, 0, &by.some);
        for (const auto how : {form::blocking, form::nonblocking, form::persistent})
            for (const auto what :
                 {kind::ring, kind::without_last, kind::of_some_ranks, kind::grid, kind::all_ranks})
                for (const int num_calls : {0, 2, 20}) try_kind(in, by, what, how, num_calls);
        start_many_calls(in, by);
        if (by.some != MPI_COMM_NULL) MPI_Comm_free(&by.some);
    });
}

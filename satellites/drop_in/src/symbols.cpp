// The functions of MPI that libcrossdock_mpi.so takes the place of. PMPI_ has MPI's own.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "call.hpp"
#include "fortran_place.hpp"
#include "own_functions.hpp"
#include "own_requests.hpp"
#include "polling.hpp"

namespace {

using namespace crossdock::drop_in;

bool is_off() {
    static const bool off = std::getenv("CROSSDOCK_OFF") != nullptr;
    return off;
}

constexpr int not_plain = -1;

// Blocks of one length. Every neighbor has the first one, or each its own.
std::vector<block> equal_blocks(const neighbors& all, value_count count, MPI_Datatype type,
                                bool is_shared) {
    if (type == MPI_DATATYPE_NULL) count = not_plain;
    const MPI_Aint stride = is_shared || count <= 0 ? 0 : MPI_Aint{count} * facts_of(type).extent;
    std::vector<block> made;
    made.reserve(all.entries.size());
    for (const int entry : all.entries) made.push_back({entry * stride, count, type});
    return made;
}

template <class Count, class Displacement>
std::vector<block> blocks_at(const neighbors& all, const Count* counts,
                             const Displacement* displacements, MPI_Datatype type) {
    const MPI_Aint extent = type == MPI_DATATYPE_NULL ? 0 : facts_of(type).extent;
    std::vector<block> made;
    made.reserve(all.entries.size());
    for (const int entry : all.entries)
        made.push_back({counts[entry] > 0 ? displacements[entry] * extent : 0,
                        type == MPI_DATATYPE_NULL ? value_count{not_plain} : counts[entry], type});
    return made;
}

template <class Count, class Displacement>
std::vector<block> typed_blocks(const neighbors& all, const Count* counts,
                                const Displacement* displacements, const MPI_Datatype* types) {
    std::vector<block> made;
    made.reserve(all.entries.size());
    for (const int entry : all.entries)
        made.push_back({displacements[entry], counts[entry], types[entry]});
    return made;
}

// What MPI is to say of wrong arguments, MPI says.
bool is_plain(const std::vector<block>& blocks) {
    for (const auto& one : blocks)
        if (one.count < 0 || (one.count > 0 && one.type == MPI_DATATYPE_NULL)) return false;
    return true;
}

bool has_null_types(const std::vector<block>& blocks) {
    return std::ranges::count(blocks, MPI_DATATYPE_NULL, &block::type) > 0;
}

// A side of a call: its buffer, and what gives the blocks of neighbors.
template <class Blocks>
struct side {
    const void* buffer;
    Blocks blocks;
};
template <class Blocks>
side(const void*, Blocks) -> side<Blocks>;

// What the program called, and where.
struct call_site {
    const char* function;
    const void* address;
};

// The facts of a call, if there is to be a report.
call_facts* facts_of(const call_site& site, const graph& on, call_form form) {
    if (!on.has_report()) return nullptr;
    auto* const all = report::of_process();
    const progress_engine::access alone;
    auto& facts = crossdock::with_reserve([&]() -> auto& {
        return all->of_call(on.number(), site.function, site.address);
    });
    facts.rank = on.where().rank();
    facts.num_ranks = on.where().num_ranks();
    if (form != call_form::persistent) ++facts.num_calls;
    return &facts;
}

const std::shared_ptr<graph>* find_graph(MPI_Comm comm, call_form) { return graph::of(comm); }

// Calls with all ranks are taken over if they are asked for.
const std::shared_ptr<graph>* find_all_ranks(MPI_Comm comm, call_form form) {
    static const char* const named = std::getenv("CROSSDOCK_TAKE");
    static const bool is_taken = named != nullptr && std::string_view(named) == "alltoallv";
    if (!is_taken || comm == MPI_COMM_NULL || progress_engine::is_inside()) return nullptr;
    return graph::of_all_ranks(comm, form != call_form::nonblocking);
}

// A call of which MPI refuses the arguments on this rank alone: the others go on, so it takes part.
template <class Perform>
std::optional<int> refuse(int refusal, neighbor_call call, call_form form, Perform&& perform,
                          MPI_Request* request) {
    const std::optional<int> code = perform(
        form == call_form::nonblocking ? crossdock::with_reserve([&] { return copy_of(call); })
                                       : std::move(call));
    if (!code || *code != MPI_SUCCESS) return code;
    // What is under way completes all the same.
    if (form == call_form::nonblocking) PMPI_Request_free(request);
    if (form == call_form::persistent) MPI_Request_free(request);
    return refusal;
}

// Does a call, or lets MPI do it.
// @param find     what is kept with a communicator
// @param request  null if the call blocks
// @param perform  returns a code that no error handler has seen, or nothing to let MPI do it
// @param own      MPI's function, for a communicator
// @param exchange_nothing  what a rank without neighbors does
template <class Find, class Sends, class Receives, class Perform, class Own, class Nothing>
int take(const call_site& site, MPI_Comm comm, Find&& find, call_form form, block_kind kind,
         const side<Sends>& sends, const side<Receives>& receives, MPI_Request* request,
         Perform&& perform, Own&& own, Nothing&& exchange_nothing) {
    std::optional<int> code;
    try {
        if (sends.buffer == MPI_IN_PLACE || receives.buffer == MPI_IN_PLACE) return own(comm);
        const auto* const kept = is_off() ? nullptr : find(comm, form);
        if (kept == nullptr) return own(comm);
        auto& on = **kept;
        auto* const facts = on.is_left_out() ? nullptr : facts_of(site, on, form);
        if (form != call_form::blocking && on.takes_blocking_only()) {
            if (facts != nullptr) facts->why_none = "not blocking";
            return own(comm);
        }
        if (on.is_left_out()) {
            code = exchange_nothing();
        } else if (form != call_form::persistent && leaves(on, kind, form, facts)) {
            return own(comm);
        } else {
            int refusal = MPI_SUCCESS;
            auto call = crossdock::with_reserve([&]() -> std::optional<neighbor_call> {
                auto send_blocks = sends.blocks(on.destinations());
                auto receive_blocks = receives.blocks(on.sources());
                if (!is_plain(send_blocks) || !is_plain(receive_blocks)) return std::nullopt;
                if (has_null_types(send_blocks) || has_null_types(receive_blocks))
                    refusal = code_of_null_types();
                return neighbor_call{
                    *kept,
                    {const_cast<void*>(sends.buffer), std::move(send_blocks),
                     kind == block_kind::shared},
                    {const_cast<void*>(receives.buffer), std::move(receive_blocks), false},
                    kind,
                    facts};
            });
            if (!call) {
                const progress_engine::access alone;
                if (facts != nullptr) facts->why_none = "wrong arguments";
                return own(comm);
            }
            code = refusal == MPI_SUCCESS
                       ? perform(std::move(*call))
                       : refuse(refusal, std::move(*call), form, perform, request);
            // Ranks without neighbors may leave calls on the user's communicator out.
            if (!code && !on.has_all_ranks()) code = own(on.twin());
        }
    } catch (...) {
        code = current_code();
    }
    if (!code) return own(comm);
    if (*code != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, *code);
    return *code;
}

// A request of a rank without neighbors.
template <class Receive>
int receive_nothing(Receive&& receive, MPI_Request* request) {
    return receive(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, request);
}

// Of null pointers MPI is to say what is wrong.
template <class Request>
std::span<Request> array_of(Request* requests, int count) {
    return {requests, requests == nullptr ? 0 : static_cast<std::size_t>(std::max(count, 0))};
}
bool may_be_own_at(const MPI_Request* request) {
    return request != nullptr && may_be_own(*request);
}

// Before a function of MPI's that looks at requests.
void show(std::span<const MPI_Request> requests) {
    poll_once();
    make_visible(requests);
}

// Open MPI calls back wherever it waits.
bool meets_before_intercommunicators() {
#ifdef OPEN_MPI
    return polls();
#else
    return polls() || progress_engine::has_callback();
#endif
}

// Where a function of MPI's says what it has completed.
struct completed {
    const int* number;            // in units of `each`
    const int* places = nullptr;  // null: the first ones
    int each = 1;
    MPI_Status* statuses = MPI_STATUSES_IGNORE;
    bool is_for_many = false;
};

// Calls a function of MPI's that looks at requests, and may complete them. Not all MPIs report the message that is too
// long, which stands for a failure.
template <class Own>
int show_and(std::span<MPI_Request> requests, const completed& done, Own&& own) {
    poll_once();
    if (!may_have_own(requests)) return own();
    make_visible(requests);
    const std::vector<MPI_Request> given(requests.begin(), requests.end());
    int code = own();
    if (code != MPI_SUCCESS || !has_failed(given)) {
        for (std::size_t i = 0; i < given.size(); ++i)
            if (given[i] != requests[i]) take_failure(given[i], requests[i]);
        return code;
    }
    for (int i = 0; i < *done.number * done.each; ++i) {
        const int place = done.places == nullptr ? i : done.places[i];
        if (place == MPI_UNDEFINED) break;
        const auto at = static_cast<std::size_t>(place);
        const int why = take_failure(given[at], requests[at]);
        if (done.statuses != MPI_STATUSES_IGNORE) done.statuses[i].MPI_ERROR = why;
        if (why != MPI_SUCCESS) code = done.is_for_many ? MPI_ERR_IN_STATUS : why;
    }
    return code;
}

// Makes a communicator by MPI's function, of the ranks of another one.
template <class Own>
int make_attached(MPI_Comm comm, MPI_Comm* made, Own&& own) {
    if (is_off() || progress_engine::is_inside()) return own();
    return with_meeting(comm, [&] {
        int code = own();
        if (code != MPI_SUCCESS) return code;
        try {
            graph::attach(*made);
        } catch (...) {
            code = current_code();
            PMPI_Comm_call_errhandler(comm, code);
        }
        return code;
    });
}

// Lets MPI's function make a graph from a communicator that has had no calls. Open MPI 4.1.4 sends edges by the tags of
// the 24th and the 25th nonblocking collective call on the communicator, and makes such calls itself. It would now and
// then take a message of a faster rank for an edge, and then all ranks wait for ever. The program sees nothing of that
// communicator: errors are the given one's, and so is the graph's handler.
template <class Own>
int make_from_unused(MPI_Comm comm, MPI_Comm* made, Own&& own) {
#ifdef OPEN_MPI
    if (is_off()) return own(comm);
    // A duplicate would call the user's functions that copy attributes.
    MPI_Comm unused = MPI_COMM_NULL;
    int code = PMPI_Comm_split(comm, 0, 0, &unused);
    if (code != MPI_SUCCESS) return code;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    PMPI_Comm_get_errhandler(comm, &handler);
    PMPI_Comm_set_errhandler(unused, MPI_ERRORS_RETURN);
    code = own(unused);
    if (code == MPI_SUCCESS) PMPI_Comm_set_errhandler(*made, handler);
    PMPI_Errhandler_free(&handler);
    PMPI_Comm_free(&unused);
    if (code != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, code);
    return code;
#else
    return own(comm);
#endif
}

// MPI's exchange, which makes progress for others if need be. With neighbors, a rank may find out alone that there is
// no topology.
template <class Blocking, class Nonblocking>
int exchange_by_mpi(MPI_Comm comm, bool has_neighbors, Blocking&& blocking,
                    Nonblocking&& nonblocking) {
    if (!polls() || comm == MPI_COMM_NULL) return blocking();
    if (has_neighbors) {
        int kind = MPI_UNDEFINED;
        PMPI_Topo_test(comm, &kind);
        if (kind == MPI_UNDEFINED) return blocking();
#ifdef OPEN_MPI
        // In grids with dimensions of one or two ranks that wrap around, the two find blocks in different places.
        if (kind == MPI_CART) return with_meeting(comm, blocking);
#endif
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = nonblocking(&request);
    return complete(code, request);
}

}  // namespace

#pragma GCC visibility push(default)

#define CROSSDOCK_LIST(...) __VA_ARGS__
#define CROSSDOCK_SITE \
    call_site { __func__, fortran_place != nullptr ? fortran_place : __builtin_return_address(0) }
#define CROSSDOCK_SIDES(sends, receives)                                                \
    side{sendbuf, [&]([[maybe_unused]] const neighbors& all) { return sends; }}, side { \
        recvbuf, [&]([[maybe_unused]] const neighbors& all) { return receives; }        \
    }
#ifdef CROSSDOCK_INIT
#define CROSSDOCK_TAKE_INIT(suffix, name, find, kind, parameters, arguments, sends, receives) \
    extern "C" int CROSSDOCK_INIT(name, suffix)(CROSSDOCK_LIST parameters, MPI_Comm comm,     \
                                                MPI_Info info, MPI_Request * request) {       \
        return take(                                                                          \
            CROSSDOCK_SITE, comm, find, call_form::persistent, kind,                          \
            CROSSDOCK_SIDES(sends, receives), request,                                        \
            [&](neighbor_call call) { return make_persistent(std::move(call), request); },    \
            [&](MPI_Comm on) {                                                                \
                return CROSSDOCK_OWN_INIT(name, suffix)(CROSSDOCK_LIST arguments, on, info,   \
                                                        request);                             \
            },                                                                                \
            [&] { return receive_nothing(PMPI_Recv_init, request); });                        \
    }
#else
#define CROSSDOCK_TAKE_INIT(suffix, name, find, kind, parameters, arguments, sends, receives)
#endif
// The three forms of a call. The lists are what stands before the communicator.
#define CROSSDOCK_TAKE(suffix, name, nonblocking_name, find, kind, parameters, arguments, sends, \
                       receives)                                                                 \
    extern "C" int MPI_##name##suffix(CROSSDOCK_LIST parameters, MPI_Comm comm) {                \
        return take(                                                                             \
            CROSSDOCK_SITE, comm, find, call_form::blocking, kind,                               \
            CROSSDOCK_SIDES(sends, receives), nullptr, exchange,                                 \
            [&](MPI_Comm on) {                                                                   \
                return exchange_by_mpi(                                                          \
                    on, find == find_graph,                                                      \
                    [&] { return PMPI_##name##suffix(CROSSDOCK_LIST arguments, on); },           \
                    [&](MPI_Request* request) {                                                  \
                        return PMPI_##nonblocking_name##suffix(CROSSDOCK_LIST arguments, on,     \
                                                               request);                         \
                    });                                                                          \
            },                                                                                   \
            [] { return MPI_SUCCESS; });                                                         \
    }                                                                                            \
    extern "C" int MPI_##nonblocking_name##suffix(CROSSDOCK_LIST parameters, MPI_Comm comm,      \
                                                  MPI_Request* request) {                        \
        return take(                                                                             \
            CROSSDOCK_SITE, comm, find, call_form::nonblocking, kind,                            \
            CROSSDOCK_SIDES(sends, receives), request,                                           \
            [&](neighbor_call call) { return start_exchange(std::move(call), request); },        \
            [&](MPI_Comm on) {                                                                   \
                return PMPI_##nonblocking_name##suffix(CROSSDOCK_LIST arguments, on, request);   \
            },                                                                                   \
            [&] { return receive_nothing(PMPI_Irecv, request); });                               \
    }                                                                                            \
    CROSSDOCK_TAKE_INIT(suffix, name, find, kind, parameters, arguments, sends, receives)
// With the neighbors of a topology, and with all ranks.
#define CROSSDOCK_TAKE_BOTH(suffix, name, Name, all_kind, parameters, arguments, sends, receives) \
    CROSSDOCK_TAKE(suffix, Neighbor_##name, Ineighbor_##name, find_graph, block_kind::any,        \
                   parameters, arguments, sends, receives)                                        \
    CROSSDOCK_TAKE(suffix, Name, I##name, find_all_ranks, all_kind, parameters, arguments, sends, \
                   receives)
// Displacements are in bytes, in different types.
#define CROSSDOCK_TAKE_TYPED(suffix, name, nonblocking_name, find, count, displacement)     \
    CROSSDOCK_TAKE(                                                                         \
        suffix, name, nonblocking_name, find, block_kind::any,                              \
        (const void* sendbuf, const count* sendcounts, const displacement* sdispls,         \
         const MPI_Datatype* sendtypes, void* recvbuf, const count* recvcounts,             \
         const displacement* rdispls, const MPI_Datatype* recvtypes),                       \
        (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes), \
        typed_blocks(all, sendcounts, sdispls, sendtypes),                                  \
        typed_blocks(all, recvcounts, rdispls, recvtypes))
// All calls, with counts and displacements of these types.
#define CROSSDOCK_TAKE_ALL(suffix, count, displacement)                                          \
    CROSSDOCK_TAKE_BOTH(suffix, alltoall, Alltoall, block_kind::equal,                           \
                        (const void* sendbuf, count sendcount, MPI_Datatype sendtype,            \
                         void* recvbuf, count recvcount, MPI_Datatype recvtype),                 \
                        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),            \
                        equal_blocks(all, sendcount, sendtype, false),                           \
                        equal_blocks(all, recvcount, recvtype, false))                           \
    CROSSDOCK_TAKE_BOTH(                                                                         \
        suffix, alltoallv, Alltoallv, block_kind::any,                                           \
        (const void* sendbuf, const count* sendcounts, const displacement* sdispls,              \
         MPI_Datatype sendtype, void* recvbuf, const count* recvcounts,                          \
         const displacement* rdispls, MPI_Datatype recvtype),                                    \
        (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),        \
        blocks_at(all, sendcounts, sdispls, sendtype),                                           \
        blocks_at(all, recvcounts, rdispls, recvtype))                                           \
    CROSSDOCK_TAKE_TYPED(suffix, Neighbor_alltoallw, Ineighbor_alltoallw, find_graph, count,     \
                         MPI_Aint)                                                               \
    CROSSDOCK_TAKE_TYPED(suffix, Alltoallw, Ialltoallw, find_all_ranks, count, displacement)     \
    CROSSDOCK_TAKE(suffix, Neighbor_allgather, Ineighbor_allgather, find_graph,                  \
                   block_kind::shared,                                                           \
                   (const void* sendbuf, count sendcount, MPI_Datatype sendtype, void* recvbuf,  \
                    count recvcount, MPI_Datatype recvtype),                                     \
                   (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),                 \
                   equal_blocks(all, sendcount, sendtype, true),                                 \
                   equal_blocks(all, recvcount, recvtype, false))                                \
    CROSSDOCK_TAKE(suffix, Neighbor_allgatherv, Ineighbor_allgatherv, find_graph,                \
                   block_kind::shared,                                                           \
                   (const void* sendbuf, count sendcount, MPI_Datatype sendtype, void* recvbuf,  \
                    const count* recvcounts, const displacement* displs, MPI_Datatype recvtype), \
                   (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),        \
                   equal_blocks(all, sendcount, sendtype, true),                                 \
                   blocks_at(all, recvcounts, displs, recvtype))

CROSSDOCK_TAKE_ALL(, int, int)
#ifdef CROSSDOCK_HAS_LARGE_COUNTS
CROSSDOCK_TAKE_ALL(_c, MPI_Count, MPI_Aint)
#endif

extern "C" {

// How a program controls a report that its environment asks for. The ranks go on counting: what is counted is agreed.
int MPI_Pcontrol(const int level, ...) {
    report::set_told(level != 0);
    return PMPI_Pcontrol(level);
}

// What completes a request can be sent once MPI has started it.
int MPI_Start(MPI_Request* request) {
    if (may_be_own_at(request) && start_invisible(*request)) return MPI_SUCCESS;
    const int code = PMPI_Start(request);
    if (code == MPI_SUCCESS) start_visible(*request);
    return code;
}

int MPI_Startall(int count, MPI_Request requests[]) {
    const auto all = array_of(requests, count);
    if (!may_have_own(all)) return PMPI_Startall(count, requests);
    for (auto& one : all)
        if (const int code = MPI_Start(&one); code != MPI_SUCCESS) return code;
    return MPI_SUCCESS;
}

[[gnu::noinline]] static int wait_for_any(MPI_Request* request, MPI_Status* status) {
    if (!may_be_own_at(request)) return wait_for(request, status);
    // Of a request that is inactive for MPI, too, the status is empty.
    if (wait_invisibly(*request))
        return status == MPI_STATUS_IGNORE ? MPI_SUCCESS : PMPI_Wait(request, status);
    wait_for_own({request, 1});
    const auto given = *request;
    const int code = wait_for(request, status);
    const int why = take_failure(given, *request);
    return why == MPI_SUCCESS ? code : why;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    const bool is_mpis = num_to_wait_for.load(std::memory_order_relaxed) == 0;
    return is_mpis ? PMPI_Wait(request, status) : wait_for_any(request, status);
}

// Open MPI 4.1 would wait for ever for an array of which a request has failed before, in programs with threads.
[[gnu::noinline]] static int wait_for_all(int count, MPI_Request requests[],
                                          MPI_Status statuses[]) {
    const auto all = array_of(requests, count);
    const bool has_own = may_have_own(all);
    if (has_own) wait_for_own(all);
    if (!has_to_poll() && !(has_own && has_failed(all)))
        return PMPI_Waitall(count, requests, statuses);
    int result = MPI_SUCCESS;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        const int code = MPI_Wait(&all[i], status);
        if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
        if (code != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
    }
    return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    const bool is_mpis = num_to_wait_for.load(std::memory_order_relaxed) == 0;
    return is_mpis ? PMPI_Waitall(count, requests, statuses)
                   : wait_for_all(count, requests, statuses);
}

#define CROSSDOCK_SHOW(name, count, parameters, arguments, ...)            \
    int MPI_##name parameters {                                            \
        return show_and(array_of(requests, count), completed{__VA_ARGS__}, \
                        [&] { return PMPI_##name arguments; });            \
    }
CROSSDOCK_SHOW(Test, 1, (MPI_Request * requests, int* flag, MPI_Status* status),
               (requests, flag, status), flag)
CROSSDOCK_SHOW(Testall, count, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses),
               (count, requests, flag, statuses), flag, nullptr, count, statuses, true)
CROSSDOCK_SHOW(Testany, count,
               (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
               (count, requests, index, flag, status), flag, index)
CROSSDOCK_SHOW(Testsome, count,
               (int count, MPI_Request* requests, int* number, int* indices, MPI_Status* statuses),
               (count, requests, number, indices, statuses), number, indices, 1, statuses, true)

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    const int number = 1;
    return show_and(array_of(requests, count), {&number, index}, [&] {
        if (!has_to_poll()) return PMPI_Waitany(count, requests, index, status);
        return poll([&](int* flag) { return PMPI_Testany(count, requests, index, flag, status); });
    });
}

int MPI_Waitsome(int count, MPI_Request* requests, int* number, int* indices,
                 MPI_Status* statuses) {
    return show_and(array_of(requests, count), {number, indices, 1, statuses, true}, [&] {
        if (!has_to_poll()) return PMPI_Waitsome(count, requests, number, indices, statuses);
        return poll([&](int* flag) {
            const int code = PMPI_Testsome(count, requests, number, indices, statuses);
            *flag = *number != 0;
            return code;
        });
    });
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    show({&request, 1});
    return PMPI_Request_get_status(request, flag, status);
}

#ifdef CROSSDOCK_HAS_GET_STATUS_ALL
int MPI_Request_get_status_all(int count, const MPI_Request* requests, int* flag,
                               MPI_Status* statuses) {
    show(array_of(requests, count));
    return PMPI_Request_get_status_all(count, requests, flag, statuses);
}

int MPI_Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                               MPI_Status* status) {
    show(array_of(requests, count));
    return PMPI_Request_get_status_any(count, requests, index, flag, status);
}

int MPI_Request_get_status_some(int count, const MPI_Request* requests, int* number, int* indices,
                                MPI_Status* statuses) {
    show(array_of(requests, count));
    return PMPI_Request_get_status_some(count, requests, number, indices, statuses);
}
#endif

#ifdef CROSSDOCK_HAS_REQUEST_IS_COMPLETE
int MPIX_Request_is_complete(MPI_Request request) {
    show({&request, 1});
    return PMPIX_Request_is_complete(request);
}
#endif

int MPI_Request_free(MPI_Request* request) {
    // Before another thread is given the same handle.
    if (request != nullptr) forget_persistent(*request);
    return PMPI_Request_free(request);
}

int MPI_Cancel(MPI_Request* request) {
    make_visible(array_of(request, 1));
    if (!may_be_own_at(request) || !is_own_and_active(*request)) return PMPI_Cancel(request);
    // As MPI refuses what it cannot cancel.
    MPI_Request none = MPI_REQUEST_NULL;
    return PMPI_Cancel(&none);
}

#ifdef CROSSDOCK_HAS_ASYNC_START
int MPI_Finalize() {
    graph::close_all();
    return PMPI_Finalize();
}
#endif

// While MPICH's leaders wait for each other they do not call back, and other MPIs never do. So they meet before, and no
// rank of either group then waits in the background for one of them. What is wrong with the arguments, the call itself
// says.
int MPI_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peers, int remote_leader,
                         int tag, MPI_Comm* made) try {
    const auto create = [&] {
        return PMPI_Intercomm_create(local, local_leader, peers, remote_leader, tag, made);
    };
    int is_inter = 0, rank = 0, num_ranks = 0;
    if (is_off() || progress_engine::is_inside() || !meets_before_intercommunicators() ||
        local == MPI_COMM_NULL || MPI_Comm_test_inter(local, &is_inter) != MPI_SUCCESS ||
        is_inter || MPI_Comm_rank(local, &rank) != MPI_SUCCESS ||
        MPI_Comm_size(local, &num_ranks) != MPI_SUCCESS || local_leader < 0 ||
        local_leader >= num_ranks)
        return create();
    const auto meet = [&] {
        if (const int code = MPI_Barrier(local); code != MPI_SUCCESS) return code;
        if (rank == local_leader)
            MPI_Sendrecv(nullptr, 0, MPI_BYTE, remote_leader, tag, nullptr, 0, MPI_BYTE,
                         remote_leader, tag, peers, MPI_STATUS_IGNORE);
        return MPI_Barrier(local);
    };
    // A rank that is not here yet may wait for an exchange that is still to be set up by this one.
    if (const int code = meet(); code != MPI_SUCCESS) return code;
    const progress_engine::abstention until_made;
    if (const int code = meet(); code != MPI_SUCCESS) return code;
    return create();
} catch (...) {
    const int code = current_code();
    PMPI_Comm_call_errhandler(local, code);
    return code;
}

int MPI_Comm_free(MPI_Comm* comm) { return graph::free_with(comm, PMPI_Comm_free); }

int MPI_Comm_disconnect(MPI_Comm* comm) { return graph::free_with(comm, PMPI_Comm_disconnect); }

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                   const int sourceweights[], int outdegree,
                                   const int destinations[], const int destweights[], MPI_Info info,
                                   int reorder, MPI_Comm* graph) {
    return make_attached(comm, graph, [&] {
        const auto create = [&](MPI_Comm on) {
            return PMPI_Dist_graph_create_adjacent(on, indegree, sources, sourceweights, outdegree,
                                                   destinations, destweights, info, reorder, graph);
        };
        int kind = MPI_UNDEFINED;
        if (comm != MPI_COMM_NULL) PMPI_Topo_test(comm, &kind);
        const bool is_bare = kind == MPI_UNDEFINED || kind == MPI_DIST_GRAPH;
        return is_bare ? create(comm) : make_from_unused(comm, graph, create);
    });
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int nodes[], const int degrees[],
                          const int targets[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm* graph) {
    return make_attached(comm, graph, [&] {
        return make_from_unused(comm, graph, [&](MPI_Comm on) {
            return PMPI_Dist_graph_create(on, n, nodes, degrees, targets, weights, info, reorder,
                                          graph);
        });
    });
}

int MPI_Graph_create(MPI_Comm comm, int num_nodes, const int index[], const int edges[],
                     int reorder, MPI_Comm* graph) {
    return make_attached(comm, graph, [&] {
        return PMPI_Graph_create(comm, num_nodes, index, edges, reorder, graph);
    });
}

int MPI_Cart_create(MPI_Comm comm, int num_dimensions, const int extents[],
                    const int are_periodic[], int reorder, MPI_Comm* grid) {
    return make_attached(comm, grid, [&] {
        return PMPI_Cart_create(comm, num_dimensions, extents, are_periodic, reorder, grid);
    });
}

int MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* grid) {
    return make_attached(comm, grid, [&] { return PMPI_Cart_sub(comm, remaining, grid); });
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return make_attached(comm, made, [&] { return PMPI_Comm_dup(comm, made); });
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
    return make_attached(comm, made, [&] { return PMPI_Comm_dup_with_info(comm, info, made); });
}

}  // extern "C"

#pragma GCC visibility pop

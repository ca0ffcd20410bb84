// The functions of MPI that wait, where it does not call back: what has a nonblocking twin becomes that and a loop that
// makes progress; what is collective and has none follows a meeting. While nothing is under way, messages and waits
// go straight to MPI; collectives do not, as other ranks may have something under way.
#include "polling.hpp"

#include <map>
#include <vector>

#include "crossdock/communicator.hpp"
#include "graph.hpp"
#include "own_requests.hpp"

namespace crossdock::drop_in {

constinit std::atomic<bool> is_polling = false;

// Whether intercepted calls may have something to do.
static constinit std::atomic<bool> is_watching = false;

void begin_polling() noexcept {
    is_watching.store(true, std::memory_order_relaxed);
    if (!is_polling.exchange(true, std::memory_order_relaxed)) ++num_to_wait_for;
}

void begin_watching_collectives() noexcept { is_watching.store(true, std::memory_order_relaxed); }

[[gnu::noinline]] int poll_for(MPI_Request* request, MPI_Status* status) {
    return poll([&](int* flag) { return PMPI_Test(request, flag, status); });
}

meeting::meeting(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL || !polls()) return;
    // A rank that is not here yet may wait for an exchange that is still to be set up by this one.
    CROSSDOCK_MPI(MPI_Barrier(comm));
    abstention_.emplace();
    CROSSDOCK_MPI(MPI_Barrier(comm));
}

namespace {

// Whether a collective call is replaced by its twin.
bool polls_on(MPI_Comm comm) {
    if (graph::num_wanted.load(std::memory_order_relaxed) > 0) graph::make_wanted(comm);
    return polls();
}

// Communicators of windows and files that are made in a meeting, for the meetings of calls with these.
template <class Handle>
MPI_Comm& comm_of(Handle handle) {
    static auto& all = *new std::map<Handle, MPI_Comm>;
    return all.try_emplace(handle, MPI_COMM_NULL).first->second;
}

template <class Handle, class Own>
int make_with_meeting(MPI_Comm comm, Handle* made, Own&& own) {
    const int code = with_meeting(comm, own);
    if (code == MPI_SUCCESS && polls()) PMPI_Comm_dup(comm, &comm_of(*made));
    return code;
}

template <class Handle, class Own>
int end_with_meeting(Handle ended, Own&& own) {
    auto& comm = comm_of(ended);
    const int code = with_meeting(comm, own);
    if (code == MPI_SUCCESS && comm != MPI_COMM_NULL) PMPI_Comm_free(&comm);
    return code;
}

}  // namespace

}  // namespace crossdock::drop_in

#pragma GCC visibility push(default)

using namespace crossdock::drop_in;

#define CROSSDOCK_LIST(...) __VA_ARGS__
// A function that costs a program without exchanges a few instructions: what follows the arguments is its body else.
#define CROSSDOCK_POLLED(name, parameters, arguments, ...)                              \
    namespace {                                                                         \
    [[gnu::noinline]] int polled_##name parameters __VA_ARGS__                          \
    }                                                                                   \
    extern "C" int MPI_##name parameters {                                              \
        if (!is_watching.load(std::memory_order_relaxed)) return PMPI_##name arguments; \
        return polled_##name arguments;                                                 \
    }
// The nonblocking twin takes the place of a function where `condition` holds.
#define CROSSDOCK_TWIN(condition, name, twin, parameters, arguments)      \
    CROSSDOCK_POLLED(name, parameters, arguments, {                       \
        if (!(condition)) return PMPI_##name arguments;                   \
        MPI_Request request;                                              \
        const int code = PMPI_##twin(CROSSDOCK_LIST arguments, &request); \
        return complete(code, request);                                   \
    })
#define CROSSDOCK_SEND(name, twin, count)                                                      \
    CROSSDOCK_TWIN(                                                                            \
        has_to_poll(), name, twin,                                                             \
        (const void* buffer, count number, MPI_Datatype type, int to, int tag, MPI_Comm comm), \
        (buffer, number, type, to, tag, comm))
#define CROSSDOCK_COLLECTIVE(name, twin, suffix, parameters, arguments) \
    CROSSDOCK_TWIN(polls_on(comm), name##suffix, twin##suffix, parameters, arguments)
#define CROSSDOCK_REDUCTION(name, twin, suffix, count)                                       \
    CROSSDOCK_COLLECTIVE(name, twin, suffix,                                                 \
                         (const void* sent, void* received, count number, MPI_Datatype type, \
                          MPI_Op by, MPI_Comm comm),                                         \
                         (sent, received, number, type, by, comm))
#define CROSSDOCK_ROOTED(name, twin, suffix, count)                                \
    CROSSDOCK_COLLECTIVE(                                                          \
        name, twin, suffix,                                                        \
        (const void* sent, count num_sent, MPI_Datatype sent_type, void* received, \
         count num_received, MPI_Datatype received_type, int root, MPI_Comm comm), \
        (sent, num_sent, sent_type, received, num_received, received_type, root, comm))
#define CROSSDOCK_POLL_ALL(suffix, count, displacement)                                            \
    CROSSDOCK_SEND(Send##suffix, Isend##suffix, count)                                             \
    CROSSDOCK_SEND(Ssend##suffix, Issend##suffix, count)                                           \
    CROSSDOCK_SEND(Rsend##suffix, Irsend##suffix, count)                                           \
    CROSSDOCK_POLLED(                                                                              \
        Recv##suffix,                                                                              \
        (void* buffer, count number, MPI_Datatype type, int from, int tag, MPI_Comm comm,          \
         MPI_Status* status),                                                                      \
        (buffer, number, type, from, tag, comm, status), {                                         \
            if (!has_to_poll())                                                                    \
                return PMPI_Recv##suffix(buffer, number, type, from, tag, comm, status);           \
            MPI_Request request = MPI_REQUEST_NULL;                                                \
            const int code = PMPI_Irecv##suffix(buffer, number, type, from, tag, comm, &request);  \
            return complete(code, request, status);                                                \
        })                                                                                         \
    CROSSDOCK_POLLED(                                                                              \
        Mrecv##suffix,                                                                             \
        (void* buffer, count number, MPI_Datatype type, MPI_Message* message, MPI_Status* status), \
        (buffer, number, type, message, status), {                                                 \
            if (!has_to_poll()) return PMPI_Mrecv##suffix(buffer, number, type, message, status);  \
            MPI_Request request = MPI_REQUEST_NULL;                                                \
            const int code = PMPI_Imrecv##suffix(buffer, number, type, message, &request);         \
            return complete(code, request, status);                                                \
        })                                                                                         \
    CROSSDOCK_POLLED(                                                                              \
        Sendrecv##suffix,                                                                          \
        (const void* sent, count num_sent, MPI_Datatype sent_type, int to, int sent_tag,           \
         void* received, count num_received, MPI_Datatype received_type, int from,                 \
         int received_tag, MPI_Comm comm, MPI_Status* status),                                     \
        (sent, num_sent, sent_type, to, sent_tag, received, num_received, received_type, from,     \
         received_tag, comm, status),                                                              \
        {                                                                                          \
            if (!has_to_poll())                                                                    \
                return PMPI_Sendrecv##suffix(sent, num_sent, sent_type, to, sent_tag, received,    \
                                             num_received, received_type, from, received_tag,      \
                                             comm, status);                                        \
            MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;                       \
            int code = PMPI_Irecv##suffix(received, num_received, received_type, from,             \
                                          received_tag, comm, &receive);                           \
            if (code != MPI_SUCCESS) return code;                                                  \
            code = PMPI_Isend##suffix(sent, num_sent, sent_type, to, sent_tag, comm, &send);       \
            const int sent_code = complete(code, send);                                            \
            const int received_code = complete(MPI_SUCCESS, receive, status);                      \
            return sent_code == MPI_SUCCESS ? received_code : sent_code;                           \
        })                                                                                         \
    CROSSDOCK_COLLECTIVE(Bcast, Ibcast, suffix,                                                    \
                         (void* buffer, count number, MPI_Datatype type, int root, MPI_Comm comm), \
                         (buffer, number, type, root, comm))                                       \
    CROSSDOCK_COLLECTIVE(Reduce, Ireduce, suffix,                                                  \
                         (const void* sent, void* received, count number, MPI_Datatype type,       \
                          MPI_Op by, int root, MPI_Comm comm),                                     \
                         (sent, received, number, type, by, root, comm))                           \
    CROSSDOCK_REDUCTION(Allreduce, Iallreduce, suffix, count)                                      \
    CROSSDOCK_REDUCTION(Scan, Iscan, suffix, count)                                                \
    CROSSDOCK_REDUCTION(Exscan, Iexscan, suffix, count)                                            \
    CROSSDOCK_REDUCTION(Reduce_scatter_block, Ireduce_scatter_block, suffix, count)                \
    CROSSDOCK_COLLECTIVE(Reduce_scatter, Ireduce_scatter, suffix,                                  \
                         (const void* sent, void* received, const count* numbers,                  \
                          MPI_Datatype type, MPI_Op by, MPI_Comm comm),                            \
                         (sent, received, numbers, type, by, comm))                                \
    CROSSDOCK_ROOTED(Gather, Igather, suffix, count)                                               \
    CROSSDOCK_ROOTED(Scatter, Iscatter, suffix, count)                                             \
    CROSSDOCK_COLLECTIVE(                                                                          \
        Allgather, Iallgather, suffix,                                                             \
        (const void* sent, count num_sent, MPI_Datatype sent_type, void* received,                 \
         count num_received, MPI_Datatype received_type, MPI_Comm comm),                           \
        (sent, num_sent, sent_type, received, num_received, received_type, comm))                  \
    CROSSDOCK_COLLECTIVE(                                                                          \
        Gatherv, Igatherv, suffix,                                                                 \
        (const void* sent, count num_sent, MPI_Datatype sent_type, void* received,                 \
         const count* numbers, const displacement* places, MPI_Datatype received_type, int root,   \
         MPI_Comm comm),                                                                           \
        (sent, num_sent, sent_type, received, numbers, places, received_type, root, comm))         \
    CROSSDOCK_COLLECTIVE(                                                                          \
        Scatterv, Iscatterv, suffix,                                                               \
        (const void* sent, const count* numbers, const displacement* places,                       \
         MPI_Datatype sent_type, void* received, count num_received, MPI_Datatype received_type,   \
         int root, MPI_Comm comm),                                                                 \
        (sent, numbers, places, sent_type, received, num_received, received_type, root, comm))     \
    CROSSDOCK_COLLECTIVE(                                                                          \
        Allgatherv, Iallgatherv, suffix,                                                           \
        (const void* sent, count num_sent, MPI_Datatype sent_type, void* received,                 \
         const count* numbers, const displacement* places, MPI_Datatype received_type,             \
         MPI_Comm comm),                                                                           \
        (sent, num_sent, sent_type, received, numbers, places, received_type, comm))

CROSSDOCK_POLL_ALL(, int, int)
#ifdef CROSSDOCK_HAS_LARGE_COUNTS
CROSSDOCK_POLL_ALL(_c, MPI_Count, MPI_Aint)
#endif
CROSSDOCK_TWIN(polls_on(comm), Barrier, Ibarrier, (MPI_Comm comm), (comm))

// What is sent is kept as it was packed.
CROSSDOCK_POLLED(Sendrecv_replace,
                 (void* buffer, int number, MPI_Datatype type, int to, int sent_tag, int from,
                  int received_tag, MPI_Comm comm, MPI_Status* status),
                 (buffer, number, type, to, sent_tag, from, received_tag, comm, status), {
                     const auto own = [&] {
                         return PMPI_Sendrecv_replace(buffer, number, type, to, sent_tag, from,
                                                      received_tag, comm, status);
                     };
                     if (!has_to_poll()) return own();
                     int bytes = 0, used = 0;
                     if (PMPI_Pack_size(number, type, comm, &bytes) != MPI_SUCCESS) return own();
                     std::vector<char> sent(static_cast<std::size_t>(bytes));
                     if (PMPI_Pack(buffer, number, type, sent.data(), bytes, &used, comm) !=
                         MPI_SUCCESS)
                         return own();
                     return MPI_Sendrecv(sent.data(), used, MPI_PACKED, to, sent_tag, buffer,
                                         number, type, from, received_tag, comm, status);
                 })

CROSSDOCK_POLLED(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status),
                 (from, tag, comm, status), {
                     if (!has_to_poll()) return PMPI_Probe(from, tag, comm, status);
                     return poll(
                         [&](int* flag) { return PMPI_Iprobe(from, tag, comm, flag, status); });
                 })

CROSSDOCK_POLLED(Mprobe,
                 (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status),
                 (from, tag, comm, message, status), {
                     if (!has_to_poll()) return PMPI_Mprobe(from, tag, comm, message, status);
                     return poll([&](int* flag) {
                         return PMPI_Improbe(from, tag, comm, flag, message, status);
                     });
                 })

CROSSDOCK_POLLED(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
                 (from, tag, comm, flag, status), {
                     poll_once();
                     return PMPI_Iprobe(from, tag, comm, flag, status);
                 })

CROSSDOCK_POLLED(Improbe,
                 (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                  MPI_Status* status),
                 (from, tag, comm, flag, message, status), {
                     poll_once();
                     return PMPI_Improbe(from, tag, comm, flag, message, status);
                 })

CROSSDOCK_POLLED(Win_wait, (MPI_Win window), (window), {
    if (!has_to_poll()) return PMPI_Win_wait(window);
    return poll([&](int* flag) { return PMPI_Win_test(window, flag); });
})

#define CROSSDOCK_MEETING(name, comm, parameters, arguments) \
    CROSSDOCK_POLLED(name, parameters, arguments,            \
                     { return with_meeting(comm, [&] { return PMPI_##name arguments; }); })
#define CROSSDOCK_MEETING_MAKES(name, parameters, arguments)                         \
    CROSSDOCK_POLLED(name, parameters, arguments, {                                  \
        return make_with_meeting(comm, made, [&] { return PMPI_##name arguments; }); \
    })
#define CROSSDOCK_MEETING_ENDS(name, handle)          \
    CROSSDOCK_POLLED(name, (handle * ended), (ended), \
                     { return end_with_meeting(*ended, [&] { return PMPI_##name(ended); }); })
CROSSDOCK_MEETING(Comm_split, comm, (MPI_Comm comm, int color, int key, MPI_Comm* made),
                  (comm, color, key, made))
CROSSDOCK_MEETING(Comm_split_type, comm,
                  (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
                  (comm, type, key, info, made))
CROSSDOCK_MEETING(Comm_create, comm, (MPI_Comm comm, MPI_Group group, MPI_Comm* made),
                  (comm, group, made))
CROSSDOCK_MEETING(Intercomm_merge, comm, (MPI_Comm comm, int is_high, MPI_Comm* made),
                  (comm, is_high, made))

CROSSDOCK_MEETING_MAKES(Win_create,
                        (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                         MPI_Win* made),
                        (base, size, unit, info, comm, made))
CROSSDOCK_MEETING_MAKES(Win_allocate,
                        (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                         MPI_Win* made),
                        (size, unit, info, comm, base, made))
CROSSDOCK_MEETING_MAKES(Win_allocate_shared,
                        (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                         MPI_Win* made),
                        (size, unit, info, comm, base, made))
CROSSDOCK_MEETING_MAKES(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* made),
                        (info, comm, made))
CROSSDOCK_MEETING(Win_fence, comm_of(window), (int assertion, MPI_Win window), (assertion, window))
CROSSDOCK_MEETING_ENDS(Win_free, MPI_Win)

CROSSDOCK_MEETING_MAKES(File_open,
                        (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* made),
                        (comm, name, mode, info, made))
CROSSDOCK_MEETING_ENDS(File_close, MPI_File)
CROSSDOCK_MEETING(File_set_size, comm_of(file), (MPI_File file, MPI_Offset size), (file, size))
CROSSDOCK_MEETING(File_preallocate, comm_of(file), (MPI_File file, MPI_Offset size), (file, size))
CROSSDOCK_MEETING(File_sync, comm_of(file), (MPI_File file), (file))
CROSSDOCK_MEETING(File_set_view, comm_of(file),
                  (MPI_File file, MPI_Offset at, MPI_Datatype unit, MPI_Datatype type,
                   const char* representation, MPI_Info info),
                  (file, at, unit, type, representation, info))
#define CROSSDOCK_MEETING_READ(name, constness)                                              \
    CROSSDOCK_MEETING(File_##name, comm_of(file),                                            \
                      (MPI_File file, constness void* buffer, int number, MPI_Datatype type, \
                       MPI_Status* status),                                                  \
                      (file, buffer, number, type, status))
#define CROSSDOCK_MEETING_READ_AT(name, constness)                                       \
    CROSSDOCK_MEETING(File_##name, comm_of(file),                                        \
                      (MPI_File file, MPI_Offset at, constness void* buffer, int number, \
                       MPI_Datatype type, MPI_Status* status),                           \
                      (file, at, buffer, number, type, status))
CROSSDOCK_MEETING_READ(read_all, )
CROSSDOCK_MEETING_READ(read_ordered, )
CROSSDOCK_MEETING_READ(write_all, const)
CROSSDOCK_MEETING_READ(write_ordered, const)
CROSSDOCK_MEETING_READ_AT(read_at_all, )
CROSSDOCK_MEETING_READ_AT(write_at_all, const)

#pragma GCC visibility pop

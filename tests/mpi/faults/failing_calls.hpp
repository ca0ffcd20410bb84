/// @file
/// @brief Stands between the library and what it asks for: the k-th allocation, or the k-th call of MPI, fails on one
/// rank, or each call of MPI is late. Counts what MPI has made and not freed.
///
/// To be included by one source of a program only.
#pragma once

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <span>
#include <string>

namespace {

// What fails: calls that ask whether something is there or done are as many as there is time for. Late: no call fails,
// but each takes up to 20 ms more.
enum class injected { memory, call, question, late };
struct fault {
    injected what = injected::memory;
    bool is_twice = false;  // if the same call is made again at once

    const char* name() const {
        constexpr const char* names[] = {"memory",   "memory_twice",   "call", "call_twice",
                                         "question", "question_twice", "late"};
        return names[2 * static_cast<int>(what) + (is_twice ? 1 : 0)];
    }
};

struct strike {
    bool is_armed = false;
    fault kind = {};
    long at = 0;                 // the k-th from now on
    long number = 0;             // so many there were
    const char* call = nullptr;  // that was the k-th

    bool fails(injected what, const char* name) {
        if (!is_armed) return false;
        if (kind.what == injected::late && what != injected::memory) wait_a_little();
        if (what != kind.what) return false;
        if (++number == at) call = name;
        return number == at || (kind.is_twice && number == at + 1 && call == name);
    }

  private:
    void wait_a_little() {
        ++number;
        static std::minstd_rand random;
        usleep(static_cast<useconds_t>(random() % 20'000));
    }
} now;

// What MPI has made for the library and the library has not freed.
struct live_objects {
    long requests = 0, communicators = 0, windows = 0, datatypes = 0, operations = 0;
    bool operator==(const live_objects&) const = default;
} live;

// Whether a handle is one; MPI makes no communicator for a rank that it leaves out.
int is_made(const MPI_Request& one) { return one != MPI_REQUEST_NULL ? 1 : 0; }
int is_made(const MPI_Comm& one) { return one != MPI_COMM_NULL ? 1 : 0; }
int is_made(const MPI_Win& one) { return one != MPI_WIN_NULL ? 1 : 0; }
int is_made(const MPI_Datatype& one) { return one != MPI_DATATYPE_NULL ? 1 : 0; }
int is_made(const MPI_Op& one) { return one != MPI_OP_NULL ? 1 : 0; }

long num_open(std::span<const MPI_Request> requests) {
    return static_cast<long>(requests.size()) - std::ranges::count(requests, MPI_REQUEST_NULL);
}

const char* operation_name = "";
int world_rank = 0;

// The linker gives these names to calls of the library and of this program, but not to those of MPI.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t number, std::size_t bytes);
void* __real_mmap(void* address, std::size_t bytes, int access, int flags, int file, off_t offset);
int __real_shm_open(const char* name, int flags, mode_t mode);
int __real_ftruncate(int file, off_t bytes);
}

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (now.fails(injected::memory, "new")) throw std::bad_alloc();
    void* const found =
        alignment <= alignof(std::max_align_t)
            ? __real_malloc(std::max<std::size_t>(bytes, 1))
            : std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (found == nullptr) throw std::bad_alloc();
    return found;
}

volatile std::sig_atomic_t seconds_left = 0;

// Each second that the process is allowed to run.
extern "C" void report_hang(int) {
    if (seconds_left <= 0) return;
    seconds_left = seconds_left - 1;
    if (seconds_left > 0) return;
    std::array<char, 200> text{};
    const int length =
        std::snprintf(text.data(), text.size(), "HANG: rank %d, %s, %s %ld %s\n", world_rank,
                      operation_name, now.kind.name(), now.at, now.call != nullptr ? now.call : "");
    if (write(STDERR_FILENO, text.data(), static_cast<std::size_t>(length)) < 0) _exit(3);
    _exit(2);
}

long number_in_environment(const char* variable, long otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::atol(text) : otherwise;
}

}  // namespace

// Not inline: the compiler would see memory of std::malloc that operator delete gets, and the other way round.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

extern "C" {
void* __wrap_malloc(std::size_t bytes) {
    return now.fails(injected::memory, "malloc") ? nullptr : __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t number, std::size_t bytes) {
    return now.fails(injected::memory, "calloc") ? nullptr : __real_calloc(number, bytes);
}
void* __wrap_mmap(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) {
    if (now.fails(injected::memory, "mmap")) return MAP_FAILED;
    return __real_mmap(address, bytes, access, flags, file, offset);
}
int __wrap_shm_open(const char* name, int flags, mode_t mode) {
    return now.fails(injected::memory, "shm_open") ? -1 : __real_shm_open(name, flags, mode);
}
int __wrap_ftruncate(int file, off_t bytes) {
    return now.fails(injected::memory, "ftruncate") ? -1 : __real_ftruncate(file, bytes);
}
}

#define CROSSDOCK_FAILING(what, name, parameters, arguments)               \
    int MPI_##name parameters {                                            \
        if (now.fails(injected::what, "MPI_" #name)) return MPI_ERR_OTHER; \
        return PMPI_##name arguments;                                      \
    }
#define CROSSDOCK_MAKING(kind, handle, name, parameters, arguments)        \
    int MPI_##name parameters {                                            \
        if (now.fails(injected::call, "MPI_" #name)) return MPI_ERR_OTHER; \
        const int code = PMPI_##name arguments;                            \
        if (code == MPI_SUCCESS) live.kind += is_made(*handle);            \
        return code;                                                       \
    }
#define CROSSDOCK_FREEING(kind, name, parameters, arguments)               \
    int MPI_##name parameters {                                            \
        if (now.fails(injected::call, "MPI_" #name)) return MPI_ERR_OTHER; \
        const int code = PMPI_##name arguments;                            \
        if (code == MPI_SUCCESS) --live.kind;                              \
        return code;                                                       \
    }
#define CROSSDOCK_COMPLETING(what, number, list, name, parameters, arguments)      \
    int MPI_##name parameters {                                                    \
        if (now.fails(injected::what, "MPI_" #name)) return MPI_ERR_OTHER;         \
        const std::span<const MPI_Request> all(list, static_cast<size_t>(number)); \
        live.requests -= num_open(all);                                            \
        const int code = PMPI_##name arguments;                                    \
        live.requests += num_open(all);                                            \
        return code;                                                               \
    }

extern "C" {
CROSSDOCK_MAKING(requests, g, Isend,
                 (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_MAKING(requests, g, Issend,
                 (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_MAKING(requests, g, Send_init,
                 (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Send, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f),
                  (a, b, c, d, e, f))
CROSSDOCK_MAKING(requests, g, Irecv,
                 (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_MAKING(requests, g, Recv_init,
                 (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Recv,
                  (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Status* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Probe, (int a, int b, MPI_Comm c, MPI_Status* d), (a, b, c, d))
CROSSDOCK_MAKING(requests, e, Imrecv,
                 (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Request* e), (a, b, c, d, e))
CROSSDOCK_FAILING(call, Mrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Status* e),
                  (a, b, c, d, e))
CROSSDOCK_FAILING(call, Start, (MPI_Request * a), (a))
CROSSDOCK_FAILING(call, Startall, (int a, MPI_Request b[]), (a, b))
CROSSDOCK_MAKING(requests, g, Iallreduce,
                 (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                  MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_MAKING(requests, g, Ireduce_scatter_block,
                 (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                  MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_MAKING(requests, g, Iexscan,
                 (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                  MPI_Request* g),
                 (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Allreduce,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                  (a, b, c, d, e, f))
CROSSDOCK_FAILING(call, Exscan,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                  (a, b, c, d, e, f))
CROSSDOCK_MAKING(requests, f, Ibcast,
                 (void* a, int b, MPI_Datatype c, int d, MPI_Comm e, MPI_Request* f),
                 (a, b, c, d, e, f))
CROSSDOCK_FAILING(call, Bcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e), (a, b, c, d, e))
CROSSDOCK_MAKING(requests, b, Ibarrier, (MPI_Comm a, MPI_Request* b), (a, b))
CROSSDOCK_FAILING(call, Barrier, (MPI_Comm a), (a))
CROSSDOCK_MAKING(requests, h, Iallgather,
                 (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g,
                  MPI_Request* h),
                 (a, b, c, d, e, f, g, h))
CROSSDOCK_FAILING(call, Allgather,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f,
                   MPI_Comm g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_MAKING(requests, h, Ialltoall,
                 (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g,
                  MPI_Request* h),
                 (a, b, c, d, e, f, g, h))
CROSSDOCK_MAKING(requests, i, Igather,
                 (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
                  MPI_Comm h, MPI_Request* i),
                 (a, b, c, d, e, f, g, h, i))
CROSSDOCK_MAKING(requests, j, Igatherv,
                 (const void* a, int b, MPI_Datatype c, void* d, const int* e, const int* f,
                  MPI_Datatype g, int h, MPI_Comm i, MPI_Request* j),
                 (a, b, c, d, e, f, g, h, i, j))
CROSSDOCK_FAILING(call, Alltoallv,
                  (const void* a, const int* b, const int* c, MPI_Datatype d, void* e, const int* f,
                   const int* g, MPI_Datatype h, MPI_Comm i),
                  (a, b, c, d, e, f, g, h, i))
CROSSDOCK_MAKING(requests, j, Ialltoallv,
                 (const void* a, const int* b, const int* c, MPI_Datatype d, void* e, const int* f,
                  const int* g, MPI_Datatype h, MPI_Comm i, MPI_Request* j),
                 (a, b, c, d, e, f, g, h, i, j))
CROSSDOCK_MAKING(datatypes, c, Type_contiguous, (int a, MPI_Datatype b, MPI_Datatype* c), (a, b, c))
CROSSDOCK_FAILING(call, Type_commit, (MPI_Datatype * a), (a))
CROSSDOCK_MAKING(operations, c, Op_create, (MPI_User_function * a, int b, MPI_Op* c), (a, b, c))
CROSSDOCK_FAILING(call, Get_count, (const MPI_Status* a, MPI_Datatype b, int* c), (a, b, c))
CROSSDOCK_MAKING(communicators, b, Comm_dup, (MPI_Comm a, MPI_Comm* b), (a, b))
CROSSDOCK_MAKING(communicators, d, Comm_split, (MPI_Comm a, int b, int c, MPI_Comm* d),
                 (a, b, c, d))
CROSSDOCK_MAKING(communicators, e, Comm_split_type,
                 (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm* e), (a, b, c, d, e))
CROSSDOCK_FAILING(call, Comm_set_errhandler, (MPI_Comm a, MPI_Errhandler b), (a, b))
CROSSDOCK_FAILING(call, Comm_get_attr, (MPI_Comm a, int b, void* c, int* d), (a, b, c, d))
CROSSDOCK_FAILING(call, Comm_test_inter, (MPI_Comm a, int* b), (a, b))
CROSSDOCK_FAILING(call, Comm_rank, (MPI_Comm a, int* b), (a, b))
CROSSDOCK_FAILING(call, Comm_size, (MPI_Comm a, int* b), (a, b))
CROSSDOCK_MAKING(windows, f, Win_create,
                 (void* a, MPI_Aint b, int c, MPI_Info d, MPI_Comm e, MPI_Win* f),
                 (a, b, c, d, e, f))
CROSSDOCK_MAKING(windows, f, Win_allocate,
                 (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f),
                 (a, b, c, d, e, f))
CROSSDOCK_MAKING(windows, f, Win_allocate_shared,
                 (MPI_Aint a, int b, MPI_Info c, MPI_Comm d, void* e, MPI_Win* f),
                 (a, b, c, d, e, f))
CROSSDOCK_FAILING(call, Win_shared_query, (MPI_Win a, int b, MPI_Aint* c, int* d, void* e),
                  (a, b, c, d, e))
CROSSDOCK_FAILING(call, Win_set_errhandler, (MPI_Win a, MPI_Errhandler b), (a, b))
CROSSDOCK_FAILING(call, Win_fence, (int a, MPI_Win b), (a, b))
CROSSDOCK_FAILING(call, Win_lock_all, (int a, MPI_Win b), (a, b))
CROSSDOCK_FAILING(call, Win_unlock_all, (MPI_Win a), (a))
CROSSDOCK_FAILING(call, Win_flush_all, (MPI_Win a), (a))
CROSSDOCK_FAILING(call, Win_sync, (MPI_Win a), (a))
CROSSDOCK_FAILING(call, Put,
                  (const void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,
                   MPI_Win h),
                  (a, b, c, d, e, f, g, h))
CROSSDOCK_FAILING(call, Get,
                  (void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,
                   MPI_Win h),
                  (a, b, c, d, e, f, g, h))
CROSSDOCK_FAILING(call, Accumulate,
                  (const void* a, int b, MPI_Datatype c, int d, MPI_Aint e, int f, MPI_Datatype g,
                   MPI_Op h, MPI_Win i),
                  (a, b, c, d, e, f, g, h, i))
CROSSDOCK_FAILING(call, Fetch_and_op,
                  (const void* a, void* b, MPI_Datatype c, int d, MPI_Aint e, MPI_Op f, MPI_Win g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(question, Iprobe, (int a, int b, MPI_Comm c, int* d, MPI_Status* e),
                  (a, b, c, d, e))
CROSSDOCK_FAILING(question, Improbe,
                  (int a, int b, MPI_Comm c, int* d, MPI_Message* e, MPI_Status* f),
                  (a, b, c, d, e, f))
CROSSDOCK_COMPLETING(question, 1, a, Test, (MPI_Request * a, int* b, MPI_Status* c), (a, b, c))
CROSSDOCK_COMPLETING(question, a, b, Testall, (int a, MPI_Request b[], int* c, MPI_Status d[]),
                     (a, b, c, d))
CROSSDOCK_COMPLETING(question, a, b, Testsome,
                     (int a, MPI_Request b[], int* c, int d[], MPI_Status e[]), (a, b, c, d, e))
CROSSDOCK_COMPLETING(question, 1, a, Wait, (MPI_Request * a, MPI_Status* b), (a, b))
CROSSDOCK_COMPLETING(question, a, b, Waitall, (int a, MPI_Request b[], MPI_Status c[]), (a, b, c))
CROSSDOCK_COMPLETING(question, a, b, Waitsome,
                     (int a, MPI_Request b[], int* c, int d[], MPI_Status e[]), (a, b, c, d, e))
CROSSDOCK_COMPLETING(question, a, b, Waitany, (int a, MPI_Request b[], int* c, MPI_Status* d),
                     (a, b, c, d))
CROSSDOCK_FREEING(requests, Request_free, (MPI_Request * a), (a))
CROSSDOCK_FREEING(communicators, Comm_free, (MPI_Comm * a), (a))
CROSSDOCK_FREEING(windows, Win_free, (MPI_Win * a), (a))
CROSSDOCK_FREEING(datatypes, Type_free, (MPI_Datatype * a), (a))
CROSSDOCK_FREEING(operations, Op_free, (MPI_Op * a), (a))
CROSSDOCK_FAILING(call, Cancel, (MPI_Request * a), (a))
CROSSDOCK_FAILING(call, Topo_test, (MPI_Comm a, int* b), (a, b))
CROSSDOCK_FAILING(call, Comm_set_attr, (MPI_Comm a, int b, void* c), (a, b, c))
CROSSDOCK_FAILING(call, Comm_create_keyval,
                  (MPI_Comm_copy_attr_function * a, MPI_Comm_delete_attr_function* b, int* c,
                   void* d),
                  (a, b, c, d))
CROSSDOCK_FAILING(call, Get_elements, (const MPI_Status* a, MPI_Datatype b, int* c), (a, b, c))
CROSSDOCK_FAILING(call, Op_commutative, (MPI_Op a, int* b), (a, b))
CROSSDOCK_FAILING(call, Pack,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, int* f, MPI_Comm g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Unpack,
                  (const void* a, int b, int* c, void* d, int e, MPI_Datatype f, MPI_Comm g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Reduce,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Reduce_local, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e),
                  (a, b, c, d, e))
CROSSDOCK_FAILING(call, Type_get_envelope, (MPI_Datatype a, int* b, int* c, int* d, int* e),
                  (a, b, c, d, e))
CROSSDOCK_FAILING(call, Type_get_extent, (MPI_Datatype a, MPI_Aint* b, MPI_Aint* c), (a, b, c))
CROSSDOCK_FAILING(call, Type_get_true_extent, (MPI_Datatype a, MPI_Aint* b, MPI_Aint* c), (a, b, c))
CROSSDOCK_FAILING(call, Type_size_x, (MPI_Datatype a, MPI_Count* b), (a, b))
CROSSDOCK_FAILING(call, Dist_graph_neighbors_count, (MPI_Comm a, int* b, int* c, int* d),
                  (a, b, c, d))
CROSSDOCK_FAILING(call, Dist_graph_neighbors,
                  (MPI_Comm a, int b, int* c, int* d, int e, int* f, int* g), (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Get_processor_name, (char* a, int* b), (a, b))
CROSSDOCK_FAILING(call, Query_thread, (int* a), (a))
}

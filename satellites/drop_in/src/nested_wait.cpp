// Open MPI's wait for requests in programs with threads, MPI_THREAD_FUNNELED included. Of several waits under way the
// first one makes progress, and the others sleep until theirs is complete: they are taken to be other threads'. A call
// that blocks inside the callback of the first one would sleep for ever, so it makes progress itself.
#include <dlfcn.h>

#include <atomic>

namespace {

// How Open MPI's ompi_wait_sync_t begins, since 2.0.
struct wait_sync {
    std::atomic<int> num_left;
    int status;
};

template <class Function>
Function* find(void* where, const char* name) {
    return reinterpret_cast<Function*>(dlsym(where, name));
}

constinit thread_local bool is_waiting [[gnu::tls_model("initial-exec")]] = false;

}  // namespace

extern "C" [[gnu::visibility("default")]] int ompi_sync_wait_mt(wait_sync* sync) {
    static auto* const wait = find<int(wait_sync*)>(RTLD_NEXT, "ompi_sync_wait_mt");
    static auto* const make_progress = find<void()>(RTLD_DEFAULT, "opal_progress");
    if (!is_waiting) {
        is_waiting = true;
        const int result = wait(sync);
        is_waiting = false;
        return result;
    }
    while (sync->num_left > 0) make_progress();
    return sync->status == 0 ? 0 : -1;
}

#include "progress.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "crossdock/communicator.hpp"

namespace crossdock::drop_in {

namespace {

// A function of the MPI that is loaded, which may be another than that of the headers.
template <class Function>
Function* find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Open MPI's, in all its versions.
using register_function = int(int (*)());
register_function* find_register() {
    static auto* const found = find<register_function>("opal_progress_register");
    return found;
}

#ifdef CROSSDOCK_HAS_ASYNC_START
// MPICH's, since 4.3.
auto* find_async_start() {
    static auto* const found = find<decltype(PMPIX_Async_start)>("PMPIX_Async_start");
    return found;
}
#endif

bool is_single_threaded() {
    static const bool is_only_thread = [] {
        int level = MPI_THREAD_SINGLE;
        CROSSDOCK_MPI(MPI_Query_thread(&level));
        return level < MPI_THREAD_MULTIPLE;
    }();
    return is_only_thread;
}

// Whether MPI yields in a test that finds nothing, and no other thread waits for access.
bool yields_in_tests() { return is_single_threaded() && find_register() != nullptr; }

constexpr int rounds_between_probes = 8;

}  // namespace

progress_engine& progress_engine::of_process() {
    // Never destroyed: MPI may call it until the process ends.
    static auto& engine = *new progress_engine;
    return engine;
}

bool progress_engine::has_callback() {
    static const bool has = [] {
        const char* const named = std::getenv("CROSSDOCK_PROGRESS");
        if (named != nullptr && std::string_view(named) == "calls") return false;
#ifdef CROSSDOCK_HAS_ASYNC_START
        if (find_async_start() != nullptr) return is_single_threaded();
#endif
        return find_register() != nullptr;
    }();
    return has;
}

progress_place progress_engine::place_here() {
#ifdef OPEN_MPI
    int is_main = 0;
    CROSSDOCK_MPI(MPI_Is_thread_main(&is_main));
    if (!is_single_threaded() && !is_main) return progress_place::nowhere;
#endif
    if (has_callback()) return progress_place::anywhere;
    // Threads would find out in different calls that collectives are to be nonblocking ones.
    return is_single_threaded() ? progress_place::intercepted : progress_place::exchanges;
}

bool progress_engine::take_access() noexcept {
    if (is_taken_.load(std::memory_order_relaxed) ||
        is_taken_.exchange(true, std::memory_order_acquire))
        return false;
    return is_inside_ = true;
}

progress_engine::access::access() : engine_(&of_process()) {
    while (!engine_->take_access()) std::this_thread::yield();
}

progress_engine::access::~access() {
    is_inside_ = false;
    engine_->is_taken_.store(false, std::memory_order_release);
}

void progress_engine::ask_mpi_to_call() {
    if (!has_callback() || std::exchange(is_asked_, true)) return;
#ifdef CROSSDOCK_HAS_ASYNC_START
    // MPICH calls until it is told that nothing is left to do. MPI_Finalize waits for that.
    const auto poll = [](MPIX_Async_thing) -> int {
        auto& engine = of_process();
        engine.advance();
        if (is_inside() || is_any_under_way()) return MPIX_ASYNC_NOPROGRESS;
        engine.is_asked_ = false;
        return MPIX_ASYNC_DONE;
    };
    if (auto* const start = find_async_start()) {
        if (is_finalizing_) return;
        CROSSDOCK_MPI(start(poll, nullptr, MPIX_STREAM_NULL));
        return;
    }
#endif
    find_register()([]() -> int {
        // Open MPI yields after a round without events, also if a request has completed here or it has yielded in it.
        return is_any_under_way() && of_process().advance() ? 1 : 0;
    });
}

void progress_engine::count_under_way() {
    num_under_way_.store(fibers_.size() + watched_.size(), std::memory_order_relaxed);
}

void progress_engine::start_function(std::function<void()> body, bool is_nonblocking) {
    ask_mpi_to_call();
    if (idle_.empty()) with_reserve([&] { idle_.push_back(std::make_unique<running>()); });
    fibers_.splice(fibers_.end(), idle_, idle_.begin());
    auto& one = *fibers_.back();
    one.stack.begin(std::move(body));
    one.is_nonblocking = is_nonblocking;
    one.wanted_key = no_key;
    count_under_way();
    resume(one);
    if (one.stack.is_done()) idle_.splice(idle_.begin(), fibers_, std::prev(fibers_.end()));
    count_under_way();
}

void progress_engine::watch(watched& one) {
    ask_mpi_to_call();
    with_reserve([&] { watched_.push_back(&one); });
    count_under_way();
}

bool progress_engine::may_block(std::size_t num_own) const {
    return is_single_threaded() && num_under_way_.load(std::memory_order_relaxed) == num_own;
}

void progress_engine::forget(watched& one) {
    if (!watched_.empty() && watched_.back() == &one)
        watched_.pop_back();
    else
        std::erase(watched_, &one);
    count_under_way();
}

void progress_engine::run_until(const std::function<bool()>& condition) {
    for (int round = 0;; ++round) {
        {
            const access alone;
            if (condition()) return;
            advance_all();
            if (condition()) return;
            if (has_tested_ && yields_in_tests()) continue;
        }
        std::this_thread::yield();
        // What is under way makes MPI progress itself, but for what ranks tell each other in shared memory.
        if (round % rounds_between_probes != 0) continue;
        int is_there = 0;
        CROSSDOCK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &is_there, MPI_STATUS_IGNORE));
    }
}

bool progress_engine::advance() {
    const auto before = num_under_way_.load(std::memory_order_relaxed);
    if (before == 0 || !take_access()) return false;
    advance_all();
    const bool has_tested = has_tested_;
    is_inside_ = false;
    is_taken_.store(false, std::memory_order_release);
    return has_tested || num_under_way_.load(std::memory_order_relaxed) < before;
}

void progress_engine::advance_all() {
    has_tested_ = false;
    std::erase_if(watched_, [](watched* one) { return one->advance(); });
    for (auto at = fibers_.begin(); at != fibers_.end();) {
        const auto one = at++;
        resume(**one);
        if ((*one)->stack.is_done()) idle_.splice(idle_.begin(), fibers_, one);
    }
    count_under_way();
}

void progress_engine::resume(running& one) {
    current_ = &one;
    one.stack.resume(*this);
    current_ = nullptr;
    if (one.stack.is_done() && voter_ == &one) voter_ = nullptr;
}

void progress_engine::suspend() { current_->stack.leave(); }

bool progress_engine::may_vote_for(std::int64_t key) const {
    if (num_abstentions_ > 0 || (voter_ != nullptr && voter_ != current_)) return false;
    return std::ranges::all_of(fibers_, [&](const auto& one) {
        return one->wanted_key == no_key || one->wanted_key >= key;
    });
}

progress_engine::abstention::abstention() {
    auto& engine = of_process();
    ++engine.num_abstentions_;
    try {
        engine.run_until([&] { return engine.voter_ == nullptr; });
    } catch (...) {
        --engine.num_abstentions_;
        throw;
    }
}

progress_engine::abstention::~abstention() { --of_process().num_abstentions_; }

void progress_engine::begin_blocking(std::int64_t key, const std::function<bool(bool)>& may_all) {
    auto& self = *current_;
    if (voter_ == &self) return;
    self.wanted_key = key;
    for (;;) {
        const bool may_this = may_vote_for(key);
        voter_ = may_this ? &self : voter_ == &self ? nullptr : voter_;
        if (may_all(may_this)) break;
        // Among few ranks a vote may be over at once, and the body whose turn it is would never run.
        suspend();
    }
    self.wanted_key = no_key;
}

// All ranks have agreed that none of them blocks in another call.
void progress_engine::before_blocking(const communicator& comm) {
    MPI_Request all_are_here = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Ibarrier(comm.get(), &all_are_here));
    comm.wait(all_are_here);
}

void progress_engine::end_blocking() {
    if (voter_ == current_) voter_ = nullptr;
}

}  // namespace crossdock::drop_in

#include "watchdog_mpi.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "environment_mpi.hpp"
#include "exchange_watch.hpp"
#include "throw_error.hpp"

namespace crossdock {

namespace {

using std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

struct watchdog_options {
    seconds limit{0};
    bool throws = false;
    std::string file = "";  // empty: stderr
};

constexpr const char* variable = "CROSSDOCK_WATCHDOG";

// SECONDS[:throw][:FILE]; nothing if it is not set.
std::optional<watchdog_options> read_options(const char* text) {
    if (text == nullptr || *text == '\0') return std::nullopt;
    char* end = nullptr;
    watchdog_options asked{.limit = seconds(std::strtod(text, &end))};
    std::string_view rest = end;
    if (end == text || !(asked.limit.count() > 0 && asked.limit.count() < 1e9) ||
        (!rest.empty() && rest.front() != ':'))
        throw_error(errc::invalid_argument,
                    "CROSSDOCK_WATCHDOG is \"{}\"; give SECONDS[:throw][:FILE]", text);
    constexpr std::string_view throw_word = ":throw";
    asked.throws = rest == throw_word || rest.starts_with(":throw:");
    if (asked.throws) rest.remove_prefix(throw_word.size());
    if (!rest.empty()) asked.file = rest.substr(1);
    return asked;
}

// "exchange 3 of neighbor exchange #1 halo"; a name is cut, and loses what separates fields.
std::string text_of(const watched_object& object, count_t number, count_t exchange) {
    std::string name = object.name.substr(0, 80);
    for (char& c : name) c = c == '|' || (c >= 0 && c < ' ') ? '_' : c;
    const auto whole = fmt::format("{} #{} {}", object.kind, number, name);
    return exchange == 0 ? whole : fmt::format("exchange {} of {}", exchange, whole);
}

// Of what `agree` compares, or what a call begins with.
std::string call_text(std::string_view call) {
    return (is_made(call) ? "making " : "") + std::string(call.substr(0, call.find('\n')));
}

std::string last_text() {
    constexpr const char* texts[] = {"nothing", "made ", "started ", "ended ", "closes contexts"};
    const std::string text = texts[static_cast<int>(watchdog::last_act.load())];
    const auto* const with = watchdog::last_with.load();
    return with ? text + text_of(*with, watchdog::last_object, watchdog::last_exchange) : text;
}

// The call of MPI in which a thread is, which only that thread can see; empty: none; nothing: it was not seen. The
// signal is one that programs ignore unless they have a handler.
std::optional<std::string> call_of_mpi(pid_t thread) {
    static std::array<void*, 64> frames;
    static std::atomic<int> num_frames;
    struct sigaction before {
    }, look{};
    look.sa_handler = [](int) {
        const int kept = errno;
        num_frames = backtrace(frames.data(), frames.size());
        errno = kept;
    };
    look.sa_flags = SA_RESTART;
    if (sigaction(SIGURG, nullptr, &before) != 0 || before.sa_handler != SIG_DFL)
        return std::nullopt;
    backtrace(frames.data(), 1);  // the first use takes memory
    num_frames = 0;
    sigaction(SIGURG, &look, nullptr);
    if (syscall(SYS_tgkill, getpid(), thread, SIGURG) != 0) {  // it has ended
        sigaction(SIGURG, &before, nullptr);
        return std::nullopt;
    }
    for (int looks = 0; num_frames == 0; ++looks) {
        if (looks == 100) return std::nullopt;  // the handler stays, as the signal may still come
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sigaction(SIGURG, &before, nullptr);
    std::string found;
    for (int k = 0; k < num_frames; ++k) {
        Dl_info info{};
        if (dladdr(frames[static_cast<std::size_t>(k)], &info) == 0 || !info.dli_sname) continue;
        const std::string_view name = info.dli_sname;
        if (name.starts_with("PMPI_") || name.starts_with("MPI_"))
            found = name.substr(name.find("MPI_"));
    }
    return found;
}

class process_watch {
  public:
    process_watch(watchdog_options options, rank_t rank, rank_t num_ranks)
        : options_(std::move(options)), watched_(gettid()) {
        std::array<char, 256> host{};
        gethostname(host.data(), host.size() - 1);
        who_ = fmt::format("rank {} of {}", rank, num_ranks);
        tail_ = fmt::format("{:.1f} s, process {} on {}", options_.limit.count(), getpid(),
                            host.data());
        watchdog::tell = &tell_of_wait;
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }

  private:
    // One write, under a lock, so that lines of many ranks do not mix.
    void tell(const std::string& facts) const {
        const auto line =
            fmt::format("crossdock: {} {} | last {} | {}\n", who_, facts, last_text(), tail_);
        const auto& file = options_.file;
        const int opened =
            file.empty() ? -1 : open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        const int to = opened < 0 ? STDERR_FILENO : opened;
        if (opened >= 0) flock(to, LOCK_EX);
        [[maybe_unused]] const auto written = write(to, line.data(), line.size());
        if (opened >= 0) close(to);
    }
    static void tell_of_wait();
    void run(const std::stop_token& stop) {
        const auto tick = std::clamp<seconds>(options_.limit / 8, seconds(0.01), seconds(1));
        std::uint64_t seen = 0;
        auto since = steady_clock::now();
        bool is_told = false;
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any never;
        while (!never.wait_for(lock, stop, tick, [&] { return stop.stop_requested(); })) {
            const auto now = steady_clock::now();
            if (const auto acts = watchdog::num_acts.load(); acts != seen) {
                seen = acts;
                since = now;
                is_told = false;
            } else if (now - since >= options_.limit && !is_told) {
                watchdog::overdue = seen;
                is_told = true;
            } else if (now - since >= options_.limit + seconds(0.3) &&
                       watchdog::overdue.exchange(0) == seen) {  // nobody has taken note
                const auto call = call_of_mpi(watched_);
                tell("is elsewhere | in " + (!call           ? "what cannot be seen"
                                             : call->empty() ? "no call of MPI"
                                                             : *call));
            }
        }
        watchdog::overdue = 0;
    }

    watchdog_options options_;
    pid_t watched_;
    std::string who_;
    std::string tail_;
    std::jthread thread_;
};

// Made and ended by the threads that make and close contexts, one at a time.
struct watch_of_process {
    std::mutex mutex;
    std::unique_ptr<process_watch> watch;
    static watch_of_process& get() {
        static auto& made = *new watch_of_process;
        return made;
    }
};

void process_watch::tell_of_wait() {
    if (watchdog::overdue.exchange(0) == 0) return;  // another thread tells
    const auto [object, call, wait, has_met] = watchdog::here();
    wait_facts facts;
    if (wait) wait->describe(facts);
    const auto list = [](const auto& ranks) {
        return ranks.empty() ? "-" : fmt::format("{}", fmt::join(ranks, ","));
    };
    const auto& watch = watch_of_process::get().watch;
    if (!watch) return;  // another thread has closed the last context
    const auto in =
        object ? text_of(object->object(), object->number(), object->exchange()) : call_text(call);
    watch->tell(
        fmt::format("waits | in {} | for {} | stage {} | open sends to {}", in, list(facts.awaited),
                    facts.stage < 0 ? "-" : std::to_string(facts.stage), list(facts.open_sends)));
    const auto& [limit, throws, file] = watch->options_;
    if (!throws || !wait) return;
    watchdog::note_wait();  // waiting again takes time anew
    const auto& awaited = facts.awaited;
    throw_error(errc::timeout,
                "{} has waited {:.1f} s for {} in {}; let `crossdock why {}` name the rank that "
                "others wait for",
                watch->who_, limit.count(),
                awaited.empty() ? "other ranks"
                                : fmt::format("rank{} {}", awaited.size() == 1 ? "" : "s",
                                              fmt::join(awaited, ", ")),
                in, file.empty() ? "FILE-WITH-STANDARD-ERROR" : file);
}

// Twice: MPI still counts a rank that has left the first time.
void meet(const communicator& comm) try {
    const watched_wait now(nullptr, &any_leavable_wait);
    comm.wait_for_all();
    comm.wait_for_all();
} catch (const error& fault) {
    if (fault.code() == errc::timeout) comm.abandon();
    throw;
}

}  // namespace

void start_watchdog() noexcept try {
    const auto asked = read_options(std::getenv(variable));
    auto& [mutex, watch] = watch_of_process::get();
    const std::scoped_lock lock(mutex);
    watchdog::note_wait();
    if (!asked || watch) return;
    int rank = 0, num_ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    watch = std::make_unique<process_watch>(*asked, rank, num_ranks);
    watchdog::is_on = true;
} catch (...) {  // `check_watchdog` says what is wrong
}

void check_watchdog() { static_cast<void>(read_options(std::getenv(variable))); }

void stop_watchdog() noexcept {
    auto& [mutex, watch] = watch_of_process::get();
    const std::scoped_lock lock(mutex);
    watchdog::is_on = false;
    watchdog::last_with = nullptr;
    watch.reset();
}

collective_call::collective_call(const char* name, const communicator& comm)
    : watched_wait(name, nullptr, true) {
    watchdog::note_wait();
    const auto* const asked =
        is_part() || !comm.is_open() ? nullptr : comm.find_resource<environment>();
    if (!asked) return;
    const auto watch = with_reserve([&] { return read_options(asked->watchdog().c_str()); });
    if (watch) meet(comm);
    if (asked->checks() || (watch && watch->throws)) agree(comm, std::nullopt, 0, name);
}

rank_t world_rank(MPI_Comm of, rank_t rank) {
    rank_t found = -1;
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    MPI_Comm_group(of, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &rank, world, &found);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return found;
}

}  // namespace crossdock

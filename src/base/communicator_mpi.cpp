#include "crossdock/communicator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "collective_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/suspension.hpp"
#include "environment_mpi.hpp"
#include "lost_ranks_mpi.hpp"
#include "named_values_mpi.hpp"
#include "progress_thread.hpp"
#include "throw_error.hpp"
#include "watchdog_mpi.hpp"

namespace crossdock {

// The communicators of this process that are open, the oldest first. MPI_Finalize deletes
// attributes of MPI_COMM_SELF before all else, while ranks can still communicate. Ranks of two
// communicators have made them in one order, unless several threads did.
class open_communicators {
  public:
    static open_communicators& of_process() {
        // Never destroyed: MPI_Finalize may be called by a destructor of something static.
        static auto& all = *new open_communicators;
        return all;
    }

    void add(const communicator& one) {
        const std::scoped_lock lock(mutex_);
        if (key_ == MPI_KEYVAL_INVALID) {
            int key = MPI_KEYVAL_INVALID;
            insist([&] {
                return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_all, &key, nullptr);
            });
            insist([&] { return MPI_Comm_set_attr(MPI_COMM_SELF, key, this); });
            key_ = key;
        }
        all_.push_back(one);
        start_watchdog();  // another thread may have closed the last one meanwhile
    }

    void remove(MPI_Comm duplicate) {
        const std::scoped_lock lock(mutex_);
        std::erase_if(all_, [&](const communicator& one) { return one.get() == duplicate; });
        if (all_.empty()) stop_watchdog();
    }

    // Of a communicator that was not made.
    void stop_watch() {
        const std::scoped_lock lock(mutex_);
        if (all_.empty()) stop_watchdog();
    }

    // What this rank owes to others on any of them. Whoever owes it fails itself if that fails.
    void progress() noexcept {
        try {
            if (!all_.empty()) communicator(all_.front()).progress();
        } catch (...) {
        }
    }

    // Of all of them, if one thread at a time calls MPI.
    const std::shared_ptr<communicator::work_list>& work() {
        if (!work_) work_ = std::make_shared<communicator::work_list>();
        return work_;
    }

    // Whether MPI_Finalize closes them, whatever is active.
    bool are_ending() const noexcept { return are_ending_; }

  private:
    static int close_all(MPI_Comm, int, void* self, void*) {
        auto& everything = *static_cast<open_communicators*>(self);
        watchdog::note(rank_act::closes, nullptr, 0, 0);
        everything.are_ending_ = true;
        auto& all = everything.all_;
        if (!all.empty() && is_set(std::getenv("CROSSDOCK_CHECK"))) {
            std::fprintf(stderr,
                         "crossdock: MPI_Finalize closes %zu communicators of this process\n",
                         all.size());
            for (const auto& one : all)
                if (const auto& lost = one.state_->lost_object)
                    std::fprintf(stderr, "crossdock: %s\n", lost->what());
        }
        try {
            while (!all.empty()) {
                try {
                    communicator(all.back()).close();
                } catch (const error& fault) {
                    if (fault.code() != errc::timeout) throw;  // else it is abandoned
                }
            }
        } catch (const mpi_error& failure) {
            return failure.mpi_code();
        } catch (...) {
            return MPI_ERR_OTHER;
        }
        return MPI_SUCCESS;
    }

    std::shared_ptr<communicator::work_list> work_;
    std::mutex mutex_;
    int key_ = MPI_KEYVAL_INVALID;
    bool are_ending_ = false;
    std::vector<communicator> all_;
};

namespace {

std::string mpi_text(int mpi_code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(mpi_code, text.data(), &length) != MPI_SUCCESS) return "unknown MPI error";
    return {text.data(), static_cast<std::size_t>(length)};
}

void require_usable(MPI_Comm user) {
    int is_initialized = 0;
    int is_finalized = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    if (!is_initialized)
        throw error(errc::invalid_state, "MPI is not initialised: call MPI_Init first");
    if (is_finalized) throw error(errc::invalid_state, "MPI is finalised already");
    if (user == MPI_COMM_NULL)
        throw error(errc::invalid_argument, "the communicator is MPI_COMM_NULL");
    int is_inter = 0;
    insist([&] { return MPI_Comm_test_inter(user, &is_inter); });
    if (is_inter) throw error(errc::invalid_argument, "the communicator is an intercommunicator");
}

// Whether several threads may call MPI at once, each with communicators of its own.
bool may_threads_meet() {
    int thread_level = MPI_THREAD_MULTIPLE;
    insist([&] { return MPI_Query_thread(&thread_level); });
    return thread_level == MPI_THREAD_MULTIPLE;
}

// Until all ranks are about to duplicate `user`, which blocks in MPI. Some may come only after this rank has forwarded
// something on another communicator.
void meet_to_duplicate(MPI_Comm user, bool makes_progress) {
    MPI_Request barrier = MPI_REQUEST_NULL;
    insist([&] { return MPI_Ibarrier(user, &barrier); });
    int num_failed = 0;
    for (int is_complete = 0; !is_complete;) {
        if (makes_progress) open_communicators::of_process().progress();
        const int code = MPI_Test(&barrier, &is_complete, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS && ++num_failed == most_attempts) throw mpi_error(code, "MPI_Test");
        if (!is_complete) pause_wait();
    }
}

// Made beforehand: without memory there could be none.
const error& out_of_memory() {
    static const error made(errc::out_of_memory, "out of memory");
    return made;
}

error described(errc code, const char* text, int rank) noexcept {
    try {
        return {code, text, rank};
    } catch (const std::bad_alloc&) {
        return {out_of_memory(), rank};
    }
}

}  // namespace

// The tags of a communicator. Which are taken is equal on all ranks; which of them this rank has
// released is known to it alone, until `take_released`.
class tag_pool {
  public:
    static constexpr int least_limit = 32767;  // every MPI has so many

    explicit tag_pool(int most) : most_(most) { widen(std::min(most, least_limit)); }

    std::optional<int> take(int count) noexcept {
        int at = next_;
        for (int num_free = 0; num_free < count; ++at) {
            if (at == limit_) return std::nullopt;
            num_free = word(taken_, at) & bit(at) ? 0 : num_free + 1;
        }
        next_ = at;
        for (int tag = at - count; tag < at; ++tag) word(taken_, tag) |= bit(tag);
        return at - count;
    }

    void release(int first, int count) noexcept {
        for (int tag = first; tag < first + count; ++tag) word(released_, tag) |= bit(tag);
    }

    // As `take`, with the tags that all ranks have released, and with more of them if too few are
    // free. Collective.
    std::optional<int> take_released(const communicator& comm, int count) {
        const auto wider = static_cast<int>(
            std::min(std::int64_t{limit_} + std::max(limit_, count), std::int64_t{most_}));
        // From the reduction on nothing may fail on one rank alone.
        agreed_.assign(released_.begin(), released_.end());
        agreed_.push_back(reserve(wider) ? ~std::uint64_t{0} : 0);
        allreduce(comm, agreed_.data(), agreed_.size(), MPI_UINT64_T, MPI_BAND);
        if (agreed_.back() == 0)
            throw error(errc::out_of_memory, "out of memory for the tags of a communicator");
        for (std::size_t w = 0; w < taken_.size(); ++w) {
            taken_[w] &= ~agreed_[w];
            released_[w] &= ~agreed_[w];
        }
        next_ = 0;
        // Of few free tags the next objects would soon use up all.
        if (num_taken() <= limit_ / 2) {
            if (const auto first = take(count)) return first;
        }
        if (count <= wider - end_of_taken()) widen(wider);
        return take(count);
    }

    int num_taken() const noexcept {
        int sum = 0;
        for (const auto w : taken_) sum += std::popcount(w);
        return sum;
    }
    int most() const noexcept { return most_; }

  private:
    using words = std::vector<std::uint64_t>;
    static std::size_t num_words(int tags) { return static_cast<std::size_t>(tags) / 64 + 1; }
    static std::uint64_t bit(int tag) { return std::uint64_t{1} << (tag % 64); }
    static std::uint64_t& word(words& of, int tag) {
        return of[static_cast<std::size_t>(tag) / 64];
    }

    int end_of_taken() const noexcept {
        const auto last = std::find_if(taken_.rbegin(), taken_.rend(), [](auto w) { return w; });
        if (last == taken_.rend()) return 0;
        return static_cast<int>(64 * (taken_.rend() - last)) - std::countl_zero(*last);
    }

    // Memory for so many tags, and for what is agreed about them.
    bool reserve(int limit) noexcept {
        try {
            for (auto* const all : {&taken_, &released_, &agreed_})
                all->reserve(num_words(limit) + 1);
            return true;
        } catch (...) {
            return false;
        }
    }

    void widen(int limit) {
        limit_ = limit;
        taken_.resize(num_words(limit));
        released_.resize(num_words(limit));
        agreed_.reserve(num_words(limit) + 1);
    }

    int most_;
    int limit_ = 0;  // only tags below it are used
    int next_ = 0;   // the search for free ones goes on here
    words taken_;
    words released_;
    words agreed_;
};

tag_block::~tag_block() {
    // What an exception ends may have left messages under way.
    if (pool_ && std::uncaught_exceptions() == 0) pool_->release(first_, count_);
}

namespace {

error fault_of(int mpi_code, const char* call) {
    if (const auto lost = lost_ranks::find(mpi_code)) return lost_ranks::fault_of(*lost);
    int error_class = MPI_ERR_OTHER;
    MPI_Error_class(mpi_code, &error_class);
    const auto name = std::string_view(call).substr(0, std::string_view(call).find('('));
    return {
        errc::mpi_failure,
        fmt::format("{}: {}{}", name, mpi_text(mpi_code),
                    error_class == MPI_ERR_TYPE ? "; commit a datatype by MPI_Type_commit" : "")};
}

}  // namespace

mpi_error::mpi_error(int mpi_code, const char* call)
    : error(fault_of(mpi_code, call)), mpi_code_(mpi_code) {}

// What a rank needs to say what it fails with is there before the others are met.
communicator::communicator(MPI_Comm user) : communicator() {
    require_usable(user);
    const watched_wait now("making a context", nullptr, true);
    start_watchdog();
    auto& all_open = open_communicators::of_process();
    try {
        find_place(user);
        const bool may_meet = may_threads_meet();
        state_->lost = lost_ranks::watch();
        state_->work = with_reserve(
            [&] { return may_meet ? std::make_shared<work_list>() : all_open.work(); });
        meet_to_duplicate(user, !may_meet);
        insist([&] { return MPI_Comm_dup(user, &state_->duplicate); });
    } catch (...) {
        all_open.stop_watch();
        lost_ranks::require_none_in(user);
        throw;
    }
    complete(
        *this,
        [&] {
            check_watchdog();
            set_up();
            all_open.add(*this);
        },
        [&] { all_open.remove(state_->duplicate); });
}

communicator::communicator() : state_(with_reserve([] { return std::make_shared<state>(); })) {
    with_reserve([] { out_of_memory(); });
    with_reserve([] { open_communicators::of_process(); });
    memory_reserve::keep();
}

void communicator::find_place(MPI_Comm in) {
    insist([&] { return MPI_Comm_rank(in, &rank_); });
    insist([&] { return MPI_Comm_size(in, &num_ranks_); });
}

void communicator::set_up() {
    const MPI_Comm own = state_->duplicate;
    insist([&] { return MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN); });
    if (state_->lost) state_->lost->add(own);
    int* tag_limit = nullptr;
    int is_set = 0;
    // Open MPI does not pass it on to communicators that MPI_Comm_split makes.
    for (const MPI_Comm one : {own, MPI_COMM_WORLD}) {
        if (is_set) break;
        insist([&] {
            return MPI_Comm_get_attr(one, MPI_TAG_UB, static_cast<void*>(&tag_limit), &is_set);
        });
    }
    state_->unused_tag = is_set ? *tag_limit : tag_pool::least_limit;
    state_->tags = std::make_shared<tag_pool>(state_->unused_tag);
}

// Ends what makes this communicator: all ranks of `meeting`, which is this one or the whole, keep it or none.
template <class Part, class Undo>
void communicator::complete(const communicator& meeting, Part&& part, Undo&& undo) {
    try {
        on_all_or_none(meeting, part);
    } catch (...) {
        undo();
        if (state_->lost) state_->lost->remove(state_->duplicate);
        insist_quietly([this] { return MPI_Comm_free(&state_->duplicate); });
        throw;
    }
}

communicator communicator::split(int color) const {
    require_open();
    const collective_call now("splitting a context", *this);
    communicator part;
    part.state_->work = state_->work;
    part.state_->lost = state_->lost;
    insist([&] { return MPI_Comm_split(get(), color, rank_, &part.state_->duplicate); });
    part.complete(
        *this,
        [&] {
            part.find_place(part.state_->duplicate);
            part.set_up();
            std::ranges::copy_if(state_->resources, std::back_inserter(part.state_->resources),
                                 [](const auto& kept) { return kept->is_for_parts(); });
        },
        [] {});
    return part;
}

void communicator::refuse_closed() {
    throw error(errc::invalid_state,
                "the context is closed: nothing that was made with it can communicate any more");
}

tag_block communicator::reserve_tags(int count) const {
    require_open();
    auto& pool = *state_->tags;
    auto first = pool.take(count);
    if (!first) first = pool.take_released(*this, count);
    if (!first) {
        throw_error(
            errc::count_overflow,
            "no {} message tags are left on this context: {} of {} are taken; destroy objects "
            "that you do not need, or make another context",
            count, pool.num_taken(), pool.most());
    }
    return {state_->tags, *first, count};
}

void work_hold::begin() { thread_->hold(); }
void work_hold::end() noexcept { thread_->release(); }

void communicator::start_progress_thread() const {
    on_all_or_none(*this, [&] {
        if (!may_threads_meet()) {
            throw error(errc::invalid_state,
                        "a progress thread needs MPI_THREAD_MULTIPLE: ask MPI_Init_thread for it");
        }
        auto& work = *state_->work;
        if (work.thread) return;
        // No copy of the handle, which owns the thread.
        work.thread = std::make_shared<progress_thread>([&work, all = state_.get(), rank = rank_] {
            if (work.all.empty()) return false;
            look_for_messages(*all, rank);
            for (std::size_t i = 0; i < work.all.size(); ++i)
                work.all[i].work->progress_on_thread();
            return true;
        });
        state_->thread_end =
            std::shared_ptr<void>(work.thread.get(), [kept = work.thread](void*) { kept->stop(); });
    });
}

void communicator::add_work(background_work* work) const {
    const auto held = hold_work();
    append_with_reserve(state_->work->all, added_work{work, state_.get()});
    if (state_->work->thread) state_->work->thread->wake();
}

void communicator::remove_work(background_work* work) const noexcept {
    const auto held = hold_work();
    std::erase_if(state_->work->all, [work](const added_work& one) { return one.work == work; });
}

void communicator::take_over(std::unique_ptr<unfinished_exchange> one) const noexcept {
    if (!is_open()) return;
    one->next_ = std::move(state_->unfinished);
    state_->unfinished = std::move(one);
}

// What is looked at waits in no list meanwhile, since its own progress comes here again.
void communicator::look_at_unfinished() const noexcept {
    auto all = std::move(state_->unfinished);
    while (auto one = std::move(all)) {
        all = std::move(one->next_);
        if (!one->is_over()) take_over(std::move(one));
    }
}

void communicator::drop_unfinished() noexcept {
    while (auto one = std::move(state_->unfinished)) state_->unfinished = std::move(one->next_);
}

// Nobody sends with this tag, so MPI finds nothing; it makes progress before it says so. With one source it has one
// queue to look through. If it fails, so will whatever the caller waits with.
void communicator::look_for_messages(const state& in, rank_t own_rank) noexcept {
    int is_there = 0;
    MPI_Iprobe(own_rank, in.unused_tag, in.duplicate, &is_there, MPI_STATUS_IGNORE);
}

[[gnu::always_inline]] inline void communicator::make_progress() const {
    require_open();
    const auto held = hold_work();
    look_for_messages(*state_, rank_);
    // Work that is done removes itself.
    const auto& all_work = state_->work->all;
    for (std::size_t i = 0; i < all_work.size();) {
        auto* const work = all_work[i].work;
        work->progress();
        if (i < all_work.size() && all_work[i].work == work) ++i;
    }
    if (state_->unfinished) [[unlikely]]
        look_at_unfinished();
}

void communicator::progress() const {
    make_progress();
    if (state_->lost) [[unlikely]] {
        state_->lost->look();
        state_->lost->require_none();
    }
}

void communicator::wait(MPI_Request& request) const {
    int num_failed = 0;
    const auto is_answer = [&](int code, const char* call) {
        if (code == MPI_SUCCESS) return true;
        if (request == MPI_REQUEST_NULL || ++num_failed == most_attempts)
            throw mpi_error(code, call);
        return false;
    };
    const watched_wait now("a collective call", watchdog::here().wait);
    watchdog::note_wait();
    for (int is_complete = 0;
         (may_not_block() || suspension::current() || watchdog::is_on) && !is_complete;) {
        try {
            make_progress();
        } catch (const error& fault) {  // the request will end so, too
            if (!state_->lost || fault.code() != errc::rank_failed) throw;
        }
        if (state_->lost) state_->lost->look();
        is_answer(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE), "MPI_Test");
        if (!is_complete) pause_wait();
    }
    while (!is_answer(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait")) continue;
}

void communicator::wait_for_all() const {
    if (auto* const one = suspension::current()) return one->before_blocking(*this);
    meet_all(*this);
}

namespace {

// MPICH 5 ends a program that frees a communicator with messages that no rank received, such as those of an exchange
// that a faulty rank gave up. All have been sent: the ranks have met since.
void discard_unread(const communicator& comm) {
    for (;;) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        int is_there = 0, num_bytes = 0;
        insist([&] {
            return MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm.get(), &is_there, &message,
                               &status);
        });
        if (!is_there) return;
        insist([&] { return MPI_Get_count(&status, MPI_BYTE, &num_bytes); });
        discard_message(comm, message, num_bytes);
    }
}

}  // namespace

void communicator::close() {
    if (!is_open()) return;
    try {
        close_together();
    } catch (const error& fault) {
        if (fault.code() != errc::rank_failed) throw;
        abandon();
    }
}

void communicator::close_together() {
    auto& all_open = open_communicators::of_process();
    const collective_call now("closing a context", *this);
    if (all_open.are_ending()) {
        wait_for_all();  // others may still need what this rank owes them
    } else {
        std::optional<error> fault;
        for (const auto* const user : state_->users) {
            if (const auto activity = user->activity(); !activity.empty())
                fault = error(errc::invalid_state,
                              "the context cannot be closed while rank " + std::to_string(rank_) +
                                  " has " + activity,
                              rank_);
        }
        try {
            agree(*this, fault ? fault : state_->lost_object);
        } catch (const error& refusal) {
            // A rank without memory has no other text.
            if (refusal.code() != errc::invalid_state && refusal.code() != errc::out_of_memory)
                throw;
            throw_with_lost(refusal);
        }
    }
    state_->thread_end.reset();
    drop_unfinished();  // nobody waits for anything any more
    for (auto* const user : state_->users) user->note_closed();
    for (const auto& kept : state_->resources) kept->close();
    state_->resources.clear();
    std::erase_if(state_->work->all,
                  [this](const added_work& one) { return one.by == state_.get(); });
    discard_unread(*this);
    all_open.remove(state_->duplicate);
    if (state_->lost) state_->lost->remove(state_->duplicate);
    insist([this] { return MPI_Comm_free(&state_->duplicate); });
}

// On all ranks; what is lost on any of them is not said again.
void communicator::throw_with_lost(const error& refusal) {
    state_->lost_object.reset();
    count_t sum = std::exchange(state_->lost_items, 0);
    allreduce(*this, &sum, 1, MPI_INT64_T, MPI_SUM);
    if (sum == 0) throw error(refusal);
    throw_error_of(refusal.rank(), refusal.code(), "{}; in all, {} items are lost", refusal.what(),
                   sum);
}

void communicator::note_lost(const char* kind, const std::string& name, const char* missing,
                             count_t items) const noexcept {
    if (!is_open() || std::uncaught_exceptions() > 0) return;
    state_->lost_items += items;
    if (state_->lost_object) return;
    try {
        state_->lost_object =
            error(errc::invalid_state,
                  fmt::format("rank {} destroyed a {}, {}, before its {}; call {} first", rank_,
                              kind, name, missing, missing),
                  rank_);
    } catch (...) {
        state_->lost_object = error(out_of_memory(), rank_);
    }
}

// What is left is never freed: messages may still be under way. It is kept where leak checkers find it.
void communicator::abandon() const noexcept {
    struct remains {
        decltype(state::resources) resources;
        decltype(state::unfinished) unfinished;
        remains* before;
    };
    static std::atomic<remains*> last = nullptr;
    state_->thread_end.reset();
    for (auto* const user : state_->users) user->note_closed();
    if (auto* const kept = new (std::nothrow)
            remains{std::move(state_->resources), std::move(state_->unfinished), nullptr})
        kept->before = last.exchange(kept);
    std::erase_if(state_->work->all,
                  [this](const added_work& one) { return one.by == state_.get(); });
    open_communicators::of_process().remove(state_->duplicate);
    if (state_->lost) state_->lost->remove(state_->duplicate);
    state_->duplicate = MPI_COMM_NULL;
}

communicator_user::communicator_user(const communicator& comm)
    : of_(comm.state_), place_(of_->users.insert(of_->users.end(), this)) {}

communicator_user::~communicator_user() { of_->users.erase(place_); }

error current_error() noexcept {
    try {
        throw;
    } catch (const error& known) {
        return known;
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    } catch (const std::length_error&) {  // of a vector that no memory could hold
        return out_of_memory();
    } catch (const std::exception& other) {
        return described(errc::internal, other.what(), -1);
    } catch (...) {
        return described(errc::internal, "an exception of unknown type", -1);
    }
}

std::int64_t agreement_hash(std::string_view text) noexcept {
    return text_hash().take(text).value();
}

equal_arguments::equal_arguments(const char* object, const void* of, list_function* list)
    : object_(object), of_(of), list_(list) {
    with_reserve([&] {
        named_values values(object, false);
        add_to(values);
        hash_ = values.hash();
    });
}

namespace {

void broadcast(const communicator& comm, void* values, std::size_t count, MPI_Datatype type,
               rank_t root) {
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Ibcast(values, static_cast<int>(count), type, root, comm.get(), request);
    });
}

// Room for a text that travels between ranks, some of which may have no memory.
class text_room {
  public:
    static constexpr std::size_t most = 4000;

    // What is too long is cut.
    void broadcast_from(const communicator& comm, rank_t root, std::string_view own) {
        std::int64_t length = 0;
        if (comm.rank() == root) length = static_cast<std::int64_t>(own.copy(room_.data(), most));
        broadcast(comm, &length, 1, MPI_INT64_T, root);
        broadcast(comm, room_.data(), static_cast<std::size_t>(length), MPI_CHAR, root);
        room_[static_cast<std::size_t>(length)] = 0;
    }
    const char* text() const { return room_.data(); }

  private:
    std::array<char, most + 1> room_{};
};

std::string_view next_line(std::string_view& lines) {
    const auto line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    return line;
}

// The name and the value of a line such as "route = direct".
std::pair<std::string_view, std::string_view> parts_of(std::string_view line) {
    constexpr std::string_view between = " = ";
    const auto end = line.find(between);
    if (end == std::string_view::npos) return {line, {}};
    return {line.substr(0, end), line.substr(end + between.size())};
}

// What differs between two texts, each of an object, or of what is done, and lines. What has no lines has no values to
// show.
std::string difference_text(rank_t rank, std::string_view own, std::string_view first) {
    constexpr std::size_t most_shown = 60;
    const auto who = fmt::format("rank {}", rank);
    const auto object = next_line(own), first_object = next_line(first);
    if (object != first_object) {
        const auto verb = [](std::string_view one) {
            const bool is_done = one.substr(0, one.find(' ')).ends_with("ing");
            const bool is_function = one.starts_with("crossdock_");
            return is_made(one) ? "makes" : is_done ? "is" : is_function ? "calls" : "compares";
        };
        return fmt::format(
            "{} {} {}, but rank 0 {} {}; all ranks must make the same calls in one order", who,
            verb(object), object, verb(first_object), first_object);
    }
    while (!own.empty() && !first.empty()) {
        const auto [name, value] = parts_of(next_line(own));
        const auto [first_name, first_value] = parts_of(next_line(first));
        if (name != first_name) break;
        if (value == first_value) continue;
        const auto shown = value.substr(0, most_shown),
                   first_shown = first_value.substr(0, most_shown);
        if (shown == first_shown)
            return fmt::format("{} has another {} than rank 0; give all ranks the same", who, name);
        const auto or_none = [](std::string_view one) { return one.empty() ? "none" : one; };
        return fmt::format("{} has {} = {}, rank 0 has {}; give all ranks the same", who, name,
                           or_none(shown), or_none(first_shown));
    }
    return is_made(object)
               ? fmt::format(
                     "{} makes {} with other arguments than rank 0; give all ranks the same", who,
                     object)
               : fmt::format("{} of {} differ from those of rank 0; give all ranks the same",
                             object, who);
}

// Without memory, nothing.
template <class Write>
std::string text_if_any(Write&& write) noexcept {
    try {
        return write();
    } catch (...) {
        return {};
    }
}

// On all ranks, of which at least one has other arguments than rank 0. `write()` gives this rank's as a text.
template <class Write>
[[noreturn]] void throw_difference(const communicator& comm, std::int64_t same, Write&& write) {
    std::int64_t first_same = same;
    broadcast(comm, &first_same, 1, MPI_INT64_T, 0);
    const auto own = text_if_any(write);
    text_room room;
    room.broadcast_from(comm, 0, own);
    std::int64_t differing = same == first_same ? comm.num_ranks() : comm.rank();
    allreduce(comm, &differing, 1, MPI_INT64_T, MPI_MIN);
    const auto rank = static_cast<rank_t>(differing);
    std::string sentence;
    if (comm.rank() == rank) {
        // Rank 0's was cut, if it was too long.
        const auto compared = std::string_view(own).substr(0, text_room::most);
        sentence = text_if_any([&] { return difference_text(rank, compared, room.text()); });
    }
    room.broadcast_from(comm, rank, sentence.empty() ? "arguments differ between ranks" : sentence);
    throw described(errc::invalid_argument, room.text(), rank);
}

// The error of a rank, on all ranks.
error broadcast_error(const communicator& comm, rank_t from, const std::optional<error>& own) {
    std::array<std::int64_t, 2> head{};
    if (from == comm.rank())
        head = {static_cast<int>(own->code()), own->rank() < 0 ? from : own->rank()};
    broadcast(comm, head.data(), head.size(), MPI_INT64_T, from);
    text_room room;
    room.broadcast_from(comm, from, own ? own->what() : "");
    const auto said = text_if_any([&] {
        return room.text() == std::string_view(out_of_memory().what())
                   ? fmt::format("rank {} is out of memory", from)
                   : std::string(room.text());
    });
    return described(static_cast<errc>(head[0]), said.empty() ? room.text() : said.c_str(),
                     static_cast<rank_t>(head[1]));
}

}  // namespace

struct error_agreement {
    template <class Write>
    static void on(const communicator& comm, const std::optional<error>& fault, std::int64_t same,
                   const char* what, Write&& write) {
        comm.require_open();
        const collective_call now(
            std::string_view(what) == "the arguments" ? "a collective call" : what, comm);
        auto& state = *comm.state_;
        const auto own_rank_if = [&](bool is_so) { return is_so ? comm.rank() : comm.num_ranks(); };
        // The least failing rank, the least `same`, the largest (as the least of the negated), and the least rank with
        // an error that others have not been told of.
        std::array<std::int64_t, 4> agreed{own_rank_if(fault.has_value()), same, -same,
                                           own_rank_if(state.untold.has_value())};
        allreduce(comm, agreed.data(), 4, MPI_INT64_T, MPI_MIN);
        if (const auto telling = static_cast<rank_t>(agreed[3]); telling != comm.num_ranks()) {
            state.told = broadcast_error(comm, telling, state.untold);
            state.untold.reset();
        }
        const auto failing_rank = static_cast<rank_t>(agreed[0]);
        if (failing_rank != comm.num_ranks()) throw broadcast_error(comm, failing_rank, fault);
        if (agreed[1] != -agreed[2]) throw_difference(comm, same, write);
    }
};

void agree(const communicator& comm, const std::optional<error>& fault, std::int64_t same,
           const char* what) {
    std::string_view lines = what;
    const auto hash = text_hash().take(next_line(lines)).take(same).value();
    error_agreement::on(comm, fault, hash, what, [what] { return std::string(what); });
}

void agree(const communicator& comm, const std::optional<error>& fault,
           const equal_arguments& same) {
    error_agreement::on(comm, fault, same.hash(), same.object(), [&] {
        named_values values(same.object(), true);
        same.add_to(values);
        return values.text();
    });
}

}  // namespace crossdock

/// @file
/// @brief The library's own communicator, the check around every MPI call, and agreement on errors.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief An MPI call failed; the message is MPI's text and names the call. errc::rank_failed if a rank has ended and
/// MPI tells of it, else errc::mpi_failure.
class mpi_error : public error {
  public:
    mpi_error(int mpi_code, const char* call);

    /// @brief MPI's own error code.
    int mpi_code() const noexcept { return mpi_code_; }

  private:
    int mpi_code_;
};

/// Calls MPI and throws mpi_error where it does not return MPI_SUCCESS.
#define CROSSDOCK_MPI(call)                                                             \
    do {                                                                                \
        if (const int crossdock_mpi_code = (call); crossdock_mpi_code != MPI_SUCCESS) { \
            throw ::crossdock::mpi_error(crossdock_mpi_code, #call);                    \
        }                                                                               \
    } while (false)

/// @brief An MPI error code of class MPI_ERR_OTHER; MPI_Error_string gives "crossdock: " and
/// the sentence, up to 150 characters in all.
///
/// There is one code for each errc, and its text is that of the last such error. MPI_ERR_OTHER where MPI has no more.
int error_code_of(errc code, std::string_view sentence) noexcept;

/// @brief Whether MPI is under way, and this thread may call it.
bool may_call_mpi() noexcept;

/// @brief From now on an exception that nobody catches, in any thread, prints one line and ends all ranks; without this
/// call each rank prints a backtrace.
///
/// The line on standard error is "error: " and the exception's `what()`. MPI_Abort then ends MPI_COMM_WORLD with the
/// exit code 1. An error of a collective call is the same on all ranks, and rank 0 prints it. Another rank prints its
/// error after 3 seconds, and errc::peer_failed after 6, if nobody has ended the program by then. Where MPI is not
/// initialised, each process prints its error and ends.
///
/// It calls `std::set_terminate`, and may be called before MPI_Init. Without it the library neither prints nor ends a
/// program.
void report_uncaught() noexcept;

/// @brief What a rank owes to others while it waits for something else, such as forwarding.
class background_work {
  public:
    /// @brief Does what can be done without waiting.
    virtual void progress() = 0;

    /// @brief As above, on the communicator's progress thread, which holds `hold_work()`. Removes no work.
    virtual void progress_on_thread() noexcept {}

  protected:
    ~background_work() = default;
};

/// @brief What a module keeps with a communicator from one call to the next, such as windows.
class communicator_resource {
  public:
    virtual ~communicator_resource() = default;

    /// @brief Gives back what only all ranks together can; `communicator::close()` calls it.
    virtual void close() {}

    /// @brief Whether parts of the communicator share it, if it is there before they are split off. Such a resource has
    /// nothing to give back.
    virtual bool is_for_parts() const noexcept { return false; }
};

/// @brief An exchange that goes on without its object, because other ranks need what this rank still owes them.
class unfinished_exchange {
  public:
    virtual ~unfinished_exchange() = default;

    /// @brief Makes progress; true once it is over, whether it has failed or not.
    virtual bool is_over() noexcept = 0;

  private:
    friend class communicator;
    std::unique_ptr<unfinished_exchange> next_;
};

class communicator_user;
struct CROSSDOCK_HIDDEN error_agreement;
class CROSSDOCK_HIDDEN tag_pool;
class CROSSDOCK_HIDDEN open_communicators;
class CROSSDOCK_HIDDEN progress_thread;
class CROSSDOCK_HIDDEN lost_ranks;

/// @brief Message tags of a communicator that nothing else uses while this lives.
///
/// The destructor notes them as free on this rank, unless it runs because of an exception, and does not communicate.
/// They are used again once all ranks have freed them.
class tag_block {
  public:
    tag_block() = default;
    tag_block(tag_block&& other) noexcept { *this = std::move(other); }
    tag_block& operator=(tag_block&& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(first_, other.first_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~tag_block();

    int first() const noexcept { return first_; }

    /// @brief From now on the tags are never used again: a message with one of them may still be under way, or stay
    /// unreceived.
    void keep() noexcept { pool_.reset(); }

  private:
    friend class communicator;
    tag_block(std::shared_ptr<tag_pool> pool, int first, int count)
        : pool_(std::move(pool)), first_(first), count_(count) {}

    std::shared_ptr<tag_pool> pool_;
    int first_ = 0;
    int count_ = 0;
};

/// @brief Keeps a progress thread, if there is one, from its work as long as this lives.
class work_hold {
  public:
    explicit work_hold(progress_thread* thread) : thread_(thread) {
        if (thread_ != nullptr) [[unlikely]]
            begin();
    }
    work_hold(const work_hold&) = delete;
    work_hold& operator=(const work_hold&) = delete;
    ~work_hold() {
        if (thread_ != nullptr) [[unlikely]]
            end();
    }

  private:
    void begin();
    void end() noexcept;

    progress_thread* thread_;
};

/// @brief A private duplicate of the user's communicator; all messages of the library travel on it.
///
/// A user's wildcard receive therefore never sees the library's messages. Everything built on it shares it; copies of
/// the handle are cheap.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | closed by `close()` |
/// | closed, moved from | destruction, `close()`, `is_open()`, `rank()`, `num_ranks()` | |
///
/// Whatever else is called on a closed communicator, or on an object that was made with it, throws
/// error(errc::invalid_state).
///
/// The destructor does not communicate. A communicator that was made from the user's and not closed is closed by
/// MPI_Finalize, the newest first. With `CROSSDOCK_CHECK=1` in the environment it says so on stderr.
class communicator {
  public:
    /// @brief Duplicates `user`.
    /// @par Collective
    /// Yes, over `user`; may block.
    /// @throws error(errc::invalid_argument)  `user` is MPI_COMM_NULL or an intercommunicator
    /// @throws error(errc::invalid_state)     MPI is not initialised, or already finalised
    explicit communicator(MPI_Comm user);

    /// @brief The ranks that give the same color, in rank order.
    ///
    /// Work of either is work of both. The part inherits the resources that are there, if they are for parts. Not
    /// closed by `close()` of the whole: who splits closes.
    /// @par Collective
    /// Yes; may block. Throws on all ranks or on none.
    [[nodiscard]] communicator split(int color) const;

    rank_t rank() const noexcept { return rank_; }
    rank_t num_ranks() const noexcept { return num_ranks_; }

    /// @brief The duplicate, with MPI_ERRORS_RETURN.
    /// @throws error(errc::invalid_state)  the communicator is closed
    MPI_Comm get() const {
        require_open();
        return state_->duplicate;
    }

    /// @brief Reserves consecutive message tags that nothing else on this communicator uses.
    ///
    /// A block that ends gives its tags back. Ranks find out which tags all of them have given back only when none are
    /// left: in one reduction after thousands of blocks. At first 32,767 tags are in use, which every MPI has. The
    /// number grows when more than half of them stay taken.
    /// @param count  how many
    /// @par Collective
    /// Yes: every rank must call it in the same order with the same count. Blocks where no tags are left, and does not
    /// communicate otherwise.
    /// @throws error(errc::count_overflow)  no more tags are left below MPI_TAG_UB (on all ranks)
    /// @throws error(errc::out_of_memory)   on all ranks
    [[nodiscard]] tag_block reserve_tags(int count) const;

    /// @brief From now on, whoever waits on this communicator, or on another one of this process, also
    /// calls `work->progress()`. Where threads may call MPI at once, other communicators do not.
    /// @param work  not owned; to be removed before it dies
    void add_work(background_work* work) const;
    void remove_work(background_work* work) const noexcept;
    bool has_work() const noexcept { return !state_->work->all.empty(); }
    /// @brief Whether a wait must look again and again: there is work, or a rank may be lost.
    bool may_not_block() const noexcept { return has_work() || may_lose_ranks(); }
    /// @brief Whether MPI tells of ranks that have ended.
    bool may_lose_ranks() const noexcept { return state_->lost != nullptr; }
    /// @brief Whether `work` was added and nothing else.
    bool has_only(const background_work* work) const noexcept {
        return state_->work->all.size() == 1 && state_->work->all.front().work == work;
    }

    /// @brief Starts a thread that makes progress while there is work and no call of the library does it, also for what
    /// was split off. It ends when the communicator is closed. Does nothing if there is one.
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_state)  on all ranks: MPI has not MPI_THREAD_MULTIPLE
    void start_progress_thread() const;
    bool has_progress_thread() const noexcept { return state_->work->thread != nullptr; }

    /// @brief What the progress thread holds while it works, so that whoever holds it has the work for itself; nothing
    /// without such a thread.
    [[nodiscard]] work_hold hold_work() const { return work_hold(state_->work->thread.get()); }

    /// @brief Takes an exchange over until it is over, or the communicator is closed. Its other ranks must not need it
    /// to be waited for. Takes no memory; lets go of it at once where the communicator is closed.
    void take_over(std::unique_ptr<unfinished_exchange> one) const noexcept;

    /// @brief The next agreement tells all ranks this error, which is this rank's alone, unless a lower rank has one.
    void tell_later(const error& fault) const noexcept { state_->untold = fault; }

    /// @brief An object of this rank was destroyed before it has done what it had begun: the next `close()` says so, on
    /// all ranks. Does nothing where an exception says more, and where the communicator is closed.
    /// @param missing  what should have been called before, such as "wait"
    /// @param items    lost on this rank; those of all ranks are added up
    void note_lost(const char* kind, const std::string& name, const char* missing,
                   count_t items) const noexcept;

    /// @brief The error of one rank alone that all ranks were told of last.
    std::optional<error> last_peer_error() const noexcept {
        return state_ ? state_->told : std::nullopt;
    }

    /// @brief Makes progress on all messages of this process and on all work that was added. Does not wait.
    ///
    /// Every loop that waits calls it, unless each turn tests an active request or probes in vain: MPI makes progress
    /// only inside its calls, and a test that finds no active request returns at once. A long message is not sent
    /// before its sender has answered its receiver in such a call.
    /// @throws error(errc::rank_failed)  a rank of the communicator has ended, and MPI tells of it
    void progress() const;

    /// @brief Completes a request, making progress on all work meanwhile. Waiting yields the core.
    ///
    /// A call of MPI that fails and leaves the request active is made once more, since others may be in the same
    /// operation.
    void wait(MPI_Request& request) const;

    /// @brief Waits for all ranks, making progress on all work meanwhile: to be called before what blocks without.
    /// @par Collective
    /// Yes; blocks.
    void wait_for_all() const;

    /// @brief The one `Resource` of this communicator, made by `Resource(*this)` when first asked for.
    ///
    /// It must not keep the communicator, which owns it. Where its constructor communicates, it throws on all ranks or
    /// on none, and no std::bad_alloc, because it would be called again for that.
    /// @par Collective
    /// As that constructor.
    template <class Resource>
    Resource& resource() const {
        require_open();
        if (auto* const known = find_resource<Resource>()) return *known;
        auto made = with_reserve([&] { return std::make_shared<Resource>(*this); });
        with_reserve([&] { state_->resources.push_back(made); });
        return *made;
    }

    /// @brief The same, or null where nobody has asked for it.
    template <class Resource>
    Resource* find_resource() const noexcept {
        for (const auto& kept : state_->resources) {
            auto& one = *kept;
            if (typeid(one) == typeid(Resource)) return static_cast<Resource*>(&one);
        }
        return nullptr;
    }

    /// @brief Frees the duplicate and all resources. What was built on it can then only be closed and destroyed. Does
    /// nothing if the communicator is closed already.
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_state)  on any rank an exchange was started and not completed, items of a stream were
    /// not drained, or what had either was destroyed, which is said once; on all ranks. The communicator stays open.
    ///
    /// Where a rank has ended and MPI tells of it, does what `abandon()` does, and throws nothing.
    void close();

    /// @brief As `close()`, where ranks may never meet again: waits for nobody, and frees nothing.
    void abandon() const noexcept;

    bool is_open() const noexcept { return state_ && state_->duplicate != MPI_COMM_NULL; }

    /// @throws error(errc::invalid_state)  the communicator is closed, or was moved from
    void require_open() const {
        if (!is_open()) [[unlikely]]
            refuse_closed();
    }

  private:
    friend class communicator_user;
    friend class open_communicators;
    friend struct error_agreement;
    struct state;
    struct added_work {
        background_work* work;
        const state* by;
    };
    struct work_list {
        std::vector<added_work> all;
        std::shared_ptr<progress_thread> thread;  // null: nobody else looks at them
    };
    struct state {
        MPI_Comm duplicate = MPI_COMM_NULL;
        int unused_tag = 0;
        std::shared_ptr<tag_pool> tags;
        std::shared_ptr<work_list>
            work;  // of all communicators, unless threads may call MPI at once
        std::shared_ptr<lost_ranks>
            lost;  // with its parts; null where MPI does not tell of such ranks
        std::shared_ptr<void> thread_end;  // stops the thread, if this communicator has started it
        std::vector<std::shared_ptr<communicator_resource>> resources;
        std::list<communicator_user*> users;
        std::unique_ptr<unfinished_exchange> unfinished;
        std::optional<error> untold;
        std::optional<error> told;
        std::optional<error> lost_object;  // the first
        count_t lost_items = 0;
    };
    [[noreturn]] static void refuse_closed();
    static void look_for_messages(const state& in, rank_t own_rank) noexcept;
    void make_progress() const;
    void close_together();
    [[noreturn]] void throw_with_lost(const error& refusal);
    void look_at_unfinished() const noexcept;
    void drop_unfinished() noexcept;
    communicator();
    void find_place(MPI_Comm in);
    void set_up();
    template <class Part, class Undo>
    void complete(const communicator& meeting, Part&& part, Undo&& undo);

    std::shared_ptr<state> state_;
    rank_t rank_ = 0;
    rank_t num_ranks_ = 1;
};

/// @brief An object that is built on a communicator and has to know when that is closed.
class communicator_user {
  public:
    communicator_user(const communicator_user&) = delete;
    communicator_user& operator=(const communicator_user&) = delete;

    /// @brief What closing the communicator would cut off, such as "an active neighbor exchange"; empty if nothing.
    virtual std::string activity() const = 0;

    /// @brief The communicator is about to be freed; must not communicate.
    virtual void note_closed() noexcept {}

  protected:
    explicit communicator_user(const communicator& comm);
    ~communicator_user();

  private:
    std::shared_ptr<communicator::state> of_;
    std::list<communicator_user*>::iterator place_;
};

/// @brief Throws on every rank if any rank brings an error, or if `same` differs between ranks.
///
/// The error of the lowest failing rank is thrown everywhere, with its code, rank and sentence, which is cut after 4000
/// characters. Takes no memory before it throws, so that a rank without any can say so.
/// @param comm   all of its ranks call
/// @param fault  this rank's error, if any
/// @param same   a value, usually a hash of arguments, that must be equal on all ranks
/// @param what   names those arguments in the error text; its first line must be equal, too. More lines such as "route
/// = direct" are values, of which the error shows the first that differs
/// @par Collective
/// Yes; blocks. One reduction of four words, and on error three broadcasts. If a rank has an error that the others do
/// not know (`communicator::tell_later`), three broadcasts tell it to them.
/// @throws error  as brought; or error(errc::invalid_argument) where `same` differs
void agree(const communicator& comm, const std::optional<error>& fault, std::int64_t same = 0,
           const char* what = "the arguments");

/// @brief The current exception as an `error`: a crossdock error itself, others wrapped by kind; without memory, "out
/// of memory".
error current_error() noexcept;

/// @brief A hash for `agree`: equal texts, equal numbers (FNV-1a).
std::int64_t agreement_hash(std::string_view text) noexcept;

/// @brief Runs `local()`, which must not communicate, and agrees on whether it threw.
/// @return what `local` returned
/// @par Collective
/// Yes; blocks.
/// @throws error  the error of the lowest rank where `local` threw, on all ranks
template <class Local>
auto on_all_or_none(const communicator& comm, Local&& local, std::int64_t same = 0,
                    const char* what = "the arguments") -> decltype(local()) {
    using result = decltype(local());
    std::optional<error> fault;
    if constexpr (std::is_void_v<result>) {
        try {
            local();
        } catch (...) {
            fault = current_error();
        }
        agree(comm, fault, same, what);
    } else {
        std::optional<result> value;
        try {
            value.emplace(local());
        } catch (...) {
            fault = current_error();
        }
        agree(comm, fault, same, what);
        return std::move(*value);
    }
}

}  // namespace crossdock

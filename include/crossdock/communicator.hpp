/// @file
/// @brief The library's own communicator, the check around every MPI call, and agreement on errors.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief An MPI call failed; the message is MPI's text and names the call.
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

/// @brief What a rank owes to others while it waits for something else, such as forwarding.
class background_work {
  public:
    /// @brief Does what can be done without waiting.
    virtual void progress() = 0;

  protected:
    ~background_work() = default;
};

/// @brief What a module keeps with a communicator from one call to the next, such as windows.
class communicator_resource {
  public:
    virtual ~communicator_resource() = default;

    /// @brief Gives back what only all ranks together can; `communicator::close()` calls it.
    virtual void close() {}

    /// @brief Whether parts of the communicator share it, if it is there before they are split off.
    /// Such a resource has nothing to give back.
    virtual bool is_for_parts() const noexcept { return false; }
};

/// @brief A private duplicate of the user's communicator; all messages of the library travel on it.
///
/// A user's wildcard receive therefore never sees the library's messages. Everything built on it
/// shares it; copies of the handle are cheap.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | closed by `close()` |
/// | closed | destruction, `close()` | |
///
/// The destructor does not communicate. A communicator that was made from the user's and not closed
/// is closed by MPI_Finalize, the newest first. A build with `CROSSDOCK_ASSERT_LEVEL` of 3 or more
/// says so on stderr.
class communicator {
  public:
    /// @brief Duplicates `user`.
    /// @par Collective
    /// Yes, over `user`; may block.
    /// @throws error(errc::invalid_argument)  `user` is MPI_COMM_NULL or an intercommunicator
    explicit communicator(MPI_Comm user);

    /// @brief The ranks that give the same color, in rank order.
    ///
    /// Work of either is work of both. The part inherits the resources that are there, if they are
    /// for parts. Not closed by `close()` of the whole: who splits closes.
    /// @par Collective
    /// Yes; may block.
    communicator split(int color) const;

    rank_t rank() const noexcept { return rank_; }
    rank_t num_ranks() const noexcept { return num_ranks_; }

    /// @brief The duplicate, with MPI_ERRORS_RETURN.
    MPI_Comm get() const noexcept { return state_->duplicate; }

    /// @brief Reserves consecutive message tags that nothing else on this communicator uses.
    /// @param count  how many
    /// @return the first of them
    /// @par Collective
    /// Logically: every rank must call it in the same order with the same count. Does not
    /// communicate.
    /// @throws error(errc::count_overflow)  MPI_TAG_UB is reached (on all ranks alike)
    int reserve_tags(int count) const;

    /// @brief From now on, whoever waits on this communicator also calls `work->progress()`.
    /// @param work  not owned; to be removed before it dies
    void add_work(background_work* work) const;
    void remove_work(background_work* work) const noexcept;
    bool has_work() const noexcept { return !state_->work->empty(); }
    /// @brief Whether `work` was added and nothing else.
    bool has_only(const background_work* work) const noexcept {
        return state_->work->size() == 1 && state_->work->front() == work;
    }

    /// @brief Makes progress on all messages of this process and on all work that was added. Does
    /// not wait.
    ///
    /// Every loop that waits calls it, unless each turn tests an active request or probes in vain:
    /// MPI makes progress only inside its calls, and a test that finds no active request returns at
    /// once. A long message is not sent before its sender has answered its receiver in such a call.
    void progress() const;

    /// @brief Completes a request, making progress on all work meanwhile. Waiting yields the core.
    void wait(MPI_Request& request) const;

    /// @brief Waits for all ranks, making progress on all work meanwhile: to be called before what
    /// blocks without.
    /// @par Collective
    /// Yes; blocks.
    void wait_for_all() const;

    /// @brief The one `Resource` of this communicator, made by `Resource(*this)` when first asked
    /// for.
    ///
    /// It must not keep the communicator, which owns it.
    /// @par Collective
    /// As that constructor.
    template <class Resource>
    Resource& resource() const {
        for (const auto& kept : state_->resources) {
            if (auto* const found = dynamic_cast<Resource*>(kept.get())) return *found;
        }
        auto made = std::make_shared<Resource>(*this);
        Resource& result = *made;
        state_->resources.push_back(std::move(made));
        return result;
    }

    /// @brief Frees the duplicate and all resources. Everything built on it must be gone or idle.
    /// @par Collective
    /// Yes; may block.
    void close();

    bool is_open() const noexcept { return state_->duplicate != MPI_COMM_NULL; }

  private:
    struct state {
        MPI_Comm duplicate = MPI_COMM_NULL;
        int next_tag = 0;
        int tag_limit = 0;
        std::shared_ptr<std::vector<background_work*>> work;
        std::vector<std::shared_ptr<communicator_resource>> resources;
    };
    /// @brief Takes an MPI communicator that nobody else uses.
    communicator(MPI_Comm own, std::shared_ptr<std::vector<background_work*>> work);
    communicator make_part(MPI_Comm own) const;

    std::shared_ptr<state> state_;
    rank_t rank_ = 0;
    rank_t num_ranks_ = 1;
};

/// @brief Throws on every rank if any rank brings an error, or if `same` differs between ranks.
///
/// The error of the lowest failing rank is thrown everywhere, with its code, rank and sentence.
/// @param comm   all of its ranks call
/// @param fault  this rank's error, if any
/// @param same   a value, usually a hash of arguments, that must be equal on all ranks
/// @param what   names those arguments in the error text
/// @par Collective
/// Yes; blocks. One reduction of three words, and on error one broadcast.
/// @throws error  as brought; or error(errc::invalid_argument) where `same` differs
void agree(const communicator& comm, const std::optional<error>& fault, std::int64_t same = 0,
           const char* what = "the arguments");

/// @brief Runs `local()`, which must not communicate, and agrees on whether it threw.
/// @return what `local` returned
/// @par Collective
/// Yes; blocks.
/// @throws error  the error of the lowest rank where `local` threw, on all ranks
template <class Local>
auto on_all_or_none(const communicator& comm, Local&& local, std::int64_t same = 0,
                    const char* what = "the arguments") -> decltype(local());

/// @brief The current exception as an `error`: a crossdock error itself, others wrapped by kind.
error current_error();

/// @brief A hash for `agree`: equal texts, equal numbers (FNV-1a).
std::int64_t agreement_hash(std::string_view text) noexcept;

template <class Local>
auto on_all_or_none(const communicator& comm, Local&& local, std::int64_t same, const char* what)
    -> decltype(local()) {
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

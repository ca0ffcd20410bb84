#include "crossdock/communicator.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <new>

#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

std::string mpi_text(int mpi_code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(mpi_code, text.data(), &length) != MPI_SUCCESS) return "unknown MPI error";
    return {text.data(), static_cast<std::size_t>(length)};
}

MPI_Comm duplicate_of(MPI_Comm user) {
    if (user == MPI_COMM_NULL)
        throw error(errc::invalid_argument, "the communicator is MPI_COMM_NULL");
    int is_inter = 0;
    CROSSDOCK_MPI(MPI_Comm_test_inter(user, &is_inter));
    if (is_inter) throw error(errc::invalid_argument, "the communicator is an intercommunicator");
    MPI_Comm duplicate = MPI_COMM_NULL;
    CROSSDOCK_MPI(MPI_Comm_dup(user, &duplicate));
    return duplicate;
}

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

    void add(communicator one) {
        const std::scoped_lock lock(mutex_);
        if (key_ == MPI_KEYVAL_INVALID) {
            int key = MPI_KEYVAL_INVALID;
            CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_all, &key, nullptr));
            CROSSDOCK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, this));
            key_ = key;
        }
        all_.push_back(std::move(one));
    }

    void remove(MPI_Comm duplicate) {
        const std::scoped_lock lock(mutex_);
        std::erase_if(all_, [&](const communicator& one) { return one.get() == duplicate; });
    }

  private:
    static int close_all(MPI_Comm, int, void* self, void*) {
        auto& all = static_cast<open_communicators*>(self)->all_;
        if constexpr (CROSSDOCK_ASSERT_LEVEL >= static_cast<int>(assert_level::communication)) {
            if (!all.empty())
                std::fprintf(stderr,
                             "crossdock: MPI_Finalize closes %zu communicators of this process\n",
                             all.size());
        }
        try {
            while (!all.empty()) communicator(all.back()).close();
        } catch (const mpi_error& failure) {
            return failure.mpi_code();
        } catch (...) {
            return MPI_ERR_OTHER;
        }
        return MPI_SUCCESS;
    }

    std::mutex mutex_;
    int key_ = MPI_KEYVAL_INVALID;
    std::vector<communicator> all_;
};

auto no_work() { return std::make_shared<std::vector<background_work*>>(); }

}  // namespace

mpi_error::mpi_error(int mpi_code, const char* call)
    : error(errc::mpi_failure, std::string(call) + ": " + mpi_text(mpi_code)),
      mpi_code_(mpi_code) {}

communicator::communicator(MPI_Comm user) : communicator(duplicate_of(user), no_work()) {
    open_communicators::of_process().add(*this);
}

communicator::communicator(MPI_Comm own, std::shared_ptr<std::vector<background_work*>> work)
    : state_(std::make_shared<state>()) {
    state_->duplicate = own;
    state_->work = std::move(work);
    CROSSDOCK_MPI(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
    CROSSDOCK_MPI(MPI_Comm_rank(own, &rank_));
    CROSSDOCK_MPI(MPI_Comm_size(own, &num_ranks_));
    int* tag_limit = nullptr;
    int is_set = 0;
    CROSSDOCK_MPI(MPI_Comm_get_attr(own, MPI_TAG_UB, static_cast<void*>(&tag_limit), &is_set));
    state_->tag_limit = is_set ? *tag_limit : 32767;
}

communicator communicator::make_part(MPI_Comm own) const {
    communicator part(own, state_->work);
    std::ranges::copy_if(state_->resources, std::back_inserter(part.state_->resources),
                         [](const auto& kept) { return kept->is_for_parts(); });
    return part;
}

communicator communicator::split(int color) const {
    MPI_Comm part = MPI_COMM_NULL;
    CROSSDOCK_MPI(MPI_Comm_split(get(), color, rank_, &part));
    return make_part(part);
}

int communicator::reserve_tags(int count) const {
    if (count > state_->tag_limit - state_->next_tag) {
        throw error(errc::count_overflow, "no message tags left on this communicator: " +
                                              std::to_string(state_->next_tag) + " of " +
                                              std::to_string(state_->tag_limit) + " are taken");
    }
    return std::exchange(state_->next_tag, state_->next_tag + count);
}

void communicator::add_work(background_work* work) const { state_->work->push_back(work); }

void communicator::remove_work(background_work* work) const noexcept {
    std::erase(*state_->work, work);
}

void communicator::progress() const {
    // Nobody sends with this tag, so MPI finds nothing; it makes progress before it says so. With
    // one source it has one queue to look through.
    int is_there = 0;
    CROSSDOCK_MPI(MPI_Iprobe(rank_, state_->tag_limit, get(), &is_there, MPI_STATUS_IGNORE));
    // A copy, because work that is done removes itself.
    const auto all_work = *state_->work;
    for (auto* work : all_work) work->progress();
}

void communicator::wait(MPI_Request& request) const {
    for (int is_complete = 0; (has_work() || suspension::current()) && !is_complete;) {
        progress();
        CROSSDOCK_MPI(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE));
        if (!is_complete) pause_wait();
    }
    CROSSDOCK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

void communicator::wait_for_all() const {
    if (auto* const one = suspension::current()) return one->before_blocking(*this);
    MPI_Request barrier = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Ibarrier(get(), &barrier));
    wait(barrier);
}

void communicator::close() {
    if (!is_open()) return;
    for (const auto& kept : state_->resources) kept->close();
    state_->resources.clear();
    open_communicators::of_process().remove(state_->duplicate);
    CROSSDOCK_MPI(MPI_Comm_free(&state_->duplicate));
}

error current_error() {
    try {
        throw;
    } catch (const error& known) {
        return known;
    } catch (const std::bad_alloc&) {
        return {errc::out_of_memory, "out of memory"};
    } catch (const std::exception& other) {
        return {errc::internal, other.what()};
    } catch (...) {
        return {errc::internal, "an exception of unknown type"};
    }
}

std::int64_t agreement_hash(std::string_view text) noexcept {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return static_cast<std::int64_t>(hash >> 1);  // never negative, so that its negation exists
}

void agree(const communicator& comm, const std::optional<error>& fault, std::int64_t same,
           const char* what) {
    // The least failing rank, the least `same`, and the largest (as the least of the negated).
    std::array<std::int64_t, 3> agreed{fault ? comm.rank() : comm.num_ranks(), same, -same};
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, agreed.data(), 3, MPI_INT64_T, MPI_MIN, comm.get(),
                                 &reduction));
    comm.wait(reduction);
    const auto failing_rank = static_cast<rank_t>(agreed[0]);
    if (failing_rank == comm.num_ranks()) {
        if (agreed[1] != -agreed[2]) {
            throw error(errc::invalid_argument, std::string(what) + " differ between ranks");
        }
        return;
    }
    struct {
        std::int64_t code, rank, length;
    } head{};
    std::string text;
    if (failing_rank == comm.rank()) {
        text = fault->what();
        head = {static_cast<int>(fault->code()), fault->rank() < 0 ? failing_rank : fault->rank(),
                static_cast<std::int64_t>(text.size())};
    }
    const auto broadcast = [&](void* values, int count, MPI_Datatype type) {
        MPI_Request request = MPI_REQUEST_NULL;
        CROSSDOCK_MPI(MPI_Ibcast(values, count, type, failing_rank, comm.get(), &request));
        comm.wait(request);
    };
    broadcast(&head, 3, MPI_INT64_T);
    text.resize(static_cast<std::size_t>(head.length));
    broadcast(text.data(), static_cast<int>(head.length), MPI_CHAR);
    throw error(static_cast<errc>(head.code), text, static_cast<rank_t>(head.rank));
}

}  // namespace crossdock

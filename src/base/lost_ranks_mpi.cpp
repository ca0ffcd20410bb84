#include "lost_ranks_mpi.hpp"

#include <string>

#include "crossdock/error.hpp"

namespace crossdock {

error lost_ranks::fault_of(rank_t lost) {
    return {errc::rank_failed,
            (lost < 0 ? "a rank" : "rank " + std::to_string(lost)) + " has ended", lost};
}

void lost_ranks::require_none() const {
    if (const rank_t lost = lost_; lost != none) throw fault_of(lost);
}

}  // namespace crossdock

#ifdef CROSSDOCK_HAS_LOST_RANKS

#include <mpi-ext.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr unsigned looks_between_asking = 64;    // asking takes as long as a look at MPI
constexpr std::chrono::seconds time_to_hear{1};  // after a revocation, of whom it was for

// Those of this process.
struct all_watched {
    std::mutex mutex;
    std::vector<lost_ranks*> all;
    static all_watched& get() {
        static auto& made = *new all_watched;
        return made;
    }
};

// The first rank that has ended.
std::optional<rank_t> ended_rank(MPI_Comm in) {
    MPI_Group ended = MPI_GROUP_NULL;
    if (MPIX_Comm_get_failed(in, &ended) != MPI_SUCCESS) return std::nullopt;
    int num_ended = 0;
    MPI_Group_size(ended, &num_ended);
    std::optional<rank_t> found;
    if (num_ended > 0) {
        constexpr int first = 0;
        MPI_Group all = MPI_GROUP_NULL;
        MPI_Comm_group(in, &all);
        MPI_Group_translate_ranks(ended, 1, &first, all, &found.emplace());
        MPI_Group_free(&all);
    }
    MPI_Group_free(&ended);
    return found;
}

// Of a rank that is lost; what begins on a communicator that was revoked may fail by no class of its own.
bool may_tell_of_loss(int mpi_code) {
    int error_class = MPI_ERR_OTHER;
    MPI_Error_class(mpi_code, &error_class);
    constexpr std::array all{MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING,
                             MPIX_ERR_REVOKED,     MPI_ERR_IN_STATUS,
                             MPI_ERR_OTHER,        MPI_ERR_INTERN,
                             MPI_ERR_UNKNOWN};
    return std::ranges::find(all, error_class) != all.end();
}

bool is_revoked(MPI_Comm one) {
    int is_so = 0;
    return MPIX_Comm_is_revoked(one, &is_so) == MPI_SUCCESS && is_so;
}

}  // namespace

std::shared_ptr<lost_ranks> lost_ranks::watch() {
    int* is_tolerant = nullptr;
    int is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, static_cast<void*>(&is_tolerant), &is_set);
    if (!is_set || !*is_tolerant) return nullptr;
    return with_reserve([] {
        std::shared_ptr<lost_ranks> made(new lost_ranks);
        auto& [mutex, all] = all_watched::get();
        const std::scoped_lock lock(mutex);
        all.push_back(made.get());
        return made;
    });
}

lost_ranks::~lost_ranks() {
    auto& [mutex, all] = all_watched::get();
    const std::scoped_lock lock(mutex);
    std::erase(all, this);
}

void lost_ranks::add(MPI_Comm one) {
    const std::scoped_lock lock(mutex_);
    append_with_reserve(all_, one);
}

void lost_ranks::remove(MPI_Comm one) noexcept {
    const std::scoped_lock lock(mutex_);
    if (!all_.empty() && all_.front() == one) {
        all_.clear();
    } else {
        std::erase(all_, one);
    }
}

void lost_ranks::look() noexcept {
    if (++num_looks_ % looks_between_asking == 0 && lost_ == none) ask();
}

std::optional<rank_t> lost_ranks::ask() noexcept {
    const std::scoped_lock lock(mutex_);
    if (all_.empty()) return std::nullopt;
    if (lost_ != none) return lost_;
    auto rank = ended_rank(all_.front());
    if (!rank) {
        if (std::ranges::none_of(all_, is_revoked)) return std::nullopt;
        const auto end = std::chrono::steady_clock::now() + time_to_hear;
        while (!rank && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
            int is_there = 0;  // MPI hears of it when it looks
            MPI_Iprobe(0, 0, MPI_COMM_SELF, &is_there, MPI_STATUS_IGNORE);
            rank = ended_rank(all_.front());
        }
    }
    for (const MPI_Comm one : all_) MPIX_Comm_revoke(one);
    lost_ = rank.value_or(-1);
    return lost_;
}

void lost_ranks::require_none_in(MPI_Comm one) {
    if (const auto lost = ended_rank(one)) throw fault_of(*lost);
}

std::optional<rank_t> lost_ranks::find(int mpi_code) noexcept {
    if (!may_tell_of_loss(mpi_code)) return std::nullopt;
    auto& [mutex, all] = all_watched::get();
    const std::scoped_lock lock(mutex);
    for (auto one = all.rbegin(); one != all.rend(); ++one) {
        if (const auto found = (*one)->ask()) return found;
    }
    return std::nullopt;
}

}  // namespace crossdock

#else

namespace crossdock {

std::shared_ptr<lost_ranks> lost_ranks::watch() { return nullptr; }
lost_ranks::~lost_ranks() = default;
void lost_ranks::add(MPI_Comm) {}
void lost_ranks::remove(MPI_Comm) noexcept {}
void lost_ranks::look() noexcept {}
void lost_ranks::require_none_in(MPI_Comm) {}
std::optional<rank_t> lost_ranks::find(int) noexcept { return std::nullopt; }

}  // namespace crossdock

#endif

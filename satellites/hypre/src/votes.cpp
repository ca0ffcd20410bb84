#include "votes.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "satellites/drop_in/src/basics.hpp"
#include "satellites/drop_in/src/report.hpp"

namespace crossdock::hypre_drop_in {

namespace {

constexpr std::chrono::seconds longest_wait(1);
constexpr int most_terms = 8;  // each has a communicator, and begins after a wait
bool has_begun_to_finalize = false;
void (*to_be_called_at_end)() = nullptr;

int new_key(MPI_Comm_delete_attr_function* forget) {
    int made = MPI_KEYVAL_INVALID;
    CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr));
    return made;
}

int forget_ballot(MPI_Comm, int, void* kept, void*) {
    if (is_finalizing()) return MPI_SUCCESS;
    std::unique_ptr<ballot> one(static_cast<ballot*>(kept));
    if (!one->close()) static_cast<void>(one.release());
    return MPI_SUCCESS;
}

int begin_to_finalize(MPI_Comm, int, void*, void*) {
    to_be_called_at_end();
    has_begun_to_finalize = true;
    return MPI_SUCCESS;
}

int ballot_key() {
    static const int key = new_key(forget_ballot);
    return key;
}

}  // namespace

void watch_finalize(void (*at_end)()) {
    if (std::exchange(to_be_called_at_end, at_end) != nullptr) return;
    // MPI_Finalize deletes attributes of this communicator first.
    CROSSDOCK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, new_key(begin_to_finalize), nullptr));
}

bool is_finalizing() noexcept { return has_begun_to_finalize; }

ballot* ballot::of(MPI_Comm comm) {
    ballot* kept = nullptr;
    int is_set = 0;
    CROSSDOCK_MPI(MPI_Comm_get_attr(comm, ballot_key(), static_cast<void*>(&kept), &is_set));
    return is_set != 0 ? kept : nullptr;
}

void ballot::have(MPI_Comm comm, bool is_wanted) {
    int num_ranks = 1;
    CROSSDOCK_MPI(MPI_Comm_size(comm, &num_ranks));
    if (num_ranks == 1 || is_finalizing()) return;
    if (auto* const kept = of(comm)) return kept->renew();
    // The environment may differ between ranks.
    std::array<int, 2> all{is_wanted, drop_in::report::of_process() != nullptr};
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, all.data(), 2, MPI_INT, MPI_MIN, comm));
    if (all[0] == 0) return;
    auto made = with_reserve([&] { return std::make_unique<ballot>(comm, all[1] != 0); });
    CROSSDOCK_MPI(MPI_Comm_set_attr(comm, ballot_key(), made.get()));
    static_cast<void>(made.release());
}

ballot::ballot(MPI_Comm comm, bool is_reported) : comm_(comm), is_reported_(is_reported) {
    begin_term();
}

// A split, since a duplicate would call the program's functions that copy attributes.
void ballot::begin_term() {
    CROSSDOCK_MPI(MPI_Comm_split(comm_, 0, 0, &own_));
    CROSSDOCK_MPI(MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN));
}

// Of votes before any rank gave up, all ranks see the same. If each rank has cast these, and on the same subjects, none
// has left a use out.
void ballot::renew() {
    if (has_left_out_ || term_ == most_terms) return;
    std::array least{is_spoiled_ ? std::int64_t{0} : 1, num_begun_, -num_at_give_up_};
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, least.data(), static_cast<int>(least.size()),
                                MPI_INT64_T, MPI_MIN, comm_));
    const auto [is_sound, num_all_have, num_to_have] = least;
    if (is_sound != 0) return;
    for (const auto& one : begun_) {
        if (one->number >= num_all_have) continue;
        CROSSDOCK_MPI(MPI_Wait(&one->request, MPI_STATUS_IGNORE));
        is_valid(*one);
    }
    has_left_out_ = first_invalid_ < num_all_have || num_all_have < -num_to_have;
    if (has_left_out_) return;
    never_complete_.splice(never_complete_.end(), begun_);
    num_begun_ = num_at_give_up_ = 0;
    first_invalid_ = std::numeric_limits<std::int64_t>::max();
    is_spoiled_ = false;
    ++term_;
    begin_term();
}

std::shared_ptr<const vote> ballot::begin(std::int64_t subject, bool is_agreed) {
    const auto one = std::make_shared<vote>();
    one->values = {subject, -subject, is_agreed, 0, 0};
    reduce(*one);
    begun_.push_back(one);
    return one;
}

bool ballot::is_valid(const vote& one) noexcept {
    if (one.values[0] != -one.values[1]) {
        is_spoiled_ = true;
        first_invalid_ = std::min(first_invalid_, one.number);
    }
    return !is_spoiled_;
}

void ballot::look() {
    std::erase_if(begun_, [this](const auto& one) {
        int is_complete = 0;
        CROSSDOCK_MPI(MPI_Test(&one->request, &is_complete, MPI_STATUS_IGNORE));
        if (is_complete != 0) is_valid(*one);
        return is_complete != 0;
    });
}

bool ballot::are_complete() {
    look();
    const auto begin = std::chrono::steady_clock::now();
    while (!begun_.empty() && !is_spoiled_) {
        const bool is_last = std::chrono::steady_clock::now() - begin > longest_wait;
        std::this_thread::yield();
        look();
        if (is_last && !begun_.empty() && !is_spoiled_) give_up();
    }
    return begun_.empty();
}

// Others may wait for this rank in `agree`, which meets this.
void ballot::give_up() {
    is_spoiled_ = true;
    num_at_give_up_ = num_begun_;
    const auto none = std::make_shared<vote>();
    none->values.fill(-std::numeric_limits<std::int64_t>::max());  // of no subject
    reduce(*none);
    num_begun_ = num_at_give_up_;
    begun_.push_back(none);
}

// All reductions have one form, since one rank's vote may meet another rank's terms.
void ballot::reduce(vote& one) {
    one.number = num_begun_++;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, one.values.data(),
                                 static_cast<int>(one.values.size()), MPI_INT64_T, MPI_MIN, own_,
                                 &one.request));
}

ballot::terms ballot::agree(std::int64_t subject, std::int64_t use, int trial) {
    vote one{{subject, -subject, -use, trial, -trial}, MPI_REQUEST_NULL, 0};
    reduce(one);
    CROSSDOCK_MPI(MPI_Wait(&one.request, MPI_STATUS_IGNORE));
    if (!is_valid(one)) return {-1, -1};
    return {-one.values[2], one.values[3] == -one.values[4] ? static_cast<int>(one.values[3]) : -1};
}

const context& ballot::where() {
    if (!where_) where_.emplace(drop_in::context_for(comm_));
    return *where_;
}

bool ballot::close() noexcept {
    try {
        if (where_) where_->close();
        if (begun_.empty()) CROSSDOCK_MPI(MPI_Comm_free(&own_));
    } catch (const error&) {
        // MPI_Finalize frees it.
    }
    return begun_.empty() && never_complete_.empty();
}

}  // namespace crossdock::hypre_drop_in

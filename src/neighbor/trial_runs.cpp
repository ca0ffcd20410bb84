#include "trial_runs.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crossdock {

trial_runs::trial_runs(const communicator& comm, route_trials trials,
                       std::vector<std::unique_ptr<plan_runner>> runners,
                       const measure_options& options)
    : comm_(comm),
      trials_(std::move(trials)),
      runners_(std::move(runners)),
      clock_(options.clock) {}

std::unique_ptr<plan_runner> trial_runs::decide() {
    if (!trials_.is_due()) return nullptr;
    auto slowest = trials_.report();
    static_assert(sizeof(trial_report) == 3 * sizeof(std::int64_t));
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, slowest.data(),
                                 checked_cast<int>(3 * slowest.size()), MPI_INT64_T, MPI_MAX,
                                 comm_.get(), &reduction));
    comm_.wait(reduction);
    trials_.take(std::move(slowest));
    const auto winner = trials_.winner();
    for (std::size_t c = 0; c < runners_.size(); ++c) {
        const bool is_tried = winner || c < trials_.current();
        if (is_tried && c != trials_.leader()) runners_[c].reset();
    }
    return winner ? std::move(runners_[*winner]) : nullptr;
}

void trial_runs::begin(direction way, std::size_t item_bytes) {
    const exchange_kind kind{way, item_bytes};
    const auto known = std::find(kinds_.begin(), kinds_.end(), kind);
    present_ = static_cast<std::size_t>(known - kinds_.begin());
    if (known == kinds_.end()) kinds_.push_back(kind);
    seconds_ = 0;
}

void trial_runs::end() { trials_.note(present_, seconds_); }

double trial_runs::now() const {
    if (clock_) return clock_();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace crossdock

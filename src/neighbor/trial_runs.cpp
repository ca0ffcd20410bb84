#include "trial_runs.hpp"

#include <array>
#include <chrono>

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
    const auto own = trials_.report();
    std::array<std::int64_t, 2> slowest{own.lower_quartile, own.sum};
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, slowest.data(), 2, MPI_INT64_T, MPI_MAX, comm_.get(),
                                 &reduction));
    comm_.wait(reduction);
    trials_.take({slowest[0], slowest[1]});
    const auto winner = trials_.winner();
    for (std::size_t c = 0; c < runners_.size(); ++c) {
        const bool is_tried = winner || c < trials_.current();
        if (is_tried && c != trials_.leader()) runners_[c].reset();
    }
    return winner ? std::move(runners_[*winner]) : nullptr;
}

void trial_runs::begin(direction way, std::size_t item_bytes) {
    present_ = exchange_kind{way, item_bytes};
    if (!measured_) measured_ = present_;
    seconds_ = 0;
}

void trial_runs::end() {
    if (present_ == measured_) trials_.note(seconds_);
}

double trial_runs::now() const {
    if (clock_) return clock_();
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace crossdock

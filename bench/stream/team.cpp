#include "bench/stream/team.hpp"

namespace crossdock::bench::streaming {

team::team(int num_workers) : num_workers_(num_workers), round_(num_workers) {
    for (int worker = 1; worker < num_workers; ++worker)
        others_.emplace_back([this, worker] { serve(worker); });
}

team::~team() {
    body_ = nullptr;
    round_.arrive_and_wait();
}

void team::serve(int worker) {
    for (round_.arrive_and_wait(); body_ != nullptr; round_.arrive_and_wait()) {
        run_one(worker);
        round_.arrive_and_wait();
    }
}

void team::run_one(int worker) {
    try {
        (*body_)(worker);
    } catch (...) {
        faults_[static_cast<std::size_t>(worker)] = std::current_exception();
        barrier_->arrive_and_drop();  // or the others would wait for this one forever
    }
}

void team::run(const std::function<void(int)>& body) {
    faults_.assign(static_cast<std::size_t>(num_workers_), nullptr);
    barrier_.emplace(num_workers_);
    body_ = &body;
    round_.arrive_and_wait();
    run_one(0);
    round_.arrive_and_wait();
    for (const auto& fault : faults_) {
        if (fault) std::rethrow_exception(fault);
    }
}

}  // namespace crossdock::bench::streaming

#include "bench/stream/team.hpp"

#include <thread>

namespace crossdock::bench::streaming {

void team::run_one(const std::function<void(int)>& body, int worker) {
    try {
        body(worker);
    } catch (...) {
        faults_[static_cast<std::size_t>(worker)] = std::current_exception();
        barrier_.arrive_and_drop();  // or the others would wait for this one forever
    }
}

void team::run(const std::function<void(int)>& body) {
    faults_.assign(static_cast<std::size_t>(num_workers_), nullptr);
    {
        std::vector<std::jthread> others;
        for (int worker = 1; worker < num_workers_; ++worker)
            others.emplace_back([this, &body, worker] { run_one(body, worker); });
        run_one(body, 0);
    }
    for (const auto& fault : faults_) {
        if (fault) std::rethrow_exception(fault);
    }
}

}  // namespace crossdock::bench::streaming

#include "own_requests.hpp"

#include <algorithm>
#include <utility>

#include "call.hpp"

namespace crossdock::drop_in {

constinit std::array<std::atomic<int>, 256> num_own_requests{};
constinit std::atomic<int> num_to_wait_for = 0;

own_requests& own_requests::of_process() {
    static auto& all = *new own_requests;
    return all;
}

void own_requests::count(MPI_Request request, int number) {
    num_own_requests[hash_of(request)].fetch_add(number, std::memory_order_relaxed);
    num_to_wait_for.fetch_add(number, std::memory_order_relaxed);
}

void own_requests::forget_failure(MPI_Request request) {
    if (failed.erase(request) > 0) count(request, -1);
}

exchange_with_request* own_requests::find_planned(MPI_Request request) const {
    const auto found = planned.find(request);
    return found == planned.end() ? nullptr : found->second.get();
}

std::unique_ptr<exchange_with_request> own_requests::forget(MPI_Request request) {
    count(request, -1);
    return std::move(planned.extract(request).mapped());
}

bool own_requests::is_active(MPI_Request request) const {
    if (const auto* const one = find_planned(request)) return one->is_active();
    return in_bodies.contains(request);
}

void own_requests::complete(const own_request& request, const graph& on, int code) {
    if (code != MPI_SUCCESS) {
        PMPI_Comm_call_errhandler(on.error_comm(), code);
        if (failed.insert_or_assign(request.handle(), code).second) count(request.handle(), 1);
    }
    request.complete(code != MPI_SUCCESS);
}

exchange_with_request::exchange_with_request(neighbor_call&& call,
                                             planned_exchange::instance& exchange)
    : call_(std::move(call)),
      exchange_(exchange),
      is_visible_(true),
      is_as_planned_(exchange_.lies_as_planned(call_.sends, call_.receives)) {}

exchange_with_request::exchange_with_request(neighbor_call&& call,
                                             std::unique_ptr<planned_exchange>&& plan)
    : call_(std::move(call)),
      plan_(std::move(plan)),
      exchange_(plan_->next_instance(call_form::persistent)),
      is_visible_(false),
      is_as_planned_(exchange_.lies_as_planned(call_.sends, call_.receives)) {
    ++call_.on->num_persistent;
}

exchange_with_request::~exchange_with_request() {
    if (plan_) --call_.on->num_persistent;
}

void exchange_with_request::start() {
    is_active_ = true;
    // An earlier failure that a function of MPI's has told.
    if (std::exchange(has_failed_, false))
        own_requests::of_process().forget_failure(request_.handle());
    by_plan_.emplace(call_, exchange_, is_as_planned_).start();
    call_.count_along(exchange_.whole());
    if (plan_ && call_.facts != nullptr) ++call_.facts->num_calls;
    try {
        progress_engine::of_process().watch(*this);
    } catch (...) {
        end(current_code());
    }
}

void exchange_with_request::make_visible() {
    if (std::exchange(is_visible_, true) || is_inactive()) return;
    auto handle = request_.handle();
    PMPI_Start(&handle);
    if (std::exchange(is_complete_, false)) request_.complete(false);
}

void exchange_with_request::wait() {
    int code = MPI_SUCCESS;
    try {
        by_plan_->wait();
    } catch (...) {
        code = current_code();
    }
    progress_engine::of_process().forget(*this);
    end(code);
}

bool exchange_with_request::advance() {
    int code = MPI_SUCCESS;
    try {
        if (!by_plan_->test()) return false;
    } catch (...) {
        code = current_code();
    }
    end(code);
    return true;
}

void exchange_with_request::end(int code) {
    has_failed_ = code != MPI_SUCCESS;
    if (has_failed_) make_visible();
    is_active_ = false;
    is_complete_ = !is_visible_;
    auto& all = own_requests::of_process();
    if (is_visible_) all.complete(request_, *call_.on, code);
    if (plan_) return;
    const auto self = all.forget(request_.handle());
}

bool start_invisible(MPI_Request request) {
    if (!may_be_own(request) || progress_engine::is_inside()) return false;
    const progress_engine::access alone;
    auto* const one = own_requests::of_process().find_planned(request);
    if (one == nullptr || one->is_visible()) return false;
    if (one->is_inactive()) {
        one->start();
        return true;
    }
    one->make_visible();
    return false;
}

void start_visible(MPI_Request request) {
    if (!may_be_own(request) || progress_engine::is_inside()) return;
    const progress_engine::access alone;
    if (auto* const one = own_requests::of_process().find_planned(request)) one->start();
}

void make_visible(std::span<const MPI_Request> requests) {
    if (!may_have_own(requests) || progress_engine::is_inside()) return;
    const progress_engine::access alone;
    for (const auto& request : requests)
        if (auto* const one = own_requests::of_process().find_planned(request)) one->make_visible();
}

bool wait_invisibly(MPI_Request request) try {
    if (progress_engine::is_inside()) return false;
    const progress_engine::access alone;
    auto* const one = own_requests::of_process().find_planned(request);
    if (one == nullptr || one->is_visible()) return false;
    if (one->is_active()) {
        if (!progress_engine::of_process().may_block(1)) return false;
        one->wait();
    }
    one->set_waited_for();
    return !one->is_visible();
} catch (...) {
    return false;
}

void wait_for_own(std::span<const MPI_Request> requests) try {
    if (!may_have_own(requests) || progress_engine::is_inside()) return;
    const auto& all = own_requests::of_process();
    const auto end_waiting = [&] {
        for (const auto& request : requests)
            if (auto* const one = all.find_planned(request)) one->set_waited_for();
    };
    {
        const progress_engine::access alone;
        exchange_with_request* one = nullptr;
        int number = 0;
        for (const auto& request : requests) {
            if (!all.is_active(request)) continue;
            one = all.find_planned(request);
            ++number;
        }
        if (number == 1 && one != nullptr && progress_engine::of_process().may_block(1)) {
            one->wait();
            number = 0;
        }
        if (number == 0) return end_waiting();
    }
    progress_engine::of_process().run_until([&] {
        return std::ranges::none_of(
            requests, [&](const MPI_Request& request) { return all.is_active(request); });
    });
    const progress_engine::access alone;
    end_waiting();
} catch (...) {
    // MPI's wait, which the program called, sees to the rest.
    make_visible(requests);
}

bool has_failed(std::span<const MPI_Request> requests) {
    if (progress_engine::is_inside()) return false;
    const progress_engine::access alone;
    const auto& failed = own_requests::of_process().failed;
    return !failed.empty() && std::ranges::any_of(requests, [&](const MPI_Request& request) {
        return failed.contains(request);
    });
}

int take_failure(MPI_Request given, MPI_Request left) {
    if (!may_be_own(given) || progress_engine::is_inside()) return MPI_SUCCESS;
    const progress_engine::access alone;
    auto& all = own_requests::of_process();
    const auto taken = all.failed.extract(given);
    if (!taken) return MPI_SUCCESS;
    all.count(given, -1);
    const auto* const one = all.find_planned(given);
    if (left == MPI_REQUEST_NULL && one != nullptr && one->has_failed()) all.forget(given);
    return taken.mapped();
}

void forget_persistent(MPI_Request request) {
    if (!may_be_own(request) || progress_engine::is_inside()) return;
    const progress_engine::access alone;
    auto& all = own_requests::of_process();
    all.forget_failure(request);
    auto* const one = all.find_planned(request);
    if (one == nullptr) return;
    // One that is active must not be freed; it is kept, since others still send to it.
    if (one->is_active()) {
        one->make_visible();
        static_cast<void>(all.planned.find(request)->second.release());
    }
    all.forget(request);
}

bool is_own_and_active(MPI_Request request) {
    if (!may_be_own(request) || progress_engine::is_inside()) return false;
    const progress_engine::access alone;
    return own_requests::of_process().is_active(request);
}

}  // namespace crossdock::drop_in

#include "call.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <unordered_map>
#include <utility>

#include "edge_messages.hpp"
#include "own_request.hpp"

namespace crossdock::drop_in {

namespace {

// Open MPI prints no longer ones where an error ends the program.
constexpr std::size_t longest_sentence = 150;

// What MPI_Ineighbor_alltoallw takes.
struct alltoallw_arguments {
    explicit alltoallw_arguments(const call_side& side) {
        for (const auto& one : side.blocks()) {
            counts.push_back(one.count);
            offsets.push_back(one.offset);
            types.push_back(one.count > 0 ? one.type : MPI_BYTE);
        }
    }

    std::vector<value_count> counts;
    std::vector<MPI_Aint> offsets;
    std::vector<MPI_Datatype> types;
};

// An exchange by MPI itself, on the twin of the user's communicator.
class exchange_of_mpi {
  public:
    explicit exchange_of_mpi(const neighbor_call& call)
        : sends_(call.sends), receives_(call.receives) {
        CROSSDOCK_MPI(CROSSDOCK_WIDEST(Ineighbor_alltoallw)(
            call.sends.buffer(), sends_.counts.data(), sends_.offsets.data(), sends_.types.data(),
            call.receives.buffer(), receives_.counts.data(), receives_.offsets.data(),
            receives_.types.data(), call.on->twin(), &request_));
    }

    bool test() {
        int is_complete = 0;
        CROSSDOCK_MPI(MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE));
        return is_complete != 0;
    }

  private:
    alltoallw_arguments sends_;
    alltoallw_arguments receives_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

void count_planned(const neighbor_call& call, const planned_exchange& along) {
    if (call.facts != nullptr) call.facts->add(along.facts());
}

void exchange_in_turn(neighbor_call& call, graph::turn& turn, call_form form) {
    auto& engine = progress_engine::of_process();
    turn.wait();
    const auto decided = call.on->decide(call.layouts(), call.kind, form, call.facts);
    std::optional<graph::question> question;
    if (decided.is_asked) question.emplace(*call.on, call.kind);
    // Even if the exchange cannot be started here, the other ranks take this one's answer.
    const auto finish_turn = [&] {
        if (question) question->conclude();
        turn.end();
    };
    std::optional<exchange_of_mpi> by_mpi;
    std::optional<edge_messages> others;
    planned_exchange::instance* one = nullptr;
    std::exception_ptr failure;
    try {
        if (decided.plan == nullptr) {
            engine.end_blocking();
            by_mpi.emplace(call);
        } else {
            one = &decided.plan->next_instance(form);
            engine.end_blocking();
            engine.wait_until([&] { return !one->is_active(); });
            others.emplace(call, *decided.plan);
            count_planned(call, *decided.plan);
            one->start(call.sends, call.receives);
        }
    } catch (...) {
        failure = std::current_exception();
    }
    finish_turn();
    if (failure) std::rethrow_exception(failure);
    if (by_mpi) return engine.wait_until([&] { return by_mpi->test(); });
    engine.wait_until([&] { return one->test(); });
    engine.wait_until([&] { return others->test(); });
}

// Begins a call that is not persistent. `complete` takes its code when it is complete.
template <class Complete>
void begin(neighbor_call call, call_form form, Complete complete) {
    struct state {
        neighbor_call call;
        std::optional<graph::turn> turn;
    };
    const auto kept = std::make_shared<state>(std::move(call));
    kept->turn.emplace(*kept->call.on);
    progress_engine::of_process().start(
        [kept, form, complete] {
            int code = MPI_SUCCESS;
            try {
                exchange_in_turn(kept->call, *kept->turn, form);
            } catch (...) {
                code = current_code();
            }
            kept->turn->end();
            complete(*kept->call.on, code);
        },
        form == call_form::nonblocking);
}

class exchange_with_request;

// The requests of this process that the user holds, but for those that are not persistent and complete.
struct own_requests {
    std::unordered_map<MPI_Request, std::unique_ptr<exchange_with_request>> planned;
    std::unordered_map<MPI_Request, std::unique_ptr<own_request>> in_bodies;
    std::unordered_map<MPI_Request, int>
        failed;  // their codes; MPI_Wait and MPI_Waitall take them out

    static own_requests& of_process() {
        static auto& all = *new own_requests;
        return all;
    }

    static void count(MPI_Request request, int number) {
        num_own_requests[hash_of(request)].fetch_add(number, std::memory_order_relaxed);
    }

    exchange_with_request* find_active(MPI_Request request) const;
    bool is_under_way(MPI_Request request) const {
        return in_bodies.contains(request) || find_active(request) != nullptr;
    }

    // Error handlers are told before the program can see that the request is complete.
    void complete(const own_request& request, const graph& on, int code) {
        if (code != MPI_SUCCESS) {
            PMPI_Comm_call_errhandler(on.error_comm(), code);
            if (failed.insert_or_assign(request.handle(), code).second) count(request.handle(), 1);
        }
        request.complete(code != MPI_SUCCESS);
    }
};

// An exchange along a plan: of a persistent request, or of one nonblocking call.
class exchange_with_request final : private watched {
  public:
    exchange_with_request(neighbor_call call, planned_exchange::instance& exchange)
        : call_(std::move(call)), exchange_(exchange) {}
    exchange_with_request(neighbor_call call, std::unique_ptr<planned_exchange> plan)
        : call_(std::move(call)),
          plan_(std::move(plan)),
          exchange_(plan_->next_instance(call_form::persistent)) {
        ++call_.on->num_persistent;
    }
    ~exchange_with_request() {
        if (plan_) --call_.on->num_persistent;
    }
    exchange_with_request(const exchange_with_request&) = delete;
    exchange_with_request& operator=(const exchange_with_request&) = delete;

    template <class Receive>
    MPI_Request make_request(Receive&& function) {
        return request_.receive_by(function);
    }

    bool is_active() const { return is_active_; }

    // What fails is told as if the exchange had failed later.
    void start() {
        is_active_ = true;
        try {
            // Of a persistent request no edge differs from its plan.
            if (!plan_ || edge_messages::verifies()) others_.emplace(call_, exchange_.whole());
            count_planned(call_, exchange_.whole());
            if (plan_ && call_.facts != nullptr) ++call_.facts->num_calls;
            exchange_.start(call_.sends, call_.receives);
            is_along_plan_ = true;
            progress_engine::of_process().watch(*this);
        } catch (...) {
            end(current_code());
        }
    }

    // Blocks until it is complete; a nonblocking call's object is gone then.
    void wait() {
        int code = MPI_SUCCESS;
        try {
            if (std::exchange(is_along_plan_, false)) exchange_.wait();
            if (others_) others_->wait();
        } catch (...) {
            code = current_code();
        }
        progress_engine::of_process().forget(*this);
        end(code);
    }

  private:
    bool advance() override {
        int code = MPI_SUCCESS;
        try {
            if (is_along_plan_ && !exchange_.test()) return false;
            is_along_plan_ = false;
            if (others_ && !others_->test()) return false;
        } catch (...) {
            code = current_code();
        }
        end(code);
        return true;
    }

    void end(int code) {
        is_active_ = is_along_plan_ = false;
        auto& all = own_requests::of_process();
        all.complete(request_, *call_.on, code);
        if (plan_) return;
        all.count(request_.handle(), -1);
        const auto self = all.planned.extract(request_.handle());
    }

    neighbor_call call_;
    std::unique_ptr<planned_exchange> plan_;  // of a persistent request
    planned_exchange::instance& exchange_;
    bool is_active_ = false;
    bool is_along_plan_ =
        false;  // afterwards another call may go along it, while messages of edges are under way
    std::optional<edge_messages> others_;
    own_request request_;
};

exchange_with_request* own_requests::find_active(MPI_Request request) const {
    const auto found = planned.find(request);
    return found == planned.end() || !found->second->is_active() ? nullptr : found->second.get();
}

}  // namespace

constinit std::array<std::atomic<int>, 256> num_own_requests{};

int current_code() noexcept {
    try {
        throw;
    } catch (const mpi_error& failure) {
        return failure.mpi_code();
    } catch (...) {
        const auto failure = current_error();
        if (failure.code() == errc::out_of_memory) return MPI_ERR_NO_MEM;
        int code = MPI_ERR_OTHER;
        const auto text = std::string("crossdock: ") + failure.what();
        if (MPI_Add_error_code(MPI_ERR_OTHER, &code) == MPI_SUCCESS)
            MPI_Add_error_string(code, text.substr(0, longest_sentence).c_str());
        return code;
    }
}

bool leaves(graph& on, block_kind kind, call_form form, call_facts* facts) {
    // `start_exchange` has nonblocking calls made on the twin.
    if (form == call_form::nonblocking && on.as_called() != on.twin()) return false;
    if (form == call_form::blocking && !on.has_turn())
        progress_engine::of_process().run_until([&] { return on.has_turn(); });
    const progress_engine::access alone;
    return on.has_turn() && on.leaves(kind, facts);
}

namespace {

// A blocking call that has its turn and a plan, while nothing else is under way.
int exchange_alone(const neighbor_call& call, planned_exchange::instance& one) {
    try {
        edge_messages others(call, one.whole());
        count_planned(call, one.whole());
        one.start(call.sends, call.receives);
        one.wait();
        others.wait();
        return MPI_SUCCESS;
    } catch (...) {
        return current_code();
    }
}

}  // namespace

int exchange(neighbor_call call) {
    bool is_complete = false;
    int result = MPI_SUCCESS;
    {
        const progress_engine::access alone;
        if (progress_engine::of_process().may_block(0)) {
            if (auto* const ready =
                    call.on->find_ready(call.layouts(), call.kind, call_form::blocking))
                return exchange_alone(call, *ready);
        }
        begin(std::move(call), call_form::blocking, [&](const graph&, int code) {
            result = code;
            is_complete = true;
        });
    }
    progress_engine::of_process().run_until([&] { return is_complete; });
    return result;
}

int start_exchange(neighbor_call call, MPI_Request* request) {
    const progress_engine::access alone;
    call.sends.keep_types();
    call.receives.keep_types();
    auto& all = own_requests::of_process();
    if (auto* const ready =
            call.on->find_ready(call.layouts(), call.kind, call_form::nonblocking)) {
        auto made = std::make_unique<exchange_with_request>(std::move(call), *ready);
        *request = made->make_request(MPI_Irecv);
        auto& one = *(all.planned[*request] = std::move(made));
        all.count(*request, 1);
        one.start();
        return MPI_SUCCESS;
    }
    auto made = std::make_unique<own_request>();
    const auto handle = made->receive_by(MPI_Irecv);
    *request = handle;
    all.in_bodies[handle] = std::move(made);
    all.count(handle, 1);
    begin(std::move(call), call_form::nonblocking, [&all, handle](const graph& on, int code) {
        const auto done = all.in_bodies.extract(handle);
        all.count(handle, -1);
        all.complete(*done.mapped(), on, code);
    });
    return MPI_SUCCESS;
}

std::optional<int> make_persistent(neighbor_call call, MPI_Request* request) {
    call.sends.keep_types();
    call.receives.keep_types();
    auto& engine = progress_engine::of_process();
    std::unique_ptr<planned_exchange> plan;
    int code = MPI_SUCCESS;
    bool is_complete = false;
    {
        const progress_engine::access alone;
        const auto turn = std::make_shared<graph::turn>(*call.on);
        engine.start(
            [&, turn] {
                try {
                    turn->wait();
                    plan = call.on->make_plan(call.layouts(), call.kind, call_form::persistent, 1,
                                              call.facts);
                } catch (...) {
                    code = current_code();
                }
                turn->end();
                is_complete = true;
            },
            false);
    }
    engine.run_until([&] { return is_complete; });
    if (code != MPI_SUCCESS) return code;
    if (!plan) return std::nullopt;
    const progress_engine::access alone;
    auto made = std::make_unique<exchange_with_request>(std::move(call), std::move(plan));
    *request = made->make_request(MPI_Recv_init);
    auto& all = own_requests::of_process();
    all.planned[*request] = std::move(made);
    all.count(*request, 1);
    return MPI_SUCCESS;
}

void start_persistent(MPI_Request request) {
    const auto& all = own_requests::of_process();
    if (!may_be_own(request) || progress_engine::is_inside()) return;
    const progress_engine::access alone;
    const auto found = all.planned.find(request);
    if (found != all.planned.end()) found->second->start();
}

void wait_for_own(std::span<const MPI_Request> requests) try {
    const auto& all = own_requests::of_process();
    if (std::ranges::none_of(requests, may_be_own) || progress_engine::is_inside()) return;
    {
        const progress_engine::access alone;
        exchange_with_request* one = nullptr;
        int number = 0;
        for (const auto& request : requests) {
            if (!all.is_under_way(request)) continue;
            one = all.find_active(request);
            ++number;
        }
        if (number == 0) return;
        if (number == 1 && one != nullptr && progress_engine::of_process().may_block(1))
            return one->wait();
    }
    progress_engine::of_process().run_until([&] {
        return std::ranges::none_of(
            requests, [&](const MPI_Request& request) { return all.is_under_way(request); });
    });
} catch (...) {
    // MPI's wait, which the program called, sees to the rest.
}

bool has_failed(std::span<const MPI_Request> requests) {
    if (std::ranges::none_of(requests, may_be_own) || progress_engine::is_inside()) return false;
    const progress_engine::access alone;
    const auto& failed = own_requests::of_process().failed;
    return std::ranges::any_of(
        requests, [&](const MPI_Request& request) { return failed.contains(request); });
}

int take_failure(MPI_Request request, int code) {
    if (progress_engine::is_inside()) return code;
    const progress_engine::access alone;
    auto& all = own_requests::of_process();
    const auto taken = all.failed.extract(request);
    if (!taken) return code;
    all.count(request, -1);
    return code == MPI_SUCCESS ? code : taken.mapped();
}

void forget_persistent(MPI_Request request) {
    auto& all = own_requests::of_process();
    if (!may_be_own(request) || progress_engine::is_inside()) return;
    const progress_engine::access alone;
    const auto found = all.planned.find(request);
    if (found == all.planned.end()) return;
    // One that is active must not be freed; it is kept, since others still send to it.
    if (found->second->is_active()) static_cast<void>(found->second.release());
    all.planned.erase(found);
    all.count(request, -1);
}

bool is_own(MPI_Request request) {
    const auto& all = own_requests::of_process();
    if (!may_be_own(request) || progress_engine::is_inside()) return false;
    const progress_engine::access alone;
    return all.is_under_way(request);
}

}  // namespace crossdock::drop_in

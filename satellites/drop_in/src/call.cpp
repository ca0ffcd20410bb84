#include "call.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/extend.hpp"
#include "own_requests.hpp"

namespace crossdock::drop_in {

namespace {

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

// An exchange by MPI itself, on the twin of the user's communicator. With all ranks, most of which may have nothing for
// each other, by single messages.
class exchange_of_mpi {
  public:
    explicit exchange_of_mpi(const neighbor_call& call)
        : sends_(with_reserve([&] { return alltoallw_arguments(call.sends); })),
          receives_(with_reserve([&] { return alltoallw_arguments(call.receives); })) {
        with_reserve([&] {
            requests_.reserve(1 + call.sends.blocks().size() + call.receives.blocks().size());
        });
        if (!call.on->has_topology()) {
            send_alone(call);
            return;
        }
        CROSSDOCK_MPI(CROSSDOCK_WIDEST(Ineighbor_alltoallw)(
            call.sends.buffer(), sends_.counts.data(), sends_.offsets.data(), sends_.types.data(),
            call.receives.buffer(), receives_.counts.data(), receives_.offsets.data(),
            receives_.types.data(), call.on->twin(), &requests_.emplace_back(MPI_REQUEST_NULL)));
    }

    bool test() {
        int are_complete = 0;
        CROSSDOCK_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(),
                                  &are_complete, MPI_STATUSES_IGNORE));
        return are_complete != 0;
    }

  private:
    // The calls of a communicator send in one order on all ranks.
    void send_alone(const neighbor_call& call) {
        const auto for_each = [&](const call_side& side, const neighbors& all, auto&& start) {
            for (std::size_t i = 0; i < all.ranks.size(); ++i)
                if (side.layout().lengths[i] > 0)
                    start(side.begin_of(i), side.blocks()[i], all.ranks[i],
                          &requests_.emplace_back(MPI_REQUEST_NULL));
        };
        for_each(call.receives, call.on->sources(),
                 [&](void* to, const block& one, rank_t source, MPI_Request* request) {
                     CROSSDOCK_MPI(CROSSDOCK_WIDEST(Irecv)(to, one.count, one.type, source, tag,
                                                           call.on->twin(), request));
                 });
        for_each(call.sends, call.on->destinations(),
                 [&](const void* from, const block& one, rank_t destination, MPI_Request* request) {
                     CROSSDOCK_MPI(CROSSDOCK_WIDEST(Isend)(from, one.count, one.type, destination,
                                                           tag, call.on->twin(), request));
                 });
    }

    static constexpr int tag = 0;  // as of the messages of single edges
    alltoallw_arguments sends_;
    alltoallw_arguments receives_;
    std::vector<MPI_Request> requests_;
};

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
            if (decided.plan->makes_next(form)) {
                call.on->wait_for_all();
                call.on->begin_set_up();
            }
            one = &decided.plan->next_instance(form);
            engine.end_blocking();
            engine.wait_until([&] { return !one->is_active(); });
            others.emplace(call, *decided.plan);
            call.count_along(*decided.plan);
            one->start(call.sends, call.receives, others->failure());
        }
    } catch (...) {
        failure = std::current_exception();
    }
    finish_turn();
    if (by_mpi) return engine.wait_until([&] { return by_mpi->test(); });
    if (!others) std::rethrow_exception(failure);
    try {
        if (failure) std::rethrow_exception(failure);
        engine.wait_until([&] { return one->test(); });
    } catch (...) {
        others->fail(std::current_exception());
    }
    engine.wait_until([&] { return others->test(); });
}

// Begins a call that is not persistent. `complete` takes its code when it is complete.
template <class Complete>
void begin(neighbor_call call, call_form form, Complete complete) {
    struct state {
        neighbor_call call;
        std::optional<graph::turn> turn;
    };
    const auto kept = with_reserve([&] { return std::make_shared<state>(std::move(call)); });
    kept->turn.emplace(*kept->call.on);
    const auto body = [kept, form, complete] {
        int code = MPI_SUCCESS;
        try {
            exchange_in_turn(kept->call, *kept->turn, form);
        } catch (...) {
            code = current_code();
        }
        kept->turn->end();
        complete(*kept->call.on, code);
    };
    progress_engine::of_process().start(body, form == call_form::nonblocking);
}

}  // namespace

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
        try {
            call.count_along(one.whole());
            one.start(call.sends, call.receives, others.failure());
            one.wait();
        } catch (...) {
            others.fail(std::current_exception());
        }
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
        auto made = with_reserve(
            [&] { return std::make_unique<exchange_with_request>(std::move(call), *ready); });
        *request = made->make_request(MPI_Irecv);
        auto& one =
            *(with_reserve([&]() -> auto& { return all.planned[*request]; }) = std::move(made));
        all.count(*request, 1);
        one.start();
        return MPI_SUCCESS;
    }
    auto made = with_reserve([] { return std::make_unique<own_request>(); });
    const auto handle = made->receive_by(MPI_Irecv);
    *request = handle;
    with_reserve([&]() -> auto& { return all.in_bodies[handle]; }) = std::move(made);
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
        const auto turn = with_reserve([&] { return std::make_shared<graph::turn>(*call.on); });
        const auto body = [&, turn] {
            try {
                turn->wait();
                plan = call.on->make_plan(call.layouts(), call.kind, call_form::persistent, 1,
                                          call.facts);
            } catch (...) {
                code = current_code();
            }
            turn->end();
            is_complete = true;
        };
        engine.start(body, false);
    }
    engine.run_until([&] { return is_complete; });
    if (code != MPI_SUCCESS) return code;
    if (!plan) return std::nullopt;
    const progress_engine::access alone;
    auto made = with_reserve(
        [&] { return std::make_unique<exchange_with_request>(std::move(call), std::move(plan)); });
    *request = made->make_request(MPI_Recv_init);
    auto& all = own_requests::of_process();
    with_reserve([&]() -> auto& { return all.planned[*request]; }) = std::move(made);
    all.count(*request, 1);
    return MPI_SUCCESS;
}

}  // namespace crossdock::drop_in

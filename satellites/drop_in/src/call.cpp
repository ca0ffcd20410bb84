#include "call.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "call_without_plan.hpp"
#include "crossdock/extend.hpp"
#include "own_requests.hpp"
#include "planned_call.hpp"

namespace crossdock::drop_in {

namespace {

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
    std::optional<call_without_plan> by_mpi;
    std::optional<planned_call> by_plan;
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
            auto& one = decided.plan->next_instance(form);
            engine.end_blocking();
            engine.wait_until([&] { return !one.is_active(); });
            by_plan.emplace(call, one).start();
            call.count_along(*decided.plan);
        }
    } catch (...) {
        failure = std::current_exception();
    }
    finish_turn();
    if (by_mpi) return engine.wait_until([&] { return by_mpi->test(); });
    if (!by_plan) std::rethrow_exception(failure);
    engine.wait_until([&] { return by_plan->test(); });
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
    if (on.exchanges_by_messages(form)) return false;
    if (form == call_form::blocking && !on.has_turn())
        progress_engine::of_process().run_until([&] { return on.has_turn(); });
    const progress_engine::access alone;
    return on.has_turn() && on.leaves(kind, facts);
}

int code_of_null_types() {
    static const int code = [] {
        const int no_count = 0, no_place = 0;
        const MPI_Datatype no_type = MPI_DATATYPE_NULL;
        char none = 0;
        return PMPI_Alltoallw(&none, &no_count, &no_place, &no_type, &none, &no_count, &no_place,
                              &no_type, own_request::messages());
    }();
    return code;
}

neighbor_call copy_of(const neighbor_call& call) {
    std::vector<std::byte> bytes;
    const auto copy = [&](const call_side& side, bool is_given) {
        std::vector<block> blocks;
        for (std::size_t i = 0; i < side.blocks().size(); ++i) {
            const auto length = side.layout().lengths[i];
            blocks.push_back({std::ssize(bytes), checked_cast<value_count>(length), MPI_BYTE});
            if (is_given) std::ranges::copy(side.read(i, length), std::back_inserter(bytes));
            bytes.resize(static_cast<std::size_t>(blocks.back().offset + length));
        }
        return blocks;
    };
    auto sends = copy(call.sends, true), receives = copy(call.receives, false);
    auto* const begin = bytes.data();
    return {call.on,
            {begin, std::move(sends), false},
            {begin, std::move(receives), false},
            call.kind,
            call.facts,
            std::move(bytes)};
}

namespace {

// A blocking call that has its turn and a plan, while nothing else is under way.
int exchange_alone(const neighbor_call& call, planned_exchange::instance& one) {
    try {
        call.count_along(one.whole());
        planned_call by_plan(call, one);
        by_plan.start();
        by_plan.wait();
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
                if (!plan && !call.on->has_all_ranks()) call.on->twin();
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

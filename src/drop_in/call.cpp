#include "call.hpp"

#include <string>
#include <unordered_map>
#include <utility>

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

    std::vector<int> counts;
    std::vector<MPI_Aint> offsets;
    std::vector<MPI_Datatype> types;
};

// Exchanges by MPI itself, on the twin of the user's communicator.
class exchange_of_mpi {
  public:
    explicit exchange_of_mpi(const neighbor_call& call)
        : sends_(call.sends), receives_(call.receives) {}

    void start(const neighbor_call& call) {
        CROSSDOCK_MPI(PMPI_Ineighbor_alltoallw(
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

void exchange_in_turn(neighbor_call& call, graph::turn& turn) {
    auto& engine = progress_engine::of_process();
    turn.wait();
    auto* const plan = call.on->find_plan(call.layout());
    if (plan == nullptr) {
        engine.end_blocking();
        exchange_of_mpi by_mpi(call);
        by_mpi.start(call);
        turn.end();
        return engine.wait_until([&] { return by_mpi.test(); });
    }
    auto& one = plan->next_instance();
    engine.end_blocking();
    engine.wait_until([&] { return !one.is_active(); });
    call.sends.pack();
    plan->start(one, call.sends.bytes(), call.receives.bytes());
    turn.end();
    engine.wait_until([&] { return one.test(); });
    call.receives.unpack();
}

// The body of a call that is not persistent. `complete` takes the code.
template <class Complete>
std::function<void()> body_of(neighbor_call call, Complete complete) {
    struct state {
        neighbor_call call;
        graph::turn turn;
    };
    graph::turn turn(*call.on);
    const auto kept = std::make_shared<state>(std::move(call), std::move(turn));
    return [kept, complete] {
        int code = MPI_SUCCESS;
        try {
            exchange_in_turn(kept->call, kept->turn);
        } catch (...) {
            code = current_code();
        }
        kept->turn.end();
        complete(code);
    };
}

// The request of an exchange that is not persistent: one that MPI calls generalized.
struct generalized_request {
    MPI_Request handle = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;

    static int query(void* state, MPI_Status* status) {
        status->MPI_SOURCE = MPI_UNDEFINED;
        status->MPI_TAG = MPI_UNDEFINED;
        MPI_Status_set_cancelled(status, 0);
        MPI_Status_set_elements(status, MPI_BYTE, 0);
        return static_cast<generalized_request*>(state)->code;
    }
    static int free(void* state) {
        delete static_cast<generalized_request*>(state);
        return MPI_SUCCESS;
    }
    static int cancel(void*, int) { return MPI_ERR_REQUEST; }
};

// The communicator on which a rank tells itself that a persistent exchange is complete.
MPI_Comm own_messages() {
    static const MPI_Comm comm = [] {
        MPI_Comm made = MPI_COMM_NULL;
        CROSSDOCK_MPI(MPI_Comm_dup(MPI_COMM_SELF, &made));
        CROSSDOCK_MPI(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
        return made;
    }();
    return comm;
}

// The user's request is a persistent receive from this rank itself. When the exchange is complete, the rank sends the
// message that completes it, so that whatever MPI does with requests works with this one too.
class persistent_exchange final : private watched {
  public:
    persistent_exchange(neighbor_call call, std::unique_ptr<planned_exchange> plan)
        : call_(std::move(call)), plan_(std::move(plan)), exchange_(plan_->next_instance()) {
        if (free_tags().empty()) free_tags().push_back(next_tag_++);
        tag_ = free_tags().back();
        free_tags().pop_back();
    }
    ~persistent_exchange() { free_tags().push_back(tag_); }

    int tag() const noexcept { return tag_; }

    /// Frees the plan.
    void release() { plan_.reset(); }

    void start() {
        const progress_engine::pause alone;
        call_.sends.pack();
        plan_->start(exchange_, call_.sends.bytes(), call_.receives.bytes());
        progress_engine::of_process().watch(*this);
    }

  private:
    bool advance() override {
        try {
            if (!exchange_.test()) return false;
            call_.receives.unpack();
        } catch (...) {
            PMPI_Comm_call_errhandler(MPI_COMM_SELF, current_code());
        }
        complete();
        return true;
    }

    static std::vector<int>& free_tags() {
        static auto& tags = *new std::vector<int>;
        return tags;
    }
    static inline int next_tag_ = 0;

    void complete() const { PMPI_Send(nullptr, 0, MPI_BYTE, 0, tag_, own_messages()); }

    neighbor_call call_;
    std::unique_ptr<planned_exchange> plan_;
    neighbor_exchange& exchange_;
    int tag_ = 0;
};

std::unordered_map<MPI_Request, std::unique_ptr<persistent_exchange>>& persistent_exchanges() {
    static auto& all = *new std::unordered_map<MPI_Request, std::unique_ptr<persistent_exchange>>;
    return all;
}

}  // namespace

int current_code() noexcept {
    try {
        throw;
    } catch (const mpi_error& failure) {
        return failure.mpi_code();
    } catch (...) {
        const auto failure = current_error();
        if (failure.code() == errc::out_of_memory) return MPI_ERR_NO_MEM;
        if (failure.code() == errc::count_mismatch) return MPI_ERR_TRUNCATE;
        int code = MPI_ERR_OTHER;
        const auto text = std::string("crossdock: ") + failure.what();
        if (MPI_Add_error_code(MPI_ERR_OTHER, &code) == MPI_SUCCESS)
            MPI_Add_error_string(code, text.substr(0, longest_sentence).c_str());
        return code;
    }
}

int exchange(neighbor_call call) {
    auto& engine = progress_engine::of_process();
    bool is_complete = false;
    int result = MPI_SUCCESS;
    engine.start(body_of(std::move(call), [&](int code) {
        result = code;
        is_complete = true;
    }));
    engine.run_until([&] { return is_complete; });
    return result;
}

int start_exchange(neighbor_call call, MPI_Request* request) {
    call.sends.keep_types();
    call.receives.keep_types();
    auto* const state = new generalized_request;
    CROSSDOCK_MPI(MPI_Grequest_start(generalized_request::query, generalized_request::free,
                                     generalized_request::cancel, state, &state->handle));
    *request = state->handle;
    progress_engine::of_process().start(body_of(std::move(call), [state](int code) {
        state->code = code;
        MPI_Grequest_complete(state->handle);
    }));
    return MPI_SUCCESS;
}

int make_persistent(neighbor_call call, MPI_Request* request, const std::function<int()>& by_mpi) {
    call.sends.keep_types();
    call.receives.keep_types();
    auto& engine = progress_engine::of_process();
    std::unique_ptr<planned_exchange> plan;
    int code = MPI_SUCCESS;
    bool is_complete = false;
    graph::turn turn(*call.on);
    engine.start([&] {
        try {
            turn.wait();
            const auto layout = call.layout();
            plan = call.on->make_plan(layout, call.on->agree_on_alignment(layout), 1);
        } catch (...) {
            code = current_code();
        }
        is_complete = true;
    });
    engine.run_until([&] { return is_complete; });
    turn.end();
    if (!plan) return code;
    if (!plan->is_faster()) return by_mpi();
    auto made = std::make_unique<persistent_exchange>(std::move(call), std::move(plan));
    CROSSDOCK_MPI(MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, made->tag(), own_messages(), request));
    persistent_exchanges()[*request] = std::move(made);
    return MPI_SUCCESS;
}

bool has_persistent() noexcept { return !persistent_exchanges().empty(); }

int start_persistent(MPI_Request request) {
    const auto& all = persistent_exchanges();
    if (all.empty()) return MPI_SUCCESS;
    const auto found = all.find(request);
    if (found == all.end()) return MPI_SUCCESS;
    try {
        found->second->start();
    } catch (...) {
        return current_code();
    }
    return MPI_SUCCESS;
}

void forget_persistent(MPI_Request request) {
    auto& all = persistent_exchanges();
    if (all.empty()) return;
    const auto found = all.find(request);
    if (found == all.end()) return;
    // It frees requests of its own, which come here, too.
    const auto forgotten = std::move(found->second);
    all.erase(found);
    const progress_engine::pause alone;
    forgotten->release();
}

}  // namespace crossdock::drop_in

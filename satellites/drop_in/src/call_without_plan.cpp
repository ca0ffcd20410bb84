#include "call_without_plan.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "basics.hpp"
#include "crossdock/extend.hpp"

namespace crossdock::drop_in {

call_without_plan::call_without_plan(const neighbor_call& call)
    : call_(&call), along_(call.on->next_messages()) {
    try {
        prepare();
    } catch (...) {
        call.on->end_messages(along_);
        throw;
    }
    compare_own();
    start();
}

// MPI may still read or write what it was given.
call_without_plan::~call_without_plan() {
    const auto is_open = [](const message& one) { return one.request != MPI_REQUEST_NULL; };
    if (std::ranges::any_of(messages_, is_open))
        static_cast<void>(new (std::nothrow) std::vector<message>(std::move(messages_)));
    call_->on->end_messages(along_);
}

// Nothing fails here once MPI has a request.
void call_without_plan::prepare() {
    const auto add = [&](const call_side& side, bool is_sent) {
        const auto& lengths = side.layout().lengths;
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            if (!call_->on->has_topology() && lengths[i] == 0) continue;
            messages_.push_back({i, side.values_of(i), {}});
            if (side.copies() == nullptr) continue;
            auto& one = messages_.back();
            if (is_sent)
                one.copy = side.read(i, lengths[i]);
            else
                one.copy.resize(static_cast<std::size_t>(lengths[i]));
            one.values = {one.copy.data(), checked_cast<value_count>(lengths[i]), MPI_BYTE};
        }
    };
    with_reserve([&] {
        messages_.clear();
        add(call_->receives, false);
        num_received_ = messages_.size();
        add(call_->sends, true);
    });
}

// Open MPI 4.1 does not say of a rank's message to itself that it was too long. Such a one is sent empty.
void call_without_plan::compare_own() noexcept {
    const auto self = call_->on->where().rank();
    const auto& sources = call_->on->sources().ranks;
    const auto& destinations = call_->on->destinations().ranks;
    for (std::size_t i = 0, sent = num_received_; i < num_received_; ++i) {
        if (sources[messages_[i].block] != self) continue;
        while (sent < messages_.size() && destinations[messages_[sent].block] != self) ++sent;
        if (sent == messages_.size()) return;
        if (call_->sends.layout().lengths[messages_[sent].block] >
            call_->receives.layout().lengths[messages_[i].block]) {
            messages_[sent].values.count = 0;
            note(MPI_ERR_TRUNCATE);
        }
        ++sent;
    }
}

// One that MPI refuses does not keep the others from their partners.
void call_without_plan::start() noexcept {
    const auto begin = [&](auto function, const neighbors& all, message& one) {
        note(function(one.values.at, one.values.count, one.values.type, all.ranks[one.block],
                      along_.tag, along_.comm, &one.request));
    };
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        if (i < num_received_)
            begin(CROSSDOCK_WIDEST(Irecv), call_->on->sources(), messages_[i]);
        else
            begin(CROSSDOCK_WIDEST(Isend), call_->on->destinations(), messages_[i]);
    }
}

bool call_without_plan::test() {
    for (; num_complete_ < messages_.size(); ++num_complete_) {
        auto& one = messages_[num_complete_];
        if (one.request == MPI_REQUEST_NULL) continue;
        MPI_Status status;
        int is_complete = 0;
        const int code = PMPI_Test(&one.request, &is_complete, &status);
        note(code);
        if (code != MPI_SUCCESS) continue;
        if (!is_complete) {
            progress_engine::of_process().count_test();
            return false;
        }
        if (num_complete_ < num_received_ && !one.copy.empty()) end(one, status);
    }
    if (failure_) std::rethrow_exception(failure_);
    return true;
}

// What has come to memory of a device.
void call_without_plan::end(const message& one, const MPI_Status& status) noexcept {
    try {
        MPI_Count num_bytes = 0;
        CROSSDOCK_MPI(PMPI_Get_elements_x(&status, MPI_BYTE, &num_bytes));
        call_->receives.write(one.block, one.copy.data(), num_bytes);
    } catch (...) {
        if (!failure_) failure_ = std::current_exception();
    }
}

// Only the first failure is told.
void call_without_plan::note(int code) noexcept {
    if (code != MPI_SUCCESS && !failure_) failure_ = exception_of(code);
}

}  // namespace crossdock::drop_in

#include "edge_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace crossdock::drop_in {

namespace {

// Calls `start` with each block that is not as long as planned, where it lies or is copied to.
template <class Copied, class Start>
void for_each_different(const call_side& side, const side_layout& planned, const neighbors& all,
                        const Copied& copied, Start&& start) {
    const auto& lengths = side.layout().lengths;
    if (lengths == planned.lengths) return;
    for (std::size_t i = 0; i < lengths.size(); ++i)
        if (lengths[i] != planned.lengths[i] && lengths[i] > 0)
            start(copied ? copied->bytes + copied->layout.offsets[i] : side.begin_of(i),
                  side.blocks()[i], all.ranks[i]);
}

std::vector<std::byte> bytes_of(const call_side& side, std::size_t i) {
    const auto& one = side.blocks()[i];
    std::vector<std::byte> packed(static_cast<std::size_t>(side.layout().lengths[i]));
    if (packed.empty()) return packed;
    if (side.copies() != nullptr) {
        host_room room;
        const std::vector<count_t> none(side.blocks().size());
        side_layout alone{none, none};
        alone.lengths[i] = side.layout().lengths[i];
        auto* const bytes = room.make(packed.size(), side.copies());
        side.pack(alone, bytes);
        return {bytes, bytes + packed.size()};
    }
    value_count position = 0;
    CROSSDOCK_MPI(CROSSDOCK_WIDEST(Pack)(side.begin_of(i), one.count, one.type, packed.data(),
                                         checked_cast<value_count>(std::ssize(packed)), &position,
                                         MPI_COMM_SELF));
    return packed;
}

value_count size_of(const std::vector<std::byte>& bytes) {
    return checked_cast<value_count>(std::ssize(bytes));
}

}  // namespace

bool edge_messages::verifies() {
    static const bool is_asked_for = std::getenv("CROSSDOCK_VERIFY") != nullptr;
    return is_asked_for;
}

edge_messages::edge_messages(const neighbor_call& call, const planned_exchange& plan) noexcept
    : call_(&call) {
    const auto& [sends, receives] = plan.layout();
    try {
        lent_.received = room_for(call.receives, receives, call.receives.copies());
        pack(sends);
    } catch (...) {
        failure_ = std::current_exception();
    }
    try {
        // What comes here is taken all the same, or the next call would take it.
        if (failure_ && !lent_.received)
            lent_.received = room_for(call.receives, receives, nullptr);
        post_receives(plan);
        post_sends(plan);
    } catch (...) {
        fail(std::current_exception());
        abandon();
    }
}

edge_messages::~edge_messages() { abandon(); }

auto edge_messages::room_for(const call_side& side, const side_layout& planned,
                             const device_copies* copies) -> std::unique_ptr<copied_blocks> {
    const auto& lengths = side.layout().lengths;
    if (side.copies() == nullptr || lengths == planned.lengths) return nullptr;
    auto made = std::make_unique<copied_blocks>();
    count_t end = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        made->layout.lengths.push_back(lengths[i] != planned.lengths[i] ? lengths[i] : 0);
        made->layout.offsets.push_back(side.is_shared() ? 0 : end);
        end += made->layout.lengths[i];
    }
    const auto num_bytes = static_cast<std::size_t>(made->layout.num_bytes());
    made->bytes = made->room.make(num_bytes, copies);
    return made;
}

void edge_messages::pack(const side_layout& planned) {
    const auto& side = call_->sends;
    lent_.sent = room_for(side, planned, side.copies());
    if (lent_.sent) side.pack(lent_.sent->layout, lent_.sent->bytes);
    if (!verifies()) return;
    for (std::size_t i = 0; i < side.blocks().size(); ++i)
        lent_.sent_again.push_back(bytes_of(side, i));
}

// Empty ones are not received, nor sent, so that an empty message tells of a failure.
void edge_messages::post_receives(const planned_exchange& plan) {
    const auto& planned = plan.layout().receives;
    const auto& side = call_->receives;
    const auto edges = call_->on->edges();
    for_each_different(side, planned, call_->on->sources(), lent_.received,
                       [&](void* to, const block& one, rank_t source) {
                           sources_.push_back(source);
                           CROSSDOCK_MPI(CROSSDOCK_WIDEST(Irecv)(to, one.count, one.type, source,
                                                                 edges.tag, edges.comm, &added()));
                       });
    if (!verifies()) return;
    for (std::size_t i = 0; i < side.blocks().size(); ++i) {
        auto& bytes =
            lent_.received_again.emplace_back(static_cast<std::size_t>(side.layout().lengths[i]));
        if (bytes.empty()) continue;
        sources_.push_back(call_->on->sources().ranks[i]);
        CROSSDOCK_MPI(CROSSDOCK_WIDEST(Irecv)(bytes.data(), size_of(bytes), MPI_BYTE,
                                              sources_.back(), plan.tag(), plan.comm(), &added()));
    }
}

void edge_messages::post_sends(const planned_exchange& plan) {
    const auto& planned = plan.layout().sends;
    const auto& side = call_->sends;
    const auto edges = call_->on->edges();
    for_each_different(
        side, planned, call_->on->destinations(), lent_.sent,
        [&](const void* from, const block& one, rank_t destination) {
            CROSSDOCK_MPI(CROSSDOCK_WIDEST(Isend)(from, failure_ ? 0 : one.count, one.type,
                                                  destination, edges.tag, edges.comm, &added()));
        });
    if (!verifies()) return;
    lent_.sent_again.resize(side.blocks().size());
    for (std::size_t i = 0; i < lent_.sent_again.size(); ++i) {
        if (side.layout().lengths[i] == 0) continue;
        const auto& bytes = lent_.sent_again[i];
        CROSSDOCK_MPI(CROSSDOCK_WIDEST(Isend)(bytes.data(), failure_ ? 0 : size_of(bytes), MPI_BYTE,
                                              call_->on->destinations().ranks[i], plan.tag(),
                                              plan.comm(), &added()));
    }
}

void edge_messages::fail(std::exception_ptr why) noexcept {
    if (!failure_) failure_ = std::move(why);
    try {
        std::rethrow_exception(failure_);
    } catch (const error& fault) {
        const auto is_any = [&](auto... codes) { return ((fault.code() == codes) || ...); };
        if (is_any(errc::timeout, errc::rank_failed, errc::mpi_failure)) abandon();
    } catch (...) {  // other ranks go on
    }
}

// MPI may still write to what it was given.
void edge_messages::abandon() noexcept {
    const auto is_active = [](MPI_Request one) { return one != MPI_REQUEST_NULL; };
    if (std::ranges::any_of(requests_, is_active))
        static_cast<void>(new (std::nothrow) lent_memory(std::move(lent_)));
    requests_.clear();
}

void edge_messages::wait() {
    if (requests_.empty()) return finish();
    statuses_.resize(requests_.size());
    CROSSDOCK_MPI(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data()));
    finish();
}

bool edge_messages::test() {
    if (requests_.empty()) {
        finish();
        return true;
    }
    statuses_.resize(requests_.size());
    int are_complete = 0;
    CROSSDOCK_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_complete,
                              statuses_.data()));
    if (are_complete) finish();
    return are_complete != 0;
}

void edge_messages::finish() const {
    if (failure_) std::rethrow_exception(failure_);
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        int num_bytes = 0;
        CROSSDOCK_MPI(MPI_Get_count(&statuses_[i], MPI_BYTE, &num_bytes));
        if (num_bytes == 0)
            throw error(errc::peer_failed,
                        fmt::format("rank {} could not send its block; it has the reason in its "
                                    "own error",
                                    sources_[i]),
                        sources_[i]);
    }
    if (lent_.received) call_->receives.unpack(lent_.received->layout, lent_.received->bytes);
    check();
}

void edge_messages::check() const {
    for (std::size_t i = 0; i < lent_.received_again.size(); ++i) {
        const auto& expected = lent_.received_again[i];
        const auto got = bytes_of(call_->receives, i);
        const auto [at, other] = std::ranges::mismatch(got, expected);
        if (at == got.end()) continue;
        throw error(errc::internal,
                    fmt::format("rank {}: byte {} of block {}, from rank {}, is {:#04x} by the "
                                "route and {:#04x} by MPI",
                                call_->on->where().rank(), at - got.begin(), i,
                                call_->on->sources().ranks[i], std::to_integer<int>(*at),
                                std::to_integer<int>(*other)));
    }
}

}  // namespace crossdock::drop_in

#include "edge_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace crossdock::drop_in {

namespace {

constexpr int different_edge_tag = 0;

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

}  // namespace

bool edge_messages::verifies() {
    static const bool is_asked_for = std::getenv("CROSSDOCK_VERIFY") != nullptr;
    return is_asked_for;
}

edge_messages::edge_messages(const neighbor_call& call, const planned_exchange& plan)
    : call_(&call) {
    const auto& planned = plan.layout();
    received_ = room_for(call.receives, planned.receives);
    sent_ = room_for(call.sends, planned.sends);
    if (sent_) call.sends.pack(sent_->layout, sent_->bytes);
    for_each_different(
        call.receives, planned.receives, call.on->sources(), received_,
        [&](void* to, const block& one, rank_t source) {
            CROSSDOCK_MPI(CROSSDOCK_WIDEST(Irecv)(to, one.count, one.type, source,
                                                  different_edge_tag, call.on->twin(), &added()));
        });
    for_each_different(
        call.sends, planned.sends, call.on->destinations(), sent_,
        [&](const void* from, const block& one, rank_t destination) {
            CROSSDOCK_MPI(CROSSDOCK_WIDEST(Isend)(from, one.count, one.type, destination,
                                                  different_edge_tag, call.on->twin(), &added()));
        });
    if (verifies()) send_again(call, different_edge_tag + 1 + plan.number());
}

auto edge_messages::room_for(const call_side& side, const side_layout& planned)
    -> std::unique_ptr<copied_blocks> {
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
    made->bytes = made->room.make(num_bytes, side.copies());
    return made;
}

void edge_messages::send_again(const neighbor_call& call, int tag) {
    const auto size_of = [](const std::vector<std::byte>& bytes) {
        return checked_cast<value_count>(std::ssize(bytes));
    };
    const auto& sources = call.on->sources().ranks;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto length = static_cast<std::size_t>(call.receives.layout().lengths[i]);
        auto& bytes = received_again_.emplace_back(length);
        CROSSDOCK_MPI(CROSSDOCK_WIDEST(Irecv)(bytes.data(), size_of(bytes), MPI_BYTE, sources[i],
                                              tag, call.on->twin(), &added()));
    }
    const auto& destinations = call.on->destinations().ranks;
    for (std::size_t i = 0; i < destinations.size(); ++i) {
        const auto& bytes = sent_again_.emplace_back(bytes_of(call.sends, i));
        CROSSDOCK_MPI(CROSSDOCK_WIDEST(Isend)(bytes.data(), size_of(bytes), MPI_BYTE,
                                              destinations[i], tag, call.on->twin(), &added()));
    }
}

void edge_messages::wait() {
    if (requests_.empty()) return;
    CROSSDOCK_MPI(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    finish();
}

bool edge_messages::test() {
    if (requests_.empty()) return true;
    int are_complete = 0;
    CROSSDOCK_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &are_complete,
                              MPI_STATUSES_IGNORE));
    if (are_complete) finish();
    return are_complete != 0;
}

void edge_messages::finish() const {
    if (received_) call_->receives.unpack(received_->layout, received_->bytes);
    check();
}

void edge_messages::check() const {
    for (std::size_t i = 0; i < received_again_.size(); ++i) {
        const auto& expected = received_again_[i];
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

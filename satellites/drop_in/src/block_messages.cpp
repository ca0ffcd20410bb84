#include "block_messages.hpp"

#include <algorithm>
#include <utility>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock::drop_in {

message_beside& block_messages::add(messages_beside& to, const neighbors& all, std::size_t i,
                                    const tagged_comm& along, bool is_again) const {
    const message_place where{along.comm, all.ranks[i], along.tag + (is_again ? 1 : 0)};
    return *with_reserve([&]() -> auto& {
        return to.emplace_back(std::make_unique<message_beside>(where, i, is_again));
    });
}

void block_messages::send_all() {
    for (const auto& one : sent_)
        one->send(one->packed.empty() ? call_->sends.values_of(one->block())
                                      : one->packed_values());
}

bool block_messages::test_messages() {
    std::erase_if(sent_, [&](const auto& one) {
        try {
            return one->is_sent();
        } catch (...) {
            note(std::current_exception());
            return true;
        }
    });
    if (!received_.empty()) take_received();
    if (!sent_.empty() || !received_.empty()) return false;
    if (failure_) std::rethrow_exception(failure_);
    return true;
}

void block_messages::note_truncation() noexcept {
    note(std::make_exception_ptr(mpi_error(MPI_ERR_TRUNCATE, "MPI_Neighbor_alltoallw")));
}

// Of several from one rank, only the first that has not been found is looked for.
void block_messages::take_received() {
    std::vector<message_place> awaited;
    std::erase_if(received_, [&](const auto& one) {
        const auto is_same = [&](const message_place& other) {
            return other.peer == one->where().peer && other.tag == one->where().tag;
        };
        if (!one->is_found() && std::ranges::any_of(awaited, is_same)) return false;
        try {
            if (one->has_come([&](count_t num_bytes) { return memory_for(*one, num_bytes); })) {
                end(*one);
                return true;
            }
        } catch (...) {
            note(std::current_exception());
            return true;
        }
        if (!one->is_found()) append_with_reserve(awaited, one->where());
        return false;
    });
}

// What is too long for its block comes to memory of its own.
typed_values block_messages::memory_for(message_beside& one, count_t num_bytes) const {
    const auto& side = call_->receives;
    const bool is_too_long = num_bytes > side.layout().lengths[one.block()];
    if (!one.is_again() && side.copies() == nullptr && !is_too_long)
        return side.values_of(one.block());
    resize_with_reserve(one.packed, static_cast<std::size_t>(num_bytes));
    return one.packed_values();
}

void block_messages::end(const message_beside& one) {
    const auto& side = call_->receives;
    const bool is_too_long = one.num_bytes() > side.layout().lengths[one.block()];
    if (one.is_again())
        compare(one);
    else if (is_too_long)
        note_truncation();
    else if (side.copies() != nullptr)
        side.write(one.block(), one.packed.data(), one.num_bytes());
}

void block_messages::note(std::exception_ptr why) noexcept {
    if (!failure_) failure_ = std::move(why);
}

}  // namespace crossdock::drop_in

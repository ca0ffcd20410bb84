#include "planned_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "basics.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/extend.hpp"

namespace crossdock::drop_in {

namespace {

// Of calls that have failed. Their plans keep the messages.
std::vector<std::weak_ptr<messages_beside>>& all_strays() {
    static auto& all = *new std::vector<std::weak_ptr<messages_beside>>;
    return all;
}

void take_strays() {
    std::erase_if(all_strays(), [](const auto& kept) {
        const auto some = kept.lock();
        if (!some) return true;
        std::erase_if(*some, [](const auto& one) {
            try {
                return one->has_come([&](count_t num_bytes) {
                    resize_with_reserve(one->packed, static_cast<std::size_t>(num_bytes));
                    return one->packed_values();
                });
            } catch (...) {
                return true;  // nobody waits for it
            }
        });
        return some->empty();
    });
}

}  // namespace

bool planned_call::verifies() {
    static const bool is_asked_for = std::getenv("CROSSDOCK_VERIFY") != nullptr;
    return is_asked_for;
}

planned_call::planned_call(const neighbor_call& call, planned_exchange::instance& along,
                           sides_as_planned are) noexcept
    : call_(&call), along_(&along), are_(are) {
    try {
        along.give(call.sends, are.sends);
        if (verifies() || !along.sent_alone().empty()) pack();
    } catch (...) {
        failure_ = std::current_exception();
    }
}

void planned_call::pack() {
    const auto& side = call_->sends;
    const auto& lengths = side.layout().lengths;
    const auto& alone = along_->sent_alone();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const bool is_again = !std::ranges::binary_search(alone, i);
        if (is_again && (!verifies() || lengths[i] == 0)) continue;
        auto& one = add(sent_, call_->on->destinations(), i, is_again);
        if (is_again || side.copies() != nullptr)
            one.packed = with_reserve([&] { return side.read(i, lengths[i]); });
    }
}

void planned_call::start() noexcept {
    try {
        along_->start(call_->receives, are_.receives, failure_);
        is_along_ = true;
        for (const auto& one : sent_)
            one->send(one->packed.empty() ? call_->sends.values_of(one->block())
                                          : one->packed_values());
    } catch (...) {
        if (is_along_) return note(std::current_exception());
        sent_.clear();
        fail(std::current_exception());
    }
}

// Those of one rank come in order.
void planned_call::receive() {
    const auto& planned = along_->whole().layout().receives.lengths;
    const auto& alone = along_->received_alone();
    if (alone.empty() && !verifies()) return;
    for (std::size_t i = 0; i < planned.size(); ++i) {
        const bool is_again = !std::ranges::binary_search(alone, i);
        if (is_again && (!verifies() || planned[i] == 0)) continue;
        add(received_, call_->on->sources(), i, is_again);
    }
}

void planned_call::wait() {
    bool is_complete = end_by([this] {
        if (all_strays().empty()) {
            along_->wait();
            return true;
        }
        return along_->test();
    });
    for (; !is_complete; is_complete = test()) pause_wait();
}

bool planned_call::test() {
    return end_by([this] { return along_->test(); });
}

template <class End>
bool planned_call::end_by(End&& end_exchange) {
    if (!all_strays().empty()) take_strays();
    if (is_along_) {
        try {
            if (!end_exchange()) return false;
            is_along_ = false;
            if (along_->has_truncated()) note_truncation();
            receive();
        } catch (...) {
            is_along_ = false;
            fail(std::current_exception());
        }
    }
    return test_messages();
}

// What the plan has brought with what came again. A block that is too short for it was not filled.
void planned_call::compare(const message_beside& one) const {
    const auto& side = call_->receives;
    if (side.layout().lengths[one.block()] < one.num_bytes()) return;
    const auto got = side.read(one.block(), one.num_bytes());
    const auto [at, other] =
        std::mismatch(one.packed.begin(), one.packed.end(), got.begin(), got.end());
    if (at == one.packed.end()) return;
    throw error(
        errc::internal,
        fmt::format("rank {}: byte {} of block {}, from rank {}, is {:#04x} by the route "
                    "and {:#04x} by MPI",
                    call_->on->where().rank(), at - one.packed.begin(), one.block(),
                    one.where().peer, std::to_integer<int>(*other), std::to_integer<int>(*at)));
}

// The other ranks go on. What may never come is not waited for.
void planned_call::fail(std::exception_ptr why) noexcept {
    note(std::move(why));
    received_.clear();
    try {
        std::rethrow_exception(failure_);
    } catch (const error& fault) {
        const auto is_any = [&](auto... codes) { return ((fault.code() == codes) || ...); };
        if (is_any(errc::timeout, errc::rank_failed, errc::mpi_failure)) sent_.clear();
    } catch (...) {
    }
    try {
        keep_strays();
    } catch (...) {
        // A message for this call is then taken for one of a later call.
    }
}

void planned_call::keep_strays() {
    if (!along_->whole().may_differ() && !verifies()) return;
    const auto all = with_reserve([] { return std::make_shared<messages_beside>(); });
    const auto& sources = call_->on->sources();
    for (std::size_t i = 0; i < sources.ranks.size(); ++i) {
        add(*all, sources, i, false);
        if (verifies()) add(*all, sources, i, true);
    }
    append_with_reserve(all_strays(), all);
    along_->keep_strays(all);
}

message_beside& planned_call::add(messages_beside& to, const neighbors& all, std::size_t i,
                                  bool is_again) const {
    const auto [comm, tag] = along_->beside();
    const message_place where{comm, all.ranks[i], tag + (is_again ? 1 : 0)};
    return *with_reserve([&]() -> auto& {
        return to.emplace_back(std::make_unique<message_beside>(where, i, is_again));
    });
}

// Whether all that go beside the plan are complete. Throws `failure_` then, if there is one.
bool planned_call::test_messages() {
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

// A block has less room than was sent.
void planned_call::note_truncation() noexcept { note(exception_of(MPI_ERR_TRUNCATE)); }

// Of several from one rank, only the first that has not been found is looked for.
void planned_call::take_received() {
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
typed_values planned_call::memory_for(message_beside& one, count_t num_bytes) const {
    const auto& side = call_->receives;
    const bool is_too_long = num_bytes > side.layout().lengths[one.block()];
    if (!one.is_again() && side.copies() == nullptr && !is_too_long)
        return side.values_of(one.block());
    resize_with_reserve(one.packed, static_cast<std::size_t>(num_bytes));
    return one.packed_values();
}

void planned_call::end(const message_beside& one) {
    const auto& side = call_->receives;
    const bool is_too_long = one.num_bytes() > side.layout().lengths[one.block()];
    if (one.is_again())
        compare(one);
    else if (is_too_long)
        note_truncation();
    else if (side.copies() != nullptr)
        side.write(one.block(), one.packed.data(), one.num_bytes());
}

// Only the first failure is told.
void planned_call::note(std::exception_ptr why) noexcept {
    if (!failure_) failure_ = std::move(why);
}

}  // namespace crossdock::drop_in

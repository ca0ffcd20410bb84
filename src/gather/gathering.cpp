#include "gathering.hpp"

#include <cstring>
#include <utility>

#include "../base/rank_fault_mpi.hpp"
#include "../neighbor/report_part.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

// What a rank sends in reverse is what it receives forward.
traffic reverse_traffic(const topology& regions, const plan& p) {
    traffic sum;
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.receives) {
            const bool is_inter_region =
                regions.region_of(message.source) != regions.region_of(p.rank());
            sum += {1, message.num_items, is_inter_region ? 1 : 0,
                    is_inter_region ? message.num_items : 0};
        }
    }
    return sum;
}

// From where a list leads to where it comes from.
void copy_back(std::byte* items, const copy_list& list, std::size_t item_bytes) {
    const auto copy = piece_copy_for(item_bytes);
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        copy(items, items, to_piece, from_piece, item_bytes);
    });
}

// Copies `bytes` of every item, where items lie apart by these steps.
void copy_in_steps(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
                   std::size_t bytes, const copy_list& list) {
    if (to_step == bytes && from_step == bytes) return copy_items(to, from, list, bytes);
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        from_piece.with_lookup([&](auto from_index) {
            to_piece.with_lookup([&](auto to_index) {
                for (count_t k = 0; k < to_piece.size; ++k)
                    std::memcpy(to + static_cast<std::size_t>(to_index(k)) * to_step,
                                from + static_cast<std::size_t>(from_index(k)) * from_step, bytes);
            });
        });
    });
}

// Calls `use` with every array and the place in an item where its values begin.
template <class Use>
void for_each_array(const value_arrays& values, Use&& use) {
    const std::size_t bytes = static_cast<std::size_t>(values.per_id) * values.value_bytes;
    for (std::size_t a = 0; a < values.arrays.size(); ++a) use(values.arrays[a], a * bytes, bytes);
}

// Combines the copies that give in the work array, of items of `values.item_bytes()`.
void gather_places(const value_arrays& values, const place_lists& lists, std::byte* work) {
    for_each_array(values, [&](const std::byte* array, std::size_t begin, std::size_t bytes) {
        copy_in_steps(work + begin, values.item_bytes(), array, bytes, bytes, lists.first);
        values.combine(work + begin, values.width(), array, {values.per_id, values.per_id},
                       lists.more);
    });
}

// Copies results to their places.
void scatter_places(const value_arrays& values, const copy_list& results, const std::byte* work) {
    for_each_array(values, [&](std::byte* array, std::size_t begin, std::size_t bytes) {
        copy_in_steps(array, bytes, work + begin, values.item_bytes(), bytes, results);
    });
}

}  // namespace

traffic gathering::statistics() const {
    traffic sum;
    if (plans_.to_holders) sum += total_traffic(where_.topology(), *plans_.to_holders);
    if (plans_.by_owners && plans_.to_unflagged)
        sum += reverse_traffic(where_.topology(), *plans_.to_unflagged);
    return sum;
}

gathering::exchanges gathering::make_exchanges(std::size_t item_bytes) const {
    exchanges made;
    auto options = options_;
    options.item_bytes = item_bytes;
    options.prepare = plans_.by_owners ? preparation::both : preparation::forward;
    const neighbor_exchange::report_part part{whole_};
    if (plans_.to_holders)
        made.to_holders = neighbor_exchange(where_, plans_.to_holders, options, part);
    if (plans_.to_unflagged && plans_.to_unflagged != plans_.to_holders)
        made.separate_to_unflagged = neighbor_exchange(where_, plans_.to_unflagged, options, part);
    return made;
}

void gathering::prepare(std::size_t item_bytes) {
    const bool is_new = !exchanges_;
    if (is_new) exchanges_ = make_exchanges(item_bytes);
    // So that neither a second half nor what is timed has to. What is used forward alone is ready when it is new.
    for (auto* const one : {&exchanges_->to_holders, &exchanges_->separate_to_unflagged}) {
        if (!*one) continue;
        if (!is_new) (*one)->prepare_at_start(item_bytes);
        if (is_new && plans_.by_owners) (*one)->prepare(item_bytes);
    }
    if (!plans_.by_owners)
        resize_with_reserve(other_values_,
                            static_cast<std::size_t>(lists_->num_other_values) * item_bytes);
}

std::size_t gathering::find_size(std::size_t item_bytes) {
    auto* const one = exchange_to_holders() ? exchange_to_holders() : exchange_to_unflagged();
    return one ? one->find_size(item_bytes) : item_bytes;
}

neighbor_exchange* gathering::exchange_to_holders() {
    auto& one = exchanges_->to_holders;
    return one ? &*one : nullptr;
}

neighbor_exchange* gathering::exchange_to_unflagged() {
    if (!plans_.to_unflagged) return nullptr;
    auto& separate = exchanges_->separate_to_unflagged;
    return separate ? &*separate : exchange_to_holders();
}

// Flagged copies that do not give must not be combined into, nor those that do not get be changed.
bool gathering::is_in_place() const {
    return values_.arrays.size() == 1 && !lists_->own_transposed;
}

combine_function gathering::combine_items() const {
    return with_reserve([&] {
        return combine_function([combine = values_.combine, width = values_.width()](
                                    std::byte* to, const std::byte* from, const copy_list& list) {
            combine(to, width, from, {width, width}, list);
        });
    });
}

// Puts what this rank gives where it is sent from.
void gathering::gather() {
    const auto num_bytes = static_cast<std::size_t>(lists_->num_ids) * values_.item_bytes();
    if (is_in_place()) {
        items_ = {values_.arrays[0], num_bytes};
        return combine_items()(items_.data(), items_.data(), lists_->normal.more);
    }
    resize_with_reserve(work_, num_bytes);
    items_ = work_;
    gather_places(values_, lists_->places(transposed_), work_.data());
}

bool gathering::start(value_arrays values, std::size_t item_bytes, bool knows_size, bool transposed,
                      std::exception_ptr fault) {
    values_ = std::move(values);
    item_bytes_ = item_bytes;
    knows_size_ = knows_size;
    transposed_ = transposed;
    fault_ = nullptr;
    up_ = down_ = nullptr;
    try {
        if (fault) std::rethrow_exception(fault);
        gather();
    } catch (...) {
        fail();
    }
    if (plans_.by_owners) {
        up_ = transposed ? exchange_to_holders() : exchange_to_unflagged();
        down_ = transposed ? exchange_to_unflagged() : exchange_to_holders();
    } else {
        down_ = exchange_to_holders();
    }
    if (!up_) {
        start_down();
        return false;
    }
    start_up();
    if (up_) return down_ != nullptr;
    start_down();
    return false;
}

void gathering::start_empty(neighbor_exchange& half, bool is_reverse) {
    half.start_empty(is_reverse, knows_size_ ? item_bytes_ : 0, failed_);
}

// If a half cannot start, its exchange takes part with nothing by itself, and this rank in what comes after it.
void gathering::start_up() {
    if (fault_) return start_empty(*up_, true);
    try {
        up_->start_reverse_bytes(items_, items_, item_bytes_, combine_items());
    } catch (...) {
        fail();
        up_ = nullptr;
    }
}

// No rank both sends and gets the value of an id, so that items and slots may be one array.
void gathering::start_down() {
    if (!down_) return;
    if (fault_) return start_empty(*down_, false);
    const std::span slots(plans_.by_owners ? items_ : std::span(other_values_));
    try {
        down_->start_bytes(items_, slots, item_bytes_);
    } catch (...) {
        fail();
        down_ = nullptr;
    }
}

// Within a catch: from now on this rank gives nothing. The first fault is kept.
void gathering::fail() {
    if (fault_) return;
    const error what = current_error_of(where_.rank());
    failed_ = what.code() == errc::peer_failed ? what.rank() : where_.rank();
    fault_ = std::current_exception();
}

// Whether an exchange is over. One that has failed is, and others shall hear of it in the next.
bool gathering::completes(neighbor_exchange& one, bool waits) {
    try {
        if (!waits) return one.test();
        one.wait();
    } catch (...) {
        if (one.is_active()) throw;
        fail();
    }
    return true;
}

bool gathering::advance() {
    if (!up_) return true;
    if (!completes(*up_, false)) return false;
    up_ = nullptr;
    start_down();
    return true;
}

bool gathering::test() {
    if (!advance() || (down_ && !completes(*down_, false))) return false;
    finish();
    return true;
}

void gathering::wait() {
    if (up_) {
        completes(*up_, true);
        up_ = nullptr;
        start_down();
    }
    if (down_) completes(*down_, true);
    finish();
}

void gathering::merge_holders() {
    auto* const slots = other_values_.data();
    const auto combine = combine_items();
    combine(slots, slots, lists_->others_before);
    combine(slots, items_.data(), lists_->own_value);
    combine(slots, slots, lists_->others_after);
    combine(items_.data(), slots, lists_->others_after_own);
    copy_items(items_.data(), slots, lists_->merged, values_.item_bytes());
}

void gathering::finish() {
    if (fault_) std::rethrow_exception(fault_);
    if (!plans_.by_owners) merge_holders();
    if (is_in_place()) return copy_back(items_.data(), lists_->normal.more, values_.item_bytes());
    scatter_places(values_, lists_->places(transposed_).results, items_.data());
}

}  // namespace crossdock

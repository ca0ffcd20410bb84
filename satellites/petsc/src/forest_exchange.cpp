#include "forest_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

namespace crossdock {

namespace {

// PETSc hands out pointers to where index 0 would be, which may lie outside of any array.
std::byte* place(const void* index_0, count_t index, std::size_t item_bytes) {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(index_0) +
                                        static_cast<std::uintptr_t>(index) * item_bytes);
}

std::span<std::byte> values(const void* first, count_t num, std::size_t item_bytes) {
    return {place(first, 0, item_bytes), static_cast<std::size_t>(num) * item_bytes};
}

std::span<std::byte> room(std::vector<std::byte>& buffer, count_t num, std::size_t item_bytes) {
    buffer.resize(static_cast<std::size_t>(num) * item_bytes);
    return buffer;
}

std::vector<count_t> count_up(std::size_t end) {
    std::vector<count_t> numbers(end);
    std::iota(numbers.begin(), numbers.end(), count_t{0});
    return numbers;
}

}  // namespace

forest_exchange::forest_exchange(const context& where, leaf_edges leaves, root_edges roots,
                                 forest_options options)
    : where_(where),
      leaves_(std::move(leaves)),
      roots_(std::move(roots)),
      options_(std::move(options)) {
    if (!roots_.roots.empty()) num_roots_ = std::ranges::max(roots_.roots) + 1;
    number_slots();
}

void forest_exchange::number_slots() {
    const auto& places = leaves_.leaves;
    if (!places.empty()) {
        const auto [first, last] = std::ranges::minmax(places);
        first_leaf_ = first;
        num_places_ = last - first + 1;
    }
    std::vector<bool> is_filled(static_cast<std::size_t>(num_places_));
    for (const count_t leaf : places) {
        slots_.push_back(leaf - first_leaf_);
        auto filled = is_filled[static_cast<std::size_t>(slots_.back())];
        slots_are_places_ = slots_are_places_ && !filled;
        filled = true;
    }
    if (!slots_are_places_) slots_ = count_up(places.size());
    num_slots_ = slots_are_places_ ? num_places_ : static_cast<count_t>(places.size());
    for (std::size_t e = 0; e < places.size(); ++e) {
        places_to_slots_.append(places[e] - first_leaf_, slots_[e]);
        slots_to_places_.append(slots_[e], places[e] - first_leaf_);
    }
}

pattern forest_exchange::pattern_to(direction to) const {
    const neighbor_list by_slot{leaves_.ranks, leaves_.offsets, slots_};
    if (to == direction::to_leaves) {
        return {where_.rank(),
                where_.num_ranks(),
                num_roots_,
                num_slots_,
                {roots_.ranks, roots_.offsets, roots_.roots},
                by_slot};
    }
    return {where_.rank(), where_.num_ranks(),
            num_slots_,    roots_.offsets.back(),
            by_slot,       {roots_.ranks, roots_.offsets, count_up(roots_.roots.size())}};
}

// The first in the list: so all ranks take the same, whichever of several they finished last.
forest_exchange::active& forest_exchange::idle_one(const operation& what,
                                                   std::optional<std::string>& explained) {
    const active* twin = nullptr;
    for (auto& one : known_) {
        if (one.what_.to != what.to) continue;
        if (!one.is_busy_ && one.what_.item_bytes == what.item_bytes) return one;
        twin = &one;
    }
    if (twin) return known_.emplace_back(active(*this, twin->exchange_.duplicate()));
    neighbor_options options;
    options.route = options_.route;
    options.executor = options_.executor;
    options.item_bytes = what.item_bytes;
    options.prepare = preparation::lazy;
    options.name = "star forests";
    auto& made =
        known_.emplace_back(active(*this, neighbor_exchange(where_, pattern_to(what.to), options)));
    explained = made.exchange_.explain();
    return made;
}

bool forest_exchange::overlaps(const operation& what) const noexcept {
    const auto roots = values(what.roots, num_roots_, what.item_bytes);
    const auto leaves =
        values(place(what.leaves, first_leaf_, what.item_bytes), num_places_, what.item_bytes);
    return std::less<>()(roots.data(), leaves.data() + leaves.size()) &&
           std::less<>()(leaves.data(), roots.data() + roots.size());
}

std::optional<std::string> forest_exchange::start(const operation& what, bool replaces) {
    std::optional<std::string> explained;
    auto& chosen = idle_one(what, explained);
    chosen.start(what, replaces && slots_are_places_ && !overlaps(what));
    started_.push_back(&chosen);
    return explained;
}

void forest_exchange::fail_start(const operation& what, const error& why) {
    std::optional<std::string> explained;
    auto& chosen = idle_one(what, explained);
    chosen.what_ = what;
    chosen.is_busy_ = true;
    chosen.failed_ = why;
    chosen.exchange_.fail_start(false, what.item_bytes, why);
    started_.push_back(&chosen);
}

forest_exchange::active& forest_exchange::take(const operation& what) {
    const auto found =
        std::ranges::find_if(started_, [&](const active* one) { return one->what_ == what; });
    if (found == started_.end()) {
        throw error(errc::invalid_state,
                    "no operation with these arguments is active; call its Begin first");
    }
    active& result = **found;
    started_.erase(found);
    return result;
}

std::span<std::byte> forest_exchange::active::slot_room() {
    return room(slots_, forest_->num_slots_, what_.item_bytes);
}

void forest_exchange::active::start(const operation& what, bool is_in_place) {
    const auto& forest = *forest_;
    const std::size_t size = what.item_bytes;
    std::byte* const leaves = place(what.leaves, forest.first_leaf_, size);
    what_ = what;
    is_in_place_ = is_in_place;
    is_busy_ = true;
    failed_.reset();
    if (what.to == direction::to_leaves) {
        exchange_.start_bytes(values(what.roots, forest.num_roots_, size),
                              is_in_place ? values(leaves, forest.num_slots_, size) : slot_room(),
                              size);
        return;
    }
    auto items = values(leaves, forest.num_slots_, size);
    if (!forest.slots_are_places_) {
        items = slot_room();
        copy_items(items.data(), leaves, forest.places_to_slots_, size);
    }
    exchange_.start_bytes(items, room(edges_, forest.roots_.offsets.back(), size), size);
}

// What fails is over as well: the ranks on which it did not fail use this object for the next operation.
void forest_exchange::active::wait(bool comes_back) {
    try {
        if (failed_) throw *failed_;
        exchange_.wait();
    } catch (...) {
        if (comes_back && !exchange_.is_active())
            exchange_.fail_start(true, what_.item_bytes, current_error());
        release();
        throw;
    }
}

std::byte* forest_exchange::active::finish(bool comes_back) {
    wait(comes_back);
    if (what_.to == direction::to_roots) return edges_.data();
    return is_in_place_ ? nullptr : slots_.data();
}

void forest_exchange::active::send_back(const std::byte* by_edge, void* leaves) {
    const auto& forest = *forest_;
    const std::size_t size = what_.item_bytes;
    std::byte* const places = place(leaves, forest.first_leaf_, size);
    const auto items =
        forest.slots_are_places_ ? values(places, forest.num_slots_, size) : slot_room();
    // Every leaf has one edge.
    const auto take = [size](std::byte* to, const std::byte* from, const copy_list& list) {
        copy_items(to, from, list, size);
    };
    exchange_.start_reverse_bytes(values(by_edge, forest.roots_.offsets.back(), size), items, size,
                                  take);
    wait(false);
    if (!forest.slots_are_places_) {
        copy_items(places, items.data(), forest.slots_to_places_, size);
    }
}

}  // namespace crossdock

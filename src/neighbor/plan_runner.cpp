#include "plan_runner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace crossdock {

namespace {

// At least 1.
count_t longest_message(const plan& p) {
    count_t longest = 1;
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends)
            longest = std::max(longest, static_cast<count_t>(message.positions.size()));
        for (const auto& message : stage.receives) longest = std::max(longest, message.num_items);
    }
    return longest;
}

}  // namespace

plan_runner::plan_runner(const context& where, std::shared_ptr<const plan> compiled,
                         const neighbor_options& options)
    : where_(where),
      plan_(std::move(compiled)),
      options_(options),
      kind_(&find_executor(where.comm(), options.executor)) {
    const int num_tags =
        (options_.stripe_bytes > 0 ? 2 : 1) * static_cast<int>(plan_->stages().size());
    tags_ = comm().reserve_tags(2 * num_tags);
    forward_.first_tag = tags_.first();
    backward_.first_tag = forward_.first_tag + num_tags;
    if (kind_->memory == memory_use::none) return;
    auto& memories = comm().resource<node_memories>();
    const auto& found = memories.of(comm(), where_.nodes());
    if (found->domain().is_shared()) memory_ = found;
    if (options_.stripe_bytes > 0) domains_ = memories.domains(comm(), *found);
}

plan_runner::~plan_runner() {
    for (const auto* const one : {&forward_, &backward_})
        if (one->is_active()) keep_tags();
}

std::unique_ptr<plan_runner> plan_runner::twin() const {
    auto made = std::make_unique<plan_runner>(where_, plan_, options_);
    const auto share_work = [](direction_state& to, const direction_state& from) {
        for (const auto& one : from.sizes) to.sizes.push_back({one.item_bytes, one.kind, one.work});
        // The ranks may be at different exchanges that were ready, and drop the same sizes later.
        std::ranges::sort(to.sizes, {}, &sized_runner::item_bytes);
    };
    share_work(made->forward_, forward_);
    share_work(made->backward_, backward_);
    return made;
}

// Puts the size at the end, if it is there.
void plan_runner::direction_state::find(std::size_t item_bytes) {
    const auto found = std::ranges::find(sizes, item_bytes, &sized_runner::item_bytes);
    if (found != sizes.end()) std::rotate(found, found + 1, sizes.end());
}

// Puts the size at the end, in the place of the one that was not used for longest if there are many.
void plan_runner::direction_state::make_room(std::size_t item_bytes) {
    find(item_bytes);
    if (!sizes.empty() && sizes.back().item_bytes == item_bytes) return;
    if (sizes.size() == most_sizes) sizes.erase(sizes.begin());
    sizes.push_back({item_bytes});
}

void plan_runner::make_ready(bool forward, bool reverse, std::size_t item_bytes) {
    std::vector<direction_state*> wanted;
    if (forward && !forward_.has_ready(item_bytes)) wanted.push_back(&forward_);
    if (reverse && !backward_.has_ready(item_bytes)) wanted.push_back(&backward_);
    if (wanted.empty()) return;
    for (auto* const one : wanted) one->make_room(item_bytes);
    const auto make = [&](const std::shared_ptr<node_memory>& with) {
        for (auto* const one : wanted) one->sizes.back().runner.reset();
        make_runners(wanted, with, item_bytes);
    };
    if (must_share()) {
        try {
            return on_all_or_none(comm(), [&] { make(memory_); });
        } catch (...) {
            // Ready on some ranks alone, it would be made again by the others alone.
            for (auto* const one : wanted) one->sizes.back().runner.reset();
            throw;
        }
    }
    try {
        make(memory_);
    } catch (const error& failure) {
        if (failure.code() != errc::out_of_memory || !memory_) throw;
        make(nullptr);
    }
}

count_t plan_runner::max_part_items(std::size_t item_bytes) const {
    const std::size_t most = std::numeric_limits<int>::max();
    return static_cast<count_t>(
        std::clamp<std::size_t>(options_.max_message_bytes / item_bytes, 1, most));
}

count_t plan_runner::items_per_stripe(std::size_t item_bytes) const {
    return static_cast<count_t>(std::max<std::size_t>(options_.stripe_bytes / item_bytes, 1));
}

void plan_runner::make_runners(const std::vector<direction_state*>& wanted,
                               const std::shared_ptr<node_memory>& with, std::size_t item_bytes) {
    // Ranks that share memory cut messages of each other.
    const count_t max_items = with ? max_part_items(item_bytes)
                                   : std::min(max_part_items(item_bytes), longest_message(*plan_));
    const schedule_kind kind{max_items, domains_ ? items_per_stripe(item_bytes) : 0,
                             with != nullptr};
    std::vector<sized_runner*> without_work;
    std::vector<direction> ways;
    for (auto* const one : wanted) {
        auto& made = one->sizes.back();
        const auto same = std::ranges::find_if(one->sizes, [&](const sized_runner& other) {
            return other.work && other.kind == kind;
        });
        if (same != one->sizes.end()) {
            made.work = same->work;
            made.kind = kind;
            continue;
        }
        without_work.push_back(&made);
        ways.push_back(one->to);
    }
    if (!ways.empty()) {
        std::optional<stripe_rule> stripes;
        if (domains_) stripes.emplace(*domains_, kind.items_per_stripe);
        auto schedules =
            build_schedules_mpi(*plan_, ways, with.get(), max_items, stripes ? &*stripes : nullptr);
        for (std::size_t k = 0; k < ways.size(); ++k) {
            without_work[k]->work = std::move(schedules[k]);
            without_work[k]->kind = kind;
        }
    }
    for (auto* const one : wanted) {
        auto& made = one->sizes.back();
        made.runner = kind_->make({comm(), made.work, with, one->first_tag, item_bytes});
    }
}

}  // namespace crossdock

#include "plan_runner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace crossdock {

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
        if (one->runner && one->runner->is_active()) keep_tags();
}

std::unique_ptr<plan_runner> plan_runner::twin() const {
    auto made = std::make_unique<plan_runner>(where_, plan_, options_);
    const auto share_work = [](direction_state& to, const direction_state& from) {
        to.work = from.work;
        to.kind = from.kind;
    };
    share_work(made->forward_, forward_);
    share_work(made->backward_, backward_);
    return made;
}

void plan_runner::prepare(preparation what, std::size_t item_bytes) {
    if (what == preparation::lazy) return;
    std::vector<direction_state*> wanted{&forward_};
    if (what == preparation::both && prepares_together()) wanted.push_back(&backward_);
    std::erase_if(wanted, [&](const auto* one) { return is_ready(*one, item_bytes); });
    if (!wanted.empty()) make_ready(wanted, item_bytes);
}

void plan_runner::make_ready(const std::vector<direction_state*>& wanted, std::size_t item_bytes) {
    const auto make = [&](const std::shared_ptr<node_memory>& with) {
        for (auto* const one : wanted) one->runner.reset();
        make_runners(wanted, with, item_bytes);
    };
    if (must_share()) {
        try {
            return on_all_or_none(comm(), [&] { make(memory_); });
        } catch (...) {
            // Ready on some ranks alone, it would be made again by the others alone.
            for (auto* const one : wanted) one->runner.reset();
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
    const count_t max_items = max_part_items(item_bytes);
    const schedule_kind kind{max_items, domains_ ? items_per_stripe(item_bytes) : 0,
                             with != nullptr};
    std::vector<direction_state*> without_work;
    std::vector<direction> ways;
    for (auto* const one : wanted) {
        if (one->work && one->kind == kind) continue;
        without_work.push_back(one);
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
        one->runner = kind_->make({comm(), one->work, with, one->first_tag, item_bytes});
        one->item_bytes = item_bytes;
    }
}

}  // namespace crossdock

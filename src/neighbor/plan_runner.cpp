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
    forward_.first_tag = comm().reserve_tags(2 * num_tags);
    backward_.first_tag = forward_.first_tag + num_tags;
    if (kind_->memory == memory_use::none) return;
    auto& memories = comm().resource<node_memories>();
    const auto& found = memories.of(comm(), where_.nodes());
    if (found->domain().is_shared()) memory_ = found;
    if (options_.stripe_bytes > 0) domains_ = memories.domains(comm(), *found);
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
    prepare(direction::forward, item_bytes);
    if (what == preparation::both) prepare(direction::reverse, item_bytes);
}

void plan_runner::make_ready(direction_state& one, std::size_t item_bytes) {
    one.runner.reset();
    if (must_share()) return on_all_or_none(comm(), [&] { make_runner(one, memory_, item_bytes); });
    try {
        make_runner(one, memory_, item_bytes);
    } catch (const error& failure) {
        if (failure.code() != errc::out_of_memory || !memory_) throw;
        make_runner(one, nullptr, item_bytes);
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

void plan_runner::make_runner(direction_state& one, std::shared_ptr<node_memory> with,
                              std::size_t item_bytes) {
    const count_t max_items = max_part_items(item_bytes);
    const schedule_kind kind{max_items, domains_ ? items_per_stripe(item_bytes) : 0,
                             with != nullptr};
    if (!one.work || one.kind != kind) {
        std::optional<stripe_rule> stripes;
        if (domains_) stripes.emplace(*domains_, kind.items_per_stripe);
        one.work = build_schedule_mpi(*plan_, one.to, with.get(), max_items,
                                      stripes ? &*stripes : nullptr);
        one.kind = kind;
    }
    one.runner = kind_->make({comm(), one.work, std::move(with), one.first_tag, item_bytes});
    one.item_bytes = item_bytes;
}

}  // namespace crossdock

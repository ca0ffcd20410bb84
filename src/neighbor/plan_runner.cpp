#include "plan_runner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace crossdock {

plan_runner::plan_runner(const communicator& comm, std::shared_ptr<const plan> compiled,
                         const neighbor_options& options)
    : comm_(comm),
      plan_(std::move(compiled)),
      options_(options),
      kind_(&find_executor(to_string(options.executor))) {
    const int num_tags =
        (options_.stripe_bytes > 0 ? 2 : 1) * static_cast<int>(plan_->stages().size());
    forward_.first_tag = comm_.reserve_tags(2 * num_tags);
    backward_.first_tag = forward_.first_tag + num_tags;
    if (kind_->memory == memory_use::none) return;
    auto& memories = comm_.resource<node_memories>();
    const auto& asked = memories.environment_choice();
    if (options_.executor == executor_kind::automatic && !asked.empty())
        kind_ = &find_executor(asked);
    if (kind_->memory == memory_use::none) return;
    const auto& found = memories.of(comm_, options_.nodes);
    if (found->domain().is_shared()) memory_ = found;
    if (options_.stripe_bytes > 0) domains_ = memories.domains(comm_, *found);
}

std::unique_ptr<plan_runner> plan_runner::twin() const {
    auto made = std::make_unique<plan_runner>(comm_, plan_, options_);
    const auto share_work = [](direction_state& to, const direction_state& from) {
        to.work = from.work;
        to.kind = from.kind;
    };
    share_work(made->forward_, forward_);
    share_work(made->backward_, backward_);
    return made;
}

void plan_runner::prepare() {
    prepare(direction::forward, options_.item_bytes);
    if (options_.prepare_reverse) prepare(direction::reverse, options_.item_bytes);
}

void plan_runner::make_ready(direction_state& one, std::size_t item_bytes) {
    one.runner.reset();
    if (must_share()) return on_all_or_none(comm_, [&] { make_runner(one, memory_, item_bytes); });
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
    one.runner = kind_->make({comm_, one.work, std::move(with), one.first_tag, item_bytes});
    one.item_bytes = item_bytes;
}

}  // namespace crossdock

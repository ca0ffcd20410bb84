#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "crossdock/schedule.hpp"
#include "operation_pricer.hpp"

namespace crossdock {

namespace {

// Writes what a rank does in its plan, operation by operation; the tag of a message is its stage.
// @tparam Into  a `schedule`, or what takes operations in place of one
// @tparam keeps_order  whether it is told what an operation requires
template <class Into, bool keeps_order>
class schedule_filler {
  public:
    schedule_filler(const rank_layout& layout, const plan& p, const travel_options& options,
                    Into& into)
        : layout_(layout), plan_(p), options_(options), into_(into) {}

    void write() {
        into_.begin_rank();
        for (std::size_t t = 0; t < plan_.stages().size(); ++t) {
            // Receives of later stages are posted at the start as well: they require nothing.
            for (const auto& message : plan_.stages()[t].sends)
                add_send(message, static_cast<int>(t));
            for (const auto& message : plan_.stages()[t].receives)
                add_receive(message, static_cast<int>(t));
        }
        const auto own = count_deliveries(0, plan_.num_items());
        if (own > 0) into_.add(copy_of(operation_kind::copy, own));
    }

  private:
    struct arrival {
        count_t first_position;
        std::uint32_t number;
    };

    operation copy_of(operation_kind kind, count_t num_items) const {
        operation what;
        what.kind = kind;
        what.copied_bytes = num_items * options_.item_bytes;
        what.copied_items = num_items;
        return what;
    }

    operation message_of(operation what, rank_t peer, int stage, count_t num_items) const {
        what.peer = peer;
        what.tag = stage;
        what.message_bytes = num_items * options_.item_bytes;
        what.is_hand_over = options_.hands_over(layout_.level_of(plan_.rank(), peer));
        return what;
    }

    void add_send(const outgoing_message& message, int stage) {
        const auto num_items = static_cast<count_t>(message.positions.size());
        if constexpr (keeps_order) find_required(message);
        into_.add(message_of(copy_of(operation_kind::send, num_items), message.destination, stage,
                             num_items),
                  required_);
    }

    void find_required(const outgoing_message& message) {
        required_.clear();
        for (const count_t position : message.positions) {
            if (position >= plan_.num_items()) required_.push_back(arrival_of(position));
        }
        std::sort(required_.begin(), required_.end());
        required_.erase(std::unique(required_.begin(), required_.end()), required_.end());
    }

    void add_receive(const incoming_message& message, int stage) {
        const auto delivered = count_deliveries(message.first_position, message.num_items);
        const auto number = into_.add(message_of(copy_of(operation_kind::receive, delivered),
                                                 message.source, stage, message.num_items));
        if constexpr (keeps_order) arrivals_.push_back({message.first_position, number});
    }

    std::uint32_t arrival_of(count_t position) const {
        const auto next = std::upper_bound(
            arrivals_.begin(), arrivals_.end(), position,
            [](count_t value, const arrival& a) { return value < a.first_position; });
        return std::prev(next)->number;
    }

    count_t count_deliveries(count_t first_position, count_t num_positions) const {
        const auto& all = plan_.deliveries();
        const auto before = [](const delivery& d, count_t position) {
            return d.position < position;
        };
        const auto first = std::lower_bound(all.begin(), all.end(), first_position, before);
        return std::lower_bound(first, all.end(), first_position + num_positions, before) - first;
    }

    const rank_layout& layout_;
    const plan& plan_;
    const travel_options& options_;
    Into& into_;
    std::vector<arrival> arrivals_;
    std::vector<std::uint32_t> required_;
};

void check_num_plans(const rank_layout& layout, std::span<const plan> plans) {
    if (plans.size() == static_cast<std::size_t>(layout.num_ranks())) return;
    throw error(errc::size_mismatch,
                fmt::format("there are {} plans, but {} ranks", plans.size(), layout.num_ranks()));
}

}  // namespace

schedule schedule_of(const rank_layout& layout, std::span<const plan> plans,
                     const travel_options& options) {
    check_num_plans(layout, plans);
    schedule result;
    for (const auto& p : plans) schedule_filler<schedule, true>(layout, p, options, result).write();
    return result;
}

std::vector<std::vector<stage_price>> price_by_rank(const rank_layout& layout,
                                                    std::span<const plan> plans, const machine& m,
                                                    const travel_options& options) {
    check_num_plans(layout, plans);
    operation_pricer prices(layout, m, plans.front().stages().size());
    for (const auto& p : plans)
        schedule_filler<operation_pricer, false>(layout, p, options, prices).write();
    return prices.prices();
}

plan_price price(const rank_layout& layout, std::span<const plan> plans, const machine& m,
                 const travel_options& options) {
    return summarize(price_by_rank(layout, plans, m, options), m);
}

}  // namespace crossdock

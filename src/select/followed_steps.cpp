#include "followed_steps.hpp"

#include <cmath>
#include <map>

#include "item_groups.hpp"

namespace crossdock {

namespace {

// The steps of a stage, by how far the rank numbers are apart.
class different_steps {
  public:
    explicit different_steps(const rank_layout& layout) : layout_(layout) {}

    void add(const hop& at, count_t num_items) {
        const auto [entry, is_new] =
            steps_.try_emplace(at.to - at.from, step{layout_.level_of(at.from, at.to)});
        entry->second.num_items += num_items;
    }

    template <class Use>
    void for_each(Use&& use) const {
        for (const auto& [distance, one] : steps_) use(one.level, one.num_items);
    }

  private:
    struct step {
        locality_level level;
        count_t num_items = 0;
    };

    const rank_layout& layout_;
    std::map<rank_t, step> steps_;
};

count_t num_moving_items(const neighbor_list& list, const std::vector<hop>& hops) {
    count_t sum = 0;
    for (std::size_t e = 0; e < hops.size(); ++e) {
        if (hops[e].from != hops[e].to) sum += static_cast<count_t>(list[e].size());
    }
    return sum;
}

}  // namespace

std::vector<double> follow_sends(const estimate_frame& frame, const route& r, int num_stages,
                                 stage_loads& loads) {
    const speaker_table none;
    const auto& list = frame.p.sends;
    std::vector<double> kept;
    std::vector<hop> hops(list.size(), {frame.here(), frame.here()});
    for (int t = 0; t < num_stages; ++t) {
        for (std::size_t e = 0; e < hops.size(); ++e)
            hops[e] = {hops[e].to, r.next_hop(hops[e].to, list.ranks[e], t, none)};
        different_steps steps(frame.layout);
        count_t num_sent = 0;
        for (const auto& [at, num_items] :
             group_items(list, frame.p.num_items, frame.options.deduplicate, hops)) {
            if (at.from == at.to) continue;
            steps.add(at, num_items);
            num_sent += num_items;
        }
        const count_t num_asked = num_moving_items(list, hops);
        kept.push_back(
            num_asked == 0 ? 1 : static_cast<double>(num_sent) / static_cast<double>(num_asked));
        steps.for_each(
            [&](locality_level level, count_t num_items) { loads.add_send(t, level, num_items); });
    }
    return kept;
}

void follow_receives(const estimate_frame& frame, const route& r, const std::vector<double>& kept,
                     stage_loads& loads) {
    const speaker_table none;
    const auto& list = frame.p.receives;
    std::vector<rank_t> here = list.ranks;
    for (int t = 0; t < r.num_stages(); ++t) {
        different_steps steps(frame.layout);
        for (std::size_t e = 0; e < here.size(); ++e) {
            const hop at{here[e], r.next_hop(here[e], frame.here(), t, none)};
            if (at.from != at.to) steps.add(at, static_cast<count_t>(list[e].size()));
            here[e] = at.to;
        }
        const double part = kept[static_cast<std::size_t>(t)];
        steps.for_each([&](locality_level level, count_t num_items) {
            loads.add_receive(
                t, level,
                static_cast<count_t>(std::llround(static_cast<double>(num_items) * part)));
        });
    }
    loads.add_deliveries(r.num_stages() - 1);
}

}  // namespace crossdock

#include "satellites/studies/store_and_forward.hpp"

#include <vector>

namespace crossdock::bench {

namespace {

// Submessages that move together.
struct batch {
    count_t submessages = 0;
    count_t items = 0;

    void add(count_t num_items) {
        ++submessages;
        items += num_items;
    }
};

// What one rank sends and receives in a stage, by peer.
struct stage_messages {
    std::map<rank_t, batch> sends;
    std::map<rank_t, batch> receives;
};

struct rank_work {
    batch first;
    std::vector<stage_messages> stages;
    batch last;
};

std::vector<rank_work> work_of(std::span<const pattern> patterns, const route& way) {
    std::vector<rank_work> result(patterns.size());
    for (auto& work : result) work.stages.resize(static_cast<std::size_t>(way.num_stages()));
    const auto of = [&](rank_t rank) -> rank_work& {
        return result[static_cast<std::size_t>(rank)];
    };
    for (const auto& p : patterns) {
        for (std::size_t k = 0; k < p.sends.size(); ++k) {
            const rank_t destination = p.sends.ranks[k];
            const auto num_items = static_cast<count_t>(p.sends[k].size());
            if (destination == p.rank || num_items == 0) continue;
            of(p.rank).first.add(num_items);
            of(destination).last.add(num_items);
            rank_t here = p.rank;
            for (int stage = 0; stage < way.num_stages(); ++stage) {
                const rank_t next = way.next_hop(here, destination, stage, {});
                if (next == here) continue;
                const auto t = static_cast<std::size_t>(stage);
                of(here).stages[t].sends[next].add(num_items);
                of(next).stages[t].receives[here].add(num_items);
                here = next;
            }
        }
    }
    return result;
}

class work_writer {
  public:
    work_writer(const submessage_costs& costs, schedule& into) : costs_(costs), into_(into) {}

    void write(const rank_work& work) {
        into_.begin_rank();
        copy(work.first);
        for (std::size_t t = 0; t < work.stages.size(); ++t)
            communicate(work.stages[t], static_cast<int>(t));
        copy(work.last);
    }

  private:
    operation moving(operation_kind kind, const batch& moved) const {
        operation what;
        what.kind = kind;
        what.copied_bytes =
            moved.items * costs_.item_bytes + moved.submessages * costs_.header_bytes;
        what.copied_items = moved.submessages;
        return what;
    }

    void copy(const batch& moved) {
        if (moved.submessages == 0) return;
        before_ = {into_.add(moving(operation_kind::copy, moved), before_)};
    }

    std::uint32_t message(operation_kind kind, rank_t peer, int tag, const batch& moved) {
        auto what = moving(kind, moved);
        what.peer = peer;
        what.tag = tag;
        what.message_bytes = what.copied_bytes;
        return into_.add(what, before_);
    }

    void communicate(const stage_messages& messages, int tag) {
        std::vector<std::uint32_t> done;
        for (const auto& [destination, moved] : messages.sends)
            done.push_back(message(operation_kind::send, destination, tag, moved));
        for (const auto& [source, moved] : messages.receives)
            done.push_back(message(operation_kind::receive, source, tag, moved));
        if (!done.empty()) before_ = std::move(done);
    }

    const submessage_costs& costs_;
    schedule& into_;
    std::vector<std::uint32_t> before_;
};

}  // namespace

schedule store_and_forward(std::span<const pattern> patterns, const route& way,
                           const submessage_costs& costs) {
    schedule result;
    for (const auto& work : work_of(patterns, way)) work_writer(costs, result).write(work);
    return result;
}

}  // namespace crossdock::bench

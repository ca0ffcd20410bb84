// A model checker for the protocol in shared memory: it searches all states that a few ranks can
// reach, in every order of events. The schedules are real. What `schedule_runner` does with them is
// modelled word by word, so that protocols with a fault can be shown to be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "crossdock/plan.hpp"
#include "support/patterns.hpp"
#include "support/schedules.hpp"

namespace crossdock::schedule_protocol_test {
namespace {

using number = std::uint8_t;

// A slot that someone is writing to, or may write to at any moment.
constexpr number torn = 255;

// Faults that a protocol could have.
enum class flaw {
    none,
    one_half,             // all exchanges use the same slots
    lags_by_three,        // a rank that is three exchanges behind counts as finished
    one_counter,          // a counter counts the fillers of odd and even exchanges together
    acknowledges_early,   // readers say that they have read when they begin
    publishes_early,      // sections and shares count as written when that begins
    ends_before_sends,    // a rank says that it has finished while its parts are under way
    contributes_early,    // a contributor does not wait for the last use of the part
    forgets_the_sender,   // a contributor to a stripe waits for the buffer's rank only
    receives_unasked,     // receives begin while readers may still read
    receives_in_others,   // stripes are received in other buffers before those are receivable
    tests_receives_only,  // a rank that waits for memory only tests its receives
};

// What a rank has begun to do and not ended.
enum doing : number { nothing, running, telling, ending };

enum task_state : number { pending, done };
enum receive_state : number { awaited, posted, arrived, noted };
enum send_state : number { unsent, under_way, copied };

struct rank_state {
    number epoch = 0;
    number is_active = 0;
    number has_posted = 0;
    number is_receivable = 0;
    number doing = nothing;
    number which = 0;  // the task, or the next word to be told at the end
    std::vector<number> tasks, receives, sends;
    std::vector<number> num_delivered;  // by part that is sent

    // Words of its buffer, and its slots, by half.
    number through = 0;
    number receivable = 0;
    std::vector<number> read, sections, counters, slots;
};

struct findings {
    std::size_t num_states = 0;
    bool is_safe = true;  // no slot was read while another exchange's item was there
    bool is_live = true;  // nobody waited forever
};

class model {
  public:
    model(const test::schedules& work, const topology& nodes, number num_exchanges, flaw wrong)
        : work_(work), num_exchanges_(num_exchanges), wrong_(wrong) {
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) domains_.emplace_back(nodes, rank);
        match_parts();
    }

    findings search() {
        visit(first_state());
        while (!open_.empty() && found_.is_safe) {
            now_ = std::move(open_.back());
            open_.pop_back();
            has_next_ = false;
            for (std::size_t r = 0; r < work_.size(); ++r) {
                step(r);
                deliver(r);
            }
            if (!has_next_ && !is_over()) found_.is_live = false;
        }
        found_.num_states = seen_.size();
        return found_;
    }

  private:
    using state = std::vector<rank_state>;

    // The part of another rank that arrives as a receive, and where a part that is sent arrives.
    struct matched_part {
        std::size_t rank;
        std::size_t part;
    };

    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    // The place of a number in an array.
    template <class Index>
    static std::size_t at(Index i) {
        return static_cast<std::size_t>(i.value());
    }
    std::size_t owner(std::size_t r, buffer_number buffer) const {
        return at(domains_[r].rank_at(buffer));
    }

    const schedule_part& receive(std::size_t r, std::size_t i) const {
        return work_[r]->receives[receive_number(static_cast<int>(i))];
    }
    const schedule_part& send(std::size_t r, std::size_t i) const {
        return work_[r]->sends[send_number(static_cast<int>(i))];
    }
    // The first of its receives.
    std::size_t num_section_receives(std::size_t r) const {
        return at(work_[r]->num_section_receives);
    }

    // The k-th receive from a rank with a tag is its k-th send.
    void match_parts() {
        const auto tag = [](const schedule_part& part) { return 2 * part.stage + part.is_stripe; };
        sources_.resize(work_.size());
        for (std::size_t r = 0; r < work_.size(); ++r) {
            std::vector<std::size_t> next(work_.size() * 64);
            for (const auto& part : work_[r]->receives) {
                auto& i = next[at(part.peer) * 64 + at(tag(part))];
                const auto is_match = [&](const schedule_part& sent) {
                    return at(sent.peer) == r && tag(sent) == tag(part);
                };
                while (!is_match(send(at(part.peer), i))) ++i;
                sources_[r].push_back({at(part.peer), i++});
            }
        }
    }

    state first_state() const {
        state first(work_.size());
        for (std::size_t r = 0; r < work_.size(); ++r) {
            const shared_memory_schedule& c = *work_[r];
            auto& s = first[r];
            s.tasks.resize(c.tasks.size());
            s.receives.resize(c.receives.size());
            s.sends.resize(c.sends.size());
            s.num_delivered.resize(c.sends.size());
            s.read.resize(at(c.num_buffers));
            s.sections.resize(at(c.num_sections));
            s.counters.resize(2 * at(c.num_counters));
            s.slots.resize(2 * static_cast<std::size_t>(c.num_slots));
        }
        return first;
    }

    void visit(state next) {
        has_next_ = true;
        std::string key;
        for (const auto& s : next) {
            for (const number one : {s.epoch, s.is_active, s.has_posted, s.is_receivable, s.doing,
                                     s.which, s.through, s.receivable})
                key.push_back(static_cast<char>(one));
            for (const auto* all : {&s.tasks, &s.receives, &s.sends, &s.num_delivered, &s.read,
                                    &s.sections, &s.counters, &s.slots})
                key.append(all->begin(), all->end());
        }
        if (seen_.insert(std::move(key)).second) open_.push_back(std::move(next));
    }

    bool is_over() const {
        return std::all_of(now_.begin(), now_.end(), [&](const rank_state& s) {
            return s.epoch == num_exchanges_ && s.is_active == 0;
        });
    }

    // ---- what a rank looks at

    bool is_finished(std::size_t r, number epoch) const {
        const int lag = wrong_ == flaw::lags_by_three ? 3 : 2;
        return epoch + lag >= now_[r].epoch;
    }

    bool readers_are_finished(std::size_t r) const {
        const auto& readers = work_[r]->readers;
        return std::all_of(readers.begin(), readers.end(), [&](buffer_number reader) {
            return is_finished(r, now_[r].read[at(reader)]);
        });
    }

    bool may_receive(std::size_t r) const {
        if (wrong_ == flaw::receives_unasked) return true;
        if (!readers_are_finished(r)) return false;
        for (std::size_t i = 0; i < num_section_receives(r); ++i) {
            const auto& part = receive(r, i);
            if (part.buffer == work_[r]->here || wrong_ == flaw::receives_in_others) continue;
            if (now_[owner(r, part.buffer)].receivable < now_[r].epoch) return false;
        }
        return true;
    }

    bool can_run(std::size_t r, const schedule_task& task) const {
        for (const auto& [buffer, section] : work_[r]->awaited_by(task)) {
            if (now_[owner(r, buffer)].sections[at(section)] < now_[r].epoch) return false;
        }
        const auto purpose = task.target.purpose();
        if (purpose == task_purpose::section) return readers_are_finished(r);
        if (purpose != task_purpose::foreign_part || wrong_ == flaw::contributes_early) return true;
        const auto& to = now_[owner(r, task.target.buffer())];
        return is_finished(r, to.through) &&
               (task.target.sender() == no_buffer || wrong_ == flaw::forgets_the_sender ||
                is_finished(r, to.read[at(task.target.sender())]));
    }

    std::size_t counter_index(std::size_t r, counter_number counter) const {
        const int half = wrong_ == flaw::one_counter ? 0 : now_[r].epoch % 2;
        return 2 * at(counter) + at(half);
    }

    bool is_filled(std::size_t r, std::size_t i) const {
        const auto& part = send(r, i);
        if (part.counter == no_counter) {
            const auto& tasks = work_[r]->tasks;
            for (std::size_t t = 0; t < tasks.size(); ++t) {
                const task_target& target = tasks[t].target;
                if (target.purpose() == task_purpose::own_part && at(target.part()) == i &&
                    now_[r].tasks[t] != done)
                    return false;
            }
            return true;
        }
        const int epoch = now_[r].epoch;
        const int uses = wrong_ == flaw::one_counter ? epoch : (epoch + 1) / 2;
        return now_[owner(r, part.buffer)].counters[counter_index(r, part.counter)] ==
               uses * part.num_contributors;
    }

    // ---- slots

    number& slot(state& of, std::size_t r, buffer_number buffer, slot_number number_there) const {
        const std::size_t rank = owner(r, buffer);
        const std::size_t half = wrong_ == flaw::one_half ? 0 : of[r].epoch % 2;
        return of[rank]
            .slots[half * static_cast<std::size_t>(work_[rank]->num_slots) + at(number_there)];
    }

    template <class Use>
    void for_each_place(state& of, std::size_t r, const schedule_part& part, Use&& use) const {
        if (part.is_in_place) return;
        for (count_t k = 0; k < part.num_items; ++k) use(slot(of, r, part.buffer, part.slot + k));
    }

    void expect_items(state& of, std::size_t r, const schedule_part& part) {
        for_each_place(of, r, part, [&](number item) { expect_item(item, of[r].epoch); });
    }

    void expect_item(number item, number epoch) {
        if (item != epoch) found_.is_safe = false;
    }

    void read_items(state& of, std::size_t r, const schedule_task& task) {
        for (const auto& step : work_[r]->steps_of(task)) {
            if (step.from_buffer == no_buffer) continue;
            test::for_each_index(*work_[r], step, [&](count_t from, count_t) {
                expect_item(slot(of, r, step.from_buffer, slot_number(from)), of[r].epoch);
            });
        }
    }

    void write_items(state& of, std::size_t r, const schedule_task& task, number item) {
        if (task.target.buffer() == no_buffer) return;
        for (const auto& step : work_[r]->steps_of(task)) {
            test::for_each_index(*work_[r], step, [&](count_t, count_t to) {
                slot(of, r, task.target.buffer(), slot_number(to)) = item;
            });
        }
    }

    // ---- what a rank does; each is one event

    void step(std::size_t r) {
        const rank_state& s = now_[r];
        if (s.is_active == 0) return begin(r);
        switch (s.doing) {
            case running: return finish_task(r);
            case telling: return tell_task(r);
            case ending: return tell_end(r);
            default: break;
        }
        post(r);
        note_arrivals(r);
        tell_receivable(r);
        begin_tasks(r);
        send_parts(r);
        begin_end(r);
    }

    void begin(std::size_t r) {
        if (now_[r].epoch == num_exchanges_) return;
        state next = now_;
        auto& s = next[r];
        ++s.epoch;
        s.is_active = 1;
        s.has_posted = num_section_receives(r) == 0 ? 1 : 0;
        s.is_receivable = work_[r]->has_foreign_receivers ? 0 : 1;
        std::fill(s.tasks.begin(), s.tasks.end(), number{pending});
        std::fill(s.sends.begin(), s.sends.end(), number{unsent});
        for (std::size_t i = 0; i < s.receives.size(); ++i)
            s.receives[i] = i < num_section_receives(r) ? awaited : posted;
        if (wrong_ == flaw::acknowledges_early) {
            for (const buffer_number buffer : work_[r]->owners)
                next[owner(r, buffer)].read[at(work_[r]->here)] = s.epoch;
        }
        visit(std::move(next));
    }

    void post(std::size_t r) {
        if (now_[r].has_posted != 0 || !may_receive(r)) return;
        state next = now_;
        next[r].has_posted = 1;
        for (std::size_t i = 0; i < num_section_receives(r); ++i) {
            next[r].receives[i] = posted;
            for_each_place(next, r, receive(r, i), [](number& item) { item = torn; });
        }
        visit(std::move(next));
    }

    // A message that MPI has copied is delivered at any time after both sides have begun. A long
    // one is delivered only while both are in calls of MPI that make progress.
    void deliver(std::size_t r) {
        for (std::size_t i = 0; i < now_[r].receives.size(); ++i) {
            const auto [source, sent] = sources_[r][i];
            const rank_state& from = now_[source];
            const int num_sent = from.epoch - (from.sends[sent] == unsent ? 1 : 0);
            if (now_[r].receives[i] != posted || num_sent < now_[r].epoch) continue;
            const bool is_long = from.sends[sent] == under_way && from.epoch == now_[r].epoch;
            if (is_long && !(makes_progress(source) && makes_progress(r))) continue;
            state next = now_;
            if (from.sends[sent] == under_way) expect_items(next, source, send(source, sent));
            next[source].num_delivered[sent] = now_[r].epoch;
            next[r].receives[i] = arrived;
            for_each_place(next, r, receive(r, i), [&](number& item) { item = now_[r].epoch; });
            visit(std::move(next));
        }
    }

    // A rank in an exchange makes progress until the exchange has ended. The flawed one does so
    // only while it has a receive to test; without any receive it probes, which makes progress too.
    bool makes_progress(std::size_t r) const {
        const rank_state& s = now_[r];
        if (wrong_ != flaw::tests_receives_only || num_section_receives(r) == 0)
            return s.is_active != 0;
        const auto end_of_sections = s.receives.begin() + work_[r]->num_section_receives;
        const bool has_active_receive =
            std::find(s.receives.begin(), end_of_sections, posted) != end_of_sections;
        return has_active_receive || has_only_messages_left(r);
    }

    // Then the rank waits for all of its requests, those of its sends too.
    bool has_only_messages_left(std::size_t r) const {
        const rank_state& s = now_[r];
        const auto is_noted = [&](std::size_t i) { return s.receives[i] == noted; };
        for (std::size_t i = 0; i < num_section_receives(r); ++i) {
            if (!is_noted(i)) return false;
        }
        return s.is_receivable != 0 &&
               std::find(s.tasks.begin(), s.tasks.end(), pending) == s.tasks.end() &&
               std::find(s.sends.begin(), s.sends.end(), unsent) == s.sends.end();
    }

    void note_arrivals(std::size_t r) {
        for (std::size_t i = 0; i < num_section_receives(r); ++i) {
            if (now_[r].receives[i] != arrived) continue;
            const auto& part = receive(r, i);
            state next = now_;
            next[r].receives[i] = noted;
            next[owner(r, part.buffer)].sections[at(part.section)] = now_[r].epoch;
            visit(std::move(next));
        }
    }

    void tell_receivable(std::size_t r) {
        if (now_[r].is_receivable != 0 || !readers_are_finished(r)) return;
        state next = now_;
        next[r].is_receivable = 1;
        next[r].receivable = next[r].epoch;
        visit(std::move(next));
    }

    void begin_tasks(std::size_t r) {
        for (std::size_t t = 0; t < now_[r].tasks.size(); ++t) {
            const auto& task = work_[r]->tasks[t];
            if (now_[r].tasks[t] == done || !can_run(r, task)) continue;
            state next = now_;
            next[r].doing = running;
            next[r].which = static_cast<number>(t);
            read_items(next, r, task);
            write_items(next, r, task, torn);
            if (wrong_ == flaw::publishes_early) tell(next, r, task);
            visit(std::move(next));
        }
    }

    void finish_task(std::size_t r) {
        const auto& task = work_[r]->tasks[now_[r].which];
        state next = now_;
        read_items(next, r, task);
        write_items(next, r, task, next[r].epoch);
        if (task.target.purpose() == task_purpose::output) {  // there is nothing to tell
            end_task(next[r]);
        } else {
            next[r].doing = telling;
        }
        visit(std::move(next));
    }

    void tell_task(std::size_t r) {
        state next = now_;
        if (wrong_ != flaw::publishes_early) tell(next, r, work_[r]->tasks[now_[r].which]);
        end_task(next[r]);
        visit(std::move(next));
    }

    static void end_task(rank_state& s) {
        s.tasks[s.which] = done;
        s.doing = nothing;
        s.which = 0;
    }

    void tell(state& next, std::size_t r, const schedule_task& task) const {
        const task_target& target = task.target;
        if (target.purpose() == task_purpose::section) {
            next[r].sections[at(target.section())] = next[r].epoch;
        } else if (target.purpose() == task_purpose::foreign_part) {
            ++next[owner(r, target.buffer())].counters[counter_index(r, target.counter())];
        } else if (target.purpose() == task_purpose::own_part) {
            const auto& part = work_[r]->sends[target.part()];
            if (part.counter != no_counter)
                ++next[owner(r, part.buffer)].counters[counter_index(r, part.counter)];
        }
    }

    void send_parts(std::size_t r) {
        for (std::size_t i = 0; i < work_[r]->sends.size(); ++i) {
            if (now_[r].sends[i] != unsent || !is_filled(r, i)) continue;
            if (send(r, i).is_after_previous && now_[r].sends[i - 1] == unsent) continue;
            for (const auto how : {under_way, copied}) {
                state next = now_;
                next[r].sends[i] = how;
                expect_items(next, r, send(r, i));
                visit(std::move(next));
            }
        }
    }

    void begin_end(std::size_t r) {
        const rank_state& s = now_[r];
        const auto is_left = [&](std::size_t i) {
            return s.sends[i] == copied ||
                   (s.sends[i] == under_way && wrong_ == flaw::ends_before_sends) ||
                   (s.sends[i] == under_way && s.num_delivered[i] == s.epoch);
        };
        for (const number task : s.tasks) {
            if (task != done) return;
        }
        for (std::size_t i = 0; i < s.receives.size(); ++i) {
            if (s.receives[i] != (i < num_section_receives(r) ? noted : arrived)) return;
        }
        for (std::size_t i = 0; i < s.sends.size(); ++i) {
            if (!is_left(i)) return;
        }
        if (s.is_receivable == 0) return;
        state next = now_;
        next[r].doing = ending;
        visit(std::move(next));
    }

    void tell_end(std::size_t r) {
        const auto& owners = work_[r]->owners;
        state next = now_;
        auto& s = next[r];
        if (s.which < owners.size()) {
            next[owner(r, owners[s.which])].read[at(work_[r]->here)] = s.epoch;
            ++s.which;
        } else {
            s.through = s.epoch;
            s.is_active = 0;
            s.doing = nothing;
            s.which = 0;
        }
        visit(std::move(next));
    }

    const test::schedules& work_;
    number num_exchanges_;
    flaw wrong_;
    std::vector<memory_domain> domains_;
    std::vector<std::vector<matched_part>> sources_;  // by rank and receive
    findings found_;
    state now_;
    bool has_next_ = false;
    std::vector<state> open_;
    std::unordered_set<std::string> seen_;
};

struct transfer {
    rank_t source;
    rank_t destination;
};

// One item for each of the transfers.
struct scenario {
    const char* nodes;
    const char* route;
    std::vector<transfer> transfers;
    test::make_task_graph way = &forward_task_graph;
    count_t items_per_stripe = 0;
    number num_exchanges = 4;
};

findings search(const scenario& s, flaw wrong = flaw::none) {
    const auto nodes = topology::from_string(s.nodes);
    test::pattern_builder builder(nodes.num_ranks());
    std::vector<count_t> num_items(static_cast<std::size_t>(nodes.num_ranks()));
    for (const auto& t : s.transfers)
        builder.send(t.source, num_items[static_cast<std::size_t>(t.source)]++, t.destination);
    const auto plans = compile(nodes, builder.take(), *make_route(s.route, nodes));
    const auto work = test::build_schedules(plans, s.way, nodes, std::numeric_limits<int>::max(),
                                            s.items_per_stripe);
    return model(work, nodes, s.num_exchanges, wrong).search();
}

// Two ranks that share memory: one reads the other's items, or both do. Three ranks: each reads
// items of the one before it.
const scenario one_way{"2", "direct", {{0, 1}}};
const scenario both_ways{"2", "direct", {{0, 1}, {1, 0}}};
const scenario circle{"3", "direct", {{0, 1}, {1, 2}, {2, 0}}};
// Ranks 0 and 1 fill one part, which one of them sends to rank 2.
const scenario shared_part{"2,1", "three_step", {{0, 2}, {1, 2}}};
// Ranks 1 and 2 read parts of one section.
const scenario shared_section{"1,2", "three_step", {{0, 1}, {0, 2}}};
const scenario sums{"2,1", "three_step", {{2, 0}, {2, 1}, {0, 1}}, &reverse_task_graph};
// Ranks 1 and 3 carry half of a message from rank 0 to rank 2.
const scenario stripes{"2x2", "direct", {{0, 2}, {0, 2}}, &forward_task_graph, 1, 3};
// Messages 0 to 2, 2 to 0, 1 to 3 and 3 to 1; each is read by the other rank of its domain.
const scenario crossing{"2x2", "two_step", {{0, 3}, {3, 0}, {2, 1}, {1, 2}}, &forward_task_graph,
                        0,     2};

TEST(ScheduleProtocol, BringsEveryExchangeItsOwnItems) {
    const std::pair<const scenario*, std::size_t> all[] = {
        {&one_way, 250},         {&both_ways, 389}, {&circle, 4798},    {&shared_part, 3356},
        {&shared_section, 4622}, {&sums, 23569},    {&stripes, 159902}, {&crossing, 328817}};
    for (const auto& [s, num_states] : all) {
        SCOPED_TRACE(num_states);
        const findings found = search(*s);

        EXPECT_TRUE(found.is_safe);
        EXPECT_TRUE(found.is_live);
        EXPECT_EQ(found.num_states, num_states);
    }
}

// The search finds each fault where there is one, so it would find it in the protocol.
TEST(ScheduleProtocol, BringsItemsOfOtherExchangesWithAFault) {
    const std::pair<const scenario*, flaw> all[] = {{&both_ways, flaw::one_half},
                                                    {&one_way, flaw::lags_by_three},
                                                    {&one_way, flaw::acknowledges_early},
                                                    {&both_ways, flaw::publishes_early},
                                                    {&shared_part, flaw::publishes_early},
                                                    {&shared_part, flaw::ends_before_sends},
                                                    {&shared_part, flaw::contributes_early},
                                                    {&stripes, flaw::forgets_the_sender},
                                                    {&shared_section, flaw::receives_unasked},
                                                    {&stripes, flaw::receives_in_others}};
    for (const auto& [s, wrong] : all)
        EXPECT_FALSE(search(*s, wrong).is_safe) << static_cast<int>(wrong);
    const findings found = search(shared_part, flaw::one_counter);
    EXPECT_FALSE(found.is_safe && found.is_live);
}

// Rank 0 has received its message, and waits for the one to rank 1 from rank 3. That waits for rank
// 2, which waits for the long message of rank 0.
TEST(ScheduleProtocol, WaitsForeverIfReceivesAloneAreTested) {
    const findings found = search(crossing, flaw::tests_receives_only);

    EXPECT_TRUE(found.is_safe);
    EXPECT_FALSE(found.is_live);
}

}  // namespace
}  // namespace crossdock::schedule_protocol_test

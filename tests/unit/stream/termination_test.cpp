#include "src/stream/termination.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace crossdock::termination_test {
namespace {

TEST(TerminationDetector, OneWaveIsNeverEnough) {
    termination_detector detector;

    EXPECT_FALSE(detector.add_wave(0, 0));
}

TEST(TerminationDetector, ComparesWhatIsSentWithWhatTheWaveBeforeHandled) {
    termination_detector detector;

    EXPECT_FALSE(detector.add_wave(5, 3));
    EXPECT_FALSE(detector.add_wave(5, 5));
    EXPECT_TRUE(detector.add_wave(5, 5));
}

TEST(TerminationDetector, EqualNumbersOfOneWaveSayNothing) {
    termination_detector detector;
    detector.add_wave(7, 7);

    EXPECT_FALSE(detector.add_wave(8, 8));
}

TEST(TerminationDetector, BeginsAnewWhenAllIsAtRest) {
    termination_detector detector;
    detector.add_wave(4, 4);
    ASSERT_TRUE(detector.add_wave(4, 4));

    EXPECT_FALSE(detector.add_wave(4, 4));
    EXPECT_TRUE(detector.add_wave(4, 4));
}

// ------------------------------------------------------------------------ the model
//
// Every order of events of a few items, by search through all states
// (docs/design/0013-termination.md).
//
//     to push -> waiting -> leaving -> flying [-> waiting on -> flying on] -> handled
//                        counted    visible       at an intermediate process
//
// A process of the model is a worker: it pushes, handles, counts, and its counters are read.

constexpr int most_kinds = 5;
constexpr int most_processes = 3;

// Items of one source and destination; their handler pushes one item of each kind in `pushes`.
struct item_kind {
    int from;
    int to;
    int num_items;  // pushed by the user, not by a handler
    std::vector<int> pushes = {};
    int phase = 0;
    int via = -1;
};

struct scenario {
    int num_processes;
    std::vector<item_kind> kinds;
    int num_phases = 1;
    bool combines = false;
};

// What would be wrong in other ways to count.
enum class flaw {
    none,
    compares_within_a_wave,   // what one wave sent and handled
    compares_backward,        // what a wave handled with what the one before sent
    publishes_early,          // handled items count although what their handlers pushed still waits
    counts_late,              // items count as sent after others can see them
    joins_early,              // waves begin before a process has begun to drain
    forgets_combined,         // items that became part of others do not count as handled
    counts_again_on_the_way,  // items count as sent by who forwards them
    drains_without_progress,  // who drains makes no progress on what it has sent
};

using counts_of_kinds = std::array<std::uint8_t, most_kinds>;
using counts_of_processes = std::array<std::uint8_t, most_processes>;
constexpr std::uint8_t nothing = 255;

struct state {
    counts_of_kinds to_push{};
    counts_of_kinds waiting{};
    counts_of_kinds leaving{};
    counts_of_kinds flying{};
    counts_of_kinds waiting_on{};
    counts_of_kinds flying_on{};
    counts_of_processes sent{};
    counts_of_processes handled{};
    counts_of_processes published{};  // of those handled
    counts_of_processes uncounted{};  // visible, but not counted as sent yet
    counts_of_processes is_draining{};
    counts_of_processes phase{};
    counts_of_processes has_given_sent{};  // in this wave
    counts_of_processes has_given_handled{};
    std::uint8_t sum_sent = 0;
    std::uint8_t sum_handled = 0;
    std::uint8_t sent_before = nothing;
    std::uint8_t handled_before = nothing;
    std::uint8_t num_rests = 0;

    friend bool operator==(const state&, const state&) = default;
};
static_assert(std::has_unique_object_representations_v<state>);

struct hash_of_state {
    std::size_t operator()(const state& s) const {
        return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&s), sizeof s});
    }
};

struct findings {
    std::size_t num_states = 0;
    bool is_safe = true;  // at rest was said only when nothing was left to do
    bool is_live = true;  // and is said in the end
};

class model {
  public:
    model(const scenario& world, flaw wrong) : world_(world), wrong_(wrong) {}

    findings search() {
        state first;
        for (std::size_t k = 0; k < world_.kinds.size(); ++k) {
            first.to_push[k] = static_cast<std::uint8_t>(world_.kinds[k].num_items);
        }
        index_of(first);
        for (std::size_t i = 0; i < states_.size(); ++i) {
            here_ = i;
            const state s = states_[i];
            can_work_ = false;
            work_of_items(s);
            work_of_processes(s);
            has_work_.push_back(can_work_);
            waves(s);
        }
        found_.num_states = states_.size();
        found_.is_live = found_.is_live && all_runs_end();
        return found_;
    }

  private:
    static std::size_t at(int number) { return static_cast<std::size_t>(number); }
    std::size_t num_kinds() const { return world_.kinds.size(); }
    std::size_t num_processes() const { return at(world_.num_processes); }

    std::size_t index_of(const state& s) {
        const auto [entry, is_new] = index_.try_emplace(s, states_.size());
        if (is_new) {
            states_.push_back(s);
            successors_.emplace_back();
        }
        return entry->second;
    }

    // All but waves: each piece leaves less to do, so no run has more than so many.
    void work(const state& next) {
        can_work_ = true;
        if (to_do(next) >= to_do(states_[here_])) found_.is_live = false;
        leads_to(next);
    }

    void leads_to(const state& next) {
        const std::size_t index = index_of(next);
        successors_[here_].push_back(index);
    }

    int num_descendants(const item_kind& kind) const {
        int sum = 0;
        for (const int child : kind.pushes) sum += 1 + num_descendants(world_.kinds[at(child)]);
        return sum;
    }

    int to_do(const state& s) const {
        int sum = 0;
        for (std::size_t k = 0; k < num_kinds(); ++k) {
            const int more = 12 * num_descendants(world_.kinds[k]);
            sum += s.to_push[k] * (12 + more) + s.waiting[k] * (10 + more) +
                   s.leaving[k] * (8 + more) + s.flying[k] * (6 + more) +
                   s.waiting_on[k] * (4 + more) + s.flying_on[k] * (2 + more);
        }
        for (std::size_t p = 0; p < num_processes(); ++p) {
            sum +=
                s.handled[p] - s.published[p] + s.uncounted[p] - s.is_draining[p] - 2 * s.phase[p];
        }
        return sum;
    }

    void work_of_items(const state& s) {
        for (std::size_t k = 0; k < num_kinds(); ++k) {
            const item_kind& kind = world_.kinds[k];
            push(s, k, kind);
            leave(s, k, kind);
            if (s.flying[k] > 0 && makes_progress(s, kind.from) &&
                kind.phase <= s.phase[at(kind.via < 0 ? kind.to : kind.via)]) {
                state next = s;
                --next.flying[k];
                arrive(next, k, kind);
            }
            if (s.flying_on[k] > 0 && makes_progress(s, kind.via) &&
                kind.phase <= s.phase[at(kind.to)]) {
                state next = s;
                --next.flying_on[k];
                handle(next, kind);
            }
        }
    }

    // A message arrives only while its sender is in a call of MPI that makes progress; who has seen
    // the last rest is in none.
    bool makes_progress(const state& s, int p) const {
        if (wrong_ == flaw::drains_without_progress && s.is_draining[at(p)] != 0) return false;
        return s.phase[at(p)] < world_.num_phases;
    }

    void push(const state& s, std::size_t k, const item_kind& kind) {
        const std::size_t p = at(kind.from);
        if (s.to_push[k] == 0 || s.is_draining[p] != 0 || s.phase[p] != kind.phase) return;
        state next = s;
        --next.to_push[k];
        if (world_.combines && s.waiting[k] > 0) work(next);
        ++next.waiting[k];
        work(next);
    }

    void leave(const state& s, std::size_t k, const item_kind& kind) {
        if (s.waiting[k] > 0) {
            state next = s;
            --next.waiting[k];
            if (wrong_ == flaw::counts_late) {
                ++next.flying[k];
                ++next.uncounted[at(kind.from)];
            } else {
                ++next.sent[at(kind.from)];
                ++next.leaving[k];
            }
            work(next);
        }
        if (s.leaving[k] > 0) {
            state next = s;
            --next.leaving[k];
            ++next.flying[k];
            work(next);
        }
        if (s.waiting_on[k] > 0) {
            state next = s;
            --next.waiting_on[k];
            ++next.flying_on[k];
            if (wrong_ == flaw::counts_again_on_the_way) ++next.sent[at(kind.via)];
            work(next);
        }
    }

    void arrive(state& next, std::size_t k, const item_kind& kind) {
        if (kind.via < 0) {
            handle(next, kind);
            return;
        }
        if (world_.combines && next.waiting_on[k] > 0) {
            state combined = next;
            if (wrong_ != flaw::forgets_combined) ++combined.handled[at(kind.via)];
            work(combined);
        }
        ++next.waiting_on[k];
        work(next);
    }

    void handle(state& next, const item_kind& kind) {
        ++next.handled[at(kind.to)];
        for (const int child : kind.pushes) ++next.waiting[at(child)];
        work(next);
    }

    bool is_something_waiting(const state& s, std::size_t p) const {
        for (std::size_t k = 0; k < num_kinds(); ++k) {
            const item_kind& kind = world_.kinds[k];
            if (at(kind.from) == p && s.waiting[k] > 0) return true;
            if (kind.via >= 0 && at(kind.via) == p && s.waiting_on[k] > 0) return true;
        }
        return false;
    }

    bool is_something_to_push(const state& s, std::size_t p) const {
        for (std::size_t k = 0; k < num_kinds(); ++k) {
            const item_kind& kind = world_.kinds[k];
            if (at(kind.from) == p && kind.phase == s.phase[p] && s.to_push[k] > 0) return true;
        }
        return false;
    }

    void work_of_processes(const state& s) {
        for (std::size_t p = 0; p < num_processes(); ++p) {
            const bool waits = is_something_waiting(s, p);
            if (s.uncounted[p] > 0) {
                state next = s;
                --next.uncounted[p];
                ++next.sent[p];
                work(next);
            }
            if (s.is_draining[p] != 0 && s.published[p] != s.handled[p] &&
                (!waits || wrong_ == flaw::publishes_early)) {
                state next = s;
                next.published[p] = s.handled[p];
                work(next);
            }
            if (s.is_draining[p] == 0 && s.phase[p] < world_.num_phases && !waits &&
                !is_something_to_push(s, p)) {
                state next = s;
                next.is_draining[p] = 1;
                work(next);
            }
            if (s.phase[p] < s.num_rests) {
                state next = s;
                ++next.phase[p];
                next.is_draining[p] = 0;
                work(next);
            }
        }
    }

    // Each process gives its two counters to each wave, one at a time.
    void waves(const state& s) {
        for (std::size_t p = 0; p < num_processes(); ++p) {
            if (s.phase[p] != s.num_rests || s.num_rests == world_.num_phases) continue;
            if (s.is_draining[p] == 0 && wrong_ != flaw::joins_early) continue;
            if (s.has_given_handled[p] == 0) {
                state next = s;
                next.has_given_handled[p] = 1;
                next.sum_handled = static_cast<std::uint8_t>(s.sum_handled + s.published[p]);
                end_wave(next);
            }
            if (s.has_given_sent[p] == 0) {
                state next = s;
                next.has_given_sent[p] = 1;
                next.sum_sent = static_cast<std::uint8_t>(s.sum_sent + s.sent[p]);
                end_wave(next);
            }
        }
    }

    void end_wave(state& next) {
        bool is_complete = true;
        for (std::size_t p = 0; p < num_processes(); ++p) {
            is_complete =
                is_complete && next.has_given_handled[p] != 0 && next.has_given_sent[p] != 0;
        }
        if (is_complete) {
            if (is_at_rest(next)) {
                if (has_items(next)) {
                    found_.is_safe = false;
                    return;
                }
                ++next.num_rests;
                next.handled_before = next.sent_before = nothing;
            }
            next.has_given_handled = next.has_given_sent = {};
            next.sum_sent = next.sum_handled = 0;
        }
        leads_to(next);
    }

    // What the detector says, and what it knows afterwards.
    bool is_at_rest(state& s) const {
        const std::uint8_t before = s.handled_before;
        const std::uint8_t sent_before = s.sent_before;
        s.handled_before = s.sum_handled;
        if (wrong_ == flaw::compares_within_a_wave) return s.sum_sent == s.sum_handled;
        if (wrong_ == flaw::compares_backward) {
            s.sent_before = s.sum_sent;
            return sent_before == s.sum_handled;
        }
        termination_detector detector;
        if (before != nothing) detector.add_wave(-1, before);
        return detector.add_wave(s.sum_sent, s.sum_handled);
    }

    // Anything not handled of the phase that is said to be over.
    bool has_items(const state& s) const {
        for (std::size_t k = 0; k < num_kinds(); ++k) {
            if (world_.kinds[k].phase != s.num_rests) continue;
            if (s.to_push[k] + s.waiting[k] + s.leaving[k] + s.flying[k] + s.waiting_on[k] +
                    s.flying_on[k] >
                0) {
                return true;
            }
        }
        return false;
    }

    // Work comes to an end by itself. Where none is left, every way on must lead to the last rest:
    // strike out states all of whose successors are struck out, until no more can be.
    bool all_runs_end() const {
        std::vector<std::vector<std::size_t>> predecessors(states_.size());
        std::vector<std::size_t> num_open(states_.size());
        std::vector<std::size_t> struck_out;
        std::size_t num_left = 0;
        for (std::size_t i = 0; i < states_.size(); ++i) {
            if (has_work_[i]) continue;
            ++num_left;
            num_open[i] = successors_[i].size();
            for (const std::size_t next : successors_[i]) predecessors[next].push_back(i);
            const bool is_last = states_[i].num_rests == world_.num_phases;
            if (is_last && num_open[i] == 0) struck_out.push_back(i);
        }
        // A rest that is not the last one leaves work to do, and has its turn there.
        for (std::size_t i = 0; i < states_.size(); ++i) {
            if (has_work_[i] && !predecessors[i].empty()) struck_out.push_back(i);
        }
        while (!struck_out.empty()) {
            const std::size_t i = struck_out.back();
            struck_out.pop_back();
            if (!has_work_[i]) --num_left;
            for (const std::size_t before : predecessors[i]) {
                if (--num_open[before] == 0) struck_out.push_back(before);
            }
        }
        return num_left == 0;
    }

    const scenario& world_;
    flaw wrong_;
    findings found_;
    std::size_t here_ = 0;
    bool can_work_ = false;
    std::vector<state> states_;
    std::vector<std::vector<std::size_t>> successors_;
    std::vector<bool> has_work_;
    std::unordered_map<state, std::size_t, hash_of_state> index_;
};

findings search(const scenario& world, flaw wrong = flaw::none) {
    return model(world, wrong).search();
}

const scenario silence{2, {}};
const scenario to_itself{2, {{0, 0, 1, {1}}, {0, 0, 0}}};
const scenario to_and_fro{2, {{0, 1, 1, {1}}, {1, 0, 0, {2}}, {0, 1, 0}}};
const scenario both_ways{2, {{0, 1, 1, {2}}, {1, 0, 1, {3}}, {1, 0, 0}, {0, 1, 0}}};
const scenario round_trip{3, {{0, 1, 1, {1}}, {1, 2, 0, {2}}, {2, 0, 0}}};
const scenario fork{3, {{0, 1, 1, {1, 2}}, {1, 0, 0}, {1, 2, 0}}};
const scenario crowd{3, {{0, 1, 1, {3}}, {1, 2, 1}, {2, 0, 1}, {1, 0, 0}}};
const scenario two_phases{
    2,
    {{0, 1, 1, {1}, 0}, {1, 0, 0, {}, 0}, {0, 1, 1, {3}, 1}, {1, 0, 0, {}, 1}, {1, 0, 1, {}, 1}},
    2};
const scenario forwarded{3, {{0, 2, 2, {1}, 0, 1}, {2, 1, 0}}};
const scenario combined{3, {{0, 2, 2, {1}, 0, 1}, {2, 1, 0}}, 1, true};

TEST(Termination, IsSaidOnceNothingIsLeftToDo) {
    const std::pair<const scenario*, std::size_t> all[] = {
        {&silence, 43},       {&to_itself, 693}, {&to_and_fro, 2317}, {&both_ways, 11479},
        {&round_trip, 12321}, {&fork, 20743},    {&crowd, 75302},     {&two_phases, 4165},
        {&forwarded, 40591},  {&combined, 52685}};
    for (const auto& [world, num_states] : all) {
        SCOPED_TRACE(num_states);
        const findings found = search(*world);

        EXPECT_TRUE(found.is_safe);
        EXPECT_TRUE(found.is_live);
        EXPECT_EQ(found.num_states, num_states);
    }
}

// The search finds what is wrong, so it would find it in the detector.
TEST(Termination, IsSaidTooEarlyByOtherWaysToCount) {
    EXPECT_FALSE(search(both_ways, flaw::compares_within_a_wave).is_safe);
    EXPECT_FALSE(search(to_and_fro, flaw::compares_backward).is_safe);
    EXPECT_FALSE(search(to_and_fro, flaw::publishes_early).is_safe);
    EXPECT_FALSE(search(to_itself, flaw::publishes_early).is_safe);
    EXPECT_FALSE(search(both_ways, flaw::counts_late).is_safe);
    EXPECT_FALSE(search(to_and_fro, flaw::joins_early).is_safe);
}

TEST(Termination, IsWaitedForForeverInOtherWaysToCount) {
    EXPECT_FALSE(search(combined, flaw::forgets_combined).is_live);
    EXPECT_FALSE(search(forwarded, flaw::counts_again_on_the_way).is_live);
    EXPECT_FALSE(search(to_and_fro, flaw::drains_without_progress).is_live);
}

}  // namespace
}  // namespace crossdock::termination_test

// The exchange in shared memory under relacy, which draws what a weakly ordered memory may do: `schedule_runner` as it
// is, on words that relacy knows. A thread is a rank. Items stay in ordinary memory, and each access to one is told
// relacy, which finds accesses that nothing orders. Each memory order of the source is weakened in turn: then relacy
// must find one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "crossdock/operation.hpp"
#include "crossdock/plan.hpp"
#include "src/executor/shared_memory_schedule_builder.hpp"
#include "support/arrivals.hpp"
#include "support/patterns.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#include <relacy/relacy.hpp>
#pragma GCC diagnostic pop
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno

namespace crossdock {
namespace weak_memory_test {

unsigned weakened_line = 0;           // of the source; its memory order is relaxed
std::array<bool, 1000> is_ordered{};  // which lines have a memory order that can be weakened

rl::memory_order order_at(rl::memory_order order, rl::debug_info_param at) {
    if (order != rl::mo_relaxed) is_ordered.at(at.line_) = true;
    return at.line_ == weakened_line ? rl::mo_relaxed : order;
}

// What relacy knows of the memory that ranks share. In an execution, memory is relacy's, and all of it is gone where
// one fails: nothing of it may be in objects that live longer.
struct shared_state {
    std::deque<std::unique_ptr<rl::atomic<std::uint64_t>>> words;
    // A variable for each item.
    std::unordered_map<const std::byte*, std::unique_ptr<rl::var<int>>> items;
};
shared_state* shared = nullptr;

// What relacy keeps is behind a pointer, so that words have their usual size.
template <class T>
class model_atomic {
  public:
    static constexpr bool is_always_lock_free = true;
    model_atomic(T value) {
        shared->words.push_back(std::make_unique<rl::atomic<T>>(value));
        word_ = shared->words.back().get();
    }
    T load(rl::memory_order order, rl::debug_info_param at) const {
        return word_->load(order_at(order, at), at);
    }
    void store(T value, rl::memory_order order, rl::debug_info_param at) {
        word_->store(value, order_at(order, at), at);
    }
    T fetch_add(T value, rl::memory_order order, rl::debug_info_param at) {
        return word_->fetch_add(value, order_at(order, at), at);
    }

  private:
    rl::atomic<T>* word_;
};

void note_reads(const std::byte* items, count_t number, std::size_t item_bytes) {
    for (count_t i = 0; i < number; ++i) {
        const auto found = shared->items.find(items + static_cast<std::size_t>(i) * item_bytes);
        if (found != shared->items.end()) static_cast<void>((*found->second)($).load());
    }
}

void note_writes(const std::byte* items, count_t number, std::size_t item_bytes) {
    for (count_t i = 0; i < number; ++i) {
        const auto found = shared->items.find(items + static_cast<std::size_t>(i) * item_bytes);
        if (found != shared->items.end()) (*found->second)($).store(0);
    }
}

template <class Use>
void for_each_item(std::byte* to, const std::byte* from, const index_piece& from_piece,
                   const index_piece& to_piece, std::size_t item_bytes, Use&& use) {
    from_piece.with_lookup([&](auto from_index) {
        to_piece.with_lookup([&](auto to_index) {
            for (count_t k = 0; k < to_piece.size; ++k)
                use(to + static_cast<std::size_t>(to_index(k)) * item_bytes,
                    from + static_cast<std::size_t>(from_index(k)) * item_bytes);
        });
    });
}

}  // namespace weak_memory_test

void model_copy(std::byte* to, const std::byte* from, const index_piece& from_piece,
                const index_piece& to_piece, std::size_t item_bytes) {
    const auto copy = [item_bytes](std::byte* target, const std::byte* source) {
        weak_memory_test::note_reads(source, 1, item_bytes);
        weak_memory_test::note_writes(target, 1, item_bytes);
        std::memcpy(target, source, item_bytes);
    };
    weak_memory_test::for_each_item(to, from, from_piece, to_piece, item_bytes, copy);
}
piece_copy model_copy_for(std::size_t) { return &model_copy; }

}  // namespace crossdock

namespace std {
using crossdock::weak_memory_test::model_atomic;
using rl::mo_acquire;
using rl::mo_relaxed;
using rl::mo_release;
}  // namespace std

// Names of their own, since the library has the same classes on the words of the machine.
#define atomic model_atomic
#define exchange_buffer model_exchange_buffer
#define schedule_runner model_schedule_runner
#define piece_copy_for model_copy_for
#include "src/executor/schedule_runner.cpp"
#include "support/schedules.hpp"
#undef atomic

namespace crossdock::weak_memory_test {
namespace {

using value = std::int64_t;
constexpr std::size_t item_bytes = sizeof(value);
constexpr int num_exchanges = 3;  // both halves, and one of them again

value value_of(rank_t rank, count_t index, int exchange) {
    return 1000 * value{exchange} + 100 * rank + index;
}

// Adds, and tells which items it uses.
void add(std::byte* to, const std::byte* from, const copy_list& list) {
    const auto add_one = [](std::byte* target, const std::byte* source) {
        note_reads(source, 1, item_bytes);
        note_reads(target, 1, item_bytes);
        note_writes(target, 1, item_bytes);
        value sum = 0, addend = 0;
        std::memcpy(&sum, target, item_bytes);
        std::memcpy(&addend, source, item_bytes);
        sum += addend;
        std::memcpy(target, &sum, item_bytes);
    };
    list.for_each_piece([&](const index_piece& from_piece, const index_piece& to_piece) {
        for_each_item(to, from, from_piece, to_piece, item_bytes, add_one);
    });
}

// What is exchanged.
struct scenario {
    topology nodes;
    std::vector<pattern> patterns;
    bool is_reverse;
    test::schedules work;
};
const scenario* now = nullptr;

// Messages between nodes, which are copied when they are sent.
using mail = std::map<std::tuple<rank_t, rank_t, int>, std::deque<std::vector<std::byte>>>;

class model_rank final : schedule_runner::sender {
  public:
    model_rank(rank_t rank, index_vector<buffer_number, exchange_buffer> buffers, mail& all)
        : rank_(rank),
          mail_(all),
          runner_(now->work[static_cast<std::size_t>(rank)], std::move(buffers), item_bytes) {}

    void run() {
        for (int e = 1; e <= num_exchanges; ++e) exchange(e);
        // Its memory may be used for something else when all have read it.
        const auto is_read = runner_.read_check();
        while (!is_read()) rl::yield(1, $);
        for (std::size_t half = 0; half < runner_.num_halves(); ++half)
            note_writes(runner_.own_buffer().slots(half), runner_.work().num_slots, item_bytes);
    }

  private:
    const shared_memory_schedule& work() const { return runner_.work(); }

    void exchange(int number) {
        const auto& own = now->patterns[static_cast<std::size_t>(rank_)];
        const bool is_reverse = now->is_reverse;
        std::vector<value> input,
            output(static_cast<std::size_t>(is_reverse ? own.num_items : own.num_slots));
        for (count_t i = 0; i < (is_reverse ? own.num_slots : own.num_items); ++i)
            input.push_back(value_of(rank_, i, number));
        input_ = reinterpret_cast<const std::byte*>(input.data());
        output_ = reinterpret_cast<std::byte*>(output.data());
        std::vector<bool> is_taken(work().receives.size());
        runner_.begin(input_, output_, &add);
        bool may_receive = false;
        for (;;) {
            may_receive = may_receive || runner_.may_receive();
            bool has_all = true;
            for (std::size_t i = 0; i < is_taken.size(); ++i) {
                is_taken[i] = is_taken[i] || take(receive_number(static_cast<int>(i)), may_receive);
                has_all = has_all && is_taken[i];
            }
            runner_.advance(*this);
            if (has_all && runner_.is_done()) break;
            rl::yield(1, $);
        }
        runner_.end();
        RL_ASSERT(output == expected(number));
    }

    std::vector<value> expected(int number) const {
        const auto& own = now->patterns[static_cast<std::size_t>(rank_)];
        std::vector<value> result(
            static_cast<std::size_t>(now->is_reverse ? own.num_items : own.num_slots));
        for (rank_t receiver = 0; receiver < now->nodes.num_ranks(); ++receiver) {
            for (const auto& [slot, source, item] : test::arrivals(now->patterns, receiver)) {
                if (now->is_reverse && source == rank_)
                    result[static_cast<std::size_t>(item)] += value_of(receiver, slot, number);
                if (!now->is_reverse && receiver == rank_)
                    result[static_cast<std::size_t>(slot)] = value_of(source, item, number);
            }
        }
        return result;
    }

    static int tag_of(const schedule_part& part) { return 2 * part.stage + part.is_stripe; }

    bool take(receive_number number, bool may_receive) {
        const auto& part = work().receives[number];
        const bool is_in_section = number < receive_number(work().num_section_receives);
        if (is_in_section && !may_receive) return false;
        auto& channel = mail_[{part.peer, rank_, tag_of(part)}];
        if (channel.empty()) return false;
        auto* const to = is_in_section
                             ? runner_.address(part, runner_.half())
                             : output_ + static_cast<std::size_t>(part.array_index) * item_bytes;
        note_writes(to, part.num_items, item_bytes);
        std::ranges::copy(channel.front(), to);
        channel.pop_front();
        if (is_in_section) runner_.note_received(number);
        return true;
    }

    void send(send_number number) override {
        const auto& part = work().sends[number];
        const auto* const from =
            part.is_in_place ? input_ + static_cast<std::size_t>(part.array_index) * item_bytes
                             : runner_.address(part, runner_.half());
        note_reads(from, part.num_items, item_bytes);
        mail_[{rank_, part.peer, tag_of(part)}].emplace_back(
            from, from + static_cast<std::size_t>(part.num_items) * item_bytes);
    }

    void send_failure(send_number, rank_t) override { RL_ASSERT(false); }

    rank_t rank_;
    mail& mail_;
    schedule_runner runner_;
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
};

template <int num_ranks>
struct model : rl::test_suite<model<num_ranks>, num_ranks> {
    struct alignas(exchange_buffer::alignment) line {
        std::byte bytes[exchange_buffer::alignment];
    };

    void before() {
        shared = &state;
        std::vector<exchange_buffer> buffers;
        for (const auto& one : now->work) {
            memory.emplace_back(exchange_buffer::size_bytes(*one, item_bytes) / sizeof(line));
            buffers.push_back(exchange_buffer::make(memory.back().data()->bytes, *one, item_bytes));
            for (std::size_t half = 0; half < (one->num_buffers > 1 ? 2 : 1); ++half) {
                for (count_t i = 0; i < one->num_slots; ++i)
                    state.items[buffers.back().slots(half) +
                                static_cast<std::size_t>(i) * item_bytes] =
                        std::make_unique<rl::var<int>>(0);
            }
        }
        for (rank_t rank = 0; rank < num_ranks; ++rank) {
            const memory_domain domain(now->nodes, rank);
            index_vector<buffer_number, exchange_buffer> of_node;
            while (of_node.end_index() < buffer_number(domain.size()))
                of_node.push_back(
                    buffers[static_cast<std::size_t>(domain.rank_at(of_node.end_index()))]);
            ranks.emplace_back(rank, std::move(of_node), all_mail);
        }
    }
    void thread(unsigned rank) { ranks[rank].run(); }

    shared_state state;
    std::deque<std::vector<line>> memory;
    mail all_mail;
    std::deque<model_rank> ranks;
};

// Where relacy says what it has found: as much as has room, since it may write in an execution.
class short_text : public std::streambuf {
  public:
    short_text() { setp(text_.data(), text_.data() + text_.size()); }
    std::string text() const { return {pbase(), pptr()}; }

  private:
    std::array<char, 1 << 16> text_;
};

// Whether relacy finds a fault, and what it says of it.
template <int num_ranks>
bool has_fault(const scenario& what, rl::iteration_t num_executions, std::string* said = nullptr) {
    now = &what;
    short_text text;
    std::ostream out(&text);
    rl::test_params how;
    how.iteration_count = num_executions;
    how.output_stream = &out;
    how.progress_stream = &out;
    how.execution_depth_limit = 100'000;
    const bool is_right = rl::simulate<model<num_ranks>>(how);
    if (said != nullptr) *said = text.text();
    return !is_right;
}

// Every rank sends an item of its own to every rank. Or, so that no answer orders anything, the first half of the ranks
// sends to the second, or to one of it.
enum class ways { all, one, to_one };

scenario make(const char* nodes, const char* route, ways to, bool is_reverse,
              count_t items_per_stripe) {
    scenario made{topology::from_string(nodes), {}, is_reverse, {}};
    const rank_t num_ranks = made.nodes.num_ranks();
    if (to == ways::all) {
        made.patterns = test::all_to_all_pattern(num_ranks);
    } else {
        const rank_t half = num_ranks / 2;
        test::pattern_builder builder(num_ranks);
        for (rank_t source = 0; source < half; ++source) {
            for (rank_t destination = half; destination < (to == ways::one ? num_ranks : half + 1);
                 ++destination)
                for (count_t item = 0; item < 2; ++item) builder.send(source, item, destination);
        }
        made.patterns = builder.take();
    }
    const auto regions = topology::from_string(num_ranks == 2 ? "1x2" : "2x2");
    constexpr count_t max_part_items = 2;
    made.work = test::build_schedules(compile(regions, made.patterns, *make_route(route, regions)),
                                      is_reverse ? &reverse_task_graph : &forward_task_graph,
                                      made.nodes, max_part_items, items_per_stripe);
    return made;
}

const std::vector<scenario>& all_scenarios() {
    static const std::vector<scenario> all = [] {
        std::vector<scenario> made;
        for (const auto to : {ways::all, ways::one, ways::to_one}) {
            for (const bool is_reverse : {false, true}) {
                if (to != ways::to_one) made.push_back(make("2", "direct", to, is_reverse, 0));
                for (const count_t items_per_stripe : {0, 1})
                    made.push_back(make("2x2", "three_step", to, is_reverse, items_per_stripe));
            }
        }
        return made;
    }();
    return all;
}

// In any of them.
bool is_faulty(rl::iteration_t num_executions, std::string* said = nullptr) {
    return std::ranges::any_of(all_scenarios(), [&](const auto& one) {
        return one.nodes.num_ranks() == 2 ? has_fault<2>(one, num_executions, said)
                                          : has_fault<4>(one, num_executions, said);
    });
}

TEST(SharedExchange, IsRightOnWeaklyOrderedMemory) {
    std::string said;
    EXPECT_FALSE(is_faulty(500, &said)) << said;
}

TEST(SharedExchange, NeedsEachOfItsMemoryOrders) {
    is_ordered = {};
    EXPECT_FALSE(is_faulty(20));
    const auto lines = is_ordered;
    EXPECT_EQ(std::ranges::count(lines, true), 13);
    for (unsigned line = 0; line < lines.size(); ++line) {
        if (!lines[line]) continue;
        weakened_line = line;
        EXPECT_TRUE(is_faulty(500)) << "line " << line << " of schedule_runner.cpp";
    }
    weakened_line = 0;
}

}  // namespace
}  // namespace crossdock::weak_memory_test

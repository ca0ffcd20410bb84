#include "crossdock/schedule.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <ostream>
#include <sstream>
#include <vector>

#include "operation_costs.hpp"

namespace crossdock {

namespace {

picoseconds to_unit(picoseconds time, goal_unit unit) {
    constexpr picoseconds per_nanosecond = 1000;
    return unit == goal_unit::picosecond ? time : (time + per_nanosecond / 2) / per_nanosecond;
}

// The other simulator's parameters at one locality, of which it has one set.
void write_parameters(std::ostream& to, const level_parameters& level, const char* where,
                      std::size_t num_messages, goal_unit unit) {
    const double per_second = unit == goal_unit::picosecond ? 1e12 : 1e9;
    const double send_overhead = level.send_overhead_seconds * per_second;
    const double receive_overhead = level.receive_overhead_seconds * per_second;
    const count_t most_bytes = std::numeric_limits<std::int32_t>::max();  // that it can read
    fmt::print(to, "// {} (messages: {}): -L {:.10g} -o {:.10g} -g 0 -G {:.10g} -O 0 -S {}", where,
               num_messages, level.eager.latency_seconds * per_second,
               (send_overhead + receive_overhead) / 2, level.eager.seconds_per_byte * per_second,
               std::min(level.rendezvous_bytes, most_bytes));
    if (send_overhead != receive_overhead)
        fmt::print(to, " (o {:.10g} to send, {:.10g} to receive)", send_overhead, receive_overhead);
    to << '\n';
}

void write_head(std::ostream& to, const rank_layout& layout, const schedule& s, const machine& m,
                goal_unit unit) {
    constexpr std::array<const char*, num_locality_levels> places{
        "of ranks to themselves", "inside regions", "between regions of a node", "between nodes"};
    std::array<std::size_t, num_locality_levels> num_messages{};
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
        for (const auto& what : s.operations_of(rank)) {
            if (what.kind == operation_kind::send)
                ++num_messages[static_cast<std::size_t>(layout.level_of(rank, what.peer))];
        }
    }
    fmt::print(to, "// made by crossdock for {}; times in {}, parameters as LogGOPSim takes them\n",
               m.name, unit == goal_unit::picosecond ? "picoseconds" : "nanoseconds");
    for (std::size_t level = 0; level < num_locality_levels; ++level) {
        if (num_messages[level] > 0)
            write_parameters(to, m.levels[level], places[level], num_messages[level], unit);
    }
}

// Writes the operations of one rank. An operation becomes one label or two; others require the
// last.
class rank_writer {
  public:
    rank_writer(const schedule& s, const operation_costs& costs, goal_unit unit, rank_t rank,
                fmt::memory_buffer& into)
        : schedule_(s), costs_(costs), unit_(unit), rank_(rank), into_(into) {}

    void write() {
        fmt::format_to(to_, "rank {} {{\n", rank_);
        const auto all = schedule_.operations_of(rank_);
        for (std::size_t k = 0; k < all.size(); ++k) write(k, all[k]);
        fmt::format_to(to_, "}}\n");
    }

  private:
    void write(std::size_t number, const operation& what) {
        required_.clear();
        for (const auto other : schedule_.required_by(rank_, number))
            required_.push_back(last_labels_[other]);
        const auto place = static_cast<std::uint32_t>(schedule_.first_operation(rank_) + number);
        const auto copying = to_unit(costs_.copying(place), unit_);
        // A copy of nothing stays, as others may require it.
        const bool is_copy = what.kind == operation_kind::copy;
        if (what.kind == operation_kind::send && copying > 0) add_calculation(copying);
        if (!is_copy) add_message(what);
        if (is_copy || (what.kind == operation_kind::receive && copying > 0))
            add_calculation(copying);
        last_labels_.push_back(num_labels_);
    }

    void add_calculation(picoseconds in_unit) {
        fmt::format_to(to_, "l{}: calc {}\n", ++num_labels_, in_unit);
        add_requirements();
    }

    void add_message(const operation& what) {
        const bool is_send = what.kind == operation_kind::send;
        fmt::format_to(to_, "l{}: {} {}b {} {} tag {}\n", ++num_labels_, is_send ? "send" : "recv",
                       what.message_bytes, is_send ? "to" : "from", what.peer, what.tag);
        add_requirements();
    }

    // The next label of this operation requires this one.
    void add_requirements() {
        for (const std::size_t label : required_)
            fmt::format_to(to_, "l{} requires l{}\n", num_labels_, label);
        required_.assign(1, num_labels_);
    }

    const schedule& schedule_;
    const operation_costs& costs_;
    goal_unit unit_;
    rank_t rank_;
    fmt::memory_buffer& into_;
    std::back_insert_iterator<fmt::memory_buffer> to_{into_};
    std::size_t num_labels_ = 0;
    std::vector<std::size_t> last_labels_;  // of each operation
    std::vector<std::size_t> required_;     // labels
};

}  // namespace

void write_goal(std::ostream& to, const rank_layout& layout, const schedule& s, const machine& m,
                goal_unit unit) {
    write_head(to, layout, s, m, unit);
    to << "num_ranks " << s.num_ranks() << '\n';
    const operation_costs costs(layout, s, m);
    fmt::memory_buffer lines;
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
        lines.clear();
        rank_writer(s, costs, unit, rank, lines).write();
        to.write(lines.data(), static_cast<std::streamsize>(lines.size()));
    }
}

std::string to_goal(const rank_layout& layout, const schedule& s, const machine& m,
                    goal_unit unit) {
    std::ostringstream text;
    write_goal(text, layout, s, m, unit);
    return std::move(text).str();
}

}  // namespace crossdock

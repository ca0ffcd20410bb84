#include "crossdock/schedule.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <ostream>
#include <sstream>
#include <vector>

namespace crossdock {

namespace {

constexpr double nanoseconds_per_second = 1e9;

long long copy_nanoseconds(const operation& what, const machine& m) {
    return std::llround(nanoseconds_per_second *
                        (static_cast<double>(what.copied_bytes) * m.copy_seconds_per_byte +
                         static_cast<double>(what.copied_items) * m.copy_seconds_per_item));
}

// Writes the operations of one rank. An operation becomes one label or two; others require the
// last.
class rank_writer {
  public:
    rank_writer(const schedule& s, const machine& m, rank_t rank, fmt::memory_buffer& into)
        : schedule_(s), machine_(m), rank_(rank), into_(into) {}

    void write() {
        fmt::format_to(to_, "rank {} {{\n", rank_);
        const auto all = schedule_.operations_of(rank_);
        for (std::size_t k = 0; k < all.size(); ++k) write(all[k], schedule_.required_by(rank_, k));
        fmt::format_to(to_, "}}\n");
    }

  private:
    void write(const operation& what, std::span<const std::uint32_t> required) {
        required_.clear();
        for (const std::uint32_t number : required) required_.push_back(last_labels_[number]);
        const auto copying = copy_nanoseconds(what, machine_);
        // A copy of nothing stays, as others may require it.
        const bool is_copy = what.kind == operation_kind::copy;
        if (what.kind == operation_kind::send && copying > 0) add_calculation(copying);
        if (!is_copy) add_message(what);
        if (is_copy || (what.kind == operation_kind::receive && copying > 0))
            add_calculation(copying);
        last_labels_.push_back(num_labels_);
    }

    void add_calculation(long long nanoseconds) {
        fmt::format_to(to_, "l{}: calc {}\n", ++num_labels_, nanoseconds);
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
    const machine& machine_;
    rank_t rank_;
    fmt::memory_buffer& into_;
    std::back_insert_iterator<fmt::memory_buffer> to_{into_};
    std::size_t num_labels_ = 0;
    std::vector<std::size_t> last_labels_;  // of each operation
    std::vector<std::size_t> required_;     // labels
};

}  // namespace

void write_goal(std::ostream& to, const schedule& s, const machine& m) {
    to << "num_ranks " << s.num_ranks() << '\n';
    fmt::memory_buffer lines;
    for (rank_t rank = 0; rank < s.num_ranks(); ++rank) {
        lines.clear();
        rank_writer(s, m, rank, lines).write();
        to.write(lines.data(), static_cast<std::streamsize>(lines.size()));
    }
}

std::string to_goal(const schedule& s, const machine& m) {
    std::ostringstream text;
    write_goal(text, s, m);
    return std::move(text).str();
}

}  // namespace crossdock

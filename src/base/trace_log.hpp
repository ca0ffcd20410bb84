/// @file
/// @brief What a rank did when, for a timeline.
#pragma once

#include <vector>

namespace crossdock {

struct watched_object;

/// @brief A span on a rank's timeline.
enum class span_kind : unsigned char {
    packing,  ///< as the `activity` of that name, inside of a call; likewise the next two
    sending,
    waiting,
    call,      ///< of an object
    exchange,  ///< from the begin of a start until it is complete
};

struct trace_span {
    const watched_object* of;
    span_kind kind;
    double begin;  ///< seconds of `steady_seconds`
    double end;
};

/// @brief The spans of a rank, in the order in which they ended; no more than `most`.
class trace_log {
  public:
    static constexpr std::size_t most = 100'000;

    void add(const trace_span& one) noexcept {
        if (spans_.size() == most) return;
        try {
            spans_.push_back(one);
        } catch (...) {  // no memory: the timeline ends here
        }
    }
    const std::vector<trace_span>& spans() const noexcept { return spans_; }

  private:
    std::vector<trace_span> spans_;
};

}  // namespace crossdock

// Buffers in the order of their age.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

// A queue of entries with a time `since`: the oldest first, and of equally old ones the one that
// was added first. An entry stays when the buffer it names leaves early. It is *stale* then, as
// `is_stale(entry)` tells, and skipped when it is reached. Whenever there are more than `num_kept`
// entries, all stale ones are removed.
template <class Entry>
class age_queue {
  public:
    explicit age_queue(std::size_t num_kept) : num_kept_(num_kept) {}

    template <class IsStale>
    void add(const Entry& entry, const IsStale& is_stale) {
        if (entries_.empty() || entries_.back().since <= entry.since) {
            append_with_reserve(entries_, entry);
        } else {
            with_reserve([&] {
                entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry,
                                                 [](const Entry& a, const Entry& b) {
                                                     return a.since < b.since;
                                                 }),
                                entry);
            });
        }
        if (entries_.size() > num_kept_) forget_stale(is_stale);
    }

    // Removes the oldest that is not stale.
    template <class IsStale>
    std::optional<Entry> take(const IsStale& is_stale) {
        return take_until(INT64_MAX, is_stale);
    }
    // The same, if it is no younger than `limit`.
    template <class IsStale>
    std::optional<Entry> take_until(std::int64_t limit, const IsStale& is_stale) {
        while (!entries_.empty()) {
            const Entry oldest = entries_.front();
            const bool goes = is_stale(oldest);
            if (!goes && oldest.since > limit) return std::nullopt;
            entries_.pop_front();
            if (!goes) return oldest;
        }
        return std::nullopt;
    }
    // Removes the oldest that `chooses` and is not stale.
    template <class Chooses, class IsStale>
    std::optional<Entry> take_if(const Chooses& chooses, const IsStale& is_stale) {
        forget_stale(is_stale);
        const auto found = std::find_if(entries_.begin(), entries_.end(), chooses);
        if (found == entries_.end()) return std::nullopt;
        const Entry result = *found;
        entries_.erase(found);
        return result;
    }

    template <class Chooses, class IsStale>
    std::size_t count_if(const Chooses& chooses, const IsStale& is_stale) {
        forget_stale(is_stale);
        return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), chooses));
    }

    std::size_t size() const noexcept { return entries_.size(); }

  private:
    template <class IsStale>
    void forget_stale(const IsStale& is_stale) {
        std::erase_if(entries_, is_stale);
    }

    std::deque<Entry> entries_;
    std::size_t num_kept_;
};

}  // namespace crossdock

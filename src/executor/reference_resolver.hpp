/// @file
/// @brief In which exchange buffer, and where in it, the items lie that arrive at a rank.
#pragma once

#include <vector>

#include "graph_indices.hpp"
#include "shared_memory_schedule.hpp"

namespace crossdock {

/// @brief Where an item lies.
struct item_reference {
    buffer_number buffer;
    section_number section;
    /// It is a copy of an item of the buffer's rank, which is made if it is requested.
    bool is_input = false;
    slot_number slot;

    friend bool operator==(const item_reference&, const item_reference&) = default;
};

/// @brief Items that lie in consecutive slots of one section.
struct reference_run {
    item_reference first;
    count_t length = 0;

    friend bool operator==(const reference_run&, const reference_run&) = default;
};

/// @brief Consecutive arrived items in [first, end) that lie in consecutive slots of one section.
struct located_run {
    arrived_item first;
    arrived_item end;
    item_reference at_first;

    bool holds(arrived_item item) const noexcept { return item >= first && item < end; }
    item_reference at(arrived_item item) const noexcept {
        item_reference result = at_first;
        result.slot = result.slot + (item - first);
        return result;
    }
};

/// @brief Answers where an arrived item lies, once it has been told.
class reference_resolver {
  public:
    /// @param incoming  borrowed
    explicit reference_resolver(const std::vector<graph_message>& incoming)
        : finder_(incoming), runs_(incoming.size()) {}

    /// @brief Says where the items of a message lie, from `first` on.
    /// @pre items of one message come in ascending order
    void add(incoming_number message, arrived_item first, const reference_run& run) {
        runs_[message].push_back({first, first + run.length, run.first});
    }

    /// @brief The run that holds an item, which must have been added; valid until the next call.
    const located_run& find(arrived_item item);

  private:
    message_finder finder_;
    index_vector<incoming_number, std::vector<located_run>> runs_;
    located_run last_;
};

}  // namespace crossdock

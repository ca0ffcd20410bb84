/// @file
/// @brief What the ranks of a domain tell each other: where items lie, and what one asks of the others.
#pragma once

#include <map>
#include <vector>

#include "exchange_layout.hpp"

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

/// @brief Consecutive slots of a buffer.
struct slot_range {
    slot_number first;
    count_t length = 0;

    friend bool operator==(const slot_range&, const slot_range&) = default;
};

/// @brief Values in consecutive slots of one buffer that go to consecutive slots of another.
struct slot_copy {
    slot_number from;
    slot_number to;
    count_t length = 0;

    friend bool operator==(const slot_copy&, const slot_copy&) = default;
};

/// @brief What a rank shall write into a part in the asking rank's buffer.
struct part_write {
    counter_number counter;            ///< of the part
    buffer_number sender = no_buffer;  ///< of the part, if that is not the asking rank
    std::vector<slot_copy> runs;       ///< from where the written rank has announced its own items

    friend bool operator==(const part_write&, const part_write&) = default;
};

/// @brief What one rank asks of one other.
struct access_request {
    bool is_reader = false;              ///< the asking rank reads what lies in the other's buffer
    std::vector<part_write> writes;      ///< own items that the other shall write into parts
    std::vector<message_part> sends;     ///< stripes that the other shall send
    std::vector<message_part> receives;  ///< stripes that the other shall receive
    std::vector<slot_range> copies;      ///< copies of own items that the other shall make

    friend bool operator==(const access_request&, const access_request&) = default;
};

/// @brief A rank's requests to all others, while they are being collected.
class access_requests {
  public:
    explicit access_requests(exchange_layout& layout) : layout_(layout) {}

    void read(buffer_number of) { find(of).request.is_reader = true; }
    void copy(buffer_number of, slot_number first, count_t length);
    /// @brief Has the owner of `where` write its items into a part of this rank.
    void write(buffer_number owner, outgoing_part_number part, const slot_copy& run);
    void send(buffer_number sender, const message_part& part) {
        find(sender).request.sends.push_back(part);
    }
    void receive(buffer_number receiver, const message_part& part) {
        find(receiver).request.receives.push_back(part);
    }

    /// @brief What was collected, by the rank that is asked.
    std::map<buffer_number, access_request> take();

  private:
    struct collected {
        access_request request;  // without its writes
        std::map<outgoing_part_number, part_write> writes;
    };

    // Mostly the one of the call before.
    collected& find(buffer_number of) {
        if (last_ == nullptr || of != last_of_) last_ = &of_[last_of_ = of];
        return *last_;
    }

    exchange_layout& layout_;
    std::map<buffer_number, collected> of_;
    buffer_number last_of_;
    collected* last_ = nullptr;
};

}  // namespace crossdock

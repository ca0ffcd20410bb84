/// @file
/// @brief How the ranks of a domain find out what each of them reads and writes in memory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/word_message.hpp"
#include "task_fillers.hpp"

namespace crossdock {

/// @brief Compiles one rank's shared-memory schedule together with the other ranks of its domain.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | stage t < num_stages() | `send_references(t)`, then `receive_references(t, …)` | stage t + 1 |
/// | after all stages | `send_access_requests()`, then `receive_access_requests(…)` | requested |
/// | requested | `finish()` | finished |
///
/// In a stage, a rank that would send a message inside the domain tells the receiver where each of
/// its items lies: in whose buffer, in which section and slot. An item that only passes through is
/// referred to where it really is. After the stages, each rank asks the others for the items that
/// it will read, and for those that they shall write into its parts.
///
/// Peers of all messages are numbers in the domain. A rank that shares nothing sends access
/// requests (there are none) and finishes.
class shared_memory_schedule_builder {
  public:
    /// @param domain          borrowed until `finish()`
    /// @param max_part_items  longer messages to other domains are cut; equal on all ranks
    /// @param stripes         as it was for `work`; used in this call only
    shared_memory_schedule_builder(task_graph work, const memory_domain& domain,
                                   count_t max_part_items, const stripe_rule* stripes = nullptr);
    shared_memory_schedule_builder(const shared_memory_schedule_builder&) = delete;
    shared_memory_schedule_builder& operator=(const shared_memory_schedule_builder&) = delete;

    int num_stages() const noexcept { return work_.num_stages; }

    std::vector<word_message> send_references(int stage);
    /// @brief The ranks that send references to this rank in a stage, ascending.
    std::vector<rank_t> reference_sources(int stage) const;
    /// @throws error(errc::internal)  the words are not what `send_references` makes
    void receive_references(int stage, const std::vector<word_message>& inbox);

    std::vector<word_message> send_access_requests();
    /// @throws error(errc::internal)  the words are not what `send_access_requests` makes
    void receive_access_requests(const std::vector<word_message>& inbox);

    /// @brief If the plan has one stage and the domain all ranks, replaces all these: the section and the slot where
    /// this rank's message to each rank of the domain begins; -1 for none.
    ///
    /// Nothing is forwarded or leaves the domain, so that receivers read all of the messages to them.
    std::vector<std::array<std::int64_t, 2>> send_places();
    /// @param places  what each rank of the domain has for this one
    /// @throws error(errc::internal)  a rank that has a message has no place
    void receive_places(std::span<const std::array<std::int64_t, 2>> places);

    shared_memory_schedule finish();

  private:
    void take_writes(buffer_number asking, const std::vector<part_write>& writes);
    void take_tasks();

    task_graph work_;
    const memory_domain& domain_;
    exchange_layout layout_;
    input_copies inputs_;
    reference_resolver where_;
    access_requests requests_;
    item_reader reader_;
    section_filler sections_;
    part_filler parts_;
    std::vector<message_part> receives_, sends_;  // that this rank carries
    std::vector<task_draft> write_tasks_, output_tasks_;
    shared_memory_schedule result_;
};

}  // namespace crossdock

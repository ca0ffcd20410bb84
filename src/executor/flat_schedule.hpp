/// @file
/// @brief A shared-memory schedule's tasks in the form in which they are run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shared_memory_schedule.hpp"

namespace crossdock {

/// @brief A shared-memory schedule's tasks in flat arrays, in the order in which an exchange reads
/// them.
///
/// Where several ranks share a core, an exchange finds the caches cold. Its time then depends on
/// the number of cache lines that it reads besides the items. Here that is one line for each step,
/// and half a line for each task.
///
///     shared_memory_schedule   task 0: copies a, b        task 1: awaits s, copies c
///     flat_schedule  tasks     0 | 1                      each with its ranges
///                    steps     a b | c
///                    awaited   | s
///
/// It refers to the lists of the shared-memory schedule.
struct flat_schedule {
    /// @brief Indices in an array: in constant steps, or as offsets to the first.
    struct index_run {
        count_t first = 0;
        count_t step = 1;
        const std::int32_t* offsets = nullptr;

        index_piece piece(count_t size) const { return {first, step, offsets, size}; }
    };

    /// @brief Values that are copied from one array to one other; or a step that combines.
    struct alignas(64) step {
        index_run from;
        index_run to;
        count_t size = 0;
        buffer_number from_buffer = no_buffer;
        /// An index into `combining_steps`, or -1. If it is one, it alone says what to do.
        int combining = -1;
    };
    static_assert(sizeof(step) == 64);

    /// @brief As `schedule_task`, with ranges of steps and of awaited sections.
    struct task {
        [[no_unique_address]] task_target target;  // the next two use its padding
        bool is_foreign = false;                   ///< waits for other ranks of the domain
        bool sends_alone = false;  ///< fills a part of this rank that waits for nothing else
        int first_step = 0;
        int end_step = 0;
        int first_awaited = 0;
        int end_awaited = 0;
    };
    static_assert(sizeof(task) == 32);

    /// @brief What `schedule_part` says of when a part may be sent.
    struct sent_part {
        buffer_number buffer;
        counter_number counter = no_counter;
        int num_contributors = 0;
        bool is_after_previous = false;
    };

    /// @param work  must outlive it
    explicit flat_schedule(const shared_memory_schedule& work);

    std::vector<task> tasks;
    std::vector<step> steps;
    std::vector<const copy_step*> combining_steps;
    std::vector<section_reference> awaited;
    index_vector<send_number, sent_part> sends;

  private:
    void add(const copy_step& from);
};

}  // namespace crossdock

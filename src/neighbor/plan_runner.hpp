// A plan that is ready to run, in both directions.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "../executor/executor_mpi.hpp"
#include "crossdock/context.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "size_board_mpi.hpp"
#include "trial_runs.hpp"

namespace crossdock {

/// @brief A plan with its tags, its memory and the executors of both directions.
class plan_runner {
  public:
    /// @brief To be opened, and then prepared.
    /// @param compiled  null only where this rank has failed
    /// @param options  without zeros that stand for defaults
    plan_runner(const context& where, std::shared_ptr<const plan> compiled,
                const neighbor_options& options);

    /// @brief Reserves tags, and finds the memory.
    /// @param num_stages  of the plan
    /// Collective; blocks where it is the communicator's first, or the first on such nodes.
    void open(int num_stages);

    /// @brief Another runner of the same plan, which is not prepared yet; it shares the schedules
    /// that are made.
    /// Collective as the constructor.
    std::unique_ptr<plan_runner> twin() const;

    /// @brief Gives the tags back, unless an exchange is active.
    ~plan_runner();
    plan_runner(const plan_runner&) = delete;
    plan_runner& operator=(const plan_runner&) = delete;

    /// @brief The tags are never used again: others may send what this rank does not receive.
    void keep_tags() noexcept { tags_.keep(); }

    const std::shared_ptr<const plan>& compiled() const noexcept { return plan_; }
    const communicator& comm() const noexcept { return where_.comm(); }
    const context& where() const noexcept { return where_; }
    const neighbor_options& options() const noexcept { return options_; }
    const topology& regions() const noexcept { return where_.topology(); }

    /// @brief Prepares the directions that the options ask for, for items of a size. What needs no
    /// other rank waits for the first start in reverse. The last `most_sizes` sizes of a direction
    /// stay prepared.
    /// @param fault  what this rank has failed with before
    /// @return what it has failed with now; the ranks are yet to agree
    /// Collective over the ranks that share memory.
    std::optional<error> prepare(preparation what, std::size_t item_bytes,
                                 std::optional<error> fault = std::nullopt) noexcept {
        if (what == preparation::lazy) return fault;
        return make_ready(true, asks_for_reverse(what), item_bytes, std::move(fault));
    }

    /// @brief As above, both directions now, even where nothing is shared.
    std::optional<error> prepare_both(std::size_t item_bytes) noexcept {
        return make_ready(true, true, item_bytes, std::nullopt);
    }

    /// @brief Prepares a direction that is not ready for items of a size, and what the options ask for as well.
    /// @return why this rank can start an empty exchange only: ranks of its node cannot share memory, but have to
    /// Collective over the ranks that share memory.
    std::optional<error> prepare_at_start(direction to, preparation what, std::size_t item_bytes);

    bool is_ready(direction to, std::size_t item_bytes) {
        return state_of(to).has_ready(item_bytes);
    }

    /// @brief Whether this rank's messages are cut into the same parts with items of either size.
    bool has_equal_parts(std::size_t item_bytes, std::size_t other_bytes) const;

    /// @brief After some rank has failed to prepare, and all know.
    void forget_prepared() noexcept {
        forward_.sizes.clear();
        backward_.sizes.clear();
    }

    /// @brief Says that the next exchange has items of this size, before it is prepared or started; 0: this
    /// rank does not know.
    void post_size(std::size_t item_bytes) noexcept { sizes_.post(item_bytes); }
    /// @brief The size that ranks which share memory have posted, or 0 if none of them knows; waits for the
    /// first that knows.
    std::size_t find_size() const { return sizes_.find(comm()); }

    /// @brief Starts an exchange in a direction, with items of the size that it was prepared for
    /// last.
    /// @return what completes it
    executor& start(direction to, const void* input, void* output, combine_function&& combine) {
        auto& runner = *state_of(to).sizes.back().runner;
        runner.start(input, output, std::move(combine));
        return runner;
    }

    /// @brief As above, an empty exchange.
    executor& start_empty(direction to, rank_t failed, bool knows_size) {
        auto& runner = *state_of(to).sizes.back().runner;
        runner.start_empty(failed, knows_size);
        return runner;
    }

    /// @brief Whom the executor that is started next tells what this rank does; null: nobody.
    void watch(direction to, exchange_watch* details) {
        state_of(to).sizes.back().runner->watch(details);
    }

  private:
    static constexpr std::size_t most_sizes = 8;

    // The choices that a shared-memory schedule depends on.
    struct schedule_kind {
        count_t max_part_items = 0;
        bool is_shared = false;

        friend bool operator==(const schedule_kind&, const schedule_kind&) = default;
    };
    // What runs a direction with items of one size.
    struct sized_runner {
        std::size_t item_bytes;
        schedule_kind kind = {};
        std::shared_ptr<const shared_memory_schedule> work = nullptr;
        std::unique_ptr<executor> runner = nullptr;  // null: not ready
        bool is_makeshift = false;                   // for one empty exchange
    };
    // One direction of the plan. Its runners are never active at once, and share its tags.
    struct direction_state {
        direction to;
        int first_tag = 0;
        std::vector<sized_runner> sizes = {};  // the last used at the end

        // Whether there is a runner for the size, which then is at the end.
        bool has_ready(std::size_t item_bytes) {
            if (sizes.empty() || sizes.back().item_bytes != item_bytes) find(item_bytes);
            return !sizes.empty() && sizes.back().item_bytes == item_bytes && sizes.back().runner &&
                   !sizes.back().is_makeshift;
        }
        bool is_active() const {
            return !sizes.empty() && sizes.back().runner && sizes.back().runner->is_active();
        }
        void find(std::size_t item_bytes);
        void make_room(std::size_t item_bytes);
    };

    direction_state& state_of(direction to) noexcept {
        return to == direction::forward ? forward_ : backward_;
    }
    bool must_share() const { return memory_use_ == memory_use::required; }
    // Whether ranks prepare a direction together: they tell each other where items will lie.
    bool prepares_together() const { return memory_ || must_share(); }
    bool asks_for_reverse(preparation what) const {
        return what == preparation::both && prepares_together();
    }
    count_t max_part_items(std::size_t item_bytes) const;
    std::optional<error> make_ready(bool forward, bool reverse, std::size_t item_bytes,
                                    std::optional<error> fault, bool is_alone = false) noexcept;
    std::optional<error> make_runners(const std::array<direction_state*, 2>& wanted,
                                      const std::shared_ptr<node_memory>& with,
                                      std::size_t item_bytes, std::optional<error> fault);
    std::optional<error> build_schedules(const std::array<direction_state*, 2>& wanted,
                                         const std::shared_ptr<node_memory>& with,
                                         std::size_t item_bytes, std::optional<error> fault);

    context where_;
    std::shared_ptr<const plan> plan_;
    neighbor_options options_;
    memory_use memory_use_;
    std::shared_ptr<node_memory> memory_;  // null where nothing is shared
    size_board sizes_;
    int num_stages_ = 0;
    tag_block tags_;
    direction_state forward_{direction::forward};
    direction_state backward_{direction::reverse};
};

}  // namespace crossdock

// One method of a gather-scatter on one route, ready to run.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../base/exchange_watch.hpp"
#include "crossdock/context.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "gather_lists.hpp"

namespace crossdock {

/// @brief The plans of a method; null where no rank sends anything.
struct gather_plans {
    bool by_owners = true;
    std::string route;
    std::shared_ptr<const plan> to_holders = nullptr;    ///< from owners, or between holders
    std::shared_ptr<const plan> to_unflagged = nullptr;  ///< the same one where nothing is flagged
};

/// @brief Its exchanges.
class gathering {
  public:
    /// @param whole  in which its exchanges are counted; may be null
    gathering(const context& where, std::shared_ptr<const gather_lists> lists, gather_plans plans,
              const neighbor_options& options, std::shared_ptr<watched_object> whole)
        : where_(where),
          lists_(std::move(lists)),
          plans_(std::move(plans)),
          options_(options),
          whole_(std::move(whole)) {}

    /// @brief Another one with the same plans, prepared for items of the options' size.
    /// Collective as `prepare`.
    std::unique_ptr<gathering> twin() const {
        auto made = with_reserve(
            [&] { return std::make_unique<gathering>(where_, lists_, plans_, options_, whole_); });
        made->prepare(options_.item_bytes);
        return made;
    }

    const gather_plans& plans() const noexcept { return plans_; }

    /// @brief What this rank sends in one operation.
    traffic statistics() const;

    /// @brief Makes items of a size ready, unless they are.
    /// Collective; the first time as `neighbor_exchange`, then as a start.
    void prepare(std::size_t item_bytes);

    /// @brief The size of what starts now: as given, or if that is 0 what ranks that share memory say; 0 if none knows.
    /// Collective over the ranks that share memory; where the size is not given, waits for the first that knows.
    std::size_t find_size(std::size_t item_bytes);

    /// @brief Starts an operation on values of a size that is prepared.
    /// @param knows_size  whether the others' values have this size, too
    /// @param fault       why this rank gives nothing; null if it gives its values
    /// @return whether `advance` has something to do for others before the operation is complete
    bool start(value_arrays values, std::size_t item_bytes, bool knows_size, bool transposed,
               std::exception_ptr fault);

    /// @brief Why this rank takes part in the present operation without values, or null.
    const std::exception_ptr& fault() const noexcept { return fault_; }

    /// @brief Whether no exchange is under way any more.
    bool is_over() const noexcept { return !up_ && !(down_ && down_->is_active()); }

    /// @brief Does what can be done without waiting for the first half of an operation.
    /// @return whether that is over
    bool advance();

    /// @brief True if the operation is complete and its results are in place.
    /// @throws error(errc::peer_failed), or what combining threw here; the operation is over
    bool test();
    void wait();

  private:
    // Made by the first `prepare`.
    struct exchanges {
        std::optional<neighbor_exchange> to_holders;
        std::optional<neighbor_exchange> separate_to_unflagged;
    };

    neighbor_exchange* exchange_to_holders();
    neighbor_exchange* exchange_to_unflagged();
    exchanges make_exchanges(std::size_t item_bytes) const;
    bool is_in_place() const;
    combine_function combine_items() const;
    void gather();
    void start_empty(neighbor_exchange& half, bool is_reverse);
    void start_up();
    void start_down();
    void fail();
    bool completes(neighbor_exchange& one, bool waits);
    void merge_holders();
    void finish();

    context where_;
    std::shared_ptr<const gather_lists> lists_;
    gather_plans plans_;
    neighbor_options options_;
    std::shared_ptr<watched_object> whole_;  // null: nothing is measured
    std::optional<exchanges> exchanges_;
    std::vector<std::byte> other_values_;
    std::vector<std::byte> work_;  // empty as long as operations take place in the user's array

    // Of the present operation.
    value_arrays values_;
    std::size_t item_bytes_ = 0;
    bool knows_size_ = true;
    bool transposed_ = false;
    std::exception_ptr fault_;
    rank_t failed_ = 0;  // whose fault it is, if there is one
    std::span<std::byte> items_;
    neighbor_exchange* up_ = nullptr;
    neighbor_exchange* down_ = nullptr;
};

}  // namespace crossdock

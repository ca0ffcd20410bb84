/// @file
/// @brief Requests for the same entries of a distributed array, again and again.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "crossdock/detail/array/array_engine_mpi.hpp"
#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief The values of prepared requests, where their entries are.
///
///     entry 0 requested by rank 1, entry 1 by ranks 0 and 2     offsets 0 1 3   values v1 v0 v2
template <item_type T>
struct gathered_values {
    std::vector<count_t> offsets;  ///< by entry of this rank, and the end
    std::vector<T> values;         ///< of an entry's requests by rank, then in the rank's order
};

/// @brief Requests compiled into a plan: no header travels any more.
///
/// | state | legal calls | next |
/// |---|---|---|
/// | idle | all but `test`, `wait` | `start_read`, `start_update`: active |
/// | active | `test`, `wait` | `test` that returns true, `wait`: idle |
/// | moved from | destruction, assignment; other calls throw error(errc::invalid_state) | |
///
/// It may outlive the array, which may be closed, too; the entries live as long as either. The
/// communicator stays open.
///
/// Several prepared batches of an array may be active at once if none of them updates. All rules of
/// `neighbor_exchange` hold: in particular, where an array is too short on one rank, the ranks that
/// need something of it get errc::peer_failed, and an operation must not throw. An operation of
/// another batch must not start one.
///
/// | PetscSF | here |
/// |---|---|
/// | a root, a leaf | an entry, a request |
/// | bcast | `read` |
/// | reduce | `update` |
/// | fetch-and-op | `fetch_and_update` |
/// | gather, scatter | `gather`, `scatter` |
/// | degree | `gather`'s offsets |
template <item_type T>
class prepared_batch {
  public:
    /// @brief As `distributed_array::prepare`.
    prepared_batch(std::shared_ptr<array_engine> engine, std::span<const count_t> indices)
        : engine_(std::move(engine)), exchange_(prepare(indices)) {}
    prepared_batch(prepared_batch&&) noexcept = default;
    prepared_batch& operator=(prepared_batch&&) noexcept = default;

    count_t num_requests() const noexcept { return static_cast<count_t>(indices_.size()); }

    /// @brief The plan: forward it reads, in reverse it updates.
    const crossdock::plan& plan() const { return exchange_.plan(); }

    /// @brief out[k] = the entry of request k.
    /// @par Collective
    /// Yes; blocks.
    void read(std::span<T> out) {
        start_read(out);
        wait();
    }

    /// @brief Starts to read; returns without waiting for anyone.
    /// @param out  must not be read, nor may the array change, until the batch is complete
    /// @par Collective
    /// Yes; does not block.
    void start_read(std::span<T> out) {
        engine().require_no_batch();
        exchange_.start(std::span<const T>(entries()), out);
        engine().add_active(1);
    }

    /// @brief The entry of request k = op(it, values[k]), for all k on all ranks.
    /// @param op  associative and commutative; must not throw
    /// @par Collective
    /// Yes; blocks.
    template <combine_operation<T> Op>
    void update(std::span<const T> values, Op op) {
        start_update(values, std::move(op));
        wait();
    }

    /// @brief Starts to update; returns without waiting for anyone.
    /// @param values  must stay, unchanged, until the batch is complete
    /// @par Collective
    /// Yes; does not block.
    template <combine_operation<T> Op>
    void start_update(std::span<const T> values, Op op) {
        engine().require_no_batch();
        exchange_.start_reverse(values, entries(), std::move(op));
        engine().add_active(1);
    }
    /// @brief A temporary would be gone before the batch is complete.
    template <temporary_range Values, class Op>
    void start_update(Values&& values, Op op) = delete;

    /// @brief Makes progress without waiting; true if the batch is complete.
    /// @par Collective
    /// No.
    [[nodiscard]] bool test() {
        const active_batch present(*this);
        return exchange_.test();
    }

    /// @brief Completes the batch.
    /// @par Collective
    /// No, but waits for those it exchanges with.
    void wait() {
        const active_batch present(*this);
        exchange_.wait();
    }

    bool is_active() const noexcept { return exchange_.is_active(); }

    /// @brief Brings the values of all requests to where their entries are, each by itself.
    /// @par Collective
    /// Yes; blocks. The first call of `gather`, `scatter` or `fetch_and_update` plans a second
    /// exchange, in which nothing is combined.
    gathered_values<T> gather(std::span<const T> values);

    /// @brief Brings a value to each request: the reverse of `gather`.
    /// @param gathered  of the length and order of `gather`'s values
    /// @par Collective
    /// Yes; blocks.
    void scatter(std::span<const T> gathered, std::span<T> out);

    /// @brief The entry of request k = op(it, values[k]); out[k] = what it was just before.
    ///
    /// Requests for one entry take effect one after the other: by rank, then in the rank's order.
    /// @par Collective
    /// Yes; blocks.
    /// @par Complexity
    /// All requests for an entry are handled by its owner.
    template <combine_operation<T> Op>
    void fetch_and_update(std::span<const T> values, std::span<T> out, Op op);

  private:
    // In a call that goes on with the batch: notes at its end, by an exception too, if that is over.
    class active_batch {
      public:
        explicit active_batch(prepared_batch& of)
            : engine_(of.engine()), exchange_(of.exchange_), was_active_(exchange_.is_active()) {}
        ~active_batch() {
            if (was_active_ && !exchange_.is_active()) engine_.add_active(-1);
        }
        active_batch(const active_batch&) = delete;
        active_batch& operator=(const active_batch&) = delete;

      private:
        array_engine& engine_;
        const neighbor_exchange& exchange_;
        bool was_active_;
    };

    // Keeps the indices, and prepares them; without memory for them it fails on all ranks.
    neighbor_exchange prepare(std::span<const count_t> indices) {
        std::optional<error> fault;
        try {
            indices_.assign(indices.begin(), indices.end());
        } catch (...) {
            fault = current_error();
        }
        return engine().prepare(indices, fault);
    }

    array_engine& engine() const {
        if (!engine_) [[unlikely]]
            throw error(errc::invalid_state, "the prepared batch was moved from");
        return *engine_;
    }
    std::span<T> entries() const {
        return {reinterpret_cast<T*>(engine().entries()),
                static_cast<std::size_t>(exchange_.plan().num_items())};
    }
    multi_sf& to_owners();

    std::shared_ptr<array_engine> engine_;
    std::vector<count_t> indices_;
    neighbor_exchange exchange_;
    std::optional<multi_sf> to_owners_;
};

template <item_type T>
multi_sf& prepared_batch<T>::to_owners() {
    engine().require_no_batch();
    if (!to_owners_) to_owners_.emplace(plan_uncombined(engine(), indices_));
    return *to_owners_;
}

template <item_type T>
gathered_values<T> prepared_batch<T>::gather(std::span<const T> values) {
    multi_sf& sf = to_owners();
    gathered_values<T> result{sf.offsets,
                              std::vector<T>(static_cast<std::size_t>(sf.offsets.back()))};
    sf.requests.forward(values, std::span<T>(result.values));
    return result;
}

template <item_type T>
void prepared_batch<T>::scatter(std::span<const T> gathered, std::span<T> out) {
    to_owners().requests.reverse(gathered, out, replace());
}

template <item_type T>
template <combine_operation<T> Op>
void prepared_batch<T>::fetch_and_update(std::span<const T> values, std::span<T> out, Op op) {
    auto [offsets, gathered] = gather(values);
    const auto all = entries();
    for (std::size_t e = 0; e < all.size(); ++e) {
        for (count_t k = offsets[e]; k < offsets[e + 1]; ++k) {
            T& value = gathered[static_cast<std::size_t>(k)];
            value = std::exchange(all[e], static_cast<T>(op(all[e], value)));
        }
    }
    scatter(std::span<const T>(gathered), out);
}

}  // namespace crossdock

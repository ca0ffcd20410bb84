// A distributed array of items of which only the size is known.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "crossdock/block_partition.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/detail/array/array_statistics.hpp"
#include "crossdock/detail/array/combining.hpp"
#include "crossdock/detail/array/value_operation.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/executor/operations_mpi.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What carries the requests of a batch.
enum class array_transport {
    routed,  ///< a route, with requests combined on the way
    plain,   ///< MPI_Alltoallv, once for requests and once for replies; combines nothing
    /// MPI_Get and MPI_Accumulate for each request; what MPI has no operation for is done by one rank after the other.
    rma,
};

/// @brief What a distributed array is, but for its type. Equal on all ranks but for `num_local`.
struct array_settings {
    std::optional<count_t> num_local;  ///< this rank's part; unset on all ranks: blocks
    std::string route = "auto";
    count_t expected_requests = default_expected_requests;
    combining_options combine;
    array_transport transport = array_transport::routed;
    bool reproducible = false;
    std::string name = "";
};

/// @brief MPI's datatype of an arithmetic type; MPI_DATATYPE_NULL for others.
template <class T>
MPI_Datatype predefined_datatype() {
    if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
    if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
    if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>) return MPI_DATATYPE_NULL;
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
        case 1: return is_signed ? MPI_INT8_T : MPI_UINT8_T;
        case 2: return is_signed ? MPI_INT16_T : MPI_UINT16_T;
        case 4: return is_signed ? MPI_INT32_T : MPI_UINT32_T;
        case 8: return is_signed ? MPI_INT64_T : MPI_UINT64_T;
        default: return MPI_DATATYPE_NULL;
    }
}

/// @brief An MPI operation that does the same as an operation on a type, with all values; null where there is none.
struct predefined_operation {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op operation = MPI_OP_NULL;
};

/// @brief The MPI operation of one of the library's operations on an arithmetic type; values of others can be replaced,
/// byte by byte.
template <class T, class Op>
predefined_operation predefined_for() {
    predefined_operation result{predefined_datatype<T>(), MPI_OP_NULL};
    for_each_operation<T>([&](const auto& one) {
        if (std::is_same_v<decltype(one.apply), Op> && one.is_mpis) result.operation = one.in_mpi;
    });
    if (std::is_same_v<Op, replace>) {
        result.operation = MPI_REPLACE;
        if (result.type == MPI_DATATYPE_NULL) result.type = MPI_BYTE;
    }
    return result;
}

/// @brief Writes or updates of a batch.
struct array_changes {
    std::span<const count_t> indices;
    const std::byte* values = nullptr;           ///< travelling values
    const value_operation* operation = nullptr;  ///< null: there are none on any rank
    predefined_operation predefined;
};

/// @brief What one rank asks of an array. All writes come before all updates, and these before reads.
struct array_batch {
    array_changes writes;
    array_changes updates;
    std::span<const count_t> reads;
    std::byte* out = nullptr;                   ///< room for one entry for each of `reads`
    bool has_reads = false;                     ///< on any rank; equal on all
    std::optional<error> fault = std::nullopt;  ///< what made the rest unusable, if anything did

    /// @brief Does a part of what makes the batch; what that throws becomes the fault.
    template <class Part>
    void attempt(Part&& part) noexcept {
        try {
            part();
        } catch (...) {
            fault = current_error();
        }
    }
};

/// @brief The entries of a distributed array as bytes, and what carries requests to them. What `distributed_array` is
/// made of; the calls are described there, and collective as there.
class array_engine {
  public:
    array_engine(const context& where, count_t num_entries, const array_settings& settings,
                 std::size_t item_bytes, const std::source_location& place = {});
    ~array_engine();
    array_engine(const array_engine&) = delete;
    array_engine& operator=(const array_engine&) = delete;

    const context& where() const noexcept;
    const communicator& comm() const noexcept { return where().comm(); }
    const block_partition& owners() const noexcept;
    /// @brief The name of the route that the last batch took, or else the first one will.
    const std::string& route() const noexcept;
    std::byte* entries() const noexcept;
    std::size_t item_bytes() const noexcept;
    const array_statistics& statistics() const noexcept;

    /// @throws error(errc::invalid_state)  a batch is running, whose operation must not make requests
    void require_no_batch() const;
    /// @throws error(errc::invalid_state)  as above; or the array or its context is closed
    void require_open() const;
    /// @brief What is wrong with this rank's arguments, if anything is.
    std::optional<error> length_fault(std::size_t num_indices, std::size_t num_values) const;

    void run(const array_batch& batch);

    /// @brief Sends requests to their owners and keeps their routing.
    /// @param kept  receives the indices, unless null
    /// @return its items are this rank's entries, its slots the requests
    neighbor_exchange prepare(std::span<const count_t> indices,
                              std::vector<count_t>* kept = nullptr);

    /// @brief How what carries prepared batches is set up: for both directions.
    neighbor_options exchange_options() const;

    /// @brief Counts the prepared batches that are active.
    void add_active(int change) noexcept;

    /// @brief The array is destroyed with requests that are queued.
    void note_lost(std::size_t num_requests) const noexcept;

    void close();

  private:
    struct CROSSDOCK_HIDDEN implementation;

    std::optional<error> state_fault() const;
    void run_rma(const array_batch& batch);
    template <class Batch>
    auto keeping_tags_on_error(Batch&& batch);

    std::unique_ptr<implementation> state_;
};

/// @brief Requests for the same entries, made again and again. What `prepared_batch` is made of, which describes the
/// calls.
class prepared_requests {
  public:
    prepared_requests(std::shared_ptr<array_engine> engine, std::span<const count_t> indices);

    array_engine& engine() const;
    const crossdock::plan& plan() const { return exchange_.plan(); }
    count_t num_requests() const noexcept { return static_cast<count_t>(indices_.size()); }
    /// @brief This rank's entries.
    std::span<std::byte> entries() const;

    /// @brief Calls `start(exchange)`, which starts one: forward it reads, in reverse it updates.
    template <class Start>
    void start(Start&& start) {
        engine().require_no_batch();
        start(exchange_);
        engine().add_active(1);
    }
    /// @brief As `neighbor_exchange::fail_start`.
    void fail_start(bool is_update, std::size_t item_bytes, const error& why) {
        exchange_.fail_start(is_update, item_bytes, why);
    }
    bool test();
    void wait();
    bool is_active() const noexcept { return exchange_.is_active(); }
    bool is_unfinished() const noexcept { return exchange_.is_unfinished(); }

    /// @brief By entry of this rank, its first place among what is gathered, and the end.
    const std::vector<count_t>& offsets();
    /// @brief Calls `part`, which `gather`, or in reverse `scatter`, needs; the others hear of what it throws, which is
    /// made an `error`.
    template <class Part>
    auto part_of_start(bool is_reverse, Part&& part) {
        try {
            return part();
        } catch (...) {
            const error why = current_error();
            to_owners().requests.fail_start(is_reverse, engine().item_bytes(), why);
            throw why;
        }
    }
    void gather(std::span<const std::byte> values, std::span<std::byte> gathered);
    void scatter(std::span<const std::byte> gathered, std::span<std::byte> out);

    /// @brief Calls `exchange(e, value)` for every value of every entry e, which brings it into the entry and makes it
    /// what the entry was just before.
    template <class Exchange>
    void exchange_each(std::span<const std::byte> values, std::span<std::byte> out,
                       Exchange&& exchange) {
        const auto& ends = offsets();
        const std::size_t item_bytes = engine().item_bytes();
        std::vector<std::byte> gathered;
        // Whoever cannot do the first half fails in the second, too, for which others may wait already.
        part_of_start(true, [&] {
            part_of_start(false, [&] {
                gathered.resize(static_cast<std::size_t>(ends.back()) * item_bytes);
            });
            gather(values, gathered);
            std::byte* value = gathered.data();
            for (std::size_t e = 0; e + 1 < ends.size(); ++e) {
                for (count_t k = ends[e]; k < ends[e + 1]; ++k, value += item_bytes)
                    exchange(e, value);
            }
        });
        scatter(gathered, out);
    }
    void fetch_and_update(std::span<const std::byte> values, std::span<std::byte> out,
                          const value_operation& update);

  private:
    // Where requests go if nothing is combined: for each its own place at the owner.
    struct multi_sf {
        std::vector<count_t> offsets;
        neighbor_exchange requests;  // its items are the requests, its slots the places
    };

    multi_sf& to_owners();

    std::shared_ptr<array_engine> engine_;
    std::vector<count_t> indices_;
    neighbor_exchange exchange_;
    std::optional<multi_sf> to_owners_;  // once it is needed
};

}  // namespace crossdock

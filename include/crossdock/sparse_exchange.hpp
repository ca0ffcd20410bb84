/// @file
/// @brief The sparse data exchange: a rank knows to whom it sends, not who sends to it.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Messages of one size, the same on all ranks.
///
///     count 2, destinations {3, 0}, values {a b, c d}:   a b to rank 3, c d to rank 0
template <class T>
struct constant_messages {
    std::span<const rank_t> destinations;
    count_t count = 1;          ///< values per message
    std::span<const T> values;  ///< `count` for each destination, one after the other
};

/// @brief Messages of any size.
///
///     destinations {3, 0}, counts {1, 2}, displacements {2, 0}, values {a b c}:
///     c to rank 3, a b to rank 0
template <class T>
struct variable_messages {
    std::span<const rank_t> destinations;
    std::span<const count_t> counts;  ///< values for each destination
    /// Where each destination's values start; empty: one after the other.
    std::span<const count_t> displacements;
    std::span<const T> values;
};

/// @brief `constant_messages` of an MPI datatype; with a bare pointer, as MPI has it.
struct constant_datatype_messages {
    std::span<const rank_t> destinations;
    count_t count = 1;
    const void* values = nullptr;               ///< one after the other, in extents
    MPI_Datatype datatype = MPI_DATATYPE_NULL;  ///< its size must be equal on all ranks
};

/// @brief `variable_messages` of an MPI datatype.
struct variable_datatype_messages {
    std::span<const rank_t> destinations;
    std::span<const count_t> counts;
    std::span<const count_t> displacements;  ///< in extents; empty: one after the other
    const void* values = nullptr;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;  ///< its size must be equal on all ranks
};

/// @brief Whose messages came, and where they lie.
///
///     sources {1, 1, 4}, counts {2, 0, 1}, displacements {0, 2, 2}, values {a b c}
struct received_messages {
    std::vector<rank_t> sources;
    std::vector<count_t> counts;         ///< values from each source
    std::vector<count_t> displacements;  ///< where each source's values start

    std::size_t num_messages() const noexcept { return sources.size(); }
};

/// @brief What came, values one after the other.
///
///     for (const auto& [source, values] : received) ...
template <class T>
struct received : received_messages {
    std::vector<T> values;

    /// @brief A message that came, and from whom.
    struct message_from {
        rank_t source;
        std::span<const T> values;
    };

    /// @brief The values of one message.
    std::span<const T> message(std::size_t index) const {
        return std::span(values).subspan(static_cast<std::size_t>(displacements[index]),
                                         static_cast<std::size_t>(counts[index]));
    }

    /// @brief Goes through the messages in their order.
    class iterator {
      public:
        using value_type = message_from;
        using difference_type = std::ptrdiff_t;

        iterator() = default;
        iterator(const received& all, std::size_t index) : all_(&all), index_(index) {}

        message_from operator*() const { return {all_->sources[index_], all_->message(index_)}; }
        iterator& operator++() {
            ++index_;
            return *this;
        }
        iterator operator++(int) { return {*all_, index_++}; }
        friend bool operator==(const iterator& a, const iterator& b) {
            return a.index_ == b.index_;
        }

      private:
        const received* all_ = nullptr;
        std::size_t index_ = 0;
    };

    iterator begin() const { return {*this, 0}; }
    iterator end() const { return {*this, sources.size()}; }
};

/// @brief What came, values of an MPI datatype one extent after the other.
struct received_datatype : received_messages {
    std::vector<std::byte> values;
};

/// @brief A contiguous range of integers of 32 or 64 bits, or a list of them in braces.
///
///     std::vector<int>, std::array<rank_t, 2>, std::span<const std::int64_t>, {3, 0}
class integer_range {
  public:
    integer_range(std::initializer_list<count_t> numbers)
        : integer_range(std::span(numbers.begin(), numbers.size())) {}
    template <std::ranges::contiguous_range Range>
    requires(std::ranges::sized_range<Range> &&
             (std::is_same_v<std::ranges::range_value_t<Range>, int> ||
              (std::is_integral_v<std::ranges::range_value_t<Range>> &&
               std::is_signed_v<std::ranges::range_value_t<Range>> &&
               sizeof(std::ranges::range_value_t<Range>) == sizeof(count_t))))
        integer_range(const Range& numbers)
        : data_(std::ranges::data(numbers)),
          size_(std::ranges::size(numbers)),
          is_narrow_(sizeof(*std::ranges::data(numbers)) == sizeof(int)) {}

    std::size_t size() const noexcept { return size_; }
    count_t operator[](std::size_t i) const {
        count_t wide = 0;
        if (is_narrow_) return static_cast<const int*>(data_)[i];
        std::memcpy(&wide, static_cast<const count_t*>(data_) + i, sizeof wide);  // long, long long
        return wide;
    }

  private:
    const void* data_;
    std::size_t size_;
    bool is_narrow_;
};

namespace exchange_detail {

// Values are made before they are filled, in a vector whose memory holds them.
template <class T>
inline constexpr bool is_exchangeable =
    std::is_trivially_copyable_v<T>&& std::is_default_constructible_v<T> &&
    !std::is_same_v<T, bool>;

// Bytes in place of values. Faults are left to the exchange, which tells all ranks.
bytes_to_send constant_bytes_to_send(std::span<const rank_t> destinations, count_t count,
                                     std::span<const std::byte> values, std::size_t item_bytes);
bytes_to_send variable_bytes_to_send(std::span<const rank_t> destinations,
                                     std::span<const count_t> counts,
                                     std::span<const count_t> displacements,
                                     std::span<const std::byte> values, std::size_t item_bytes);
bytes_to_send listed_bytes_to_send(const integer_range& destinations, const integer_range& counts,
                                   std::span<const std::byte> values, std::size_t item_bytes);

// Sources, counts and displacements of what came.
received_messages arrangement(const byte_inbox& inbox, std::size_t item_bytes);

template <class T>
received<T> arrange(const byte_inbox& inbox) {
    received<T> result{arrangement(inbox, sizeof(T)), {}};
    with_reserve(
        [&] { result.values.resize(static_cast<std::size_t>(inbox.num_bytes()) / sizeof(T)); });
    inbox.copy_to(reinterpret_cast<std::byte*>(result.values.data()));
    return result;
}

}  // namespace exchange_detail

/// @brief Delivers messages of one size. T is trivially copyable and default constructible, and not bool.
///
/// Several messages to one destination arrive as several, in the order given; so do messages without values, and those
/// to the rank itself. All arguments are borrowed for the call. These functions are collective as `exchange_bytes`, and
/// throw on all ranks or on none, also what that throws.
/// @throws error(errc::size_mismatch)  `values` is shorter than the messages
/// @throws error(errc::count_mismatch) `count` differs between ranks
/// @par Source
/// \cite geyko2024sdde (MPIX_Alltoall_crs)
template <class T>
[[nodiscard]] received<T> sparse_exchange(const context& where,
                                          const constant_messages<T>& messages,
                                          const exchange_options& options = {}) {
    static_assert(exchange_detail::is_exchangeable<T>);
    const auto to_send = exchange_detail::constant_bytes_to_send(
        messages.destinations, messages.count, std::as_bytes(messages.values), sizeof(T));
    return exchange_detail::arrange<T>(exchange_bytes(where, to_send, options));
}

/// @brief Delivers messages of any size.
/// @throws error(errc::size_mismatch)      arrays disagree in length
/// @throws error(errc::invalid_argument)   a count or displacement is negative
/// @par Source
/// \cite geyko2024sdde (MPIX_Alltoallv_crs)
template <class T>
[[nodiscard]] received<T> sparse_exchange(const context& where,
                                          const variable_messages<T>& messages,
                                          const exchange_options& options = {}) {
    static_assert(exchange_detail::is_exchangeable<T>);
    const auto to_send = exchange_detail::variable_bytes_to_send(
        messages.destinations, messages.counts, messages.displacements,
        std::as_bytes(messages.values), sizeof(T));
    return exchange_detail::arrange<T>(exchange_bytes(where, to_send, options));
}

/// @brief As above: `counts[i]` of `values`, one after the other, to rank `destinations[i]`.
///
///     for (const auto& [source, items] : sparse_exchange(world, {3, 0}, {1, 2}, values)) ...
/// @param values  a contiguous range of T; temporaries will do for all ranges
template <std::ranges::contiguous_range Values>
[[nodiscard]] auto sparse_exchange(const context& where, const integer_range& destinations,
                                   const integer_range& counts, const Values& values,
                                   const exchange_options& options = {}) {
    using T = std::ranges::range_value_t<Values>;
    static_assert(exchange_detail::is_exchangeable<T>);
    const auto to_send = exchange_detail::listed_bytes_to_send(
        destinations, counts, std::as_bytes(std::span(values)), sizeof(T));
    return exchange_detail::arrange<T>(exchange_bytes(where, to_send, options));
}

/// @brief Delivers values of a committed MPI datatype, which need not be contiguous.
/// @return values at the same places of their extent as they were sent from; gaps are zero
/// @throws error(errc::invalid_argument)  `datatype` is MPI_DATATYPE_NULL, or has no bytes
[[nodiscard]] received_datatype sparse_exchange(const context& where,
                                                const constant_datatype_messages& messages,
                                                const exchange_options& options = {});
[[nodiscard]] received_datatype sparse_exchange(const context& where,
                                                const variable_datatype_messages& messages,
                                                const exchange_options& options = {});

}  // namespace crossdock

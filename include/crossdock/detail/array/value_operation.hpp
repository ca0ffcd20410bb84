// Operations on values whose type only the caller of a batch knows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <typeinfo>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/operation.hpp"
#include "crossdock/types.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief A position among combined requests; a rank handles fewer than 2^32 of a batch at a time.
using position_t = std::uint32_t;

/// @brief What a batch of writes or updates does with its values. *Travelling values* are what requests carry; they may
/// say more than an entry, such as who wrote it.
class value_operation {
  public:
    virtual ~value_operation() = default;

    /// @brief Bytes of a travelling value.
    virtual std::size_t value_bytes() const noexcept = 0;

    /// @brief Whether the user's part of it may throw.
    virtual bool may_throw() const noexcept = 0;

    /// @brief Whether values that meet at the owner must be combined before they are applied there.
    virtual bool combines_at_owner() const noexcept = 0;

    /// @brief Names the operation and its types; equal on all ranks of one program.
    virtual const char* name() const noexcept = 0;

    /// @brief Makes all values what changes nothing, if the operation has it.
    /// @return whether it has; else `combine` needs to know what is set
    virtual bool fill_with_identity(std::byte* values, std::size_t count) const noexcept = 0;

    /// @brief into[p] = op(into[p], from[k]) for every k in order, p = positions[k]; a plain copy where p is not set
    /// yet.
    /// @param is_set     by position; not read if the values were filled with the identity
    /// @param failed_at  the k where the operation threw, if it did
    virtual void combine(std::byte* into, std::uint8_t* is_set, const std::byte* from,
                         std::span<const position_t> positions, std::size_t& failed_at) const = 0;

    /// @brief Brings travelling values into the entries at `offsets`, in order.
    /// @param failed_at  as for `combine`
    virtual void apply(std::byte* entries, const std::byte* from, std::span<const count_t> offsets,
                       std::size_t& failed_at) const = 0;
};

/// @brief `Travelling` values combined by `Combine`, and brought into entries `T` by `Apply`.
template <class T, class Travelling, class Combine, class Apply>
class typed_operation final : public value_operation {
  public:
    typed_operation(Combine combine_value, Apply apply_value, bool combines_first)
        : combine_(std::move(combine_value)),
          apply_(std::move(apply_value)),
          combines_at_owner_(combines_first) {}

    std::size_t value_bytes() const noexcept override { return sizeof(Travelling); }
    bool may_throw() const noexcept override {
        return !std::is_nothrow_invocable_v<const Combine&, const Travelling&, const Travelling&> ||
               !std::is_nothrow_invocable_v<const Apply&, T&, const Travelling&>;
    }
    bool combines_at_owner() const noexcept override { return combines_at_owner_; }
    const char* name() const noexcept override { return typeid(typed_operation).name(); }

    bool fill_with_identity(std::byte* values, std::size_t count) const noexcept override {
        if constexpr (has_identity) {
            std::fill_n(reinterpret_cast<Travelling*>(values), count,
                        Combine::template identity<Travelling>());
        }
        return has_identity;
    }

    void combine(std::byte* into, std::uint8_t* is_set, const std::byte* from,
                 std::span<const position_t> positions, std::size_t& failed_at) const override {
        auto* const to = reinterpret_cast<Travelling*>(into);
        const auto* const values = reinterpret_cast<const Travelling*>(from);
        for_each(positions.size(), failed_at, [&](std::size_t k) {
            const position_t p = positions[k];
            if (has_identity || is_set[p] != 0) {  // with an identity, nothing hangs on a guess
                to[p] = static_cast<Travelling>(combine_(to[p], values[k]));
            } else {
                to[p] = values[k];
                is_set[p] = 1;
            }
        });
    }

    void apply(std::byte* entries, const std::byte* from, std::span<const count_t> offsets,
               std::size_t& failed_at) const override {
        auto* const to = reinterpret_cast<T*>(entries);
        const auto* const values = reinterpret_cast<const Travelling*>(from);
        for_each(offsets.size(), failed_at,
                 [&](std::size_t k) { apply_(to[offsets[k]], values[k]); });
    }

  private:
    static constexpr bool has_identity = operation_with_identity<Combine, Travelling>;

    template <class Use>
    static void for_each(std::size_t count, std::size_t& failed_at, Use&& use) {
        std::size_t k = 0;
        try {
            for (; k < count; ++k) use(k);
        } catch (...) {
            failed_at = k;
            throw;
        }
    }

    Combine combine_;
    Apply apply_;
    bool combines_at_owner_;
};

/// @brief Entry = op(entry, value).
template <class T, class Op>
auto make_update_operation(Op op) {
    const auto apply = [op](T& entry, const T& value) noexcept(
                           std::is_nothrow_invocable_v<const Op&, const T&, const T&>) {
        entry = static_cast<T>(op(entry, value));
    };
    return typed_operation<T, T, Op, decltype(apply)>(op, apply, false);
}

/// @brief The operation of queued updates: the sum where there is one.
template <class T>
using default_update = std::conditional_t < requires(const T& a, const T& b) {
    static_cast<T>(a + b);
}
, sum, replace > ;

}  // namespace crossdock

/// @file
/// @brief Indices of which one kind cannot be mistaken for another, and vectors indexed by them.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

namespace crossdock {

/// @brief An index of one kind; it converts to no other kind, and to an integer by `value()` only.
/// @tparam Kind  distinguishes the types; need not be defined
/// @tparam T     the integer that holds it
template <class Kind, class T>
class strong_index {
  public:
    constexpr strong_index() noexcept = default;
    constexpr explicit strong_index(T value) noexcept : value_(value) {}

    constexpr T value() const noexcept { return value_; }

    constexpr strong_index& operator++() noexcept {
        ++value_;
        return *this;
    }
    friend constexpr strong_index operator+(strong_index index, T distance) noexcept {
        return strong_index(index.value_ + distance);
    }
    friend constexpr strong_index operator-(strong_index index, T distance) noexcept {
        return strong_index(index.value_ - distance);
    }
    friend constexpr T operator-(strong_index a, strong_index b) noexcept {
        return a.value_ - b.value_;
    }
    friend constexpr auto operator<=>(strong_index, strong_index) = default;

  private:
    T value_ = 0;
};

/// @brief A vector whose elements are named by indices of one kind.
template <class Index, class T>
class index_vector : private std::vector<T> {
    using base = std::vector<T>;

  public:
    using base::back;
    using base::base;
    using base::begin;
    using base::emplace_back;
    using base::empty;
    using base::end;
    using base::push_back;
    using base::reserve;
    using base::resize;
    using base::size;

    T& operator[](Index i) { return base::operator[](static_cast<std::size_t>(i.value())); }
    const T& operator[](Index i) const {
        return base::operator[](static_cast<std::size_t>(i.value()));
    }
    /// @brief The index behind the last element.
    Index end_index() const { return Index(static_cast<decltype(Index().value())>(size())); }
};

}  // namespace crossdock

/// @file
/// @brief Agreement on arguments that have names, so that an error says which of them differs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/equal_arguments.hpp"

namespace crossdock {

/// @brief FNV-1a.
class text_hash {
  public:
    text_hash& take(std::string_view text) noexcept {
        for (const char c : text) take_byte(static_cast<unsigned char>(c));
        return *this;
    }
    text_hash& take(std::int64_t number) noexcept {
        for (int shift = 0; shift < 64; shift += 8)
            take_byte(static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> shift));
        return *this;
    }
    /// @brief Never negative, so that its negation exists.
    std::int64_t value() const noexcept { return static_cast<std::int64_t>(bits_ >> 1U); }

  private:
    void take_byte(unsigned char byte) noexcept { bits_ = (bits_ ^ byte) * 1099511628211ULL; }

    std::uint64_t bits_ = 14695981039346656037ULL;
};

/// @brief The arguments of a call one after the other: hashed, and written down if that is asked for.
class named_values {
  public:
    /// @param object      as in `equal_arguments`
    /// @param keeps_text  whether names and values are wanted, not only their hash
    named_values(std::string_view object, bool keeps_text) : keeps_text_(keeps_text) {
        take(object);
    }

    /// @param value  anything that {fmt} writes
    template <class Value>
    named_values& add(std::string_view name, const Value& value) {
        if constexpr (std::is_integral_v<Value>) {
            if (!keeps_text_) return hash(name, static_cast<std::int64_t>(value));
        } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
            if (!keeps_text_) return hash(name, std::string_view(value));
        }
        fmt::memory_buffer line;
        fmt::format_to(std::back_inserter(line), "\n{} = {}", name, value);
        std::replace(line.begin() + 1, line.end(), '\n', ' ');
        take({line.data(), line.size()});
        return *this;
    }

    /// @brief The arguments of a caller, whose hash is known.
    named_values& add(const equal_arguments& known) {
        if (keeps_text_) {
            known.add_to(*this);
        } else {
            hash_.take(known.hash());
        }
        return *this;
    }

    bool keeps_text() const noexcept { return keeps_text_; }
    /// @brief Comparable with that of others for which `keeps_text` is the same.
    std::int64_t hash() const noexcept { return hash_.value(); }

    /// @brief Lines: the object, then "name = value" of each argument.
    const std::string& text() const noexcept { return text_; }

  private:
    template <class Value>
    named_values& hash(std::string_view name, Value value) {
        hash_.take(name).take(std::int64_t{0}).take(value);
        return *this;
    }
    void take(std::string_view more) {
        hash_.take(more);
        if (keeps_text_) text_ += more;
    }

    bool keeps_text_;
    text_hash hash_;
    std::string text_;
};

/// @brief As the other `agree`, where the arguments differ with a text that names the lowest rank that differs from
/// rank 0, the first argument that does, and both values.
/// @par Collective
/// Yes; blocks. As the other `agree`, with which it can meet: where arguments differ, both hold the same conversation.
void agree(const communicator& comm, const std::optional<error>& fault,
           const equal_arguments& same);

/// @brief Runs `local()`, which must not communicate and returns nothing, and agrees on whether it threw and on `same`.
template <class Local>
void on_all_or_none(const communicator& comm, Local&& local, const equal_arguments& same) {
    std::optional<error> fault;
    try {
        local();
    } catch (...) {
        fault = current_error();
    }
    agree(comm, fault, same);
}

}  // namespace crossdock

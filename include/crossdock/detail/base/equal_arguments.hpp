/// @file
/// @brief Arguments of a collective call that must be equal on all ranks.
#pragma once

#include <cstdint>

#include "crossdock/detail/base/export.hpp"

namespace CROSSDOCK_EXPORT crossdock {

class named_values;

/// @brief What a collective call makes or compares, and its arguments as a hash. Their names and values are written
/// down only where they differ, for the error.
///
///     const auto list = [&](named_values& values) { values.add("workers", 4).add("route", route); };
///     agree(comm, fault, equal_arguments("a stream", list));
class equal_arguments {
  public:
    /// @brief Nothing to compare.
    equal_arguments() = default;

    /// @brief No arguments, but what they would be of.
    explicit equal_arguments(const char* object) : equal_arguments(object, nullptr, nullptr) {}

    /// @param object  what the call makes, with its article, or compares; part of the hash, and borrowed
    /// @param list    adds the arguments to the `named_values` that it gets, the same on every call; borrowed
    template <class List>
    equal_arguments(const char* object, const List& list)
        : equal_arguments(object, &list, [](const void* of, named_values& values) {
              (*static_cast<const List*>(of))(values);
          }) {}

    const char* object() const noexcept { return object_; }
    /// @brief Not negative; 0 if there is nothing to compare.
    std::int64_t hash() const noexcept { return hash_; }
    void add_to(named_values& values) const {
        if (list_ != nullptr) list_(of_, values);
    }

  private:
    using list_function = void(const void* of, named_values& values);

    equal_arguments(const char* object, const void* of, list_function* list);

    const char* object_ = "the arguments";
    const void* of_ = nullptr;
    list_function* list_ = nullptr;
    std::int64_t hash_ = 0;
};

}  // namespace crossdock

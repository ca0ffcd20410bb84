/// @file
/// @brief Agreement on arguments that have names, so that an error says which of them differs.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "crossdock/communicator.hpp"

namespace crossdock {

/// @brief What a collective call compares between ranks: a subject, and a line for each argument.
///
///     named_values("a stream").add("workers", 4).add("route", "direct")
class named_values {
  public:
    /// @param object  what the call makes, with its article
    explicit named_values(const char* object) : text_(object) {}

    template <class Value>
    named_values& add(const char* name, const Value& value) {
        std::string shown = fmt::format("{}", value);
        for (char& c : shown) {
            if (c == '\n') c = ' ';
        }
        text_ += fmt::format("\n{} = {}", name, shown);
        return *this;
    }

    /// @brief Lines: the object, then "name = value" of each argument.
    const std::string& text() const noexcept { return text_; }

  private:
    std::string text_;
};

/// @brief As `agree`, where the arguments differ with a text that names the lowest rank that differs from rank 0, the
/// first argument that does, and both values.
/// @par Collective
/// Yes; blocks. As `agree`, with which it can meet: where arguments differ, both hold the same conversation.
void agree_on_values(const communicator& comm, const std::optional<error>& fault,
                     const named_values& own);

/// @brief Runs `local()`, which must not communicate and returns nothing, and agrees on whether it threw and on `own`.
template <class Local>
void on_all_or_none(const communicator& comm, Local&& local, const named_values& own) {
    std::optional<error> fault;
    try {
        local();
    } catch (...) {
        fault = current_error();
    }
    agree_on_values(comm, fault, own);
}

}  // namespace crossdock

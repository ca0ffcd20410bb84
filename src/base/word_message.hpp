/// @file
/// @brief A message of 64-bit words, the form in which planning talks.
#pragma once

#include <cstdint>
#include <vector>

#include "crossdock/types.hpp"

namespace crossdock {

/// @brief Words to a rank (that is sent) or from a rank (in an inbox).
struct word_message {
    rank_t peer = 0;
    std::vector<std::int64_t> words;

    friend bool operator==(const word_message&, const word_message&) = default;
};

}  // namespace crossdock

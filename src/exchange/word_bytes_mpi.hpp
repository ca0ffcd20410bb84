/// @file
/// @brief Messages of words as messages of bytes.
#pragma once

#include <cstring>

#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

namespace crossdock {

inline constexpr auto word_bytes = static_cast<count_t>(sizeof(std::int64_t));

/// @brief The words of a message, where they lie.
inline byte_message bytes_of(const word_message& message) {
    return {message.peer, static_cast<count_t>(message.words.size()) * word_bytes,
            reinterpret_cast<const std::byte*>(message.words.data())};
}

/// @brief Copies of what came.
inline std::vector<word_message> words_of(const byte_inbox& arrived) {
    std::vector<word_message> inbox;
    inbox.reserve(arrived.messages().size());
    for (const auto& [source, num_bytes, data] : arrived.messages()) {
        auto& words = inbox.emplace_back(word_message{source, {}}).words;
        words.resize(static_cast<std::size_t>(num_bytes / word_bytes));
        if (num_bytes > 0) std::memcpy(words.data(), data, static_cast<std::size_t>(num_bytes));
    }
    return inbox;
}

}  // namespace crossdock

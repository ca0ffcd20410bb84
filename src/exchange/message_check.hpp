/// @file
/// @brief Whether sized messages are those of an exchange.
#pragma once

#include <span>
#include <vector>

#include "crossdock/detail/exchange/exchange_statistics.hpp"

namespace crossdock {

/// @throws as `count_exchange`, for messages that do not fit the ranks or the method
void check_messages(const topology& regions, std::span<const std::vector<sized_message>> messages,
                    exchange_method method);

}  // namespace crossdock

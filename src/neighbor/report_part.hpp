/// @file
/// @brief A neighbor exchange that is a part of another object.
#pragma once

#include <memory>

#include "../base/exchange_watch.hpp"
#include "crossdock/neighbor_exchange.hpp"

namespace crossdock {

/// @brief The object in whose report it is counted; null where nothing is measured.
struct neighbor_exchange::report_part {
    std::shared_ptr<watched_object> whole;
};

}  // namespace crossdock

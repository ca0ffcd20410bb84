// Which route a distributed array takes if it is not told.
#pragma once

#include <string>

#include "../select/all_partners_cost.hpp"

namespace crossdock {

/// @brief The bytes of a request on its way to the owner, and of its reply on the way back.
struct request_size {
    count_t index_bytes = 4;
    count_t item_bytes = 8;
};

/// @brief The route "auto": for every batch the one that suits the last batch.
///
/// One of two. For few requests it is the route on which empty messages are cheapest
/// (`all_partners_chooser`); `direct` moves each request once, and is chosen when it is cheaper for
/// as many requests:
///
///     direct      n/P requests in each of P - 1 messages
///     grid:K1xK2  n/K1 in each of K1 - 1 messages, then n/K2 in each of K2 - 1
///
/// there, with the bytes of an index, and back, with those of an item. The first batch is taken to
/// be as large as expected. Ranks choose alike as they learn alike. What kind of batch is next
/// plays no part: ranks that do not agree on it have to meet, to say so.
class array_route_rule {
  public:
    /// @param m  equal on all ranks; borrowed
    array_route_rule(const topology& regions, count_t expected_requests,
                     const request_size& size = {}, const machine& m = default_machine());

    /// @brief The route of the next batch.
    const std::string& route_for_next() const noexcept { return are_many_ ? for_many_ : for_few_; }

    /// @brief Learns how many requests the rank with the most requests had in the last batch.
    /// Complexity: Linear in the stages of the two routes.
    void learn(count_t most_requests);

    const std::string& route_for_few() const noexcept { return for_few_; }
    const std::string& route_for_many() const noexcept { return for_many_; }

  private:
    double seconds(const std::string& route, count_t num_requests) const;

    const machine& machine_;
    all_partners_chooser prices_;
    request_size size_;
    std::string for_few_;
    std::string for_many_ = "direct";
    bool are_many_ = false;  // in the next batch, as in the last
};

}  // namespace crossdock

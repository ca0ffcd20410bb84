/// @file
/// @brief What a library that crossdock is compared with looks like to `crossdock bench neighbor --peers`.
///
/// Each peer is a shared object of its own, which needs nothing of crossdock's but this header.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

namespace crossdock::bench {

/// @brief A halo of doubles, in the forms that peers ask for.
///
///     rank 1 of 3, each with two items    first_item  2
///     gets the last item of its neighbors  slot_items  1 4
struct peer_halo {
    MPI_Comm comm;
    std::span<const double> items;
    std::span<double> slots;
    long long first_item;  ///< the number of this rank's first item among those of all ranks
    std::span<const long long> slot_items;  ///< the number of each slot's item
    std::span<const int> destinations;
    std::span<const int> send_starts;  ///< of each destination in `send_items`, and their number
    std::span<const int> send_items;
    std::span<const int> sources;
    std::span<const int> slot_starts;  ///< of each source in `slots`, and their number
};

/// @brief An exchange that is set up. Its halo outlives it.
class peer {
  public:
    peer() = default;
    virtual ~peer() = default;
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    virtual void start() = 0;
    virtual void wait() {}  ///< nothing, if `start` blocks
};

struct named_peer {
    const char* name;
    std::unique_ptr<peer> (*set_up)(const peer_halo&);  ///< collective
};

/// @brief The values that a rank sends, destination after destination.
class packed_values {
  public:
    explicit packed_values(const peer_halo& halo) : halo_(halo), values_(halo.send_items.size()) {}

    double* pack() {
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] = halo_.items[static_cast<std::size_t>(halo_.send_items[i])];
        return values_.data();
    }

  private:
    peer_halo halo_;
    std::vector<double> values_;
};

/// @brief The number of values for each neighbor.
inline std::vector<int> lengths_of(std::span<const int> starts) {
    std::vector<int> lengths;
    for (std::size_t i = 1; i < starts.size(); ++i) lengths.push_back(starts[i] - starts[i - 1]);
    return lengths;
}

}  // namespace crossdock::bench

/// @brief Each peer defines it.
extern "C" __attribute__((visibility("default"))) std::span<const crossdock::bench::named_peer>
crossdock_peers();

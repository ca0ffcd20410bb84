/// @file
/// @brief What plans cost on a machine, by formulae.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/plan.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How items travel, besides their plan.
struct travel_options {
    count_t item_bytes = 8;
    /// Ranks of a node hand items over in shared memory, without messages.
    bool shares_memory = false;

    /// @brief Whether items go without a message to a rank so far away.
    bool hands_over(locality_level level) const noexcept {
        return shares_memory && level != locality_level::network;
    }
};

/// @brief The seconds of one rank in one stage, by what they are spent on.
struct stage_price {
    double sending = 0;      ///< overheads of messages sent
    double receiving = 0;    ///< overheads of messages received
    double matching = 0;     ///< search for the receives that messages belong to
    double copying = 0;      ///< gathering and scattering
    double transfer = 0;     ///< bytes on the rank's own link: of what it sends or what it receives
    double injection = 0;    ///< bytes that its node sends to others, or gets from them
    double latency = 0;      ///< of the slowest message, with its overheads
    double time_slices = 0;  ///< looking in vain, on a core that ranks share

    /// @brief Seconds of a core that something is done in.
    double work() const noexcept { return sending + receiving + matching + copying; }
    /// @brief One message from end to end, and what keeps the last one from leaving or being taken.
    double path() const noexcept {
        return latency + std::max({sending, receiving + matching, transfer, injection}) + copying;
    }

    /// @brief Adds term by term.
    stage_price& operator+=(const stage_price& other) noexcept;
};

/// @brief From a rank's start to its end: its core's work in all stages, or the paths of all stages one
/// after the other, whichever is longer.
///
/// A rank works while messages of others are under way, and a message waits for the stage before it.
double rank_seconds(std::span<const stage_price> stages) noexcept;

/// @brief Seconds of a core that a rank takes: its work, and where ranks share cores its turns.
///
/// A rank sends in one turn and takes in the next what has come, and looks in vain for the rest of each.
/// What is handed over in shared memory is taken in the same round by those whose turn is still to come, which
/// are half of them: it costs half a turn.
double core_seconds(std::span<const stage_price> stages, const machine& m) noexcept;

/// @brief One of the terms that a price consists of.
struct price_term {
    const char* name;
    double stage_price::*seconds;
};

inline constexpr std::array price_terms{price_term{"sending", &stage_price::sending},
                                        price_term{"receiving", &stage_price::receiving},
                                        price_term{"matching", &stage_price::matching},
                                        price_term{"copying", &stage_price::copying},
                                        price_term{"transfer", &stage_price::transfer},
                                        price_term{"injection", &stage_price::injection},
                                        price_term{"latency", &stage_price::latency},
                                        price_term{"time_slices", &stage_price::time_slices}};

/// @brief The term that most of a stage's time goes to, e.g. "sending".
const char* dominating_term(const stage_price& price) noexcept;

/// @brief Adds up the price of one rank in one stage, message by message.
///
///     sending    n alpha_send               receiving  m alpha_receive
///     matching   gamma m^2 / 4              transfer   max(sum beta s sent, sum beta s received)
///     injection  sum over the node / R_node
///
/// @par Source
/// Max-rate: \cite gropp2016maxrate. Queue search: \cite bienz2018irregular has gamma n^2 as its bound;
/// here a message's receive is on average in the middle of those that still wait.
class stage_pricer {
  public:
    explicit stage_pricer(const machine& m) : machine_(m) {}

    /// @brief `num_messages` alike of `message_bytes` each, gathered from `num_items` items in all.
    void send(locality_level level, count_t message_bytes, count_t num_items,
              double num_messages = 1);
    /// @brief As `send`; what is done with the items is another matter.
    void receive(locality_level level, count_t message_bytes, double num_messages = 1);
    /// @brief A message to another rank that this one waits for.
    void await(locality_level level, count_t message_bytes);
    /// @brief Items that ranks of a node give each other in shared memory: copied, not sent.
    void hand_over(count_t num_bytes, count_t num_items);
    /// @brief What another rank of the node hands over; what is done with it is another matter.
    void take_over();
    void copy(count_t num_bytes, count_t num_items);

    /// @param node_bytes  what the rank's node sends to others or gets from them, whichever is more
    stage_price price(count_t node_bytes) const;

    /// @brief What this rank has sent to other nodes, and got from them, so far.
    count_t network_bytes_sent() const noexcept { return network_bytes_sent_; }
    count_t network_bytes_received() const noexcept { return network_bytes_received_; }

  private:
    void take_slice(double share);

    const machine& machine_;
    stage_price sum_;
    double num_received_ = 0;
    double sent_seconds_ = 0;
    double received_seconds_ = 0;
    count_t network_bytes_sent_ = 0;
    count_t network_bytes_received_ = 0;
};

/// @brief One stage of all ranks.
struct stage_summary_price {
    stage_price slowest;  ///< of the rank that takes longest
    rank_t slowest_rank = 0;
    double mean_work = 0;  ///< seconds of a core, per rank
};

/// @brief All ranks' plans of one route, priced.
struct plan_price {
    std::vector<stage_summary_price> stages;
    /// Of the slowest rank; or the `core_seconds` of all ranks on the cores that they share, if that is more.
    double seconds = 0;
};

/// @brief Prices the plans of all ranks, rank by rank: entry t of a rank is its stage t.
/// @param plans  of one route, entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many plans as ranks
/// @par Complexity
/// Linear in the messages of all plans.
std::vector<std::vector<stage_price>> price_by_rank(const rank_layout& layout,
                                                    std::span<const plan> plans, const machine& m,
                                                    const travel_options& options = {});

/// @brief As above, put together.
plan_price price(const rank_layout& layout, std::span<const plan> plans, const machine& m,
                 const travel_options& options = {});

/// @brief What `price_by_rank` returns, put together.
plan_price summarize(std::span<const std::vector<stage_price>> stages_of_ranks, const machine& m);

}  // namespace crossdock

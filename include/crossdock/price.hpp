/// @file
/// @brief Prices of plans: how long they take on a machine, by closed formulae.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/plan.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What a price depends on besides the plan and the machine.
struct travel_options {
    count_t item_bytes = 8;
    /// Whether ranks of a node pass items on in shared memory, without messages; by default they do, as in the command
    /// line and in Python.
    bool shares_memory = true;

    /// @brief Whether items reach a rank of this locality without a message.
    bool hands_over(locality_level level) const noexcept {
        return shares_memory && level != locality_level::network;
    }
};

/// @brief The time of one rank in one stage, by what takes it. All terms are in seconds.
struct stage_price {
    double sending = 0;      ///< overheads of the messages that it sends
    double receiving = 0;    ///< overheads of the messages that it receives
    double matching = 0;     ///< search for the receives that messages belong to
    double copying = 0;      ///< gathering and scattering
    double transfer = 0;     ///< bytes on the rank's own link, out or in, whichever takes longer
    double injection = 0;    ///< bytes between its node and others, out or in, whichever are more
    double latency = 0;      ///< of the slowest message, with its overheads
    double time_slices = 0;  ///< looking for messages in vain, on a core that ranks share

    double gathering = 0;     ///< the part of `copying` that comes before sending
    double num_sent = 0;      ///< messages, and what is handed over in shared memory
    double num_received = 0;  ///< likewise

    /// @brief The time in which the rank's core does something.
    double work() const noexcept { return sending + receiving + matching + copying; }
    /// @brief The time until the last message has come and its items are copied, if all ranks begin together.
    ///
    /// Messages are a pipeline: one is gathered while another is on its way and a third is received. So the stage takes
    /// as long as one message of mean length from end to end, and what the others take where they take longest: at the
    /// sender, on the links, or at the receiver.
    double path() const noexcept;
    /// @brief The same if all messages are packed before any leaves, and unpacked once all have come.
    double path_of_packed() const noexcept {
        return latency + std::max({sending, receiving + matching, transfer, injection}) + copying;
    }

    /// @brief Adds term by term.
    stage_price& operator+=(const stage_price& other) noexcept;
};

/// @brief The seconds of a stage: its path or the work of the rank's core, whichever is longer.
inline double stage_seconds(const stage_price& price) noexcept {
    return std::max(price.work(), price.path());
}

/// @brief The seconds from a rank's start to its end, all stages one after the other, if it waits for no other rank
/// longer than they take.
double rank_seconds(std::span<const stage_price> stages) noexcept;

/// @brief The seconds for which a rank occupies a core: its work, and where ranks share cores its time slices.
///
/// A rank sends the messages of a stage in one time slice and receives in the next; for the rest of each it looks for
/// messages in vain. Items handed over in shared memory cost half a slice: half of the ranks have their slice later in
/// the same round, and take the items then.
double core_seconds(std::span<const stage_price> stages, const machine& m) noexcept;

/// @brief One of the terms of a `stage_price`, with its name.
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

/// @brief The name of the term that takes most of a stage's time, such as "sending".
const char* dominating_term(const stage_price& price) noexcept;

/// @brief Computes the price of one rank in one stage, message by message.
///
/// A rank that sends n messages and receives m of s bytes each pays, with alpha an overhead, beta `seconds_per_byte`,
/// and gamma `matching_seconds`,
///
///     sending    n alpha_send               receiving  m alpha_receive
///     matching   gamma m^2 / 4              transfer   max(sum beta s sent, sum beta s received)
///     injection  sum over the node / R_node
///
/// @par Source
/// The max-rate model is from \cite gropp2016maxrate. \cite bienz2018irregular bounds the queue search by gamma m^2.
/// Differs: a message's receive is taken to be, on average, in the middle of those that still wait.
class stage_pricer {
  public:
    explicit stage_pricer(const machine& m) : machine_(m) {}

    /// @brief Adds `num_messages` messages of `message_bytes` each, and gathering `num_items` items for all of them
    /// together.
    void send(locality_level level, count_t message_bytes, count_t num_items,
              double num_messages = 1);
    /// @brief Adds messages that the rank receives, without copying their items.
    void receive(locality_level level, count_t message_bytes, double num_messages = 1);
    /// @brief Adds the latency of a message, but none of its work: the rank waits for it.
    void await(locality_level level, count_t message_bytes);
    /// @brief Adds copying items into shared memory for another rank of the node.
    void hand_over(count_t num_bytes, count_t num_items);
    /// @brief Adds items that another rank of the node hands over, without copying them.
    void take_over();
    /// @brief Adds copying, in pieces of one item each.
    void copy(count_t num_bytes, count_t num_items);

    /// @brief The price of what was added so far.
    /// @param node_bytes  bytes that the rank's node sends to other nodes or gets from them, whichever are more
    stage_price price(count_t node_bytes) const;

    /// @brief The bytes of messages added so far that go to other nodes, or come from them.
    count_t network_bytes_sent() const noexcept { return network_bytes_sent_; }
    count_t network_bytes_received() const noexcept { return network_bytes_received_; }

  private:
    void gather(count_t num_bytes, count_t num_items);
    void take_slice(double share);

    const machine& machine_;
    stage_price sum_;
    double num_matched_ = 0;
    double sent_seconds_ = 0;
    double received_seconds_ = 0;
    count_t network_bytes_sent_ = 0;
    count_t network_bytes_received_ = 0;
};

/// @brief The seconds of an exchange, in which some stages of a rank wait for slower ranks. It takes no less than the
/// rank that takes longest for all its stages, and no more than if all ranks waited for the slowest of each stage. It
/// is taken to be in the middle.
inline double exchange_seconds(double slowest_rank, double slowest_stages) noexcept {
    return (slowest_rank + slowest_stages) / 2;
}

/// @brief The price of one stage for all ranks together.
struct stage_summary_price {
    stage_price slowest;  ///< of the rank that takes longest, by `stage_seconds`
    rank_t slowest_rank = 0;
    double mean_work = 0;  ///< mean of `work()` over the ranks
};

/// @brief The price of one route's plans for all ranks together.
struct plan_price {
    std::vector<stage_summary_price> stages;
    /// What `exchange_seconds` says of the slowest rank and the slowest stages. Where ranks share cores: the
    /// `core_seconds` of all ranks divided by the number of cores, if that is more.
    double seconds = 0;
};

/// @brief Prices the plans of all ranks: entry t of entry p is stage t of rank p.
/// @param plans  of one route, entry p for rank p
/// @throws error(errc::size_mismatch)  there are not as many plans as ranks
/// @par Complexity
/// Linear in the messages of all plans.
std::vector<std::vector<stage_price>> price_by_rank(const rank_layout& layout,
                                                    std::span<const plan> plans, const machine& m,
                                                    const travel_options& options = {});

/// @brief Prices the plans of all ranks, and puts the prices together.
plan_price price(const rank_layout& layout, std::span<const plan> plans, const machine& m,
                 const travel_options& options = {});

/// @brief Puts together what `price_by_rank` returns.
plan_price summarize(std::span<const std::vector<stage_price>> stages_of_ranks, const machine& m);

}  // namespace crossdock

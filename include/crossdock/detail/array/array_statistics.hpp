// What a batch of a distributed array cost a rank.
#pragma once

#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/plan.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief Requests of one rank in one stage on the way to the owners.
struct request_stage {
    traffic sent;                ///< messages with requests, and the requests in them
    count_t received = 0;        ///< requests that came
    count_t combined = 0;        ///< by how many requests there were fewer after the stage
    count_t empty_messages = 0;  ///< sent without requests, as partners wait for one in any case

    friend bool operator==(const request_stage&, const request_stage&) = default;
};

/// @brief Seconds that one rank spent in the phases of a batch.
struct batch_seconds {
    double combine_locally = 0;     ///< own requests
    double combine_on_the_way = 0;  ///< with those of others, at all ranks but the owner
    double write = 0;               ///< at the owner: writes and updates
    double read = 0;                ///< at the owner: looking up what is read
    double split = 0;               ///< replies, where requests were combined
    double communicate = 0;         ///< packing, sending, and waiting for messages

    batch_seconds& operator+=(const batch_seconds& other);
};

/// @brief What one rank's part of a batch was, exactly but for the seconds. Several kinds of requests in one batch, as
/// in a step, are counted together, and what travels in one message as one message.
struct array_statistics {
    count_t requests = 0;               ///< issued by this rank
    count_t combined_locally = 0;       ///< of these, those that need not leave
    std::vector<request_stage> stages;  ///< combined counts on the way: not at the owner
    count_t arrived = 0;                ///< came in the last stage, for this rank's entries
    batch_seconds seconds;

    /// @brief Of all stages.
    request_stage total() const;
};

}  // namespace crossdock

#include "message_check.hpp"

#include <fmt/format.h>

#include <optional>

namespace crossdock {

namespace {

using all_messages = std::span<const std::vector<sized_message>>;

void check_ranks_and_bytes(const topology& regions, all_messages messages) {
    const auto num_ranks = static_cast<std::size_t>(regions.num_ranks());
    if (messages.size() != num_ranks) {
        throw error(errc::size_mismatch,
                    fmt::format("there are messages of {} ranks, but the topology has {}",
                                messages.size(), num_ranks));
    }
    for (rank_t source = 0; source < regions.num_ranks(); ++source) {
        for (const auto& [destination, bytes] : messages[static_cast<std::size_t>(source)]) {
            if (destination < 0 || destination >= regions.num_ranks()) {
                throw error(errc::rank_out_of_range,
                            fmt::format("destination {} of rank {} is outside [0, {})", destination,
                                        source, regions.num_ranks()),
                            source);
            }
            if (bytes < 0) {
                throw error(errc::invalid_argument,
                            fmt::format("the message of rank {} to rank {} has {} bytes", source,
                                        destination, bytes),
                            source);
            }
        }
    }
}

void check_one_size(all_messages messages, exchange_method method) {
    std::optional<count_t> size;
    for (const auto& list : messages) {
        for (const auto& message : list) {
            if (message.bytes != size.value_or(message.bytes)) {
                throw error(
                    errc::invalid_argument,
                    fmt::format("the algorithm {} exchanges messages of one size only, "
                                "not of {} and {} bytes",
                                to_string(exchange_algorithm{method, {}}), *size, message.bytes));
            }
            size = message.bytes;
        }
    }
}

}  // namespace

void check_messages(const topology& regions, all_messages messages, exchange_method method) {
    check_ranks_and_bytes(regions, messages);
    if (takes_one_size_only(method)) check_one_size(messages, method);
}

}  // namespace crossdock

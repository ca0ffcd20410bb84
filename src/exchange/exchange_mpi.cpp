#include "crossdock/sparse_exchange.hpp"

#include <limits>

#include "../base/throw_error.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "datatype_values_mpi.hpp"

namespace crossdock {

namespace {

void require_length(const char* what, std::size_t length, std::size_t expected) {
    if (length == expected) return;
    throw_error(errc::size_mismatch,
                "the lengths of {} and destinations are {} and {}; give one for each", what, length,
                expected);
}

// Messages with values one after the other, or at displacements.
std::vector<addressed_values> address(std::span<const rank_t> destinations,
                                      std::span<const count_t> counts,
                                      std::span<const count_t> displacements) {
    require_length("counts", counts.size(), destinations.size());
    if (!displacements.empty())
        require_length("displacements", displacements.size(), destinations.size());
    std::vector<addressed_values> messages;
    messages.reserve(destinations.size());
    count_t next = 0;
    for (std::size_t i = 0; i < destinations.size(); ++i) {
        const count_t first = displacements.empty() ? next : displacements[i];
        if (counts[i] < 0 || first < 0) {
            throw_error(errc::invalid_argument,
                        "message {} to rank {} has count {} and displacement {}; the minimum is 0",
                        i, destinations[i], counts[i], first);
        }
        if (counts[i] > std::numeric_limits<count_t>::max() - next)
            throw error(errc::count_overflow, "the messages have 2^63 values or more");
        messages.push_back({destinations[i], first, counts[i]});
        next += counts[i];
    }
    return messages;
}

// Messages of one size, one after the other.
std::vector<addressed_values> address(std::span<const rank_t> destinations, count_t count) {
    if (count < 0)
        throw_error(errc::invalid_argument, "there are {} values per message; the minimum is 0",
                    count);
    return address(destinations, std::vector<count_t>(destinations.size(), count), {});
}

message_shape constant_shape(count_t count, std::size_t item_bytes) {
    return {static_cast<count_t>(item_bytes), std::max<count_t>(count, 0)};
}

// The messages that `find_messages` returns, or the fault that it throws.
template <class FindMessages>
bytes_to_send to_send_or_fault(const message_shape& shape, std::span<const std::byte> values,
                               FindMessages&& find_messages) {
    bytes_to_send to_send{{}, shape, std::nullopt};
    try {
        if (shape.item_bytes == 0)
            throw_error(errc::invalid_argument, "values have 0 bytes; give a size");
        const count_t num_values = static_cast<count_t>(values.size()) / shape.item_bytes;
        const auto messages = find_messages();
        to_send.messages.reserve(messages.size());
        for (const auto& [destination, first, count] : messages) {
            if (count > num_values || first > num_values - count) {
                throw_error(errc::size_mismatch,
                            "the message to rank {} has values [{}, {}), but there are "
                            "{}; give a longer array",
                            destination, first, first + count, num_values);
            }
            to_send.messages.push_back(
                {destination, count * shape.item_bytes,
                 count > 0 ? values.data() + first * shape.item_bytes : nullptr});
        }
    } catch (...) {
        to_send.fault = current_error();
    }
    return to_send;
}

// Exchanges the messages that `find_messages` returns.
template <class FindMessages>
received_datatype exchange_values(const context& where, const void* values, MPI_Datatype datatype,
                                  std::optional<count_t> count, const exchange_options& options,
                                  FindMessages&& find_messages) {
    std::optional<datatype_packer> packer;
    bytes_to_send to_send{{}, {1, count}, std::nullopt};
    std::vector<std::byte> packed;
    try {
        packer.emplace(where.comm().get(), datatype);
        to_send.shape.item_bytes = packer->item_bytes();
        bytes_of_values(0, packer->layout());  // throws if there is no memory for what comes
        add_values(to_send, packed, find_messages(), values, *packer);
    } catch (...) {
        to_send.fault = current_error();
    }
    const auto inbox = exchange_bytes(where, to_send, options);
    const count_t item_bytes = packer->item_bytes();
    received_datatype result{
        exchange_detail::arrangement(inbox, static_cast<std::size_t>(item_bytes)), {}};
    with_reserve([&] {
        result.values.resize(static_cast<std::size_t>(
            bytes_of_values(inbox.num_bytes() / item_bytes, packer->layout())));
    });
    copy_values(inbox, *packer, result.values.data());
    return result;
}

}  // namespace

namespace exchange_detail {

bytes_to_send constant_bytes_to_send(std::span<const rank_t> destinations, count_t count,
                                     std::span<const std::byte> values, std::size_t item_bytes) {
    return to_send_or_fault(constant_shape(count, item_bytes), values,
                            [&] { return address(destinations, count); });
}

bytes_to_send variable_bytes_to_send(std::span<const rank_t> destinations,
                                     std::span<const count_t> counts,
                                     std::span<const count_t> displacements,
                                     std::span<const std::byte> values, std::size_t item_bytes) {
    return to_send_or_fault({static_cast<count_t>(item_bytes), std::nullopt}, values,
                            [&] { return address(destinations, counts, displacements); });
}

bytes_to_send listed_bytes_to_send(const integer_range& destinations, const integer_range& counts,
                                   std::span<const std::byte> values, std::size_t item_bytes) {
    return to_send_or_fault({static_cast<count_t>(item_bytes), std::nullopt}, values, [&] {
        std::vector<rank_t> ranks;
        std::vector<count_t> lengths;
        for (std::size_t i = 0; i < destinations.size(); ++i) {
            if (destinations[i] != static_cast<rank_t>(destinations[i])) {
                throw_error(errc::rank_out_of_range, "destination {} is {}, which cannot be a rank",
                            i, destinations[i]);
            }
            ranks.push_back(static_cast<rank_t>(destinations[i]));
        }
        for (std::size_t i = 0; i < counts.size(); ++i) lengths.push_back(counts[i]);
        return address(ranks, lengths, {});
    });
}

received_messages arrangement(const byte_inbox& inbox, std::size_t item_bytes) {
    received_messages result;
    const std::size_t num_messages = inbox.messages().size();
    with_reserve([&] {
        result.sources.reserve(num_messages);
        result.counts.reserve(num_messages);
        result.displacements.reserve(num_messages);
    });
    count_t next = 0;
    for (const auto& [source, bytes, data] : inbox.messages()) {
        result.sources.push_back(source);
        result.counts.push_back(bytes / static_cast<count_t>(item_bytes));
        result.displacements.push_back(next);
        next += result.counts.back();
    }
    return result;
}

}  // namespace exchange_detail

received_datatype sparse_exchange(const context& where, const constant_datatype_messages& messages,
                                  const exchange_options& options) {
    return exchange_values(where, messages.values, messages.datatype,
                           std::max<count_t>(messages.count, 0), options,
                           [&] { return address(messages.destinations, messages.count); });
}

received_datatype sparse_exchange(const context& where, const variable_datatype_messages& messages,
                                  const exchange_options& options) {
    return exchange_values(where, messages.values, messages.datatype, std::nullopt, options, [&] {
        return address(messages.destinations, messages.counts, messages.displacements);
    });
}

}  // namespace crossdock

#include "datatype_values_mpi.hpp"

#include <algorithm>
#include <limits>

namespace crossdock {

void add_values(bytes_to_send& to_send, std::vector<std::byte>& packed,
                std::span<const addressed_values> messages, const void* values,
                const datatype_packer& packer) {
    const count_t item_bytes = packer.item_bytes();
    count_t num_values = 0;
    for (const auto& message : messages) {
        if (message.count > std::numeric_limits<count_t>::max() / item_bytes - num_values)
            throw error(errc::count_overflow, "the messages have 2^63 bytes or more");
        num_values += message.count;
    }
    to_send.messages.reserve(messages.size());
    if (packer.is_contiguous()) {
        const auto* const data = static_cast<const std::byte*>(values);
        for (const auto& [destination, first, count] : messages) {
            const bool has_data = data != nullptr && count > 0;
            to_send.messages.push_back(
                {destination, count * item_bytes, has_data ? data + first * item_bytes : nullptr});
        }
        return;
    }
    if (num_values > 0 && values == nullptr)
        throw error(errc::invalid_argument, "values is a null pointer");
    packed.resize(static_cast<std::size_t>(num_values * item_bytes));
    std::byte* next = packed.data();
    for (const auto& [destination, first, count] : messages) {
        to_send.messages.push_back({destination, count * item_bytes, next});
        for (count_t i = 0; i < count; ++i, next += item_bytes)
            packer.pack(values, first + i, next);
    }
}

void copy_values(const byte_inbox& inbox, const datatype_packer& packer, void* to) {
    if (packer.is_contiguous()) {
        inbox.copy_to(static_cast<std::byte*>(to));
        return;
    }
    count_t index = 0;
    for (const auto& message : inbox.messages()) {
        for (count_t at = 0; at < message.bytes; at += packer.item_bytes())
            packer.unpack(message.data + at, to, index++);
    }
}

count_t bytes_of_values(count_t num_values, const datatype_layout& layout) {
    if (layout.true_lower_bound < 0 || layout.extent < 0)
        throw error(errc::invalid_argument, "a value of the datatype reaches before its address");
    if (num_values == 0) return 0;
    return (num_values - 1) * layout.extent +
           std::max(layout.extent, layout.true_lower_bound + layout.true_extent);
}

}  // namespace crossdock

#include "crossdock/exchange/exchange_mpi.hpp"

#include <fmt/format.h>

#include "crossdock/base/datatype_mpi.hpp"

namespace crossdock {

namespace {

// Messages as stretches of the values: `first[i]` and `counts[i]`, in values.
struct stretch {
    count_t first = 0;
    count_t count = 0;
};

// Stretches one after the other, or at displacements.
class stretches {
  public:
    // @throws error(errc::size_mismatch), error(errc::invalid_argument)
    stretches(std::span<const rank_t> destinations, std::span<const count_t> counts,
              std::span<const count_t> displacements)
        : counts_(counts), displacements_(displacements) {
        require_length("counts", counts.size(), destinations.size());
        if (!displacements.empty())
            require_length("displacements", displacements.size(), destinations.size());
    }

    // Calls `use(message, stretch)` for every message.
    template <class Use>
    void for_each(Use&& use) const {
        count_t next = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const stretch one{displacements_.empty() ? next : displacements_[i], counts_[i]};
            if (one.count < 0 || one.first < 0) {
                throw error(errc::invalid_argument,
                            fmt::format("message {} has count {} and displacement {}", i, one.count,
                                        one.first));
            }
            next += one.count;
            use(i, one);
        }
    }

  private:
    static void require_length(const char* what, std::size_t length, std::size_t expected) {
        if (length == expected) return;
        throw error(errc::size_mismatch,
                    fmt::format("there are {} {} for {} destinations", length, what, expected));
    }

    std::span<const count_t> counts_;
    std::span<const count_t> displacements_;
};

// An outbox that `fill` makes, or one with the fault that it throws.
template <class Fill>
byte_outbox outbox_or_fault(const message_shape& shape, Fill&& fill) {
    byte_outbox outbox{{}, shape, std::nullopt};
    try {
        fill(outbox);
    } catch (...) {
        outbox.fault = current_error();
    }
    return outbox;
}

std::vector<count_t> equal_counts(std::span<const rank_t> destinations, count_t count) {
    return std::vector<count_t>(destinations.size(), count);
}

message_shape constant_shape(count_t count, std::size_t item_bytes) {
    return {static_cast<count_t>(item_bytes), std::max<count_t>(count, 0)};
}

void require_count(count_t count) {
    if (count < 0)
        throw error(errc::invalid_argument, fmt::format("there are {} values per message", count));
}

// Adds messages of contiguous values.
void add_messages(byte_outbox& outbox, std::span<const rank_t> destinations, const stretches& where,
                  std::span<const std::byte> values) {
    const count_t item_bytes = outbox.shape.item_bytes;
    const count_t num_values = static_cast<count_t>(values.size()) / item_bytes;
    where.for_each([&](std::size_t i, const stretch& one) {
        if (one.count > num_values || one.first > num_values - one.count) {
            throw error(errc::size_mismatch,
                        fmt::format("the message to rank {} has values [{}, {}), but there are {}",
                                    destinations[i], one.first, one.first + one.count, num_values));
        }
        outbox.messages.push_back(
            {destinations[i], one.count * item_bytes, values.data() + one.first * item_bytes});
    });
}

// The outbox of values that may have to be packed, and the packed bytes.
struct datatype_outbox {
    byte_outbox outbox;
    std::vector<std::byte> packed;
};

void require_no_bytes_before(const datatype_layout& layout) {
    if (layout.true_lower_bound >= 0) return;
    throw error(errc::invalid_argument,
                fmt::format("a value of the datatype starts {} bytes before its address",
                            -layout.true_lower_bound));
}

// Adds messages of the values at `values`; those of a datatype with gaps are packed.
void add_messages(datatype_outbox& to, std::span<const rank_t> destinations, const stretches& where,
                  const void* values, const datatype_packer& packer) {
    const count_t item_bytes = packer.item_bytes();
    if (packer.layout().is_contiguous()) {
        where.for_each([&](std::size_t i, const stretch& one) {
            const auto* const data = static_cast<const std::byte*>(values);
            to.outbox.messages.push_back({destinations[i], one.count * item_bytes,
                                          data ? data + one.first * item_bytes : nullptr});
        });
        return;
    }
    count_t num_values = 0;
    where.for_each([&](std::size_t, const stretch& one) { num_values += one.count; });
    if (num_values > 0 && values == nullptr)
        throw error(errc::invalid_argument, "values is a null pointer");
    to.packed.resize(static_cast<std::size_t>(num_values * item_bytes));
    std::byte* next = to.packed.data();
    where.for_each([&](std::size_t i, const stretch& one) {
        to.outbox.messages.push_back({destinations[i], one.count * item_bytes, next});
        for (count_t k = 0; k < one.count; ++k, next += item_bytes)
            packer.pack(values, one.first + k, next);
    });
}

// Packed values, one extent after the other.
std::vector<std::byte> spread(const byte_inbox& inbox, const datatype_packer& packer) {
    const count_t item_bytes = packer.item_bytes();
    const auto& layout = packer.layout();
    const count_t num_values = inbox.num_bytes() / item_bytes;
    if (num_values == 0) return {};
    std::vector<std::byte> values(static_cast<std::size_t>(
        (num_values - 1) * layout.extent +
        std::max(layout.extent, layout.true_lower_bound + layout.true_extent)));
    if (layout.is_contiguous()) {
        inbox.copy_to(values.data());
        return values;
    }
    count_t index = 0;
    for (const auto& [source, bytes, data] : inbox.messages()) {
        for (count_t first = 0; first < bytes; first += item_bytes)
            packer.unpack(data + first, values.data(), index++);
    }
    return values;
}

// Exchanges the messages that `make_stretches()` finds.
template <class MakeStretches>
received_datatype exchange_values(const communicator& comm, const topology& regions,
                                  std::span<const rank_t> destinations, const void* values,
                                  MPI_Datatype datatype, std::optional<count_t> count,
                                  const exchange_options& options, MakeStretches&& make_stretches) {
    std::optional<datatype_packer> packer;
    datatype_outbox made;
    try {
        made.outbox.shape.items_per_message = count;
        packer.emplace(comm.get(), datatype);
        made.outbox.shape.item_bytes = packer->item_bytes();
        require_no_bytes_before(packer->layout());
        add_messages(made, destinations, make_stretches(), values, *packer);
    } catch (...) {
        made.outbox.fault = current_error();
    }
    const auto inbox = exchange_bytes(comm, regions, made.outbox, options);
    return {exchange_detail::arrangement(inbox, static_cast<std::size_t>(packer->item_bytes())),
            spread(inbox, *packer)};
}

}  // namespace

namespace exchange_detail {

byte_outbox constant_outbox(std::span<const rank_t> destinations, count_t count,
                            std::span<const std::byte> values, std::size_t item_bytes) {
    return outbox_or_fault(constant_shape(count, item_bytes), [&](byte_outbox& outbox) {
        require_count(count);
        const auto counts = equal_counts(destinations, count);
        add_messages(outbox, destinations, {destinations, counts, {}}, values);
    });
}

byte_outbox variable_outbox(std::span<const rank_t> destinations, std::span<const count_t> counts,
                            std::span<const count_t> displacements,
                            std::span<const std::byte> values, std::size_t item_bytes) {
    return outbox_or_fault(
        {static_cast<count_t>(item_bytes), std::nullopt}, [&](byte_outbox& outbox) {
            add_messages(outbox, destinations, {destinations, counts, displacements}, values);
        });
}

received_messages arrangement(const byte_inbox& inbox, std::size_t item_bytes) {
    received_messages result;
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

received_datatype exchange(const communicator& comm, const topology& regions,
                           const constant_datatype_messages& messages,
                           const exchange_options& options) {
    const auto counts = equal_counts(messages.destinations, messages.count);
    return exchange_values(comm, regions, messages.destinations, messages.values, messages.datatype,
                           std::max<count_t>(messages.count, 0), options, [&] {
                               require_count(messages.count);
                               return stretches(messages.destinations, counts, {});
                           });
}

received_datatype exchange(const communicator& comm, const topology& regions,
                           const variable_datatype_messages& messages,
                           const exchange_options& options) {
    return exchange_values(
        comm, regions, messages.destinations, messages.values, messages.datatype, std::nullopt,
        options,
        [&] { return stretches(messages.destinations, messages.counts, messages.displacements); });
}

}  // namespace crossdock

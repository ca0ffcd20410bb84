#include "forwarder.hpp"

#include <cstring>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/exchange/exchange_rules.hpp"

namespace crossdock {

namespace {

struct bundle_head {
    agreement agreed;
    count_t num_envelopes;  // where messages were lost, less than 0: -1 - number
};

count_t num_envelopes(const bundle_head& head) {
    return head.num_envelopes < 0 ? -1 - head.num_envelopes : head.num_envelopes;
}

std::size_t place_of(rank_t next, std::span<const rank_t> destinations) {
    const auto found = std::lower_bound(destinations.begin(), destinations.end(), next);
    if (found == destinations.end() || *found != next)
        throw error(errc::internal, "the next hop is none of the stage's partners");
    return static_cast<std::size_t>(found - destinations.begin());
}

// A bundle while it is filled.
struct unfilled_bundle {
    count_t num_envelopes = 0;
    count_t num_carried_bytes = 0;
    std::byte* next_head = nullptr;
    std::byte* next_data = nullptr;

    void reserve(const envelope& message) {
        ++num_envelopes;
        num_carried_bytes += carried_bytes(message);
    }

    bundle allocate(const agreement& agreement) {
        const count_t data_at = bundle_overhead_bytes(num_envelopes);
        const count_t bytes = data_at + num_carried_bytes;
        bundle result{raw_buffer(static_cast<std::size_t>(bytes)), bytes};
        next_head = write_value(result.data.data(), bundle_head{agreement, num_envelopes});
        next_data = result.data.data() + data_at;
        return result;
    }

    void put(const envelope& message) {
        next_head = write_value(next_head, envelope_head(message));
        const count_t bytes = carried_bytes(message);
        if (bytes > 0) std::memcpy(next_data, message.data, static_cast<std::size_t>(bytes));
        next_data += bytes;
    }
};

}  // namespace

count_t bundle_overhead_bytes(count_t num_envelopes) noexcept {
    return static_cast<count_t>(sizeof(bundle_head)) +
           num_envelopes * static_cast<count_t>(sizeof(envelope_head));
}

std::vector<bundle> make_bundles(const agreement& agreement,
                                 std::span<const placed_envelope> messages,
                                 std::size_t num_bundles) {
    std::vector<unfilled_bundle> unfilled(num_bundles);
    for (const auto& [message, place] : messages) unfilled[place].reserve(message);
    std::vector<bundle> bundles;
    bundles.reserve(num_bundles);
    for (auto& one : unfilled) bundles.push_back(one.allocate(agreement));
    for (const auto& [message, place] : messages) unfilled[place].put(message);
    return bundles;
}

opened_bundle open_bundle(const std::byte* data) {
    const auto head = read_value<bundle_head>(data);
    const count_t num_messages = num_envelopes(head);
    opened_bundle result{head.agreed, {}};
    result.messages.reserve(static_cast<std::size_t>(num_messages));
    const std::byte* next_head = data + sizeof(bundle_head);
    const std::byte* next_data = data + bundle_overhead_bytes(num_messages);
    for (count_t i = 0; i < num_messages; ++i) {
        result.messages.push_back(read_value<envelope_head>(next_head).with(next_data));
        next_head += sizeof(envelope_head);
        next_data += carried_bytes(result.messages.back());
    }
    return result;
}

void forwarder::hold(const envelope& message) {
    (message.destination == here_ ? arrived_ : held_).push_back(message);
}

std::vector<bundle> forwarder::pack(int stage, std::span<const rank_t> destinations) {
    const leader_table nobody_agreed;
    std::vector<placed_envelope> leaving;
    std::vector<envelope> staying;
    for (const envelope& message : held_) {
        const rank_t next = route_.next_hop(here_, message.destination, stage, nobody_agreed);
        if (next == here_) {
            staying.push_back(message);
        } else {
            leaving.push_back({message, place_of(next, destinations)});
        }
    }
    auto bundles = make_bundles(agreed_, leaving, destinations.size());
    held_ = std::move(staying);
    if (!has_lost_) return bundles;
    for (auto& one : bundles) {
        auto head = read_value<bundle_head>(one.data.data());
        head.num_envelopes = -1 - head.num_envelopes;
        write_value(one.data.data(), head);
    }
    return bundles;
}

std::span<const std::byte> forwarder::bare_bundle() noexcept {
    static_assert(sizeof(bare_) == sizeof(bundle_head));
    write_value(bare_.data(), bundle_head{agreed_, has_lost_ ? -1 : 0});
    return bare_;
}

// The agreement first: it must not be lost.
void forwarder::take(const std::byte* data) {
    const auto head = read_value<bundle_head>(data);
    agreed_.merge(head.agreed);
    if (head.num_envelopes < 0) note_loss();
    const auto opened = with_reserve([&] { return open_bundle(data); });
    for (const envelope& message : opened.messages) with_reserve([&] { hold(message); });
}

}  // namespace crossdock

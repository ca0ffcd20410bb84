#include <algorithm>
#include <utility>

#include "crossdock/device_exchange.hpp"
#include "staging.hpp"

namespace crossdock::device {

namespace {

// What the messages consist of, or all values if there are fewer. What is wrong with the counts the host's exchange
// says.
std::size_t count_sent(const integer_range& counts, std::size_t num_values) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
        sum += static_cast<std::size_t>(
            std::clamp(counts[i], count_t{0}, static_cast<count_t>(num_values - sum)));
    return sum;
}

}  // namespace

received<std::byte> sparse_exchange_bytes(const context& where, const integer_range& destinations,
                                          const integer_range& counts,
                                          std::span<const std::byte> values, std::size_t item_bytes,
                                          stream on, const exchange_options& options,
                                          std::shared_ptr<driver> of) {
    std::optional<error> fault;
    std::optional<pinned_memory> sent;
    std::size_t num_sent = 0;
    try {
        if (!of) of = open();
        require_array(*of, values, 0, item_bytes, false, "values");
        num_sent = count_sent(counts, values.size() / item_bytes);
        require_array(*of, values, static_cast<count_t>(num_sent), item_bytes, num_sent > 0,
                      "values");
        sent.emplace(*of, num_sent * item_bytes);
        if (num_sent > 0) {
            of->copy_down(sent->get(), values.data(), num_sent * item_bytes, on);
            of->wait_for(on);
        }
    } catch (...) {
        fault = current_error();
    }
    auto to_send = exchange_detail::listed_bytes_to_send(
        destinations, counts, {sent ? sent->get() : nullptr, num_sent * item_bytes}, item_bytes);
    if (fault) to_send.fault = fault;
    const auto inbox = exchange_bytes(where, to_send, options);
    return on_all_or_none(where.comm(), [&] {
        received<std::byte> came{exchange_detail::arrangement(inbox, item_bytes), {}, nullptr};
        const auto num_bytes = static_cast<std::size_t>(inbox.num_bytes());
        if (num_bytes == 0) return came;
        const pinned_memory here(*of, num_bytes);
        inbox.copy_to(here.get());
        auto there = std::make_shared<device_memory>(*of, num_bytes);
        of->copy_up(there->get(), here.get(), num_bytes, on);
        of->wait_for(on);
        came.values = {there->get(), num_bytes};
        // The memory goes before its driver.
        came.memory = std::make_shared<std::pair<std::shared_ptr<driver>, decltype(there)>>(
            std::move(of), std::move(there));
        return came;
    });
}

}  // namespace crossdock::device

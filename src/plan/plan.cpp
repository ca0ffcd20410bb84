#include "crossdock/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "../base/index_check.hpp"
#include "../base/throw_error.hpp"

namespace crossdock {

namespace {

[[noreturn]] void reject(rank_t rank, const std::string& message) {
    throw_error_of(rank, errc::invalid_plan, "plan of rank {}: {}", rank, message);
}

void check_rank(const plan::contents& data, rank_t peer) {
    if (peer >= 0 && peer < data.num_ranks && peer != data.rank) return;
    reject(data.rank, fmt::format("rank {} is not another rank in [0, {})", peer, data.num_ranks));
}

void check_position(const plan::contents& data, count_t position, count_t num_positions) {
    if (position >= 0 && position < num_positions) return;
    reject(data.rank, fmt::format("position {} is outside [0, {})", position, num_positions));
}

void check_slot(const plan::contents& data, count_t slot) {
    if (slot >= 0 && slot < data.num_slots) return;
    reject(data.rank, fmt::format("slot {} is outside [0, {})", slot, data.num_slots));
}

void check_positions(const plan::contents& data, const std::vector<count_t>& positions,
                     count_t num_positions) {
    if (!is_any_outside(positions, num_positions)) return;
    for (const count_t position : positions) check_position(data, position, num_positions);
}

void check_deliveries(const plan::contents& data, count_t num_positions) {
    std::uint64_t bits = 0;
    for (const auto& [position, slot] : data.deliveries)
        bits |= bits_if_outside(position, num_positions) | bits_if_outside(slot, data.num_slots);
    if (!is_any_outside(bits)) return;
    for (const auto& [position, slot] : data.deliveries) {
        check_position(data, position, num_positions);
        check_slot(data, slot);
    }
}

void check_destinations(const plan::contents& data) {
    if (data.item_destinations.empty()) return;
    for (const rank_t destination : data.item_destinations) check_rank(data, destination);
    std::ptrdiff_t num_sent = 0;
    for (const auto& stage : data.stages)
        for (const auto& message : stage.sends)
            num_sent += std::ranges::count_if(
                message.positions, [&](count_t position) { return position < data.num_items; });
    if (num_sent == std::ssize(data.item_destinations)) return;
    reject(data.rank, fmt::format("{} own items are sent, but there are {} destinations", num_sent,
                                  data.item_destinations.size()));
}

// Returns the number of positions after the stage.
count_t check_stage(const plan::contents& data, const plan_stage& stage, count_t num_positions) {
    for (const auto& message : stage.sends) {
        check_rank(data, message.destination);
        if (message.positions.empty()) {
            reject(data.rank, fmt::format("the message to {} has no items", message.destination));
        }
        check_positions(data, message.positions, num_positions);
    }
    for (const auto& message : stage.receives) {
        check_rank(data, message.source);
        const count_t most = std::numeric_limits<count_t>::max() - num_positions;
        if (message.first_position != num_positions || message.num_items < 1 ||
            message.num_items > most) {
            reject(data.rank,
                   fmt::format("the message from {} takes {} positions from {}, expected from {}",
                               message.source, message.num_items, message.first_position,
                               num_positions));
        }
        num_positions += message.num_items;
    }
    return num_positions;
}

}  // namespace

plan::plan(contents data) : data_(std::move(data)) {
    if (data_.rank < 0 || data_.rank >= data_.num_ranks || data_.num_items < 0 ||
        data_.num_slots < 0) {
        reject(data_.rank, fmt::format("{} ranks, {} items, {} slots", data_.num_ranks,
                                       data_.num_items, data_.num_slots));
    }
    count_t num_positions = data_.num_items;
    for (const auto& stage : data_.stages) num_positions = check_stage(data_, stage, num_positions);
    check_deliveries(data_, num_positions);
    check_destinations(data_);
}

count_t plan::num_positions() const noexcept {
    count_t result = data_.num_items;
    for (const auto& stage : data_.stages) {
        for (const auto& message : stage.receives) result += message.num_items;
    }
    return result;
}

std::string to_string(const plan& p) {
    std::string text =
        fmt::format("rank {} of {}: {}{}, {} items, {} slots\n", p.rank(), p.num_ranks(), p.route(),
                    p.is_deduplicated() ? "+dedup" : "", p.num_items(), p.num_slots());
    for (std::size_t t = 0; t < p.stages().size(); ++t) {
        text += fmt::format("  stage {}\n", t);
        for (const auto& message : p.stages()[t].sends) {
            text += fmt::format("    to {}: {} items, positions {}\n", message.destination,
                                message.positions.size(), fmt::join(message.positions, " "));
        }
        for (const auto& message : p.stages()[t].receives) {
            text += fmt::format("    from {}: {} items, positions {}...{}\n", message.source,
                                message.num_items, message.first_position,
                                message.first_position + message.num_items - 1);
        }
    }
    text += fmt::format("  deliver {} (position>slot):", p.deliveries().size());
    for (const auto& [position, slot] : p.deliveries())
        text += fmt::format(" {}>{}", position, slot);
    return text + "\n";
}

}  // namespace crossdock

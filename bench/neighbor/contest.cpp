#include "bench/neighbor/contest.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "bench/common/all_ranks.hpp"

namespace crossdock::bench {

namespace {

// The bytes of an item tell its column and their place in the item.
void fill_item(count_t column, std::span<std::byte> item) {
    auto state = static_cast<std::uint64_t>(column) * 0x9E3779B97F4A7C15U + 1;
    for (auto& byte : item) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::byte>(state >> 56U);
    }
}

std::vector<std::byte> item_pattern(const std::vector<count_t>& columns, std::size_t item_bytes) {
    std::vector<std::byte> bytes(columns.size() * item_bytes);
    for (std::size_t i = 0; i < columns.size(); ++i)
        fill_item(columns[i], std::span(bytes).subspan(i * item_bytes, item_bytes));
    return bytes;
}

std::span<double> as_doubles(std::vector<std::byte>& bytes) {
    return {reinterpret_cast<double*>(bytes.data()), bytes.size() / sizeof(double)};
}

// What one rank exchanges.
struct arrays {
    std::vector<std::byte> items;
    std::vector<std::byte> slots;

    exchange_task task(const context& where, const share& part, const contest_options& options) {
        return {where, part.exchange, part.slot_items, options.way, options.item_bytes,
                items, slots};
    }
};

// Forward every byte of the items tells where it belongs; in reverse all are doubles to be added.
arrays make_arrays(const share& part, const contest_options& options) {
    const std::size_t item_bytes = options.item_bytes;
    arrays result{{}, std::vector<std::byte>(part.slot_columns.size() * item_bytes)};
    if (options.way == direction::forward) {
        result.items = item_pattern(part.item_columns, item_bytes);
    } else {
        result.items.resize(part.item_columns.size() * item_bytes);
        add_row_weights(part, item_bytes / sizeof(double), as_doubles(result.items),
                        as_doubles(result.slots));
    }
    return result;
}

bool has_sums(const share& part, std::span<const double> items, std::size_t num_values) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const auto factor = static_cast<double>(i % num_values + 1);
        if (items[i] != factor * part.column_sums[i / num_values]) return false;
    }
    return true;
}

check_result delivers(const context& where, const share& part, const entrant& candidate,
                      const contest_options& options) {
    auto values = make_arrays(part, options);
    const arrays fresh = values;
    const auto tried = candidate.set_up(values.task(where, part, options));
    bool is_delivered = true;
    // The first exchange, and every further one that may be unlike it.
    do {
        std::ranges::copy(fresh.items, values.items.begin());
        std::ranges::copy(fresh.slots, values.slots.begin());
        tried->exchange();
        const bool is_right =
            options.way == direction::forward
                ? values.slots == item_pattern(part.slot_columns, options.item_bytes)
                : has_sums(part, as_doubles(values.items), options.item_bytes / sizeof(double));
        is_delivered = is_delivered && is_right;
    } while (!tried->is_settled());
    return {is_delivered, tried->sent()};
}

// The rank's part of x.
void fill_vector(const share& part, arrays& values) {
    std::ranges::transform(part.item_columns, as_doubles(values.items).begin(), column_value);
}

bool delivers_product(const context& where, const share& part, const entrant& candidate) {
    auto values = make_arrays(part, {});
    fill_vector(part, values);
    candidate.set_up(values.task(where, part, {}))->exchange();
    const auto y = product(part, as_doubles(values.items), as_doubles(values.slots));
    return y.empty() || std::memcmp(y.data(), part.expected.data(), y.size() * sizeof(double)) == 0;
}

traffic sent_by_all(const communicator& where, const traffic& sent) {
    const auto sums = sum_over_ranks(
        where, {sent.messages, sent.items, sent.inter_region_messages, sent.inter_region_items});
    return {sums[0], sums[1], sums[2], sums[3]};
}

check_result check_all(const context& where, std::span<const share> parts, const entrant& candidate,
                       const contest_options& options) {
    check_result all{true, {}};
    for (const share& part : parts) {
        const auto [is_verified, sent] = check(where, part, candidate, options);
        all.is_verified = all.is_verified && is_verified;
        all.sent += sent;
    }
    return all;
}

// One entrant's, for every part.
using contenders_of_parts = std::vector<std::unique_ptr<contender>>;

void settle(const contenders_of_parts& contenders) {
    for (const auto& one : contenders) {
        while (!one->is_settled()) one->exchange();
    }
}

std::vector<std::string> routes_of(const contenders_of_parts& contenders) {
    std::vector<std::string> routes;
    for (const auto& one : contenders) {
        const auto route = one->route();
        if (!route.empty() && std::ranges::find(routes, route) == routes.end())
            routes.push_back(route);
    }
    return routes;
}

// Entrants that choose; the others have no part in these rounds.
void time_choices(const communicator& where, const std::vector<entrant>& entrants,
                  const std::function<exchange_task(std::size_t)>& task_of, std::size_t num_parts,
                  int num_rounds, std::vector<standing>& standings) {
    std::vector<std::size_t> choosers;
    for (std::size_t c = 0; c < entrants.size(); ++c) {
        if (entrants[c].choose) choosers.push_back(c);
    }
    stopwatch choices(where, choosers.size(), num_rounds);
    choices.time_in_turn([](std::size_t) {},
                         [&](std::size_t k) {
                             for (std::size_t p = 0; p < num_parts; ++p)
                                 entrants[choosers[k]].choose(task_of(p));
                         });
    const auto seconds = choices.slowest();
    for (std::size_t k = 0; k < choosers.size(); ++k)
        standings[choosers[k]].choose_seconds = seconds[k];
}

void add_overlap(const communicator& where, const std::vector<contenders_of_parts>& contenders,
                 const contest_options& options, std::vector<standing>& standings) {
    std::vector<contender*> of_one_part;
    for (const auto& of_parts : contenders) of_one_part.push_back(of_parts.front().get());
    std::vector<double> exchange_seconds;
    for (const auto& one : standings) exchange_seconds.push_back(one.exchange_seconds.median);
    const auto hidden = measure_overlap(where, of_one_part, std::move(exchange_seconds),
                                        options.iterations, !options.has_progress_thread);
    for (std::size_t c = 0; c < standings.size(); ++c) standings[c].hidden = hidden[c];
}

}  // namespace

check_result check(const context& where, const share& part, const entrant& candidate,
                   const contest_options& options) {
    const auto [is_delivered, sent] = delivers(where, part, candidate, options);
    const bool is_right = is_delivered && (options.way == direction::reverse ||
                                           delivers_product(where, part, candidate));
    return {is_true_on_all(where, is_right), sent_by_all(where, sent)};
}

std::vector<standing> contest(const context& where, std::span<const share> parts,
                              const std::vector<entrant>& entrants,
                              const contest_options& options) {
    std::vector<standing> standings;
    for (const auto& entry : entrants) {
        standings.push_back({entry.name,
                             entry.executor,
                             entry.is_deduplicated,
                             check_all(where, parts, entry, options),
                             {},
                             {},
                             std::nullopt,
                             {},
                             std::nullopt,
                             std::nullopt});
    }

    std::vector<arrays> values;
    for (const share& part : parts) values.push_back(make_arrays(part, options));
    std::vector<contenders_of_parts> contenders(entrants.size());
    const auto clear = [&](std::size_t c) { contenders[c].clear(); };
    const auto task_of = [&](std::size_t p) { return values[p].task(where, parts[p], options); };
    const auto set_up = [&](std::size_t c) {
        for (std::size_t p = 0; p < parts.size(); ++p) {
            contenders[c].push_back(entrants[c].set_up(task_of(p)));
            contenders[c].back()->exchange();
        }
    };
    const auto keep = [](std::size_t) {};
    const auto exchange = [&](std::size_t c) {
        for (const auto& one : contenders[c]) one->exchange();
    };
    stopwatch setups(where, entrants.size(), options.setups);
    setups.time_in_turn(clear, set_up);
    time_choices(where, entrants, task_of, parts.size(), options.setups, standings);
    for (const auto& of_parts : contenders) settle(of_parts);
    stopwatch(where, entrants.size(), options.warm_ups).time_in_turn(keep, exchange);
    std::vector<std::vector<double>> results;
    for (std::size_t p = 0; options.has_product && p < parts.size(); ++p) {
        fill_vector(parts[p], values[p]);
        results.emplace_back(parts[p].row_offsets.size() - 1);
    }
    const auto multiply_parts = [&] {
        for (std::size_t p = 0; p < parts.size(); ++p)
            multiply(parts[p], as_doubles(values[p].items), as_doubles(values[p].slots),
                     results[p]);
    };
    const std::size_t num_kinds = options.has_product ? 2 : 1;  // exchanges, then products
    stopwatch exchanges(where, num_kinds * entrants.size(), options.iterations, options.in_a_row);
    exchanges.time_in_turn(keep, [&](std::size_t piece) {
        exchange(piece % entrants.size());
        if (piece >= entrants.size()) multiply_parts();
    });

    const auto setup_seconds = setups.slowest();
    const auto exchange_seconds = exchanges.slowest();
    for (std::size_t c = 0; c < standings.size(); ++c) {
        standings[c].setup_seconds = setup_seconds[c];
        standings[c].exchange_seconds = exchange_seconds[c];
        if (options.has_product)
            standings[c].product_seconds = exchange_seconds[entrants.size() + c];
        standings[c].routes = routes_of(contenders[c]);
    }
    if (options.has_overlap) add_overlap(where, contenders, options, standings);
    return standings;
}

}  // namespace crossdock::bench

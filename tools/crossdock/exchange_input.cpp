#include "tools/crossdock/exchange_input.hpp"

#include "bench/exchange/problem.hpp"
#include "tools/crossdock/algorithm_names.hpp"

namespace crossdock::tool {

namespace {

bool is_of_one_size(const exchange_choice& options) { return options.values == "pattern"; }

template <class T>
std::vector<sized_message> sizes_of(const constant_messages<T>& messages) {
    const count_t bytes = messages.count * static_cast<count_t>(sizeof(T));
    std::vector<sized_message> sizes;
    for (const rank_t destination : messages.destinations) sizes.push_back({destination, bytes});
    return sizes;
}

template <class T>
std::vector<sized_message> sizes_of(const variable_messages<T>& messages) {
    std::vector<sized_message> sizes;
    for (std::size_t m = 0; m < messages.destinations.size(); ++m) {
        sizes.push_back(
            {messages.destinations[m], messages.counts[m] * static_cast<count_t>(sizeof(T))});
    }
    return sizes;
}

// Without the rows, which no message is about.
bench::share share_of(halo&& rank) {
    bench::share part;
    part.exchange = std::move(rank.exchange);
    part.item_columns = std::move(rank.owned_columns);
    part.slot_columns = std::move(rank.ghost_columns);
    return part;
}

}  // namespace

messages_of_all messages_of(const bench::workload& work, const exchange_choice& options) {
    const bool has_one_size = is_of_one_size(options);
    messages_of_all messages;
    for (auto& rank : halos_from_matrix(work.matrix, work.owners)) {
        const auto part = share_of(std::move(rank));
        messages.push_back(has_one_size
                               ? sizes_of(bench::sparse::make_pattern_problem(part).messages())
                               : sizes_of(bench::sparse::make_indices_problem(part).messages()));
    }
    return messages;
}

std::vector<std::string> algorithms_of(const exchange_choice& options, const topology& regions) {
    const bool has_one_size = is_of_one_size(options);
    auto names = expand_algorithms(options.algorithms, has_one_size);
    check_algorithms(names, has_one_size, regions);
    return names;
}

found_algorithm find_algorithm(const std::string& name, const topology& regions, const machine& m) {
    if (name == "auto") return {choose_exchange_algorithm(regions, m), auto_max_forwarded_bytes};
    return {parse_exchange_algorithm(name)};
}

CLI::Option* add_exchange(CLI::App& verb, exchange_choice& options, const std::string& help) {
    auto* chosen = verb.add_flag("--exchange", options.is_chosen, help);
    verb.add_option("--algorithms", options.algorithms, algorithms_help())
        ->delimiter(',')
        ->needs(chosen);
    verb.add_option("--values", options.values,
                    "What a message contains. pattern: the number of needed columns, in 4 bytes; "
                    "indices: the columns, 8 bytes for each")
        ->check(CLI::IsMember({"pattern", "indices"}))
        ->capture_default_str()
        ->needs(chosen);
    return chosen;
}

}  // namespace crossdock::tool

#include "tools/crossdock/exchange_input.hpp"

#include "crossdock/sparse_exchange.hpp"
#include "tools/crossdock/algorithm_names.hpp"

namespace crossdock::tool {

namespace {

bool is_of_one_size(const exchange_choice& options) { return options.values == "pattern"; }

// A rank tells each owner of columns that it needs: how many they are, or which.
std::vector<sized_message> sizes_of(const neighbor_list& asked, bool has_one_size) {
    std::vector<sized_message> sizes;
    for (std::size_t e = 0; e < asked.size(); ++e) {
        const auto bytes = has_one_size ? sizeof(int) : sizeof(count_t) * asked[e].size();
        sizes.push_back({asked.ranks[e], static_cast<count_t>(bytes)});
    }
    return sizes;
}

}  // namespace

messages_of_all messages_of(const workload& work, const exchange_choice& options) {
    const bool has_one_size = is_of_one_size(options);
    messages_of_all messages;
    for (const auto& rank : halos_from_matrix(work.matrix, work.owners))
        messages.push_back(sizes_of(rank.exchange.receives, has_one_size));
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

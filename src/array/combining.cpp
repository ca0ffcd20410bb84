#include "crossdock/detail/array/combining.hpp"

#include <fmt/format.h>

namespace crossdock {

const std::vector<combining_description>& registered_combining() {
    static const std::vector<combining_description> strategies{
        {"none", "every request travels by itself", combining::none},
        {"sort", "radix sort, then merge what comes sorted", combining::sort},
        {"hash", "a hash table", combining::hash},
        {"search_tree", "a B-tree", combining::search_tree},
        {"envelope_hash", "a hash table; requests carry a return address",
         combining::envelope_hash},
        {"envelope_sort", "radix sort; requests carry a return address", combining::envelope_sort},
    };
    return strategies;
}

combining parse_combining(std::string_view name) {
    std::string known;
    for (const auto& one : registered_combining()) {
        if (one.name == name) return one.strategy;
        known += (known.empty() ? "" : ", ") + one.name;
    }
    throw error(errc::invalid_argument,
                fmt::format("no way to combine is called \"{}\"; there are {}", name, known));
}

const std::string& to_string(combining strategy) {
    return registered_combining()[static_cast<std::size_t>(strategy)].name;
}

}  // namespace crossdock

#include "tools/crossdock/help_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

namespace crossdock::tool {

namespace {

// "N", "pattern|indices", or an option's own name in capitals.
std::string value_of(const CLI::Option& option) {
    // The type, and behind a colon what a check says of itself; a choice has its words in braces.
    auto type = option.get_type_name();
    if (type.empty() || option.get_positional()) return {};  // a flag, or an argument
    if (const auto at = type.find(":{"); at != type.npos) {
        auto words = type.substr(at + 2, type.find('}', at) - at - 2);
        std::ranges::replace(words, ',', '|');
        return words;
    }
    type.resize(std::min(type.find(':'), type.size()));
    const auto& name = option.get_lnames().front();
    if (name.ends_with("seconds")) return "SECONDS";
    if (type == "INT" || type == "UINT") return "N";
    if (type == "FLOAT") return "NUMBER";
    auto capitals = name;
    std::ranges::transform(capitals, capitals.begin(), ::toupper);
    return capitals;
}

std::string names_of(const char* relation, const std::set<CLI::Option*>& others) {
    if (others.empty()) return {};
    std::set<std::string> names;  // the others are sorted by their addresses
    for (const auto* other : others) names.insert(other->get_name());
    return fmt::format(" ({} {})", relation, fmt::join(names, ", "));
}

}  // namespace

std::string help_format::make_option_opts(const CLI::Option* option) const {
    std::string text;
    if (option->get_type_size() != 0) {
        if (const auto value = value_of(*option); !value.empty()) text += " " + value;
        if (!option->get_default_str().empty())
            text += fmt::format(" [{}]", option->get_default_str());
        if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
        if (option->get_required()) text += " REQUIRED";
    }
    return text + names_of("needs", option->get_needs()) +
           names_of("not with", option->get_excludes());
}

std::string help_format::make_description(const CLI::App* app) const {
    return app->get_description() + "\n";
}

std::string help_format::make_footer(const CLI::App* app) const { return app->get_footer() + "\n"; }

}  // namespace crossdock::tool

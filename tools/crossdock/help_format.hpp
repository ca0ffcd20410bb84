/// @file
/// @brief What --help looks like.
#pragma once

#include <CLI/CLI.hpp>

namespace crossdock::tool {

/// @brief Names what an option takes in our own words, where CLI11 shows its types and the texts of its checks:
///
///     --ranks N REQUIRED    --machine MACHINE [generic_100g]    --values pattern|indices [indices]
///
/// Lines are as long as they were written: their width is the terminal's matter, and that of manual pages.
class help_format final : public CLI::Formatter {
  public:
    std::string make_option_opts(const CLI::Option* option) const override;
    std::string make_description(const CLI::App* app) const override;
    std::string make_footer(const CLI::App* app) const override;
};

}  // namespace crossdock::tool

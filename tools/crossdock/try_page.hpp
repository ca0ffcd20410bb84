/// @file
/// @brief The page of `crossdock try`.
#pragma once

#include <string>

#include "tools/crossdock/statistics_json.hpp"

namespace crossdock::tool {

/// @brief One HTML page of a document `crossdock.try/1`, with pictures, and with the document inside.
std::string try_page(const json& document);

/// @brief The style of all pages: tools/plots/report.css.
const char* page_style();

}  // namespace crossdock::tool

#include "tools/crossdock/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crossdock::tool {

bool is_tie(double least_seconds, double seconds) { return seconds < 1.005 * least_seconds; }

std::string table::to_string() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& cells : rows_) {
        for (std::size_t c = 0; c < cells.size(); ++c)
            widths[c] = std::max(widths[c], cells[c].size());
    }
    std::string text;
    for (const auto& cells : rows_) {
        text += fmt::format("{:<{}}", cells[0], widths[0]);
        for (std::size_t c = 1; c < cells.size(); ++c)
            text += fmt::format("  {:>{}}", cells[c], widths[c]);
        text += '\n';
    }
    return text;
}

}  // namespace crossdock::tool

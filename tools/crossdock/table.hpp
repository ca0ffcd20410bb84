/// @file
/// @brief Tables for people.
#pragma once

#include <string>
#include <vector>

namespace crossdock::tool {

/// @brief Whether a time is the least one, to the digits that tables show.
bool is_tie(double least_seconds, double seconds);

/// @brief Rows of text in columns as wide as their widest cell; the first column is a name, the
/// others are numbers and stand to the right.
class table {
  public:
    using row = std::vector<std::string>;

    /// @param header  as many cells as every row has
    explicit table(row header) : rows_{std::move(header)} {}

    void add(row cells) { rows_.push_back(std::move(cells)); }

    /// @brief Lines that end in a line break.
    std::string to_string() const;

  private:
    std::vector<row> rows_;
};

}  // namespace crossdock::tool

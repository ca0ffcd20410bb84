#include "tools/inputs/hierarchy.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>

#include "crossdock/block_partition.hpp"

namespace crossdock {

namespace {

constexpr std::string_view hierarchy_prefix = "amg:";

std::vector<std::string> part_files(const std::string& folder) {
    std::error_code fault;
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator file(folder, fault), end; !fault && file != end;
         file.increment(fault)) {
        const std::string path = file->path().string();
        if (path.ends_with(".txt") || path.ends_with(".txt.gz")) files.push_back(path);
    }
    if (fault) throw error(errc::file_error, fmt::format("cannot open {}", folder));
    std::sort(files.begin(), files.end());
    return files;
}

// zlib reads plain files as they are.
std::string read_text(const std::string& path) {
    const std::unique_ptr<gzFile_s, decltype(&gzclose)> file(gzopen(path.c_str(), "rb"), &gzclose);
    if (!file) throw error(errc::file_error, fmt::format("cannot open {}", path));
    constexpr unsigned piece_bytes = 1U << 20U;
    std::string text;
    std::string piece(piece_bytes, '\0');
    while (true) {
        const int num_bytes = gzread(file.get(), piece.data(), piece_bytes);
        if (num_bytes < 0) throw error(errc::file_error, fmt::format("cannot read {}", path));
        if (num_bytes == 0) return text;
        text.append(piece, 0, static_cast<std::size_t>(num_bytes));
    }
}

// The words of one line, from left to right.
class words {
  public:
    explicit words(std::string_view line) : rest_(line) { skip_blanks(); }

    bool is_at_end() const noexcept { return rest_.empty(); }

    bool take(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        skip_blanks();
        return true;
    }

    // A number in [0, limit).
    count_t take_below(count_t limit, const char* what) {
        count_t value = 0;
        const auto [stop, fault] =
            std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (fault != std::errc() || value < 0 || value >= limit) {
            throw error(errc::parse_error,
                        fmt::format("\"{}\" is no {} in [0, {})", rest_.substr(0, rest_.find(' ')),
                                    what, limit));
        }
        rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
        skip_blanks();
        return value;
    }

    void expect(std::string_view word) {
        if (!take(word)) throw error(errc::parse_error, fmt::format("\"{}\" is missing", word));
    }

    void expect_end() const {
        if (!is_at_end()) throw error(errc::parse_error, fmt::format("\"{}\" follows", rest_));
    }

  private:
    void skip_blanks() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
    }

    std::string_view rest_;
};

// Takes the lines of all files, one after the other.
class hierarchy_reader {
  public:
    void take_line(std::string_view line) {
        words rest(line);
        if (rest.is_at_end()) return;
        if (rest.take("level")) {
            open(rest);
        } else if (current_) {
            levels_[*current_].messages.push_back(message(rest, levels_[*current_].starts));
        } else {
            throw error(errc::parse_error, "a message comes before its level");
        }
        rest.expect_end();
    }

    void end_file() { current_.reset(); }

    std::vector<hierarchy_level>&& take_levels() && { return std::move(levels_); }

  private:
    static constexpr count_t most = count_t{1} << 31;

    void open(words& rest) {
        const auto num_levels = static_cast<count_t>(levels_.size());
        current_ = static_cast<std::size_t>(rest.take_below(num_levels + 1, "level"));
        if (*current_ < levels_.size()) return;
        rest.expect("rows");
        const count_t num_rows = rest.take_below(most, "number of rows");
        rest.expect("ranks");
        const count_t num_ranks = rest.take_below(most, "number of ranks");
        rest.expect("starts");
        auto& starts = levels_.emplace_back().starts;
        for (count_t rank = 0; rank <= num_ranks; ++rank)
            starts.push_back(rest.take_below(num_rows + 1, "start"));
        if (starts.front() != 0 || starts.back() != num_rows ||
            !std::is_sorted(starts.begin(), starts.end())) {
            throw error(errc::parse_error,
                        fmt::format("the starts do not ascend from 0 to {}", num_rows));
        }
    }

    static level_message message(words& rest, const std::vector<count_t>& starts) {
        const auto num_ranks = static_cast<count_t>(starts.size()) - 1;
        level_message result;
        result.receiver = static_cast<rank_t>(rest.take_below(num_ranks, "rank"));
        result.source = static_cast<rank_t>(rest.take_below(num_ranks, "rank"));
        const auto source = static_cast<std::size_t>(result.source);
        const count_t num_items = starts[source + 1] - starts[source];
        const count_t num_indices = rest.take_below(num_items + 1, "number of indices");
        for (count_t k = 0; k < num_indices; ++k)
            result.indices.push_back(rest.take_below(num_items, "index"));
        return result;
    }

    std::vector<hierarchy_level> levels_;
    std::optional<std::size_t> current_;
};

void read_part(const std::string& path, hierarchy_reader& reader) {
    std::istringstream text(read_text(path));
    count_t line_number = 0;
    for (std::string line; std::getline(text, line);) {
        ++line_number;
        try {
            reader.take_line(line);
        } catch (const error& fault) {
            throw error(fault.code(),
                        fmt::format("{}, line {}: {}", path, line_number, fault.what()));
        }
    }
    reader.end_file();
}

// FOLDER or FOLDER:LEVEL.
std::vector<hierarchy_level> read_levels(const std::string& text) {
    const auto colon = text.rfind(':');
    const char* const end = text.data() + text.size();
    std::size_t number = 0;
    if (colon == std::string::npos) return read_hierarchy(text);
    const auto [stop, fault] = std::from_chars(text.data() + colon + 1, end, number);
    if (fault != std::errc() || stop != end) return read_hierarchy(text);
    const std::string folder = text.substr(0, colon);
    auto levels = read_hierarchy(folder);
    if (number >= levels.size()) {
        throw error(errc::invalid_argument,
                    fmt::format("{} has {} levels, of which none is number {}", folder,
                                levels.size(), number));
    }
    return {std::move(levels[number])};
}

}  // namespace

std::vector<hierarchy_level> read_hierarchy(const std::string& folder) {
    hierarchy_reader reader;
    for (const auto& path : part_files(folder)) read_part(path, reader);
    auto levels = std::move(reader).take_levels();
    if (levels.empty())
        throw error(errc::parse_error,
                    fmt::format("{} has no files of a recorded hierarchy", folder));
    return levels;
}

workload fold(const hierarchy_level& level, rank_t num_ranks) {
    const auto num_blocks = static_cast<count_t>(level.starts.size()) - 1;
    const auto blocks = block_partition::blocks(num_blocks, num_ranks);
    std::vector<std::vector<count_t>> needed(static_cast<std::size_t>(num_ranks));
    for (const auto& message : level.messages) {
        auto& row = needed[static_cast<std::size_t>(blocks.owner(message.receiver))];
        const count_t first = level.starts[static_cast<std::size_t>(message.source)];
        for (const count_t index : message.indices) row.push_back(first + index);
    }
    workload result;
    auto& [matrix, owners] = result;
    matrix.num_rows = num_ranks;
    matrix.num_columns = level.starts.back();
    owners.num_ranks = num_ranks;
    for (rank_t rank = 0; rank < num_ranks; ++rank) {
        auto& row = needed[static_cast<std::size_t>(rank)];
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        matrix.columns.insert(matrix.columns.end(), row.begin(), row.end());
        matrix.row_offsets.push_back(static_cast<count_t>(matrix.columns.size()));
        owners.row_owner.push_back(rank);
        const count_t end = level.starts[static_cast<std::size_t>(blocks.first(rank + 1))];
        owners.column_owner.resize(static_cast<std::size_t>(end), rank);
    }
    matrix.values.assign(matrix.columns.size(), 1.0);
    return result;
}

bool is_hierarchy(const std::string& file) { return file.starts_with(hierarchy_prefix); }

std::vector<workload> load_levels(const std::string& file, const std::string& partition_spec,
                                  const topology& regions) {
    std::vector<workload> levels;
    if (!is_hierarchy(file)) {
        levels.push_back(load_workload(file, partition_spec, regions));
        return levels;
    }
    if (partition_spec != "block") {
        throw error(errc::invalid_argument,
                    fmt::format("\"{}\" has its own partition, \"{}\" does not apply", file,
                                partition_spec));
    }
    for (const auto& level : read_levels(file.substr(hierarchy_prefix.size()))) {
        const auto num_recorded = static_cast<count_t>(level.starts.size()) - 1;
        if (regions.num_ranks() > num_recorded) {
            throw error(
                errc::size_mismatch,
                fmt::format(
                    "{} was recorded on {} ranks, which is fewer than {}; use at most as many",
                    file, num_recorded, regions.num_ranks()));
        }
        levels.push_back(fold(level, regions.num_ranks()));
    }
    return levels;
}

}  // namespace crossdock

#include "tools/crossdock/memory_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "crossdock/error.hpp"

namespace crossdock::tool {

namespace {

constexpr std::string_view control_groups = "/sys/fs/cgroup";

// The number in a file, or after a word of it; none if it is not there, or "max".
std::optional<std::size_t> number_in(const std::string& path, std::string_view word = {}) {
    std::ifstream file(path);
    std::string name;
    while (!word.empty() && name != word && file >> name) {
    }
    std::size_t number = 0;
    if (file >> number) return number;
    return std::nullopt;
}

// What a control group leaves. Pages of files that it has read make room when they must.
std::optional<std::size_t> left_in(const std::string& folder, const char* limit, const char* usage,
                                   const char* file_pages) {
    const auto most = number_in(folder + limit);
    const auto used = number_in(folder + usage);
    if (!most || !used) return std::nullopt;
    const auto kept =
        *used - std::min(*used, number_in(folder + "/memory.stat", file_pages).value_or(0));
    return *most - std::min(*most, kept);
}

void lower(std::optional<std::size_t>& least, std::optional<std::size_t> other) {
    if (other) least = std::min(least.value_or(*other), *other);
}

// Of the process's own group and those above it; a group of a container stands at the top.
void lower_to_groups(std::optional<std::size_t>& least) {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const auto path_begin = line.rfind(':') + 1;
        const bool is_unified = line.starts_with("0::");
        if (!is_unified && line.find(":memory:") == std::string::npos) continue;
        const std::string root = std::string(control_groups) + (is_unified ? "" : "/memory");
        for (std::filesystem::path path = line.substr(path_begin);; path = path.parent_path()) {
            const std::string folder = root + (path == "/" ? "" : path.string());
            lower(least, is_unified
                             ? left_in(folder, "/memory.max", "/memory.current", "inactive_file")
                             : left_in(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                       "total_inactive_file"));
            if (!path.has_relative_path()) break;
        }
    }
}

std::string readable(std::size_t bytes) {
    constexpr double kibi = 1024;
    double number = static_cast<double>(bytes);
    const char* unit = "bytes";
    for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
        if (number < kibi) break;
        number /= kibi;
        unit = larger;
    }
    return fmt::format("{:.{}f} {}", number, bytes < 1024 ? 0 : 1, unit);
}

}  // namespace

std::optional<std::size_t> available_memory_bytes() {
    constexpr std::size_t kibi = 1024;
    std::optional<std::size_t> least;
    if (const auto available = number_in("/proc/meminfo", "MemAvailable:"))
        least = *available * kibi;
    lower_to_groups(least);
    return least;
}

void check_memory(const std::string& what, std::size_t needed_bytes, std::size_t limit_bytes) {
    const auto limit = limit_bytes > 0 ? limit_bytes : available_memory_bytes();
    if (!limit || needed_bytes <= *limit) return;
    throw error(errc::out_of_memory,
                fmt::format("{} needs about {} of memory, but may take {} only", what,
                            readable(needed_bytes), readable(*limit)));
}

}  // namespace crossdock::tool

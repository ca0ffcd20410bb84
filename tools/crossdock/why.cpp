#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "crossdock/error.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/verbs.hpp"

namespace crossdock::tool {

namespace {

// What an exchange or an object is called in a line: "exchange 3 of neighbor exchange #1 halo".
struct named_act {
    std::string what;    // of the exchange or the object; or of nothing
    std::string object;  // empty: of none
    long exchange = 0;   // 0: of none
};

named_act act_of(const std::string& text) {
    constexpr std::string_view begin = "exchange ", between = " of ";
    named_act act{text, text};
    const auto end = text.find(between);
    if (!text.starts_with(begin) || end == std::string::npos) return act;
    try {
        std::size_t used = 0;
        act.exchange = std::stol(text.substr(begin.size(), end - begin.size()), &used);
        if (used == end - begin.size()) act.object = text.substr(end + between.size());
    } catch (const std::logic_error&) {  // an object that is called so
        act.exchange = 0;
    }
    return act;
}

// One line of CROSSDOCK_WATCHDOG.
struct rank_line {
    int rank = 0;
    int num_ranks = 0;
    bool waits = false;  // else it is elsewhere
    named_act in;        // what it waits in; or a call of MPI
    std::vector<int> awaited;
    std::vector<int> open_sends;
    std::string last_verb;  // made, started, ended, closes, nothing
    named_act last;
    std::string place;  // "process 7 on host"
};

std::vector<int> ranks_of(const std::string& list) {
    std::vector<int> all;
    std::istringstream from(list);
    for (std::string one; std::getline(from, one, ',');) {
        if (one != "-") all.push_back(std::stoi(one));
    }
    return all;
}

// Nothing, if it is no such line; launchers may put something before it.
std::optional<rank_line> read_line(const std::string& text) try {
    constexpr std::string_view begin = "crossdock: rank ", between = " | ";
    auto at = text.find(begin);
    if (at == std::string::npos) return std::nullopt;
    std::vector<std::string> fields;
    while (at != std::string::npos) {
        const auto end = text.find(between, at);
        fields.push_back(text.substr(at, end == std::string::npos ? end : end - at));
        at = end == std::string::npos ? end : end + between.size();
    }
    rank_line line;
    std::string crossdock, rank, of, state;
    std::istringstream head(fields[0]);
    head >> crossdock >> rank >> line.rank >> of >> line.num_ranks >> state;
    if (!head || line.rank < 0 || line.rank >= line.num_ranks || fields.size() < 4)
        return std::nullopt;
    line.waits = state == "waits";
    for (const auto& field : fields) {
        const auto rest = [&](std::string_view key) {
            return field.substr(std::min(key.size(), field.size()));
        };
        if (field.starts_with("in ")) line.in = act_of(rest("in "));
        if (field.starts_with("for ")) line.awaited = ranks_of(rest("for "));
        if (field.starts_with("open sends to ")) line.open_sends = ranks_of(rest("open sends to "));
        if (!field.starts_with("last ")) continue;
        const auto deed = rest("last ");
        line.last_verb = deed.substr(0, deed.find(' '));
        line.last = act_of(deed.substr(std::min(deed.size(), line.last_verb.size() + 1)));
    }
    line.place = fields.back().substr(fields.back().find(", ") + 2);
    return line;
} catch (const std::logic_error&) {  // no number where one should be
    return std::nullopt;
}

using lines_by_rank = std::map<int, rank_line>;

std::string ranks_text(const std::vector<int>& ranks, std::size_t most = 8) {
    const bool is_cut = ranks.size() > most;
    const std::vector<int> shown(ranks.begin(),
                                 is_cut ? ranks.begin() + static_cast<long>(most) : ranks.end());
    return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(shown, ", "),
                       is_cut ? fmt::format(" and {} more", ranks.size() - most) : "");
}

std::string lacks(const named_act& awaited) {
    return (awaited.exchange > 0 ? "has not started " : "takes no part in ") + awaited.what;
}

// Why rank `other` keeps one that waits; nothing if it waits itself in the same call, or for somebody else.
std::optional<std::string> cause_at(const lines_by_rank& lines, const rank_line& waiting,
                                    int other) {
    const auto who = fmt::format("rank {}", other);
    const auto found = lines.find(other);
    if (found == lines.end())
        return fmt::format(
            "{} has written no line: it never came to crossdock, or its process has ended", who);
    const rank_line& it = found->second;
    const auto& awaited = waiting.in;
    const auto differs = fmt::format(
        "{} has completed {} without sending to rank {}: their patterns or plans differ", who,
        awaited.what, waiting.rank);
    if (it.last_verb == "closes")
        return fmt::format("{} has ended: it is in MPI_Finalize, and {}", who, lacks(awaited));
    if (it.waits && it.in.object != awaited.object)
        return fmt::format("{} waits in {}, and {}: all ranks must start the same objects", who,
                           it.in.what, lacks(awaited));
    if (it.waits) return it.in.exchange > awaited.exchange ? std::optional(differs) : std::nullopt;
    const bool is_of_same = it.last.object == awaited.object;
    const bool has_started =
        is_of_same && it.last_verb == "started" && it.last.exchange == awaited.exchange;
    if (is_of_same && it.last_verb == "ended" && it.last.exchange >= awaited.exchange)
        return differs;
    const auto place = it.in.what.starts_with("MPI_") ? "is now in " + it.in.what
                       : it.in.what == "no call of MPI"
                           ? std::string("computes, or waits outside of crossdock and MPI")
                           : std::string("is outside of crossdock");
    if (has_started)
        return fmt::format("{} has started {}, but {} before it waits ({})", who, awaited.what,
                           place, it.place);
    return fmt::format("{} {}; it last {} {}, and {} ({})", who, lacks(awaited), it.last_verb,
                       it.last.what, place, it.place);
}

lines_by_rank read_lines(const std::vector<std::string>& files) {
    lines_by_rank lines;
    for (const auto& file : files) {
        std::ifstream stream(file);
        if (!stream) throw error(errc::file_error, "cannot open " + file);
        for (std::string text; std::getline(stream, text);) {
            if (auto line = read_line(text)) lines.insert_or_assign(line->rank, *line);
        }
    }
    if (lines.empty())
        throw error(errc::parse_error,
                    fmt::format("no rank has written a line of CROSSDOCK_WATCHDOG to {}",
                                fmt::join(files, ", ")));
    return lines;
}

// Whom a rank waits for; where it does not know, all others.
std::vector<int> awaited_by(const rank_line& line) {
    if (!line.awaited.empty()) return line.awaited;
    if (!line.open_sends.empty()) return line.open_sends;
    std::vector<int> others;
    for (int rank = 0; rank < line.num_ranks; ++rank) {
        if (rank != line.rank) others.push_back(rank);
    }
    return others;
}

int explain(const std::vector<std::string>& files) {
    if (!is_first_process()) return 0;
    const auto lines = read_lines(files);
    // Each cause with those that wait for it. The first ones keep most ranks.
    std::map<std::string, std::vector<int>> causes;
    std::size_t most = 0;
    for (const auto& [rank, line] : lines) {
        if (!line.waits) continue;
        for (const int other : awaited_by(line)) {
            const auto cause = cause_at(lines, line, other);
            if (!cause) continue;
            auto& waiting = causes[*cause];
            if (waiting.empty() || waiting.back() != rank) waiting.push_back(rank);
            most = std::max(most, waiting.size());
        }
    }
    for (const auto& [cause, waiting] : causes) {
        if (waiting.size() == most)
            print("{}; {} {} for it\n", cause, ranks_text(waiting),
                  waiting.size() == 1 ? "waits" : "wait");
    }
    if (causes.empty())
        print("{} of {} ranks have written a line, and none of them waits for one that does not\n",
              lines.size(), lines.begin()->second.num_ranks);
    return 0;
}

}  // namespace

void add_why(CLI::App& app, action& chosen) {
    auto files = std::make_shared<std::vector<std::string>>();
    auto* verb = add_verb(app, "why");
    verb->add_option("FILE", *files,
                     "What CROSSDOCK_WATCHDOG has written, or a program's standard error")
        ->required();
    verb->callback([files, &chosen] { chosen = [files] { return explain(*files); }; });
}

}  // namespace crossdock::tool

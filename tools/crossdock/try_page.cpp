#include "tools/crossdock/try_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/crossdock/try_finding.hpp"

namespace crossdock::tool {

namespace {

std::string escape(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '&': safe += "&amp;"; break;
            case '<': safe += "&lt;"; break;
            case '>': safe += "&gt;"; break;
            case '"': safe += "&quot;"; break;
            default: safe += c;
        }
    }
    return safe;
}

// A text, or a number as JSON has it; escaped.
std::string shown(const json& value) {
    return escape(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string microseconds_of(const json& seconds) {
    return fmt::format("{:.1f}", 1e6 * seconds.get<double>());
}

bool is_route(const json& contender) { return !contender["executor"].is_null(); }

double least_of_mpi(const json& contenders) {
    double least = 0;
    for (const auto& one : contenders) {
        const double median = one["exchange_seconds"]["median"];
        if (!is_route(one) && (least == 0 || median < least)) least = median;
    }
    return least;
}

std::string row(const char* cell, const std::vector<std::string>& cells) {
    return fmt::format("<tr><{0}>{1}</{0}></tr>\n", cell,
                       fmt::join(cells, fmt::format("</{0}><{0}>", cell)));
}

std::string table_of(const char* kind, const std::vector<std::string>& head,
                     const std::string& rows) {
    return fmt::format(
        "<div class=\"wide\"><table "
        "class=\"{}\">\n<thead>{}</thead>\n<tbody>\n{}</tbody></table></div>\n",
        kind, row("th", head), rows);
}

// A bar to each contender's median, and a line between its quartiles. What takes far longer than MPI is clipped, or it
// would leave no room for the others.
std::string picture(const json& contenders) {
    constexpr int left = 190, right = 370, height = 30;
    constexpr double most_of_mpi = 3;
    const double reference = least_of_mpi(contenders);
    double most = 0;
    for (const auto& one : contenders)
        most = std::max(most, one["exchange_seconds"]["upper_quartile"].get<double>());
    const bool is_clipped = most > most_of_mpi * reference;
    const double end = is_clipped ? most_of_mpi * reference : most;
    const auto x = [&](double seconds) {
        return left + (right - left) * (end > 0 ? std::min(seconds / end, 1.0) : 0);
    };
    std::string drawn;
    double y = height / 2.0;
    for (const auto& one : contenders) {
        const auto& seconds = one["exchange_seconds"];
        drawn += fmt::format(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"16\"/>"
            "<path class=\"spread\" d=\"M{:.1f},{}H{:.1f}\"/>",
            left - 8, y + 5, escape(label_of(one["name"])), is_route(one) ? "route" : "mpi", left,
            y - 8, x(seconds["median"]) - left, x(seconds["lower_quartile"]), y,
            x(seconds["upper_quartile"]));
        if (seconds["upper_quartile"] > end)
            drawn += fmt::format("<path class=\"clipped\" d=\"M{},{}l8,8l-8,8z\"/>", right, y - 8);
        drawn += fmt::format("<text x=\"{}\" y=\"{}\">{} µs</text>\n", right + 12, y + 5,
                             microseconds_of(seconds["median"]));
        y += height;
    }
    drawn += fmt::format("<path class=\"least\" d=\"M{0:.1f},0V{1}\"/>\n", x(reference),
                         y - height / 2.0);
    return fmt::format(
        "<figure><div class=\"wide\"><svg class=\"bars\" viewBox=\"0 0 450 {}\" role=\"img\" "
        "aria-label=\"Median times of an exchange\">\n{}</svg></div>\n"
        "<figcaption>Bars: the median of the slowest rank's time of an exchange, <b "
        "class=\"mpi\">MPI alone</b> and "
        "<b class=\"route\">crossdock</b>. Thin lines: between the quartiles of all rounds. "
        "Dashed: the fastest of MPI alone.{}</figcaption></figure>\n",
        y - height / 2.0, drawn,
        is_clipped ? fmt::format(" Arrows: clipped at {:g} times that.", most_of_mpi) : "");
}

std::string with_small(const std::string& text, const std::string& small) {
    return fmt::format("{}<small>{}</small>", text, small);
}

std::string quartiles_text(const json& seconds) {
    return microseconds_of(seconds["lower_quartile"]) + " to " +
           microseconds_of(seconds["upper_quartile"]);
}

std::string interval_text(const json& ratio) {
    if (ratio["lower"].is_null()) return "of too few rounds";
    return fmt::format("{:.2f} to {:.2f}", ratio["lower"].get<double>(),
                       ratio["upper"].get<double>());
}

std::string contenders_table(const json& contenders) {
    std::string rows;
    for (const auto& one : contenders) {
        const auto& seconds = one["exchange_seconds"];
        const auto& ratio = one["ratio"];
        const auto counted = [&](const char* all, const char* between) {
            return with_small(shown(one[all]), shown(one[between]));
        };
        rows += row(
            "td",
            {escape(label_of(one["name"])),
             with_small(microseconds_of(seconds["median"]), quartiles_text(seconds)),
             with_small(fmt::format("{:.2f}", ratio["median"].get<double>()), interval_text(ratio)),
             microseconds_of(one["setup_seconds"]["median"]),
             counted("messages", "inter_region_messages"), counted("items", "inter_region_items"),
             one["verified"].get<bool>() ? "yes" : "NO"});
    }
    return table_of("contenders",
                    {"contender", with_small("median, µs", "quartiles"),
                     with_small("times MPI's fastest", "interval, 95 %"), "set-up, µs",
                     with_small("messages", "between regions"),
                     with_small("items", "between regions"), "verified"},
                    rows);
}

std::string estimates_table(const json& candidates) {
    std::string rows;
    for (const auto& one : candidates)
        rows +=
            row("td", {shown(one["route"]), microseconds_of(one["seconds"]), shown(one["mostly"])});
    return table_of("estimates", {"route", "estimated, µs", "mostly"}, rows);
}

std::string advice_text(const json& advice, const json& found) {
    if (found == to_string(outcome::undecided))
        return "<p>Measure longer, by --seconds or --iterations, before you change a "
               "program.</p>\n";
    if (advice.is_null()) return "<p>Leave this pattern to MPI.</p>\n";
    const auto block = [&](const char* where, const char* field) {
        return fmt::format("<p>{}</p>\n<pre>{}</pre>\n", where, shown(advice[field]));
    };
    const auto code = block("In C++:", "cxx") + block("In C:", "c");
    if (advice["environment"].is_null())
        return code +
               "<p>No variable says which ranks share memory: a program that stays as it is "
               "would not do what was measured.</p>\n";
    return code +
           block("A program that leaves the route to crossdock, by its environment:",
                 "environment") +
           block("A program that calls MPI_Neighbor_alltoallv and stays as it is:", "drop_in");
}

std::string pattern_section(const json& one, bool is_only) {
    std::string head;
    if (!is_only)
        head = fmt::format("<h2>{}</h2>\n<p class=\"finding {}\">{}</p>\n", shown(one["file"]),
                           shown(one["finding"]["outcome"]), shown(one["finding"]["text"]));
    std::string left_out;
    for (const auto& baseline : one["left_out"])
        left_out += fmt::format("<p class=\"note\">Without {}: {}.</p>\n",
                                escape(label_of(baseline["name"])), shown(baseline["reason"]));
    const auto& cluster = one["cluster_estimate"];
    return fmt::format(
        "{}{}{}<p class=\"note\">Items of {} bytes; {} rounds, in each of which all contenders "
        "take "
        "their turn; partition {}.</p>\n{}<h3>What to do</h3>\n{}<h3>What was estimated before"
        "</h3>\n{}{}",
        head, picture(one["contenders"]), contenders_table(one["contenders"]),
        shown(one["item_bytes"]), shown(one["iterations"]), shown(one["partition"]), left_out,
        advice_text(one["advice"], one["finding"]["outcome"]),
        estimates_table(one["choice"]["candidates"]),
        cluster.is_null() ? std::string()
                          : fmt::format("<p class=\"cluster\">{}</p>\n", shown(cluster)));
}

std::string place_section(const json& document) {
    std::string rows;
    const auto add = [&](const char* what, const std::string& is) {
        rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", what, is);
    };
    add("ranks", shown(document["ranks"]));
    add("machines", shown(document["hosts"]));
    add("cores", document["shared_cores"].is_null()
                     ? std::string("one or more for each rank")
                     : shown(document["shared_cores"]) + ", which ranks share");
    add("CPU", shown(document["cpu"]));
    add("MPI", shown(document["mpi"]));
    add("regions", fmt::format("{} ({})", shown(document["regions"]), shown(document["topology"])));
    add("ranks that can share memory", shown(document["nodes"]));
    add("machine of the estimates",
        shown(document["machine"]["name"]) +
            (document["is_calibrated"] ? ", measured by this run" : ", not measured"));
    add("crossdock",
        fmt::format("{}, built with {}", shown(document["version"]), shown(document["flags"])));
    return fmt::format("<h2>Where it was measured</h2>\n<table class=\"place\">\n{}</table>\n",
                       rows);
}

// In a script element nothing is escaped, and a "</" could end it.
std::string data_of(const json& document) {
    auto text = document.dump(-1, ' ', false, json::error_handler_t::replace);
    for (auto at = text.find("</"); at != text.npos; at = text.find("</", at))
        text.replace(at, 2, "<\\/");
    return text;
}

}  // namespace

std::string try_page(const json& document) {
    const auto& patterns = document["patterns"];
    std::string body = fmt::format("<p class=\"finding {}\">{}</p>\n", shown(document["outcome"]),
                                   shown(document["text"]));
    for (const auto& warning : document["warnings"])
        body += fmt::format("<p class=\"warning\">{}</p>\n", shown(warning));
    for (const auto& one : patterns) body += pattern_section(one, patterns.size() == 1);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>Does crossdock pay for {0}?</title>\n<style>\n{1}</style>\n</head>\n<body>\n"
        "<h1>Does crossdock pay for {0}?</h1>\n{2}{3}"
        "<script type=\"application/json\" id=\"crossdock-try\">{4}</script>\n</body>\n</html>\n",
        shown(document["file"]), page_style(), body, place_section(document), data_of(document));
}

}  // namespace crossdock::tool

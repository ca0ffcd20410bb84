#include "report_text_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace crossdock {

namespace {

constexpr const char* report_row =
    "{:<28} {:<18} {:>7} {:>8}  {:<14} {:<9} {:>5} {:>5} {:>9} {:>8} {:>11} {:>9} {:>9} {:>7} "
    "{:>8} "
    "{:>8} {:>8}  {}\n";

std::string gain_text(double gain) { return gain > 0 ? fmt::format("{:.2f}", gain) : "-"; }

std::string table_row(const reported_object& one) {
    const auto& sum = one.sum;
    const auto starts = static_cast<double>(std::max<count_t>(sum.starts, 1));
    const auto each = [&](count_t count) {
        return fmt::format("{:.4g}", static_cast<double>(count) / starts);
    };
    const auto us = [&](double seconds, rank_t ranks) {
        return fmt::format("{:.1f}", seconds * 1e6 / starts / ranks);
    };
    const auto mean = [&](double seconds) { return us(seconds, one.num_ranks); };
    const double hidden = sum.exchange_seconds > 0 ? sum.overlap_seconds / sum.exchange_seconds : 0;
    return fmt::format(
        fmt::runtime(report_row), sum.name, sum.kind, sum.objects, sum.starts, sum.route, sum.why,
        gain_text(sum.estimated_gain), gain_text(sum.measured_gain), each(sum.messages),
        each(sum.inter_region_messages), each(sum.bytes), mean(sum.exchange_seconds),
        us(one.max.exchange_seconds, 1), fmt::format("{:.0f} %", hidden * 100),
        mean(sum.packing_seconds), mean(sum.sending_seconds), mean(sum.waiting_seconds),
        one.max.longest_awaited < 0 ? "-"
                                    : fmt::format("rank {}, {:.3g} s", one.max.longest_awaited,
                                                  one.max.longest_awaited_seconds));
}

}  // namespace

std::string to_json(const reported_object& one) {
    using json = nlohmann::ordered_json;
    const auto& sum = one.sum;
    const auto seconds = [&](double object_report::*of) {
        return json{{"mean", sum.*of / one.num_ranks}, {"max", one.max.*of}};
    };
    const auto if_any = [](double gain) { return gain > 0 ? json(gain) : json(); };
    json awaited;
    if (one.max.longest_awaited >= 0)
        awaited = {{"rank", one.max.longest_awaited}, {"seconds", one.max.longest_awaited_seconds}};
    const json line{
        {"schema", "crossdock.report/1"},
        {"name", sum.name},
        {"kind", sum.kind},
        {"ranks", one.num_ranks},
        {"objects", sum.objects},
        {"starts", sum.starts},
        {"route", sum.route},
        {"why", sum.why},
        {"gain",
         {{"estimated", if_any(sum.estimated_gain)}, {"measured", if_any(sum.measured_gain)}}},
        {"messages", sum.messages},
        {"bytes", sum.bytes},
        {"inter_region_messages", sum.inter_region_messages},
        {"inter_region_bytes", sum.inter_region_bytes},
        {"seconds",
         {{"exchange", seconds(&object_report::exchange_seconds)},
          {"overlap", seconds(&object_report::overlap_seconds)},
          {"packing", seconds(&object_report::packing_seconds)},
          {"sending", seconds(&object_report::sending_seconds)},
          {"waiting", seconds(&object_report::waiting_seconds)}}},
        {"longest_awaited", awaited}};
    return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string to_json(const object_report& one) { return to_json(reported_object{1, one, one}); }

std::string to_table(std::span<const reported_object> all) {
    auto text =
        fmt::format(fmt::runtime(report_row), "object", "kind", "objects", "starts", "route", "why",
                    "est.", "meas.", "messages", "between", "bytes", "mean, us", "max, us",
                    "hidden", "packing", "sending", "waiting", "longest for");
    for (const auto& one : all) text += table_row(one);
    return text;
}

}  // namespace crossdock

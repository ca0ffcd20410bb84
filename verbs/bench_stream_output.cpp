#include <fmt/format.h>

#include <thread>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench_stream.hpp"

namespace crossdock::tool {

namespace {

using bench::streaming::latency_result;
using bench::streaming::standing;

count_t num_workers(const stream_bench_options& options, const topology& nodes) {
    return count_t{nodes.num_ranks()} * options.workload.stream.workers;
}

// Items per second; unset where a run has no fixed number of them.
std::optional<double> rate(const stream_bench_options& options, const topology& nodes,
                           const standing& one) {
    const auto& entry = bench::streaming::find_workload(options.workload.workload);
    const count_t items = entry.num_items(options.workload, num_workers(options, nodes));
    if (items == 0) return {};
    return static_cast<double>(items) / one.seconds.median;
}

json statistics_json(const stream_statistics& counted) {
    json causes;
    for (int cause = 0; cause < num_flush_causes; ++cause) {
        const auto name = static_cast<flush_cause>(cause);
        causes[to_string(name)] = counted.messages_of(name);
    }
    return {{"items", counted.items},
            {"combined", counted.combined},
            {"handled", counted.handled},
            {"forwarded", counted.forwarded},
            {"hops", counted.hops},
            {"messages", counted.messages},
            {"mpi_messages", counted.mpi_messages},
            {"mpi_bytes", counted.mpi_bytes},
            {"mean_fill", counted.mean_fill()},
            {"messages_by_cause", causes},
            {"overflow_buffers", counted.overflow_buffers},
            {"waits", counted.waits},
            {"peak_buffers", counted.peak_buffers}};
}

json latency_json(const std::optional<latency_result>& found) {
    if (!found) return nullptr;
    const auto& histogram = found->statistics.latency;
    json buckets = json::array();
    for (const auto& one : histogram.buckets())
        buckets.push_back({one.least_seconds, one.most_seconds, one.count});
    return {{"items_per_second", found->items_per_second},
            {"verified", found->is_verified},
            {"samples", histogram.count()},
            {"p50_seconds", histogram.quantile_seconds(0.5)},
            {"p99_seconds", histogram.quantile_seconds(0.99)},
            {"max_seconds", histogram.max_seconds()},
            {"buckets", buckets},
            {"statistics", statistics_json(found->statistics)}};
}

json work_json(const std::string& workload, const bench::streaming::work_counts& counts) {
    if (workload == "sssp") return {{"wasted", counts.wasted}, {"superseded", counts.superseded}};
    if (workload == "phold") return {{"rejected", counts.rejected}};
    return nullptr;
}

json contender_json(const stream_bench_options& options, const topology& nodes, const standing& one,
                    const reference_time& reference) {
    const auto items_per_second = rate(options, nodes, one);
    const auto& choice = one.who.choice;
    return {{"name", one.who.name},
            {"scheme", one.found.scheme ? json(to_string(*one.found.scheme)) : json(nullptr)},
            {"route", choice ? json(choice->route) : json(nullptr)},
            {"buffer_items", choice ? json(choice->buffer_items) : json(nullptr)},
            {"verified", one.found.is_verified},
            {"seconds", timing_json(one.seconds)},
            {"ratio", reference.compare(one.seconds).to_json()},
            {"items_per_second", items_per_second ? json(*items_per_second) : json(nullptr)},
            {"work", work_json(options.workload.workload, one.counts)},
            {"statistics",
             one.found.statistics ? statistics_json(*one.found.statistics) : json(nullptr)},
            {"latency", latency_json(one.latency)}};
}

json workload_json(const bench::streaming::workload_options& workload) {
    json text;
    const auto& name = workload.workload;
    if (name == "histogram" || name == "index_gather") {
        text = {{"updates_per_worker", workload.updates},
                {"table_bytes", workload.table_bytes},
                {"round_items", workload.round_items}};
    }
    if (name == "histogram") text["sub_block_bytes"] = workload.sub_block_bytes;
    if (name == "ping_ack") text = {{"pings_per_worker", workload.updates}};
    if (name == "sssp") {
        text = {{"graph", workload.graph}};
        if (workload.graph == "rmat") {
            text["vertices"] = workload.vertices;
            text["edges"] = workload.edges;
        }
        text["delta"] = workload.delta;
        text["combine"] = workload.combine;
    }
    if (name == "phold") {
        text = {{"lps_per_worker", workload.lps},
                {"events_per_lp", workload.lp_events},
                {"hops", workload.lp_hops},
                {"lookahead", workload.lookahead}};
    }
    return text;
}

json stream_json(const stream_bench_options& options) {
    const auto& stream = options.workload.stream;
    const double age_seconds = 1e-6 * options.max_age_microseconds;
    return {{"max_buffers", stream.max_buffers},
            {"priorities", stream.priorities},
            {"flush_on_idle", stream.flush_on_idle},
            {"max_age_seconds", age_seconds > 0 ? json(age_seconds) : json(nullptr)},
            {"shared_memory", stream.shared_memory},
            {"progress_thread", stream.progress_thread},
            {"communication_thread", stream.communication_thread}};
}

std::string label(const standing& one) {
    if (!one.who.choice) return one.who.name;
    const auto& choice = *one.who.choice;
    return fmt::format("{} {} {}", one.found.scheme ? to_string(*one.found.scheme) : "-",
                       choice.route, choice.buffer_items);
}

reference_time reference_of(const std::vector<standing>& standings) {
    return fastest_of_mpi(standings, &standing::seconds, label);
}

std::string work_text(const std::string& workload, const standing& one) {
    if (workload == "sssp") return fmt::format("{} ({})", one.counts.wasted, one.counts.superseded);
    if (workload == "phold") return fmt::to_string(one.counts.rejected);
    return "-";
}

table::row cells_of(const stream_bench_options& options, const topology& nodes, const standing& one,
                    const reference_time& reference) {
    const auto items_per_second = rate(options, nodes, one);
    table::row cells{label(one),
                     one.found.is_verified ? "yes" : "NO",
                     microseconds(one.seconds.min),
                     microseconds(one.seconds.lower_quartile),
                     microseconds(one.seconds.median),
                     microseconds(one.seconds.max),
                     items_per_second ? fmt::format("{:.1f}", 1e-6 * *items_per_second) : "-",
                     reference.ratio(one.seconds.median),
                     work_text(options.workload.workload, one)};
    if (const auto& counted = one.found.statistics) {
        cells.push_back(fmt::to_string(counted->messages));
        cells.push_back(fmt::format("{:.0f}", counted->mean_fill()));
        cells.push_back(fmt::to_string(counted->messages_of(flush_cause::full)));
    } else {
        cells.insert(cells.end(), 3, "-");
    }
    return cells;
}

void print_latencies(const std::vector<standing>& standings) {
    table lines({"contender", "verified", "M items/s", "p50", "p99", "max", "samples", "mean fill",
                 "full", "idle", "age"});
    for (const auto& one : standings) {
        if (!one.latency) continue;
        const auto& counted = one.latency->statistics;
        lines.add({label(one), one.latency->is_verified ? "yes" : "NO",
                   fmt::format("{:.2f}", 1e-6 * one.latency->items_per_second),
                   microseconds(counted.latency.quantile_seconds(0.5)),
                   microseconds(counted.latency.quantile_seconds(0.99)),
                   microseconds(counted.latency.max_seconds()),
                   fmt::to_string(counted.latency.count()),
                   fmt::format("{:.1f}", counted.mean_fill()),
                   fmt::to_string(counted.messages_of(flush_cause::full)),
                   fmt::to_string(counted.messages_of(flush_cause::idle)),
                   fmt::to_string(counted.messages_of(flush_cause::age))});
    }
    print("\nlatency in microseconds\n\n{}", lines.to_string());
}

}  // namespace

void print_stream_json(const stream_bench_options& options, const topology& nodes,
                       const std::vector<standing>& standings) {
    json document{{"schema", "crossdock.bench.stream/1"},         {"version", CROSSDOCK_VERSION},
                  {"workload", options.workload.workload},        {"mpi", mpi_version()},
                  {"cores", std::thread::hardware_concurrency()}, {"ranks", nodes.num_ranks()},
                  {"workers", options.workload.stream.workers},   {"nodes", nodes.to_string()}};
    document.update(workload_json(options.workload));
    document["seed"] = options.workload.seed;
    document["stream"] = stream_json(options);
    document["rate"] = options.contest.rate > 0 ? json(options.contest.rate) : json(nullptr);
    document["warm_ups"] = options.contest.warm_ups;
    document["iterations"] = options.contest.iterations;
    document["contenders"] = json::array();
    const auto reference = reference_of(standings);
    for (const auto& one : standings)
        document["contenders"].push_back(contender_json(options, nodes, one, reference));
    print(document);
}

void print_stream_table(const stream_bench_options& options, const topology& nodes,
                        const std::vector<standing>& standings) {
    const auto& workload = options.workload;
    print("{}: {} ranks of {} workers, nodes {}, {} iterations, {}\n", workload.workload,
          nodes.num_ranks(), workload.stream.workers, nodes.to_string(), options.contest.iterations,
          mpi_version());
    const auto reference = reference_of(standings);
    print("microseconds of the slowest rank; million {} per second of all; {}\n\n",
          bench::streaming::find_workload(workload.workload).item, reference.legend());
    const std::string work = workload.workload == "phold" ? "rejected" : "wasted";
    table lines({"contender", "verified", "min", "quartile", "median", "max", "M/s", "ratio", work,
                 "messages", "mean fill", "full"});
    for (const auto& one : standings) lines.add(cells_of(options, nodes, one, reference));
    print("{}", lines.to_string());
    if (options.contest.rate > 0) print_latencies(standings);
}

}  // namespace crossdock::tool

// Messages, memory and latency of the schemes of a stream at the study's size: its formulae, and a replay.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "satellites/studies/ping_ack.hpp"
#include "satellites/studies/print_record.hpp"
#include "satellites/studies/stream_replay.hpp"

namespace {

using namespace crossdock;
using namespace crossdock::bench;
using nlohmann::json;

struct study_options {
    studies::stream_setting setting;
    std::string machine = "generic_100g";
    std::vector<std::string> workloads{"histogram", "index_gather"};
    std::vector<std::string> schemes{"ww", "wps", "wsp", "pp"};
    std::vector<count_t> buffer_items{512, 1024, 2048};
    count_t collected_items = 1;
    double item_ns = 40;
    std::optional<double> message_ns;
    double message_byte_ns = 0;
};

count_t num_places(const studies::stream_setting& s) { return count_t{s.nodes} * s.processes; }

// Items of one source, and how many buffers it deals them out to.
count_t items_of_source(const studies::stream_setting& s) {
    return fills_together(s.scheme) ? s.items * s.workers : s.items;
}

count_t buffers_of_source(const studies::stream_setting& s) {
    return s.scheme == stream_scheme::ww ? num_places(s) * s.workers : num_places(s);
}

// Between the items of a buffer, or of what one worker collects for it.
double interval_of(const studies::stream_setting& s, double push_interval, bool is_of_one_worker) {
    const bool is_shared = fills_together(s.scheme) && !is_of_one_worker;
    return push_interval * static_cast<double>(buffers_of_source(s)) / (is_shared ? s.workers : 1);
}

// A buffer leaves full as often as it can, and once at the end. Items wait (k - 1) / 2 intervals on average
// in one that leaves with k; where a worker collects c first, (c - 1) / 2 of its own and then (k - c) / 2.
double expected_wait(const studies::stream_setting& s, double push_interval) {
    const double filled =
        static_cast<double>(items_of_source(s)) / static_cast<double>(buffers_of_source(s));
    const auto g = static_cast<double>(s.buffer_items);
    const auto c = static_cast<double>(s.collected_items);
    const double full = static_cast<double>(static_cast<count_t>(filled / g));
    const double rest = filled - full * g;
    return (full * g * (g - c) + rest * std::max(rest - c, 0.0)) / 2 / filled *
               interval_of(s, push_interval, false) +
           (c - 1) / 2 * interval_of(s, push_interval, true);
}

// The study's g m N and its like; what workers collect comes on top.
count_t most_buffered(const studies::stream_setting& s) {
    const count_t collected = s.collected_items > 1 ? s.collected_items * s.workers : 0;
    return (max_buffered_items(s.scheme, s.buffer_items, num_places(s), s.workers) +
            collected * num_places(s)) *
           (s.is_answered ? 2 : 1);
}

json case_json(const study_options& options, const std::string& workload,
               const studies::stream_setting& s) {
    const auto done = studies::replay_stream(s, load_machine(options.machine));
    const auto bounds = stream_message_bounds(s.scheme, items_of_source(s), s.buffer_items,
                                              num_places(s), s.workers);
    if (done.least_messages < bounds.least || done.most_messages > bounds.most)
        throw error(errc::internal, "a source's messages are outside the study's bounds");
    const auto memory = most_buffered(s);
    const double push_interval = done.pushing_seconds / static_cast<double>(s.items);
    const double wait = expected_wait(s, push_interval);
    const double bound = static_cast<double>(s.buffer_items) * interval_of(s, push_interval, false);
    fmt::print(
        stderr,
        "{:12} {:4} g {:5}: source sends {:6}..{:6} (bounds {:6}..{:6}), process buffers {:9} of "
        "{:9}, latency us mean {:9.1f} (a push waits {:9.1f}) p50 {:9.1f} p99 {:9.1f}, overhead "
        "{:6.2f} "
        "ns an item ({:6.2f} contention), {:8.3f} ms\n",
        workload, to_string(s.scheme), s.buffer_items, done.least_messages, done.most_messages,
        bounds.least, bounds.most, done.most_buffered, memory, done.mean_latency_seconds * 1e6,
        wait * 1e6, done.latencies.quantile_seconds(0.5) * 1e6,
        done.latencies.quantile_seconds(0.99) * 1e6, done.overhead_seconds * 1e9,
        done.contention_seconds * 1e9, done.seconds * 1e3);
    return {{"workload", workload},
            {"scheme", to_string(s.scheme)},
            {"buffer_items", s.buffer_items},
            {"collected_items", s.collected_items},
            {"items_per_worker", s.items},
            {"messages_per_source", {{"least", done.least_messages}, {"most", done.most_messages}}},
            {"messages_per_source_bounds", {{"least", bounds.least}, {"most", bounds.most}}},
            {"messages_per_node", done.messages},
            {"full_messages_per_node", done.full_messages},
            {"answer_messages_per_node", done.answer_messages},
            {"buffered_items_per_process", done.most_buffered},
            {"buffered_items_per_process_bound", memory},
            {"latencies", done.num_latencies},
            {"mean_latency_seconds", done.mean_latency_seconds},
            {"expected_wait_seconds", wait},
            {"bound_of_wait_seconds", bound},
            {"median_latency_seconds", done.latencies.quantile_seconds(0.5)},
            {"p99_latency_seconds", done.latencies.quantile_seconds(0.99)},
            {"pushing_seconds", done.pushing_seconds},
            {"thread_seconds", done.thread_seconds},
            {"simulated_seconds", done.seconds},
            {"overhead_seconds_per_item", done.overhead_seconds},
            {"contention_seconds_per_item", done.contention_seconds}};
}

json ping_ack_json(const study_options& options, const studies::stream_setting& s) {
    const double seconds = studies::ping_ack_seconds(s, load_machine(options.machine));
    fmt::print(stderr,
               "ping_ack {} processes of {} workers, {} messages of {} items each: {:.3f} ms\n",
               s.processes, s.workers, s.items, s.buffer_items, seconds * 1e3);
    return {{"workload", "ping_ack"},
            {"message_items", s.buffer_items},
            {"messages_per_worker", s.items},
            {"simulated_seconds", seconds}};
}

json run(const study_options& options) {
    auto s = options.setting;
    s.item_seconds = options.item_ns * 1e-9;
    if (options.message_ns) s.message_seconds = *options.message_ns * 1e-9;
    s.message_seconds_per_byte = options.message_byte_ns * 1e-9;
    json cases = json::array();
    for (const auto& workload : options.workloads) {
        s.is_answered = workload == "index_gather";
        for (const count_t g : options.buffer_items) {
            s.buffer_items = g;
            if (workload == "ping_ack") {
                cases.push_back(ping_ack_json(options, s));
                continue;
            }
            for (const auto& scheme : options.schemes) {
                s.scheme = stream_scheme_from_string(scheme);
                s.collected_items = fills_together(s.scheme) ? options.collected_items : 1;
                cases.push_back(case_json(options, workload, s));
            }
        }
    }
    return {{"nodes", s.nodes},
            {"processes_per_node", s.processes},
            {"workers_per_process", s.workers},
            {"machine", options.machine},
            {"item_bytes", s.item_bytes},
            {"item_seconds", s.item_seconds},
            {"communication_thread", s.has_communication_thread},
            {"message_seconds", s.message_seconds ? json(*s.message_seconds) : json()},
            {"message_seconds_per_byte", s.message_seconds_per_byte},
            {"seed", s.seed},
            {"cases", cases}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Replays the buffers of streams on a described machine");
    study_options options;
    auto& s = options.setting;
    app.add_option("--nodes", s.nodes)->capture_default_str();
    app.add_option("--processes", s.processes, "Of a node")->capture_default_str();
    app.add_option("--workers", s.workers, "Of a process")->capture_default_str();
    app.add_option("--items", s.items, "That a worker pushes")->capture_default_str();
    app.add_option("--item-bytes", s.item_bytes)->capture_default_str();
    app.add_option("--item-ns", options.item_ns,
                   "Of a core, to push an item and again to handle it")
        ->capture_default_str();
    app.add_option("--collected-items", options.collected_items,
                   "For which a worker takes room in a shared buffer at once")
        ->capture_default_str();
    app.add_flag("--communication-thread", s.has_communication_thread,
                 "A thread of each process sends and receives the messages of its workers");
    app.add_option(
        "--message-ns", options.message_ns,
        "Of a core, to send a message and again to receive it; without: as the machine says");
    app.add_option("--message-byte-ns", options.message_byte_ns, "On top, for each byte of it")
        ->capture_default_str();
    app.add_option("--machine", options.machine, "Preset or file")->capture_default_str();
    app.add_option("--workloads", options.workloads,
                   "histogram, index_gather, ping_ack: --items messages of --buffer-items items")
        ->delimiter(',');
    app.add_option("--schemes", options.schemes, "ww, wps, wsp, pp")->delimiter(',');
    app.add_option("--buffer-items", options.buffer_items)->delimiter(',');
    CLI11_PARSE(app, argc, argv);
    return bench::print_record([&] { return run(options); });
}

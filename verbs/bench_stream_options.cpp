#include <fmt/format.h>

#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/route_names.hpp"
#include "verbs/bench_stream.hpp"

namespace crossdock::tool {

namespace {

constexpr count_t most_items = count_t{1} << 30;

CLI::Option* add_number(CLI::App& verb, const std::string& name, count_t& value,
                        const std::string& help, count_t least = 1, count_t most = most_items) {
    return verb.add_option(name, value, help)->check(in_range(least, most))->capture_default_str();
}

void add_switch(CLI::App& verb, const std::string& name, bool& value, const std::string& help) {
    verb.add_option_function<std::string>(
            name, [&value](const std::string& state) { value = state == "on"; }, help)
        ->check(CLI::IsMember({"on", "off"}))
        ->default_str(value ? "on" : "off");
}

void add_workload(CLI::App& verb, bench::streaming::workload_options& workload) {
    std::vector<std::string> names;
    std::string help;
    for (const auto& one : bench::streaming::registered_workloads()) {
        names.push_back(one.name);
        help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", one.name, one.summary);
    }
    verb.add_option("--workload", workload.workload, help)
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    verb.add_option("--seed", workload.seed, "Seed of the random numbers")->capture_default_str();
    add_number(verb, "--updates", workload.updates, "Updates, reads or pings of a worker");
    add_number(verb, "--table-bytes", workload.table_bytes,
               "histogram, index_gather: size of the table of all workers, rounded down to equal "
               "parts, each a power of two",
               1, count_t{1} << 40);
    add_number(verb, "--sub-blocks", workload.sub_block_bytes,
               "histogram: all contenders but local collect arriving updates by sub-blocks of the "
               "table of this many bytes; 0: they do each update at once",
               0, count_t{1} << 40);
    add_number(verb, "--round-items", workload.round_items,
               "Items of a process in each round of alltoallv", 1, count_t{1} << 24);
    verb.add_option("--graph", workload.graph, "sssp: rmat, or a Matrix Market file")
        ->capture_default_str();
    add_number(verb, "--vertices", workload.vertices, "rmat: number of vertices", 1,
               count_t{1} << 22);
    add_number(verb, "--edges", workload.edges, "rmat: number of edges");
    add_number(verb, "--delta", workload.delta,
               "sssp: width of a bucket; an edge has a length of 1 to 1000", 1);
    add_number(verb, "--lps", workload.lps, "phold: logical processes of a worker");
    add_number(verb, "--lp-events", workload.lp_events, "phold: events that each starts with");
    add_number(verb, "--lp-hops", workload.lp_hops, "phold: events that each of those causes", 0);
    verb.add_option("--lookahead", workload.lookahead,
                    "phold: minimum time to the next event, divided by the mean of its random part")
        ->check(in_range(0.0, 1e6))
        ->capture_default_str();
    add_switch(verb, "--combine", workload.combine,
               "sssp: combine relaxations of one vertex on the way");
}

void add_stream(CLI::App& verb, stream_bench_options& options) {
    auto& stream = options.workload.stream;
    verb.add_option("--scheme", options.schemes,
                    "Schemes, separated by commas: auto | ww | wps | wsp | pp | node; or all")
        ->delimiter(',');
    verb.add_option("--route", options.routes, routes_help())->delimiter(',');
    verb.add_option("--buffer-items", options.buffer_items,
                    "Sizes of buffers in items, separated by commas")
        ->delimiter(',')
        ->check(in_range(count_t{1}, most_items));
    add_count(verb, "--workers", stream.workers, "Threads of a process", 1);
    verb.add_option("--nodes", options.nodes_text,
                    "Which ranks share memory: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; "
                    "default: the nodes");
    add_count(verb, "--max-buffers", stream.max_buffers,
              "Buffers of a worker; 0: the library's choice", 0);
    verb.add_option("--priorities", stream.priorities,
                    "ping_ack: with 2, acknowledgements are urgent")
        ->check(in_range(1, 2))
        ->capture_default_str();
    verb.add_option("--max-age", options.max_age_microseconds,
                    "Maximum time that an item waits in a buffer, in microseconds; 0: no limit")
        ->check(in_range(0.0, 1e9))
        ->capture_default_str();
    add_switch(verb, "--flush-on-idle", stream.flush_on_idle,
               "Send partial buffers when progress() finds nothing to handle");
    add_switch(verb, "--shared-memory", stream.shared_memory,
               "Pass buffers inside a node without MPI");
    verb.add_flag("--progress-thread", stream.progress_thread,
                  "Let a thread of the stream call MPI");
    verb.add_flag_callback(
        "--communication-thread",
        [&stream] { stream.progress_thread = stream.communication_thread = true; },
        "Let only such a thread call MPI, never a worker");
    verb.add_option("--mpi-threads", options.mpi_threads,
                    "Thread level to request of MPI; default: funneled, or multiple with a thread "
                    "of the stream")
        ->check(CLI::IsMember({"single", "funneled", "serialized", "multiple"}));
}

}  // namespace

void add_stream_options(CLI::App& verb, stream_bench_options& options) {
    add_workload(verb, options.workload);
    add_stream(verb, options);
    auto& contest = options.contest;
    verb.add_option("--rate", contest.rate,
                    "histogram: also measure latency at this share of each stream's maximum rate; "
                    "0: do not")
        ->check(in_range(0.0, 1.0))
        ->capture_default_str();
    add_count(verb, "--iterations", contest.iterations, "Timed runs of every contender", 1);
    add_count(verb, "--warm-ups", contest.warm_ups, "Runs before the timed ones", 0);
    verb.add_flag("--json", options.as_json, "Print JSON");
}

}  // namespace crossdock::tool

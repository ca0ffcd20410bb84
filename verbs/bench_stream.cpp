#include "verbs/bench_stream.hpp"

#include <memory>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/route_names.hpp"

namespace crossdock::tool {

namespace {

using bench::streaming::standing;
using bench::streaming::stream_choice;

bench::streaming::workload_options completed(const stream_bench_options& options) {
    auto workload = options.workload;
    if (options.max_age_microseconds > 0)
        workload.stream.max_age_seconds = 1e-6 * options.max_age_microseconds;
    return workload;
}

bool is_right(const standing& one) {
    return one.found.is_verified && (!one.latency || one.latency->is_verified);
}

int run(const stream_bench_options& options) {
    return on_all_ranks(
        [&](const communicator& comm) {
            const auto nodes = topology_of(comm, options.nodes_text);
            const auto where = context(comm, nodes).with_nodes(nodes);
            const auto workload = completed(options);
            const auto& entry = bench::streaming::find_workload(workload.workload);
            auto contest = options.contest;
            contest.num_workers = count_t{comm.num_ranks()} * workload.stream.workers;
            contest.num_items = entry.num_items(workload, contest.num_workers);
            const auto entrants = entry.entrants(where, workload, stream_choices(options));
            const auto standings = bench::streaming::contest(where, entrants, contest);
            if (comm.rank() == 0) {
                (options.as_json ? print_stream_json : print_stream_table)(options, nodes,
                                                                           standings);
            }
            return std::all_of(standings.begin(), standings.end(), is_right) ? 0 : 1;
        },
        thread_support(options));
}

void check(const stream_bench_options& options) {
    const auto& workload = options.workload;
    if (workload.combine && workload.workload != "sssp")
        throw CLI::ValidationError("--combine", "works with the workload sssp only");
    if (workload.sub_block_bytes > 0 && workload.workload != "histogram")
        throw CLI::ValidationError("--sub-blocks", "works with the workload histogram only");
    if (options.contest.rate > 0 && workload.workload != "histogram")
        throw CLI::ValidationError("--rate", "works with the workload histogram only");
}

}  // namespace

std::vector<stream_choice> stream_choices(const stream_bench_options& options) {
    std::vector<stream_scheme> schemes;
    for (const auto& name : options.schemes) {
        if (name == "all") {
            schemes.insert(schemes.end(),
                           {stream_scheme::ww, stream_scheme::wps, stream_scheme::wsp,
                            stream_scheme::pp, stream_scheme::node});
        } else {
            schemes.push_back(stream_scheme_from_string(name));
        }
    }
    std::vector<stream_choice> choices;
    for (const auto scheme : schemes) {
        for (const auto& route : expand_routes(options.routes)) {
            for (const count_t items : options.buffer_items)
                choices.push_back({scheme, route, items});
        }
    }
    return choices;
}

int thread_support(const stream_bench_options& options) {
    if (options.mpi_threads == "single") return MPI_THREAD_SINGLE;
    if (options.mpi_threads == "funneled") return MPI_THREAD_FUNNELED;
    if (options.mpi_threads == "serialized") return MPI_THREAD_SERIALIZED;
    if (options.mpi_threads == "multiple") return MPI_THREAD_MULTIPLE;
    return options.workload.stream.progress_thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
}

void add_bench_stream(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<stream_bench_options>();
    auto* stream = verb.add_subcommand(
        "stream",
        "Time streams of small items between threads, by every scheme, route and buffer size, and "
        "by rounds of MPI_Alltoallv. Each is checked, then all are timed in turn");
    stream->footer(
        "Messages are counted over all ranks in the checked run; wasted, superseded and rejected "
        "are means of the timed runs.");
    add_stream_options(*stream, *options);
    stream->callback([options, &chosen] {
        check(*options);
        chosen = [options] { return run(*options); };
    });
}

}  // namespace crossdock::tool

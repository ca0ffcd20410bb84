#include "verbs/bench.hpp"

#include <fmt/format.h>

#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/pattern_input.hpp"

namespace crossdock::tool {

namespace {

struct benchmark_example {
    const char* name;
    const char* line;
};

constexpr benchmark_example examples[] = {
    {"neighbor", "mpirun -n 8 crossdock bench neighbor dense:4 --topology 2x4"},
    {"hypre", "mpirun -n 8 crossdock bench hypre 7pt:16x16x16 --topology 2x4"},
    {"exchange", "mpirun -n 8 crossdock bench exchange dense:4 --topology 2x4"},
    {"gather", "mpirun -n 8 crossdock bench gather hex:2:2 --topology 2x4"},
    {"array", "mpirun -n 8 crossdock bench array --topology 2x4"},
    {"combine", "crossdock bench combine"},
    {"stream", "mpirun -n 4 crossdock bench stream --nodes 2x2"},
};

}  // namespace

void add_input(CLI::App& benchmark, bench_input& input, const std::string& dense_help) {
    benchmark
        .add_option("FILE", input.file,
                    "Matrix Market file, plain or gzip; or dense:K: " + dense_help)
        ->required();
    benchmark.add_option(
        "--topology", input.topology_text,
        "Regions: 4x16 | 16,16,8 | cyclic:4x16 | list:0,1,0,1; default: the nodes");
    add_partition(benchmark, input.file, input.partition);
}

json record_head(const std::string& schema, const bench_input& input, const topology& regions) {
    return {{"schema", schema},
            {"version", CROSSDOCK_VERSION},
            {"mpi", mpi_version()},
            {"ranks", regions.num_ranks()},
            {"topology", regions.to_string()},
            {"file", input.file},
            {"partition", input.partition}};
}

std::string microseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

void add_bench(CLI::App& app, action& chosen) {
    auto* verb = add_verb(app, "bench");
    verb->require_subcommand(1);
    const auto footer = verb->get_footer();
    verb->footer(app.get_footer());  // which benchmarks inherit
    add_bench_neighbor(*verb, chosen);
    add_bench_hypre(*verb, chosen);
    add_bench_exchange(*verb, chosen);
    add_bench_gather(*verb, chosen);
    add_bench_array(*verb, chosen);
    add_bench_combine(*verb, chosen);
    add_bench_stream(*verb, chosen);
    verb->footer(footer);
    for (const auto& [name, example] : examples) {
        auto* benchmark = verb->get_subcommand(name);
        benchmark->footer(fmt::format("Example: {}\n\n{}", example, benchmark->get_footer()));
    }
}

}  // namespace crossdock::tool

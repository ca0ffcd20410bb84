#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/exchange/contest.hpp"
#include "tools/crossdock/algorithm_names.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench.hpp"

namespace crossdock::tool {

namespace {

using bench::sparse::message_values;
using bench::sparse::standing;

struct exchange_bench_options {
    bench_input input;
    std::vector<std::string> algorithms{"all"};
    std::string values = "indices";
    bench::sparse::contest_options contest;
    bool as_json = false;
};

// "auto = routed:grid:2": what is behind a name that does not say it.
std::string label(const standing& one) {
    const bool says_all = one.algorithm.empty() || one.algorithm == one.name;
    return says_all ? one.name : one.name + " = " + one.algorithm;
}

reference_time reference_of(const std::vector<standing>& standings) {
    return fastest_of_mpi(standings, &standing::exchange_seconds, label);
}

void print_json(const exchange_bench_options& options, const topology& regions,
                const std::vector<standing>& standings) {
    const auto reference = reference_of(standings);
    json document = record_head("crossdock.bench.exchange/1", options.input, regions);
    document["values"] = options.values;
    document["warm_ups"] = options.contest.warm_ups;
    document["iterations"] = options.contest.iterations;
    document["contenders"] = json::array();
    for (const auto& [name, algorithm, found, seconds] : standings) {
        const auto& [is_verified, sent] = found;
        document["contenders"].push_back(
            {{"name", name},
             {"algorithm", algorithm.empty() ? json(nullptr) : json(algorithm)},
             {"verified", is_verified},
             {"exchange_seconds", timing_json(seconds)},
             {"ratio", reference.compare(seconds).to_json()},
             {"messages", sent.messages},
             {"inter_region_messages", sent.inter_region_messages},
             {"message_bytes", sent.message_bytes},
             {"inter_region_message_bytes", sent.inter_region_message_bytes}});
    }
    print(document);
}

void print_table(const exchange_bench_options& options, const topology& regions,
                 const std::vector<standing>& standings) {
    print("{}: {} ranks, topology {}, {}, {} iterations, {}\n", options.input.file,
          regions.num_ranks(), regions.to_string(), options.values, options.contest.iterations,
          mpi_version());
    const auto reference = reference_of(standings);
    print("microseconds of the slowest rank; {}\n\n", reference.legend());
    table lines({"contender", "verified", "min", "quartile", "median", "max", "ratio", "messages",
                 "inter-region", "bytes", "inter-region"});
    for (const auto& one : standings) {
        const auto& seconds = one.exchange_seconds;
        const auto& [is_verified, sent] = one.found;
        lines.add({label(one), is_verified ? "yes" : "NO", microseconds(seconds.min),
                   microseconds(seconds.lower_quartile), microseconds(seconds.median),
                   microseconds(seconds.max), reference.ratio(seconds.median),
                   fmt::to_string(sent.messages), fmt::to_string(sent.inter_region_messages),
                   fmt::to_string(sent.message_bytes),
                   fmt::to_string(sent.inter_region_message_bytes)});
    }
    print("{}", lines.to_string());
}

int run(const exchange_bench_options& options) {
    unsetenv("CROSSDOCK_ALGORITHM");  // "auto" is to be the library's own choice
    const bool has_one_size = options.values == "pattern";
    auto contest = options.contest;
    contest.values = has_one_size ? message_values::pattern : message_values::indices;
    return on_all_ranks([&](const communicator& comm) {
        const auto& input = options.input;
        const auto regions = topology_of(comm, input.topology_text);
        const auto algorithms = expand_algorithms(options.algorithms, has_one_size);
        on_all_or_none(comm, [&] { check_algorithms(algorithms, has_one_size, regions); });
        const auto part = bench::distribute(comm, input.file, input.partition, regions);
        const auto standings = bench::sparse::contest(comm, regions, part, algorithms, contest);
        if (comm.rank() == 0)
            options.as_json ? print_json(options, regions, standings)
                            : print_table(options, regions, standings);
        return exit_code(standings);
    });
}

}  // namespace

void add_bench_exchange(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<exchange_bench_options>();
    auto* exchange =
        verb.add_subcommand("exchange",
                            "Time the sparse data exchange by which the owners of the columns of A "
                            "learn who needs them, by every algorithm and by MPI's collectives. "
                            "Each is checked, then all are timed in turn");
    exchange->footer(
        "Messages and bytes are those of all ranks together in one exchange, including envelopes "
        "but not reductions. MPI does not tell what it sends; for MPI_Alltoall one number between "
        "any two ranks is counted, and one message of indices for each destination.");
    add_input(*exchange, options->input,
              "every rank needs K columns of every other, and sends it one message");
    exchange->add_option("--algorithms", options->algorithms, algorithms_help())->delimiter(',');
    exchange
        ->add_option(
            "--values", options->values,
            "What a message contains. pattern: the number of needed columns, in 4 bytes; indices: "
            "the columns, 8 bytes for each. MPI's contender is mpi_alltoallv after an MPI_Alltoall "
            "of the counts; for pattern also mpi_alltoall of the numbers alone")
        ->check(CLI::IsMember({"pattern", "indices"}))
        ->capture_default_str();
    auto& contest = options->contest;
    add_count(*exchange, "--iterations", contest.iterations, "Timed exchanges of every contender",
              1);
    add_count(*exchange, "--warm-ups", contest.warm_ups, "Exchanges before the timed ones", 0);
    exchange->add_flag("--json", options->as_json, "Print JSON");
    exchange->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool

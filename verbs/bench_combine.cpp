#include <fmt/format.h>

#include <memory>

#include "bench/array/combining_rate.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/array_workload.hpp"
#include "tools/crossdock/number_range.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"
#include "verbs/bench.hpp"

namespace crossdock::tool {

namespace {

using bench::array::combining_rate;
using bench::array::rate_result;

struct combine_bench_options {
    std::vector<std::string> strategies{"all"};
    bench::array::rate_options rate;
    bool as_json = false;
};

void print_json(const combine_bench_options& options, const rate_result& found) {
    json document{{"schema", "crossdock.bench.combine/1"},
                  {"version", CROSSDOCK_VERSION},
                  {"requests", options.rate.num_requests},
                  {"entries", found.num_entries},
                  {"distinct", found.num_distinct},
                  {"warm_ups", options.rate.warm_ups},
                  {"iterations", options.rate.iterations},
                  {"memcpy_seconds", timing_json(found.memcpy_seconds)},
                  {"strategies", json::array()}};
    for (const auto& one : found.rates) {
        document["strategies"].push_back({{"name", to_string(one.strategy)},
                                          {"verified", one.is_verified},
                                          {"combine_seconds", timing_json(one.combine_seconds)},
                                          {"read_seconds", timing_json(one.read_seconds)}});
    }
    print(document);
}

void print_table(const combine_bench_options& options, const rate_result& found) {
    const auto num_requests = static_cast<double>(options.rate.num_requests);
    const auto millions = [&](double seconds) {
        return fmt::format("{:.0f}", num_requests / seconds * 1e-6);
    };
    print("{} requests for {} of {} entries of 4 bytes, {} iterations\n", options.rate.num_requests,
          found.num_distinct, found.num_entries, options.rate.iterations);
    print("{}\n\n", "million requests per second of one rank");
    table lines(
        {"strategy", "verified", "combine: median", "slowest", "whole read: median", "slowest"});
    for (const auto& one : found.rates) {
        lines.add({to_string(one.strategy), one.is_verified ? "yes" : "NO",
                   millions(one.combine_seconds.median), millions(one.combine_seconds.max),
                   millions(one.read_seconds.median), millions(one.read_seconds.max)});
    }
    lines.add({"memcpy", "-", "-", "-", millions(found.memcpy_seconds.median),
               millions(found.memcpy_seconds.max)});
    print("{}", lines.to_string());
}

int run(const combine_bench_options& options) {
    return on_all_ranks([&](const communicator& world) {
        communicator comm(MPI_COMM_SELF);
        std::vector<combining> strategies;
        for (const auto& name : expand_strategies(options.strategies))
            strategies.push_back(name == "auto" ? combining_options{}.strategy
                                                : parse_combining(name));
        const auto found = measure_combining(comm, strategies, options.rate);
        comm.close();
        if (world.rank() == 0)
            options.as_json ? print_json(options, found) : print_table(options, found);
        const bool is_right = std::all_of(found.rates.begin(), found.rates.end(),
                                          [](const auto& one) { return one.is_verified; });
        return is_right ? 0 : 1;
    });
}

}  // namespace

void add_bench_combine(CLI::App& verb, action& chosen) {
    auto options = std::make_shared<combine_bench_options>();
    auto* combine =
        verb.add_subcommand("combine",
                            "Time how many requests one rank combines per second, by every "
                            "strategy, and memcpy of as many 4-byte values. Needs no launcher");
    combine->add_option("--combine", options->strategies, "Strategies, separated by commas, or all")
        ->delimiter(',');
    auto& rate = options->rate;
    add_count(*combine, "--requests", rate.num_requests, "Requests of a batch", 1);
    add_count(*combine, "--stride", rate.stride,
              "Distance between entries that may be requested; with a large one, strategies cannot "
              "use tables as well",
              1);
    combine
        ->add_option("--duplicates", rate.duplicates,
                     "The share of requests for an entry that another request names, too")
        ->check(in_range(0.01, 0.99))
        ->capture_default_str();
    add_count(*combine, "--iterations", rate.iterations, "Timed batches of every strategy", 1);
    add_count(*combine, "--warm-ups", rate.warm_ups, "Batches before the timed ones", 0);
    combine->add_flag("--json", options->as_json, "Print JSON");
    combine->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace crossdock::tool

#include <fmt/format.h>

#include <bit>

#include "crossdock/schedule.hpp"
#include "satellites/simulator/tools/simulate.hpp"
#include "tools/crossdock/memory_limit.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/table.hpp"

namespace crossdock::tool {

namespace {

struct exchange_result {
    std::string name;
    std::string algorithm;  // what "auto" or an alias stands for
    simulated_time time;
    exchange_traffic_summary sent;
};

struct exchange_results {
    std::vector<exchange_result> algorithms;
    double personalized_seconds = 0;
};

// Both ends of everything, with answers, of which `rma` has most; and the rounds of a collective.
std::size_t needed_bytes(const exchange_traffic_summary& sent, const exchange_algorithm& algorithm,
                         rank_t num_ranks) {
    constexpr std::size_t bytes_per_end = 160;
    std::size_t ends_per_message = 2;
    if (algorithm.method == exchange_method::nonblocking) ends_per_message = 4;
    if (algorithm.method == exchange_method::locality_nonblocking) ends_per_message = 4;
    if (algorithm.method == exchange_method::rma) ends_per_message = 8;
    const auto num_rounds =
        2 + 2 * static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(num_ranks)));
    const auto num_ends = static_cast<std::size_t>(sent.messages.total) * ends_per_message +
                          static_cast<std::size_t>(num_ranks) * 2 * num_rounds;
    return num_ends * bytes_per_end + simulation_bytes(num_ranks, num_ends);
}

// What is replayed, with what it sends.
struct task {
    exchange_result result;  // without its time
    found_algorithm found;
};

task make_task(const std::string& name, const simulated_system& system,
               const messages_of_all& messages) {
    const auto& regions = system.layout.regions();
    task one{{name, {}, {}, {}}, find_algorithm(name, regions, system.hardware)};
    const auto& [algorithm, max_forwarded_bytes] = one.found;
    one.result.algorithm = to_string(algorithm);
    one.result.sent = summarize(
        count_exchange(regions, messages, algorithm, max_forwarded_bytes, system.hardware));
    return one;
}

class exchange_replay {
  public:
    exchange_replay(const simulate_options& options, const simulated_system& system)
        : options_(options),
          system_(system),
          regions_(system.layout.regions()),
          names_(algorithms_of(options.exchange, regions_)) {}

    exchange_results run() {
        done_.tell(options_.input.file);
        const auto messages =
            messages_of(load_one_level(options_.input, regions_), options_.exchange);
        // The standard that all are compared with comes first.
        std::vector<task> tasks{make_task("personalized", system_, messages)};
        for (const auto& name : names_) tasks.push_back(make_task(name, system_, messages));
        for (const auto& [result, found] : tasks) {
            check_memory(fmt::format("the algorithm {}", result.name),
                         needed_bytes(result.sent, found.algorithm, regions_.num_ranks()),
                         options_.memory_bytes);
        }
        for (std::size_t k = 0; k < tasks.size(); ++k) {
            auto& time = tasks[k].result.time;
            const bool is_standard = tasks[k].found.algorithm == tasks[0].found.algorithm;
            time = k > 0 && is_standard ? tasks[0].result.time
                                        : replay(tasks[k], messages, k + 1, tasks.size());
        }
        exchange_results results{{}, tasks[0].result.time.slowest_seconds};
        for (std::size_t k = 1; k < tasks.size(); ++k)
            results.algorithms.push_back(std::move(tasks[k].result));
        return results;
    }

  private:
    simulated_time replay(const task& what, const messages_of_all& messages, std::size_t number,
                          std::size_t num_tasks) {
        const std::string where =
            fmt::format("algorithm {} ({} of {})", what.result.name, number, num_tasks);
        done_.tell(where);
        const auto operations =
            schedule_of_exchange(regions_, messages, what.found.algorithm,
                                 what.found.max_forwarded_bytes, system_.hardware);
        auto conditions = system_.conditions;
        conditions.progress = [&](std::size_t num_done) {
            done_.tell(fmt::format("{}, {} percent of operations", where,
                                   100 * num_done / operations.num_operations()));
        };
        return simulated_time(simulate(system_.layout, operations, system_.hardware, conditions));
    }

    const simulate_options& options_;
    const simulated_system& system_;
    const topology& regions_;
    std::vector<std::string> names_;
    progress done_{"simulate"};
};

void print_json(const simulate_options& options, const simulated_system& system,
                const exchange_results& results) {
    auto document = system_json(options, system);
    document["values"] = options.exchange.values;
    document["algorithms"] = json::array();
    for (const auto& [name, algorithm, time, sent] : results.algorithms) {
        document["algorithms"].push_back(
            {{"name", name},
             {"algorithm", algorithm},
             {"slowest_seconds", time.slowest_seconds},
             {"mean_seconds", time.mean_seconds},
             {"speedup_over_personalized",
              speedup(results.personalized_seconds, time.slowest_seconds)},
             {"share_of_time", shares_json(time.shares)},
             {"total",
              {{"messages", summary_json(sent.messages)},
               {"message_bytes", summary_json(sent.message_bytes)},
               {"inter_region",
                {{"messages", summary_json(sent.inter_region_messages)},
                 {"message_bytes", summary_json(sent.inter_region_message_bytes)}}}}}});
    }
    print(document);
}

void print_table(const simulate_options& options, const simulated_system& system,
                 const exchange_results& results) {
    const auto& regions = system.layout.regions();
    print("{}: {} ranks in {} regions and {} nodes, partition {}, {}\n", options.input.file,
          regions.num_ranks(), regions.num_regions(), system.layout.nodes().num_regions(),
          options.input.partition, options.exchange.values);
    print(
        "simulated on {}{}\nslowest, mean: of all ranks; speed-up: how many times as fast as "
        "personalized;\nwaiting to network: shares of all ranks' time; *: the fastest\n\n",
        options.where.text(system.hardware), charging_text(options));
    double least = results.algorithms.front().time.slowest_seconds;
    for (const auto& one : results.algorithms) least = std::min(least, one.time.slowest_seconds);
    table lines({"algorithm", "slowest us", "mean us", "speed-up", "waiting", "copying", "region",
                 "node", "network", "messages", "inter-region"});
    for (const auto& [name, algorithm, time, sent] : results.algorithms) {
        table::row cells{
            (name == algorithm ? name : name + " = " + algorithm) +
                (is_tie(least, time.slowest_seconds) ? " *" : ""),
            precise_microseconds(time.slowest_seconds), precise_microseconds(time.mean_seconds),
            fmt::format("{:.2f}", speedup(results.personalized_seconds, time.slowest_seconds))};
        for (auto& cell : shares_cells(time.shares)) cells.push_back(std::move(cell));
        cells.push_back(fmt::to_string(sent.messages.total));
        cells.push_back(fmt::to_string(sent.inter_region_messages.total));
        lines.add(std::move(cells));
    }
    print("{}", lines.to_string());
}

}  // namespace

void simulate_exchange(const simulate_options& options, const simulated_system& system) {
    const auto results = exchange_replay(options, system).run();
    options.as_json ? print_json(options, system, results) : print_table(options, system, results);
}

}  // namespace crossdock::tool

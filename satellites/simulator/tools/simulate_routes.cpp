#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/neighbor/hierarchy.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"
#include "crossdock/schedule.hpp"
#include "satellites/simulator/tools/simulate.hpp"
#include "tools/crossdock/memory_limit.hpp"
#include "tools/crossdock/replay_memory.hpp"
#include "tools/crossdock/route_names.hpp"

namespace crossdock::tool {

namespace {

// What is replayed one after the other.
struct route_task {
    const route* way;
    bool is_deduplicated;
    bool shares_memory;

    bool is_same(const route_task& other) const {
        return way->name() == other.way->name() && is_deduplicated == other.is_deduplicated &&
               shares_memory == other.shares_memory;
    }
};

// The standard that all are compared with comes first.
std::vector<route_task> tasks_of(const simulate_options& options, const route& direct,
                                 const std::vector<std::unique_ptr<route>>& routes) {
    std::vector<route_task> tasks{{&direct, false, false}};
    const bool shares_memory = options.shares_memory();
    for (const auto& r : routes) {
        tasks.push_back({r.get(), false, shares_memory});
        if (!options.without_dedup_only) tasks.push_back({r.get(), true, shares_memory});
    }
    return tasks;
}

class level_replay {
  public:
    level_replay(const simulate_options& options, const simulated_system& system,
                 const std::vector<pattern>& patterns, progress& done, std::string where)
        : options_(options),
          system_(system),
          patterns_(patterns),
          done_(done),
          where_(std::move(where)) {}

    simulated_level run(const std::vector<route_task>& tasks) {
        for (const auto& one : tasks) {
            check_memory(fmt::format("{}: the route {}", where_, one.way->name()),
                         replay_bytes(patterns_, *one.way), options_.memory_bytes);
        }
        const auto standard = replay(tasks.front(), 1, tasks.size());
        simulated_level result{{}, standard.time.slowest_seconds, chosen_route()};
        for (std::size_t k = 1; k < tasks.size(); ++k) {
            const bool is_standard = tasks[k].is_same(tasks.front());
            result.routes.push_back(is_standard ? standard : replay(tasks[k], k + 1, tasks.size()));
        }
        return result;
    }

  private:
    // As `explain` finds it.
    std::string chosen_route() const {
        const auto& nodes = system_.layout.nodes();
        estimate_options how;
        how.travel.item_bytes = options_.item_bytes;
        how.travel.shares_memory =
            options_.shares_memory() && nodes.num_regions() < nodes.num_ranks();
        how.deduplicate = !options_.without_dedup_only;
        return choose_route(system_.layout, patterns_, system_.hardware, how).route();
    }

    simulated_route replay(const route_task& what, std::size_t number, std::size_t num_tasks) {
        const std::string position =
            fmt::format("{}, route {} ({} of {})", where_, what.way->name(), number, num_tasks);
        const travel_options travel{options_.item_bytes, what.shares_memory};
        const auto& layout = system_.layout;
        done_.tell(position);
        schedule operations;
        simulated_route result{what.way->name(), what.is_deduplicated, {}, 0, {}};
        {
            const auto plans = compile(layout.regions(), patterns_, *what.way,
                                       {.deduplicate = what.is_deduplicated});
            result.sent = analyze(layout.regions(), plans).total;
            result.priced_seconds = price(layout, plans, system_.hardware, travel).seconds;
            operations = schedule_of(layout, plans, travel);
        }
        auto conditions = system_.conditions;
        conditions.progress = [&](std::size_t num_done) {
            done_.tell(fmt::format("{}, {} percent of operations", position,
                                   100 * num_done / operations.num_operations()));
        };
        result.time = simulated_time(simulate(layout, operations, system_.hardware, conditions));
        return result;
    }

    const simulate_options& options_;
    const simulated_system& system_;
    const std::vector<pattern>& patterns_;
    progress& done_;
    std::string where_;
};

}  // namespace

std::vector<simulated_level> simulate_routes(const simulate_options& options,
                                             const simulated_system& system) {
    const auto& regions = system.layout.regions();
    const auto routes = make_routes(expand_routes(options.routes), regions);
    const auto direct = make_route("direct", regions);
    const auto tasks = tasks_of(options, *direct, routes);
    progress done("simulate");
    done.tell(options.input.file);
    auto levels = load_all_levels(options.input, regions);
    std::vector<simulated_level> results;
    for (auto& level : levels) {
        const auto patterns = patterns_of(level);
        level = {};
        const std::string where =
            levels.size() == 1 ? options.input.file : fmt::format("level {}", results.size());
        results.push_back(level_replay(options, system, patterns, done, where).run(tasks));
    }
    return results;
}

}  // namespace crossdock::tool

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "crossdock/plan.hpp"
#include "crossdock/route_choice.hpp"
#include "crossdock/schedule.hpp"
#include "satellites/simulator/tools/simulate.hpp"
#include "tools/crossdock/memory_limit.hpp"
#include "tools/crossdock/replay_memory.hpp"
#include "tools/crossdock/route_names.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace crossdock::tool {

namespace {

struct route_task {
    const route* way;
    bool is_deduplicated;
    bool shares_memory;
};

// Whether a rank sends an item more than once.
bool has_repeated_items(const std::vector<pattern>& patterns) {
    return std::ranges::any_of(patterns, [](const pattern& p) {
        auto items = p.sends.indices;
        std::ranges::sort(items);
        return std::ranges::adjacent_find(items) != items.end();
    });
}

std::optional<double> estimated_seconds(const route_choice& choice, const std::string& route) {
    const auto found = std::ranges::find(choice.candidates, route, &candidate_price::route);
    if (found == choice.candidates.end()) return {};
    return found->seconds;
}

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
        std::size_t most_bytes = 1;
        for (const auto& one : tasks) {
            const std::size_t bytes = replay_bytes(patterns_, *one.way);
            check_memory(fmt::format("{}: the route {}", where_, one.way->name()), bytes,
                         options_.memory_bytes);
            most_bytes = std::max(most_bytes, bytes);
        }
        const auto first_alike = find_alike(tasks);
        std::vector<simulated_route> results(tasks.size());
        // Without deduplication, and unless that is all that is asked for, with it.
        std::vector<route_choice> choices(options_.without_dedup_only ? 1 : 2);
        std::atomic<std::size_t> next = 0;
        // What takes longest comes first: the choices, and the routes with many stages at the end of the list.
        const auto work = [&] {
            for (std::size_t num = next++; num < choices.size() + tasks.size(); num = next++) {
                if (num < choices.size()) {
                    choices[num] = estimate(num == 1);
                    continue;
                }
                const std::size_t position = num - choices.size() + 1;
                const std::size_t k = tasks.size() - position;
                if (first_alike[k] == k) results[k] = replay(tasks[k], position, tasks.size());
            }
        };
        std::vector<std::future<void>> others;
        for (std::size_t w = 1; w < num_at_once(most_bytes); ++w)
            others.push_back(std::async(std::launch::async, work));
        work();
        for (auto& other : others) other.get();
        for (std::size_t k = 0; k < tasks.size(); ++k) {
            results[k] = results[first_alike[k]];
            results[k].is_deduplicated = tasks[k].is_deduplicated;
            results[k].estimated_seconds =
                estimated_seconds(choices[tasks[k].is_deduplicated ? 1 : 0], results[k].route);
        }
        const double direct_seconds = results.front().time.slowest_seconds;
        results.erase(results.begin());
        return {std::move(results), direct_seconds, choices.back().route()};
    }

  private:
    // The first task whose exchange is the same, of each.
    std::vector<std::size_t> find_alike(const std::vector<route_task>& tasks) const {
        const bool is_repeated = has_repeated_items(patterns_);
        std::vector<std::size_t> first(tasks.size());
        for (std::size_t k = 0; k < tasks.size(); ++k) {
            const auto is_alike = [&](const route_task& other) {
                return other.way->name() == tasks[k].way->name() &&
                       other.shares_memory == tasks[k].shares_memory &&
                       (!is_repeated || other.is_deduplicated == tasks[k].is_deduplicated);
            };
            first[k] =
                static_cast<std::size_t>(std::ranges::find_if(tasks, is_alike) - tasks.begin());
        }
        return first;
    }

    // How many replays of so many bytes have cores and memory.
    std::size_t num_at_once(std::size_t bytes) const {
        const std::size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
        const auto memory = options_.memory_bytes != 0 ? std::optional(options_.memory_bytes)
                                                       : available_memory_bytes();
        return memory ? std::clamp<std::size_t>(*memory / bytes, 1, cores) : cores;
    }

    void tell(const std::string& where) {
        const std::lock_guard one_at_a_time(telling_);
        done_.tell(where);
    }

    // As `explain` shows it.
    route_choice estimate(bool deduplicate) const {
        const auto how =
            estimate_of(system_.layout, options_.item_bytes, options_.shares_memory(), deduplicate);
        return choose_route(system_.layout, patterns_, system_.hardware, how);
    }

    simulated_route replay(const route_task& what, std::size_t number, std::size_t num_tasks) {
        const std::string position =
            fmt::format("{}, route {} ({} of {})", where_, what.way->name(), number, num_tasks);
        const travel_options travel{options_.item_bytes, what.shares_memory};
        const auto& layout = system_.layout;
        tell(position);
        schedule operations;
        simulated_route result{what.way->name(), what.is_deduplicated, {}, 0, {}, {}};
        {
            const auto plans = compile(layout.regions(), patterns_, *what.way,
                                       {.deduplicate = what.is_deduplicated});
            result.sent = analyze(layout.regions(), plans).total;
            result.priced_seconds = price(layout, plans, system_.hardware, travel).seconds;
            operations = schedule_of(layout, plans, travel);
        }
        auto conditions = system_.conditions;
        conditions.progress = [&](std::size_t num_done) {
            tell(fmt::format("{}, {} percent of operations", position,
                             100 * num_done / operations.num_operations()));
        };
        result.time = simulated_time(simulate(layout, operations, system_.hardware, conditions));
        return result;
    }

    const simulate_options& options_;
    const simulated_system& system_;
    const std::vector<pattern>& patterns_;
    progress& done_;
    std::mutex telling_;
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

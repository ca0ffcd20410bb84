#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "crossdock/detail/array/combining.hpp"
#include "src/array/route_rule.hpp"
#include "tools/crossdock/analyze.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"
#include "tools/inputs/array/lockstep.hpp"
#include "tools/inputs/plan_batch.hpp"

namespace crossdock::tool {

namespace {

using bench::array::lockstep_batch;
using bench::array::lockstep_run;
using bench::array::workload_counts;

struct array_report {
    array_choice who;
    workload_counts counts;
};

// What is counted, and for whom.
struct array_record {
    const array_analysis& options;
    const topology& regions;
    block_partition owners;
    count_t num_edges = 0;
    lockstep_run run;
    std::vector<array_report> reports;
};

// What every batch does, one line of JSON for each; nothing if no file is wanted.
class plan_file {
  public:
    explicit plan_file(const std::string& name) {
        if (!name.empty()) file_.emplace(name);
    }

    bool is_wanted() const noexcept { return file_.has_value(); }

    void write(const array_choice& who, std::size_t step, bench::array::request_traits kind,
               const std::vector<planned_batch>& ranks) {
        const json head{{"schema", "crossdock.array.plans/1"},
                        {"name", who.name},
                        {"route", who.route},
                        {"combine", to_string(who.combine.strategy)},
                        {"step", step},
                        {"kind", to_string(kind)}};
        std::string text = head.dump();
        text.back() = ',';  // for the closing brace
        auto& to = file_->stream();
        to << text << "\"plans\":[";
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            to << (rank == 0 ? "" : ",") << json::parse(to_json(*ranks[rank].again)).dump();
        to << "]}\n";
    }

    void close() {
        if (is_wanted()) file_->close();
    }

  private:
    std::optional<output_file> file_;
};

// The first one sends every request by itself, as the baseline `plain` does over MPI.
std::vector<array_choice> entrants(const std::vector<std::string>& routes,
                                   const combining_choice& choice, const topology& regions) {
    std::vector<array_choice> all{{"plain", "direct", {combining::none, false, false}}};
    for (auto& one : expand_choices(routes, choice, regions)) all.push_back(std::move(one));
    return all;
}

array_report count_one(const array_choice& who, const array_record& record, plan_file& plans) {
    std::vector<array_statistics> of_ranks(static_cast<std::size_t>(record.regions.num_ranks()));
    array_route_rule rule(record.regions, default_expected_requests);
    const auto& batches = record.run.batches;
    for (std::size_t step = 0; step < batches.size(); ++step) {
        const auto& [kind, indices] = batches[step];
        const auto& route = who.route == "auto" ? rule.route_for_next() : who.route;
        const auto ranks = plan_batch(record.regions, record.owners, route, who.combine, indices,
                                      plans.is_wanted());
        count_t most_requests = 0;
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            const auto& found = ranks[rank].statistics;
            bench::array::add(of_ranks[rank], found);
            most_requests = std::max(most_requests, found.requests - found.combined_locally);
        }
        rule.learn(most_requests);
        if (plans.is_wanted()) plans.write(who, step, kind, ranks);
    }
    return {who, bench::array::count(of_ranks)};
}

count_t num_requests(const lockstep_batch& batch) {
    return std::accumulate(batch.indices.begin(), batch.indices.end(), count_t{0},
                           [](count_t sum, const auto& indices) {
                               return sum + static_cast<count_t>(indices.size());
                           });
}

void print_json(const array_record& record) {
    const auto& options = record.options;
    json document{{"schema", "crossdock.analyze.array/1"},
                  {"ranks", record.regions.num_ranks()},
                  {"regions", record.regions.num_regions()},
                  {"topology", record.regions.to_string()}};
    document.update(workload_json(options.workload, record.owners.num_entries(), record.num_edges));
    document["where"] = options.combine.where;
    document["is_verified"] = record.run.is_verified;
    document["batches"] = json::array();
    for (const auto& batch : record.run.batches) {
        document["batches"].push_back(
            {{"kind", to_string(batch.kind)}, {"requests", num_requests(batch)}});
    }
    document["contenders"] = json::array();
    for (const auto& [who, counts] : record.reports) {
        document["contenders"].push_back({{"name", who.name},
                                          {"route", who.route},
                                          {"combine", to_string(who.combine.strategy)},
                                          {"counts", counts_json(counts)}});
    }
    print(document);
}

table::row cells_of(const array_report& report) {
    const auto& [who, counts] = report;
    traffic sent;
    for (const auto& stage : counts.stages) {
        sent += {stage.sent.messages.total, stage.sent.items.total,
                 stage.sent.inter_region_messages.total, stage.sent.inter_region_items.total};
    }
    table::row cells{who.name == "plain"
                         ? who.name
                         : contender_label(who.name, who.route, to_string(who.combine.strategy))};
    for (const count_t number :
         {static_cast<count_t>(counts.stages.size()), counts.requests.total,
          counts.combined_locally.total, counts.combined_on_the_way.total, sent.messages,
          sent.items, sent.inter_region_messages, sent.inter_region_items, counts.received.total,
          counts.received.max, counts.arrived.total, counts.arrived.max}) {
        cells.push_back(fmt::to_string(number));
    }
    return cells;
}

void print_table(const array_record& record) {
    print("{}: {} ranks in {} regions, topology {}, combined {}\n",
          workload_text(record.options.workload), record.regions.num_ranks(),
          record.regions.num_regions(), record.regions.to_string(), record.options.combine.where);
    for (const auto& batch : record.run.batches)
        print("  {} {} requests\n", to_string(batch.kind), num_requests(batch));
    print("{}; {}\n\n", "received: from other ranks, also to be passed on",
          "arrived: at owners in the last stage; busiest: the rank with most of them");
    table lines({"contender", "stages", "requests", "local", "on the way", "messages", "items",
                 "inter-region messages", "inter-region items", "received", "busiest", "arrived",
                 "busiest"});
    for (const auto& report : record.reports) lines.add(cells_of(report));
    print("{}", lines.to_string());
}

count_t num_edges(const std::vector<bench::array::rank_work>& work) {
    return std::accumulate(work.begin(), work.end(), count_t{0}, [](count_t sum, const auto& rank) {
        return sum + static_cast<count_t>(rank.edges.size());
    });
}

}  // namespace

CLI::Option* add_array_analysis(CLI::App& verb, array_analysis& options) {
    auto* chosen =
        verb.add_flag("--array", options.is_chosen,
                      "Count what every route and combining strategy sends to owners in the "
                      "batches of `bench array`; takes --workload and --graph instead of FILE");
    std::vector<CLI::Option*> added = add_workload(verb, options.workload);
    const auto more = add_combining(verb, options.combine);
    added.insert(added.end(), more.begin(), more.end());
    added.push_back(
        verb.add_option("--plans", options.plans_file,
                        "Write the plans that repeat each batch to this file, one line of JSON for "
                        "each contender and batch; replies travel forward, requests in reverse"));
    for (auto* option : added) option->needs(chosen);
    return chosen;
}

bool analyze_array(const analyze_input& input, const array_analysis& options,
                   const std::vector<std::string>& routes, const topology& regions) {
    expand_choices(routes, options.combine, regions);  // before there is much to do
    plan_file plans(options.plans_file);
    auto work = bench::array::make_work(options.workload, regions.num_ranks());
    array_record record{
        options, regions, work.front().owners, num_edges(work), run_in_lockstep(work), {}};
    work = {};  // the memory of graphs is needed for counting
    for (const auto& who : entrants(routes, options.combine, regions))
        record.reports.push_back(count_one(who, record, plans));
    plans.close();
    input.as_json ? print_json(record) : print_table(record);
    return record.run.is_verified;
}

}  // namespace crossdock::tool

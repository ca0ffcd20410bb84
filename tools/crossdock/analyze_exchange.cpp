#include <fmt/format.h>

#include "crossdock/schedule.hpp"
#include "tools/crossdock/algorithm_names.hpp"
#include "tools/crossdock/analyze.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/progress.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"

namespace crossdock::tool {

namespace {

struct algorithm_report {
    std::string name;
    std::string algorithm;  // what "auto" or an alias stands for
    exchange_traffic_summary sent;
    count_t reduction_words;
};

algorithm_report count(const std::string& name, const topology& regions,
                       const messages_of_all& messages) {
    const auto [algorithm, max_forwarded_bytes] = find_algorithm(name, regions);
    return {name, to_string(algorithm),
            summarize(count_exchange(regions, messages, algorithm, max_forwarded_bytes)),
            reduction_words(algorithm, regions.num_ranks())};
}

std::vector<algorithm_report> count_all(const std::vector<std::string>& names,
                                        const analyze_input& input, const exchange_choice& options,
                                        const topology& regions) {
    progress done("analyze");
    const auto messages = messages_of(load_workload(input.file, input.partition, regions), options);
    std::vector<algorithm_report> reports;
    for (const auto& name : names) {
        done.tell(fmt::format("algorithm {}", name));
        reports.push_back(count(name, regions, messages));
    }
    return reports;
}

void print_json(const analyze_input& input, const exchange_choice& options, const topology& regions,
                const std::vector<algorithm_report>& reports) {
    json document{{"schema", "crossdock.analyze.exchange/1"},
                  {"file", input.file},
                  {"ranks", regions.num_ranks()},
                  {"regions", regions.num_regions()},
                  {"topology", regions.to_string()},
                  {"partition", input.partition},
                  {"values", options.values},
                  {"algorithms", json::array()}};
    for (const auto& [name, algorithm, sent, reduction_words] : reports) {
        document["algorithms"].push_back(
            {{"name", name},
             {"algorithm", algorithm},
             {"messages", summary_json(sent.messages)},
             {"inter_region_messages", summary_json(sent.inter_region_messages)},
             {"message_bytes", summary_json(sent.message_bytes)},
             {"inter_region_message_bytes", summary_json(sent.inter_region_message_bytes)},
             {"reduction_words", reduction_words}});
    }
    print(document);
}

void print_table(const analyze_input& input, const exchange_choice& options,
                 const topology& regions, const std::vector<algorithm_report>& reports) {
    print("{}: {} ranks in {} regions, partition {}, {}\n", input.file, regions.num_ranks(),
          regions.num_regions(), input.partition, options.values);
    print("max: {}; reduction: {}\n\n", "the rank that sends most",
          "words that every rank gives to MPI's collective over all ranks");
    table lines({"algorithm", "messages", "max", "inter-region", "max", "bytes", "max",
                 "inter-region", "max", "reduction"});
    for (const auto& [name, algorithm, sent, reduction_words] : reports) {
        table::row cells{name == algorithm ? name : name + " = " + algorithm};
        for (const summary& numbers : {sent.messages, sent.inter_region_messages,
                                       sent.message_bytes, sent.inter_region_message_bytes}) {
            cells.push_back(fmt::to_string(numbers.total));
            cells.push_back(fmt::to_string(numbers.max));
        }
        cells.push_back(fmt::to_string(reduction_words));
        lines.add(std::move(cells));
    }
    print("{}", lines.to_string());
}

}  // namespace

void analyze_exchange(const analyze_input& input, const exchange_choice& options,
                      const topology& regions) {
    const auto reports = count_all(algorithms_of(options, regions), input, options, regions);
    input.as_json ? print_json(input, options, regions, reports)
                  : print_table(input, options, regions, reports);
}

}  // namespace crossdock::tool

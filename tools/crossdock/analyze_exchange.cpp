#include <fmt/format.h>

#include <limits>

#include "bench/exchange/problem.hpp"
#include "crossdock/exchange/exchange_statistics.hpp"
#include "tools/crossdock/algorithm_names.hpp"
#include "tools/crossdock/analyze.hpp"
#include "tools/crossdock/output.hpp"
#include "tools/crossdock/progress.hpp"
#include "tools/crossdock/statistics_json.hpp"
#include "tools/crossdock/table.hpp"

namespace crossdock::tool {

namespace {

using messages_of_all = std::vector<std::vector<sized_message>>;

struct algorithm_report {
    std::string name;
    std::string algorithm;  // what "auto" or an alias stands for
    exchange_traffic_summary sent;
    count_t reduction_words;
};

template <class T>
std::vector<sized_message> sizes_of(const constant_messages<T>& messages) {
    const count_t bytes = messages.count * static_cast<count_t>(sizeof(T));
    std::vector<sized_message> sizes;
    for (const rank_t destination : messages.destinations) sizes.push_back({destination, bytes});
    return sizes;
}

template <class T>
std::vector<sized_message> sizes_of(const variable_messages<T>& messages) {
    std::vector<sized_message> sizes;
    for (std::size_t m = 0; m < messages.destinations.size(); ++m) {
        sizes.push_back(
            {messages.destinations[m], messages.counts[m] * static_cast<count_t>(sizeof(T))});
    }
    return sizes;
}

// Without the rows, which no message is about.
bench::share share_of(halo&& rank) {
    bench::share part;
    part.exchange = std::move(rank.exchange);
    part.item_columns = std::move(rank.owned_columns);
    part.slot_columns = std::move(rank.ghost_columns);
    return part;
}

messages_of_all load_messages(const analyze_input& input, bool has_one_size,
                              const topology& regions) {
    const auto work = bench::load_workload(input.file, input.partition, regions);
    messages_of_all messages;
    for (auto& rank : halos_from_matrix(work.matrix, work.owners)) {
        const auto part = share_of(std::move(rank));
        messages.push_back(has_one_size
                               ? sizes_of(bench::sparse::make_pattern_problem(part).messages())
                               : sizes_of(bench::sparse::make_indices_problem(part).messages()));
    }
    return messages;
}

algorithm_report count(const std::string& name, const topology& regions,
                       const messages_of_all& messages) {
    const bool is_auto = name == "auto";
    const auto algorithm =
        is_auto ? choose_exchange_algorithm(regions) : parse_exchange_algorithm(name);
    const count_t max_forwarded_bytes =
        is_auto ? auto_max_forwarded_bytes : std::numeric_limits<count_t>::max();
    return {name, to_string(algorithm),
            summarize(count_exchange(regions, messages, algorithm, max_forwarded_bytes)),
            reduction_words(algorithm, regions.num_ranks())};
}

std::vector<algorithm_report> count_all(const std::vector<std::string>& names,
                                        const analyze_input& input, bool has_one_size,
                                        const topology& regions) {
    progress done("analyze");
    const auto messages = load_messages(input, has_one_size, regions);
    std::vector<algorithm_report> reports;
    for (const auto& name : names) {
        done.tell(fmt::format("algorithm {}", name));
        reports.push_back(count(name, regions, messages));
    }
    return reports;
}

void print_json(const analyze_input& input, const exchange_analysis& options,
                const topology& regions, const std::vector<algorithm_report>& reports) {
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

void print_table(const analyze_input& input, const exchange_analysis& options,
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

CLI::Option* add_exchange_analysis(CLI::App& verb, exchange_analysis& options) {
    auto* chosen = verb.add_flag(
        "--exchange", options.is_chosen,
        "Count the sparse data exchange of `bench exchange` instead: what every algorithm sends, "
        "with its envelopes; auto as it chooses where no two regions share memory");
    verb.add_option("--algorithms", options.algorithms, algorithms_help())
        ->delimiter(',')
        ->needs(chosen);
    verb.add_option("--values", options.values,
                    "What a message says. pattern: how many columns are needed, one 4-byte number; "
                    "indices: which ones, 8 bytes for each")
        ->check(CLI::IsMember({"pattern", "indices"}))
        ->capture_default_str()
        ->needs(chosen);
    return chosen;
}

void analyze_exchange(const analyze_input& input, const exchange_analysis& options,
                      const topology& regions) {
    const bool has_one_size = options.values == "pattern";
    const auto names = expand_algorithms(options.algorithms, has_one_size);
    check_algorithms(names, has_one_size, regions);
    const auto reports = count_all(names, input, has_one_size, regions);
    (input.as_json ? print_json : print_table)(input, options, regions, reports);
}

}  // namespace crossdock::tool

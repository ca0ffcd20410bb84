// The sparse exchange of a matrix, simulated as the library does not run it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "crossdock/machine.hpp"
#include "crossdock/simulate.hpp"
#include "satellites/simulator/src/exchange_schedule.hpp"
#include "satellites/studies/print_record.hpp"
#include "tools/inputs/workload.hpp"

namespace {

using namespace crossdock;
using nlohmann::json;

struct study_options {
    std::string file;
    std::string values = "indices";
    std::string regions = "64x32";
    std::string machine_name = "quartz";
    std::vector<std::string> algorithms{"personalized", "personalized/known",
                                        "locality_personalized/personalized",
                                        "locality_nonblocking/personalized"};
};

using messages_of_all = std::vector<std::vector<sized_message>>;

// What the owners of columns are told: how many are needed, or which.
messages_of_all messages_of(const workload& work, bool is_pattern) {
    constexpr count_t number_bytes = 4;
    constexpr count_t index_bytes = 8;
    messages_of_all messages;
    for (const auto& rank : halos_from_matrix(work.matrix, work.owners)) {
        auto& list = messages.emplace_back();
        const auto& needed = rank.exchange.receives;
        for (std::size_t k = 0; k < needed.size(); ++k) {
            const auto num_columns = static_cast<count_t>(needed[k].size());
            list.push_back(
                {needed.ranks[k], is_pattern ? number_bytes : index_bytes * num_columns});
        }
    }
    return messages;
}

// Of a rank to other regions: as they are, and if one goes to each region.
json most_crossing(const topology& regions, const messages_of_all& messages) {
    std::size_t most = 0;
    std::size_t most_regions = 0;
    for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
        std::size_t num_messages = 0;
        std::set<region_t> reached;
        for (const auto& message : messages[static_cast<std::size_t>(rank)]) {
            const region_t region = regions.region_of(message.destination);
            if (region == regions.region_of(rank)) continue;
            ++num_messages;
            reached.insert(region);
        }
        most = std::max(most, num_messages);
        most_regions = std::max(most_regions, reached.size());
    }
    return {{"standard", most}, {"aware", most_regions}};
}

json run(const study_options& options) {
    struct contender {
        const char* name;
        exchange_method method;
        exchange_variant variant;
    };
    const contender contenders[] = {
        {"personalized", exchange_method::personalized, {}},
        {"personalized/known", exchange_method::personalized, {.knows_num_sources = true}},
        {"nonblocking", exchange_method::nonblocking, {}},
        {"rma_fence", exchange_method::rma_fence, {}},
        {"locality_personalized/personalized",
         exchange_method::locality_personalized,
         {.is_personalized_inside = true}},
        {"locality_nonblocking/personalized",
         exchange_method::locality_nonblocking,
         {.is_personalized_inside = true}},
    };
    const auto m = load_machine(options.machine_name);
    const rank_layout layout(topology::from_string(options.regions));
    const auto work = load_workload(options.file, "block", layout.regions());
    const auto messages = messages_of(work, options.values == "pattern");
    json algorithms = json::array();
    for (const auto& [name, method, variant] : contenders) {
        if (std::ranges::find(options.algorithms, name) == options.algorithms.end()) continue;
        const auto operations =
            schedule_of_variant(layout.regions(), messages, {method, {}}, variant,
                                std::numeric_limits<count_t>::max(), m);
        algorithms.push_back(
            {{"name", name},
             {"simulated_seconds", to_seconds(simulate(layout, operations, m).slowest)}});
    }
    return {{"most_messages_to_other_nodes", most_crossing(layout.regions(), messages)},
            {"algorithms", std::move(algorithms)}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Simulates the sparse exchange of a matrix as its study has it; prints JSON");
    study_options options;
    app.add_option("FILE", options.file, "Matrix Market")->required();
    app.add_option("--values", options.values, "pattern or indices")
        ->check(CLI::IsMember({"pattern", "indices"}))
        ->capture_default_str();
    app.add_option("--topology", options.regions)->capture_default_str();
    app.add_option("--algorithms", options.algorithms)->delimiter(',');
    app.add_option("--machine", options.machine_name, "A preset or a file")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return bench::print_record([&] { return run(options); });
}

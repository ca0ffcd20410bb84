#include "tools/crossdock/statistics_json.hpp"

#include "tools/crossdock/output.hpp"

namespace crossdock::tool {

void print(const json& document) {
    print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
}

json summary_json(const summary& numbers) {
    return {{"total", numbers.total}, {"max", numbers.max}, {"mean", numbers.mean}};
}

json spread_json(const summary& numbers) { return {{"max", numbers.max}, {"mean", numbers.mean}}; }

json traffic_json(const traffic_summary& counted) {
    return {{"messages", summary_json(counted.messages)},
            {"items", summary_json(counted.items)},
            {"inter_region",
             {{"messages", summary_json(counted.inter_region_messages)},
              {"items", summary_json(counted.inter_region_items)}}}};
}

json choice_json(const route_choice& choice) {
    json candidates = json::array();
    for (const auto& [route, seconds, term] : choice.candidates)
        candidates.push_back({{"route", route}, {"seconds", seconds}, {"mostly", term}});
    return {{"route", choice.route()}, {"candidates", std::move(candidates)}};
}

}  // namespace crossdock::tool

#include <nlohmann/json.hpp>

#include "crossdock/plan/plan.hpp"

namespace crossdock {

namespace {

constexpr const char* schema = "crossdock.plan/1";

}  // namespace

// Found by nlohmann::json through argument-dependent look-up; one line names the fields both ways.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(outgoing_message, destination, positions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(incoming_message, source, first_position, num_items)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(plan_stage, sends, receives)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(delivery, position, slot)

std::string to_json(const plan& p) {
    return nlohmann::json{{"schema", schema},
                          {"rank", p.rank()},
                          {"ranks", p.num_ranks()},
                          {"route", p.route_name()},
                          {"dedup", p.is_deduplicated()},
                          {"items", p.num_items()},
                          {"slots", p.num_slots()},
                          {"stages", p.stages()},
                          {"deliveries", p.deliveries()}}
        .dump();
}

plan plan_from_json(const std::string& text) {
    plan::contents data;
    try {
        const auto json = nlohmann::json::parse(text);
        if (json.at("schema") != schema) {
            throw error(errc::parse_error, "expected a plan of schema " + std::string(schema) +
                                               ", found " + json.at("schema").dump());
        }
        json.at("rank").get_to(data.rank);
        json.at("ranks").get_to(data.num_ranks);
        json.at("route").get_to(data.route_name);
        json.at("dedup").get_to(data.is_deduplicated);
        json.at("items").get_to(data.num_items);
        json.at("slots").get_to(data.num_slots);
        json.at("stages").get_to(data.stages);
        json.at("deliveries").get_to(data.deliveries);
    } catch (const nlohmann::json::exception& fault) {
        throw error(errc::parse_error, std::string("not a plan: ") + fault.what());
    }
    return plan(std::move(data));
}

}  // namespace crossdock

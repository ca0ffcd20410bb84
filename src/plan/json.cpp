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

static nlohmann::json as_json(const plan::contents& data) {
    return {{"schema", schema},
            {"rank", data.rank},
            {"ranks", data.num_ranks},
            {"route", data.route_name},
            {"dedup", data.is_deduplicated},
            {"items", data.num_items},
            {"slots", data.num_slots},
            {"stages", data.stages},
            {"deliveries", data.deliveries}};
}

std::string to_json(const plan& p) {
    return as_json({p.rank(), p.num_ranks(), p.route_name(), p.is_deduplicated(), p.num_items(),
                    p.num_slots(), p.stages(), p.deliveries()})
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
        // The conversions above round and wrap numbers that do not fit, silently.
        if (as_json(data) != json) {
            throw error(errc::parse_error,
                        "not a plan: a number does not fit, or a field is unknown");
        }
    } catch (const nlohmann::json::exception& fault) {
        throw error(errc::parse_error, std::string("not a plan: ") + fault.what());
    }
    return plan(std::move(data));
}

}  // namespace crossdock

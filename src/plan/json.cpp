#include <nlohmann/json.hpp>

#include "crossdock/plan.hpp"

namespace crossdock {

namespace {

constexpr const char* plan_schema = "crossdock.plan/1";

// What is wrong with a document, in words that do not name the library that reads JSON.
std::string json_fault(const nlohmann::json::exception& fault) {
    constexpr int missing_key = 403;
    if (const auto* no_json = dynamic_cast<const nlohmann::json::parse_error*>(&fault))
        return "it is not JSON, from byte " + std::to_string(no_json->byte) + " on";
    if (fault.id != missing_key) return "a field has another type";
    const std::string text = fault.what();  // "... key 'name' not found"
    const auto begin = text.find('\'') + 1;
    return "the field \"" + text.substr(begin, text.rfind('\'') - begin) + "\" is missing";
}

}  // namespace

// Found by nlohmann::json through argument-dependent look-up; one line names the fields both ways.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(outgoing_message, destination, positions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(incoming_message, source, first_position, num_items)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(plan_stage, sends, receives)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(delivery, position, slot)

static nlohmann::json as_json(const plan::contents& data) {
    nlohmann::json all{{"schema", plan_schema},         {"rank", data.rank},
                       {"ranks", data.num_ranks},       {"route", data.route_name},
                       {"dedup", data.is_deduplicated}, {"items", data.num_items},
                       {"slots", data.num_slots},       {"stages", data.stages},
                       {"deliveries", data.deliveries}};
    if (!data.item_destinations.empty()) all["item_destinations"] = data.item_destinations;
    return all;
}

std::string to_json(const plan& p) {
    return as_json({p.rank(), p.num_ranks(), p.route(), p.is_deduplicated(), p.num_items(),
                    p.num_slots(), p.stages(), p.deliveries(), p.item_destinations()})
        .dump();
}

plan plan_from_json(const std::string& text) {
    plan::contents data;
    try {
        // A conversion to an integer does not look whether a number fits.
        const auto all = nlohmann::json::parse(text, [](int, auto, const nlohmann::json& value) {
            if (value.is_number_float())
                throw error(errc::parse_error, "not a plan: " + value.dump() + " is no integer");
            return true;
        });
        if (all.at("schema") != plan_schema) {
            throw error(errc::parse_error, std::string("expected a plan of schema ") + plan_schema +
                                               ", found " + all.at("schema").dump());
        }
        all.at("rank").get_to(data.rank);
        all.at("ranks").get_to(data.num_ranks);
        all.at("route").get_to(data.route_name);
        all.at("dedup").get_to(data.is_deduplicated);
        all.at("items").get_to(data.num_items);
        all.at("slots").get_to(data.num_slots);
        all.at("stages").get_to(data.stages);
        all.at("deliveries").get_to(data.deliveries);
        if (all.contains("item_destinations"))
            all.at("item_destinations").get_to(data.item_destinations);
        // Written again, to prove that nothing was lost: conversions round and wrap numbers that do not fit, silently.
        if (as_json(data) != all)
            throw error(errc::parse_error,
                        "not a plan: a number does not fit, or a field is unknown");
    } catch (const nlohmann::json::exception& fault) {
        throw error(errc::parse_error, "not a plan: " + json_fault(fault));
    }
    return plan(std::move(data));
}

}  // namespace crossdock

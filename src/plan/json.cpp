#include "../base/json_document.hpp"
#include "crossdock/plan.hpp"

namespace crossdock {

namespace {

constexpr const char* plan_schema = "crossdock.plan/1";

}  // namespace

// Found by nlohmann::json through argument-dependent look-up; one line names the fields both ways.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(outgoing_message, destination, positions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(incoming_message, source, first_position, num_items)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(plan_stage, sends, receives)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(delivery, position, slot)

static nlohmann::json as_json(const plan::contents& data) {
    return {{"schema", plan_schema},         {"rank", data.rank},
            {"ranks", data.num_ranks},       {"route", data.route_name},
            {"dedup", data.is_deduplicated}, {"items", data.num_items},
            {"slots", data.num_slots},       {"stages", data.stages},
            {"deliveries", data.deliveries}};
}

std::string to_json(const plan& p) {
    return as_json({p.rank(), p.num_ranks(), p.route(), p.is_deduplicated(), p.num_items(),
                    p.num_slots(), p.stages(), p.deliveries()})
        .dump();
}

plan plan_from_json(const std::string& text) {
    plan::contents data;
    const auto read = [&](const nlohmann::json& all) {
        all.at("rank").get_to(data.rank);
        all.at("ranks").get_to(data.num_ranks);
        all.at("route").get_to(data.route_name);
        all.at("dedup").get_to(data.is_deduplicated);
        all.at("items").get_to(data.num_items);
        all.at("slots").get_to(data.num_slots);
        all.at("stages").get_to(data.stages);
        all.at("deliveries").get_to(data.deliveries);
    };
    read_document(text, "plan", plan_schema, read, [&] { return as_json(data); });
    return plan(std::move(data));
}

}  // namespace crossdock

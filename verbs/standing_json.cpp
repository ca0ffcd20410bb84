#include "verbs/standing_json.hpp"

#include "verbs/reference.hpp"

namespace crossdock::tool {

namespace {

json overlap_json(const std::optional<bench::overlap>& hidden) {
    if (!hidden) return nullptr;
    return {{"exchange_seconds", timing_json(hidden->exchange_seconds)},
            {"compute_seconds", timing_json(hidden->compute_seconds)},
            {"together_seconds", timing_json(hidden->together_seconds)},
            {"hidden_seconds", hidden->hidden_seconds()},
            {"efficiency", hidden->efficiency()}};
}

json contender_json(const bench::standing& one, const reference_time& reference) {
    return {
        {"name", one.name},
        {"executor", one.executor.empty() ? json(nullptr) : json(one.executor)},
        {"dedup", one.is_deduplicated},
        {"verified", one.found.is_verified},
        {"routes", one.routes},
        {"choose_seconds", one.choose_seconds ? timing_json(*one.choose_seconds) : json(nullptr)},
        {"setup_seconds", timing_json(one.setup_seconds)},
        {"exchange_seconds", timing_json(one.exchange_seconds)},
        {"ratio", reference.compare(one.exchange_seconds).to_json()},
        {"product_seconds",
         one.product_seconds ? timing_json(*one.product_seconds) : json(nullptr)},
        {"overlap", overlap_json(one.hidden)},
        {"messages", one.found.sent.messages},
        {"inter_region_messages", one.found.sent.inter_region_messages},
        {"items", one.found.sent.items},
        {"inter_region_items", one.found.sent.inter_region_items}};
}

}  // namespace

json timing_json(const bench::timing& seconds) {
    return {{"min", seconds.min},
            {"lower_quartile", seconds.lower_quartile},
            {"median", seconds.median},
            {"upper_quartile", seconds.upper_quartile},
            {"max", seconds.max}};
}

json contenders_json(const std::vector<bench::standing>& standings) {
    const auto reference =
        fastest_of_mpi(standings, &bench::standing::exchange_seconds, &bench::standing::name);
    json contenders = json::array();
    for (const auto& one : standings) contenders.push_back(contender_json(one, reference));
    return contenders;
}

}  // namespace crossdock::tool

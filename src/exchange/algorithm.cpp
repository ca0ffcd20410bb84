#include "crossdock/exchange_algorithm.hpp"

#include <algorithm>

#include "../base/throw_error.hpp"
#include "../select/all_partners_cost.hpp"
#include "crossdock/detail/exchange/exchange_rules.hpp"
#include "forwarder.hpp"

namespace crossdock {

namespace {

constexpr std::string_view routed_prefix = "routed:";

}  // namespace

const std::vector<exchange_description>& registered_exchange_algorithms() {
    using method = exchange_method;
    static const std::vector<exchange_description> algorithms{
        {"personalized",
         {"pex", "allreduce"},
         "sum a vector of counts over all ranks, then send and receive",
         method::personalized},
        {"nonblocking",
         {"nbx", "ibarrier"},
         "send synchronously; a nonblocking reduction tells when all is received",
         method::nonblocking},
        {"rma", {}, "put into the receiver's window; messages of one size only", method::rma},
        {"rma_fence",
         {},
         "as rma, at the sender's own place there, between fences",
         method::rma_fence},
        {"locality_personalized",
         {},
         "one message to each region, found as by personalized; then inside the regions",
         method::locality_personalized},
        {"locality_nonblocking",
         {},
         "one message to each region, found as by nonblocking; then inside the regions",
         method::locality_nonblocking},
        {"locality_rma",
         {},
         "one message to each region, put there as by rma_fence; then inside the regions",
         method::locality_rma},
        {"reduce_scatter",
         {"redscatter", "rsx", "pcx"},
         "as personalized, but every rank gets its own count only",
         method::reduce_scatter},
        {"shared_memory",
         {},
         "in memory inside a node; one message from every node to every other",
         method::shared_memory},
        {"routed",
         {},
         "routed:ROUTE: to known partners along a route, as routed:grid:2",
         method::routed,
         "routed:grid:2"},
    };
    return algorithms;
}

exchange_algorithm parse_exchange_algorithm(std::string_view name) {
    if (name.starts_with(routed_prefix))
        return {exchange_method::routed, std::string(name.substr(routed_prefix.size()))};
    std::string known;
    for (const auto& one : registered_exchange_algorithms()) {
        const bool takes_route = one.method == exchange_method::routed;
        const bool is_named = one.name == name || std::find(one.aliases.begin(), one.aliases.end(),
                                                            name) != one.aliases.end();
        if (is_named && !takes_route) return {one.method, {}};
        known += one.name + (takes_route ? ":ROUTE" : ", ");
    }
    throw_error(errc::invalid_argument,
                "no exchange algorithm is called \"{}\"; there are auto, {}", name, known);
}

std::string to_string(const exchange_algorithm& algorithm) {
    if (algorithm.method == exchange_method::routed)
        return std::string(routed_prefix) + algorithm.route;
    const auto& all = registered_exchange_algorithms();
    return std::find_if(all.begin(), all.end(),
                        [&](const auto& one) { return one.method == algorithm.method; })
        ->name;
}

exchange_algorithm choose_exchange_algorithm(const topology& regions, const machine& m) {
    const all_partners_load empty_bundles{.message_bytes = bundle_overhead_bytes(0)};
    return {exchange_method::routed,
            all_partners_chooser(regions).choose(m, empty_bundles).route()};
}

}  // namespace crossdock

// Names of routes, algorithms and graphs: what is accepted is written as it can be read again.
#include "crossdock/exchange_algorithm.hpp"
#include "crossdock/route.hpp"
#include "fuzzed.hpp"
#include "tools/inputs/generate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    static const topology all_regions[] = {topology::from_string("4x4"),
                                           topology::from_string("5,1,2")};
    const auto text = fuzz::text_of(data, size);
    for (const auto& regions : all_regions) {
        fuzz::read_or_refuse([&] {
            const auto found = make_route(text, regions);
            fuzz::require(make_route(found->name(), regions)->name() == found->name());
            for (int stage = 0; stage < found->num_stages(); ++stage) {
                for (const rank_t to : found->partners(0, stage).destinations)
                    fuzz::require(to > 0 && to < regions.num_ranks());
            }
        });
    }
    fuzz::read_or_refuse([&] {
        const auto found = parse_exchange_algorithm(text);
        fuzz::require(to_string(parse_exchange_algorithm(to_string(found))) == to_string(found));
    });
    fuzz::read_or_refuse([&] { fuzz::require(to_string(parse_graph_model(text)) == text); });
    return 0;
}

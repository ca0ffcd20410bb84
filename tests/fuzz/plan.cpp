// A plan that is read can be written, and is read again as the same.
#include "crossdock/plan.hpp"
#include "fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    fuzz::read_or_refuse([&] {
        const auto found = plan_from_json(std::string(fuzz::text_of(data, size)));
        fuzz::require(plan_from_json(to_json(found)) == found);
    });
    return 0;
}

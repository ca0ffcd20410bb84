// A pattern is a matrix and a file of owners, which a line "owners" parts here. What is read is valid for all ranks.
#include "crossdock/pattern.hpp"
#include "fuzzed.hpp"
#include "tools/inputs/halo.hpp"
#include "tools/inputs/workload.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    static fuzz::memory_file matrix, owners;
    static const auto regions = topology::from_string("2x2");
    const auto text = fuzz::text_of(data, size);
    const auto end = std::min(text.find("\nowners\n"), text.size());
    const auto& file = matrix.holding(text.substr(0, end));
    const auto spec = end == text.size() ? "block" : "file:" + owners.holding(text.substr(end + 8));
    fuzz::read_or_refuse([&] {
        fuzz::require(recorded_item_bytes(file) > 0);
        const auto work = load_workload(file, spec, regions);
        for (const auto& one : halos_from_matrix(work.matrix, work.owners)) validate(one.exchange);
    });
    return 0;
}

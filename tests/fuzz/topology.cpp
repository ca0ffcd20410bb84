// A topology that is read can be written, and is read again as the same.
#include "crossdock/topology.hpp"

#include <algorithm>

#include "fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    const auto text = fuzz::text_of(data, size);
    // Time is linear in the number of runs, and an irregular topology is a table of all ranks, so that a short text of
    // many ranks takes long, unless another number of ranks is expected.
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool is_large =
        std::ranges::search_n(text, 5, true, {}, is_digit).size() == 5 ||
        (std::ranges::count_if(text, is_digit) > 6 && text.find('x') != text.npos);
    fuzz::read_or_refuse([&] {
        if (is_large) return;
        const auto found = topology::from_string(text);
        fuzz::require(topology::from_string(found.to_string()) == found);
        fuzz::require(topology::from_string(text, found.num_ranks()) == found);
        const rank_t last = found.num_ranks() - 1;
        const region_t region = found.region_of(last);
        fuzz::require(region >= 0 && region < found.num_regions());
        fuzz::require(found.local_rank(last) + 1 == found.region_size(region));
        fuzz::require(found.rank_at(region, found.local_rank(last)) == last);
    });
    fuzz::read_or_refuse([&] { static_cast<void>(topology::from_string(text, 12)); });
    return 0;
}

#include "../random_block.hpp"

#include <Random123/philox.h>

namespace crossdock {

std::array<std::uint64_t, 4> random_block(const random_place& place) {
    using generator = r123::Philox4x64;
    const generator::ctr_type counter = {{place.index, place.block, 0, 0}};
    const generator::key_type key = {{place.seed, static_cast<std::uint64_t>(place.use)}};
    const generator::ctr_type words = generator()(counter, key);
    return {words[0], words[1], words[2], words[3]};
}

}  // namespace crossdock

#include "reference_resolver.hpp"

#include <algorithm>

namespace crossdock {

const located_run& reference_resolver::find(arrived_item item) {
    if (last_.holds(item)) return last_;
    const auto& runs = runs_[incoming_number(finder_.message_of(item.value()))];
    const auto after =
        std::upper_bound(runs.begin(), runs.end(), item,
                         [](arrived_item one, const located_run& run) { return one < run.first; });
    return last_ = *(after - 1);
}

}  // namespace crossdock

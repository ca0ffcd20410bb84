#include "verbs/reference.hpp"

#include <fmt/format.h>

namespace crossdock::tool {

std::string reference_time::ratio(double median_seconds) const {
    return fmt::format("{:.2f}", median_seconds / seconds.median);
}

round_ratio reference_time::compare(const bench::timing& contender_seconds) const {
    return compare_rounds(contender_seconds.rounds, seconds.rounds);
}

std::string reference_time::legend() const {
    return fmt::format("ratio: median divided by that of {}, {}; less than 1 is faster", name,
                       which);
}

bool uses_mpi_alone(const std::string& name) {
    return name.starts_with("mpi_") || name == "plain" || name == "alltoallv";
}

}  // namespace crossdock::tool

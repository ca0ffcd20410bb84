// What a program outside the project writes without MPI: fails unless its plans are proved, and a wrong one is not.
#include "two_ranks.hpp"

int main() {
    const auto patterns = two_patterns();
    auto plans = plans_of(crossdock::topology::from_string("2x1"), patterns);
    verify(plans, patterns);
    std::swap(plans[0], plans[1]);
    try {
        verify(plans, patterns);
    } catch (const crossdock::error& fault) {
        return fault.code() == crossdock::errc::invalid_plan ? 0 : 1;
    }
    return 1;
}

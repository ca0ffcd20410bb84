#include "bench/stream/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace crossdock::bench::streaming::team_test {
namespace {

void expect_that_all_meet(team& workers) {
    std::atomic<int> num_before = 0;
    std::atomic<int> num_that_saw_all = 0;

    workers.run([&](int) {
        ++num_before;
        workers.meet();
        num_that_saw_all += num_before == 3 ? 1 : 0;
    });

    EXPECT_EQ(num_that_saw_all, 3);
}

TEST(Team, MeetsAgainAfterARunThatHasThrown) {
    team workers(3);
    for (int failing = 0; failing < 3; ++failing) {
        EXPECT_THROW(workers.run([&](int worker) {
            if (worker == failing) throw std::runtime_error("one");
            workers.meet();
        }),
                     std::runtime_error);
        expect_that_all_meet(workers);
    }
}

}  // namespace
}  // namespace crossdock::bench::streaming::team_test

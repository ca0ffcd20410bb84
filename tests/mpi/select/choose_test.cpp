// The choice of all ranks together is the one that is made offline; the machine is the same everywhere.
#include "src/select/choose_mpi.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "src/model/machine_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::choose_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

void expect_equal(const route_choice& found, const route_choice& expected) {
    ASSERT_EQ(found.candidates.size(), expected.candidates.size());
    for (std::size_t c = 0; c < expected.candidates.size(); ++c) {
        EXPECT_EQ(found.candidates[c].route, expected.candidates[c].route);
        EXPECT_EQ(found.candidates[c].seconds, expected.candidates[c].seconds);
        EXPECT_EQ(found.candidates[c].dominating_term, expected.candidates[c].dominating_term);
    }
}

class Choice : public test::AllRanks {
  protected:
    rank_layout layout{one_region};
    std::vector<pattern> ring = test::ring_pattern(num_ranks);
};

TEST_F(Choice, IsTheOneThatIsMadeOffline) {
    const auto topologies = test::conformance_topologies(num_ranks);
    const std::vector<machine> machines{default_machine(), load_machine("quartz")};
    std::size_t turn = 0;
    for (const auto& each : topologies) {
        for (const auto& [name, patterns] : test::conformance_patterns(num_ranks)) {
            for (const auto& m : machines) {
                const auto& nodes = topologies[turn++ % topologies.size()];
                SCOPED_TRACE(name + "/" + each.to_string() + "/" + nodes.to_string() + "/" +
                             m.name);
                estimate_options options;
                options.travel.item_bytes = turn % 2 == 0 ? 8 : 1000;
                options.travel.shares_memory = turn % 3 == 0;
                options.deduplicate = turn % 5 != 0;
                const rank_layout places(each, nodes);

                const auto found = choose_route(comm, places, mine(patterns), m, options);

                expect_equal(found, choose_route(places, patterns, m, options));
            }
        }
    }
}

TEST_F(Choice, AFaultOfOneRankIsAnErrorOnAllRanks) {
    // On a new communicator, and on one that has seen others.
    for (int round = 0; round < 2; ++round) {
        pattern p = mine(ring);
        if (is_last) p.sends.ranks[0] = -4;
        expect_thrown(errc::rank_out_of_range, last_rank,
                      [&] { return choose_route(comm, layout, p, default_machine()); });
        expect_thrown(errc::size_mismatch, [&] {
            return choose_route(comm, rank_layout(topology::from_string("3x7")), mine(ring),
                                default_machine());
        });
        expect_equal(choose_route(comm, layout, mine(ring), default_machine()),
                     choose_route(layout, ring, default_machine()));
    }
}

// An environment variable of rank 0 alone, for a while.
class variable_of_first {
  public:
    variable_of_first(const communicator& comm, const char* name, const std::string& value)
        : name_(name) {
        if (comm.rank() == 0) setenv(name, value.c_str(), 1);
    }
    ~variable_of_first() { unsetenv(name_); }
    variable_of_first(const variable_of_first&) = delete;
    variable_of_first& operator=(const variable_of_first&) = delete;

  private:
    const char* name_;
};

class MachineOf : public Choice {};

TEST_F(MachineOf, IsTheAssumedOneWhereNobodyNamesOne) {
    EXPECT_EQ(machine_of(comm), assumed_machine(comm));
    EXPECT_EQ(&machine_of(comm), &machine_of(comm));
}

TEST_F(MachineOf, IsThePresetThatTheFirstRanksEnvironmentNames) {
    const variable_of_first named(comm, "CROSSDOCK_MACHINE", "quartz");

    EXPECT_EQ(machine_of(comm), load_machine("quartz"));
}

TEST_F(MachineOf, IsReadOncePerCommunicator) {
    machine_of(comm);
    const variable_of_first named(comm, "CROSSDOCK_MACHINE", "quartz");

    EXPECT_EQ(machine_of(comm), assumed_machine(comm));
}

TEST_F(MachineOf, IsTheFileThatTheFirstRankReads) {
    const std::string path = testing::TempDir() + "crossdock-choose-test-machine.json";
    machine own = load_machine("lassen");
    own.name = "own";
    own.hand_over_seconds = 0.125e-6;
    if (rank == 0) std::ofstream(path) << to_json(own);
    const variable_of_first named(comm, "CROSSDOCK_MACHINE", path);

    EXPECT_EQ(machine_of(comm), own);

    if (rank == 0) std::remove(path.c_str());
}

TEST_F(MachineOf, IsAnErrorOnAllRanksWhereTheFileIsNoneOrInvalid) {
    const std::string path = testing::TempDir() + "crossdock-choose-test-invalid.json";
    if (rank == 0) std::ofstream(path) << "{\"schema\": 7}";
    for (const auto& [file, code] :
         {std::pair<std::string, errc>{"/no/such/machine.json", errc::file_error},
          {path, errc::parse_error}}) {
        communicator fresh(MPI_COMM_WORLD);
        const variable_of_first named(fresh, "CROSSDOCK_MACHINE", file);
        for (int round = 0; round < 2; ++round) {
            const error fault = thrown_by([&] { machine_of(fresh); });
            EXPECT_EQ(fault.code(), code);
            EXPECT_TRUE(std::string_view(fault.what()).starts_with("CROSSDOCK_MACHINE: "));
            EXPECT_NE(std::string(fault.what()).find(file), std::string::npos);
        }
        fresh.close();
    }
    if (rank == 0) std::remove(path.c_str());
}

}  // namespace
}  // namespace crossdock::choose_test

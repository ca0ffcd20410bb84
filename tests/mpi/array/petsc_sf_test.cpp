#include "bench/common/petsc_sf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/thrown_by.hpp"

namespace crossdock::bench::petsc_sf_test {
namespace {

// Rank r has the roots 10 r, 10 r + 1, ... 10 r + r, and a leaf for the last root of every rank,
// the own one included, and one more for root 0 of the next rank.
class PetscSf : public testing::TestWithParam<const char*> {
  protected:
    PetscSf() {
        for (rank_t rank = 0; rank < comm.num_ranks(); ++rank) {
            owners.push_back(rank);
            root_indices.push_back(rank);
            expected.push_back(10. * rank + rank);
        }
        owners.push_back((comm.rank() + 1) % comm.num_ranks());
        root_indices.push_back(0);
        expected.push_back(10. * owners.back());
        for (int i = 0; i <= comm.rank(); ++i) roots.push_back(10. * comm.rank() + i);
    }

    ~PetscSf() override { comm.close(); }

    communicator comm{MPI_COMM_WORLD};
    std::vector<rank_t> owners;
    std::vector<count_t> root_indices;
    std::vector<double> expected, roots;
};

TEST_P(PetscSf, ReadBringsEveryRootToItsLeaves) {
    petsc_sf sf(comm, comm.rank() + 1, owners, root_indices, GetParam());
    std::vector<double> leaves(owners.size(), -1);

    sf.read(roots, leaves);
    sf.close();

    EXPECT_EQ(leaves, expected);
}

TEST_P(PetscSf, UpdateAddsAllLeavesToTheirRoot) {
    petsc_sf sf(comm, comm.rank() + 1, owners, root_indices, GetParam());
    const std::vector<double> leaves(owners.size(), comm.rank() + 1);
    auto sums = roots;
    const rank_t previous = (comm.rank() + comm.num_ranks() - 1) % comm.num_ranks();
    roots.back() += comm.num_ranks() * (comm.num_ranks() + 1) / 2.;
    roots.front() += previous + 1;

    sf.update(leaves, sums, MPI_SUM);
    sf.close();

    EXPECT_EQ(sums, roots);
}

TEST_P(PetscSf, UpdateWithTheMinimumLeavesTheLeast) {
    petsc_sf sf(comm, comm.rank() + 1, owners, root_indices, GetParam());
    const std::vector<double> leaves(owners.size(), 12 - comm.rank());
    auto least = roots;
    // The last root has leaves of all ranks, root 0 only of the one before.
    const rank_t previous = (comm.rank() + comm.num_ranks() - 1) % comm.num_ranks();
    roots.front() = std::min(roots.front(), 12. - previous);
    roots.back() = std::min(roots.back(), 13. - comm.num_ranks());

    sf.update(leaves, least, MPI_MIN);
    sf.close();

    EXPECT_EQ(least, roots);
}

INSTANTIATE_TEST_SUITE_P(Types, PetscSf, testing::Values("basic", "neighbor"),
                         [](const auto& type) { return std::string(type.param); });

using PetscSfFaults = PetscSf;

TEST_F(PetscSfFaults, AnOwnerThatIsNoRankFailsOnAllRanks) {
    if (comm.rank() == 0) owners[0] = comm.num_ranks();

    test::expect_thrown(errc::rank_out_of_range,
                        [&] { petsc_sf(comm, comm.rank() + 1, owners, root_indices); });
}

TEST_F(PetscSfFaults, AnErrorOfPetscIsThrownWithItsText) {
    const auto fault =
        test::thrown_by([&] { petsc_sf(comm, comm.rank() + 1, owners, root_indices, "nonsense"); });

    EXPECT_EQ(fault.code(), errc::internal);
    EXPECT_NE(std::string(fault.what()).find("nonsense"), std::string::npos) << fault.what();
}

TEST_F(PetscSfFaults, ACommunicatorClosesWhatWasNotClosed) {
    { petsc_sf sf(comm, comm.rank() + 1, owners, root_indices); }

    comm.close();

    EXPECT_FALSE(comm.is_open());
}

TEST_F(PetscSfFaults, PetscStaysWhileAnyCommunicatorUsesIt) {
    communicator other(MPI_COMM_WORLD);
    petsc_sf first(other, 0, {}, {});
    petsc_sf sf(comm, comm.rank() + 1, owners, root_indices);
    std::vector<double> leaves(owners.size(), -1);

    other.close();
    sf.read(roots, leaves);

    EXPECT_EQ(leaves, expected);
}

}  // namespace
}  // namespace crossdock::bench::petsc_sf_test

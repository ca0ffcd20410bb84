// Which devices leave a forest to `basic`: ours is compiled as for a PETSc that has devices, and this test says which
// one PETSc has used. With CROSSDOCK_DEVICE=mock; what PETSc calls CUDA is the mock here.
#include <gtest/gtest.h>
#include <petscsf.h>

#include "crossdock/petsc.h"

namespace {

PetscDeviceType used = PETSC_DEVICE_HOST;

}  // namespace

// In the place of PETSc's.
extern "C" const char* const PetscDeviceTypes[] = {
    "host", "mock", "hip", "sycl", "max", "PetscDeviceType", "PETSC_DEVICE_", nullptr};
extern "C" PetscBool PetscDeviceInitialized(PetscDeviceType kind) {
    return kind == PETSC_DEVICE_HOST || kind == used ? PETSC_TRUE : PETSC_FALSE;
}

namespace {

// Ours refuses the route, and `basic` does not know of it.
bool is_left_to_basic(PetscDeviceType kind) {
    used = kind;
    int rank = 0, num_ranks = 1;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &num_ranks);
    PetscSF sf = nullptr;
    EXPECT_EQ(PetscSFCreate(PETSC_COMM_WORLD, &sf), 0);
    EXPECT_EQ(PetscSFSetType(sf, PETSCSFCROSSDOCK), 0);
    EXPECT_EQ(PetscSFSetFromOptions(sf), 0);
    const PetscSFNode next{(rank + 1) % num_ranks, 0};
    EXPECT_EQ(PetscSFSetGraph(sf, 1, 1, nullptr, PETSC_COPY_VALUES, const_cast<PetscSFNode*>(&next),
                              PETSC_COPY_VALUES),
              0);
    EXPECT_EQ(PetscSFSetUp(sf), 0);
    used = PETSC_DEVICE_HOST;
    const PetscInt root = rank;
    PetscInt leaf = -1;
    EXPECT_EQ(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr), 0);
    const bool has_begun = PetscSFBcastBegin(sf, MPIU_INT, &root, &leaf, MPI_REPLACE) == 0;
    EXPECT_EQ(PetscPopErrorHandler(), 0);
    if (has_begun) {
        EXPECT_EQ(PetscSFBcastEnd(sf, MPIU_INT, &root, &leaf, MPI_REPLACE), 0);
        EXPECT_EQ(leaf, next.rank);
    }
    EXPECT_EQ(PetscSFDestroy(&sf), 0);
    return has_begun;
}

TEST(ForeignDevice, IsEveryOneButThatOfTheDriver) {
    ASSERT_EQ(PetscOptionsSetValue(nullptr, "-sf_crossdock_route", "nonsense"), 0);
    EXPECT_FALSE(is_left_to_basic(PETSC_DEVICE_HOST));
    EXPECT_FALSE(is_left_to_basic(PETSC_DEVICE_CUDA));
    EXPECT_TRUE(is_left_to_basic(PETSC_DEVICE_HIP));
    EXPECT_TRUE(is_left_to_basic(PETSC_DEVICE_SYCL));
}

}  // namespace

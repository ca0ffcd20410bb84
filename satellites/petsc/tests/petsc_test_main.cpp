// Every rank runs every test; the program fails on all ranks if a test failed on any. Rank 0 prints the list of tests.
#include <gtest/gtest.h>
#include <petscsys.h>

#include "crossdock/petsc.h"

namespace {

class failures_only : public testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        std::fprintf(stderr, "[rank %d] %s:%d: %s\n", rank,
                     result.file_name() ? result.file_name() : "?", result.line_number(),
                     result.message());
    }
};

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (PetscInitialize(&argc, &argv, nullptr, nullptr) != 0) return 1;
    if (PetscSFRegisterCrossdock() != 0) return 1;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        auto& listeners = testing::UnitTest::GetInstance()->listeners();
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new failures_only);
    }
    int failed = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (PetscFinalize() != 0) return 1;
    return failed;
}

/// @file
/// @brief Errors of C are returned in these tests, and end no program.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

namespace crossdock {

class errors_return final : public testing::Environment {
  public:
    void SetUp() override {
        for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
};

[[maybe_unused]] static const auto* const with_errors_return =
    testing::AddGlobalTestEnvironment(new errors_return);

}  // namespace crossdock

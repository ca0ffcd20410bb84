#include "crossdock/base/communicator_mpi.hpp"

#include <gtest/gtest.h>

#include "support/thrown_by.hpp"

namespace crossdock {
namespace {

using test::thrown_by;

TEST(Communicator, RefusesTheNullCommunicator) {
    EXPECT_EQ(thrown_by([] { communicator comm(MPI_COMM_NULL); }).code(), errc::invalid_argument);
}

TEST(Communicator, ReservesTagsThatDoNotOverlap) {
    communicator comm(MPI_COMM_WORLD);
    const int first = comm.reserve_tags(3);
    const communicator copy = comm;
    EXPECT_EQ(copy.reserve_tags(2), first + 3);
    EXPECT_EQ(comm.reserve_tags(0), first + 5);
    EXPECT_EQ(thrown_by([&] { comm.reserve_tags(std::numeric_limits<int>::max()); }).code(),
              errc::count_overflow);
    comm.close();
    EXPECT_FALSE(copy.is_open());
    comm.close();
}

TEST(Communicator, NamesTheMpiCallThatFailed) {
    communicator comm(MPI_COMM_WORLD);
    const error fault =
        thrown_by([&] { CROSSDOCK_MPI(MPI_Send(nullptr, 0, MPI_INT, 1 << 20, 0, comm.get())); });
    EXPECT_EQ(fault.code(), errc::mpi_failure);
    EXPECT_EQ(std::string(fault.what()).rfind("MPI_Send(", 0), 0u) << fault.what();
    comm.close();
}

TEST(Agree, ThrowsTheErrorOfTheLowestFailingRankEverywhere) {
    communicator comm(MPI_COMM_WORLD);
    const rank_t half = comm.num_ranks() / 2;
    std::optional<error> fault;
    if (comm.rank() >= half) fault = error(errc::file_error, "rank " + std::to_string(comm.rank()));

    const error agreed = thrown_by([&] { agree(comm, fault); });

    EXPECT_EQ(agreed.code(), errc::file_error);
    EXPECT_EQ(agreed.rank(), half);
    EXPECT_EQ(std::string(agreed.what()), "rank " + std::to_string(half));
    agree(comm, std::nullopt);
    comm.close();
}

TEST(Agree, FindsArgumentsThatDiffer) {
    communicator comm(MPI_COMM_WORLD);
    agree(comm, std::nullopt, agreement_hash("equal"));
    if (comm.num_ranks() > 1) {
        const auto hash = agreement_hash(comm.rank() == 0 ? "a" : "b");
        EXPECT_STREQ(thrown_by([&] { agree(comm, std::nullopt, hash, "the colors"); }).what(),
                     "the colors differ between ranks");
    }
    comm.close();
}

TEST(OnAllOrNone, ReturnsTheValueOrWrapsForeignExceptions) {
    communicator comm(MPI_COMM_WORLD);
    EXPECT_EQ(on_all_or_none(comm, [&] { return comm.rank() + 1; }), comm.rank() + 1);
    const error memory = thrown_by([&] {
        on_all_or_none(comm, [&] {
            if (comm.rank() == 0) throw std::bad_alloc();
        });
    });
    EXPECT_EQ(memory.code(), errc::out_of_memory);
    const error other =
        thrown_by([&] { on_all_or_none(comm, [] { throw std::runtime_error("odd"); }); });
    EXPECT_EQ(other.code(), errc::internal);
    EXPECT_STREQ(other.what(), "odd");
    comm.close();
}

}  // namespace
}  // namespace crossdock

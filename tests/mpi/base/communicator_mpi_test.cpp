#include "crossdock/communicator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/collective_mpi.hpp"
#include "src/base/named_values_mpi.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::communicator_mpi_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

class Communicator : public test::AllRanks {};
class Agree : public test::AllRanks {};
class OnAllOrNone : public test::AllRanks {};
class NamedValues : public test::AllRanks {};

TEST_F(Communicator, RefusesTheNullCommunicator) {
    expect_thrown(errc::invalid_argument, [] { communicator none(MPI_COMM_NULL); });
}

TEST_F(Communicator, ReservesTagsThatDoNotOverlap) {
    const auto three = comm.reserve_tags(3);
    const communicator copy = comm;
    const auto two = copy.reserve_tags(2);
    EXPECT_EQ(two.first(), three.first() + 3);
    EXPECT_EQ(comm.reserve_tags(0).first(), three.first() + 5);
    expect_thrown(errc::count_overflow,
                  [&] { auto all = comm.reserve_tags(std::numeric_limits<int>::max()); });
    comm.close();
    EXPECT_FALSE(copy.is_open());
}

// Nobody gets the tags of a block that is kept, or that an exception has ended.
void lose(tag_block block, bool keeps) {
    if (keeps) return block.keep();
    try {
        const tag_block ended = std::move(block);
        throw error(errc::internal, "an exchange has failed");
    } catch (const error&) {
    }
}

// Ranks end their blocks in different orders, and one loses every hundredth.
TEST_F(Communicator, UsesTagsAgainThatAllRanksHaveGivenBack) {
    std::vector<bool> is_kept(1 << 17);
    std::vector<tag_block> live;
    for (int i = 0; i < 20'000; ++i) {
        auto block = comm.reserve_tags(6);
        for (int tag = block.first(); tag < block.first() + 6; ++tag)
            EXPECT_FALSE(is_kept.at(static_cast<std::size_t>(tag)));
        if (i % 100 == 0) {
            for (int tag = block.first(); tag < block.first() + 6; ++tag)
                is_kept[static_cast<std::size_t>(tag)] = true;
            if (rank == 0) lose(std::move(block), i % 200 == 0);
        }
        live.push_back(std::move(block));
        if (live.size() > 50) {
            const int at = rank % 3 == 0 ? 0 : rank % 3 == 1 ? 50 : i % 50;
            live.erase(live.begin() + at);
        }
    }
    // 120,000 tags were reserved, of which 1200 stay taken.
    EXPECT_LT(comm.reserve_tags(0).first(), 32767);
}

TEST_F(Communicator, HasMoreTagsWhereMostStayTaken) {
    std::vector<tag_block> live;
    for (int i = 0; i < 1000; ++i) {
        live.push_back(comm.reserve_tags(100));
        EXPECT_EQ(live.back().first(), 100 * i);
    }
}

TEST_F(Communicator, EveryCallOfAClosedOneIsAnError) {
    communicator copy = comm;
    const communicator moved_to = std::move(comm);
    copy.close();
    for (auto* const one : {&comm, &copy}) {
        EXPECT_FALSE(one->is_open());
        expect_thrown(errc::invalid_state, [&] { one->get(); });
        expect_thrown(errc::invalid_state, [&] { auto tags = one->reserve_tags(1); });
        expect_thrown(errc::invalid_state, [&] { return one->split(0); });
        expect_thrown(errc::invalid_state, [&] { one->progress(); });
        expect_thrown(errc::invalid_state, [&] { one->wait_for_all(); });
        expect_thrown(errc::invalid_state, [&] { agree(*one, std::nullopt); });
        one->close();
    }
}

TEST_F(Communicator, NamesTheMpiCallThatFailed) {
    const error fault =
        thrown_by([&] { CROSSDOCK_MPI(MPI_Send(nullptr, 0, MPI_INT, 1 << 20, 0, comm.get())); });
    EXPECT_EQ(fault.code(), errc::mpi_failure);
    EXPECT_TRUE(std::string_view(fault.what()).starts_with("MPI_Send: ")) << fault.what();
}

TEST_F(Communicator, SaysToCommitADatatypeThatMpiRefuses) {
    const mpi_error fault(MPI_ERR_TYPE, "MPI_Pack(values.data(), 1, type)");
    EXPECT_TRUE(std::string_view(fault.what()).starts_with("MPI_Pack: ")) << fault.what();
    EXPECT_TRUE(std::string_view(fault.what()).ends_with("; commit a datatype by MPI_Type_commit"))
        << fault.what();
}

TEST_F(Communicator, NamesTheErrorOfOneOfManyMessages) {
    std::array<MPI_Status, 3> statuses{};
    statuses[0].MPI_ERROR = MPI_ERR_PENDING;
    statuses[1].MPI_ERROR = MPI_SUCCESS;
    statuses[2].MPI_ERROR = MPI_ERR_TRUNCATE;
    try {
        insist(statuses, [] { return MPI_ERR_IN_STATUS; });
        FAIL() << "nothing was thrown";
    } catch (const mpi_error& fault) {
        EXPECT_EQ(fault.mpi_code(), MPI_ERR_TRUNCATE);
        EXPECT_TRUE(std::string_view(fault.what()).starts_with("a message: ")) << fault.what();
    }
}

// Rank 0 looks at memory only, as who waits for its domain does; the message waits for its answer.
// What others receive before they go on.
class owed_messages final : public background_work {
  public:
    owed_messages(const communicator& comm, int tag) : comm_(comm), tag_(tag) {
        comm_.add_work(this);
    }
    ~owed_messages() { comm_.remove_work(this); }

    void progress() override {
        for (; next_ < comm_.num_ranks(); ++next_)
            MPI_Send(nullptr, 0, MPI_BYTE, next_, tag_, comm_.get());
    }

  private:
    communicator comm_;
    int tag_;
    rank_t next_ = 1;
};

TEST_F(Communicator, IsMadeWhileOthersStillWaitOnAnother) {
    communicator first(MPI_COMM_WORLD);
    const auto tags = first.reserve_tags(1);
    std::optional<owed_messages> owed;
    if (first.rank() == 0) {
        owed.emplace(first, tags.first());
    } else {
        MPI_Recv(nullptr, 0, MPI_BYTE, 0, tags.first(), first.get(), MPI_STATUS_IGNORE);
    }
    communicator second(MPI_COMM_WORLD);
    EXPECT_EQ(second.num_ranks(), first.num_ranks());
    owed.reset();
    second.close();
    first.close();
}

TEST_F(Communicator, ProgressSendsALongMessageThatNobodyTests) {
    std::atomic<int>* has_arrived = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate_shared(rank == 0 ? sizeof *has_arrived : 0, 1, MPI_INFO_NULL, comm.get(),
                            static_cast<void*>(&has_arrived), &window);
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void*>(&has_arrived));
    if (rank == 0) new (has_arrived) std::atomic<int>(0);
    MPI_Barrier(comm.get());

    std::vector<int> message(1 << 20, rank == 0 ? 5 : 0);
    const int length = static_cast<int>(message.size());
    const auto tags = comm.reserve_tags(1);
    const int tag = tags.first();
    if (rank == 0 && num_ranks > 1) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(message.data(), length, MPI_INT, 1, tag, comm.get(), &request);
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        while (has_arrived->load() == 0 && std::chrono::steady_clock::now() < end) {
            comm.progress();
            std::this_thread::yield();
        }
        EXPECT_EQ(has_arrived->load(), 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(message.data(), length, MPI_INT, 0, tag, comm.get(), MPI_STATUS_IGNORE);
        has_arrived->store(1);
        EXPECT_EQ(std::count(message.begin(), message.end(), 5), length);
    }

    MPI_Win_free(&window);
}

TEST_F(Agree, ThrowsTheErrorOfTheLowestFailingRankEverywhere) {
    const rank_t half = num_ranks / 2;
    std::optional<error> fault;
    if (rank >= half) fault = error(errc::file_error, "rank " + std::to_string(rank));

    const error agreed = thrown_by([&] { agree(comm, fault); });

    EXPECT_EQ(agreed.code(), errc::file_error);
    EXPECT_EQ(agreed.rank(), half);
    EXPECT_EQ(std::string(agreed.what()), "rank " + std::to_string(half));
    agree(comm, std::nullopt);
}

TEST_F(Agree, FindsArgumentsThatDiffer) {
    agree(comm, std::nullopt, agreement_hash("equal"));
    if (num_ranks > 1) {
        const auto hash = agreement_hash(rank == 0 ? "a" : "b");
        EXPECT_STREQ(thrown_by([&] { agree(comm, std::nullopt, hash, "the colors"); }).what(),
                     "the colors of rank 1 differ from those of rank 0; give all ranks the same");
    }
}

TEST_F(OnAllOrNone, ReturnsTheValueOrWrapsForeignExceptions) {
    EXPECT_EQ(on_all_or_none(comm, [&] { return rank + 1; }), rank + 1);
    expect_thrown(errc::out_of_memory, [&] {
        on_all_or_none(comm, [&] {
            if (rank == 0) throw std::bad_alloc();
        });
    });
    const error too_long = thrown_by([&] {
        on_all_or_none(comm, [&] {
            if (is_last) throw std::length_error("vector");
        });
    });
    EXPECT_EQ(too_long.code(), errc::out_of_memory);
    EXPECT_EQ(too_long.what(), fmt::format("rank {} is out of memory", num_ranks - 1));
    const error other =
        thrown_by([&] { on_all_or_none(comm, [] { throw std::runtime_error("odd"); }); });
    EXPECT_EQ(other.code(), errc::internal);
    EXPECT_STREQ(other.what(), "odd");
}

// All conversations about a difference are one, so that ranks in different calls hear of it, too.
TEST_F(NamedValues, SayWhatDiffersAndWhere) {
    const auto ferry_on = [](const char* route) {
        return [route](named_values& values) { values.add("seats", 4).add("route", route); };
    };
    const auto direct = ferry_on("direct");
    agree(comm, std::nullopt, equal_arguments("a ferry", direct));
    if (num_ranks > 1) {
        const auto last = fmt::format("rank {} ", last_rank);
        const auto text_of = [&](const equal_arguments& own) {
            const error heard = thrown_by([&] { agree(comm, std::nullopt, own); });
            EXPECT_EQ(heard.code(), errc::invalid_argument);
            EXPECT_EQ(heard.rank(), last_rank);
            return std::string(heard.what());
        };
        const auto other = ferry_on(is_last ? "grid:2" : "three_step");
        EXPECT_EQ(text_of({"a ferry", other}),
                  last + "has route = grid:2, rank 0 has three_step; give all ranks the same");
        const auto none = ferry_on(is_last ? "" : "three_step");
        EXPECT_EQ(text_of({"a ferry", none}),
                  last + "has route = none, rank 0 has three_step; give all ranks the same");
        // More than is sent: what is the same is not blamed.
        const std::string long_text(5000, 'x');
        const auto longer = [&](named_values& values) {
            values.add("route", long_text).add("seats", is_last);
        };
        EXPECT_EQ(text_of({"a ferry", longer}),
                  last + "makes a ferry with other arguments than rank 0; give all ranks the same");
        const auto trains = [&](named_values& values) {
            values.add(is_last ? equal_arguments("a train", none)
                               : equal_arguments("a train", direct));
        };
        EXPECT_EQ(text_of({"an outing", trains}),
                  last + "has route = none, rank 0 has direct; give all ranks the same");
        const std::string in_one_order = "; all ranks must make the same calls in one order";
        EXPECT_EQ(text_of(equal_arguments(is_last ? "a train" : "a ferry")),
                  last + "makes a train, but rank 0 makes a ferry" + in_one_order);
        const error mixed = thrown_by([&] {
            is_last ? agree(comm, std::nullopt, 7, "colors")
                    : agree(comm, std::nullopt, equal_arguments("a ferry", direct));
        });
        EXPECT_EQ(mixed.what(), last + "compares colors, but rank 0 makes a ferry" + in_one_order);
        // Equal numbers of different things are not equal.
        const error things =
            thrown_by([&] { agree(comm, std::nullopt, 7, is_last ? "colors" : "sizes"); });
        EXPECT_EQ(things.what(),
                  last + "compares colors, but rank 0 compares sizes" + in_one_order);
    }
}

TEST_F(NamedValues, AreComparedUnlessARankHasFailed) {
    const auto other = [&](named_values& values) { values.add("seats", is_last); };
    const auto same = [](named_values& values) { values.add("seats", 4); };
    int num_runs = 0;
    const auto run = [&](const equal_arguments& own, bool fails) {
        on_all_or_none(
            comm,
            [&] {
                ++num_runs;
                if (fails && is_last) throw error(errc::file_error, "there is no ferry");
            },
            own);
    };

    run({"a ferry", same}, false);
    expect_thrown(errc::file_error, last_rank, [&] { run({"a ferry", same}, true); });
    expect_thrown(errc::file_error, last_rank, [&] { run({"a ferry", other}, true); });
    if (num_ranks > 1)
        expect_thrown(errc::invalid_argument, last_rank, [&] { run({"a ferry", other}, false); });

    EXPECT_EQ(num_runs, num_ranks > 1 ? 4 : 3);
}

// What a rank has no memory to say, the others do not wait for.
TEST_F(NamedValues, AreLeftOutWhereTheyCannotBeWritten) {
    if (num_ranks > 1) {
        for (const rank_t failing : {0, last_rank}) {
            const auto list = [&](named_values& values) {
                if (values.keeps_text() && rank == failing) throw std::bad_alloc();
                values.add("rank", rank);
            };
            const error heard =
                thrown_by([&] { agree(comm, std::nullopt, equal_arguments("a ferry", list)); });
            EXPECT_EQ(heard.code(), errc::invalid_argument);
            EXPECT_EQ(heard.rank(), 1);
            EXPECT_NE(std::string(heard.what()), "");
        }
    }
}

}  // namespace
}  // namespace crossdock::communicator_mpi_test

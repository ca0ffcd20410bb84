// What closing a context says of objects that were destroyed before they had done what they had begun.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "crossdock/crossdock.hpp"
#include "support/all_ranks.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::lost_test {
namespace {

class Lost : public testing::Test {
  protected:
    context where{MPI_COMM_WORLD};
    const rank_t rank = where.rank();
    const rank_t num_ranks = where.num_ranks();
    const rank_t next = (rank + 1) % num_ranks;
    const pattern ring = pattern_from_needed(where, rank, 1, std::vector<count_t>{next});
    std::vector<double> items{1.0 + rank}, slots{0};
    std::vector<count_t> shared_ids{7, 100 + rank};
    std::vector<double> masses{1, 2};

    void TearDown() override { where.close(); }

    // Once, on all ranks; the next call closes.
    void expect_reported(const std::string& object, const std::string& missing, count_t num_items,
                         rank_t by = 0) {
        const error heard = test::thrown_by([&] { where.close(); });
        EXPECT_EQ(heard.code(), errc::invalid_state);
        EXPECT_EQ(heard.rank(), by);
        const std::string text = heard.what();
        for (const std::string& part :
             {"rank " + std::to_string(by) + " destroyed a " + object, "before its " + missing,
              "in all, " + std::to_string(num_items) + " items are lost"})
            EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
        EXPECT_TRUE(where.is_open());
        where.close();
        EXPECT_FALSE(where.is_open());
    }
    void expect_nothing_reported() {
        where.close();
        EXPECT_FALSE(where.is_open());
    }
};

TEST_F(Lost, AnExchangeHasItsNameAndItsItems) {
    {
        neighbor_exchange halo(where, ring, {.name = "halo"});
        halo.start(items, slots);
    }
    expect_reported("neighbor exchange, halo,", "wait", num_ranks);
}

TEST_F(Lost, AnExchangeWithoutANameHasItsPlace) {
    {
        neighbor_exchange halo(where, ring);
        halo.start_reverse(slots, items, sum());
    }
    expect_reported("neighbor exchange, lost_test.cpp:" + std::to_string(__LINE__ - 3), "wait",
                    num_ranks);
}

TEST_F(Lost, ADuplicateIsCalledAsTheFirst) {
    neighbor_exchange halo(where, ring, {.name = "halo"});
    {
        auto twin = halo.duplicate();
        twin.start(items, slots);
    }
    expect_reported("neighbor exchange, halo,", "wait", num_ranks);
}

TEST_F(Lost, AnExchangeThatAnotherIsAssignedToIsDestroyed) {
    neighbor_exchange halo(where, ring, {.name = "halo"});
    halo.start(items, slots);
    halo = neighbor_exchange(where, ring, {.name = "other"});
    expect_reported("neighbor exchange, halo,", "wait", num_ranks);
}

TEST_F(Lost, AnExchangeOnOneRankIsReportedOnAll) {
    neighbor_exchange halo(where, ring, {.executor = "persistent", .name = "halo"});
    halo.start(items, slots);
    if (rank == num_ranks - 1)
        halo.close();
    else
        halo.wait();
    expect_reported("neighbor exchange, halo,", "wait", 1, num_ranks - 1);
}

TEST_F(Lost, AGatherScatterByOwnersHasItsNameAndItsIds) {
    {
        gather_scatter shared(where, shared_ids, {.method = "owners", .name = "mass"});
        shared.start(masses, sum());
    }
    expect_reported("gather-scatter, mass,", "wait", 2 * num_ranks);
}

TEST_F(Lost, AGatherScatterByHoldersHasItsNameAndItsIds) {
    {
        gather_scatter shared(where, shared_ids, {.method = "holders", .name = "mass"});
        shared.start(masses, sum());
    }
    expect_reported("gather-scatter, mass,", "wait", 2 * num_ranks);
}

TEST_F(Lost, AStreamHasItsNameAndItsItems) {
    {
        stream<std::uint64_t> numbers(where, [](auto&, auto) {}, {.name = "numbers"});
        for (std::uint64_t i = 0; i < 3; ++i) numbers.port().push(next, i);
    }
    expect_reported("stream, numbers,", "drain", 3 * num_ranks);
}

TEST_F(Lost, APreparedBatchIsAnExchange) {
    distributed_array<double> a(where, num_ranks, {.name = "entries"});
    {
        auto batch = a.prepare(std::vector<count_t>{next});
        batch.start_read(slots);
    }
    expect_reported("neighbor exchange, entries,", "wait", num_ranks);
}

TEST_F(Lost, AnArrayHasTheRequestsThatWereQueued) {
    {
        distributed_array<double> a(where, num_ranks, {.name = "entries"});
        a.write(rank, 1);
        a.update(next, 2);
        distributed_array<double> moved(std::move(a));
        moved.read(rank, slots.data());
    }
    expect_reported("distributed array, entries,", "step", 3 * num_ranks);
}

TEST_F(Lost, SeveralObjectsAreAddedUp) {
    {
        neighbor_exchange first(where, ring, {.name = "first"});
        neighbor_exchange second(where, ring, {.name = "second"});
        first.start(items, slots);
        std::vector<double> other(1);
        second.start(items, other);
    }
    expect_reported("neighbor exchange, second,", "wait", 2 * num_ranks);
}

TEST_F(Lost, WhatAnExceptionDestroysIsNotReported) {
    try {
        neighbor_exchange halo(where, ring);
        gather_scatter shared(where, shared_ids);
        stream<std::uint64_t> numbers(where, [](auto&, auto) {});
        halo.start(items, slots);
        shared.start(masses, sum());
        numbers.port().push(next, 1);
        throw std::runtime_error("the program's own");
    } catch (const std::runtime_error&) {
    }
    expect_nothing_reported();
}

TEST_F(Lost, WhatHasFailedIsNotReported) {
    {
        stream<std::uint64_t> numbers(where, [](auto&, auto) { throw std::runtime_error("no"); });
        numbers.port().push(next, 1);
        EXPECT_THROW(numbers.port().drain().wait(), std::exception);
    }
    {
        neighbor_exchange halo(where, ring);
        EXPECT_THROW(halo.start(std::span<const double>(), std::span(slots)), error);
    }
    expect_nothing_reported();
}

TEST_F(Lost, WhatIsCompleteIsNotReported) {
    {
        neighbor_exchange halo(where, ring);
        halo.forward(items, slots);
        gather_scatter shared(where, shared_ids);
        shared.combine(masses, sum());
        stream<std::uint64_t> numbers(where, [](auto&, auto) {});
        numbers.port().push(next, 1);
        numbers.port().drain().wait();
        numbers.close();
        distributed_array<double> a(where, num_ranks);
        a.write(rank, 1);
        a.step();
    }
    expect_nothing_reported();
}

TEST_F(Lost, WhatIsDestroyedAfterItsContextIsClosedIsNotReported) {
    neighbor_exchange halo(where, ring, {.name = "halo"});
    halo.start(items, slots);
    const error heard = test::thrown_by([&] { where.close(); });
    EXPECT_NE(std::string(heard.what()).find("an active neighbor exchange, halo;"),
              std::string::npos)
        << heard.what();
    halo.wait();
    expect_nothing_reported();
}

}  // namespace
}  // namespace crossdock::lost_test

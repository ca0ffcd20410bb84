// Two thousand batches, of several arrays in turn and among neighbor exchanges, leave nothing behind: no
// message, and no memory. Replaces the global allocation functions to count bytes and to refuse them,
// hence a program of its own.
#include <limits>
#include <memory>
#include <stdexcept>

#include "array/variants.hpp"
#include "support/arrivals.hpp"
#include "support/counted_memory.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::array_soak_test {
namespace {

using test::changes;
using test::used_bytes;

// Under a sanitizer everything is slower, and an eighth finds as much.
#ifdef __SANITIZE_ADDRESS__
constexpr int num_rounds = 20;
#else
constexpr int num_rounds = 170;
#endif
constexpr int num_other_rounds = 24;
constexpr count_t num_entries = 97;

using word_array = distributed_array<std::int64_t>;

class ArraySoak : public test::AllRanks {
  protected:
    struct soaked {
        std::unique_ptr<word_array> a;
        std::vector<std::int64_t> serial = std::vector<std::int64_t>(num_entries);
    };

    std::vector<soaked> make_arrays() {
        std::vector<soaked> result;
        for (const auto& variant : test::few_variants(num_ranks)) {
            auto& one = result.emplace_back();
            one.a = std::make_unique<word_array>(variant.where(comm), num_entries,
                                                 variant.options<std::int64_t>());
        }
        return result;
    }

    // Requests of ranks differ much in number: one rank has most.
    std::vector<changes<std::int64_t>> draw(int round) const {
        const auto seed = static_cast<std::uint64_t>(round);
        auto all = test::draw_changes<std::int64_t>(
            num_ranks, num_entries, seed, round % 50 == 0 ? 1500 : 40,
            [](std::uint64_t random) { return static_cast<std::int64_t>(random % 100); });
        for (std::size_t r = 0; r < all.size(); ++r) {
            if (r % 4 != seed % 4) continue;
            all[r].indices.resize(all[r].indices.size() / 8);
            all[r].values.resize(all[r].indices.size());
        }
        return all;
    }

    // Four batches: an update, a read, a step and one that fails.
    void run_round(soaked& one, int round) {
        const auto all = draw(round);
        const auto& [indices, values] = mine(all);
        test::for_each_change(
            all, [&](std::size_t index, std::int64_t value) { one.serial[index] += value; });
        one.a->update(indices, values, sum());
        expect_read(one, indices);

        for (std::size_t k = 0; k < indices.size(); k += 5) one.a->update(indices[k], 1);
        std::int64_t found = -1;
        one.a->read(round % num_entries, &found);
        for (const auto& list : all) {
            for (std::size_t k = 0; k < list.indices.size(); k += 5)
                ++one.serial[static_cast<std::size_t>(list.indices[k])];
        }
        one.a->step();
        ASSERT_EQ(found, one.serial[static_cast<std::size_t>(round % num_entries)]);
        fail(one, round);
    }

    void expect_read(soaked& one, const std::vector<count_t>& indices) {
        std::vector<std::int64_t> out(indices.size());
        one.a->read(indices, std::span(out));
        for (std::size_t k = 0; k < out.size(); ++k)
            ASSERT_EQ(out[k], one.serial[static_cast<std::size_t>(indices[k])]);
    }

    // An index outside, or an operation that throws.
    void fail(soaked& one, int round) {
        const bool is_faulty = rank == round % num_ranks;
        const std::vector<count_t> inside{round % num_entries};
        const std::vector<std::int64_t> what{1};
        if (round % 2 == 0) {
            const std::vector<count_t> outside{num_entries};
            const error heard =
                test::thrown_by([&] { one.a->update(is_faulty ? outside : inside, what, sum()); });
            ASSERT_EQ(heard.rank(), round % num_ranks);
        } else {
            const auto op = [](const std::int64_t&, const std::int64_t&) -> std::int64_t {
                throw std::runtime_error("no");
            };
            const error heard = test::thrown_by([&] { one.a->update(inside, what, op); });
            ASSERT_EQ(heard.code(), errc::invalid_argument);
        }
    }

    // Does the same every time, so that it must leave the same behind.
    std::size_t used_bytes_after_all_rounds() {
        {
            auto arrays = make_arrays();
            for (int round = 0; round < num_rounds; ++round)
                run_round(arrays[static_cast<std::size_t>(round) % arrays.size()], round);
            for (auto& one : arrays) {
                EXPECT_EQ(test::read_all(*one.a), one.serial);
                one.a->close();
            }
        }
        return used_bytes;
    }
};

TEST_F(ArraySoak, LeavesNoMessageAndNoMemoryBehind) {
    used_bytes_after_all_rounds();
    const std::size_t used_after_some = used_bytes_after_all_rounds();
    EXPECT_EQ(used_bytes_after_all_rounds(), used_after_some);

    MPI_Barrier(MPI_COMM_WORLD);
    test::expect_no_message(MPI_COMM_WORLD);
    test::expect_no_message(comm.get());
}

// Some wait for the neighbor exchange first, and some run batches first and must forward meanwhile.
TEST_F(ArraySoak, WorksWhileANeighborExchangeIsActive) {
    const auto patterns = test::all_to_all_pattern(num_ranks);
    const auto& own = mine(patterns);
    neighbor_exchange halo(where, own, {.route = "grid:3", .item_bytes = sizeof(int)});
    auto arrays = make_arrays();
    for (int round = 0; round < num_other_rounds; ++round) {
        test::forward_arrays<int> sent(patterns, rank, round);
        const bool waits_first = (rank + round) % 3 == 0;
        halo.start(sent.items, sent.slots);
        if (waits_first) halo.wait();
        run_round(arrays[static_cast<std::size_t>(round) % arrays.size()], round);
        if (!waits_first) halo.wait();
        ASSERT_EQ(sent.slots, sent.expected);
    }
    for (auto& one : arrays) one.a->close();
}

TEST_F(ArraySoak, WildcardReceivesOfTheUserSeeNoneOfIt) {
    auto arrays = make_arrays();
    for (int round = 0; round < num_other_rounds; ++round) {
        MPI_Request sending = MPI_REQUEST_NULL;
        const int sent = 7 * rank + round;
        MPI_Isend(&sent, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &sending);
        run_round(arrays[static_cast<std::size_t>(round) % arrays.size()], round);
        int came = -1;
        MPI_Status status;
        MPI_Recv(&came, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        ASSERT_EQ(status.MPI_SOURCE, previous);
        ASSERT_EQ(came, 7 * previous + round);
    }
    for (auto& one : arrays) one.a->close();
}

// Ranks 2, 4 and 6 have requests for rank 1, which rank 0 combines and forwards.
class ArrayWithoutMemory : public ArraySoak {
  protected:
    static constexpr count_t num_requests = 1 << 13;  // of each

    std::vector<count_t> requests() const {
        std::vector<count_t> result;
        if (rank == 0 || rank % 2 != 0) return result;
        const count_t first = a.owners().first(1) + (rank / 2 - 1) * num_requests;
        for (count_t k = 0; k < num_requests; ++k) result.push_back(first + k);
        return result;
    }

    // What the call throws if a rank gets no larger blocks.
    template <class Call>
    error heard_with(rank_t poor_rank, std::size_t most_bytes, Call&& call) const {
        if (rank == poor_rank) test::most_block_bytes = most_bytes;
        const error heard = test::thrown_by(call);
        test::most_block_bytes = std::numeric_limits<std::size_t>::max();
        return heard;
    }

    void expect_unchanged_and_usable() {
        const auto indices = requests();
        std::vector<std::int8_t> out(indices.size(), 1);
        a.read(indices, std::span(out));
        EXPECT_EQ(out, std::vector<std::int8_t>(indices.size(), 0));
    }

    distributed_array<std::int8_t> a{where, 8 * 3 * num_requests, {.route = "grid:2"}};
};

constexpr auto sum_that_may_throw = [](const std::int8_t& x, const std::int8_t& y) {
    return static_cast<std::int8_t>(x + y);
};

// Enough for a message that comes, and too little for what several have in common.
constexpr std::size_t too_little_to_combine = 50000;
// Enough for the requests that come, and too little to save what they change.
constexpr std::size_t too_little_to_save = 200000;

TEST_F(ArrayWithoutMemory, AllHearWhatRanOutOnTheWayOfABatchToPrepare) {
    const auto indices = requests();
    const error heard = heard_with(0, too_little_to_combine, [&] { return a.prepare(indices); });
    EXPECT_EQ(heard.code(), errc::out_of_memory);
    EXPECT_EQ(heard.rank(), 0);

    auto p = a.prepare(indices);
    std::vector<std::int8_t> out(indices.size(), 1);
    p.read(std::span(out));
    EXPECT_EQ(out, std::vector<std::int8_t>(indices.size(), 0));
    expect_unchanged_and_usable();
    a.close();
}

TEST_F(ArrayWithoutMemory, FewRequestsOfALargePartArePreparedWithLittle) {
    test::most_block_bytes = too_little_to_combine;
    std::vector<std::int8_t> out(2, 1);
    a.prepare(std::vector<count_t>{rank, a.first_index()}).read(std::span(out));
    test::most_block_bytes = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(out, std::vector<std::int8_t>(2, 0));
    a.close();
}

TEST_F(ArrayWithoutMemory, AllHearWhatRanOutIfAnOperationMayThrow) {
    const auto indices = requests();
    const std::vector<std::int8_t> ones(indices.size(), 1);
    const auto update = [&] {
        a.update(indices, std::span<const std::int8_t>(ones), sum_that_may_throw);
    };
    for (const auto& [poor_rank, most_bytes] :
         {std::pair{0, too_little_to_combine}, std::pair{1, too_little_to_save}}) {
        const error heard = heard_with(poor_rank, most_bytes, update);
        EXPECT_EQ(heard.code(), errc::out_of_memory);
        EXPECT_EQ(heard.rank(), poor_rank);
        expect_unchanged_and_usable();
    }
    a.close();
}

}  // namespace
}  // namespace crossdock::array_soak_test

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "crossdock/neighbor_exchange.hpp"
#include "support/routes.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::faulty_start_test {
namespace {

using test::expect_thrown;
using test::thrown_by;

constexpr rank_t culprit = 1;

// Every rank sends its items to the next `reach` ranks.
struct shifts {
    rank_t rank, num_ranks, reach;
    count_t num_items;

    rank_t source(rank_t k) const { return (rank - 1 - k + 2 * num_ranks) % num_ranks; }
    bool needs(rank_t other, bool is_reverse) const {
        for (rank_t k = 0; k < reach; ++k) {
            if (is_reverse ? (rank + 1 + k) % num_ranks == other : source(k) == other) return true;
        }
        return false;
    }
    pattern make() const {
        pattern p;
        p.rank = rank;
        p.num_ranks = num_ranks;
        p.num_items = num_items;
        p.num_slots = reach * num_items;
        std::vector<count_t> all;
        for (count_t i = 0; i < num_items; ++i) all.push_back(i);
        for (rank_t k = 0; k < reach; ++k) {
            p.sends.append((rank + 1 + k) % num_ranks, all);
            std::vector<count_t> slots;
            for (count_t i = 0; i < num_items; ++i) slots.push_back(k * num_items + i);
            p.receives.append(source(k), slots);
        }
        return p;
    }
};

template <class T>
T value(rank_t rank, count_t i, int round) {
    return static_cast<T>(1 + rank + 5 * i + 11 * round);
}

template <class T>
void expect_peers_to_learn(const context& where, const shifts& ring,
                           const neighbor_options& options) {
    neighbor_exchange halo(where, ring.make(), options);
    const auto num_items = static_cast<std::size_t>(ring.num_items);
    const auto num_slots = static_cast<std::size_t>(ring.reach) * num_items;
    for (int round = 0; round < 6; ++round) {
        const bool is_reverse = round >= 3;
        const bool is_faulty = round % 3 == 1;
        std::vector<T> items(num_items), slots(num_slots, T{0});
        for (std::size_t i = 0; i < num_items; ++i)
            items[i] = value<T>(ring.rank, static_cast<count_t>(i), round);
        if (is_reverse) std::fill(slots.begin(), slots.end(), T(ring.rank + round));
        const auto start = [&](bool too_short) {
            std::vector<T> none;
            if (is_reverse) {
                halo.start_reverse(too_short ? none : slots, items, std::plus<>{});
            } else {
                halo.start(too_short ? none : items, slots);
            }
        };
        if (is_faulty && ring.rank == culprit) {
            const auto fault = thrown_by([&] { start(true); });
            EXPECT_EQ(fault.code(), errc::size_mismatch);
            EXPECT_FALSE(halo.is_active());
            continue;
        }
        start(false);
        bool has_failed = false;
        try {
            halo.wait();
        } catch (const error& fault) {
            has_failed = true;
            EXPECT_EQ(fault.code(), errc::peer_failed) << fault.what();
            EXPECT_EQ(fault.rank(), culprit);
        }
        EXPECT_FALSE(halo.is_active());
        if (!is_faulty) {
            EXPECT_FALSE(has_failed) << "round " << round;
        } else if (ring.needs(culprit, is_reverse)) {
            EXPECT_TRUE(has_failed) << "round " << round;
        } else if (options.route == "direct") {
            EXPECT_FALSE(has_failed) << "round " << round;
        }
        if (has_failed) continue;
        for (std::size_t i = 0; i < num_slots && !is_reverse; ++i) {
            EXPECT_EQ(slots[i], value<T>(ring.source(static_cast<rank_t>(i / num_items)),
                                         static_cast<count_t>(i % num_items), round));
        }
        for (std::size_t i = 0; i < num_items && is_reverse; ++i) {
            T sum = value<T>(ring.rank, static_cast<count_t>(i), round);
            for (rank_t k = 0; k < ring.reach; ++k)
                sum = static_cast<T>(sum + (ring.rank + 1 + k) % ring.num_ranks + round);
            EXPECT_EQ(items[i], sum);
        }
    }
}

std::string halves_of(rank_t num_ranks) {
    return std::to_string(num_ranks / 2) + "," + std::to_string(num_ranks - num_ranks / 2);
}

class FaultyStart : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks_);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        if (num_ranks_ == 1) GTEST_SKIP() << "nobody else is there";
    }

    context in_halves() const {
        const auto halves = halves_of(num_ranks_);
        return context(MPI_COMM_WORLD, {.topology = halves, .nodes = halves});
    }
    shifts all_to_all(count_t num_items) const {
        return {rank_, num_ranks_, num_ranks_ - 1, num_items};
    }

    // The start of one rank fails, and all others need something of it. The object stays as it is then.
    void start_with_a_fault(neighbor_exchange& halo, const shifts& ring, rank_t failing) const {
        const auto num_items = static_cast<std::size_t>(ring.num_items);
        std::vector<double> items(rank_ == failing ? 0 : num_items);
        std::vector<double> slots(static_cast<std::size_t>(ring.reach) * num_items);
        if (rank_ == failing) {
            const auto fault = thrown_by([&] { halo.start(items, slots); });
            EXPECT_EQ(fault.code(), errc::size_mismatch);
            return;
        }
        halo.start(items, slots);
        kept_.push_back(std::move(items));
        kept_.push_back(std::move(slots));
    }
    static void expect_to_hear_of(rank_t failing, neighbor_exchange& halo) {
        const auto fault = thrown_by([&] { halo.wait(); });
        EXPECT_EQ(fault.code(), errc::peer_failed);
        EXPECT_EQ(fault.rank(), failing);
    }
    void expect_to_be_told(const context& where, rank_t failing, errc code) const {
        const auto told = where.last_peer_error();
        ASSERT_TRUE(told.has_value());
        EXPECT_EQ(told->code(), code);
        EXPECT_EQ(told->rank(), failing);
    }
    void expect_to_exchange(const context& where, const neighbor_options& options) const {
        const auto ring = all_to_all(2);
        neighbor_exchange halo(where, ring.make(), options);
        std::vector<double> items{value<double>(rank_, 0, 7), value<double>(rank_, 1, 7)};
        std::vector<double> slots(2 * static_cast<std::size_t>(ring.reach));
        halo.forward(items, slots);
        for (std::size_t i = 0; i < slots.size(); ++i)
            EXPECT_EQ(slots[i], value<double>(ring.source(static_cast<rank_t>(i / 2)),
                                              static_cast<count_t>(i % 2), 7));
    }

    int num_ranks_ = 0, rank_ = 0;
    mutable std::vector<std::vector<double>> kept_;  // of exchanges under way
};

TEST_F(FaultyStart, AnExchangeOutlivesTheObjectOfItsFaultyRank) {
    const auto where = in_halves();
    for (const auto& route : test::conformance_routes()) {
        for (const char* executor : {"persistent", "shared_memory"}) {
            for (const rank_t failing : {0, num_ranks_ - 1}) {
                SCOPED_TRACE(route + " " + executor + " " + std::to_string(failing));
                neighbor_options options;
                options.route = route;
                options.executor = executor;
                const auto ring = all_to_all(3);
                std::optional<neighbor_exchange> halo(std::in_place, where, ring.make(), options);
                start_with_a_fault(*halo, ring, failing);
                if (rank_ == failing) {
                    halo.reset();
                } else {
                    expect_to_hear_of(failing, *halo);
                }
                expect_to_exchange(where, options);
                expect_to_be_told(where, failing, errc::size_mismatch);
            }
        }
    }
}

TEST_F(FaultyStart, AContextClosesAfterTheFaultyObjectIsGone) {
    for (const char* route : {"direct", "three_step", "hypercube"}) {
        for (const char* executor : {"persistent", "shared_memory"}) {
            for (const bool keeps_object : {false, true}) {
                SCOPED_TRACE(std::string(route) + " " + executor);
                auto where = in_halves();
                neighbor_options options;
                options.route = route;
                options.executor = executor;
                const auto ring = all_to_all(3);
                neighbor_exchange halo(where, ring.make(), options);
                start_with_a_fault(halo, ring, 0);
                if (rank_ != 0) {
                    expect_to_hear_of(0, halo);
                } else if (!keeps_object) {
                    halo.close();
                }
                where.close();
                expect_to_be_told(where, 0, errc::size_mismatch);
            }
        }
    }
}

TEST_F(FaultyStart, AContextClosesAfterSeveralRanksHaveEndedTheirFaultyObjects) {
    auto where = in_halves();
    for (const char* route : {"three_step", "hypercube"}) {
        for (const char* executor : {"persistent", "shared_memory"}) {
            neighbor_options options;
            options.route = route;
            options.executor = executor;
            const auto ring = all_to_all(3);
            neighbor_exchange halo(where, ring.make(), options);
            start_with_a_fault(halo, ring, rank_);
        }
    }
    where.close();
    expect_to_be_told(where, 0, errc::size_mismatch);
}

TEST_F(FaultyStart, AssigningToAnObjectEndsItsExchange) {
    const auto where = in_halves();
    neighbor_options options{.route = "three_step"};
    const auto ring = all_to_all(3);
    neighbor_exchange halo(where, ring.make(), options);
    start_with_a_fault(halo, ring, 0);
    if (rank_ != 0) expect_to_hear_of(0, halo);
    halo = neighbor_exchange(where, ring.make(), options);
    start_with_a_fault(halo, ring, 0);
    if (rank_ != 0) expect_to_hear_of(0, halo);
    agree(where.comm(), std::nullopt);
}

TEST_F(FaultyStart, TheNextAgreementTellsTheSentence) {
    const auto where = in_halves();
    const auto ring = all_to_all(3);
    neighbor_exchange halo(where, ring.make(), {.route = "direct"});
    EXPECT_FALSE(where.last_peer_error().has_value());
    const auto fail = [&](rank_t failing) {
        start_with_a_fault(halo, ring, failing);
        if (rank_ != failing) expect_to_hear_of(failing, halo);
    };

    fail(1);
    EXPECT_FALSE(where.last_peer_error().has_value());
    halo.prepare(4);
    expect_to_be_told(where, 1, errc::size_mismatch);
    const std::string lacks = "rank 1 has arrays of 0 items and ";
    EXPECT_EQ(where.last_peer_error()->what(),
              lacks + std::to_string(3 * ring.reach) + " slots, but its pattern needs 3 and " +
                  std::to_string(3 * ring.reach) + "; give arrays of these lengths");

    fail(0);
    const auto twin = halo.duplicate();
    expect_to_be_told(where, 0, errc::size_mismatch);
    halo.prepare(8);
    expect_to_be_told(where, 0, errc::size_mismatch);
}

TEST_F(FaultyStart, TheLowestOfSeveralRanksTellsItsSentence) {
    const auto where = in_halves();
    const auto ring = all_to_all(3);
    neighbor_exchange halo(where, ring.make(), {.route = "direct"});
    start_with_a_fault(halo, ring, rank_);
    const bool fails = rank_ == 0;
    const auto agreeing = [&] {
        on_all_or_none(where.comm(), [&] {
            if (fails) throw error(errc::parse_error, "not a number");
        });
    };
    EXPECT_EQ(thrown_by(agreeing).code(), errc::parse_error);
    expect_to_be_told(where, 0, errc::size_mismatch);
    start_with_a_fault(halo, ring, rank_ == 0 ? 1 : rank_);
    if (rank_ == 0) {
        EXPECT_EQ(thrown_by([&] { halo.wait(); }).code(), errc::peer_failed);
    }
    halo.prepare(8);
    expect_to_be_told(where, 1, errc::size_mismatch);
}

TEST_F(FaultyStart, OfAnotherSizeOfItemsIsHeardOf) {
    const auto where = in_halves();
    const auto ring = all_to_all(1);
    for (const char* executor : {"persistent", "shared_memory"}) {
        neighbor_options options{.route = "direct"};
        options.executor = executor;
        neighbor_exchange halo(where, ring.make(), options);
        const float item = 1;
        std::vector<float> slots(static_cast<std::size_t>(ring.reach));
        float sum = 0;
        const auto code_of = [&](auto&& start) {
            const auto exchange = [&] {
                start();
                halo.wait();
            };
            return thrown_by(exchange).code();
        };
        const auto expected = rank_ == 0 ? errc::invalid_argument : errc::peer_failed;
        const auto start = [&] {
            halo.start(rank_ == 0 ? nullptr : &item, slots.data(), MPI_FLOAT);
        };
        EXPECT_EQ(code_of(start), expected);
        const auto start_reverse = [&] {
            halo.start_reverse(slots.data(), &sum, MPI_FLOAT, rank_ == 0 ? MPI_OP_NULL : MPI_SUM);
        };
        EXPECT_EQ(code_of(start_reverse), expected);
        halo.start(&item, slots.data(), MPI_FLOAT);
        halo.wait();
        EXPECT_EQ(slots, std::vector<float>(slots.size(), 1));
    }
}

// Exchanges of items of several sizes. A rank may have no datatype, and so not know the size.
class sized_exchanges {
  public:
    sized_exchanges(const context& where, const shifts& ring, const neighbor_options& options)
        : ring_(ring), halo_(where, ring.make(), options) {
        MPI_Type_contiguous(3, MPI_DOUBLE, &wide_);
        MPI_Type_commit(&wide_);
    }
    ~sized_exchanges() { MPI_Type_free(&wide_); }
    sized_exchanges(const sized_exchanges&) = delete;
    sized_exchanges& operator=(const sized_exchanges&) = delete;

    MPI_Datatype wide() const { return wide_; }

    void expect_right(MPI_Datatype type, bool is_reverse) {
        EXPECT_EQ(exchange(type, type, is_reverse), errc::success);
        if (is_reverse) return;
        int num_bytes = 0;
        MPI_Type_size(type, &num_bytes);
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            const auto slot = static_cast<count_t>(i) / num_bytes;
            const auto source = ring_.source(static_cast<rank_t>(slot / ring_.num_items));
            ASSERT_EQ(slots_[i], slot < ring_.reach * ring_.num_items ? 1 + source : 0);
        }
    }

    // The sums of `wide` values are not defined.
    void expect_fault(MPI_Datatype type, bool is_reverse, bool is_faulty, rank_t failing) {
        const auto expected = is_faulty ? errc::invalid_argument : errc::peer_failed;
        EXPECT_EQ(exchange(type, is_faulty ? MPI_DATATYPE_NULL : type, is_reverse), expected);
        if (!is_faulty && failing >= 0) {
            EXPECT_EQ(failed_, failing);
        }
    }

  private:
    errc exchange(MPI_Datatype type, MPI_Datatype given, bool is_reverse) {
        const auto length = static_cast<std::size_t>(ring_.reach * ring_.num_items) * 24;
        items_.assign(length, static_cast<char>(1 + ring_.rank));
        slots_.assign(length, 0);
        failed_ = -1;
        try {
            if (is_reverse && type != wide_) {
                halo_.start_reverse(slots_.data(), items_.data(), given, MPI_SUM);
            } else {
                halo_.start(items_.data(), slots_.data(), given);
            }
            halo_.wait();
            return errc::success;
        } catch (const error& fault) {
            failed_ = fault.rank();
            return fault.code();
        }
    }

    shifts ring_;
    neighbor_exchange halo_;
    MPI_Datatype wide_ = MPI_DATATYPE_NULL;
    std::vector<char> items_, slots_;
    rank_t failed_ = -1;
};

// Whether others share memory with the faulty rank or not.
TEST_F(FaultyStart, OfUnknownSizeMakesNobodyWait) {
    std::string alone = "1";
    for (rank_t rank = 1; rank < num_ranks_; ++rank) alone += ",1";
    for (const auto& nodes : {std::to_string(num_ranks_), halves_of(num_ranks_), alone}) {
        const context where(MPI_COMM_WORLD, {.topology = halves_of(num_ranks_), .nodes = nodes});
        for (const char* route : {"direct", "three_step", "auto:measure"}) {
            for (const char* executor : {"persistent", "shared_memory", "auto"}) {
                for (const auto ready : {preparation::both, preparation::lazy}) {
                    SCOPED_TRACE(nodes + " " + route + " " + executor);
                    neighbor_options options{.route = route, .prepare = ready};
                    options.executor = executor;
                    options.measure = {.max_candidates = 2, .exchanges_each = 3};
                    sized_exchanges halo(where, all_to_all(3), options);
                    // Trials count exchanges of each size, so that a rank which asks nobody must not guess.
                    const bool asks_others = std::string(executor) != "persistent" &&
                                             nodes != alone && (num_ranks_ > 2 || nodes == "2");
                    const bool may_change = asks_others || std::string(route) != "auto:measure";
                    for (const bool is_reverse : {false, true}) {
                        for (MPI_Datatype type :
                             {MPI_FLOAT, MPI_DOUBLE, halo.wide(), MPI_SIGNED_CHAR, MPI_FLOAT}) {
                            if (!may_change) type = MPI_DOUBLE;
                            halo.expect_fault(type, is_reverse, rank_ == culprit, culprit);
                            halo.expect_right(MPI_DOUBLE, is_reverse);
                        }
                    }
                }
            }
        }
    }
}

TEST_F(FaultyStart, OfUnknownSizeOnAllRanksOrAllOfANodeMakesNobodyWait) {
    const auto where = in_halves();
    for (const char* executor : {"persistent", "shared_memory", "auto"}) {
        for (const rank_t num_faulty : {num_ranks_ / 2, num_ranks_}) {
            neighbor_options options{.route = "three_step"};
            options.executor = executor;
            sized_exchanges halo(where, all_to_all(3), options);
            for (MPI_Datatype type :
                 {MPI_FLOAT, MPI_FLOAT, halo.wide(), MPI_SIGNED_CHAR, MPI_DOUBLE}) {
                halo.expect_fault(type, false, rank_ < num_faulty, -1);
                halo.expect_right(MPI_DOUBLE, false);
                halo.expect_right(MPI_FLOAT, true);
            }
        }
    }
}

TEST_F(FaultyStart, WhoseSizeNobodyKnowsIsTakenForNoValue) {
    const auto where = in_halves();
    const auto ring = all_to_all(1);
    for (const char* route : {"direct", "three_step"}) {
        neighbor_exchange halo(where, ring.make(), {.route = route, .executor = "persistent"});
        const float item = 1;
        const std::vector<float> untouched(static_cast<std::size_t>(ring.reach), -1);
        auto slots = untouched;
        const auto exchange = [&] {
            halo.start(&item, slots.data(), rank_ == 0 ? MPI_DATATYPE_NULL : MPI_FLOAT);
            halo.wait();
        };
        EXPECT_EQ(thrown_by(exchange).code(),
                  rank_ == 0 ? errc::invalid_argument : errc::peer_failed);
        if (rank_ == 0) {
            EXPECT_EQ(slots, untouched);
        }
        halo.start(&item, slots.data(), MPI_FLOAT);
        halo.wait();
        EXPECT_EQ(slots, std::vector<float>(slots.size(), 1));
    }
}

// Parts of that exchange may be left over, and must not be taken for parts of the next one.
TEST_F(FaultyStart, WhoseSizeNobodyKnowsEndsTheObjectWhereTheNextSizeIsCutOtherwise) {
    std::string alone = "1";
    for (rank_t rank = 1; rank < num_ranks_; ++rank) alone += ",1";
    const context where(MPI_COMM_WORLD, {.topology = alone, .nodes = alone});
    const auto ring = all_to_all(16);
    const bool is_faulty = rank_ == culprit;
    static std::list<std::vector<float>> lost;  // arrays of abandoned exchanges
    for (const auto& [before, after] :
         {std::pair(MPI_DOUBLE, MPI_DOUBLE), {MPI_FLOAT, MPI_DOUBLE}, {MPI_DOUBLE, MPI_FLOAT}}) {
        neighbor_exchange halo(where, ring.make(), {.route = "direct", .max_message_bytes = 64});
        auto& items = lost.emplace_back(2 * 16, 1 + rank_);
        auto& slots = lost.emplace_back(2 * 16 * static_cast<std::size_t>(ring.reach));
        const auto start = [&](MPI_Datatype type) { halo.start(items.data(), slots.data(), type); };
        start(before);
        halo.wait();
        if (is_faulty) {
            expect_thrown(errc::invalid_argument, [&] { start(MPI_DATATYPE_NULL); });
        } else {
            start(after);
        }
        if (before != after) {
            if (is_faulty) {
                expect_thrown(errc::invalid_state, rank_, [&] { start(after); });
                expect_thrown(errc::invalid_state, rank_, [&] { start(after); });
            }
        } else {
            if (!is_faulty) expect_to_hear_of(culprit, halo);
            start(after);
            halo.wait();
            for (std::size_t i = 0; i < slots.size(); ++i)
                EXPECT_EQ(slots[i], 1 + ring.source(static_cast<rank_t>(i / (2 * 16))));
        }
    }
}

TEST_F(FaultyStart, AnErrorInCombiningIsToldToo) {
    const auto where = in_halves();
    const shifts ring{rank_, num_ranks_, 1, 2};
    neighbor_exchange halo(where, ring.make(), {.route = "direct"});
    const std::vector<double> slots(2);
    std::vector<double> items(2);
    halo.start_reverse(slots, items, [this](double a, double b) {
        if (rank_ == culprit) throw error(errc::handler_failed, "no sum");
        return a + b;
    });
    if (rank_ == culprit) {
        EXPECT_EQ(thrown_by([&] { halo.wait(); }).code(), errc::handler_failed);
    } else {
        halo.wait();
    }
    agree(where.comm(), std::nullopt);
    expect_to_be_told(where, culprit, errc::handler_failed);
}

TEST_F(FaultyStart, PeersLearnOfItOnEveryRoute) {
    const auto where = in_halves();
    for (const auto& route : test::conformance_routes()) {
        for (const char* executor : {"persistent", "shared_memory"}) {
            for (const rank_t reach : {1, num_ranks_ - 1}) {
                SCOPED_TRACE(route + " " + executor + " " + std::to_string(reach));
                neighbor_options options;
                options.route = route;
                options.executor = executor;
                expect_peers_to_learn<double>(where, {rank_, num_ranks_, reach, 3}, options);
                options.item_bytes = 4;  // a part of one such item has room for 3 bytes
                expect_peers_to_learn<int>(where, {rank_, num_ranks_, reach, 1}, options);
            }
        }
    }
}

TEST_F(FaultyStart, AFunctionThatThrowsIsAFaultOfItsRank) {
    context where(MPI_COMM_WORLD);
    for (const char* executor : {"persistent", "shared_memory"}) {
        neighbor_options options{.route = "direct"};
        options.executor = executor;
        neighbor_exchange halo(where, shifts{rank_, num_ranks_, 1, 2}.make(), options);
        for (const bool is_faulty : {true, false}) {
            std::vector<double> slots(2, 1.0 + rank_), items(2, 10.0);
            const bool throws = is_faulty && rank_ == culprit;
            halo.start_reverse(slots, items, [throws](double a, double b) {
                if (throws) throw std::domain_error("no sum");
                return a + b;
            });
            if (throws) {
                EXPECT_THROW(halo.wait(), std::domain_error);
            } else {
                halo.wait();
                EXPECT_EQ(items, std::vector<double>(2, 11.0 + (rank_ + 1) % num_ranks_));
            }
        }
    }
}

}  // namespace
}  // namespace crossdock::faulty_start_test

#include "satellites/drop_in/src/repetition.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crossdock::drop_in {
namespace {

constexpr std::uint32_t keep = 1;

using lengths = std::vector<count_t>;

// What becomes of the calls of one rank, whose answers are those of all.
class lone_rank {
  public:
    explicit lone_rank(bool is_planned_at_once = false) : calls_(is_planned_at_once) {}

    // The slot of a call that carries so many bytes on its one edge; `left` if it is not even looked at.
    int call(count_t bytes) {
        if (calls_.leaves_next()) {
            calls_.leave();
            return left;
        }
        const auto step = calls_.next(lengths{bytes}, lengths{bytes});
        if (planned_for == no_plan || (step.slot != repetition::no_slot && bytes != planned_for))
            calls_.differed();
        if (step.is_asked) ++num_questions;
        if (step.is_asked) calls_.conclude(calls_.vote());
        round = step.round;
        return step.slot;
    }

    int num_left_after(count_t bytes) {
        int number = 0;
        while (call(bytes) == left) ++number;
        return number;
    }

    static constexpr int left = -2;
    static constexpr count_t no_plan = -1;
    count_t planned_for = 8;
    int num_questions = 0;
    int round = 0;

    repetition& calls() { return calls_; }

  private:
    repetition calls_;
};

TEST(Repetition, SecondEqualCallIsAskedAboutAndTheThirdPlanned) {
    lone_rank one;

    EXPECT_EQ(one.call(8), repetition::no_slot);
    EXPECT_EQ(one.num_questions, 0);
    EXPECT_EQ(one.call(8), repetition::no_slot);
    EXPECT_EQ(one.num_questions, 1);
    EXPECT_EQ(one.call(8), 0);
    EXPECT_EQ(one.call(8), 0);
}

TEST(Repetition, CallsThatAlternateGetAPlanEach) {
    lone_rank one;
    for (const count_t bytes : {8, 16, 8, 16}) EXPECT_EQ(one.call(bytes), repetition::no_slot);

    EXPECT_EQ(one.call(8), 0);
    EXPECT_EQ(one.call(16), 1);
    EXPECT_EQ(one.call(8), 0);
}

TEST(Repetition, APeriodOfThreeIsFound) {
    lone_rank one;
    for (const count_t bytes : {1, 2, 3, 1, 2, 3, 1, 2})
        EXPECT_EQ(one.call(bytes), repetition::no_slot);

    EXPECT_EQ(one.call(3), 0);
    EXPECT_EQ(one.call(1), 1);
    EXPECT_EQ(one.call(2), 2);
    EXPECT_EQ(one.call(3), 0);
}

// As of a velocity, and then three times a pressure.
TEST(Repetition, EqualCallsInAPeriodOfFourAreNoPeriodOfOne) {
    lone_rank one;
    for (const count_t bytes : {24, 8, 8, 8, 24, 8, 8, 8})
        EXPECT_EQ(one.call(bytes), repetition::no_slot);

    for (int i = 0; i < 64; ++i) EXPECT_EQ(one.call(i % 4 == 0 ? 24 : 8), i % 4);
}

TEST(Repetition, CallsThatRepeatAfterOthersAreFoundAtTheLastQuestion) {
    lone_rank one;
    for (const count_t bytes : {1, 2, 3}) EXPECT_EQ(one.call(bytes), repetition::no_slot);
    for (int i = 3; i < 16; ++i) EXPECT_EQ(one.call(8), repetition::no_slot);

    EXPECT_EQ(one.call(8), 0);
}

TEST(Repetition, CallsThatCanHaveNoPlanAreLeft) {
    lone_rank one;
    one.planned_for = lone_rank::no_plan;

    for (int i = 0; i < 16; ++i) EXPECT_EQ(one.call(8), repetition::no_slot);

    EXPECT_EQ(one.num_left_after(8), 16);
}

TEST(Repetition, CallsThatNeverRepeatAreLeftForLongerEachTime) {
    lone_rank one;
    count_t bytes = 0;
    for (int i = 0; i < 16; ++i) EXPECT_EQ(one.call(++bytes), repetition::no_slot);
    EXPECT_EQ(one.num_questions, 4);

    EXPECT_EQ(one.num_left_after(++bytes), 16);
    for (int i = 1; i < 16; ++i) EXPECT_EQ(one.call(++bytes), repetition::no_slot);
    EXPECT_EQ(one.num_left_after(++bytes), 32);
}

TEST(Repetition, OfManyCallsThatNeverRepeatFewAreAskedAbout) {
    lone_rank one;

    for (count_t bytes = 0; bytes < 100000; ++bytes) one.call(bytes);

    // Left are 16, 32, 64, ... calls, and of 16 between them four are asked about.
    EXPECT_EQ(one.num_questions, 4 * 13);
}

TEST(Repetition, QuestionsAboutAPlanBecomeRare) {
    lone_rank one(true);
    for (int i = 0; i < 8 + 8 + 16 + 32; ++i) EXPECT_EQ(one.call(8), 0);

    EXPECT_EQ(one.num_questions, 4);  // after 8, 16, 32 and 64 calls
}

TEST(Repetition, SomeCallsThatDifferAreNoReasonToGiveUpAPlan) {
    lone_rank one;
    for (int i = 0; i < 2; ++i) one.call(8);

    for (int i = 0; i < 64; ++i) EXPECT_EQ(one.call(i % 2 == 0 ? 8 : 9), 0);
}

TEST(Repetition, APlanThatMostCallsDifferFromIsGivenUp) {
    lone_rank one;
    for (int i = 0; i < 2; ++i) one.call(8);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(one.call(9), 0);

    EXPECT_EQ(one.num_left_after(9), 16);
    EXPECT_EQ(one.call(9), repetition::no_slot);
    EXPECT_EQ(one.call(9), 0);
    EXPECT_EQ(one.round, 2);  // it needs another plan
}

TEST(Repetition, WhereNoCallIsMpisAPlanThatMostDifferFromIsMadeAnew) {
    lone_rank one(true);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(one.call(9), 0);
    EXPECT_EQ(one.round, 0);

    EXPECT_EQ(one.call(9), 0);
    EXPECT_EQ(one.round, 1);
}

TEST(Repetition, OneRankThatDiffersMakesAllGiveUp) {
    repetition calls(false);
    for (int i = 0; i < 2; ++i) calls.next(lengths{8}, lengths{8});
    calls.conclude(calls.vote());
    for (int i = 0; i < 8; ++i) calls.next(lengths{8}, lengths{8});
    ASSERT_EQ(calls.vote(), keep);

    calls.conclude(0);

    EXPECT_TRUE(calls.leaves_next());
}

TEST(Repetition, CallsForWhichMpiIsFasterAreLeftForLong) {
    lone_rank one;
    for (int i = 0; i < 2; ++i) one.call(8);
    EXPECT_EQ(one.call(8), 0);
    one.calls().lost();

    EXPECT_EQ(one.num_left_after(8), 256);
}

TEST(Repetition, WhereNoCallIsMpisNoneIsLeft) {
    lone_rank one(true);
    EXPECT_EQ(one.call(8), 0);
    one.calls().lost();

    EXPECT_EQ(one.call(8), 0);
}

TEST(Repetition, OnePlanOfTwoThatLosesLeavesTheOther) {
    lone_rank one;
    for (const count_t bytes : {8, 16, 8, 16, 8}) one.call(bytes);
    one.calls().lost();

    EXPECT_EQ(one.call(16), 1);
    one.calls().lost();
    EXPECT_EQ(one.call(8), lone_rank::left);
}

}  // namespace
}  // namespace crossdock::drop_in

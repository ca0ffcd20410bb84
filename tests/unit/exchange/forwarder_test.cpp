#include "src/exchange/forwarder.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "support/routes.hpp"
#include "support/thrown_by.hpp"
#include "support/topologies.hpp"

namespace crossdock::forwarder_test {
namespace {

constexpr error_vote good{false, {-1, 1}};

// A message with its bytes, as text.
struct letter {
    rank_t source;
    rank_t destination;
    std::string text;
    bool is_announced = false;

    envelope as_envelope() const {
        return {source, destination, static_cast<count_t>(text.size()),
                reinterpret_cast<const std::byte*>(text.data()), is_announced};
    }
};

std::string text_of(const envelope& message) {
    return {reinterpret_cast<const char*>(message.data), static_cast<std::size_t>(message.bytes)};
}

void expect_same(const envelope& message, const letter& expected) {
    EXPECT_EQ(message.source, expected.source);
    EXPECT_EQ(message.destination, expected.destination);
    EXPECT_EQ(message.is_announced, expected.is_announced);
    ASSERT_EQ(message.bytes, static_cast<count_t>(expected.text.size()));
    if (message.is_announced) {
        EXPECT_EQ(message.data, nullptr);
    } else {
        EXPECT_EQ(text_of(message), expected.text);
    }
}

TEST(Bundle, OpensAsItWasPacked) {
    const std::vector<letter> letters{{7, 1, "abc"},       {7, 2, ""},       {5, 1, "longer"},
                                      {7, 1, "far", true}, {0, 3, "", true}, {5, 1, "z"}};
    const std::size_t places[] = {0, 2, 0, 0, 2, 0};
    std::vector<placed_envelope> placed;
    for (std::size_t i = 0; i < letters.size(); ++i)
        placed.push_back({letters[i].as_envelope(), places[i]});
    const agreement agreement(error_vote{true, {3, 8}});

    const auto bundles = make_bundles(agreement, placed, 3);

    ASSERT_EQ(bundles.size(), 3u);
    const std::vector<std::vector<std::size_t>> expected{{0, 2, 3, 5}, {}, {1, 4}};
    const count_t carried_bytes[] = {3 + 6 + 1, 0, 0};
    for (std::size_t place = 0; place < 3; ++place) {
        const auto num_letters = static_cast<count_t>(expected[place].size());
        EXPECT_EQ(bundles[place].bytes, bundle_overhead_bytes(num_letters) + carried_bytes[place]);
        const auto opened = open_bundle(bundles[place].data.data());
        EXPECT_EQ(opened.agreed.has_fault, 1);
        EXPECT_EQ(opened.agreed.least, agreement.least);
        EXPECT_EQ(opened.agreed.greatest, agreement.greatest);
        ASSERT_EQ(opened.messages.size(), expected[place].size());
        for (std::size_t i = 0; i < opened.messages.size(); ++i)
            expect_same(opened.messages[i], letters[expected[place][i]]);
    }
}

// All ranks of a routed exchange in one process.
class all_forwarders {
  public:
    all_forwarders(std::string_view name, const topology& regions,
                   const std::vector<error_vote>& votes)
        : way_(make_route(name, regions)) {
        for (rank_t rank = 0; rank < regions.num_ranks(); ++rank)
            forwarders_.emplace_back(*way_, rank, votes[static_cast<std::size_t>(rank)]);
    }

    all_forwarders(std::string_view name, const topology& regions)
        : all_forwarders(
              name, regions,
              std::vector<error_vote>(static_cast<std::size_t>(regions.num_ranks()), good)) {}

    forwarder& at(rank_t rank) { return forwarders_[static_cast<std::size_t>(rank)]; }
    rank_t num_ranks() const { return static_cast<rank_t>(forwarders_.size()); }

    // Runs all stages; every partner gets one bundle in each, and nobody else does.
    void run() {
        for (int stage = 0; stage < way_->num_stages(); ++stage) {
            std::map<rank_t, std::vector<rank_t>> heard_from;
            std::map<rank_t, std::vector<const std::byte*>> mail;
            for (rank_t rank = 0; rank < num_ranks(); ++rank) {
                const auto destinations = way_->partners(rank, stage).destinations;
                auto bundles = at(rank).pack(stage, destinations);
                ASSERT_EQ(bundles.size(), destinations.size());
                for (std::size_t i = 0; i < bundles.size(); ++i) {
                    heard_from[destinations[i]].push_back(rank);
                    mail[destinations[i]].push_back(bundles[i].data.data());
                    bundles_.push_back(std::move(bundles[i]));
                }
            }
            for (rank_t rank = 0; rank < num_ranks(); ++rank) {
                EXPECT_EQ(heard_from[rank], way_->partners(rank, stage).sources);
                for (const std::byte* const data : mail[rank]) at(rank).take(data);
            }
        }
    }

  private:
    std::unique_ptr<route> way_;
    std::vector<forwarder> forwarders_;
    std::vector<bundle> bundles_;  // messages lie in them
};

// Few ranks send most, low ranks get most; some letters are empty and some only announced.
std::vector<letter> skewed_letters(rank_t num_ranks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](rank_t limit) {
        return static_cast<rank_t>(random() % static_cast<std::uint64_t>(limit));
    };
    std::vector<letter> result;
    for (rank_t source = 0; source < num_ranks; ++source) {
        for (int i = draw(4) == 0 ? 2 * num_ranks : draw(4); i > 0; --i) {
            std::string text;
            for (int k = draw(3) == 0 ? 0 : draw(40); k > 0; --k)
                text += static_cast<char>('a' + draw(26));
            result.push_back({source, draw(draw(num_ranks) + 1), text, draw(5) == 0});
        }
    }
    return result;
}

template <class Use>
void for_each_route(rank_t num_ranks, Use&& use) {
    for (const auto& regions : test::conformance_topologies(num_ranks)) {
        for (const auto& name : test::conformance_routes()) {
            SCOPED_TRACE(name + " on " + regions.to_string());
            use(name, regions);
        }
    }
}

TEST(Forwarder, BringsEveryMessageHomeOnceAndInOrder) {
    for (const rank_t num_ranks : {1, 2, 5, 8, 20}) {
        const auto letters = skewed_letters(num_ranks, 1);
        for_each_route(num_ranks, [&](const std::string& name, const topology& regions) {
            all_forwarders all(name, regions);
            for (const auto& one : letters) all.at(one.source).hold(one.as_envelope());

            all.run();

            std::map<std::pair<rank_t, rank_t>, std::vector<letter>> expected;
            for (const auto& one : letters) expected[{one.source, one.destination}].push_back(one);
            std::size_t num_arrived = 0;
            for (rank_t rank = 0; rank < num_ranks; ++rank) {
                std::map<rank_t, std::size_t> num_from;
                for (const auto& message : all.at(rank).arrived()) {
                    const auto& sent = expected[{message.source, rank}];
                    const std::size_t index = num_from[message.source]++;
                    ASSERT_LT(index, sent.size());
                    // A rank's own messages stay with it as they are.
                    if (message.source != rank) expect_same(message, sent[index]);
                    ++num_arrived;
                }
            }
            EXPECT_EQ(num_arrived, letters.size());
        });
    }
}

void expect_agreement_everywhere(bool is_good, const std::string& name, const topology& regions,
                                 const std::vector<error_vote>& votes) {
    all_forwarders all(name, regions, votes);
    all.run();
    for (rank_t rank = 0; rank < all.num_ranks(); ++rank)
        EXPECT_EQ(all.at(rank).agreed().is_good(), is_good) << rank;
}

TEST(Forwarder, TellsAllRanksOfOneThatDiffers) {
    for (const rank_t num_ranks : {2, 5, 8, 20}) {
        for_each_route(num_ranks, [&](const std::string& name, const topology& regions) {
            const std::vector<error_vote> votes(static_cast<std::size_t>(num_ranks), good);
            expect_agreement_everywhere(true, name, regions, votes);
            for (std::size_t odd = 0; odd < votes.size(); ++odd) {
                for (const error_vote& other :
                     {error_vote{true, good.shape}, error_vote{false, {3, 1}},
                      error_vote{false, {-1, 8}}}) {
                    auto changed = votes;
                    changed[odd] = other;
                    expect_agreement_everywhere(false, name, regions, changed);
                }
            }
        });
    }
}

TEST(Forwarder, RefusesAHopToAStranger) {
    const auto regions = topology::one_region(3);
    const auto way = make_route("direct", regions);
    forwarder one(*way, 0, good);
    one.hold({0, 2, 0, nullptr});
    const std::vector<rank_t> strangers{1};

    EXPECT_EQ(test::thrown_by([&] { one.pack(0, strangers); }).code(), errc::internal);
}

}  // namespace
}  // namespace crossdock::forwarder_test

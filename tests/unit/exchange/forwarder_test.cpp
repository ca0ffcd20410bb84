#include "src/exchange/forwarder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "crossdock/detail/exchange/exchange_rules.hpp"
#include "crossdock/route.hpp"
#include "support/thrown_by.hpp"

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

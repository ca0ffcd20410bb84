#include "src/array/combining_router.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "support/routes.hpp"

namespace crossdock::combining_router_test {
namespace {

using router = combining_router<std::uint32_t>;
using index_list = std::vector<std::uint32_t>;

// All ranks in one process: routers, and the messages that go between them.
class all_routers {
  public:
    all_routers(const std::string& route_name, const topology& regions,
                const block_partition& owners, const request_traits& kind) {
        for (rank_t rank = 0; rank < regions.num_ranks(); ++rank) {
            routings_.push_back(std::make_unique<batch_route>(route_name, regions, owners, rank));
            routers_.push_back(std::make_unique<router>(*routings_.back(), kind));
        }
    }

    std::size_t size() const { return routers_.size(); }
    router& of(std::size_t rank) { return *routers_[rank]; }

    void send_requests() {
        for (std::size_t stage = 0; stage < num_stages(); ++stage) {
            std::vector<std::vector<packed_requests>> came(size());
            for (std::size_t rank = 0; rank < size(); ++rank) {
                for (const rank_t source : routings_[rank]->stages[stage].sources)
                    came[rank].push_back(send(static_cast<std::size_t>(source), stage, rank));
            }
            for (std::size_t rank = 0; rank < size(); ++rank) of(rank).take(stage, came[rank]);
        }
    }

    void send_replies() {
        for (std::size_t stage = num_stages(); stage-- > 0;) {
            for (std::size_t rank = 0; rank < size(); ++rank) of(rank).split(stage);
            for (std::size_t rank = 0; rank < size(); ++rank) {
                const auto& sources = routings_[rank]->stages[stage].sources;
                for (std::size_t i = 0; i < sources.size(); ++i)
                    reply(rank, stage, i, static_cast<std::size_t>(sources[i]));
            }
        }
    }

  private:
    std::size_t num_stages() const { return routings_.front()->num_stages(); }

    std::size_t number_of(std::size_t destination, std::size_t stage, std::size_t source) const {
        const auto& all = routings_[source]->stages[stage].destinations;
        return static_cast<std::size_t>(
            std::find(all.begin(), all.end(), static_cast<rank_t>(destination)) - all.begin());
    }

    packed_requests send(std::size_t source, std::size_t stage, std::size_t destination) {
        const std::size_t d = number_of(destination, stage, source);
        const count_t count = of(source).num_requests(stage, d);
        const auto bytes = static_cast<std::size_t>(of(source).packed_bytes(count));
        messages_.emplace_back(bytes);
        of(source).pack(stage, d, messages_.back().data());
        return {count, messages_.back().data()};
    }

    void reply(std::size_t rank, std::size_t stage, std::size_t i, std::size_t source) {
        const count_t bytes = of(rank).reply_bytes(of(rank).num_arrived(stage, i));
        const std::size_t d = number_of(rank, stage, source);
        EXPECT_EQ(of(source).reply_bytes(of(source).num_requests(stage, d)), bytes);
        messages_.emplace_back(static_cast<std::size_t>(bytes));
        of(rank).pack_replies(stage, i, messages_.back().data());
        of(source).take_replies(stage, d, messages_.back().data());
    }

    std::vector<std::unique_ptr<batch_route>> routings_;
    std::vector<std::unique_ptr<router>> routers_;
    std::vector<raw_buffer> messages_;
};

constexpr count_t num_entries = 29;

std::vector<index_list> random_indices(std::size_t num_ranks) {
    std::mt19937_64 draw(11);
    std::vector<index_list> result(num_ranks);
    for (auto& list : result) {
        const auto count = draw() % 40;
        for (std::uint64_t k = 0; k < count; ++k)
            list.push_back(static_cast<std::uint32_t>(draw() % num_entries));
    }
    return result;
}

// Updates all entries and reads them, as a serial array does.
void expect_as_serial(const std::string& route_name, const topology& regions,
                      const combining_options& options) {
    const auto owners = block_partition::blocks(num_entries, regions.num_ranks());
    const auto num_ranks = static_cast<std::size_t>(regions.num_ranks());
    const auto indices = random_indices(num_ranks);
    std::vector<std::int64_t> serial(num_entries), entries(num_entries);

    const auto add = make_update_operation<std::int64_t>(sum());
    all_routers updates(route_name, regions, owners, {options, &add, 0});
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        std::vector<std::int64_t> values;
        for (const auto index : indices[rank]) {
            values.push_back(static_cast<std::int64_t>(1000 * rank + values.size()));
            serial[index] += values.back();
        }
        updates.of(rank).start({indices[rank].begin(), indices[rank].end()},
                               reinterpret_cast<const std::byte*>(values.data()));
    }
    updates.send_requests();
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        auto* const part = entries.data() + owners.first(static_cast<rank_t>(rank));
        updates.of(rank).apply(reinterpret_cast<std::byte*>(part));
    }
    EXPECT_EQ(entries, serial);

    all_routers reads(route_name, regions, owners, {options, nullptr, sizeof(std::int64_t)});
    for (std::size_t rank = 0; rank < num_ranks; ++rank)
        reads.of(rank).start({indices[rank].begin(), indices[rank].end()}, nullptr);
    reads.send_requests();
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        const auto* const part = entries.data() + owners.first(static_cast<rank_t>(rank));
        reads.of(rank).read(reinterpret_cast<const std::byte*>(part));
    }
    reads.send_replies();
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        std::vector<std::int64_t> expected, out(indices[rank].size());
        for (const auto index : indices[rank]) expected.push_back(serial[index]);
        reads.of(rank).deliver(reinterpret_cast<std::byte*>(out.data()));
        EXPECT_EQ(out, expected) << "rank " << rank;
    }
}

TEST(CombiningRouter, UpdatesAndReadsAsASerialArrayDoes) {
    for (const char* const where : {"1x1", "2x2", "5,1,3"}) {
        for (const auto& route_name : test::conformance_routes()) {
            for (const auto& one : registered_combining()) {
                for (const bool locally : {true, false}) {
                    for (const bool on_the_way : {true, false}) {
                        SCOPED_TRACE(route_name + " " + one.name + " on " + where);
                        expect_as_serial(route_name, topology::from_string(where),
                                         {one.strategy, locally, on_the_way});
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace crossdock::combining_router_test

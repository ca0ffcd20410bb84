#include "build_schedule_mpi.hpp"

#include <map>
#include <set>

#include "../exchange/setup_rounds_mpi.hpp"
#include "../executor/shared_memory_schedule_builder.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

// What one direction after the other has for a rank, or has from it, goes in one message: the number of
// words of each direction, 0 where it has none, and then the words.
std::vector<word_message> joined(const std::vector<std::vector<word_message>>& all_to_send) {
    const std::size_t num_ways = all_to_send.size();
    std::map<rank_t, std::vector<std::int64_t>> words_to;
    for (std::size_t way = 0; way < num_ways; ++way) {
        for (const auto& [peer, words] : all_to_send[way]) {
            auto& to = words_to[peer];
            if (to.empty()) to.resize(num_ways);
            to[way] = static_cast<std::int64_t>(words.size());
            to.insert(to.end(), words.begin(), words.end());
        }
    }
    std::vector<word_message> to_send;
    for (auto& [peer, words] : words_to) to_send.push_back({peer, std::move(words)});
    return to_send;
}

std::vector<std::vector<word_message>> parted(const std::vector<word_message>& inbox,
                                              std::size_t num_ways) {
    std::vector<std::vector<word_message>> inboxes(num_ways);
    for (const auto& [peer, words] : inbox) {
        auto next = words.begin() + static_cast<std::ptrdiff_t>(num_ways);
        for (std::size_t way = 0; way < num_ways; ++way) {
            const auto end = next + static_cast<std::ptrdiff_t>(words[way]);
            if (next != end) inboxes[way].push_back({peer, {next, end}});
            next = end;
        }
    }
    return inboxes;
}

}  // namespace

std::vector<std::shared_ptr<const shared_memory_schedule>> build_schedules_mpi(
    rank_t rank, const plan* p, std::span<const direction> ways, const node_memory* memory,
    count_t max_part_items, const stripe_rule* stripes, std::optional<error>& fault) {
    std::optional<memory_domain> alone;
    std::vector<std::unique_ptr<shared_memory_schedule_builder>> builders;  // refer to their domain
    const auto make_builders = [&](const memory_domain& domain) {
        for (const direction way : ways) {
            builders.push_back(std::make_unique<shared_memory_schedule_builder>(
                way == direction::forward ? forward_task_graph(*p, domain, stripes)
                                          : reverse_task_graph(*p, domain, stripes),
                domain, max_part_items, stripes));
        }
    };
    const auto from_all = [&](auto&& send) {
        std::vector<std::vector<word_message>> all_to_send;
        for (const auto& one : builders) all_to_send.push_back(send(*one));
        return all_to_send;
    };
    const auto to_all = [&](const std::vector<word_message>& inbox, auto&& receive) {
        const auto inboxes = parted(inbox, builders.size());
        for (std::size_t way = 0; way < builders.size(); ++way)
            receive(*builders[way], inboxes[way]);
    };
    const auto send_requests = [](auto& one) { return one.send_access_requests(); };
    if (memory) {
        const auto& comm = memory->comm();
        const auto everybody = with_reserve([&] { return topology::one_region(comm.num_ranks()); });
        setup_rounds rounds(comm, everybody, std::move(fault), rank);
        rounds.attempt([&] { make_builders(memory->domain()); });
        std::vector<word_message> requests;
        rounds.hear_partners([&] {
            for (int stage = 0; stage < builders.front()->num_stages(); ++stage) {
                std::set<rank_t> sources;
                for (const auto& one : builders) {
                    for (const rank_t source : one->reference_sources(stage))
                        sources.insert(source);
                }
                to_all(rounds.next(
                           joined(from_all([&](auto& one) { return one.send_references(stage); })),
                           sources.size()),
                       [&](auto& one, auto& part) { one.receive_references(stage, part); });
            }
            requests = joined(from_all(send_requests));
        });
        const auto inbox = rounds.hear_anybody(requests);
        rounds.attempt([&] {
            to_all(inbox, [](auto& one, auto& part) { one.receive_access_requests(part); });
        });
        fault = std::move(rounds.fault());
    } else {
        attempt(rank, fault, [&] {
            make_builders(alone.emplace(rank));
            from_all(send_requests);
        });
    }
    std::vector<std::shared_ptr<const shared_memory_schedule>> schedules;
    attempt(rank, fault, [&] {
        for (const auto& one : builders)
            schedules.push_back(std::make_shared<const shared_memory_schedule>(one->finish()));
    });
    if (fault) schedules.clear();
    return schedules;
}

}  // namespace crossdock

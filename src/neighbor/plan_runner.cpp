#include "plan_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "../base/rank_fault_mpi.hpp"
#include "../exchange/setup_rounds_mpi.hpp"
#include "../executor/shared_memory_schedule_builder.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

// What one direction after the other has for a rank, or has from it, goes in one message: the number of
// words of each direction, 0 where it has none, and then the words.
std::vector<word_message> joined(std::vector<std::vector<word_message>> all_to_send) {
    const std::size_t num_ways = all_to_send.size();
    if (num_ways == 1) return std::move(all_to_send.front());
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
    to_send.reserve(words_to.size());
    for (auto& [peer, words] : words_to) to_send.push_back({peer, std::move(words)});
    return to_send;
}

std::vector<std::vector<word_message>> parted(std::vector<word_message> inbox,
                                              std::size_t num_ways) {
    std::vector<std::vector<word_message>> inboxes(num_ways);
    if (num_ways == 1) {
        inboxes.front() = std::move(inbox);
        return inboxes;
    }
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

// Compiles directions of a plan into what this rank does, all in the same rounds: one message for each two ranks of the
// domain that exchange in a stage, and one sparse exchange; or two words to each rank. Without `memory` it does not
// communicate.
// @param p       the plan; null only with a fault
// @param ways    at least one; equal on all ranks of the domain
// @param memory  of this rank's domain, whose other ranks make the same call with their plans; null for a rank that
//                shares nothing
// @param is_one_step  the plan has one stage, and the domain all ranks and memory; equal on all ranks
// @param fault   what this rank has failed with before; receives what it fails with when it has heard from all others
// @return one schedule for each direction; none with a fault
// @throws error  the fault of the domain's lowest rank that has one, or this rank's
// @throws peer_stopped  another rank has failed; all ranks of the domain throw one of these, or none
std::vector<std::shared_ptr<const shared_memory_schedule>> build_schedules_mpi(
    rank_t rank, const plan* p, std::span<const direction> ways, node_memory* memory,
    bool is_one_step, count_t max_part_items, std::optional<error>& fault) {
    std::optional<memory_domain> alone;
    std::vector<std::unique_ptr<shared_memory_schedule_builder>> builders;  // refer to their domain
    const auto make_builders = [&](const memory_domain& domain) {
        for (const direction way : ways) {
            builders.push_back(std::make_unique<shared_memory_schedule_builder>(
                way == direction::forward ? forward_task_graph(*p, domain)
                                          : reverse_task_graph(*p, domain),
                domain, max_part_items));
        }
    };
    const auto from_all = [&](auto&& send) {
        std::vector<std::vector<word_message>> all_to_send;
        all_to_send.reserve(builders.size());
        for (const auto& one : builders) all_to_send.push_back(send(*one));
        return all_to_send;
    };
    const auto to_all = [&](std::vector<word_message> inbox, auto&& receive) {
        const auto inboxes = parted(std::move(inbox), builders.size());
        for (std::size_t way = 0; way < builders.size(); ++way)
            receive(*builders[way], inboxes[way]);
    };
    const auto send_requests = [](auto& one) { return one.send_access_requests(); };
    if (is_one_step) {
        attempt(rank, fault, [&] { make_builders(memory->domain()); });
        for (std::size_t way = 0; way < ways.size(); ++way) {
            std::vector<two_words> places;
            attempt(rank, fault, [&] { places = builders[way]->send_places(); });
            const auto& found = memory->exchange_words(places, fault);
            attempt(rank, fault, [&] { builders[way]->receive_places(found); });
        }
    } else if (memory) {
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
        auto inbox = rounds.hear_anybody(requests);
        rounds.attempt([&] {
            to_all(std::move(inbox),
                   [](auto& one, auto& part) { one.receive_access_requests(part); });
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

// At least 1.
count_t longest_message(const plan& p) {
    count_t longest = 1;
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends)
            longest = std::max(longest, static_cast<count_t>(message.positions.size()));
        for (const auto& message : stage.receives) longest = std::max(longest, message.num_items);
    }
    return longest;
}

}  // namespace

plan_runner::plan_runner(const context& where, std::shared_ptr<const plan> compiled,
                         const neighbor_options& options)
    : where_(where),
      plan_(std::move(compiled)),
      options_(options),
      memory_use_(memory_use_of(where.comm(), options.executor)) {}

void plan_runner::open(int num_stages) {
    num_stages_ = num_stages;
    tags_ = comm().reserve_tags(2 * num_stages);
    forward_.first_tag = tags_.first();
    backward_.first_tag = forward_.first_tag + num_stages;
    // Room for all of them, so that what others wait for needs no memory.
    for (auto* const one : {&forward_, &backward_})
        with_reserve([&] { one->sizes.reserve(most_sizes); });
    if (memory_use_ == memory_use::none) return;
    auto& memories = comm().resource<node_memories>();
    const auto& found = memories.of(comm(), where_.nodes());
    if (found->domain().is_shared()) memory_ = found;
    // Wrong nodes have more ranks than there are; all ranks hear of them at the end of set-up.
    const bool are_all_there = memory_ && memory_->domain().size() == memory_->comm().num_ranks();
    try {
        if (are_all_there) sizes_ = comm().resource<size_boards>().next(memory_);
    } catch (...) {  // on all ranks of the domain
    }
}

plan_runner::~plan_runner() {
    for (const auto* const one : {&forward_, &backward_})
        if (one->is_active()) keep_tags();
}

std::unique_ptr<plan_runner> plan_runner::twin() const {
    auto made =
        with_reserve([&] { return std::make_unique<plan_runner>(where_, plan_, options_); });
    made->open(static_cast<int>(plan_->stages().size()));
    const auto share_work = [](direction_state& to, const direction_state& from) {
        for (const auto& one : from.sizes) to.sizes.push_back({one.item_bytes, one.kind, one.work});
        // The ranks may be at different exchanges that were ready, and drop the same sizes later.
        std::ranges::sort(to.sizes, {}, &sized_runner::item_bytes);
    };
    share_work(made->forward_, forward_);
    share_work(made->backward_, backward_);
    return made;
}

// Puts the size at the end, if it is there.
void plan_runner::direction_state::find(std::size_t item_bytes) {
    const auto found = std::ranges::find(sizes, item_bytes, &sized_runner::item_bytes);
    if (found != sizes.end()) std::rotate(found, found + 1, sizes.end());
}

// Puts the size at the end, in the place of the one that was not used for longest if there are many.
void plan_runner::direction_state::make_room(std::size_t item_bytes) {
    find(item_bytes);
    if (!sizes.empty() && sizes.back().item_bytes == item_bytes) return;
    if (sizes.size() == most_sizes) sizes.erase(sizes.begin());
    sizes.push_back({item_bytes});
}

std::optional<error> plan_runner::prepare_at_start(direction to, preparation what,
                                                   std::size_t item_bytes) {
    const bool forward =
        (to == direction::forward || what != preparation::lazy) && !forward_.has_ready(item_bytes);
    const bool reverse =
        (to == direction::reverse || asks_for_reverse(what)) && !backward_.has_ready(item_bytes);
    auto fault = make_ready(forward, reverse, item_bytes, std::nullopt);
    // Ready on some ranks alone, it would be made again by the others alone. So would a schedule.
    const auto forget = [&] {
        if (forward) forward_.sizes.back() = {item_bytes};
        if (reverse) backward_.sizes.back() = {item_bytes};
    };
    // A rank that failed in one direction forgets both.
    const auto failure = [&]() -> std::optional<error> {
        const bool is_ready = (!forward || forward_.has_ready(item_bytes)) &&
                              (!reverse || backward_.has_ready(item_bytes));
        if (fault || is_ready) return fault;
        const rank_t failed = memory_->refusing_rank();
        return error(errc::peer_failed,
                     fmt::format("rank {}, which shares memory with rank {}, could not prepare the "
                                 "exchange; its own error has the reason",
                                 failed, comm().rank()),
                     failed);
    };
    std::optional<error> why;
    // Other nodes wait for what this one gives. So each rank of a node that has failed goes on alone, with the memory
    // that is set aside.
    if (failure()) {
        if (must_share()) why = failure();
        forget();
        memory_reserve::give_back();
        fault = make_ready(forward, reverse, item_bytes, std::nullopt, true);
    }
    try {
        if (const auto found = failure()) throw *found;
    } catch (...) {
        forget();
        throw;
    }
    if (why && forward) forward_.sizes.back().is_makeshift = true;
    if (why && reverse) backward_.sizes.back().is_makeshift = true;
    return why;
}

// Returns what this rank alone has failed with; all ranks of the domain go on to the same next step.
std::optional<error> plan_runner::make_ready(bool forward, bool reverse, std::size_t item_bytes,
                                             std::optional<error> fault, bool is_alone) noexcept {
    std::array<direction_state*, 2> wanted{
        forward && !forward_.has_ready(item_bytes) ? &forward_ : nullptr,
        reverse && !backward_.has_ready(item_bytes) ? &backward_ : nullptr};
    if (wanted[0] == nullptr && wanted[1] == nullptr) return fault;
    for (auto* const one : wanted) {
        if (one == nullptr) continue;
        one->make_room(item_bytes);
        one->sizes.back().is_makeshift = false;
    }
    const auto make = [&](const std::shared_ptr<node_memory>& with) {
        for (auto* const one : wanted)
            if (one != nullptr) one->sizes.back().runner.reset();
        return make_runners(wanted, with, item_bytes, fault);
    };
    try {
        try {
            return make(is_alone ? nullptr : memory_);
        } catch (const node_failure& failure) {
            if (must_share() || failure.code() != errc::out_of_memory) throw;
        }
        return make(nullptr);
    } catch (const peer_stopped&) {
        return fault;  // the others say why
    } catch (...) {
        return fault ? fault : current_error_of(comm().rank());
    }
}

count_t plan_runner::max_part_items(std::size_t item_bytes) const {
    const std::size_t most = std::numeric_limits<int>::max();
    return static_cast<count_t>(
        std::clamp<std::size_t>(options_.max_message_bytes / item_bytes, 1, most));
}

bool plan_runner::has_equal_parts(std::size_t item_bytes, std::size_t other_bytes) const {
    const count_t longest = longest_message(*plan_);
    return std::min(max_part_items(item_bytes), longest) ==
           std::min(max_part_items(other_bytes), longest);
}

std::optional<error> plan_runner::build_schedules(const std::array<direction_state*, 2>& wanted,
                                                  const std::shared_ptr<node_memory>& with,
                                                  std::size_t item_bytes,
                                                  std::optional<error> fault) {
    // Ranks that share memory cut messages of each other.
    const count_t most_items = max_part_items(item_bytes);
    const count_t max_items =
        with || !plan_ ? most_items : std::min(most_items, longest_message(*plan_));
    const schedule_kind kind{max_items, with != nullptr};
    std::array<sized_runner*, 2> without_work{};
    std::array<direction, 2> ways{};
    std::size_t num_ways = 0;
    for (auto* const one : wanted) {
        if (one == nullptr) continue;
        auto& made = one->sizes.back();
        const auto same = std::ranges::find_if(one->sizes, [&](const sized_runner& other) {
            return other.work && other.kind == kind;
        });
        if (same != one->sizes.end()) {
            made.work = same->work;
            made.kind = kind;
            continue;
        }
        without_work[num_ways] = &made;
        ways[num_ways++] = one->to;
    }
    if (num_ways == 0) return fault;
    const bool is_one_step = num_stages_ == 1 && with && with->has_memory() &&
                             with->domain().size() == comm().num_ranks();
    auto schedules =
        build_schedules_mpi(comm().rank(), plan_.get(), std::span(ways).first(num_ways), with.get(),
                            is_one_step, max_items, fault);
    for (std::size_t k = 0; k < schedules.size(); ++k) {
        without_work[k]->work = std::move(schedules[k]);
        without_work[k]->kind = kind;
    }
    return fault;
}

// Throws where all ranks of the domain have failed, and returns what this rank has failed with when it had taken part
// in all that its domain does.
std::optional<error> plan_runner::make_runners(const std::array<direction_state*, 2>& wanted,
                                               const std::shared_ptr<node_memory>& with,
                                               std::size_t item_bytes, std::optional<error> fault) {
    fault = build_schedules(wanted, with, item_bytes, std::move(fault));
    for (auto* const one : wanted) {
        if (one == nullptr) continue;
        const int num_shares = with ? with->num_shares() : 0;
        const int num_refusals = with ? with->num_refusals() : 0;
        try {
            if (!fault) {
                auto& made = one->sizes.back();
                made.runner = std::make_unique<executor>(
                    executor_setup{comm(), made.work, with, one->first_tag, item_bytes});
                continue;
            }
        } catch (const peer_stopped&) {
            throw;
        } catch (const node_failure&) {
            throw;
        } catch (...) {
            fault = current_error_of(comm().rank());
        }
        if (!with) continue;
        // The others share memory with this rank now, unless it has refused.
        if (with->num_shares() == num_shares) {
            with->refuse();
            break;
        }
        if (with->num_refusals() != num_refusals) break;
    }
    return fault;
}

}  // namespace crossdock

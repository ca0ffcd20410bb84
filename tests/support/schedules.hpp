/// @file
/// @brief Schedules of all ranks, compiled and run in one process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "crossdock/topology.hpp"
#include "src/executor/schedule_runner.hpp"
#include "src/executor/shared_memory_schedule_builder.hpp"
#include "src/executor/task_graph.hpp"

namespace crossdock::test {

/// @brief `forward_task_graph` or `reverse_task_graph`.
using make_task_graph = task_graph (*)(const plan&, const memory_domain&, const stripe_rule*);

using schedules = std::vector<std::shared_ptr<const shared_memory_schedule>>;

/// @brief Builds the schedules of all ranks; takes their messages from one to the other.
/// @param items_per_stripe  0: no message is split
/// @param may_place  messages, without references and access requests, where that suffices
inline schedules build_schedules(const std::vector<plan>& plans, make_task_graph way,
                                 const topology& nodes, count_t max_part_items,
                                 count_t items_per_stripe = 0, bool may_place = true) {
    const stripe_rule rule(nodes, std::max<count_t>(items_per_stripe, 1));
    const stripe_rule* const stripes = items_per_stripe > 0 ? &rule : nullptr;
    const std::size_t num_ranks = plans.size();
    std::deque<memory_domain> domains;
    std::deque<shared_memory_schedule_builder> compilers;
    for (const auto& p : plans) {
        domains.emplace_back(nodes, p.rank());
        compilers.emplace_back(way(p, domains.back(), stripes), domains.back(), max_part_items,
                               stripes);
    }
    using inboxes = std::vector<std::vector<word_message>>;
    const auto carry =
        [&](const std::function<std::vector<word_message>(shared_memory_schedule_builder&)>& send) {
            inboxes all(num_ranks);
            for (std::size_t rank = 0; rank < num_ranks; ++rank) {
                for (auto& message : send(compilers[rank])) {
                    const auto to = static_cast<std::size_t>(
                        domains[rank].rank_at(buffer_number(message.peer)));
                    all[to].push_back({domains[rank].here().value(), std::move(message.words)});
                }
            }
            return all;
        };
    inboxes all;
    const bool by_places = may_place && nodes.num_regions() == 1 && compilers[0].num_stages() == 1;
    if (by_places) {
        std::vector<std::vector<std::array<std::int64_t, 2>>> places(num_ranks);
        for (auto& compiler : compilers) {
            const auto for_all = compiler.send_places();
            for (std::size_t rank = 0; rank < num_ranks; ++rank)
                places[rank].push_back(for_all[rank]);
        }
        for (std::size_t rank = 0; rank < num_ranks; ++rank)
            compilers[rank].receive_places(places[rank]);
    } else {
        for (int stage = 0; stage < compilers[0].num_stages(); ++stage) {
            all = carry([&](auto& compiler) { return compiler.send_references(stage); });
            for (std::size_t rank = 0; rank < num_ranks; ++rank)
                compilers[rank].receive_references(stage, all[rank]);
        }
        all = carry([](auto& compiler) { return compiler.send_access_requests(); });
    }
    schedules result;
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        if (!by_places) compilers[rank].receive_access_requests(all[rank]);
        result.push_back(std::make_shared<const shared_memory_schedule>(compilers[rank].finish()));
    }
    return result;
}

/// @brief Calls `use(from, to)` for all values of a step, in order.
template <class Use>
void for_each_index(const shared_memory_schedule& work, const schedule_step& step, Use&& use) {
    const auto use_pieces = [&](const index_piece& from, const index_piece& to) {
        const count_t from_offset = step.combining < 0 ? 0 : step.from.first;
        const count_t to_offset = step.combining < 0 ? 0 : step.to.first;
        from.with_lookup([&](auto from_index) {
            to.with_lookup([&](auto to_index) {
                for (count_t k = 0; k < to.size; ++k)
                    use(from_offset + from_index(k), to_offset + to_index(k));
            });
        });
    };
    if (step.combining < 0) return use_pieces(step.from.piece(step.size), step.to.piece(step.size));
    work.lists[static_cast<std::size_t>(step.combining)].for_each_piece(use_pieces);
}

/// @brief A network that delivers messages between two ranks with one tag in the order of sending.
///
/// Some messages are copied when they are sent, others only when they are received, as with MPI.
class schedule_network {
  public:
    explicit schedule_network(rank_t num_ranks)
        : num_under_way_(static_cast<std::size_t>(num_ranks)) {}

    void send(rank_t source, rank_t destination, int tag, const std::byte* from, std::size_t bytes,
              bool leaves_at_once) {
        const std::lock_guard lock(mutex_);
        message sent{from, {}, bytes};
        if (leaves_at_once) {
            sent.copy.assign(from, from + bytes);
        } else {
            ++num_under_way_[static_cast<std::size_t>(source)];
        }
        channels_[{source, destination, tag}].push_back(std::move(sent));
    }

    /// @brief False if there is none; throws if it is of another length.
    bool receive(rank_t source, rank_t destination, int tag, std::byte* to, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        auto& channel = channels_[{source, destination, tag}];
        if (channel.empty()) return false;
        const message next = std::move(channel.front());
        channel.pop_front();
        if (next.bytes != bytes) throw std::length_error("a message of another length");
        if (next.copy.empty()) --num_under_way_[static_cast<std::size_t>(source)];
        std::memcpy(to, next.copy.empty() ? next.from : next.copy.data(), bytes);
        return true;
    }

    /// @brief Whether all that a rank has sent may be overwritten.
    bool has_left(rank_t source) {
        const std::lock_guard lock(mutex_);
        return num_under_way_[static_cast<std::size_t>(source)] == 0;
    }

  private:
    struct message {
        const std::byte* from;
        std::vector<std::byte> copy;
        std::size_t bytes;
    };

    std::mutex mutex_;
    std::map<std::tuple<rank_t, rank_t, int>, std::deque<message>> channels_;
    std::vector<int> num_under_way_;  // by source
};

/// @brief One rank's executor, which sends through `schedule_network` in place of MPI.
class schedule_rank final : private schedule_runner::sender {
  public:
    schedule_rank(rank_t rank, std::shared_ptr<const shared_memory_schedule> work,
                  index_vector<buffer_number, exchange_buffer> buffers, std::size_t item_bytes,
                  schedule_network& network)
        : rank_(rank),
          item_bytes_(item_bytes),
          network_(network),
          runner_(std::move(work), std::move(buffers), item_bytes),
          random_(static_cast<std::uint64_t>(rank)) {}

    bool is_active() const { return is_active_; }
    const schedule_runner& runner() const { return runner_; }

    void start(const std::byte* input, std::byte* output, combine_function combine) {
        input_ = input;
        output_ = output;
        is_active_ = true;
        is_taken_.assign(work().receives.size(), false);
        num_in_place_ =
            work().receives.size() - static_cast<std::size_t>(work().num_section_receives);
        runner_.begin(input, output, std::move(combine));
        has_posted_ = runner_.may_receive();
        runner_.advance(*this);
    }

    /// @brief Receives at most so many messages, and does what can be done; true once complete.
    bool test(int most_messages) {
        has_posted_ = has_posted_ || runner_.may_receive();
        take(most_messages);
        runner_.advance(*this);
        if (!runner_.is_done() || num_in_place_ > 0 || !network_.has_left(rank_)) return false;
        runner_.end();
        is_active_ = false;
        return true;
    }

  private:
    const shared_memory_schedule& work() const { return runner_.work(); }
    static int tag_of(const schedule_part& part) {
        return 2 * part.stage + (part.is_stripe ? 1 : 0);
    }

    void take(int most_messages) {
        std::set<std::pair<rank_t, int>>
            empty;  // a message that comes meanwhile is left for the next call
        for (std::size_t i = 0; i < is_taken_.size() && most_messages > 0; ++i) {
            const receive_number number(static_cast<int>(i));
            const auto& part = work().receives[number];
            const bool is_in_section = number < receive_number(work().num_section_receives);
            if (is_taken_[i] || (is_in_section && !has_posted_)) continue;
            if (empty.count({part.peer, tag_of(part)}) > 0) continue;
            std::byte* const to =
                is_in_section ? runner_.address(part, runner_.half())
                              : output_ + static_cast<std::size_t>(part.array_index) * item_bytes_;
            if (!network_.receive(part.peer, rank_, tag_of(part), to, bytes_of(part))) {
                empty.insert({part.peer, tag_of(part)});
                continue;
            }
            is_taken_[i] = true;
            --most_messages;
            if (is_in_section) {
                runner_.note_received(number);
            } else {
                --num_in_place_;
            }
        }
    }

    void send(send_number i) override {
        const auto& part = work().sends[i];
        const std::byte* const from =
            part.is_in_place ? input_ + static_cast<std::size_t>(part.array_index) * item_bytes_
                             : runner_.address(part, runner_.half());
        network_.send(rank_, part.peer, tag_of(part), from, bytes_of(part), random_() % 2 == 0);
    }

    void send_failure(send_number, rank_t) override {
        throw std::logic_error("no rank of a schedule_world fails");
    }

    std::size_t bytes_of(const schedule_part& part) const {
        return static_cast<std::size_t>(part.num_items) * item_bytes_;
    }

    rank_t rank_;
    std::size_t item_bytes_;
    schedule_network& network_;
    schedule_runner runner_;
    std::mt19937_64 random_;
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
    bool is_active_ = false;
    bool has_posted_ = false;
    std::vector<bool> is_taken_;
    std::size_t num_in_place_ = 0;
};

/// @brief All ranks, the memory that they share, and what is between them.
class schedule_world {
  public:
    schedule_world(const schedules& work, const topology& nodes, std::size_t item_bytes)
        : network_(nodes.num_ranks()) {
        std::vector<exchange_buffer> buffers;
        for (const auto& one : work) {
            const std::size_t bytes = exchange_buffer::size_bytes(*one, item_bytes);
            memory_.emplace_back((bytes + sizeof(line) - 1) / sizeof(line));
            buffers.push_back(
                exchange_buffer::make(memory_.back().data()->bytes, *one, item_bytes));
        }
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            const memory_domain domain(nodes, rank);
            index_vector<buffer_number, exchange_buffer> shared;
            while (shared.end_index() < buffer_number(domain.size())) {
                const rank_t owner = domain.rank_at(shared.end_index());
                shared.push_back(buffers[static_cast<std::size_t>(owner)]);
            }
            ranks_.emplace_back(rank, work[static_cast<std::size_t>(rank)], std::move(shared),
                                item_bytes, network_);
        }
    }

    rank_t num_ranks() const { return static_cast<rank_t>(ranks_.size()); }
    schedule_rank& rank(rank_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  private:
    struct alignas(exchange_buffer::alignment) line {
        std::byte bytes[exchange_buffer::alignment];
    };

    schedule_network network_;
    std::deque<std::vector<line>> memory_;
    std::deque<schedule_rank> ranks_;
};

}  // namespace crossdock::test

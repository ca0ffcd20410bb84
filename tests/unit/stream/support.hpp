#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chunk_blocks.hpp"
#include "src/stream/stream_engine.hpp"

namespace crossdock::test {

/// Messages and waves between processes that are really objects of one.
///
/// As with MPI, messages of one sender and one urgency take rooms in their order; that they have
/// come, and that they have been sent, is known later and in an order that a seed chooses. All are
/// long: they leave when there is room for them and their sender makes progress.
class network {
  public:
    network(int num_processes, unsigned seed)
        : num_processes_(num_processes), random_(seed), processes_(index(num_processes)) {}

    void send(rank_t from, chunk_ref ref, std::span<const std::byte> message, rank_t to,
              bool is_urgent) {
        const std::lock_guard lock(mutex_);
        processes_[index(from)].departing[{to, is_urgent}].push_back({ref, message});
    }

    void receive(rank_t here, chunk_ref ref, std::span<std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        processes_[index(here)].rooms.push_back({ref, bytes});
    }

    void poll(rank_t here, stream_transport::events& into) {
        const std::lock_guard lock(mutex_);
        if (is_down_) throw std::runtime_error("the network is down");
        process& p = processes_[index(here)];
        depart(p);
        while (!p.sent.empty() && !is_late()) into.sent.push_back(take_any(p.sent));
        while (!p.matched.empty() && !is_late()) into.arrived.push_back(take_any(p.matched));
    }

    void progress(rank_t here) {
        const std::lock_guard lock(mutex_);
        depart(processes_[index(here)]);
        ++num_progress_calls_;
    }
    int num_progress_calls() const noexcept { return num_progress_calls_; }
    void take_down() noexcept { is_down_ = true; }

    void start_wave(rank_t here, const wave_sums& own) {
        const std::lock_guard lock(mutex_);
        const std::size_t number = processes_[index(here)].num_waves++;
        if (waves_.size() <= number) waves_.resize(number + 1);
        wave& w = waves_[number];
        ++w.num_given;
        w.sums.sent += own.sent;
        w.sums.handled += own.handled;
        w.sums.failed = std::max(w.sums.failed, own.failed);
    }

    std::optional<wave_sums> test_wave(rank_t here) {
        const std::lock_guard lock(mutex_);
        const wave& w = waves_[processes_[index(here)].num_waves - 1];
        if (w.num_given < num_processes_ || is_late()) return std::nullopt;
        return w.sums;
    }

  private:
    struct room {
        chunk_ref ref;
        std::span<std::byte> bytes;
    };
    struct packet {
        chunk_ref ref;
        std::span<const std::byte> bytes;
    };
    struct process {
        std::map<std::pair<rank_t, bool>, std::deque<packet>> departing;  // by whom they are for
        std::vector<chunk_ref> sent;                                      // not known yet to be
        std::vector<room> rooms;
        std::vector<chunk_ref> matched;  // not known yet to have come
        std::size_t num_waves = 0;
    };
    struct wave {
        int num_given = 0;
        wave_sums sums;
    };

    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    bool is_late() { return random_() % 4 == 0; }
    template <class T>
    T take_any(std::vector<T>& from) {
        const std::size_t i = random_() % from.size();
        T result = std::move(from[i]);
        from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
        return result;
    }

    // Messages take turns at the rooms.
    void depart(process& from) {
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            for (auto& [destination, queue] : from.departing) {
                process& to = processes_[index(destination.first)];
                if (queue.empty() || to.rooms.empty()) continue;
                const room endpoint = take_any(to.rooms);
                const auto& [ref, bytes] = queue.front();
                ASSERT_LE(bytes.size(), endpoint.bytes.size());
                std::memcpy(endpoint.bytes.data(), bytes.data(), bytes.size());
                to.matched.push_back(endpoint.ref);
                from.sent.push_back(ref);
                queue.pop_front();
                has_moved = true;
            }
        }
    }

    int num_processes_;
    int num_progress_calls_ = 0;
    bool is_down_ = false;
    std::mutex mutex_;
    std::mt19937 random_;
    std::vector<process> processes_;
    std::vector<wave> waves_;
};

/// One process's end of the network.
class network_transport final : public stream_transport {
  public:
    network_transport(network& all, rank_t here) : all_(all), here_(here) {}
    void send(chunk_ref ref, std::span<const std::byte> message, rank_t destination,
              bool is_urgent) override {
        all_.send(here_, ref, message, destination, is_urgent);
    }
    void receive(chunk_ref ref, std::span<std::byte> room) override {
        all_.receive(here_, ref, room);
    }
    void poll(events& into) override { all_.poll(here_, into); }
    void progress() override { all_.progress(here_); }
    void start_wave(const wave_sums& own) override { all_.start_wave(here_, own); }
    std::optional<wave_sums> test_wave() override { return all_.test_wave(here_); }

  private:
    network& all_;
    rank_t here_;
};

/// What handlers do, as functions.
class function_sink final : public stream_sink {
  public:
    std::function<void(stream_worker&, const stream_arrivals&)> on_arrival;
    std::function<std::uint64_t(const std::byte*)> key_of;
    std::function<void(std::byte*, const std::byte*)> combine_into;

    void handle(stream_worker& worker, const stream_arrivals& arrivals) override {
        on_arrival(worker, arrivals);
    }
    std::uint64_t key(const std::byte* item) const override { return key_of(item); }
    void combine(std::byte* into, const std::byte* item) const override {
        combine_into(into, item);
    }
};

/// All processes of a stream. Those of a node share memory; the others have the network.
class stream_world {
  public:
    function_sink sink;

    stream_world(const topology& nodes, stream_options options,
                 std::vector<stream_channel> channels, unsigned seed = 1,
                 std::optional<std::thread::id> driver = std::nullopt)
        : nodes_(nodes), options_(std::move(options)), network_(nodes.num_ranks(), seed) {
        if (options_.route == "auto") options_.route = "direct";  // as streams do over MPI
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            layouts_.emplace_back(nodes, options_.route, options_.scheme, options_.workers, rank);
            transports_.emplace_back(network_, rank);
        }
        const chunk_layout shape = stream_chunk_layout(layouts_[0], options_, channels);
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            sizes_.push_back(chunk_memory_sizes(layout(rank), options_,
                                                static_cast<int>(channels.size()),
                                                num_sharing_groups() > 1));
        }
        // Chunks begin at the same endpoint in all blocks.
        std::uint32_t most_shared = 0;
        for (const auto& s : sizes_) most_shared = std::max(most_shared, s.num_shared_buffers);
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            sizes_[index(rank)].num_shared_buffers = most_shared;
            blocks_.push_back(make_block(chunk_memory::block_bytes(shape, sizes_[index(rank)])));
        }
        std::deque<chunk_memory> memories;
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            const bool is_shared = options_.shared_memory;
            memories.emplace_back(shape, sizes_[index(rank)], blocks_seen_by(rank),
                                  is_shared ? nodes.local_rank(rank) : 0);
            memories.back().initialize();
        }
        for (rank_t rank = 0; rank < nodes.num_ranks(); ++rank) {
            engines_.emplace_back(rank, layout(rank), options_, sink,
                                  std::move(memories[index(rank)]), transports_[index(rank)],
                                  driver);
        }
    }

    int num_workers() const { return nodes_.num_ranks() * options_.workers; }
    const stream_options& options() const { return options_; }
    const topology& nodes() const { return nodes_; }
    const stream_layout& layout(rank_t rank) const { return layouts_[index(rank)]; }
    int num_progress_calls() const noexcept { return network_.num_progress_calls(); }
    /// From now on nobody's messages can be asked for.
    void take_network_down() noexcept { network_.take_down(); }
    stream_engine& engine(rank_t rank) { return engines_[index(rank)]; }
    stream_worker& worker(int number) {
        return engine(number / options_.workers).worker(number % options_.workers);
    }
    worker_id id_of(int number) const {
        return {number / options_.workers, number % options_.workers};
    }
    int number_of(worker_id id) const { return id.rank * options_.workers + id.worker; }

    /// Calls `act(worker, its number)` on a thread for each worker.
    template <class Act>
    void on_all(const Act& act) {
        std::vector<std::thread> threads;
        for (int number = 0; number < num_workers(); ++number) {
            threads.emplace_back([this, &act, number] {
                try {
                    act(worker(number), number);
                } catch (const std::exception& fault) {
                    ADD_FAILURE() << "worker " << number << ": " << fault.what();
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }

    stream_statistics statistics(rank_t rank) {
        stream_statistics sum;
        for (int w = 0; w < options_.workers; ++w) sum += engine(rank).worker(w).statistics();
        return sum;
    }
    stream_statistics statistics() {
        stream_statistics sum;
        for (rank_t rank = 0; rank < nodes_.num_ranks(); ++rank) sum += statistics(rank);
        return sum;
    }

  private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }

    int num_sharing_groups() const {
        return options_.shared_memory ? nodes_.num_regions() : nodes_.num_ranks();
    }
    std::vector<std::byte*> blocks_seen_by(rank_t rank) const {
        if (!options_.shared_memory) return {blocks_[index(rank)].get()};
        std::vector<std::byte*> result;
        const region_t node = nodes_.region_of(rank);
        for (rank_t local = 0; local < nodes_.region_size(node); ++local) {
            result.push_back(blocks_[index(nodes_.rank_at(node, local))].get());
        }
        return result;
    }

    topology nodes_;
    stream_options options_;
    network network_;
    std::deque<stream_layout> layouts_;
    std::deque<network_transport> transports_;
    std::vector<chunk_memory::sizes> sizes_;
    std::vector<block_ptr> blocks_;
    std::deque<stream_engine> engines_;
};

/// Begins a drain and waits until it has ended.
inline void drain(stream_worker& worker) {
    worker.start_drain();
    while (!worker.test_drain()) std::this_thread::yield();
}

}  // namespace crossdock::test

#include "calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "measuring.hpp"
#include "src/base/shared_window_mpi.hpp"
#include "src/model/host_cores_mpi.hpp"

namespace crossdock {

namespace {

constexpr double longest_seconds = 3600;
constexpr double least_seconds = 1e-10;  // a time is never 0
constexpr int max_burst = 16;
constexpr int data_tag = 1;
constexpr int waiting_tag = 2;  // of receives that nothing is sent to

// Shares of the time.
constexpr double ping_pong_share = 0.10;  // of each level
constexpr double burst_share = 0.10;      // of each level
constexpr double load_share = 0.04;       // of each level
constexpr double injection_share = 0.10;
constexpr double matching_share = 0.06;
constexpr double copying_share = 0.04;
constexpr double hand_over_share = 0.03;
constexpr double slice_share = 0.05;

constexpr std::array measured_levels{locality_level::region, locality_level::node,
                                     locality_level::network};

double elapsed_since(double start_seconds) {
    return std::max(MPI_Wtime() - start_seconds, least_seconds);
}

double core_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<double> powers_of_two(double first, double last, double factor = 2) {
    std::vector<double> all;
    for (double value = first; value <= last; value *= factor) all.push_back(value);
    return all;
}

std::vector<timed_amount> pair_up(const std::vector<double>& amounts,
                                  const std::vector<double>& seconds) {
    std::vector<timed_amount> samples;
    for (std::size_t c = 0; c < amounts.size(); ++c)
        samples.push_back({amounts[c], std::max(seconds[c], least_seconds)});
    return samples;
}

// The next ranks at a level, at most so many, from a rank on and around.
std::vector<rank_t> peers_of(const rank_layout& layout, rank_t rank, locality_level level,
                             int max_peers) {
    const auto& nodes = layout.nodes();
    const bool is_near = level != locality_level::network;
    const region_t node = nodes.region_of(rank);
    const rank_t size = is_near ? nodes.region_size(node) : layout.num_ranks();
    const rank_t own = is_near ? nodes.local_rank(rank) : rank;
    std::vector<rank_t> peers;
    for (rank_t k = 1; k < size && static_cast<int>(peers.size()) < max_peers; ++k) {
        const rank_t place = static_cast<rank_t>((std::int64_t{own} + k) % size);
        const rank_t peer = is_near ? nodes.rank_at(node, place) : place;
        if (layout.level_of(rank, peer) == level) peers.push_back(peer);
    }
    return peers;
}

// The first two ranks at a level.
std::optional<rank_pair> find_pair(const rank_layout& layout, locality_level level) {
    for (rank_t rank = 0; rank < layout.num_ranks(); ++rank) {
        const auto peers = peers_of(layout, rank, level, 1);
        if (!peers.empty()) return rank_pair{rank, peers.front()};
    }
    return std::nullopt;
}

// Messages of all ranks that are sent again and again.
class message_set {
  public:
    message_set() = default;
    message_set(const message_set&) = delete;
    message_set& operator=(const message_set&) = delete;
    message_set(message_set&& other) noexcept = default;
    message_set& operator=(message_set&&) = delete;
    ~message_set() {
        for (auto* list : {&receives_, &sends_})
            for (auto& request : *list) MPI_Request_free(&request);
    }

    void send_to(rank_t rank, std::size_t bytes, MPI_Comm comm) {
        auto& buffer = buffers_.emplace_back(bytes);
        CROSSDOCK_MPI(MPI_Send_init(buffer.data(), checked_cast<int>(bytes), MPI_BYTE, rank,
                                    data_tag, comm, &sends_.emplace_back(MPI_REQUEST_NULL)));
    }
    void receive_from(rank_t rank, std::size_t bytes, MPI_Comm comm) {
        auto& buffer = buffers_.emplace_back(bytes);
        CROSSDOCK_MPI(MPI_Recv_init(buffer.data(), checked_cast<int>(bytes), MPI_BYTE, rank,
                                    data_tag, comm, &receives_.emplace_back(MPI_REQUEST_NULL)));
    }

    // The part is the time of a core in the calls that send.
    found_times exchange() {
        const double start = MPI_Wtime();
        const double first_core_seconds = core_seconds();
        if (!receives_.empty())
            CROSSDOCK_MPI(MPI_Startall(static_cast<int>(receives_.size()), receives_.data()));
        const double core_start = core_seconds();
        for (auto& request : sends_) CROSSDOCK_MPI(MPI_Start(&request));
        const double sending = core_seconds() - core_start;
        wait_for(receives_);
        wait_for(sends_);
        return {elapsed_since(start), core_seconds() - first_core_seconds, sending};
    }

  private:
    std::vector<MPI_Request> receives_;
    std::vector<MPI_Request> sends_;
    std::vector<std::vector<std::byte>> buffers_;
};

class measurer {
  public:
    measurer(const communicator& comm, const rank_layout& layout,
             const calibration_options& options)
        : comm_(comm), layout_(layout), options_(options) {}

    machine_samples run() {
        samples_.name = options_.name;
        samples_.description = options_.description;
        samples_.num_ranks = comm_.num_ranks();
        samples_.num_cores = count_shared_cores(comm_);
        for (const auto level : measured_levels) {
            if (const auto pair = find_pair(layout_, level)) measure_level(level, *pair);
        }
        measure_injection();
        measure_matching();
        measure_copying();
        measure_hand_over();
        measure_time_slices();
        return std::move(samples_);
    }

  private:
    // Tells the user what comes next; returns its seconds.
    double begin(const std::string& part, double share) {
        if (comm_.rank() == 0 && options_.progress) options_.progress(part, share_over_);
        share_over_ += share;
        return share * options_.seconds;
    }

    void measure_level(locality_level level, rank_pair pair) {
        const std::string name = locality_level_names[static_cast<std::size_t>(level)];
        auto& samples = samples_.levels[static_cast<std::size_t>(level)].emplace();
        samples.num_ranks = count_ranks(level);
        samples.one_way = ping_pong(pair, begin(name + " ping-pong", ping_pong_share));
        measure_bursts(level, samples, begin(name + " bursts", burst_share));
        if (samples_.num_cores > 0)
            samples.loads = measure_loads(level, begin(name + " loads", load_share));
    }

    int count_ranks(locality_level level) const {
        int count = 0;
        for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank)
            count += !peers_of(layout_, rank, level, 1).empty();
        return count;
    }

    std::vector<timed_amount> ping_pong(rank_pair pair, double seconds) {
        const auto sizes = powers_of_two(1, 1 << 20);
        constexpr double long_bytes = 8192;
        std::vector<std::byte> buffer(static_cast<std::size_t>(sizes.back()));
        const auto times = measure_by_two(comm_.get(), pair, sizes.size(), seconds, [&](auto c) {
            return one_way(pair, buffer, static_cast<int>(sizes[c]), sizes[c] > long_bytes ? 2 : 8);
        });
        return pair_up(sizes, times);
    }

    double one_way(rank_pair pair, std::vector<std::byte>& buffer, int bytes, int num_trips) {
        const bool is_first = comm_.rank() == pair.first;
        const rank_t other = is_first ? pair.second : pair.first;
        const double start = MPI_Wtime();
        for (int k = 0; k < num_trips; ++k) {
            MPI_Request receive = MPI_REQUEST_NULL;
            MPI_Request send = MPI_REQUEST_NULL;
            CROSSDOCK_MPI(
                MPI_Irecv(buffer.data(), bytes, MPI_BYTE, other, data_tag, comm_.get(), &receive));
            if (!is_first) wait_for(receive);
            CROSSDOCK_MPI(
                MPI_Isend(buffer.data(), bytes, MPI_BYTE, other, data_tag, comm_.get(), &send));
            if (is_first) wait_for(receive);
            wait_for(send);
        }
        return elapsed_since(start) / (2 * num_trips);
    }

    // To whom a rank sends in a burst.
    std::vector<rank_t> burst_of(rank_t rank, locality_level level, int num_messages) const {
        const auto peers = peers_of(layout_, rank, level, num_messages);
        std::vector<rank_t> destinations;
        for (int k = 0; k < num_messages && !peers.empty(); ++k)
            destinations.push_back(peers[static_cast<std::size_t>(k) % peers.size()]);
        return destinations;
    }

    message_set make_burst(locality_level level, int num_messages, std::size_t bytes) const {
        message_set burst;
        for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank) {
            const bool is_own = rank == comm_.rank();
            if (!is_own && layout_.level_of(rank, comm_.rank()) != level) continue;
            for (const rank_t destination : burst_of(rank, level, num_messages)) {
                if (is_own) burst.send_to(destination, bytes, comm_.get());
                if (destination == comm_.rank()) burst.receive_from(rank, bytes, comm_.get());
            }
        }
        return burst;
    }

    // Of shared cores only the time that ranks had them counts, not what other programs took.
    double time_of(const found_times& round) const {
        if (samples_.num_cores == 0) return round.seconds;
        return std::max(round.core_seconds / samples_.num_cores, least_seconds);
    }

    void measure_bursts(locality_level level, level_samples& samples, double seconds) {
        const auto counts = burst_counts(level);
        constexpr std::size_t bytes = 8;
        std::vector<message_set> bursts;
        for (const double count : counts)
            bursts.push_back(make_burst(level, static_cast<int>(count), bytes));
        const auto found = measure_by_all(comm_.get(), counts.size(), seconds,
                                          [&](auto c) { return bursts[c].exchange(); });
        for (std::size_t c = 0; c < counts.size(); ++c) {
            std::vector<double> times;
            std::vector<double> sends;
            for (const auto& round : found[c]) {
                times.push_back(time_of(round));
                sends.push_back(std::max(round.part / samples.num_ranks, least_seconds));
            }
            samples.bursts.push_back({counts[c], lower_quartile(std::move(times))});
            samples.sends.push_back({counts[c], lower_quartile(std::move(sends))});
        }
    }

    // As many as a rank has others at the level, if those are several: messages to one are cheaper.
    std::vector<double> burst_counts(locality_level level) const {
        constexpr std::size_t several = 4;
        const auto pair = find_pair(layout_, level);
        const auto num_peers = peers_of(layout_, pair->first, level, max_burst).size();
        const std::size_t most = num_peers < several ? max_burst : num_peers;
        std::set<double> counts;
        for (std::size_t k = 1; k <= 8; ++k)
            counts.insert(static_cast<double>(std::max<std::size_t>(most * k / 8, 1)));
        return {counts.begin(), counts.end()};
    }

    // Bursts of messages that grow longer.
    std::vector<timed_amount> measure_loads(locality_level level, double seconds) const {
        constexpr int num_messages = 4;
        const auto sizes = powers_of_two(64, 64 << 10, 4);
        std::vector<message_set> bursts;
        for (const double bytes : sizes)
            bursts.push_back(make_burst(level, num_messages, static_cast<std::size_t>(bytes)));
        return slowest_times(bursts, sizes, num_messages, seconds);
    }

    // The lower quartile of each, where every rank or node has `factor` times the bytes of a message.
    std::vector<timed_amount> slowest_times(std::vector<message_set>& sets,
                                            const std::vector<double>& sizes, double factor,
                                            double seconds) const {
        const auto found = measure_by_all(comm_.get(), sets.size(), seconds,
                                          [&](auto c) { return sets[c].exchange(); });
        std::vector<timed_amount> samples;
        for (std::size_t c = 0; c < sets.size(); ++c) {
            std::vector<double> times;
            for (const auto& round : found[c]) times.push_back(time_of(round));
            samples.push_back({factor * sizes[c], lower_quartile(std::move(times))});
        }
        return samples;
    }

    // Every rank sends to its counterpart on the next node.
    message_set make_stream(std::size_t bytes) const {
        const auto& nodes = layout_.nodes();
        const auto destination = [&](rank_t rank) {
            const region_t next = (nodes.region_of(rank) + 1) % nodes.num_regions();
            return nodes.rank_at(next, nodes.local_rank(rank) % nodes.region_size(next));
        };
        message_set stream;
        stream.send_to(destination(comm_.rank()), bytes, comm_.get());
        for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank) {
            if (destination(rank) == comm_.rank()) stream.receive_from(rank, bytes, comm_.get());
        }
        return stream;
    }

    void measure_injection() {
        const auto& nodes = layout_.nodes();
        if (nodes.num_regions() == 1) return;
        const auto sizes = powers_of_two(16 << 10, 512 << 10);
        rank_t largest_node = 0;
        for (region_t node = 0; node < nodes.num_regions(); ++node)
            largest_node = std::max(largest_node, nodes.region_size(node));
        std::vector<message_set> streams;
        for (const double bytes : sizes)
            streams.push_back(make_stream(static_cast<std::size_t>(bytes)));
        samples_.injection =
            slowest_times(streams, sizes, largest_node, begin("injection", injection_share));
    }

    std::optional<rank_pair> nearest_pair() const {
        for (const auto level : measured_levels) {
            if (const auto pair = find_pair(layout_, level)) return pair;
        }
        return std::nullopt;
    }

    void measure_matching() {
        const auto pair = nearest_pair();
        if (!pair) return;
        const std::vector<double> counts{0, 128, 256, 512, 1024};
        const auto times = measure_by_two(
            comm_.get(), *pair, counts.size(), begin("matching", matching_share),
            [&](auto c) { return trip_past_receives(*pair, static_cast<int>(counts[c])); });
        samples_.matching = pair_up(counts, times);
    }

    // There and back, where the second rank has posted other receives before.
    double trip_past_receives(rank_pair pair, int num_waiting) {
        constexpr int num_trips = 8;
        std::byte nothing{};
        std::vector<std::byte> buffer(1);
        std::vector<MPI_Request> waiting;
        for (int k = 0; comm_.rank() == pair.second && k < num_waiting; ++k) {
            // From all ranks in turn, as MPI may have a queue for each.
            CROSSDOCK_MPI(MPI_Irecv(&nothing, 1, MPI_BYTE, k % comm_.num_ranks(), waiting_tag,
                                    comm_.get(), &waiting.emplace_back(MPI_REQUEST_NULL)));
        }
        one_way(pair, buffer, 1, 1);
        const double seconds = 2 * one_way(pair, buffer, 1, num_trips);
        for (auto& request : waiting) CROSSDOCK_MPI(MPI_Cancel(&request));
        wait_for(waiting);
        return seconds;
    }

    void measure_copying() {
        const double seconds = begin("copying", copying_share) / 2;
        const auto sizes = powers_of_two(1 << 10, 256 << 10);
        std::vector<std::byte> from(1 << 20, std::byte{1});
        std::vector<std::byte> to(from.size());
        samples_.copying =
            pair_up(sizes, measure_by_two(comm_.get(), {}, sizes.size(), seconds, [&](auto c) {
                        const auto bytes = static_cast<std::size_t>(sizes[c]);
                        const double start = MPI_Wtime();
                        std::memcpy(to.data(), from.data(), bytes);
                        std::memcpy(from.data(), to.data(), bytes);
                        return elapsed_since(start) / 2;
                    }));
        measure_gathering(seconds);
    }

    // As the executor gathers: by 32-bit offsets in any order.
    void measure_gathering(double seconds) {
        const auto counts = powers_of_two(64, 16384);
        std::vector<std::int32_t> offsets(static_cast<std::size_t>(counts.back()));
        std::iota(offsets.begin(), offsets.end(), 0);
        std::shuffle(offsets.begin(), offsets.end(), std::mt19937(0));
        std::vector<double> from(offsets.size(), 1);
        std::vector<double> to(offsets.size());
        samples_.gathering =
            pair_up(counts, measure_by_two(comm_.get(), {}, counts.size(), seconds, [&](auto c) {
                        const auto count = static_cast<std::size_t>(counts[c]);
                        const double start = MPI_Wtime();
                        for (std::size_t k = 0; k < count; ++k)
                            to[k] = from[static_cast<std::size_t>(offsets[k])];
                        std::atomic_signal_fence(std::memory_order_seq_cst);
                        return elapsed_since(start);
                    }));
    }

    void measure_hand_over() {
        const double seconds = begin("hand-over", hand_over_share);
        auto node = comm_.split_by_node();
        auto window = on_all_or_none(
            comm_, [&] { return shared_window(node.get(), shared_window::alignment); });
        const auto pair = find_sharing_pair(node);
        if (pair) {
            const auto times = measure_by_two(comm_.get(), *pair, 1, seconds,
                                              [&](auto) { return hand_over(*pair, window); });
            samples_.hand_over_seconds = times.front();
        }
        window.free();
        node.close();
    }

    // The first two ranks of the first of the machines that have as many.
    std::optional<rank_pair> find_sharing_pair(const communicator& node) const {
        const rank_t own = comm_.rank();
        std::vector<rank_t> members(static_cast<std::size_t>(node.num_ranks()));
        CROSSDOCK_MPI(MPI_Allgather(&own, 1, MPI_INT, members.data(), 1, MPI_INT, node.get()));
        const rank_t none = comm_.num_ranks();
        // Of one node: the one with the lowest rank that has a second.
        std::array<rank_t, 2> pair{none, none};
        if (members.size() > 1) pair = {members[0], members[1]};
        rank_t first = pair[0];
        CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm_.get()));
        if (first == none) return std::nullopt;
        CROSSDOCK_MPI(MPI_Bcast(pair.data(), 2, MPI_INT, first, comm_.get()));
        return rank_pair{pair[0], pair[1]};
    }

    double hand_over(rank_pair pair, const shared_window& window) {
        constexpr int num_trips = 100;
        const bool is_first = comm_.rank() == pair.first;
        const auto flag_of = [&](std::size_t k) {
            return std::atomic_ref<std::int64_t>(
                *reinterpret_cast<std::int64_t*>(window.pieces()[k]));
        };
        const auto raise_own = [&] {
            flag_of(is_first ? 0 : 1).store(++flag_, std::memory_order_release);
        };
        const auto see_other = [&](std::int64_t value) {
            constexpr int looks_between_yields = 1000;
            const auto other = flag_of(is_first ? 1 : 0);
            for (int looks = 1; other.load(std::memory_order_acquire) < value; ++looks) {
                if (looks % looks_between_yields == 0) std::this_thread::yield();
            }
        };
        const double start = MPI_Wtime();
        for (int k = 0; k < num_trips; ++k) {
            if (!is_first) see_other(flag_ + 1);
            raise_own();
            if (is_first) see_other(flag_);
        }
        return elapsed_since(start) / (2 * num_trips);
    }

    // An exchange takes the work of all ranks, and time in which ranks look in vain: each sends in one turn
    // and takes what has come in the next. That time is what exchanges of no messages would take.
    void measure_time_slices() {
        const auto level = farthest_level();
        if (samples_.num_cores == 0 || !level) return;
        constexpr std::size_t bytes = 8;
        constexpr std::array<int, 2> counts{1, 4};
        std::vector<message_set> bursts;
        for (const int count : counts) bursts.push_back(make_burst(*level, count, bytes));
        const auto found =
            measure_by_all(comm_.get(), counts.size(), begin("time_slices", slice_share),
                           [&](auto c) { return bursts[c].exchange(); });
        std::array<double, 2> times{};
        for (std::size_t c = 0; c < counts.size(); ++c) {
            std::vector<double> rounds;
            for (const auto& round : found[c]) rounds.push_back(round.seconds);
            times[c] = lower_quartile(std::move(rounds));
        }
        const double of_a_message = (times[1] - times[0]) / (counts[1] - counts[0]);
        const double of_none = std::max(times[0] - counts[0] * of_a_message, 0.0);
        samples_.time_slice_seconds = of_none * samples_.num_cores / (2.0 * comm_.num_ranks());
    }

    std::optional<locality_level> farthest_level() const {
        for (const auto level :
             {locality_level::network, locality_level::node, locality_level::region}) {
            if (find_pair(layout_, level)) return level;
        }
        return std::nullopt;
    }

    communicator comm_;
    const rank_layout& layout_;
    const calibration_options& options_;
    machine_samples samples_;
    double share_over_ = 0;
    std::int64_t flag_ = 0;
};

void check(const communicator& comm, const rank_layout& layout,
           const calibration_options& options) {
    const auto arguments =
        fmt::format("{} {} {} {} {}", options.seconds, options.name, options.description,
                    layout.regions().to_string(), layout.nodes().to_string());
    on_all_or_none(
        comm,
        [&] {
            if (!(options.seconds > 0 && options.seconds <= longest_seconds)) {
                throw error(errc::invalid_argument,
                            fmt::format("measuring cannot take {} seconds, only up to {}",
                                        options.seconds, longest_seconds));
            }
            if (layout.num_ranks() != comm.num_ranks()) {
                throw error(errc::size_mismatch, fmt::format("a layout of {} ranks, but {} ranks",
                                                             layout.num_ranks(), comm.num_ranks()));
            }
        },
        agreement_hash(arguments));
}

}  // namespace

calibration calibrate(const communicator& comm, const rank_layout& layout,
                      const calibration_options& options) {
    check(comm, layout, options);
    communicator own(comm.get());
    const auto samples = measurer(own, layout, options).run();
    auto result = on_all_or_none(own, [&] { return fit_machine(samples); });
    own.close();
    return result;
}

}  // namespace crossdock

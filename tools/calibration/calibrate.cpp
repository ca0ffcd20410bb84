#include "calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "copying.hpp"
#include "crossdock/discover_topology.hpp"
#include "device_copies.hpp"
#include "hand_over.hpp"
#include "measuring.hpp"
#include "message_set.hpp"
#include "peers.hpp"

namespace crossdock {

namespace {

constexpr double longest_seconds = 3600;
constexpr int waiting_tag = 2;  // of receives that nothing is sent to

// Shares of the time.
constexpr double ping_pong_share = 0.10;  // of each level
constexpr double burst_share = 0.10;      // of each level
constexpr double load_share = 0.04;       // of each level
constexpr double injection_share = 0.10;
constexpr double matching_share = 0.06;
constexpr double copying_share = 0.04;
constexpr double hand_over_share = 0.02;
constexpr double slice_share = 0.04;
constexpr double device_share = 0.02;

class measurer {
  public:
    measurer(const communicator& comm, const rank_layout& layout,
             const calibration_options& options)
        : comm_(comm), layout_(layout), options_(options), levels_(levels_with_peers(layout)) {}

    machine_samples run() {
        samples_.name = options_.name;
        samples_.description = options_.description;
        samples_.num_ranks = comm_.num_ranks();
        std::optional<error> fault;
        samples_.num_cores = count_shared_cores(comm_, fault);
        agree(comm_, fault);
        for (const auto level : levels_) measure_level(level, *find_pair(layout_, level));
        measure_injection();
        measure_matching();
        const double copying_seconds = begin("copying", copying_share) / 2;
        samples_.copying = measure_copying(comm_.get(), copying_seconds);
        samples_.gathering = measure_gathering(comm_.get(), copying_seconds);
        samples_.hand_over_seconds = measure_hand_over(comm_, begin("hand-over", hand_over_share));
        measure_time_slices();
        samples_.device_copies = measure_device_copies(comm_, begin("device", device_share));
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
        samples.num_ranks = count_ranks_with_peers(layout_, level);
        samples.one_way = ping_pong(pair, begin(name + " ping-pong", ping_pong_share));
        measure_bursts(level, samples, begin(name + " bursts", burst_share));
        if (samples_.num_cores > 0)
            samples.loads = measure_loads(level, begin(name + " loads", load_share));
    }

    std::vector<timed_amount> ping_pong(rank_pair pair, double seconds) {
        const auto sizes = powers_up_to(1, 1 << 20);
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

    message_set make_burst(locality_level level, int num_messages, std::size_t bytes) const {
        message_set burst;
        for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank) {
            const bool is_own = rank == comm_.rank();
            if (!is_own && layout_.level_of(rank, comm_.rank()) != level) continue;
            for (const rank_t destination : burst_of(layout_, rank, level, num_messages)) {
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
        const auto counts = burst_counts(layout_, level);
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

    // Bursts of messages that grow longer.
    std::vector<timed_amount> measure_loads(locality_level level, double seconds) const {
        constexpr int num_messages = 4;
        const auto sizes = powers_up_to(64, 64 << 10, 4);
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
        const auto sizes = powers_up_to(16 << 10, 512 << 10);
        rank_t largest_node = 0;
        for (region_t node = 0; node < nodes.num_regions(); ++node)
            largest_node = std::max(largest_node, nodes.region_size(node));
        std::vector<message_set> streams;
        for (const double bytes : sizes)
            streams.push_back(make_stream(static_cast<std::size_t>(bytes)));
        samples_.injection =
            slowest_times(streams, sizes, largest_node, begin("injection", injection_share));
    }

    void measure_matching() {
        if (levels_.empty()) return;
        const auto pair = find_pair(layout_, levels_.front());
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

    // An exchange takes the work of all ranks, and time in which ranks look in vain: each sends in one turn
    // and takes what has come in the next. That time is what exchanges of no messages would take.
    void measure_time_slices() {
        if (samples_.num_cores == 0 || levels_.empty()) return;
        constexpr std::size_t bytes = 8;
        constexpr std::array<int, 2> counts{1, 4};
        std::vector<message_set> bursts;
        for (const int count : counts) bursts.push_back(make_burst(levels_.back(), count, bytes));
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

    communicator comm_;
    const rank_layout& layout_;
    const calibration_options& options_;
    const std::vector<locality_level> levels_;  // at which there is something to measure
    machine_samples samples_;
    double share_over_ = 0;
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
                throw error(
                    errc::invalid_argument,
                    fmt::format(
                        "calibration cannot take {} seconds; give more than 0 and at most {}",
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
    comm.wait_for_all();  // making a communicator and counting cores block in MPI
    communicator own(comm.get());
    const auto samples = measurer(own, layout, options).run();
    auto result = on_all_or_none(own, [&] { return fit_machine(samples); });
    own.close();
    return result;
}

}  // namespace crossdock

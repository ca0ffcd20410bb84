// How long the halo of an array in a device's memory takes: by crossdock, and by two programs written by hand. One
// copies the whole array down and packs on the host; the other packs on the device, as crossdock does. It prints a
// record.
//
//     usage: device_bench [items of a rank] [repetitions]
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "crossdock/device_exchange.hpp"
#include "support.hpp"

namespace crossdock::device_test {

namespace {

// Every rank sends `num_each` items to each of the four ranks beside it; one that is alone, to itself.
pattern make_pattern(rank_t rank, rank_t num_ranks, count_t num_items, count_t num_each) {
    pattern p{rank, num_ranks, num_items, 0, {}, {}};
    std::vector<rank_t> peers;
    for (const rank_t step : {-2, -1, 1, 2}) {
        const rank_t peer = ((rank + step) % num_ranks + num_ranks) % num_ranks;
        if ((peer != rank || num_ranks == 1) && std::ranges::find(peers, peer) == peers.end())
            peers.push_back(peer);
    }
    std::ranges::sort(peers);
    std::mt19937_64 random(static_cast<std::uint64_t>(rank));
    const count_t stride = num_items / num_each;
    for (const rank_t peer : peers) {
        std::vector<count_t> items, slots;
        for (count_t first = 0; first + stride <= num_items; first += stride) {
            items.push_back(first +
                            static_cast<count_t>(random() % static_cast<std::uint64_t>(stride)));
            slots.push_back(p.num_slots++);
        }
        p.sends.append(peer, items);
        p.receives.append(peer, slots);
    }
    return p;
}

// By hand: one message for each neighbor, from where `send` has them to where `receive` wants them.
void send_by_hand(const pattern& p, const double* send, double* receive) {
    std::vector<MPI_Request> requests;
    const auto at = [](const neighbor_list& side, std::size_t e) {
        return static_cast<std::size_t>(side.offsets[e]);
    };
    for (std::size_t e = 0; e < p.receives.size(); ++e)
        MPI_Irecv(receive + at(p.receives, e), static_cast<int>(p.receives[e].size()), MPI_DOUBLE,
                  p.receives.ranks[e], 0, MPI_COMM_WORLD, &requests.emplace_back());
    for (std::size_t e = 0; e < p.sends.size(); ++e)
        MPI_Isend(send + at(p.sends, e), static_cast<int>(p.sends[e].size()), MPI_DOUBLE,
                  p.sends.ranks[e], 0, MPI_COMM_WORLD, &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// The median over repetitions of the slowest rank's time.
template <class Exchange>
double median_seconds(int num_repetitions, Exchange&& exchange) {
    std::vector<double> times;
    for (int i = 0; i < num_repetitions + 5; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        exchange();
        double took = MPI_Wtime() - begin;
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (i >= 5) times.push_back(took);
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
}

template <class Exchange>
void time(const char* name, rank_t rank, int num_repetitions, Exchange&& exchange) {
    const double seconds = median_seconds(num_repetitions, exchange);
    if (rank == 0) std::cout << ",\"" << name << "\":" << seconds;
}

// What a machine says of copies between a device and the host, while all ranks copy: the mean of both directions.
protocol_parameters measure_copy(driver& on, int num_repetitions) {
    const own_stream by(on);
    const auto seconds = [&](count_t num_bytes) {
        const device_array<std::byte> there(
            on, std::vector<std::byte>(static_cast<std::size_t>(num_bytes)));
        const pinned_array<std::byte> here(on, there.span().size());
        return median_seconds(num_repetitions,
                              [&] {
                                  on.copy_down(here.data(), there.data(), here.span().size(), by);
                                  on.wait_for(by);
                                  on.copy_up(there.data(), here.data(), here.span().size(), by);
                                  on.wait_for(by);
                              }) /
               2;
    };
    constexpr count_t few = 8, many = 1 << 22;
    const double latency = seconds(few);
    return {latency, std::max(seconds(many) - latency, 0.) / static_cast<double>(many - few)};
}

void measure(const context& world, const std::shared_ptr<driver>& on, const pattern& p,
             int num_repetitions) {
    const auto num_sent = p.sends.indices.size();
    const own_stream by(*on);
    const device_array<double> x(*on, draw<double>(p.num_items, static_cast<unsigned>(p.rank)));
    const device_array<double> ghosts(*on, draw<double>(p.num_slots, 1));
    const device_array<double> packed(*on, std::vector<double>(num_sent));
    const device_array<count_t> list(*on, p.sends.indices);
    const pinned_array<double> whole(*on, x.span().size()), sent(*on, num_sent),
        come(*on, ghosts.span().size());
    const auto bring_down = [&](const auto& to, const auto& from) {
        on->copy_down(to.data(), from.data(), to.span().size_bytes(), by);
        on->wait_for(by);
    };
    const auto exchange = [&] {
        send_by_hand(p, sent.data(), come.data());
        on->copy_up(ghosts.data(), come.data(), come.span().size_bytes(), by);
        on->wait_for(by);
    };

    time("whole", p.rank, num_repetitions, [&] {
        bring_down(whole, x);
        for (std::size_t i = 0; i < num_sent; ++i)
            sent.data()[i] = whole.data()[p.sends.indices[i]];
        exchange();
    });
    const auto expected = ghosts.get(by);
    time("packed", p.rank, num_repetitions, [&] {
        on->copy({packed.data(), x.data(), nullptr, list.data(), static_cast<count_t>(num_sent), 8},
                 by);
        bring_down(sent, packed);
        exchange();
    });
    for (const char* const executor : {"auto", "persistent"}) {
        device::neighbor_exchange halo(world, p, {.executor = executor}, on);
        time(executor, p.rank, num_repetitions, [&] {
            halo.start(x.span(), ghosts.span(), by);
            halo.wait(by);
            on->wait_for(by);
        });
        if (ghosts.get(by) == expected) continue;
        std::cerr << "rank " << p.rank << " got other values\n";
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

void run(count_t num_items, int num_repetitions) {
    const auto on = device::open();
    context world(MPI_COMM_WORLD);
    const auto print = [&](const auto&... text) {
        if (world.rank() == 0) (std::cout << ... << text);
    };
    print(R"({"schema":"crossdock.bench.device/1","configuration":)", configuration(),
          R"(,"device":")", on->description(), R"(","ranks":)", world.num_ranks(), R"(,"items":)",
          num_items, R"(,"item_bytes":8,"repetitions":)", num_repetitions);
    const auto copy = measure_copy(*on, num_repetitions);
    print(R"(,"copy":{"latency_seconds":)", copy.latency_seconds, R"(,"seconds_per_byte":)",
          copy.seconds_per_byte, R"(},"median_seconds":[)");
    for (const count_t num_each : {10, 100, 1000, 10000, 100000}) {
        const auto p = make_pattern(world.rank(), world.num_ranks(), num_items, num_each);
        print(num_each == 10 ? "" : "},", "\n{\"ghosts\":", p.num_slots);
        measure(world, on, p, num_repetitions);
    }
    print("}]}\n");
    world.close();
}

}  // namespace

}  // namespace crossdock::device_test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    crossdock::report_uncaught();
    crossdock::device_test::run(argc > 1 ? std::atol(argv[1]) : 1000000,
                                argc > 2 ? std::atoi(argv[2]) : 50);
    MPI_Finalize();
}

#include "trial.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace crossdock::drop_in {

namespace {

constexpr int num_rounds = 5;
// If one is so much faster in each of the first rounds, no others follow.
constexpr int clear_rounds = 2;
constexpr double clear_factor = 1.25;
constexpr int fewest_in_a_row = 4;
constexpr int most_in_a_row = 16;
constexpr double seconds_in_a_row = 50e-6;
// What a call takes before and after its exchange, which trials do not measure.
constexpr double seconds_around = 1e-6;
// Where both are alike, trials differ by up to 6 %, and a plan found faster was up to a quarter slower in calls between
// which the program did something else.
constexpr double least_gain = 1.1;

// Of one of several in a row.
double seconds_of(int num_in_a_row, const std::function<void()>& exchange) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < num_in_a_row; ++i) exchange();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
           num_in_a_row;
}

void reduce(const communicator& comm, void* values, int count, MPI_Datatype type, MPI_Op by) {
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, values, count, type, by, comm.get(), &reduction));
    comm.wait(reduction);
}

}  // namespace

trial_seconds compare(const communicator& comm, const std::function<void()>& by_plan,
                      const std::function<void()>& by_mpi) {
    // Ranks that are early in one exchange wait in the next: only several in a row tell what one takes.
    std::vector<std::array<double, 2>> seconds;
    with_reserve([&] { seconds.reserve(num_rounds); });
    comm.wait_for_all();
    by_plan();
    by_mpi();
    double first = seconds_of(1, by_plan) + seconds_of(1, by_mpi);
    reduce(comm, &first, 1, MPI_DOUBLE, MPI_MAX);
    const int in_a_row = std::clamp(static_cast<int>(seconds_in_a_row / (first / 2)),
                                    fewest_in_a_row, most_in_a_row);
    const auto add_rounds = [&](int number) {
        const auto first_new = seconds.size();
        for (int i = 0; i < number; ++i)
            seconds.push_back({seconds_of(in_a_row, by_plan), seconds_of(in_a_row, by_mpi)});
        reduce(comm, seconds[first_new].data(), 2 * number, MPI_DOUBLE, MPI_MAX);
    };
    add_rounds(clear_rounds);
    const auto all_have = [&](std::size_t faster, std::size_t slower) {
        return std::ranges::all_of(seconds, [=](const auto& round) {
            return round[faster] * clear_factor < round[slower];
        });
    };
    if (!all_have(0, 1) && !all_have(1, 0)) add_rounds(num_rounds - clear_rounds);
    const auto median_of = [&](std::size_t who) {
        std::ranges::sort(seconds, {}, [who](const auto& round) { return round[who]; });
        return seconds[seconds.size() / 2][who];
    };
    return {median_of(0), median_of(1)};
}

bool wins(const trial_seconds& trial) noexcept {
    return least_gain * trial.by_plan + seconds_around < trial.by_mpi;
}

plan_facts facts_of(const context& where, const plan& along, std::span<const rank_t> destinations,
                    std::span<const count_t> lengths, trial_seconds trial) {
    const auto& regions = where.topology();
    const auto is_outside = [&](rank_t other) {
        return regions.region_of(other) != regions.region_of(where.rank());
    };
    std::array<count_t, 4> numbers{};
    auto& [most_neighbors, bytes, before, after] = numbers;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (lengths[i] == 0) continue;
        ++most_neighbors;
        bytes += lengths[i];
        before += is_outside(destinations[i]);
    }
    for (const auto& stage : along.stages())
        for (const auto& one : stage.sends) after += is_outside(one.destination);
    reduce(where.comm(), &most_neighbors, 1, MPI_INT64_T, MPI_MAX);
    reduce(where.comm(), &bytes, 3, MPI_INT64_T, MPI_SUM);
    return {along.route(), trial, bytes, most_neighbors, before, after};
}

}  // namespace crossdock::drop_in

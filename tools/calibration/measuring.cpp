#include "measuring.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

constexpr int max_rounds = 400;
constexpr int round_tag = 0;
constexpr auto nap = std::chrono::milliseconds(1);

// Completes a request without being in the way of those that measure.
void sleep_until(MPI_Request& request) {
    for (int is_complete = 0;;) {
        CROSSDOCK_MPI(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE));
        if (is_complete) return;
        std::this_thread::sleep_for(nap);
        pause_wait();
    }
}

// Whether there is time for another round.
class round_clock {
  public:
    explicit round_clock(double seconds) : end_seconds_(MPI_Wtime() + seconds) {}

    bool has_more() { return ++num_rounds_ < max_rounds && MPI_Wtime() < end_seconds_; }

  private:
    double end_seconds_;
    int num_rounds_ = 0;
};

// The first rank of a pair tells the other whether it goes on.
void tell(MPI_Comm comm, rank_t to, int goes_on) {
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Isend(&goes_on, 1, MPI_INT, to, round_tag, comm, &request));
    wait_for(request);
}

int hear(MPI_Comm comm, rank_t from) {
    int goes_on = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Irecv(&goes_on, 1, MPI_INT, from, round_tag, comm, &request));
    wait_for(request);
    return goes_on;
}

std::vector<double> lead(MPI_Comm comm, rank_pair pair, std::size_t num_cases, double seconds,
                         const std::function<double(std::size_t)>& measure) {
    std::vector<std::vector<double>> times(num_cases);
    round_clock clock(seconds);
    for (bool goes_on = true; goes_on;) {
        for (std::size_t c = 0; c < num_cases; ++c) times[c].push_back(measure(c));
        goes_on = clock.has_more();
        pause_wait();
        if (!pair.is_alone()) tell(comm, pair.second, goes_on);
    }
    std::vector<double> quartiles;
    for (auto& of_case : times) quartiles.push_back(lower_quartile(std::move(of_case)));
    return quartiles;
}

void follow(MPI_Comm comm, rank_pair pair, std::size_t num_cases,
            const std::function<double(std::size_t)>& measure) {
    do {
        for (std::size_t c = 0; c < num_cases; ++c) measure(c);
    } while (hear(comm, pair.first));
}

bool agree_on_more(MPI_Comm comm, rank_t rank, round_clock& clock) {
    int goes_on = rank == 0 && clock.has_more();
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Ibcast(&goes_on, 1, MPI_INT, 0, comm, &request));
    wait_for(request);
    return goes_on != 0;
}

}  // namespace

double elapsed_since(double start_seconds) {
    return std::max(MPI_Wtime() - start_seconds, least_seconds);
}

std::vector<double> powers_up_to(double first, double last, double factor) {
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

void wait_for(MPI_Request& request) {
    for (int is_complete = 0;;) {
        CROSSDOCK_MPI(MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE));
        if (is_complete) return;
        pause_wait();
    }
}

void wait_for(std::vector<MPI_Request>& requests) {
    for (int is_complete = 0;;) {
        CROSSDOCK_MPI(MPI_Testall(checked_cast<int>(requests.size()), requests.data(), &is_complete,
                                  MPI_STATUSES_IGNORE));
        if (is_complete) return;
        pause_wait();
    }
}

void meet(MPI_Comm comm) {
    MPI_Request barrier = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Ibarrier(comm, &barrier));
    wait_for(barrier);
}

std::vector<double> measure_by_two(MPI_Comm comm, rank_pair pair, std::size_t num_cases,
                                   double seconds,
                                   const std::function<double(std::size_t)>& measure) {
    int rank = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(comm, &rank));
    std::vector<double> quartiles(num_cases);
    if (rank == pair.first) {
        quartiles = lead(comm, pair, num_cases, seconds, measure);
    } else if (rank == pair.second) {
        follow(comm, pair, num_cases, measure);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Ibcast(quartiles.data(), checked_cast<int>(num_cases), MPI_DOUBLE, pair.first,
                             comm, &request));
    sleep_until(request);
    return quartiles;
}

std::vector<std::vector<found_times>> measure_by_all(
    MPI_Comm comm, std::size_t num_cases, double seconds,
    const std::function<found_times(std::size_t)>& measure) {
    int rank = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(comm, &rank));
    std::vector<double> times;
    std::vector<double> sums;
    round_clock clock(seconds);
    do {
        for (std::size_t c = 0; c < num_cases; ++c) {
            meet(comm);
            const auto found = measure(c);
            times.push_back(found.seconds);
            sums.push_back(found.core_seconds);
            sums.push_back(found.part);
        }
    } while (agree_on_more(comm, rank, clock));
    const int size = checked_cast<int>(times.size());
    std::vector<MPI_Request> reductions(2, MPI_REQUEST_NULL);
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, times.data(), size, MPI_DOUBLE, MPI_MAX, comm,
                                 &reductions[0]));
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, sums.data(), 2 * size, MPI_DOUBLE, MPI_SUM, comm,
                                 &reductions[1]));
    wait_for(reductions);
    std::vector<std::vector<found_times>> found(num_cases);
    for (std::size_t k = 0; k < times.size(); ++k)
        found[k % num_cases].push_back({times[k], sums[2 * k], sums[2 * k + 1]});
    return found;
}

}  // namespace crossdock

#include "bench/exchange/contest.hpp"

#include "bench/common/all_ranks.hpp"
#include "bench/exchange/contender.hpp"

namespace crossdock::bench::sparse {

namespace {

template <class Problem>
using contenders = std::vector<contender<Problem>>;

template <class T>
bool is_equal(const received<T>& a, const received<T>& b) {
    return a.sources == b.sources && a.counts == b.counts && a.displacements == b.displacements &&
           a.values == b.values;
}

exchange_traffic sent_by_all(const communicator& comm, const exchange_traffic& sent) {
    const auto sums =
        sum_over_ranks(comm, {sent.messages, sent.message_bytes, sent.inter_region_messages,
                              sent.inter_region_message_bytes});
    return {sums[0], sums[1], sums[2], sums[3]};
}

template <class Problem>
check_result check(const communicator& comm, const Problem& problem,
                   const contender<Problem>& candidate) {
    exchange_traffic sent;
    const auto came = candidate.exchange(problem, &sent);
    return {is_true_on_all(comm, is_equal(came, problem.expected)), sent_by_all(comm, sent)};
}

template <class Problem>
std::vector<standing> contest_of(const communicator& comm, const Problem& problem,
                                 const contenders<Problem>& all, const contest_options& options) {
    std::vector<standing> standings;
    for (const auto& one : all)
        standings.push_back({one.name, one.algorithm, check(comm, problem, one), {}});

    received<typename Problem::value_type> came;
    const auto clear = [&](std::size_t) { came = {}; };
    const auto exchange = [&](std::size_t c) { came = all[c].exchange(problem, nullptr); };
    stopwatch(comm, all.size(), options.warm_ups).time_in_turn(clear, exchange);
    stopwatch exchanges(comm, all.size(), options.iterations);
    exchanges.time_in_turn(clear, exchange);

    const auto seconds = exchanges.slowest();
    for (std::size_t c = 0; c < standings.size(); ++c) standings[c].exchange_seconds = seconds[c];
    return standings;
}

template <class Problem>
contenders<Problem> enter(contenders<Problem> all, const communicator& comm,
                          const topology& regions, const std::vector<std::string>& algorithms) {
    for (const auto& name : algorithms)
        all.push_back(crossdock_algorithm<Problem>(name, comm, regions));
    return all;
}

}  // namespace

std::vector<standing> contest(const communicator& comm, const topology& regions, const share& part,
                              const std::vector<std::string>& algorithms,
                              const contest_options& options) {
    if (options.values == message_values::pattern) {
        return contest_of(comm, make_pattern_problem(part),
                          enter<pattern_problem>({mpi_alltoall(comm, regions),
                                                  mpi_alltoallv<pattern_problem>(comm, regions)},
                                                 comm, regions, algorithms),
                          options);
    }
    return contest_of(comm, make_indices_problem(part),
                      enter<indices_problem>({mpi_alltoallv<indices_problem>(comm, regions)}, comm,
                                             regions, algorithms),
                      options);
}

}  // namespace crossdock::bench::sparse

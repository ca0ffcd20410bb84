/// @file
/// @brief Streams with several threads in tests.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "crossdock/detail/stream/stream_options.hpp"
#include "crossdock/error.hpp"
#include "support/contexts.hpp"

namespace crossdock::test {

/// @brief Runs `body(worker)` in one thread per worker, and rethrows what one of them throws.
template <class Body>
void on_workers(int num_workers, const Body& body) {
    std::vector<std::future<void>> others;
    for (int w = 1; w < num_workers; ++w) {
        others.push_back(std::async(std::launch::async, [&body, w] { body(w); }));
    }
    body(0);
    for (auto& other : others) other.get();
}

/// @brief Whether MPI lets several threads take turns, as streams with several workers need.
inline bool has_threads() {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    return provided >= MPI_THREAD_SERIALIZED;
}

/// @brief All ranks. The regions of `nodes` share memory, or all that can.
inline context world(const std::optional<topology>& nodes = {}) {
    const auto all = one_region(communicator(MPI_COMM_WORLD));
    return nodes ? all.with_nodes(*nodes) : all;
}

inline rank_t world_size() {
    int num_ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    return num_ranks;
}

/// @brief "2,2,1" for 5 ranks.
inline std::string pairs_of(rank_t num_ranks) {
    std::string text;
    for (rank_t first = 0; first < num_ranks; first += 2) {
        if (first > 0) text += ',';
        text += first + 1 < num_ranks ? '2' : '1';
    }
    return text;
}

/// @brief One way to run a stream; the tests' names have its name.
struct stream_case {
    std::string name;
    stream_options options;
    std::optional<topology> nodes;
};

/// @brief All schemes, with one and with two workers, with and without shared memory, and on routes
/// of several hops. Buffers are small, so that many leave.
inline std::vector<stream_case> stream_cases(rank_t num_ranks = world_size()) {
    std::vector<stream_case> cases;
    const auto add = [&](const char* suffix, stream_options options,
                         const std::optional<topology>& nodes = {}) {
        options.buffer_items = 8;
        cases.push_back({std::string(to_string(options.scheme)) + suffix, options, nodes});
    };
    for (const auto scheme : {stream_scheme::automatic, stream_scheme::ww, stream_scheme::wps,
                              stream_scheme::wsp, stream_scheme::pp, stream_scheme::node}) {
        add("_1worker", {.scheme = scheme});
        add("_2workers", {.workers = 2, .scheme = scheme});
        add("_hypercube", {.scheme = scheme, .route = "hypercube"});
        if (scheme == stream_scheme::node) continue;
        add("_2workers_mpi", {.workers = 2, .scheme = scheme, .shared_memory = false});
        add("_grid", {.workers = 2, .scheme = scheme, .route = "grid:2", .shared_memory = false});
    }
    add("_2workers_thread", {.workers = 2,
                             .scheme = stream_scheme::wps,
                             .shared_memory = false,
                             .progress_thread = true,
                             .communication_thread = true});
    // Nodes of at most two ranks, and of one each.
    const auto pairs = topology::from_string(pairs_of(num_ranks));
    const auto single = topology::from_string(std::to_string(num_ranks) + "x1");
    constexpr auto node = stream_scheme::node;
    add("_pairs", {.workers = 2, .scheme = node}, pairs);
    add("_pairs_grid", {.workers = 2, .scheme = node, .route = "grid:2"}, pairs);
    add("_single", {.workers = 2, .scheme = node, .shared_memory = false}, single);
    return cases;
}

/// @brief Tests of streams run in each of these ways, whose workers have numbers.
class StreamWays : public testing::TestWithParam<stream_case> {
  protected:
    void SetUp() override {
        if (options().workers > 1 && !has_threads()) GTEST_SKIP() << "MPI has no threads";
    }
    void TearDown() override { where.close(); }

    const stream_options& options() const { return GetParam().options; }
    rank_t num_ranks() const { return where.num_ranks(); }
    std::int64_t number_of(worker_id id) const { return id.rank * options().workers + id.worker; }
    worker_id worker_of(std::int64_t number) const {
        return {static_cast<rank_t>(number / options().workers),
                static_cast<int>(number % options().workers)};
    }
    std::int64_t num_all_workers() const { return number_of({num_ranks(), 0}); }

    context where = world(GetParam().nodes);
};

/// @brief The code of what a call throws, or `errc::success`.
template <class Call>
errc code_of(const Call& call) {
    try {
        call();
    } catch (const error& fault) {
        return fault.code();
    }
    return errc::success;
}

}  // namespace crossdock::test

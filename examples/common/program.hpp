/// @file
/// @brief What the examples with arguments share: their frame, and the comparison with a serial result.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "crossdock/distributed_array.hpp"

namespace examples {

using crossdock::count_t;
using crossdock::rank_t;

/// @brief One rank's part of a program; returns whether the result is right.
using program_body = std::function<bool(const crossdock::context&)>;

/// @brief Reads the arguments, starts MPI, runs `body` on every rank, and ends MPI.
/// @param thread_support  what MPI is asked for, e.g. MPI_THREAD_SERIALIZED
/// @return the exit code: 0 if `body` returned true on every rank. What it throws is said by rank 0.
int run(CLI::App& app, int argc, char** argv, const program_body& body,
        int thread_support = MPI_THREAD_SINGLE);

/// @brief Rank 0 prints what was computed, and whether it is as the serial result.
/// @return `is_right`
bool report(const crossdock::context& world, const std::string& text, bool is_right);

/// @brief Whether a condition holds on any rank.
bool on_any_rank(bool condition);

/// @brief Runs `body(worker)` in a thread for each worker; the first one is the calling thread.
void run_workers(int num_workers, const std::function<void(int)>& body);

/// @brief The parts of all ranks on rank 0, in the order of ranks; nothing on the others.
std::vector<double> parts_on_rank_0(const crossdock::context& world,
                                    const std::vector<double>& part);

/// @brief All entries of an array on rank 0, nothing on the others.
template <class T>
std::vector<T> entries_on_rank_0(crossdock::distributed_array<T>& array,
                                 const crossdock::context& world) {
    std::vector<count_t> indices(world.rank() == 0 ? static_cast<std::size_t>(array.size()) : 0);
    std::iota(indices.begin(), indices.end(), count_t{0});
    std::vector<T> entries(indices.size());
    // A batch is for all ranks together, but a rank may ask for nothing.
    array.read(indices, entries);
    return entries;
}

}  // namespace examples

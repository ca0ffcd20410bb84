/// @file
/// @brief The two contests of `bench array`: batches, and reads that are prepared.
#pragma once

#include <string>
#include <vector>

#include "bench/array/contest.hpp"
#include "tools/crossdock/array_workload.hpp"
#include "verbs/bench.hpp"

namespace crossdock::tool {

/// @brief What is timed, and how it is shown.
struct array_bench_options {
    bench::array::workload_options workload;
    std::string topology_text;
    std::vector<std::string> baselines{"plain", "rma", "petsc_sf"};
    std::vector<std::string> routes{"auto"};
    combining_choice combine;
    bench::array::contest_options contest;
    bool is_prepared = false;
    bool as_json = false;
};

/// @brief What a contest is about, as all ranks together see it.
struct array_task {
    const array_bench_options& options;
    topology regions;
    bench::array::rank_work work;       ///< of this rank
    count_t num_edges = 0;              ///< of all ranks
    std::vector<array_choice> choices;  ///< the library's contenders
};

/// @brief Ranks, topology, workload and what else both contests' records start with.
json array_record_head(const std::string& schema, const array_task& task);

/// @brief "left_out": PetscSF with the reason, if there is one.
json left_out_json(const std::string& petsc_obstacle);

/// @brief The text, or null.
json or_null(const std::optional<std::string>& text);

/// @brief What a table calls a contender of the library, or another.
template <class Standing>
std::string label_of(const Standing& one) {
    const auto& who = one.who;
    return who.route ? contender_label(who.name, *who.route, *who.combine) : who.name;
}

/// @brief Times reads of the same entries, of which it is told before.
/// @return the exit code
/// @par Collective
/// Yes; blocks.
int bench_prepared(const communicator& comm, const array_task& task);

}  // namespace crossdock::tool

// Plans that outlive the program, in the folder that CROSSDOCK_CACHE names.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "../select/plan_cache_mpi.hpp"
#include "automatic_route.hpp"

namespace crossdock {

/// @brief The files of one neighbor exchange's plan, one for each rank:
///
///     FOLDER/<sum over the ranks of hashes of all that plan and choice depend on>/<rank>
///
/// A file is written under another name and renamed, so that nobody reads half of it, also where several jobs write the
/// same one. What cannot be written is not kept.
class stored_plan {
  public:
    /// @brief Looks in memory, then in the folder.
    /// Collective; does nothing where no folder is named. Else two reductions; the first on a communicator finds out
    /// nodes and machine.
    stored_plan(const context& where, const checked_pattern& p, const neighbor_options& options,
                const equal_arguments& same);

    /// @brief Has a plan if all ranks have theirs, with one choice.
    const kept_plan& found() const noexcept { return found_; }

    /// @brief Keeps what was made instead; once all ranks have agreed that they have it.
    void keep(kept_plan made) const noexcept;

  private:
    plan_cache* cache_ = nullptr;  // null where no folder is named
    std::array<std::int64_t, 2> key_{};
    std::string file_;  // empty: this rank keeps none
    kept_plan found_;
};

}  // namespace crossdock

/// @file
/// @brief A neighborhood collective, whatever function the program called.
#pragma once

#include <memory>

#include "graph.hpp"

namespace crossdock::drop_in {

/// @brief A call, in the form of MPI_Neighbor_alltoallw with displacements in bytes.
struct neighbor_call {
    std::shared_ptr<graph> on;
    call_side sends;
    call_side receives;
    block_kind kind = block_kind::any;
    call_facts* facts = nullptr;         ///< where the call is counted, if CROSSDOCK_REPORT is set
    std::vector<std::byte> copied = {};  ///< the buffers, if they are the library's own

    layouts_seen layouts() const noexcept {
        return {sends.layout(), receives.layout(), sends.is_for_mpi() || receives.is_for_mpi(),
                sends.copies(), receives.copies()};
    }
    void count_along(const planned_exchange& plan) const {
        if (facts != nullptr) facts->add(plan.facts());
    }
};

}  // namespace crossdock::drop_in

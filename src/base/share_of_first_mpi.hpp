/// @file
/// @brief What rank 0 has, for all ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "collective_mpi.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "rank_fault_mpi.hpp"

namespace crossdock {

/// @brief What `make()` gives on rank 0, taken by all ranks or by none.
/// @param make  called on rank 0 alone; returns a string, or a vector of what is copied byte by byte; throws
/// `peer_stopped` where another rank has a fault
/// @param take  called on all ranks with what `make` gave; its result is returned
/// @param fault  what this rank has failed with before
/// @param same, what  as in `agree`
/// @par Collective
/// Yes; makes progress on all work meanwhile. A broadcast, another one for what is longer than 1000 bytes, and one
/// agreement.
template <class Make, class Take>
auto share_of_first(const communicator& comm, Make&& make, Take&& take,
                    std::optional<error> fault = std::nullopt, std::int64_t same = 0,
                    const char* what = "the arguments") -> decltype(take(make())) {
    using values = decltype(make());
    constexpr std::size_t value_bytes = sizeof(typename values::value_type);
    // The length and the first values. With a negative length `agree` throws.
    struct {
        std::int64_t length = -1;
        std::array<char, 1000> start{};
    } head;
    values all;
    if (comm.rank() == 0) {
        attempt(0, fault, [&] {
            all = make();
            checked_cast<int>(std::ssize(all) * static_cast<std::ptrdiff_t>(value_bytes));
            head.length = std::ssize(all);
            std::memcpy(head.start.data(), all.data(),
                        std::min(all.size() * value_bytes, head.start.size()));
        });
    }
    const auto broadcast = [&](void* data, std::size_t num_bytes) {
        run_collective(comm, [&](MPI_Request* request) {
            return MPI_Ibcast(data, static_cast<int>(num_bytes), MPI_BYTE, 0, comm.get(), request);
        });
    };
    broadcast(&head, sizeof head);
    if (head.length >= 0) {
        const auto length = static_cast<std::size_t>(head.length);
        const bool is_short = length * value_bytes <= head.start.size();
        if (comm.rank() != 0) {
            if (is_short) {
                attempt(comm.rank(), fault, [&] {
                    all.resize(length);
                    std::memcpy(all.data(), head.start.data(), length * value_bytes);
                });
            } else {
                with_reserve([&] { all.resize(length); });
            }
        }
        if (!is_short) broadcast(all.data(), length * value_bytes);
    }
    std::optional<decltype(take(make()))> taken;
    if (head.length >= 0) attempt(comm.rank(), fault, [&] { taken.emplace(take(std::move(all))); });
    agree(comm, fault, same, what);
    return std::move(*taken);
}

}  // namespace crossdock

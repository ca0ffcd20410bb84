#include "copying.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>

namespace crossdock {

std::vector<timed_amount> measure_copying(MPI_Comm comm, double seconds) {
    const auto sizes = powers_up_to(1 << 10, 256 << 10);
    std::vector<std::byte> from(1 << 20, std::byte{1});
    std::vector<std::byte> to(from.size());
    return pair_up(sizes, measure_by_two(comm, {}, sizes.size(), seconds, [&](auto c) {
                       const auto bytes = static_cast<std::size_t>(sizes[c]);
                       const double start = MPI_Wtime();
                       std::memcpy(to.data(), from.data(), bytes);
                       std::memcpy(from.data(), to.data(), bytes);
                       return elapsed_since(start) / 2;
                   }));
}

std::vector<timed_amount> measure_gathering(MPI_Comm comm, double seconds) {
    const auto counts = powers_up_to(64, 16384);
    std::vector<std::int32_t> offsets(static_cast<std::size_t>(counts.back()));
    std::iota(offsets.begin(), offsets.end(), 0);
    std::shuffle(offsets.begin(), offsets.end(), std::mt19937(0));
    std::vector<double> from(offsets.size(), 1);
    std::vector<double> to(offsets.size());
    return pair_up(counts, measure_by_two(comm, {}, counts.size(), seconds, [&](auto c) {
                       const auto count = static_cast<std::size_t>(counts[c]);
                       const double start = MPI_Wtime();
                       for (std::size_t k = 0; k < count; ++k)
                           to[k] = from[static_cast<std::size_t>(offsets[k])];
                       std::atomic_signal_fence(std::memory_order_seq_cst);
                       return elapsed_since(start);
                   }));
}

}  // namespace crossdock

#include "device_copies.hpp"

#include <algorithm>
#include <optional>

#include "satellites/device/src/found.hpp"
#include "satellites/device/src/owned.hpp"

namespace crossdock {

namespace {

// A device's memory, the host's, and the stream between them.
struct copies {
    copies(device::driver& on, std::size_t num_bytes)
        : there(on, num_bytes), here(on, num_bytes), by(on) {}

    device::device_memory there;
    device::pinned_memory here;
    device::own_stream by;
};

double time(device::driver& on, const copies& what, std::size_t num_bytes) {
    const double start = MPI_Wtime();
    on.copy_up(what.there.get(), what.here.get(), num_bytes, what.by);
    on.wait_for(what.by);
    on.copy_down(what.here.get(), what.there.get(), num_bytes, what.by);
    on.wait_for(what.by);
    return elapsed_since(start) / 2;
}

}  // namespace

std::vector<timed_amount> measure_device_copies(const communicator& comm, double seconds) {
    const auto sizes = powers_up_to(8, 4 << 20, 4);
    const auto& driver = device::found_driver();
    int all_have = driver != nullptr;
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, &all_have, 1, MPI_INT, MPI_MIN, comm.get()));
    if (!all_have) return {};
    std::optional<copies> one;
    on_all_or_none(comm, [&] { one.emplace(*driver, static_cast<std::size_t>(sizes.back())); });
    std::optional<error> fault;
    const auto found = measure_by_all(comm.get(), sizes.size(), seconds, [&](auto c) {
        found_times times;
        try {
            if (!fault) times.seconds = time(*driver, *one, static_cast<std::size_t>(sizes[c]));
        } catch (...) {
            fault = current_error();
        }
        return times;
    });
    agree(comm, fault);
    std::vector<timed_amount> samples;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
        std::vector<double> times;
        for (const auto& round : found[c]) times.push_back(std::max(round.seconds, least_seconds));
        samples.push_back({sizes[c], lower_quartile(std::move(times))});
    }
    return samples;
}

}  // namespace crossdock

/// @file
/// @brief Memory of devices, which MPI reads and writes, or crossdock's library of devices where it is there.
#pragma once

#include <link.h>

#include <atomic>
#include <optional>
#include <vector>

#include "satellites/device/src/owned.hpp"

namespace crossdock::drop_in {

/// @brief The library that the process had loaded last when it was searched for a driver; it has a successor if there
/// may be one.
extern constinit std::atomic<const link_map*> last_loaded;

/// @brief Asks the driver, which is searched for before.
bool ask_driver(const void* address);

/// @brief Whether an address is a device's, or managed by its driver: CUDA's, or HIP's from ROCm 5.0 on.
///
/// Without a driver this takes three instructions. Nothing is kept, since addresses are used again.
inline bool is_device_memory(const void* address) {
    return last_loaded.load(std::memory_order_relaxed)->l_next != nullptr && ask_driver(address);
}

/// @brief Copies between memory of a device and of the host.
struct device_copies {
    device::driver& on;
    device::stream by;

    /// @brief Null where the library of devices is missing, cannot use memory at this address, or has no stream left.
    /// @param address  of a device's memory
    static const device_copies* of(const void* address);
};

/// @brief Memory of the host: that of a driver, which copies from and to it, or else any.
class host_room {
  public:
    /// @param copies  null: any memory
    /// @return so many bytes; what was there is lost
    std::byte* make(std::size_t num_bytes, const device_copies* copies) {
        if (copies == nullptr) {
            bytes_.resize(num_bytes);
            return bytes_.data();
        }
        if (!pinned_) pinned_.emplace(copies->on);
        pinned_->grow(num_bytes);
        return pinned_->get();
    }

  private:
    std::vector<std::byte> bytes_;
    std::optional<device::pinned_memory> pinned_;
};

}  // namespace crossdock::drop_in

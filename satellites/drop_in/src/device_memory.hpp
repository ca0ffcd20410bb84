/// @file
/// @brief Memory of devices, which only MPI may read and write.
#pragma once

#include <link.h>

#include <atomic>

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

}  // namespace crossdock::drop_in

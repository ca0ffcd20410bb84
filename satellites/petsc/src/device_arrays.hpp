/// @file
/// @brief A star forest's arrays in a device's memory, and what stands for them on the host.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "crossdock/pattern.hpp"
#include "satellites/device/src/staging.hpp"

namespace crossdock {

/// @brief The values of an array that a forest reads and writes, by their places; others are never touched.
class array_places {
  public:
    array_places(device::driver& on, std::vector<count_t> places);

    /// @brief Makes `here` long enough for what is in an array of the device.
    /// @param there  the address of the value of index 0, which need not be there
    /// @throws error(errc::invalid_argument)  the device cannot use the array
    void make_room(const void* there, std::vector<std::byte>& here, std::size_t item_bytes) const;
    /// @brief Copies the values from an array of the device to their places in one of the host. Blocks until they are
    /// there. After `make_room`.
    void bring_down(const void* there, std::vector<std::byte>& here, std::size_t item_bytes);
    /// @brief The reverse.
    void bring_up(void* there, const std::vector<std::byte>& here, std::size_t item_bytes);

  private:
    device::driver* on_;
    count_t first_ = 0;
    count_t num_values_;  // up to the last place
    copy_list to_host_;
    copy_list to_device_;
    device::travelling_places values_;
};

/// @brief The operations of one forest that have an array in a device's memory.
///
/// Each rank copies for itself, so that a rank whose arrays are on the host takes part as always. Copies are in the
/// order of the default stream, as PETSc's own are.
class device_arrays {
  public:
    enum class kind { broadcast, reduction, fetch };

    /// @brief An array as PETSc has it, and as the forest gets it.
    struct array {
        void* there = nullptr;
        bool is_on_device = false;
        bool is_read = false;
        bool is_written = false;
        std::vector<std::byte> here = {};

        void* used() { return is_on_device ? here.data() : there; }
    };
    struct operation {
        kind what;
        std::size_t item_bytes;
        array roots, leaves, fetched;
    };

    device_arrays(std::shared_ptr<device::driver> on, std::vector<count_t> roots,
                  std::vector<count_t> leaves);

    /// @brief Brings down what an operation reads.
    /// @return lives until the next call, unless `keep` gets it
    /// @throws error(errc::invalid_argument)  the device cannot use an array that is read or written
    operation& bring_down(operation&& one);
    /// @brief It has begun: `take` finds it.
    void keep(operation& one) noexcept { started_.push_back(&one); }
    /// @brief Of the operations that have begun with these arrays, the first one; null if there is none.
    /// @return is no longer found, and lives until the next `bring_down`
    operation* take(kind what, const void* roots, const void* leaves);
    /// @brief Brings up what an operation has written.
    void bring_up(operation& one);

  private:
    template <class Use>
    void for_each_on_device(operation& one, Use&& use);

    std::shared_ptr<device::driver> on_;
    array_places roots_;
    array_places leaves_;
    std::list<operation> known_;       // their memory is used again
    std::vector<operation*> started_;  // the oldest first
};

}  // namespace crossdock

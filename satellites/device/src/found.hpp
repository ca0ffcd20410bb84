/// @file
/// @brief The library of devices, for libraries that do without it: they are not linked with it.
#pragma once

#include <dlfcn.h>

#include "crossdock/device.hpp"

namespace crossdock::device {

/// @brief What `open` of libcrossdock_device.so opens, if the library is there; null otherwise. It is loaded at the
/// first call, from where the program or the calling library looks for libraries, and stays.
inline const std::shared_ptr<driver>& found_driver() {
    // Never given back: at the end of the program the driver's own library may be gone.
    static const auto& found = *new auto([]() -> std::shared_ptr<driver> {
        void* const library = dlopen(CROSSDOCK_DEVICE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return nullptr;
        constexpr auto name =
            "_ZN9crossdock6device4openERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
        const auto open = reinterpret_cast<decltype(&device::open)>(dlsym(library, name));
        try {
            return open != nullptr ? open("auto") : nullptr;
        } catch (...) {  // as without the library
            return nullptr;
        }
    }());
    return found;
}

}  // namespace crossdock::device

#include "device_memory.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include "satellites/device/src/found.hpp"

namespace crossdock::drop_in {

namespace {

// cuPointerGetAttribute and hipPointerGetAttribute, whose first attributes have the same numbers.
using get_attribute = int(void*, int, const void*);
constexpr int memory_type = 2;
constexpr int host_pointer = 4;
// A device's since ROCm 5, the host's since ROCm 6 and with CUDA; below it the host's, above it a device's or managed.
constexpr unsigned ambiguous_type = 1;

struct driver {
    const char* function;
    std::array<const char*, 3> libraries;
};
// Programs and runtime libraries load them in a scope of their own, so they are searched for by name, too.
constexpr std::array drivers{
    driver{"cuPointerGetAttribute", {"libcuda.so.1", nullptr, nullptr}},
    driver{"hipPointerGetAttribute", {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}}};

constinit link_map always_asked{0, nullptr, nullptr, &always_asked, nullptr};
constinit std::atomic<get_attribute*> driver_to_ask = nullptr;

// Of crossdock's mock, which has no library of its own.
int ask_mock(void* value, int, const void* address) {
    if (!device::found_driver()->can_use(address)) return 1;
    *static_cast<unsigned*>(value) = ambiguous_type + 1;
    return 0;
}

get_attribute* find_driver() {
    const char* const named = std::getenv("CROSSDOCK_DEVICE");
    if (named && std::string_view(named).starts_with("mock") && device::found_driver())
        return &ask_mock;
    for (const auto& [function, libraries] : drivers) {
        auto* found = dlsym(RTLD_DEFAULT, function);
        for (const char* const name : libraries) {
            void* const loaded = found || !name ? nullptr : dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
            if (loaded != nullptr) found = dlsym(loaded, function);
        }
        if (found != nullptr) return reinterpret_cast<get_attribute*>(found);
    }
    return nullptr;
}

// Keeps the last library loaded, so that its successor can be read at any time; null if there is no such.
const link_map* keep_last_loaded() {
    static void* kept = nullptr;
    if (kept != nullptr) dlclose(kept);
    std::string name;
    dl_iterate_phdr(
        [](dl_phdr_info* one, std::size_t, void* last) {
            *static_cast<std::string*>(last) = one->dlpi_name;
            return 0;
        },
        &name);
    kept = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    link_map* map = nullptr;
    if (kept != nullptr) dlinfo(kept, RTLD_DI_LINKMAP, &map);
    return map;
}

get_attribute* search() {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    last_loaded = &always_asked;
    // What is loaded during the search is its successor.
    const auto* const last = keep_last_loaded();
    driver_to_ask = find_driver();
    if (driver_to_ask == nullptr && last != nullptr) last_loaded = last;
    return driver_to_ask;
}

}  // namespace

constinit std::atomic<const link_map*> last_loaded = &always_asked;

bool ask_driver(const void* address) {
    auto* const known = driver_to_ask.load(std::memory_order_relaxed);
    auto* const ask = known != nullptr ? known : search();
    unsigned type = 0;
    if (ask == nullptr || ask(&type, memory_type, address) != 0) return false;
    void* on_host = nullptr;
    if (type == ambiguous_type) ask(&on_host, host_pointer, address);
    return type > ambiguous_type || (type == ambiguous_type && on_host == nullptr);
}

const device_copies* device_copies::of(const void* address) {
    const auto& found = device::found_driver();
    if (!found || !found->can_use(address)) return nullptr;
    try {
        static const auto& copies = *new device_copies{*found, found->make_stream()};
        return &copies;
    } catch (const std::exception&) {  // a call that threw here would leave the other ranks alone
        return nullptr;
    }
}

}  // namespace crossdock::drop_in

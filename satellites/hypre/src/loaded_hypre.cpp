#include "loaded_hypre.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace crossdock::hypre_drop_in {

namespace {

// How a package begins, with the integers of a build of hypre.
template <class Int>
struct package_layout {
    MPI_Comm comm;
    Int num_components;
    Int num_sends;
    Int* send_procs;
    Int* send_map_starts;
    Int* send_map_elmts;
    Int* device_send_map_elmts;
    Int num_receives;
    Int* receive_procs;
    Int* receive_vec_starts;
};

// Versions whose packages begin so, from the first to the last one. Before 2.26 there were no components.
constexpr auto first_version = std::pair<wide_int, wide_int>(2, 26);
constexpr auto last_version = std::pair<wide_int, wide_int>(3, 1);

template <class Use>
auto with_layout(std::size_t int_bytes, const comm_package& package, Use&& use) {
    auto* const bytes = const_cast<comm_package*>(&package);
    if (int_bytes == sizeof(std::int32_t))
        return use(*reinterpret_cast<package_layout<std::int32_t>*>(bytes));
    return use(*reinterpret_cast<package_layout<std::int64_t>*>(bytes));
}

// What called this library may know hypre where the program does not.
void* library_of(const void* address) {
    Dl_info found{};
    if (dladdr(address, &found) == 0) return nullptr;
    return dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void* caller_of_first = nullptr;

void* find_in(const char* name, void* library) {
    if (void* const next = dlsym(RTLD_NEXT, name)) return next;
    return library == nullptr ? nullptr : dlsym(library, name);
}

// How many bytes a number has, which a function of hypre's swaps with the next one.
std::size_t swapped_bytes(const char* name) {
    auto* const swap =
        reinterpret_cast<void (*)(void*, wide_int, wide_int)>(find_in(name, caller_of_first));
    if (swap == nullptr) return 0;
    alignas(std::max_align_t) std::array<unsigned char, 64> bytes{};
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    swap(bytes.data(), 0, 1);
    return bytes[0];
}

}  // namespace

void* loaded_hypre::find(const char* name, const void* caller) {
    void* const library = library_of(caller);
    if (caller_of_first == nullptr) caller_of_first = library;
    return find_in(name, library);
}

const loaded_hypre& loaded_hypre::of_process() {
    static const loaded_hypre one;
    return one;
}

loaded_hypre::loaded_hypre() {
    auto* const number_of =
        reinterpret_cast<wide_int (*)(wide_int*, wide_int*, wide_int*, wide_int*)>(
            find_in("HYPRE_VersionNumber", caller_of_first));
    if (number_of == nullptr) return;
    // It writes the lower half of them, or all.
    wide_int major = 0, minor = 0, patch = 0, single = 0;
    number_of(&major, &minor, &patch, &single);
    const std::pair version(major, minor);
    if (version < first_version || version > last_version) return;
    const auto ints = swapped_bytes("hypre_swap");
    if (ints != sizeof(std::int32_t) && ints != sizeof(std::int64_t)) return;
    int_bytes_ = ints;
    big_int_bytes_ = swapped_bytes("hypre_BigSwap");
    complex_bytes_ = swapped_bytes("hypre_swap_c");
    has_devices_ = find_in("hypre_DeviceDataCreate", caller_of_first) != nullptr;
}

package_view loaded_hypre::view(const comm_package& package) const {
    return with_layout(int_bytes_, package, [](const auto& it) {
        return package_view{
            it.comm,
            it.num_components,
            {static_cast<std::size_t>(it.num_sends), it.send_procs, it.send_map_starts},
            {static_cast<std::size_t>(it.num_receives), it.receive_procs, it.receive_vec_starts},
            it.send_map_elmts != nullptr};
    });
}

bool loaded_hypre::has_arrays(const comm_package& package, const package_view& made_of) const {
    const auto now = view(package);
    const auto arrays = [](const package_view& one) {
        return std::tuple(one.comm, one.sends.ranks, one.sends.starts, one.receives.ranks,
                          one.receives.starts);
    };
    return arrays(now) == arrays(made_of);
}

comm_handle* loaded_hypre::create_without_messages(create_function* create, wide_int job,
                                                   comm_package& package, int send_location,
                                                   void* send, int receive_location,
                                                   void* receive) const {
    return with_layout(int_bytes_, package, [&](auto& it) {
        const auto sends = std::exchange(it.num_sends, 0);
        const auto receives = std::exchange(it.num_receives, 0);
        auto* const made = create(job, &package, send_location, send, receive_location, receive);
        it.num_sends = sends;
        it.num_receives = receives;
        return made;
    });
}

}  // namespace crossdock::hypre_drop_in

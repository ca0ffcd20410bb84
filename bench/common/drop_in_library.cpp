#include "bench/common/drop_in_library.hpp"

namespace crossdock::bench {

namespace fs = std::filesystem;

fs::path find_drop_in_library() {
    const auto program = fs::read_symlink("/proc/self/exe").parent_path();
    for (const auto& folder :
         {program / CROSSDOCK_INSTALLED_LIBRARIES, fs::path(CROSSDOCK_BUILT_LIBRARIES)}) {
        auto library = (folder / "libcrossdock_mpi.so").lexically_normal();
        if (fs::exists(library)) return library;
    }
    return {};
}

}  // namespace crossdock::bench

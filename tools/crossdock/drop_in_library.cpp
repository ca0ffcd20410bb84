#include "tools/crossdock/drop_in_library.hpp"

#include "tools/crossdock/program_folder.hpp"

namespace crossdock::tool {

namespace fs = std::filesystem;

fs::path find_drop_in_library() {
    for (const auto& folder :
         {program_folder() / CROSSDOCK_INSTALLED_LIBRARIES, fs::path(CROSSDOCK_BUILT_LIBRARIES)}) {
        // Where it is installed without what programs are linked with, it has its full name alone.
        for (const char* const name : {"libcrossdock_mpi.so", CROSSDOCK_DROP_IN_NAME}) {
            auto library = (folder / name).lexically_normal();
            if (fs::exists(library)) return library;
        }
    }
    return {};
}

}  // namespace crossdock::tool

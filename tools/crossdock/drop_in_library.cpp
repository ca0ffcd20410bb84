#include "tools/crossdock/drop_in_library.hpp"

#include "tools/crossdock/program_folder.hpp"

namespace crossdock::tool {

namespace fs = std::filesystem;

fs::path find_drop_in_library(const std::string& of) {
    const auto name = "libcrossdock_" + of + ".so";
    for (const auto& folder :
         {program_folder() / CROSSDOCK_INSTALLED_LIBRARIES, fs::path(CROSSDOCK_BUILT_LIBRARIES)}) {
        // Where it is installed without what programs are linked with, it has its full name alone.
        for (const char* const version : {"", "." CROSSDOCK_BINARY_INTERFACE}) {
            auto library = (folder / (name + version)).lexically_normal();
            if (fs::exists(library)) return library;
        }
    }
    return {};
}

}  // namespace crossdock::tool

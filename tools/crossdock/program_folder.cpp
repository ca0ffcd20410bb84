#include "tools/crossdock/program_folder.hpp"

namespace crossdock::tool {

std::filesystem::path program_folder() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace crossdock::tool

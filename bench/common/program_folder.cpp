#include "bench/common/program_folder.hpp"

namespace crossdock::bench {

std::filesystem::path program_folder() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace crossdock::bench

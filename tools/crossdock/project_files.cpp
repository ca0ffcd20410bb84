#include "tools/crossdock/project_files.hpp"

#include "tools/crossdock/program_folder.hpp"

namespace crossdock::tool {

namespace fs = std::filesystem;

fs::path project_file(const std::string& folder, const std::string& source_folder,
                      const std::string& name) {
    auto installed = program_folder() / CROSSDOCK_INSTALLED_FILES / folder / name;
    if (fs::exists(installed)) return installed.lexically_normal();
    return fs::path(CROSSDOCK_SOURCE_FILES) / source_folder / name;
}

fs::path demo_matrix() { return project_file("data", "data", "msc01050.mtx.gz"); }

}  // namespace crossdock::tool

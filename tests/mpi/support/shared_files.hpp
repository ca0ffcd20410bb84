/// @file
/// @brief The files of shared memory that this process has mapped.
#pragma once

#include <fstream>
#include <set>
#include <string>

namespace crossdock::test {

inline std::set<std::string> shared_files() {
    std::ifstream maps("/proc/self/maps");
    std::set<std::string> files;
    for (std::string line; std::getline(maps, line);) {
        const auto at = line.find("/dev/shm/");
        if (at != std::string::npos) files.insert(line.substr(at));
    }
    return files;
}

}  // namespace crossdock::test

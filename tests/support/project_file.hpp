/// @file
/// @brief Where the files of this clone lie, so that objects of tests are the same in every clone.
#pragma once

#include <string>

namespace crossdock::test {

/// @brief The path of a file of the project, such as "data/D_10.mtx.gz".
std::string project_file(const std::string& name);

}  // namespace crossdock::test

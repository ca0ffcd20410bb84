/// @file
/// @brief Files of expected output under tests/golden, rewritten by `--generate`.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "support/project_file.hpp"

namespace crossdock::test {

/// @brief Whether the test program was started with `--generate`; its main sets it.
inline bool is_generating = false;

/// @brief Compares `text` with tests/golden/`name`, or writes it there.
inline void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = project_file("tests/golden/" + name);
    if (is_generating) std::ofstream(path, std::ios::binary) << text;
    std::ostringstream expected;
    expected << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(text, expected.str()) << path;
}

}  // namespace crossdock::test

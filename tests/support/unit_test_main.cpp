#include <gtest/gtest.h>

#include <string_view>

#include "support/golden.hpp"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    crossdock::test::is_generating = argc > 1 && std::string_view(argv[1]) == "--generate";
    return RUN_ALL_TESTS();
}

# Clang, for the presets that need it: 16 of Debian 12, or 19 of Debian 13. scripts/install-dependencies installs it.
find_program(crossdock_clang NAMES clang-16 clang-19 REQUIRED)
find_program(crossdock_clangxx NAMES clang++-16 clang++-19 REQUIRED)
set(CMAKE_C_COMPILER "${crossdock_clang}")
set(CMAKE_CXX_COMPILER "${crossdock_clangxx}")

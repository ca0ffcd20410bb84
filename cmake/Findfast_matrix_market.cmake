# fast_matrix_market (header only). PyPI's source archive carries the headers; scripts/install-dependencies
# unpacks it into third_party/. Defines fast_matrix_market::fast_matrix_market.
find_path(fast_matrix_market_INCLUDE_DIR fast_matrix_market/fast_matrix_market.hpp
  HINTS ${CMAKE_CURRENT_LIST_DIR}/../third_party/fast_matrix_market/include)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(fast_matrix_market
  REQUIRED_VARS fast_matrix_market_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "scripts/install-dependencies installs it, and fast_matrix_market_INCLUDE_DIR names its folder. \
Without it only the libraries are built, with CROSSDOCK_BUILD_TOOLS, _BUILD_EXAMPLES and _BUILD_TESTS OFF")
if(fast_matrix_market_FOUND AND NOT TARGET fast_matrix_market::fast_matrix_market)
  add_library(fast_matrix_market::fast_matrix_market INTERFACE IMPORTED)
  set_target_properties(fast_matrix_market::fast_matrix_market PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${fast_matrix_market_INCLUDE_DIR})
endif()

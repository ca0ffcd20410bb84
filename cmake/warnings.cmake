add_library(crossdock_warnings INTERFACE)
if(CROSSDOCK_WARNINGS)
  target_compile_options(crossdock_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<BOOL:${CROSSDOCK_WARNINGS_AS_ERRORS}>:-Werror>)
else()
  target_compile_options(crossdock_warnings INTERFACE -w)
endif()

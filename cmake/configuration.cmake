# Writes what `crossdock::configuration` says of the build into a source file of the library.
find_package(Git QUIET)
set(commit)
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/COMMIT)  # from packaging/source-archive
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/COMMIT commit LIMIT_COUNT 1)
elseif(GIT_FOUND AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit)
  set(commit "\"${commit}\"")
else()
  set(commit null)
endif()

# What was left out has said so.
get_property(left_out GLOBAL PROPERTY crossdock_left_out)
set(with)
set(without)
foreach(part device drop_in fortran generators gslib hypre hypre_drop_in metis mpi_advance petsc python tools)
  set(is_there true)
  if(part IN_LIST left_out)
    set(is_there false)
    get_property(reason GLOBAL PROPERTY crossdock_reason_${part})
    list(APPEND without "\"${part}\": \"${reason}\"")
    if(PROJECT_IS_TOP_LEVEL)
      message(STATUS "Left out: ${part}, as ${reason}")
    endif()
  endif()
  list(APPEND with "\"${part}\": ${is_there}")
endforeach()
list(JOIN with ", " with)
list(JOIN without ",\n    " without)
set(are_shared false)
if(BUILD_SHARED_LIBS)
  set(are_shared true)
endif()

file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/build_text.cpp @ONLY CONTENT
"namespace crossdock {

extern const char* const build_text;
const char* const build_text = R\"json({
\"schema\": \"crossdock.configuration/1\", \"version\": \"${PROJECT_VERSION}\", \"commit\": ${commit},
\"build\": {
  \"compiler\": \"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\", \"type\": \"${CMAKE_BUILD_TYPE}\",
  \"shared\": ${are_shared},
  \"with\": {${with}},
  \"without\": {${without}}}
})json\";

}  // namespace crossdock
")
target_sources(crossdock_mpi_part PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated/build_text.cpp)

# Writes the presets in machines/ into a source file of the library, so that an installed one needs no files.
file(GLOB machine_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/machines/*.json)
set(texts)
foreach(file ${machine_files})
  file(READ ${file} text)
  string(APPEND texts "    R\"json(${text})json\",\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/preset_texts.cpp @ONLY CONTENT
"#include \"${CMAKE_CURRENT_SOURCE_DIR}/src/model/preset_texts.hpp\"

namespace crossdock {

static constexpr const char* texts[] = {
@texts@};

std::span<const char* const> preset_texts() { return texts; }

}  // namespace crossdock
")

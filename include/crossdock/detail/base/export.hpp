/// @file
/// @brief What the shared libraries export: what the installed headers declare. Internal headers
/// whose functions one library has and another calls are marked, too.
#pragma once

// A missing file ends the compilation; after an #error alone thousands of lines would follow.
#if __cplusplus <= 201703L && !defined(_MSVC_LANG)
#error "crossdock needs C++20: add -std=c++20 to the compiler's options"
#include "crossdock: compile with -std=c++20"
#endif

/// Stands before the name of the namespace that has the declarations.
#define CROSSDOCK_EXPORT [[gnu::visibility("default")]]

/// Stands before the name of a class that is declared there, but not for users. A class is exported
/// or not by its first declaration.
#define CROSSDOCK_HIDDEN [[gnu::visibility("hidden")]]

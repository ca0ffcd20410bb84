/// @file
/// @brief What a shared library exports: all that the installed headers declare, and nothing else.
#pragma once

/// Stands before the name of the namespace that has the declarations.
#define CROSSDOCK_EXPORT [[gnu::visibility("default")]]

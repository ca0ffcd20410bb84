/// @file
/// @brief What the shared libraries export: what the installed headers declare. Internal headers
/// whose functions one library has and another calls are marked, too.
#pragma once

/// Stands before the name of the namespace that has the declarations.
#define CROSSDOCK_EXPORT [[gnu::visibility("default")]]

/// Stands before the name of a class that is declared there, but not for users. A class is exported
/// or not by its first declaration.
#define CROSSDOCK_HIDDEN [[gnu::visibility("hidden")]]

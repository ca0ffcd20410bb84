/// @file
/// @brief crossdock as a type of PETSc's star forest, in libcrossdock_petsc.so.
///
/// A program that is not changed gets it from PETSc's options, which load the library:
///
///     PETSC_OPTIONS="-dll_append libcrossdock_petsc.so -sf_type crossdock"
///
/// | option | | default |
/// |---|---|---|
/// | `-sf_crossdock_route ROUTE` | a route, as `crossdock_neighbor_options` has it | `auto` |
/// | `-sf_crossdock_executor EXECUTOR` | what runs the plans, likewise | `auto` |
/// | `-sf_crossdock_explain` | print which route was chosen, and why | no |
#ifndef CROSSDOCK_PETSC_H
#define CROSSDOCK_PETSC_H

#include <petscsf.h>

/// @brief The type's name, for PetscSFSetType and `-sf_type`.
#define PETSCSFCROSSDOCK "crossdock"

/// @brief Makes the type known to PETSc, for a program that links the library.
///
/// To be called after PetscInitialize, and again after each further one; a second call changes
/// nothing.
/// @par Collective
/// No; but all ranks that use the type call it.
PETSC_EXTERN PetscErrorCode PetscSFRegisterCrossdock(void);

#endif

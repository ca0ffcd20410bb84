#ifdef CROSSDOCK_HAS_PETSC

#include "bench/common/petsc_session.hpp"

#ifdef CROSSDOCK_HAS_PETSC_TYPE
#include "crossdock/petsc.h"
#endif

namespace crossdock::bench {

namespace {

// PETSc explains an error only to its handler, and only at the call that failed first.
std::string& explanation() {
    static std::string text;
    return text;
}

PetscErrorCode keep_explanation(MPI_Comm, int, const char*, const char*, PetscErrorCode code,
                                PetscErrorType kind, const char* message, void*) {
    if (kind == PETSC_ERROR_INITIAL) explanation() = message ? message : "";
    return code;
}

// PETSc's world is this process alone: so whoever is first may initialize it, and the last finalize
// it, whatever the other ranks do.
void initialize() {
    CROSSDOCK_PETSC(PetscOptionsSetValue(nullptr, "-no_signal_handler", "true"));
    PETSC_COMM_WORLD = MPI_COMM_SELF;
    CROSSDOCK_PETSC(PetscInitializeNoArguments());
    CROSSDOCK_PETSC(PetscPushErrorHandler(&keep_explanation, nullptr));
#ifdef CROSSDOCK_HAS_PETSC_TYPE
    CROSSDOCK_PETSC(PetscSFRegisterCrossdock());
#endif
}

}  // namespace

void check_petsc(PetscErrorCode code, const char* call) {
    if (code == 0) return;
    const char* kind = nullptr;
    PetscErrorMessage(code, &kind, nullptr);
    throw error(errc::internal,
                std::string(call) + ": " + (kind ? kind : "PETSc failed") + ": " + explanation());
}

petsc_session::petsc_session(const communicator& comm) {
    if (num_open == 0) initialize();
    ++num_open;
    CROSSDOCK_PETSC(PetscCommDuplicate(comm.get(), &duplicate_, nullptr));
}

std::list<PetscSF>::iterator petsc_session::create() {
    const auto made = open_.insert(open_.end(), nullptr);
    CROSSDOCK_PETSC(PetscSFCreate(duplicate_, &*made));
    return made;
}

void petsc_session::destroy(std::list<PetscSF>::iterator made) {
    CROSSDOCK_PETSC(PetscSFDestroy(&*made));
    open_.erase(made);
}

void petsc_session::close() {
    while (!open_.empty()) destroy(open_.begin());
    CROSSDOCK_PETSC(PetscCommDestroy(&duplicate_));
    if (--num_open == 0) CROSSDOCK_PETSC(PetscFinalize());
}

}  // namespace crossdock::bench

#endif

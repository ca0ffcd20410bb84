// Solves A x = b and A' x = b for convection and diffusion on a cube, and prints every residual norm to its last bit.
// It knows nothing of crossdock.
#include <petscksp.h>

namespace {

PetscErrorCode print_norm(KSP, PetscInt step, PetscReal norm, void*) {
    PetscFunctionBegin;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d %a\n", static_cast<int>(step),
                          static_cast<double>(norm)));
    PetscFunctionReturn(0);
}

// Rows i of n^3, with wind along the first axis where `wind` is not 0. The last rank has none if there is
// -last_is_empty.
PetscErrorCode make_matrix(PetscInt n, PetscReal wind, Mat* result) {
    PetscInt first, last, num_local = PETSC_DECIDE;
    PetscMPIInt rank, num_ranks;
    PetscBool last_is_empty = PETSC_FALSE;

    PetscFunctionBegin;
    PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-last_is_empty", &last_is_empty, nullptr));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &num_ranks));
    if (last_is_empty) {
        const PetscInt num_owners = num_ranks - 1, num_rows = n * n * n;
        num_local =
            rank == num_owners ? 0 : num_rows / num_owners + (rank < num_rows % num_owners ? 1 : 0);
    }
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, num_local, num_local, n * n * n, n * n * n, 7, nullptr,
                           7, nullptr, result));
    PetscCall(MatGetOwnershipRange(*result, &first, &last));
    for (PetscInt row = first; row < last; ++row) {
        const PetscInt strides[] = {1, n, n * n};
        PetscCall(MatSetValue(*result, row, row, 6 + wind, INSERT_VALUES));
        for (const PetscInt stride : strides) {
            const PetscInt place = row / stride % n;
            const PetscReal upwind = stride == 1 ? wind : 0;
            if (place > 0)
                PetscCall(MatSetValue(*result, row, row - stride, -1 - upwind, INSERT_VALUES));
            if (place < n - 1)
                PetscCall(MatSetValue(*result, row, row + stride, -1, INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(*result, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*result, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

PetscErrorCode solve() {
    PetscInt n = 12, first, last;
    PetscReal wind = 0, norm;
    Mat a, copy;
    Vec x, b;
    KSP solver;

    PetscFunctionBegin;
    PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-n", &n, nullptr));
    PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-wind", &wind, nullptr));
    PetscCall(make_matrix(n, wind, &a));
    PetscCall(MatDuplicate(a, MAT_COPY_VALUES, &copy));
    PetscCall(MatCreateVecs(a, &x, &b));
    PetscCall(VecGetOwnershipRange(b, &first, &last));
    for (PetscInt row = first; row < last; ++row)
        PetscCall(VecSetValue(b, row, PetscSinReal(static_cast<PetscReal>(row)), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
    PetscCall(KSPSetOperators(solver, copy, copy));
    PetscCall(KSPSetFromOptions(solver));
    PetscCall(KSPMonitorSet(solver, print_norm, nullptr, nullptr));
    PetscCall(KSPSolve(solver, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solution %a\n", static_cast<double>(norm)));
    PetscCall(MatMultTranspose(a, x, b));
    PetscCall(VecNorm(b, NORM_1, &norm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "transpose %a\n", static_cast<double>(norm)));

    PetscCall(KSPDestroy(&solver));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&copy));
    PetscCall(MatDestroy(&a));
    PetscFunctionReturn(0);
}

}  // namespace

int main(int argc, char** argv) {
    PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
    PetscCall(solve());
    PetscCall(PetscFinalize());
    return 0;
}

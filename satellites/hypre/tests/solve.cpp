// A program that knows nothing of crossdock: it solves a model problem by BoomerAMG, and prints the residual of each
// cycle to the last bit.
//
// usage: solve PROBLEM SIZE CYCLES [-time]; the problem is 27pt or rotated, of SIZE points per rank in each dimension
#include <_hypre_parcsr_ls.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct blocks {
    int rank = 0;
    std::array<int, 3> of_ranks{};
};

HYPRE_ParCSRMatrix make_matrix(const std::string& problem, int size, const blocks& all) {
    const auto [px, py, pz] = all.of_ranks;
    const int x = all.rank % px, y = all.rank / px % py, z = all.rank / (px * py);
    if (problem == "rotated")
        return GenerateRotate7pt(MPI_COMM_WORLD, size * px, size * py, px, py, x, y, 45, 0.001);
    std::array<HYPRE_Real, 2> values{26, -1};
    return GenerateLaplacian27pt(MPI_COMM_WORLD, size * px, size * py, size * pz, px, py, pz, x, y,
                                 z, values.data());
}

HYPRE_ParVector make_vector(HYPRE_ParCSRMatrix matrix, HYPRE_Real value) {
    HYPRE_ParVector made = nullptr;
    HYPRE_ParVectorCreate(MPI_COMM_WORLD, hypre_ParCSRMatrixGlobalNumRows(matrix),
                          hypre_ParCSRMatrixRowStarts(matrix), &made);
    HYPRE_ParVectorInitialize(made);
    HYPRE_ParVectorSetConstantValues(made, value);
    return made;
}

void solve(const std::string& problem, int size, int cycles, const blocks& all, bool is_timed) {
    const HYPRE_ParCSRMatrix matrix = make_matrix(problem, size, all);
    const HYPRE_ParVector right = make_vector(matrix, 1), solution = make_vector(matrix, 0);
    HYPRE_Solver solver = nullptr;
    HYPRE_BoomerAMGCreate(&solver);
    HYPRE_BoomerAMGSetPrintLevel(solver, 0);
    HYPRE_BoomerAMGSetLogging(solver, 1);  // residuals are to be asked for
    HYPRE_BoomerAMGSetMaxIter(solver, 1);
    HYPRE_BoomerAMGSetTol(solver, 1e-300);  // of zero, hypre computes no residual
    const double begin = MPI_Wtime();
    HYPRE_BoomerAMGSetup(solver, matrix, right, solution);
    const double set_up = MPI_Wtime();
    double half = set_up;
    for (int i = 0; i < cycles; ++i) {
        if (i == cycles / 2) half = MPI_Wtime();
        HYPRE_BoomerAMGSolve(solver, matrix, right, solution);
        HYPRE_Real residual = 0;
        HYPRE_BoomerAMGGetFinalRelativeResidualNorm(solver, &residual);
        if (all.rank == 0 && !is_timed) std::printf("%a\n", residual);
    }
    const double end = MPI_Wtime();
    if (all.rank == 0 && is_timed)
        std::printf("%.6f %.6f %.6f\n", set_up - begin, half - set_up, end - half);
    HYPRE_BoomerAMGDestroy(solver);
    HYPRE_ParVectorDestroy(right);
    HYPRE_ParVectorDestroy(solution);
    HYPRE_ParCSRMatrixDestroy(matrix);
}

}  // namespace

int main(int num_arguments, char** arguments) {
    if (num_arguments < 4) return 2;
    MPI_Init(&num_arguments, &arguments);
    HYPRE_Init();
    const std::string problem = arguments[1];
    int num_ranks = 0;
    blocks all;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
    MPI_Dims_create(num_ranks, problem == "rotated" ? 2 : 3, all.of_ranks.data());
    // hypre frees the packages of the first solve, and uses their addresses in the second one.
    for (int i = 0; i < 2; ++i)
        solve(problem, std::atoi(arguments[2]), std::atoi(arguments[3]), all, num_arguments > 4);
    HYPRE_Finalize();
    MPI_Finalize();
}

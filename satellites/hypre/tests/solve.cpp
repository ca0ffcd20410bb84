// A program that knows nothing of crossdock: it solves a model problem by BoomerAMG, and prints the residual of each
// cycle to the last bit.
//
// usage: solve PROBLEM SIZE CYCLES [-time | -levels]; the problem is 27pt or rotated, of SIZE points per rank in each
// dimension. -time prints seconds of the set-up and of both halves of the cycles, for each of two solves; -levels the
// microseconds that a rank spends in the exchanges of a cycle of the second half, for each level.
#include <_hypre_parcsr_ls.h>
#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

// Seconds in hypre's exchange functions, by package.
class exchange_clock {
  public:
    template <class Call>
    auto charge(const hypre_ParCSRCommPkg* package, Call&& call) {
        const double begin = depth_++ == 0 ? MPI_Wtime() : 0;
        const auto result = call();
        if (--depth_ == 0) seconds_[package] += MPI_Wtime() - begin;
        return result;
    }
    void restart() { seconds_.clear(); }
    double of(const hypre_ParCSRCommPkg* package) const {
        const auto found = seconds_.find(package);
        return found == seconds_.end() ? 0 : found->second;
    }

  private:
    int depth_ = 0;  // hypre's functions call each other
    std::unordered_map<const hypre_ParCSRCommPkg*, double> seconds_;
} of_exchanges;

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

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

// Of the second half of the cycles, by level: that of its matrix, and that of its interpolation.
void print_levels(HYPRE_Solver solver, int cycles, int rank) {
    auto* const data = reinterpret_cast<hypre_ParAMGData*>(solver);
    const int num_levels = hypre_ParAMGDataNumLevels(data);
    std::vector<double> mean;
    for (int level = 0; level < num_levels; ++level) {
        mean.push_back(
            of_exchanges.of(hypre_ParCSRMatrixCommPkg(hypre_ParAMGDataAArray(data)[level])));
        mean.push_back(level + 1 == num_levels ? 0
                                               : of_exchanges.of(hypre_ParCSRMatrixCommPkg(
                                                     hypre_ParAMGDataPArray(data)[level])));
    }
    int num_ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Allreduce(MPI_IN_PLACE, mean.data(), 2 * num_levels, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (auto& one : mean) one *= 1e6 / (num_ranks * (cycles - cycles / 2));
    for (int level = 0; rank == 0 && level < num_levels; ++level)
        std::printf("%d %.3f %.3f\n", level, mean[2 * static_cast<std::size_t>(level)],
                    mean[2 * static_cast<std::size_t>(level) + 1]);
}

void solve(const std::string& problem, int size, int cycles, const blocks& all,
           const std::string& printed) {
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
        if (i == cycles / 2) {
            half = MPI_Wtime();
            of_exchanges.restart();
        }
        HYPRE_BoomerAMGSolve(solver, matrix, right, solution);
        HYPRE_Real residual = 0;
        HYPRE_BoomerAMGGetFinalRelativeResidualNorm(solver, &residual);
        if (all.rank == 0 && printed.empty()) std::printf("%a\n", residual);
    }
    const double end = MPI_Wtime();
    if (printed == "-levels") print_levels(solver, cycles, all.rank);
    if (all.rank == 0 && printed == "-time")
        std::printf("%.6f %.6f %.6f\n", set_up - begin, half - set_up, end - half);
    HYPRE_BoomerAMGDestroy(solver);
    HYPRE_ParVectorDestroy(right);
    HYPRE_ParVectorDestroy(solution);
    HYPRE_ParCSRMatrixDestroy(matrix);
}

}  // namespace

extern "C" {

hypre_ParCSRCommHandle* hypre_ParCSRCommHandleCreate(HYPRE_Int job, hypre_ParCSRCommPkg* package,
                                                     void* send, void* receive) {
    static auto* const own =
        next<decltype(hypre_ParCSRCommHandleCreate)>("hypre_ParCSRCommHandleCreate");
    return of_exchanges.charge(package, [&] { return own(job, package, send, receive); });
}

hypre_ParCSRCommHandle* hypre_ParCSRCommHandleCreate_v2(HYPRE_Int job, hypre_ParCSRCommPkg* package,
                                                        HYPRE_MemoryLocation send_location,
                                                        void* send,
                                                        HYPRE_MemoryLocation receive_location,
                                                        void* receive) {
    static auto* const own =
        next<decltype(hypre_ParCSRCommHandleCreate_v2)>("hypre_ParCSRCommHandleCreate_v2");
    return of_exchanges.charge(
        package, [&] { return own(job, package, send_location, send, receive_location, receive); });
}

HYPRE_Int hypre_ParCSRCommHandleDestroy(hypre_ParCSRCommHandle* handle) {
    static auto* const own =
        next<decltype(hypre_ParCSRCommHandleDestroy)>("hypre_ParCSRCommHandleDestroy");
    const auto* const package = handle == nullptr ? nullptr : handle->comm_pkg;
    return of_exchanges.charge(package, [&] { return own(handle); });
}
}

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
        solve(problem, std::atoi(arguments[2]), std::atoi(arguments[3]), all,
              num_arguments > 4 ? arguments[4] : "");
    HYPRE_Finalize();
    MPI_Finalize();
}

#include "bench/hypre/boomer_amg.hpp"

#include <_hypre_parcsr_ls.h>
#include <fmt/format.h>

#include <array>
#include <regex>

namespace crossdock::bench {

namespace {

// What hypre reports it keeps until it is asked.
void check_hypre(HYPRE_Int, const char* call) {
    if (HYPRE_GetError() == 0) return;
    HYPRE_ClearAllErrors();
    throw error(errc::internal, fmt::format("hypre failed in {}", call));
}

#define CROSSDOCK_HYPRE(call) check_hypre((call), #call)

struct model_problem {
    std::string stencil;
    std::array<HYPRE_BigInt, 3> points{1, 1, 1};
    std::array<int, 3> blocks{1, 1, 1};  // of points, one for each rank
};

model_problem parse(const std::string& text, int num_ranks) {
    static const std::regex form(R"((rotated|7pt|27pt):(\d{1,9})x(\d{1,9})(?:x(\d{1,9}))?)");
    std::smatch found;
    if (!std::regex_match(text, found, form) || (found[1] == "rotated") == found[4].matched) {
        throw error(errc::invalid_argument,
                    fmt::format("\"{}\" is no problem; there are rotated:NXxNY, 7pt:NXxNYxNZ and "
                                "27pt:NXxNYxNZ",
                                text));
    }
    model_problem result{found[1]};
    const int num_dimensions = found[4].matched ? 3 : 2;
    std::array<int, 3> blocks{};
    CROSSDOCK_MPI(MPI_Dims_create(num_ranks, num_dimensions, blocks.data()));
    count_t num_rows = 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(num_dimensions); ++d) {
        const count_t points = std::stol(found[d + 2]);
        if (points < blocks[d])
            throw error(errc::invalid_argument,
                        fmt::format("{} points cannot be cut into {} blocks", points, blocks[d]));
        num_rows = checked_cast<HYPRE_BigInt>(num_rows * points);
        result.points[d] = static_cast<HYPRE_BigInt>(points);
        result.blocks[d] = blocks[d];
    }
    return result;
}

HYPRE_ParCSRMatrix generate(MPI_Comm comm, int rank, const model_problem& what) {
    const auto [nx, ny, nz] = what.points;
    const auto [px, py, pz] = what.blocks;
    const int x = rank % px;
    const int y = rank / px % py;
    if (what.stencil == "rotated") return GenerateRotate7pt(comm, nx, ny, px, py, x, y, 45, 0.001);
    const int z = rank / (px * py);
    if (what.stencil == "7pt") {
        std::array<HYPRE_Real, 4> values{6, -1, -1, -1};
        return GenerateLaplacian(comm, nx, ny, nz, px, py, pz, x, y, z, values.data());
    }
    std::array<HYPRE_Real, 2> values{26, -1};
    return GenerateLaplacian27pt(comm, nx, ny, nz, px, py, pz, x, y, z, values.data());
}

HYPRE_ParVector make_vector(MPI_Comm comm, hypre_ParCSRMatrix* matrix) {
    HYPRE_ParVector made = nullptr;
    CROSSDOCK_HYPRE(HYPRE_ParVectorCreate(comm, hypre_ParCSRMatrixGlobalNumRows(matrix),
                                          hypre_ParCSRMatrixRowStarts(matrix), &made));
    CROSSDOCK_HYPRE(HYPRE_ParVectorInitialize(made));
    return made;
}

void have_package(hypre_ParCSRMatrix* matrix) {
    if (hypre_ParCSRMatrixCommPkg(matrix) == nullptr)
        CROSSDOCK_HYPRE(hypre_MatvecCommPkgCreate(matrix));
}

}  // namespace

boomer_amg::boomer_amg(const communicator& comm, const std::string& problem) {
    const auto what = on_all_or_none(comm, [&] { return parse(problem, comm.num_ranks()); });
    CROSSDOCK_MPI(MPI_Comm_dup(comm.get(), &comm_));
    CROSSDOCK_HYPRE(HYPRE_Init());
    finest_ = generate(comm_, comm.rank(), what);
    CROSSDOCK_HYPRE(HYPRE_BoomerAMGCreate(&solver_));
    const HYPRE_Int pmis = 8;
    const HYPRE_Int extended_and_i = 6;
    CROSSDOCK_HYPRE(HYPRE_BoomerAMGSetCoarsenType(solver_, pmis));
    CROSSDOCK_HYPRE(HYPRE_BoomerAMGSetInterpType(solver_, extended_and_i));
    HYPRE_ParVector b = make_vector(comm_, finest_);
    HYPRE_ParVector x = make_vector(comm_, finest_);
    CROSSDOCK_HYPRE(HYPRE_BoomerAMGSetup(solver_, finest_, b, x));
    HYPRE_ParVectorDestroy(b);
    HYPRE_ParVectorDestroy(x);

    auto* const data = reinterpret_cast<hypre_ParAMGData*>(solver_);
    for (HYPRE_Int level = 0; level < hypre_ParAMGDataNumLevels(data); ++level) {
        levels_.push_back(hypre_ParAMGDataAArray(data)[level]);
        have_package(levels_.back());
        if (level == 0) continue;
        interpolations_.push_back(hypre_ParAMGDataPArray(data)[level - 1]);
        have_package(interpolations_.back());
    }
}

boomer_amg::~boomer_amg() {
    HYPRE_BoomerAMGDestroy(solver_);
    HYPRE_ParCSRMatrixDestroy(finest_);
    HYPRE_Finalize();
    MPI_Comm_free(&comm_);
}

}  // namespace crossdock::bench

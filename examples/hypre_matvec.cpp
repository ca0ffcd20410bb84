// y = A x of a matrix of hypre's, with its kernels and this library's exchange: hypre's own bits.
#include <HYPRE_parcsr_ls.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <span>

#include "crossdock/crossdock.hpp"
#include "crossdock/hypre.hpp"

namespace {

hypre_ParCSRMatrix* make_laplacian(const crossdock::context& world, int points) {
    std::array<int, 3> blocks{};
    MPI_Dims_create(world.num_ranks(), 3, blocks.data());
    const auto [p, q, r] = blocks;
    const int rank = world.rank();
    std::array<HYPRE_Real, 2> values{26, -1};
    HYPRE_ParCSRMatrix made =
        GenerateLaplacian27pt(MPI_COMM_WORLD, points, points, points, p, q, r, rank % p,
                              rank / p % q, rank / (p * q), values.data());
    if (hypre_ParCSRMatrixCommPkg(made) == nullptr) hypre_MatvecCommPkgCreate(made);
    return made;
}

hypre_ParVector* make_vector(hypre_ParCSRMatrix* matrix) {
    auto* made = hypre_ParVectorCreate(MPI_COMM_WORLD, hypre_ParCSRMatrixGlobalNumRows(matrix),
                                       hypre_ParCSRMatrixRowStarts(matrix));
    hypre_ParVectorInitialize(made);
    return made;
}

std::span<double> values(hypre_Vector* vector) {
    return {hypre_VectorData(vector), static_cast<std::size_t>(hypre_VectorSize(vector))};
}

// The off-diagonal block is multiplied when its values of x are there; they travel meanwhile.
void multiply(hypre_ParCSRMatrix* matrix, crossdock::neighbor_exchange& halo, hypre_Vector* x,
              hypre_Vector* ghosts, hypre_Vector* y) {
    halo.start(values(x), values(ghosts));
    hypre_CSRMatrixMatvec(1, hypre_ParCSRMatrixDiag(matrix), x, 0, y);
    halo.wait();
    hypre_CSRMatrixMatvec(1, hypre_ParCSRMatrixOffd(matrix), ghosts, 1, y);
}

bool same_bits(std::span<const double> a, std::span<const double> b) {
    return a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    crossdock::context world(MPI_COMM_WORLD);
    auto* matrix = make_laplacian(world, 12);
    auto* x = make_vector(matrix);
    auto* y = make_vector(matrix);
    auto* expected = make_vector(matrix);
    auto* ghosts = hypre_SeqVectorCreate(hypre_CSRMatrixNumCols(hypre_ParCSRMatrixOffd(matrix)));
    hypre_SeqVectorInitialize(ghosts);
    hypre_ParVectorSetRandomValues(x, 1);

    const auto pattern = crossdock::pattern_from_hypre(world, hypre_ParCSRMatrixCommPkg(matrix));
    crossdock::neighbor_exchange halo(world, pattern);
    multiply(matrix, halo, hypre_ParVectorLocalVector(x), ghosts, hypre_ParVectorLocalVector(y));

    hypre_ParCSRMatrixMatvec(1, matrix, x, 0, expected);
    int is_same = same_bits(values(hypre_ParVectorLocalVector(y)),
                            values(hypre_ParVectorLocalVector(expected)));
    MPI_Allreduce(MPI_IN_PLACE, &is_same, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (world.rank() == 0)
        std::printf("%s\n", is_same ? "the same bits as hypre's" : "NOT the same bits as hypre's");

    hypre_SeqVectorDestroy(ghosts);
    for (auto* vector : {x, y, expected}) hypre_ParVectorDestroy(vector);
    hypre_ParCSRMatrixDestroy(matrix);
    world.close();
    HYPRE_Finalize();
    MPI_Finalize();
    return is_same ? 0 : 1;
}

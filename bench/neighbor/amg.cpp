#include "bench/neighbor/amg.hpp"

#ifdef CROSSDOCK_HAS_PETSC
#include <petscpc.h>
#endif

#if defined(PETSC_HAVE_HYPRE) && defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)

#include <algorithm>
#include <numeric>

#include "bench/common/petsc_session.hpp"
#include "bench/common/share.hpp"

namespace crossdock::bench {

namespace {

// PETSc's copy of a matrix whose rows are distributed.
Mat make_matrix(const communicator& comm, MPI_Comm petsc_comm, const share& part) {
    std::vector<PetscInt> offsets;
    std::vector<PetscInt> columns;
    on_all_or_none(comm, [&] {
        for (const count_t offset : part.row_offsets)
            offsets.push_back(checked_cast<PetscInt>(offset));
        const auto num_items = part.item_columns.size();
        for (const count_t entry : part.entries) {
            const auto place = static_cast<std::size_t>(entry);
            columns.push_back(checked_cast<PetscInt>(place < num_items
                                                         ? part.item_columns[place]
                                                         : part.slot_columns[place - num_items]));
        }
    });
    const auto num_rows = static_cast<PetscInt>(part.rows.size());
    Mat matrix = nullptr;
    CROSSDOCK_PETSC(MatCreateMPIAIJWithArrays(petsc_comm, num_rows, num_rows, PETSC_DETERMINE,
                                              PETSC_DETERMINE, offsets.data(), columns.data(),
                                              part.values.data(), &matrix));
    return matrix;
}

PC set_up_amg(MPI_Comm petsc_comm, Mat matrix) {
    const std::string prefix = "crossdock_bench_";
    const std::string option = "-" + prefix + "pc_hypre_boomeramg_";
    CROSSDOCK_PETSC(PetscOptionsSetValue(nullptr, (option + "coarsen_type").c_str(), "PMIS"));
    CROSSDOCK_PETSC(PetscOptionsSetValue(nullptr, (option + "interp_type").c_str(), "ext+i"));
    PC amg = nullptr;
    CROSSDOCK_PETSC(PCCreate(petsc_comm, &amg));
    CROSSDOCK_PETSC(PCSetOptionsPrefix(amg, prefix.c_str()));
    CROSSDOCK_PETSC(PCSetOperators(amg, matrix, matrix));
    CROSSDOCK_PETSC(PCSetType(amg, PCHYPRE));
    CROSSDOCK_PETSC(PCHYPRESetType(amg, "boomeramg"));
    CROSSDOCK_PETSC(PCSetFromOptions(amg));
    CROSSDOCK_PETSC(PCSetUp(amg));
    return amg;
}

// On rank 0 what all ranks have, in the order of ranks.
template <class Number>
std::vector<Number> gather(const communicator& comm, const std::vector<Number>& own,
                           MPI_Datatype type) {
    const int num_own = checked_cast<int>(own.size());
    std::vector<int> counts(static_cast<std::size_t>(comm.num_ranks()));
    CROSSDOCK_MPI(MPI_Gather(&num_own, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm.get()));
    std::vector<int> displacements(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), 0);
    std::vector<Number> all;
    if (comm.rank() == 0)
        all.resize(static_cast<std::size_t>(displacements.back() + counts.back()));
    CROSSDOCK_MPI(MPI_Gatherv(own.data(), num_own, type, all.data(), counts.data(),
                              displacements.data(), type, 0, comm.get()));
    return all;
}

workload gather_matrix(const communicator& comm, Mat matrix) {
    PetscInt first = 0;
    PetscInt end = 0;
    CROSSDOCK_PETSC(MatGetOwnershipRange(matrix, &first, &end));
    std::vector<count_t> lengths;
    std::vector<count_t> columns;
    std::vector<double> values;
    for (PetscInt row = first; row < end; ++row) {
        PetscInt length = 0;
        const PetscInt* row_columns = nullptr;
        const PetscScalar* row_values = nullptr;
        CROSSDOCK_PETSC(MatGetRow(matrix, row, &length, &row_columns, &row_values));
        lengths.push_back(length);
        columns.insert(columns.end(), row_columns, row_columns + length);
        values.insert(values.end(), row_values, row_values + length);
        CROSSDOCK_PETSC(MatRestoreRow(matrix, row, &length, &row_columns, &row_values));
    }
    const std::vector<rank_t> own_rank(lengths.size(), comm.rank());

    workload all;
    all.owners.num_ranks = comm.num_ranks();
    all.owners.row_owner = gather(comm, own_rank, MPI_INT);
    all.owners.column_owner = all.owners.row_owner;
    all.matrix.num_rows = static_cast<count_t>(all.owners.row_owner.size());
    all.matrix.num_columns = all.matrix.num_rows;
    for (const count_t length : gather(comm, lengths, MPI_INT64_T))
        all.matrix.row_offsets.push_back(all.matrix.row_offsets.back() + length);
    all.matrix.columns = gather(comm, columns, MPI_INT64_T);
    all.matrix.values = gather(comm, values, MPI_DOUBLE);
    return all;
}

}  // namespace

std::string amg_obstacle() { return ""; }

std::vector<workload> make_amg_levels(const communicator& comm, const workload& finest) {
    const MPI_Comm petsc_comm = comm.resource<petsc_session>().get();
    const auto parts = distribute(comm, [&] { return std::vector<workload>{finest}; });
    Mat matrix = make_matrix(comm, petsc_comm, parts.front());
    PC amg = set_up_amg(petsc_comm, matrix);
    // The coarser matrices come coarsest first, one less than there are levels.
    PetscInt num_levels = 0;
    Mat* coarser = nullptr;
    CROSSDOCK_PETSC(PCGetCoarseOperators(amg, &num_levels, &coarser));
    std::vector<workload> levels{gather_matrix(comm, matrix)};
    for (PetscInt level = num_levels - 2; level >= 0; --level) {
        levels.push_back(gather_matrix(comm, coarser[level]));
        CROSSDOCK_PETSC(MatDestroy(&coarser[level]));
    }
    CROSSDOCK_PETSC(PetscFree(coarser));
    CROSSDOCK_PETSC(PCDestroy(&amg));
    CROSSDOCK_PETSC(MatDestroy(&matrix));
    return levels;
}

}  // namespace crossdock::bench

#else

namespace crossdock::bench {

std::string amg_obstacle() { return "this build has no PETSc with hypre and real numbers"; }

std::vector<workload> make_amg_levels(const communicator&, const workload&) {
    throw error(errc::invalid_argument, amg_obstacle());
}

}  // namespace crossdock::bench

#endif

#include "bench/common/petsc_sf.hpp"

#ifdef CROSSDOCK_HAS_PETSC

#include <vector>

#include "bench/common/petsc_session.hpp"

namespace crossdock::bench {

namespace {

std::vector<PetscSFNode> joined_roots(const communicator& comm, std::span<const rank_t> owners,
                                      std::span<const count_t> root_indices) {
    if (owners.size() != root_indices.size()) {
        throw error(errc::size_mismatch, std::to_string(owners.size()) + " owners of " +
                                             std::to_string(root_indices.size()) + " roots");
    }
    std::vector<PetscSFNode> roots;
    roots.reserve(owners.size());
    for (std::size_t leaf = 0; leaf < owners.size(); ++leaf) {
        const rank_t owner = owners[leaf];
        if (owner < 0 || owner >= comm.num_ranks()) {
            throw error(errc::rank_out_of_range, "owner " + std::to_string(owner) + " of leaf " +
                                                     std::to_string(leaf) + " is outside [0, " +
                                                     std::to_string(comm.num_ranks()) + ")");
        }
        roots.push_back({owner, checked_cast<PetscInt>(root_indices[leaf])});
    }
    return roots;
}

}  // namespace

struct petsc_sf::forest {
    petsc_session& session;
    std::list<PetscSF>::iterator sf;
    std::size_t num_roots;
    std::size_t num_leaves;

    bool is_for(std::size_t roots, std::size_t leaves) const noexcept {
        return roots == num_roots && leaves == num_leaves;
    }
};

std::string petsc_obstacle([[maybe_unused]] const std::string& type) {
#ifndef CROSSDOCK_HAS_PETSC_TYPE
    if (type == "crossdock") return "this build has PETSc, but not its type crossdock";
#endif
    return "";
}

petsc_sf::petsc_sf(const communicator& comm, count_t num_roots, std::span<const rank_t> owners,
                   std::span<const count_t> root_indices, const std::string& type) {
    auto roots = on_all_or_none(comm, [&] {
        checked_cast<PetscInt>(num_roots);
        checked_cast<PetscInt>(owners.size());
        return joined_roots(comm, owners, root_indices);
    });
    auto& session = comm.resource<petsc_session>();
    forest_ = std::make_unique<forest>(
        forest{session, session.create(), static_cast<std::size_t>(num_roots), roots.size()});
    CROSSDOCK_PETSC(PetscSFSetType(*forest_->sf, type.c_str()));
    CROSSDOCK_PETSC(PetscSFSetGraph(*forest_->sf, static_cast<PetscInt>(num_roots),
                                    static_cast<PetscInt>(roots.size()), nullptr, PETSC_COPY_VALUES,
                                    roots.data(), PETSC_COPY_VALUES));
    CROSSDOCK_PETSC(PetscSFSetUp(*forest_->sf));
}

petsc_sf::~petsc_sf() = default;

void petsc_sf::read(std::span<const double> roots, std::span<double> leaves) {
    require_state(forest_ && forest_->is_for(roots.size(), leaves.size()),
                  "the star forest is closed, or has other numbers of roots and leaves");
    start_read(roots.data(), leaves.data(), MPI_DOUBLE);
    finish_read(roots.data(), leaves.data(), MPI_DOUBLE);
}

void petsc_sf::update(std::span<const double> leaves, std::span<double> roots, MPI_Op operation) {
    require_state(forest_ && forest_->is_for(roots.size(), leaves.size()),
                  "the star forest is closed, or has other numbers of roots and leaves");
    start_update(leaves.data(), roots.data(), MPI_DOUBLE, operation);
    finish_update(leaves.data(), roots.data(), MPI_DOUBLE, operation);
}

void petsc_sf::start_read(const void* roots, void* leaves, MPI_Datatype unit) {
    CROSSDOCK_PETSC(PetscSFBcastBegin(*forest_->sf, unit, roots, leaves, MPI_REPLACE));
}

void petsc_sf::finish_read(const void* roots, void* leaves, MPI_Datatype unit) {
    CROSSDOCK_PETSC(PetscSFBcastEnd(*forest_->sf, unit, roots, leaves, MPI_REPLACE));
}

void petsc_sf::start_update(const void* leaves, void* roots, MPI_Datatype unit, MPI_Op operation) {
    CROSSDOCK_PETSC(PetscSFReduceBegin(*forest_->sf, unit, leaves, roots, operation));
}

void petsc_sf::finish_update(const void* leaves, void* roots, MPI_Datatype unit, MPI_Op operation) {
    CROSSDOCK_PETSC(PetscSFReduceEnd(*forest_->sf, unit, leaves, roots, operation));
}

void petsc_sf::close() {
    if (!forest_) return;
    forest_->session.destroy(forest_->sf);
    forest_.reset();
}

}  // namespace crossdock::bench

#else

// The constructor always throws, so the other members are never called.
namespace crossdock::bench {

struct petsc_sf::forest {};

std::string petsc_obstacle(const std::string&) { return "this build has no PETSc"; }

petsc_sf::petsc_sf(const communicator&, count_t, std::span<const rank_t>, std::span<const count_t>,
                   const std::string&) {
    throw error(errc::invalid_argument, "this build has no PETSc");
}

petsc_sf::~petsc_sf() = default;

void petsc_sf::read(std::span<const double>, std::span<double>) {}

void petsc_sf::update(std::span<const double>, std::span<double>, MPI_Op) {}

void petsc_sf::start_read(const void*, void*, MPI_Datatype) {}

void petsc_sf::finish_read(const void*, void*, MPI_Datatype) {}

void petsc_sf::start_update(const void*, void*, MPI_Datatype, MPI_Op) {}

void petsc_sf::finish_update(const void*, void*, MPI_Datatype, MPI_Op) {}

void petsc_sf::close() {}

}  // namespace crossdock::bench

#endif

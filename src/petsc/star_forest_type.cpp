// The type `crossdock` of PetscSF. All that depends on PETSc's private header is here.
#include <petsc/private/sfimpl.h>

#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "forest_exchange.hpp"
#include "include/crossdock/petsc.h"

namespace crossdock {

namespace {

using direction = forest_exchange::direction;

constexpr auto success = static_cast<PetscErrorCode>(0);

// Calls `use`; what it throws, on all ranks of the communicator alike, is an error of PETSc's.
template <class Use>
PetscErrorCode guarded(MPI_Comm comm, Use&& use) {
    PetscFunctionBegin;
    std::string said;
    PetscErrorCode code = PETSC_ERR_LIB;
    try {
        use();
        PetscFunctionReturn(success);
    } catch (...) {
        const auto fault = current_error();
        said = fault.what();
        switch (fault.code()) {
            case errc::out_of_memory: code = PETSC_ERR_MEM; break;
            case errc::invalid_state: code = PETSC_ERR_ARG_WRONGSTATE; break;
            case errc::invalid_argument:
            case errc::unknown_route:
            case errc::invalid_route: code = PETSC_ERR_ARG_WRONG; break;
            case errc::index_out_of_range:
            case errc::rank_out_of_range: code = PETSC_ERR_ARG_OUTOFRANGE; break;
            default: break;
        }
    }
    SETERRQ(comm, code, "%s", said.c_str());
}

// One context for all forests on a communicator of PETSc's, freed with it.

int free_context(MPI_Comm, int, void* kept, void*) {
    const std::unique_ptr<context> where(static_cast<context*>(kept));
    try {
        where->close();
    } catch (...) {
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

const context& context_of(MPI_Comm comm) {
    static int key = MPI_KEYVAL_INVALID;
    if (key == MPI_KEYVAL_INVALID) {
        CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &free_context, &key, nullptr));
    }
    void* kept = nullptr;
    int is_there = 0;
    CROSSDOCK_MPI(MPI_Comm_get_attr(comm, key, &kept, &is_there));
    if (is_there) return *static_cast<context*>(kept);
    auto made = std::make_unique<context>(comm);
    CROSSDOCK_MPI(MPI_Comm_set_attr(comm, key, made.get()));
    return *made.release();
}

// A forest of PETSc's on this process alone: it combines values into an array, as PETSc does it.
class local_forest {
  public:
    local_forest() = default;
    ~local_forest() { PetscSFDestroy(&sf_); }
    local_forest(const local_forest&) = delete;
    local_forest& operator=(const local_forest&) = delete;

    bool is_made() const noexcept { return sf_ != nullptr; }

    // Value `from[e]` goes to place `to[e]`.
    PetscErrorCode make(const std::vector<count_t>& from, const std::vector<count_t>& to,
                        count_t num_places) {
        PetscInt *leaves, num_edges;
        PetscSFNode* roots;

        PetscFunctionBegin;
        num_edges = static_cast<PetscInt>(to.size());
        PetscCall(PetscMalloc1(num_edges, &leaves));
        PetscCall(PetscMalloc1(num_edges, &roots));
        for (std::size_t e = 0; e < to.size(); ++e) {
            leaves[e] = static_cast<PetscInt>(from[e]);
            roots[e] = {0, static_cast<PetscInt>(to[e])};
        }
        PetscCall(PetscSFCreate(PETSC_COMM_SELF, &sf_));
        PetscCall(PetscSFSetType(sf_, PETSCSFBASIC));
        PetscCall(PetscSFSetGraph(sf_, static_cast<PetscInt>(num_places), num_edges, leaves,
                                  PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER));
        sf_->vscat.logging = PETSC_TRUE;  // the events are those of the whole forest
        PetscCall(PetscSFSetUp(sf_));
        PetscFunctionReturn(success);
    }

    PetscErrorCode combine(MPI_Datatype unit, const void* values, void* places, MPI_Op op) {
        PetscFunctionBegin;
        PetscCall(PetscSFReduceWithMemTypeBegin(sf_, unit, PETSC_MEMTYPE_HOST, values,
                                                PETSC_MEMTYPE_HOST, places, op));
        PetscCall(PetscSFReduceEnd(sf_, unit, values, places, op));
        PetscFunctionReturn(success);
    }

    PetscErrorCode fetch(MPI_Datatype unit, void* places, const void* values, void* fetched,
                         MPI_Op op) {
        PetscFunctionBegin;
        PetscCall(PetscSFFetchAndOpWithMemTypeBegin(sf_, unit, PETSC_MEMTYPE_HOST, places,
                                                    PETSC_MEMTYPE_HOST, values, PETSC_MEMTYPE_HOST,
                                                    fetched, op));
        PetscCall(PetscSFFetchAndOpEnd(sf_, unit, places, values, fetched, op));
        PetscFunctionReturn(success);
    }

  private:
    PetscSF sf_ = nullptr;
};

// What a forest and its duplicates share.
struct graph {
    graph(const context& where, count_t num_roots, leaf_edges edges, const forest_options& options)
        : exchange(where, num_roots, std::move(edges), options) {
        const auto& incoming = exchange.incoming();
        offsets.assign(incoming.offsets.begin(), incoming.offsets.end());
        roots.assign(incoming.roots.begin(), incoming.roots.end());
    }

    forest_exchange exchange;
    std::vector<PetscInt> offsets;  // of the incoming edges, in PETSc's integers
    std::vector<PetscInt> roots;
    local_forest at_leaves;  // from slots
    local_forest at_roots;   // from edges
};

// What `data` of a PetscSF points to.
struct forest_data {
    std::array<char, 256> route{"auto"};
    std::array<char, 256> executor{"auto"};
    PetscBool explains = PETSC_FALSE;
    std::shared_ptr<graph> known;
    PetscSF instead = nullptr;  // of type basic, where crossdock does not take part

    forest_options options() const { return {route.data(), executor.data()}; }
};

forest_data& data_of(PetscSF sf) { return *static_cast<forest_data*>(sf->data); }

leaf_edges edges_of(PetscSF sf) {
    leaf_edges edges;
    edges.ranks.assign(sf->ranks, sf->ranks + sf->nranks);
    edges.offsets.assign(sf->roffset, sf->roffset + sf->nranks + 1);
    edges.leaves.assign(sf->rmine, sf->rmine + sf->nleaves);
    edges.roots.assign(sf->rremote, sf->rremote + sf->nleaves);
    return edges;
}

PetscErrorCode set_up_instead(PetscSF sf, const char* reason) {
    PetscSF& instead = data_of(sf).instead;

    PetscFunctionBegin;
    PetscCall(PetscInfo(sf, "PetscSF of type basic instead of crossdock: %s\n", reason));
    PetscCall(PetscSFCreate(PetscObjectComm(reinterpret_cast<PetscObject>(sf)), &instead));
    PetscCall(PetscSFSetType(instead, PETSCSFBASIC));
    instead->allow_multi_leaves = sf->allow_multi_leaves;
    PetscCall(PetscSFSetGraph(instead, sf->nroots, sf->nleaves, sf->mine, PETSC_COPY_VALUES,
                              sf->remote, PETSC_COPY_VALUES));
    instead->vscat.logging = PETSC_TRUE;
    PetscCall(PetscSFSetUp(instead));
    PetscFunctionReturn(success);
}

// Devices of PETSc's are known where it has used one, on all ranks or on some.
PetscErrorCode find_devices(MPI_Comm comm, PetscBool* found) {
    int has_device = 0;

    PetscFunctionBegin;
#if defined(PETSC_HAVE_DEVICE)
    for (const auto kind : {PETSC_DEVICE_CUDA, PETSC_DEVICE_HIP, PETSC_DEVICE_SYCL})
        has_device |= PetscDeviceInitialized(kind);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &has_device, 1, MPI_INT, MPI_MAX, comm));
#else
    static_cast<void>(comm);
#endif
    *found = has_device ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(success);
}

PetscErrorCode set_up(PetscSF sf) {
    MPI_Comm comm;
    MPI_Group self;
    PetscMPIInt num_ranks;
    PetscBool has_device;
    auto& data = data_of(sf);

    PetscFunctionBegin;
    PetscCheck(sf->pattern == PETSCSF_PATTERN_GENERAL,
               PetscObjectComm(reinterpret_cast<PetscObject>(sf)), PETSC_ERR_SUP,
               "PetscSFSetGraphWithPattern() has types of its own");
    PetscCall(PetscObjectGetComm(reinterpret_cast<PetscObject>(sf), &comm));
    PetscCallMPI(MPI_Comm_size(comm, &num_ranks));
    PetscCallMPI(MPI_Comm_group(PETSC_COMM_SELF, &self));
    PetscCall(PetscSFSetUpRanks(sf, self));
    PetscCallMPI(MPI_Group_free(&self));
    PetscCall(find_devices(comm, &has_device));
    if (num_ranks == 1 || has_device) {
        PetscCall(set_up_instead(sf, has_device ? "a device is in use" : "there is one rank"));
        PetscFunctionReturn(success);
    }
    if (data.known && data.known->exchange.options() == data.options())
        PetscFunctionReturn(success);
    PetscCall(guarded(comm, [&] {
        data.known =
            std::make_shared<graph>(context_of(comm), sf->nroots, edges_of(sf), data.options());
    }));
    PetscFunctionReturn(success);
}

PetscErrorCode reset(PetscSF sf) {
    auto& data = data_of(sf);

    PetscFunctionBegin;
    PetscCheck(!data.known || data.known.use_count() > 1 || !data.known->exchange.is_active(),
               PetscObjectComm(reinterpret_cast<PetscObject>(sf)), PETSC_ERR_ARG_WRONGSTATE,
               "Outstanding operation has not been completed");
    data.known.reset();
    PetscCall(PetscSFDestroy(&data.instead));
    PetscFunctionReturn(success);
}

PetscErrorCode destroy(PetscSF sf) {
    PetscFunctionBegin;
    PetscCall(reset(sf));
    delete &data_of(sf);
    sf->data = nullptr;
    PetscFunctionReturn(success);
}

PetscErrorCode set_from_options(PetscSF sf, PetscOptionItems* PetscOptionsObject) {
    auto& data = data_of(sf);

    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "PetscSF crossdock options");
    PetscCall(PetscOptionsString("-sf_crossdock_route", "Route that values travel", "",
                                 data.route.data(), data.route.data(), data.route.size(), nullptr));
    PetscCall(PetscOptionsString("-sf_crossdock_executor", "What runs the plans", "",
                                 data.executor.data(), data.executor.data(), data.executor.size(),
                                 nullptr));
    PetscCall(PetscOptionsBool("-sf_crossdock_explain", "Print which route was chosen, and why", "",
                               data.explains, &data.explains, nullptr));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(success);
}

PetscErrorCode view(PetscSF sf, PetscViewer viewer) {
    PetscBool is_text;
    const auto& data = data_of(sf);

    PetscFunctionBegin;
    PetscCall(
        PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_text));
    if (is_text) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  MultiSF sort=%s\n",
                                         sf->rankorder ? "rank-order" : "unordered"));
        PetscCall(PetscViewerASCIIPrintf(viewer, "  route %s, executor %s%s\n", data.route.data(),
                                         data.executor.data(),
                                         data.instead ? "; type basic instead" : ""));
    }
    PetscFunctionReturn(success);
}

// The duplicate of a whole graph uses the same plans; another graph's set-up forgets them.
PetscErrorCode duplicate(PetscSF sf, PetscSFDuplicateOption what, PetscSF twin) {
    PetscFunctionBegin;
    data_of(twin) = data_of(sf);
    data_of(twin).instead = nullptr;
    if (what != PETSCSF_DUPLICATE_GRAPH) data_of(twin).known.reset();
    PetscFunctionReturn(success);
}

PetscErrorCode size_of(MPI_Datatype unit, std::size_t* bytes) {
    MPI_Aint first, extent;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Type_get_extent(unit, &first, &extent));
    PetscCheck(first == 0 && extent > 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "a unit from byte %ld on, of %ld bytes", static_cast<long>(first),
               static_cast<long>(extent));
    *bytes = static_cast<std::size_t>(extent);
    PetscFunctionReturn(success);
}

PetscErrorCode begin(PetscSF sf, direction to, MPI_Datatype unit, const void* roots,
                     const void* leaves, bool replaces) {
    MPI_Comm comm;
    std::size_t bytes = 0;
    std::optional<std::string> explained;
    auto& data = data_of(sf);

    PetscFunctionBegin;
    PetscCall(PetscObjectGetComm(reinterpret_cast<PetscObject>(sf), &comm));
    PetscCall(size_of(unit, &bytes));
    PetscCall(guarded(comm, [&] {
        explained = data.known->exchange.start({to, bytes, roots, leaves}, replaces);
    }));
    if (explained && data.explains) {
        PetscCall(PetscPrintf(comm, "PetscSF of type crossdock, %s\n%s",
                              to == direction::to_leaves ? "roots to leaves" : "leaves to roots",
                              explained->c_str()));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode finish(PetscSF sf, direction to, MPI_Datatype unit, const void* roots,
                      const void* leaves, forest_exchange::active** done, std::byte** values) {
    std::size_t bytes = 0;

    PetscFunctionBegin;
    PetscCall(size_of(unit, &bytes));
    PetscCall(guarded(PetscObjectComm(reinterpret_cast<PetscObject>(sf)), [&] {
        *done = &data_of(sf).known->exchange.take({to, bytes, roots, leaves});
        *values = (*done)->finish();
    }));
    PetscFunctionReturn(success);
}

PetscErrorCode make_at_roots(PetscSF sf) {
    graph& known = *data_of(sf).known;

    PetscFunctionBegin;
    if (!known.at_roots.is_made()) {
        std::vector<count_t> edges(known.roots.size());
        std::iota(edges.begin(), edges.end(), count_t{0});
        PetscCall(known.at_roots.make(edges, known.exchange.incoming().roots, sf->nroots));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode make_at_leaves(PetscSF sf) {
    graph& known = *data_of(sf).known;
    const auto& exchange = known.exchange;

    PetscFunctionBegin;
    if (!known.at_leaves.is_made()) {
        PetscCall(known.at_leaves.make(exchange.slots(), exchange.edges().leaves,
                                       exchange.first_leaf() + exchange.num_places()));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode bcast_begin(PetscSF sf, MPI_Datatype unit, PetscMemType rootmtype, const void* roots,
                           PetscMemType leafmtype, void* leaves, MPI_Op op) {
    const auto instead = data_of(sf).instead;

    PetscFunctionBegin;
    if (instead) {
        PetscCall(
            PetscSFBcastWithMemTypeBegin(instead, unit, rootmtype, roots, leafmtype, leaves, op));
    } else {
        PetscCall(begin(sf, direction::to_leaves, unit, roots, leaves, op == MPI_REPLACE));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode bcast_end(PetscSF sf, MPI_Datatype unit, const void* roots, void* leaves,
                         MPI_Op op) {
    const auto instead = data_of(sf).instead;
    forest_exchange::active* done = nullptr;
    std::byte* values = nullptr;

    PetscFunctionBegin;
    if (instead) {
        PetscCall(PetscSFBcastEnd(instead, unit, roots, leaves, op));
        PetscFunctionReturn(success);
    }
    PetscCall(finish(sf, direction::to_leaves, unit, roots, leaves, &done, &values));
    if (values) {
        PetscCall(make_at_leaves(sf));
        PetscCall(data_of(sf).known->at_leaves.combine(unit, values, leaves, op));
    }
    done->release();
    PetscFunctionReturn(success);
}

PetscErrorCode reduce_begin(PetscSF sf, MPI_Datatype unit, PetscMemType leafmtype,
                            const void* leaves, PetscMemType rootmtype, void* roots, MPI_Op op) {
    const auto instead = data_of(sf).instead;

    PetscFunctionBegin;
    if (instead) {
        PetscCall(
            PetscSFReduceWithMemTypeBegin(instead, unit, leafmtype, leaves, rootmtype, roots, op));
    } else {
        PetscCall(begin(sf, direction::to_roots, unit, roots, leaves, false));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode reduce_end(PetscSF sf, MPI_Datatype unit, const void* leaves, void* roots,
                          MPI_Op op) {
    const auto instead = data_of(sf).instead;
    forest_exchange::active* done = nullptr;
    std::byte* values = nullptr;

    PetscFunctionBegin;
    if (instead) {
        PetscCall(PetscSFReduceEnd(instead, unit, leaves, roots, op));
        PetscFunctionReturn(success);
    }
    PetscCall(finish(sf, direction::to_roots, unit, roots, leaves, &done, &values));
    PetscCall(make_at_roots(sf));
    PetscCall(data_of(sf).known->at_roots.combine(unit, values, roots, op));
    done->release();
    PetscFunctionReturn(success);
}

PetscErrorCode fetch_begin(PetscSF sf, MPI_Datatype unit, PetscMemType rootmtype, void* roots,
                           PetscMemType leafmtype, const void* leaves, void* fetched, MPI_Op op) {
    const auto instead = data_of(sf).instead;

    PetscFunctionBegin;
    if (instead) {
        PetscCall(PetscSFFetchAndOpWithMemTypeBegin(instead, unit, rootmtype, roots, leafmtype,
                                                    leaves, leafmtype, fetched, op));
    } else {
        PetscCall(begin(sf, direction::to_roots, unit, roots, leaves, false));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode fetch_end(PetscSF sf, MPI_Datatype unit, void* roots, const void* leaves,
                         void* fetched, MPI_Op op) {
    const auto instead = data_of(sf).instead;
    forest_exchange::active* done = nullptr;
    std::byte* values = nullptr;
    std::vector<std::byte> before;

    PetscFunctionBegin;
    if (instead) {
        PetscCall(PetscSFFetchAndOpEnd(instead, unit, roots, leaves, fetched, op));
        PetscFunctionReturn(success);
    }
    PetscCall(finish(sf, direction::to_roots, unit, roots, leaves, &done, &values));
    PetscCall(make_at_roots(sf));
    before.resize(data_of(sf).known->roots.size() * done->item_bytes());
    PetscCall(data_of(sf).known->at_roots.fetch(unit, roots, values, before.data(), op));
    PetscCall(guarded(PetscObjectComm(reinterpret_cast<PetscObject>(sf)),
                      [&] { done->send_back(before.data(), fetched); }));
    done->release();
    PetscFunctionReturn(success);
}

PetscErrorCode get_leaf_ranks(PetscSF sf, PetscInt* num_ranks, const PetscMPIInt** ranks,
                              const PetscInt** offsets, const PetscInt** roots) {
    const auto& data = data_of(sf);

    PetscFunctionBegin;
    if (data.instead) {
        PetscCall(PetscSFGetLeafRanks(data.instead, num_ranks, ranks, offsets, roots));
        PetscFunctionReturn(success);
    }
    const auto& incoming = data.known->exchange.incoming();
    if (num_ranks) *num_ranks = static_cast<PetscInt>(incoming.ranks.size());
    if (ranks) *ranks = incoming.ranks.data();
    if (offsets) *offsets = data.known->offsets.data();
    if (roots) *roots = data.known->roots.data();
    PetscFunctionReturn(success);
}

PetscErrorCode create(PetscSF sf) {
    PetscFunctionBegin;
    sf->ops->SetUp = set_up;
    sf->ops->Reset = reset;
    sf->ops->Destroy = destroy;
    sf->ops->SetFromOptions = set_from_options;
    sf->ops->View = view;
    sf->ops->Duplicate = duplicate;
    sf->ops->BcastBegin = bcast_begin;
    sf->ops->BcastEnd = bcast_end;
    sf->ops->ReduceBegin = reduce_begin;
    sf->ops->ReduceEnd = reduce_end;
    sf->ops->FetchAndOpBegin = fetch_begin;
    sf->ops->FetchAndOpEnd = fetch_end;
    sf->ops->GetLeafRanks = get_leaf_ranks;
    sf->data = new forest_data;
    PetscFunctionReturn(success);
}

}  // namespace

}  // namespace crossdock

PetscErrorCode PetscSFRegisterCrossdock(void) {
    PetscFunctionBegin;
    PetscCall(PetscSFRegister(PETSCSFCROSSDOCK, crossdock::create));
    PetscFunctionReturn(crossdock::success);
}

// What PETSc calls of a library of this name that it loads.
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_crossdock_petsc(void) {
    PetscFunctionBegin;
    PetscCall(PetscSFRegisterCrossdock());
    PetscFunctionReturn(crossdock::success);
}

// The type `crossdock` of PetscSF. All that depends on PETSc's private header is here.
#include <petsc/private/sfimpl.h>

#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "crossdock/petsc.h"
#include "device_arrays.hpp"
#include "forest_exchange.hpp"
#include "satellites/device/src/found.hpp"

namespace crossdock {

namespace {

using direction = forest_exchange::direction;
using kind = device_arrays::kind;

direction direction_of(kind what) {
    return what == kind::broadcast ? direction::to_leaves : direction::to_roots;
}

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

// With the regions that the environment names, if they are of so many ranks.
std::unique_ptr<context> make_context(MPI_Comm comm) {
    try {
        return with_reserve([&] { return std::make_unique<context>(comm); });
    } catch (const error& fault) {
        if (fault.code() != errc::invalid_topology) throw;
    }
    context_options by_node;
    by_node.topology = "node";
    return with_reserve([&] { return std::make_unique<context>(comm, by_node); });
}

int& context_key() {
    static int key = MPI_KEYVAL_INVALID;
    return key;
}

// What PetscFinalize calls. Contexts that are left are freed with their communicators all the same.
PetscErrorCode free_context_key() {
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_free_keyval(&context_key()));
    PetscFunctionReturn(success);
}

const context& context_of(MPI_Comm comm) {
    int& key = context_key();
    if (key == MPI_KEYVAL_INVALID) {
        CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &free_context, &key, nullptr));
        PetscRegisterFinalize(&free_context_key);
    }
    void* kept = nullptr;
    int is_there = 0;
    CROSSDOCK_MPI(MPI_Comm_get_attr(comm, key, &kept, &is_there));
    if (is_there) return *static_cast<context*>(kept);
    auto made = make_context(comm);
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
    forest_exchange exchange;
    local_forest at_leaves;  // from slots
    local_forest at_roots;   // from edges
};

// What makes a forest of type basic one of ours: the other functions stay those of basic, and so
// does `data`.
struct forest_data {
    _PetscSFOps basic;
    std::array<char, 256> route{"auto"};
    std::array<char, 256> executor{"auto"};
    PetscBool explains = PETSC_FALSE;
    PetscBool stays_basic = PETSC_FALSE;  // known after set-up
    std::shared_ptr<graph> known = nullptr;
    bool knows_remote = false;
    std::unique_ptr<device_arrays> on_device = nullptr;

    forest_options options() const { return {route.data(), executor.data()}; }
};

PetscObject object(PetscSF sf) { return reinterpret_cast<PetscObject>(sf); }

constexpr const char* data_name = "crossdock";

// Null if it is none of ours.
forest_data* find_data(PetscSF sf) {
    PetscObject container = nullptr;
    void* data = nullptr;
    if (PetscObjectQuery(object(sf), data_name, &container) || !container) return nullptr;
    PetscContainerGetPointer(reinterpret_cast<PetscContainer>(container), &data);
    return static_cast<forest_data*>(data);
}

// The forests that were used last, by their number in PETSc: to ask PETSc takes an operation as
// long as to start it.
struct used_forest {
    PetscObjectId id = 0;
    forest_data* data = nullptr;
};

used_forest& used(PetscSF sf) {
    static std::array<used_forest, 64> known;
    return known[static_cast<std::size_t>(object(sf)->id) % known.size()];
}

forest_data& data_of(PetscSF sf) {
    auto& last = used(sf);
    if (last.id != object(sf)->id) last = {object(sf)->id, find_data(sf)};
    return *last.data;
}

#if defined(PETSC_HAVE_DEVICE)
constexpr bool petsc_has_devices = true;
#else
constexpr bool petsc_has_devices = false;
#endif

// Devices of PETSc's are known where it has used one. Whether any rank has one that crossdock cannot use.
PetscErrorCode find_foreign_devices(MPI_Comm comm, PetscBool* found) {
    int is_foreign = 0;

    PetscFunctionBegin;
#if defined(PETSC_HAVE_DEVICE)
    for (const auto used : {PETSC_DEVICE_CUDA, PETSC_DEVICE_HIP, PETSC_DEVICE_SYCL}) {
        if (!PetscDeviceInitialized(used)) continue;
        const auto& driver = device::found_driver();
        is_foreign |= !driver || driver->name() != PetscDeviceTypes[used];
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &is_foreign, 1, MPI_INT, MPI_MAX, comm));
#else
    static_cast<void>(comm);
#endif
    *found = is_foreign ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(success);
}

PetscErrorCode set_up(PetscSF sf) {
    PetscMPIInt num_ranks;
    PetscBool is_foreign;
    auto& data = data_of(sf);
    const auto comm = PetscObjectComm(object(sf));

    PetscFunctionBegin;
    PetscCheck(sf->pattern == PETSCSF_PATTERN_GENERAL, comm, PETSC_ERR_SUP,
               "PetscSFSetGraphWithPattern() has types of its own");
    PetscCall(data.basic.SetUp(sf));
    PetscCallMPI(MPI_Comm_size(comm, &num_ranks));
    PetscCall(find_foreign_devices(comm, &is_foreign));
    data.stays_basic = num_ranks == 1 || is_foreign ? PETSC_TRUE : PETSC_FALSE;
    // A duplicate may have been given other options since.
    if (data.known && data.known->exchange.options() != data.options()) data.known.reset();
    if (data.stays_basic) {
        PetscCall(PetscInfo(
            sf, "as type basic: %s\n",
            is_foreign ? "a device is in use that crossdock cannot use" : "there is one rank"));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode check_idle(PetscSF sf) {
    const auto& known = data_of(sf).known;

    PetscFunctionBegin;
    PetscCheck(!known || known.use_count() > 1 || !known->exchange.is_active(),
               PetscObjectComm(object(sf)), PETSC_ERR_ARG_WRONGSTATE,
               "Outstanding operation has not been completed");
    PetscFunctionReturn(success);
}

PetscErrorCode reset(PetscSF sf) {
    auto& data = data_of(sf);

    PetscFunctionBegin;
    PetscCall(check_idle(sf));
    data.known.reset();
    data.on_device.reset();
    PetscCall(data.basic.Reset(sf));
    PetscFunctionReturn(success);
}

PetscErrorCode destroy(PetscSF sf) {
    const auto destroy_basic = data_of(sf).basic.Destroy;

    PetscFunctionBegin;
    PetscCall(check_idle(sf));
    used(sf) = {};
    PetscCall(PetscObjectCompose(object(sf), data_name, nullptr));
    PetscCall(destroy_basic(sf));
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
    PetscCall(data.basic.View(sf, viewer));
    PetscCall(
        PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_text));
    if (is_text) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  crossdock: %s%s, executor %s\n",
                                         data.stays_basic ? "as type basic; " : "",
                                         data.route.data(), data.executor.data()));
    }
    PetscFunctionReturn(success);
}

PetscErrorCode adopt(PetscSF);

// The duplicate of a whole graph uses the same plans. That of a VecScatter is called basic, so that
// PETSc can remap it, as it does for DMLocalToLocal of a DMDA; until then its own plans wait.
PetscErrorCode duplicate(PetscSF sf, PetscSFDuplicateOption what, PetscSF twin) {
    const bool is_scatter = sf->vscat.from_n >= 0;

    PetscFunctionBegin;
    if (!find_data(twin)) PetscCall(adopt(twin));
    const auto& from = data_of(sf);
    auto& to = data_of(twin);
    to.route = from.route;
    to.executor = from.executor;
    to.explains = from.explains;
    if (is_scatter) {
        PetscCall(PetscObjectChangeTypeName(object(twin), PETSCSFBASIC));
    } else if (what == PETSCSF_DUPLICATE_GRAPH) {
        to.known = from.known;
        to.knows_remote = from.knows_remote;
    }
    PetscFunctionReturn(success);
}

PetscErrorCode find_edges(PetscSF sf, leaf_edges& leaves, root_edges& roots) {
    PetscInt num_ranks;
    const PetscMPIInt* ranks;
    const PetscInt *offsets, *indices;

    PetscFunctionBegin;
    leaves.ranks.assign(sf->ranks, sf->ranks + sf->nranks);
    leaves.offsets.assign(sf->roffset, sf->roffset + sf->nranks + 1);
    leaves.leaves.assign(sf->rmine, sf->rmine + sf->nleaves);
    PetscCall(data_of(sf).basic.GetLeafRanks(sf, &num_ranks, &ranks, &offsets, &indices));
    roots.ranks.assign(ranks, ranks + num_ranks);
    roots.offsets.assign(offsets, offsets + num_ranks + 1);
    roots.roots.assign(indices, indices + offsets[num_ranks]);
    PetscFunctionReturn(success);
}

// Finds out what the exchange needs, at the first operation.
PetscErrorCode make_graph(PetscSF sf) {
    auto& data = data_of(sf);
    leaf_edges leaves;
    root_edges roots;
    const auto comm = PetscObjectComm(object(sf));

    PetscFunctionBegin;
    PetscCall(find_edges(sf, leaves, roots));
    PetscCall(guarded(comm, [&] {
        data.known.reset(new graph{
            {context_of(comm), std::move(leaves), std::move(roots), data.options()}, {}, {}});
    }));
    data.knows_remote = sf->remote != nullptr;
    PetscFunctionReturn(success);
}

PetscErrorCode size_of(MPI_Datatype unit, std::size_t* bytes) {
    MPI_Aint first, extent;

    PetscFunctionBegin;
    if (unit == MPIU_SCALAR) {
        *bytes = sizeof(PetscScalar);
        PetscFunctionReturn(success);
    }
    PetscCallMPI(MPI_Type_get_extent(unit, &first, &extent));
    PetscCheck(first == 0 && extent > 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "a unit from byte %ld on, of %ld bytes", static_cast<long>(first),
               static_cast<long>(extent));
    *bytes = static_cast<std::size_t>(extent);
    PetscFunctionReturn(success);
}

PetscErrorCode begin(PetscSF sf, direction to, MPI_Datatype unit, const void* roots,
                     const void* leaves, bool replaces) {
    std::size_t bytes = 0;
    std::optional<std::string> explained;
    auto& data = data_of(sf);
    const auto comm = PetscObjectComm(object(sf));

    PetscFunctionBegin;
    PetscCall(size_of(unit, &bytes));
    if (!data.known) PetscCall(make_graph(sf));
    PetscCheck(sf->remote || !data.knows_remote, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "VecScatterRemap() after the first use");
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

PetscErrorCode finish(PetscSF sf, kind what, MPI_Datatype unit, const void* roots,
                      const void* leaves, forest_exchange::active** done, std::byte** values) {
    std::size_t bytes = 0;

    PetscFunctionBegin;
    PetscCall(size_of(unit, &bytes));
    PetscCall(guarded(PetscObjectComm(object(sf)), [&] {
        *done = &data_of(sf).known->exchange.take({direction_of(what), bytes, roots, leaves});
        *values = (*done)->finish(what == kind::fetch);
    }));
    PetscFunctionReturn(success);
}

PetscErrorCode make_at_roots(PetscSF sf) {
    graph& known = *data_of(sf).known;
    const auto& roots = known.exchange.incoming().roots;

    PetscFunctionBegin;
    if (!known.at_roots.is_made()) {
        std::vector<count_t> edges(roots.size());
        std::iota(edges.begin(), edges.end(), count_t{0});
        PetscCall(known.at_roots.make(edges, roots, known.exchange.num_roots()));
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

// Arrays in a device's memory have others on the host in their place, unless PETSc does all.
bool has_copies(const forest_data& data, PetscMemType roots, PetscMemType leaves) {
    return !(PetscMemTypeHost(roots) && PetscMemTypeHost(leaves)) &&
           !(data.stays_basic && petsc_has_devices);
}

// Brings down what an operation reads. If that fails, this rank takes part with nothing, `begun` stays null, and the
// end says why. On one rank this call says so.
PetscErrorCode bring_down(PetscSF sf, kind what, MPI_Datatype unit, PetscMemType root_memory,
                          const void* roots, PetscMemType leaf_memory, const void* leaves,
                          void* fetched, MPI_Op op, device_arrays::operation** begun) {
    std::size_t bytes = 0;
    PetscMPIInt num_significant;
    leaf_edges places_of_leaves;
    root_edges places_of_roots;
    auto& data = data_of(sf);
    const bool is_to_leaves = what == kind::broadcast;
    const bool is_first = !data.on_device;

    PetscFunctionBegin;
    PetscCall(size_of(unit, &bytes));
    PetscCallMPI(MPI_Type_size(unit, &num_significant));
    if (is_first) PetscCall(find_edges(sf, places_of_leaves, places_of_roots));
    if (!data.known && !data.stays_basic) PetscCall(make_graph(sf));
    PetscCall(guarded(PetscObjectComm(object(sf)), [&] {
        const bool has_gaps = static_cast<std::size_t>(num_significant) != bytes;
        const bool is_replaced = op == MPI_REPLACE && !has_gaps;
        const auto array_at = [](const void* there, PetscMemType memory, bool is_read,
                                 bool is_written) {
            return device_arrays::array{const_cast<void*>(there), !PetscMemTypeHost(memory),
                                        is_read, is_written};
        };
        try {
            const auto& driver = device::found_driver();
            if (!driver) {
                throw error(errc::invalid_state,
                            "an array is in a device's memory, but libcrossdock_device.so is not "
                            "there, or finds no device");
            }
            if (is_first) {
                data.on_device = std::make_unique<device_arrays>(
                    driver, std::move(places_of_roots.roots), std::move(places_of_leaves.leaves));
            }
            *begun = &data.on_device->bring_down(
                {what, bytes,
                 array_at(roots, root_memory, what != kind::reduction || !is_replaced,
                          !is_to_leaves),
                 array_at(leaves, leaf_memory, !is_to_leaves || !is_replaced, is_to_leaves),
                 array_at(fetched, what == kind::fetch ? leaf_memory : PETSC_MEMTYPE_HOST, has_gaps,
                          true)});
        } catch (...) {
            const error why = current_error();
            if (!data.known) throw why;
            data.known->exchange.fail_start({direction_of(what), bytes, roots, leaves}, why);
        }
    }));
    if (is_first && data.on_device) {
        PetscCall(PetscInfo(sf, "arrays in a device's memory travel through the host: %s\n",
                            device::found_driver()->description().c_str()));
    }
    PetscFunctionReturn(success);
}

// Null for an operation without such arrays.
device_arrays::operation* take_begun(const forest_data& data, kind what, const void* roots,
                                     const void* leaves) {
    return data.on_device ? data.on_device->take(what, roots, leaves) : nullptr;
}

PetscErrorCode bring_up(PetscSF sf, device_arrays::operation& done) {
    PetscFunctionBegin;
    PetscCall(guarded(PetscObjectComm(object(sf)), [&] { data_of(sf).on_device->bring_up(done); }));
    PetscFunctionReturn(success);
}

PetscErrorCode bcast_begin(PetscSF sf, MPI_Datatype unit, PetscMemType root_memory,
                           const void* roots, PetscMemType leaf_memory, void* leaves, MPI_Op op) {
    const auto& data = data_of(sf);

    PetscFunctionBegin;
    if (has_copies(data, root_memory, leaf_memory)) {
        device_arrays::operation* one = nullptr;
        PetscCall(bring_down(sf, kind::broadcast, unit, root_memory, roots, leaf_memory, leaves,
                             nullptr, op, &one));
        if (!one) PetscFunctionReturn(success);
        PetscCall(bcast_begin(sf, unit, PETSC_MEMTYPE_HOST, one->roots.used(), PETSC_MEMTYPE_HOST,
                              one->leaves.used(), op));
        data.on_device->keep(*one);
        PetscFunctionReturn(success);
    }
    if (data.stays_basic) {
        PetscCall(data.basic.BcastBegin(sf, unit, root_memory, roots, leaf_memory, leaves, op));
        PetscFunctionReturn(success);
    }
    PetscCall(begin(sf, direction::to_leaves, unit, roots, leaves, op == MPI_REPLACE));
    PetscFunctionReturn(success);
}

PetscErrorCode bcast_end(PetscSF sf, MPI_Datatype unit, const void* roots, void* leaves,
                         MPI_Op op) {
    const auto& data = data_of(sf);
    forest_exchange::active* done = nullptr;
    std::byte* values = nullptr;

    PetscFunctionBegin;
    if (auto* const one = take_begun(data, kind::broadcast, roots, leaves)) {
        PetscCall(bcast_end(sf, unit, one->roots.used(), one->leaves.used(), op));
        PetscCall(bring_up(sf, *one));
        PetscFunctionReturn(success);
    }
    if (data.stays_basic) {
        PetscCall(data.basic.BcastEnd(sf, unit, roots, leaves, op));
        PetscFunctionReturn(success);
    }
    PetscCall(finish(sf, kind::broadcast, unit, roots, leaves, &done, &values));
    if (values) {
        PetscCall(make_at_leaves(sf));
        PetscCall(data.known->at_leaves.combine(unit, values, leaves, op));
    }
    done->release();
    PetscFunctionReturn(success);
}

PetscErrorCode reduce_begin(PetscSF sf, MPI_Datatype unit, PetscMemType leaf_memory,
                            const void* leaves, PetscMemType root_memory, void* roots, MPI_Op op) {
    const auto& data = data_of(sf);

    PetscFunctionBegin;
    if (has_copies(data, root_memory, leaf_memory)) {
        device_arrays::operation* one = nullptr;
        PetscCall(bring_down(sf, kind::reduction, unit, root_memory, roots, leaf_memory, leaves,
                             nullptr, op, &one));
        if (!one) PetscFunctionReturn(success);
        PetscCall(reduce_begin(sf, unit, PETSC_MEMTYPE_HOST, one->leaves.used(), PETSC_MEMTYPE_HOST,
                               one->roots.used(), op));
        data.on_device->keep(*one);
        PetscFunctionReturn(success);
    }
    if (data.stays_basic) {
        PetscCall(data.basic.ReduceBegin(sf, unit, leaf_memory, leaves, root_memory, roots, op));
        PetscFunctionReturn(success);
    }
    PetscCall(begin(sf, direction::to_roots, unit, roots, leaves, false));
    PetscFunctionReturn(success);
}

// As PETSc would, without its preparations: this is what MatMultTranspose waits for.
void add(const PetscScalar* values, const root_edges& incoming, PetscScalar* roots) {
    for (const count_t root : incoming.roots) roots[root] += *values++;
}

PetscErrorCode reduce_end(PetscSF sf, MPI_Datatype unit, const void* leaves, void* roots,
                          MPI_Op op) {
    const auto& data = data_of(sf);
    forest_exchange::active* done = nullptr;
    std::byte* values = nullptr;

    PetscFunctionBegin;
    if (auto* const one = take_begun(data, kind::reduction, roots, leaves)) {
        PetscCall(reduce_end(sf, unit, one->leaves.used(), one->roots.used(), op));
        PetscCall(bring_up(sf, *one));
        PetscFunctionReturn(success);
    }
    if (data.stays_basic) {
        PetscCall(data.basic.ReduceEnd(sf, unit, leaves, roots, op));
        PetscFunctionReturn(success);
    }
    PetscCall(finish(sf, kind::reduction, unit, roots, leaves, &done, &values));
    if (unit == MPIU_SCALAR && (op == MPIU_SUM || op == MPI_SUM)) {
        add(reinterpret_cast<const PetscScalar*>(values), data.known->exchange.incoming(),
            static_cast<PetscScalar*>(roots));
    } else {
        PetscCall(make_at_roots(sf));
        PetscCall(data.known->at_roots.combine(unit, values, roots, op));
    }
    done->release();
    PetscFunctionReturn(success);
}

PetscErrorCode fetch_begin(PetscSF sf, MPI_Datatype unit, PetscMemType root_memory, void* roots,
                           PetscMemType leaf_memory, const void* leaves, void* fetched, MPI_Op op) {
    const auto& data = data_of(sf);

    PetscFunctionBegin;
    if (has_copies(data, root_memory, leaf_memory)) {
        device_arrays::operation* one = nullptr;
        PetscCall(bring_down(sf, kind::fetch, unit, root_memory, roots, leaf_memory, leaves,
                             fetched, op, &one));
        if (!one) PetscFunctionReturn(success);
        PetscCall(fetch_begin(sf, unit, PETSC_MEMTYPE_HOST, one->roots.used(), PETSC_MEMTYPE_HOST,
                              one->leaves.used(), one->fetched.used(), op));
        data.on_device->keep(*one);
        PetscFunctionReturn(success);
    }
    if (data.stays_basic) {
        PetscCall(data.basic.FetchAndOpBegin(sf, unit, root_memory, roots, leaf_memory, leaves,
                                             fetched, op));
        PetscFunctionReturn(success);
    }
    PetscCall(begin(sf, direction::to_roots, unit, roots, leaves, false));
    PetscFunctionReturn(success);
}

PetscErrorCode fetch_end(PetscSF sf, MPI_Datatype unit, void* roots, const void* leaves,
                         void* fetched, MPI_Op op) {
    const auto& data = data_of(sf);
    forest_exchange::active* done = nullptr;
    std::byte* values = nullptr;
    std::vector<std::byte> before;

    PetscFunctionBegin;
    if (auto* const one = take_begun(data, kind::fetch, roots, leaves)) {
        PetscCall(
            fetch_end(sf, unit, one->roots.used(), one->leaves.used(), one->fetched.used(), op));
        PetscCall(bring_up(sf, *one));
        PetscFunctionReturn(success);
    }
    if (data.stays_basic) {
        PetscCall(data.basic.FetchAndOpEnd(sf, unit, roots, leaves, fetched, op));
        PetscFunctionReturn(success);
    }
    PetscCall(finish(sf, kind::fetch, unit, roots, leaves, &done, &values));
    PetscCall(make_at_roots(sf));
    before.resize(data.known->exchange.incoming().roots.size() * done->item_bytes());
    PetscCall(data.known->at_roots.fetch(unit, roots, values, before.data(), op));
    PetscCall(
        guarded(PetscObjectComm(object(sf)), [&] { done->send_back(before.data(), fetched); }));
    done->release();
    PetscFunctionReturn(success);
}

PetscErrorCode delete_data(void* data) {
    delete static_cast<forest_data*>(data);
    return success;
}

// Makes a forest of type basic, that is not set up, one of ours.
PetscErrorCode adopt(PetscSF sf) {
    PetscContainer container;

    PetscFunctionBegin;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, new forest_data{*sf->ops}));
    PetscCall(PetscContainerSetUserDestroy(container, delete_data));
    PetscCall(PetscObjectCompose(object(sf), data_name, reinterpret_cast<PetscObject>(container)));
    PetscCall(PetscContainerDestroy(&container));
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
    sf->ops->CreateEmbeddedRootSF = nullptr;  // basic's makes nothing else than basic
    PetscFunctionReturn(success);
}

PetscErrorCode create(PetscSF sf) {
    PetscErrorCode (*create_basic)(PetscSF) = nullptr;

    PetscFunctionBegin;
    PetscCall(PetscFunctionListFind(PetscSFList, PETSCSFBASIC, &create_basic));
    PetscCall(create_basic(sf));
    PetscCall(adopt(sf));
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

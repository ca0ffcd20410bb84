// The type `crossdock` against PETSc's own `basic`: the same calls on the same graphs leave the same bytes.
#include <gtest/gtest.h>
#include <petscdmda.h>
#include <petscdmplex.h>
#include <petscsf.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "crossdock/petsc.h"
#include "satellites/device/tests/support.hpp"

namespace {

#define PETSC(call) ASSERT_EQ(static_cast<int>(call), 0) << #call
#define PETSC_BOTH(call, ...)        \
    PETSC(call##Begin(__VA_ARGS__)); \
    PETSC(call##End(__VA_ARGS__))

using bytes = std::vector<unsigned char>;

int num_ranks() {
    int size = 1;
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    return size;
}

int this_rank() {
    int rank = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    return rank;
}

// The same numbers on all ranks.
using random_numbers = std::mt19937;

int below(random_numbers& random, int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
}

// One rank's part of a star forest.
struct graph {
    std::string name;
    PetscInt num_roots = 0;
    std::vector<PetscInt> leaves = {};
    std::vector<PetscSFNode> roots = {};
    PetscInt num_leaf_places = 0;
};

// Random edges between ranks of `roots_of(rank)` roots; `places` leaves lie in so many places.
graph random_graph(const std::string& name, const std::function<int(int)>& roots_of,
                   const std::function<int(int)>& leaves_of, bool is_sparse, unsigned seed) {
    graph result{.name = name};
    random_numbers random(seed);
    std::vector<int> owners;
    for (int rank = 0; rank < num_ranks(); ++rank)
        for (int i = 0; i < (roots_of(rank) > 0); ++i) owners.push_back(rank);
    for (int rank = 0; rank < num_ranks(); ++rank) {
        std::vector<PetscInt> places(
            static_cast<std::size_t>(leaves_of(rank) * (is_sparse ? 3 : 1)));
        for (std::size_t i = 0; i < places.size(); ++i)
            places[i] = static_cast<PetscInt>(i + is_sparse * 5u);
        if (is_sparse) std::shuffle(places.begin(), places.end(), random);
        for (int leaf = 0; leaf < leaves_of(rank); ++leaf) {
            const int owner =
                owners[static_cast<std::size_t>(below(random, static_cast<int>(owners.size())))];
            const int root = below(random, roots_of(owner));
            if (rank != this_rank()) continue;
            result.leaves.push_back(places[static_cast<std::size_t>(leaf)]);
            result.roots.push_back({owner, root});
        }
    }
    result.num_roots = roots_of(this_rank());
    result.num_leaf_places = static_cast<PetscInt>(3 * leaves_of(this_rank()) + 5);
    return result;
}

std::vector<graph> graphs() {
    const auto always = [](int number) { return [number](int) { return number; }; };
    std::vector<graph> all{
        random_graph("random", always(7), always(20), false, 1),
        random_graph("sparse leaves", always(30), always(17), true, 2),
        random_graph(
            "one root", [](int rank) { return rank == num_ranks() / 2; }, always(3), false, 3),
        random_graph(
            "one rank has leaves", always(5), [](int rank) { return rank == 0 ? 40 : 0; }, true, 4),
        random_graph("empty", always(2), always(0), false, 5),
        random_graph(
            "uneven", [](int rank) { return 1 + 9 * (rank % 3); },
            [](int rank) { return rank % 2 * 23; }, true, 6)};
    graph ring{.name = "ring", .num_roots = 3, .num_leaf_places = 2};
    ring.leaves = {0, 1};
    ring.roots = {{(this_rank() + 1) % num_ranks(), 2},
                  {(this_rank() + num_ranks() - 1) % num_ranks(), 0}};
    all.push_back(ring);
    graph own{.name = "own", .num_roots = 4, .num_leaf_places = 4};
    own.leaves = {3, 1, 0};
    own.roots = {{this_rank(), 1}, {this_rank(), 1}, {this_rank(), 3}};
    all.push_back(own);
    return all;
}

PetscSF make(const graph& g, const char* type) {
    PetscSF sf = nullptr;
    EXPECT_EQ(PetscSFCreate(PETSC_COMM_WORLD, &sf), 0);
    EXPECT_EQ(PetscSFSetType(sf, type), 0);
    EXPECT_EQ(PetscSFSetFromOptions(sf), 0);
    EXPECT_EQ(PetscSFSetGraph(sf, g.num_roots, static_cast<PetscInt>(g.leaves.size()),
                              const_cast<PetscInt*>(g.leaves.data()), PETSC_COPY_VALUES,
                              const_cast<PetscSFNode*>(g.roots.data()), PETSC_COPY_VALUES),
              0);
    EXPECT_EQ(PetscSFSetUp(sf), 0);
    return sf;
}

// The forests that are compared.
struct forest_pair {
    explicit forest_pair(const graph& g)
        : basic(make(g, PETSCSFBASIC)), ours(make(g, PETSCSFCROSSDOCK)) {}
    ~forest_pair() {
        PetscSFDestroy(&basic);
        PetscSFDestroy(&ours);
    }
    PetscSF basic;
    PetscSF ours;
};

// A unit of PETSc's, how a value is made of a random number, and the operations that it has.
struct unit {
    std::string name;
    MPI_Datatype type;
    std::size_t extent;
    std::size_t significant;  // bytes of it
    std::function<void(unsigned char*, random_numbers&)> fill;
    std::vector<std::pair<std::string, MPI_Op>> ops;
    bool has_fetch;
};

template <class T>
void put(unsigned char* at, const T& value) {
    std::memcpy(at, &value, sizeof value);
}

// x -> a x + b after another one: not commutative.
void compose(void* in, void* inout, int* length, MPI_Datatype*) {
    for (int i = 0; i < *length; ++i) {
        double* const f = static_cast<double*>(in) + 2 * i;
        double* const g = static_cast<double*>(inout) + 2 * i;
        g[1] = f[0] * g[1] + f[1];
        g[0] = f[0] * g[0];
    }
}

using operations = std::vector<std::pair<std::string, MPI_Op>>;

class all_units {
  public:
    all_units() {
        MPI_Op_create(&compose, 0, &compose_);
        const operations replace{{"MPI_REPLACE", MPI_REPLACE}},
            complex{{"MPI_REPLACE", MPI_REPLACE},
                    {"MPI_SUM", MPI_SUM},
                    {"MPI_PROD", MPI_PROD},
                    {"MPIU_SUM", MPIU_SUM}},
            real{{"MPI_REPLACE", MPI_REPLACE}, {"MPI_SUM", MPI_SUM},  {"MPI_PROD", MPI_PROD},
                 {"MPI_MAX", MPI_MAX},         {"MPI_MIN", MPI_MIN},  {"MPIU_SUM", MPIU_SUM},
                 {"MPIU_MAX", MPIU_MAX},       {"MPIU_MIN", MPIU_MIN}},
            located{{"MPI_REPLACE", MPI_REPLACE},
                    {"MPI_MAXLOC", MPI_MAXLOC},
                    {"MPI_MINLOC", MPI_MINLOC}};
        auto integer = real;
        integer.insert(integer.end(), {{"MPI_LAND", MPI_LAND},
                                       {"MPI_LOR", MPI_LOR},
                                       {"MPI_LXOR", MPI_LXOR},
                                       {"MPI_BAND", MPI_BAND},
                                       {"MPI_BOR", MPI_BOR},
                                       {"MPI_BXOR", MPI_BXOR}});
        const auto real_value = [](auto& random) {
            return static_cast<double>(random()) / 3e9 - 0.6;
        };
        const auto with = [](auto value) {
            return [value](unsigned char* at, random_numbers& random) { put(at, value(random)); };
        };
        add("MPI_SIGNED_CHAR", MPI_SIGNED_CHAR,
            with([](auto& r) { return static_cast<signed char>(below(r, 9) - 4); }), integer);
        add("MPI_CHAR", MPI_CHAR, with([](auto& r) { return static_cast<char>(below(r, 99)); }),
            replace, false);
        add("MPI_INT", MPI_INT, with([](auto& r) { return below(r, 7) - 3; }), integer);
        add("MPIU_INT", MPIU_INT,
            with([](auto& r) { return static_cast<PetscInt>(below(r, 7) - 3); }), integer);
        add("MPIU_REAL", MPIU_REAL,
            with([&](auto& r) { return static_cast<PetscReal>(real_value(r)); }), real);
        add("MPIU_SCALAR", MPIU_SCALAR,
            with([&](auto& r) { return static_cast<PetscScalar>(real_value(r)); }), complex);
        add("MPIU_COMPLEX", MPIU_COMPLEX, with([&](auto& r) {
                const double real_part = real_value(r);
                return std::complex<PetscReal>(real_part, real_value(r));
            }),
            complex);
        struct index_pair {
            PetscInt value, location;
        };
        struct double_int {
            double value;
            int location;
        };
        add("MPIU_2INT", MPIU_2INT, with([](auto& r) {
                const PetscInt value = below(r, 4);
                return index_pair{value, static_cast<PetscInt>(below(r, 100))};
            }),
            located, false);
        add("MPI_DOUBLE_INT", MPI_DOUBLE_INT, with([](auto& r) {
                double_int all;
                std::memset(&all, 0, sizeof all);
                all.value = below(r, 4);
                all.location = below(r, 100);
                return all;
            }),
            located, false, 12);
        for (const int length : {2, 3, 8}) {
            add_several(length, "MPIU_REAL", real);
            add_several(length, "MPIU_INT", integer);
        }
        add_several(5, "MPI_CHAR", replace);
        auto composed = with([&](auto& r) {
            const double factor = real_value(r);
            return std::complex<double>(factor, real_value(r));
        });
        add("two MPI_DOUBLE", several(2, MPI_DOUBLE), composed, {{"compose", compose_}}, false);
    }
    ~all_units() {
        for (auto& type : made_) MPI_Type_free(&type);
        MPI_Op_free(&compose_);
    }
    all_units(const all_units&) = delete;
    all_units& operator=(const all_units&) = delete;

    auto begin() const { return units_.begin(); }
    auto end() const { return units_.end(); }
    const unit& operator[](std::size_t i) const { return units_[i]; }
    std::size_t size() const { return units_.size(); }

  private:
    void add(const std::string& name, MPI_Datatype type,
             std::function<void(unsigned char*, random_numbers&)> fill, operations ops,
             bool has_fetch = true, std::size_t significant = 0) {
        MPI_Aint first = 0, extent = 0;
        MPI_Type_get_extent(type, &first, &extent);
        const auto size = static_cast<std::size_t>(extent);
        units_.push_back({name, type, size, significant ? significant : size, std::move(fill),
                          std::move(ops), has_fetch});
    }

    MPI_Datatype several(int length, MPI_Datatype one) {
        MPI_Type_contiguous(length, one, &made_.emplace_back());
        MPI_Type_commit(&made_.back());
        return made_.back();
    }

    void add_several(int length, const std::string& name, operations ops) {
        const auto one = *std::find_if(units_.begin(), units_.end(),
                                       [&](const unit& u) { return u.name == name; });
        add(
            std::to_string(length) + " " + name, several(length, one.type),
            [one, length](unsigned char* at, random_numbers& random) {
                for (int i = 0; i < length; ++i)
                    one.fill(at + static_cast<std::size_t>(i) * one.extent, random);
            },
            std::move(ops), one.has_fetch);
    }

    std::vector<MPI_Datatype> made_;
    std::vector<unit> units_;
    MPI_Op compose_ = MPI_OP_NULL;
};

bytes values(const unit& u, PetscInt count, unsigned seed) {
    random_numbers random(seed + 1000u * static_cast<unsigned>(this_rank()));
    bytes result(static_cast<std::size_t>(count) * u.extent);
    for (std::size_t at = 0; at < result.size(); at += u.extent) u.fill(result.data() + at, random);
    return result;
}

// Without the gaps of a unit, which nobody sends.
bytes significant(const unit& u, const bytes& all) {
    bytes result;
    for (std::size_t at = 0; at < all.size(); at += u.extent) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
        result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(u.significant));
    }
    return result;
}

// Two arrays of values, as one forest leaves them.
struct arrays {
    arrays(const unit& u, const graph& g, unsigned seed)
        : of(&u),
          roots(values(u, g.num_roots, seed)),
          leaves(values(u, g.num_leaf_places, seed + 1)),
          fetched(values(u, g.num_leaf_places, seed + 2)) {}

    std::vector<bytes> all() const {
        return {significant(*of, roots), significant(*of, leaves), significant(*of, fetched)};
    }

    const unit* of;
    bytes roots;
    bytes leaves;
    bytes fetched;
};

class StarForest : public testing::Test {
  protected:
    static const all_units& units() {
        static auto* const made = new all_units;
        return *made;
    }
};

// Bcast, Reduce or FetchAndOp.
enum class kind { bcast, reduce, fetch };

using array_on_device = crossdock::device_test::device_array<unsigned char>;

// The mock of a device, whose memory the processor cannot touch.
crossdock::device::driver& mock() {
    static const auto opened = crossdock::device::open();
    return *opened;
}

// Which arrays of this rank are on the mock.
struct places {
    bool roots = false;
    bool leaves = false;
};

// On some ranks only.
places places_of(std::size_t number) {
    const std::size_t which = number + static_cast<std::size_t>(this_rank());
    return {which % 4 != 1, which % 4 != 2 && which % 8 != 3};
}

struct started_operation {
    PetscSF sf;
    kind what;
    MPI_Op op;
    arrays a;
    places on_device = {};
    std::vector<array_on_device> there = {};  // roots, leaves, and leaves that are fetched

    // As `run`, with memory of a device.
    void run_there(bool begins) {
        const auto type = a.of->type;
        const auto memory_of = [](bool is_there, PetscMemType kind_there) {
            return is_there ? kind_there : PETSC_MEMTYPE_HOST;
        };
        const auto of_roots = memory_of(on_device.roots, PETSC_MEMTYPE_CUDA);
        const auto of_leaves = memory_of(on_device.leaves, PETSC_MEMTYPE_HIP);
        if (begins)
            for (const auto* const one : {&a.roots, &a.leaves, &a.fetched})
                there.emplace_back(mock(), *one);
        const auto used = [&](bool is_there, std::size_t i, bytes& here) -> void* {
            return is_there ? there[i].data() : here.data();
        };
        void* const roots = used(on_device.roots, 0, a.roots);
        void* const leaves = used(on_device.leaves, 1, a.leaves);
        void* const fetched = used(on_device.leaves, 2, a.fetched);
        if (what == kind::bcast && begins) {
            PETSC(PetscSFBcastWithMemTypeBegin(sf, type, of_roots, roots, of_leaves, leaves, op));
        } else if (what == kind::reduce && begins) {
            PETSC(PetscSFReduceWithMemTypeBegin(sf, type, of_leaves, leaves, of_roots, roots, op));
        } else if (begins) {
            PETSC(PetscSFFetchAndOpWithMemTypeBegin(sf, type, of_roots, roots, of_leaves, leaves,
                                                    of_leaves, fetched, op));
        }
        if (begins) return;
        if (what == kind::bcast) {
            PETSC(PetscSFBcastEnd(sf, type, roots, leaves, op));
        } else if (what == kind::reduce) {
            PETSC(PetscSFReduceEnd(sf, type, leaves, roots, op));
        } else {
            PETSC(PetscSFFetchAndOpEnd(sf, type, roots, leaves, fetched, op));
        }
        if (on_device.roots) a.roots = there[0].get(nullptr);
        if (on_device.leaves) a.leaves = there[1].get(nullptr);
        if (on_device.leaves) a.fetched = there[2].get(nullptr);
    }

    void run(bool begins) {
        if (on_device.roots || on_device.leaves) return run_there(begins);
        const auto type = a.of->type;
        void* const roots = a.roots.data();
        void* const leaves = a.leaves.data();
        if (what == kind::bcast) {
            const auto call = begins ? PetscSFBcastBegin : PetscSFBcastEnd;
            PETSC(call(sf, type, roots, leaves, op));
        } else if (what == kind::reduce) {
            const auto call = begins ? PetscSFReduceBegin : PetscSFReduceEnd;
            PETSC(call(sf, type, leaves, roots, op));
        } else {
            const auto call = begins ? PetscSFFetchAndOpBegin : PetscSFFetchAndOpEnd;
            PETSC(call(sf, type, roots, leaves, a.fetched.data(), op));
        }
    }
};

// What an operation leaves in a forest of one type.
std::vector<bytes> left_by(PetscSF sf, kind what, MPI_Op op, const unit& u, const graph& g,
                           places on_device = {}) {
    started_operation one{sf, what, op, arrays(u, g, 77), on_device};
    one.run(true);
    one.run(false);
    return one.a.all();
}

void compare_operations(const all_units& units, bool has_device) {
    std::size_t number = 0;
    for (const auto& g : graphs()) {
        const forest_pair forests(g);
        const auto compare = [&](kind what, MPI_Op op, const unit& u, const std::string& name) {
            const auto on_device = has_device ? places_of(number++) : places{};
            EXPECT_EQ(left_by(forests.ours, what, op, u, g, on_device),
                      left_by(forests.basic, what, op, u, g))
                << name << " of " << u.name << ", " << g.name;
        };
        for (const auto& u : units) {
            for (const auto& [name, op] : u.ops) {
                compare(kind::bcast, op, u, "Bcast " + name);
                compare(kind::reduce, op, u, "Reduce " + name);
            }
            if (u.has_fetch) compare(kind::fetch, MPI_SUM, u, "FetchAndOp");
        }
    }
}

TEST_F(StarForest, EveryUnitAndOperationIsThatOfBasic) { compare_operations(units(), false); }

// With CROSSDOCK_DEVICE=mock.
class StarForestOnDevice : public StarForest {
    void SetUp() override {
        if (!std::getenv("CROSSDOCK_DEVICE")) GTEST_SKIP() << "without a device";
    }
};

TEST_F(StarForestOnDevice, EveryUnitAndOperationIsThatOfBasicOnTheHost) {
    compare_operations(units(), true);
}

// Rank 0 says of arrays of the host that they are a device's. What each operation says at its end, all of them under
// way at once; their beginning says nothing, unless there is one rank.
std::vector<int> codes_where_rank_0_fails(PetscSF sf, const unit& u, const graph& g,
                                          const std::vector<kind>& what, places wrong) {
    const auto memory_of = [](bool is_wrong) {
        return is_wrong && this_rank() == 0 ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
    };
    const auto of_roots = memory_of(wrong.roots), of_leaves = memory_of(wrong.leaves);
    std::vector<arrays> used;
    std::vector<int> codes;
    for (const auto one : what) used.emplace_back(u, g, 5 + static_cast<unsigned>(one));
    EXPECT_EQ(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr), 0);
    for (std::size_t i = 0; i < what.size(); ++i) {
        auto& a = used[i];
        const auto begun =
            what[i] == kind::bcast
                ? PetscSFBcastWithMemTypeBegin(sf, u.type, of_roots, a.roots.data(), of_leaves,
                                               a.leaves.data(), MPI_REPLACE)
            : what[i] == kind::reduce
                ? PetscSFReduceWithMemTypeBegin(sf, u.type, of_leaves, a.leaves.data(), of_roots,
                                                a.roots.data(), MPI_SUM)
                : PetscSFFetchAndOpWithMemTypeBegin(sf, u.type, of_roots, a.roots.data(), of_leaves,
                                                    a.leaves.data(), of_leaves, a.fetched.data(),
                                                    MPI_SUM);
        if (num_ranks() == 1)
            codes.push_back(static_cast<int>(begun));
        else
            EXPECT_EQ(static_cast<int>(begun), 0);
    }
    for (std::size_t i = codes.size(); i < what.size(); ++i) {
        auto& a = used[i];
        codes.push_back(static_cast<int>(
            what[i] == kind::bcast
                ? PetscSFBcastEnd(sf, u.type, a.roots.data(), a.leaves.data(), MPI_REPLACE)
            : what[i] == kind::reduce
                ? PetscSFReduceEnd(sf, u.type, a.leaves.data(), a.roots.data(), MPI_SUM)
                : PetscSFFetchAndOpEnd(sf, u.type, a.roots.data(), a.leaves.data(),
                                       a.fetched.data(), MPI_SUM)));
    }
    EXPECT_EQ(PetscPopErrorHandler(), 0);
    return codes;
}

// Those hear of it who need values of rank 0: in a ring its neighbors, and for what is fetched theirs as well. The next
// operation is as always.
TEST_F(StarForestOnDevice, AFailureIsToldToThoseWhoNeedTheValues) {
    const auto ring = graphs()[6];
    const unit& integer = units()[3];
    const int distance = std::min(this_rank(), num_ranks() - this_rank());
    const auto code_within = [&](int reach) {
        return static_cast<int>(distance == 0       ? PETSC_ERR_ARG_WRONG
                                : distance <= reach ? PETSC_ERR_LIB
                                                    : 0);
    };
    const int near = code_within(1), far = code_within(2);
    for (const places wrong : {places{true, false}, places{false, true}}) {
        const forest_pair forests(ring);
        using enum kind;
        for (const auto& what : std::vector<std::vector<kind>>{
                 {bcast}, {reduce}, {fetch}, {bcast, bcast}, {fetch, reduce, bcast, fetch}}) {
            std::vector<int> expected;
            for (const auto one : what) expected.push_back(one == fetch ? far : near);
            EXPECT_EQ(codes_where_rank_0_fails(forests.ours, integer, ring, what, wrong), expected);
            for (const auto one : {bcast, reduce, fetch}) {
                EXPECT_EQ(left_by(forests.ours, one, MPI_SUM, integer, ring, {true, true}),
                          left_by(forests.basic, one, MPI_SUM, integer, ring));
            }
        }
    }
}

// What has not begun on any rank is forgotten.
TEST_F(StarForestOnDevice, WhatAllRanksRefuseMayBeginAnew) {
    if (num_ranks() == 1) GTEST_SKIP() << "of basic";
    const auto ring = graphs()[6];
    const forest_pair forests(ring);
    const unit &byte = units()[0], &integer = units()[3];
    arrays a(integer, ring, 77);
    const array_on_device roots(mock(), a.roots), leaves(mock(), a.leaves);
    const auto begin = [&](const unit& u) {
        return static_cast<int>(
            PetscSFBcastWithMemTypeBegin(forests.ours, u.type, PETSC_MEMTYPE_CUDA, roots.data(),
                                         PETSC_MEMTYPE_CUDA, leaves.data(), MPI_REPLACE));
    };
    ASSERT_EQ(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr), 0);
    EXPECT_EQ(begin(this_rank() == 0 ? byte : integer), static_cast<int>(PETSC_ERR_ARG_WRONG));
    ASSERT_EQ(PetscPopErrorHandler(), 0);

    EXPECT_EQ(begin(integer), 0);
    PETSC(PetscSFBcastEnd(forests.ours, integer.type, roots.data(), leaves.data(), MPI_REPLACE));

    a.leaves = leaves.get(nullptr);
    EXPECT_EQ(a.all(), left_by(forests.basic, kind::bcast, MPI_REPLACE, integer, ring));
}

TEST_F(StarForest, BcastBringsTheRootOfEveryLeaf) {
    for (const auto& g : graphs()) {
        const forest_pair forests(g);
        std::vector<PetscInt> roots(static_cast<std::size_t>(g.num_roots));
        for (std::size_t i = 0; i < roots.size(); ++i)
            roots[i] = 1000 * this_rank() + static_cast<PetscInt>(i);
        std::vector<PetscInt> leaves(static_cast<std::size_t>(g.num_leaf_places), -1),
            expected = leaves;
        for (std::size_t e = 0; e < g.leaves.size(); ++e)
            expected[static_cast<std::size_t>(g.leaves[e])] =
                1000 * g.roots[e].rank + g.roots[e].index;

        PETSC_BOTH(PetscSFBcast, forests.ours, MPIU_INT, roots.data(), leaves.data(), MPI_REPLACE);

        EXPECT_EQ(leaves, expected) << g.name;
    }
}

// 3 times 60 operations on all graphs that are under way at once.
std::vector<bytes> run_many(const all_units& units, const char* type, bool ends_last_first,
                            bool has_device = false) {
    const auto all = graphs();
    std::vector<PetscSF> forests;
    for (const auto& g : all) forests.push_back(make(g, type));
    std::vector<bytes> results;
    for (std::size_t round = 0; round < 3; ++round) {
        std::vector<started_operation> under_way;
        for (std::size_t i = 0; i < 60; ++i) {
            const unit& u = units[(i / 3 + round) % units.size()];
            const auto what = static_cast<kind>(i % (u.has_fetch ? 3 : 2));
            under_way.push_back({forests[i % all.size()], what,
                                 what == kind::fetch ? MPI_SUM : MPI_REPLACE,
                                 arrays(u, all[i % all.size()], static_cast<unsigned>(i)),
                                 has_device ? places_of(i) : places{}});
        }
        for (auto& one : under_way) one.run(true);
        if (ends_last_first) std::reverse(under_way.begin(), under_way.end());
        for (auto& one : under_way) {
            one.run(false);
            const auto found = one.a.all();
            results.insert(results.end(), found.begin(), found.end());
        }
    }
    for (auto& sf : forests) EXPECT_EQ(PetscSFDestroy(&sf), 0);
    return results;
}

TEST_F(StarForest, SeveralOperationsMayBeUnderWay) {
    for (const bool ends_last_first : {false, true}) {
        EXPECT_EQ(run_many(units(), PETSCSFCROSSDOCK, ends_last_first),
                  run_many(units(), PETSCSFBASIC, ends_last_first));
    }
}

TEST_F(StarForestOnDevice, SeveralOperationsMayBeUnderWay) {
    EXPECT_EQ(run_many(units(), PETSCSFCROSSDOCK, true, true),
              run_many(units(), PETSCSFBASIC, true));
}

// What `use` finds with forests of our type is what it finds with PETSc's, whichever way it makes them.
using numbers = std::vector<double>;

void append(numbers& to, const std::vector<PetscInt>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

void compare_types(const std::string& what, const std::function<void(const char*, numbers&)>& use) {
    numbers expected, found;
    ASSERT_EQ(PetscOptionsSetValue(nullptr, "-sf_type", PETSCSFBASIC), 0);
    use(PETSCSFBASIC, expected);
    ASSERT_EQ(PetscOptionsSetValue(nullptr, "-sf_type", PETSCSFCROSSDOCK), 0);
    use(PETSCSFCROSSDOCK, found);
    ASSERT_EQ(PetscOptionsClearValue(nullptr, "-sf_type"), 0);
    EXPECT_FALSE(expected.empty()) << what;
    EXPECT_EQ(found, expected) << what;
}

void append_bcast(PetscSF sf, const graph& g, numbers& to) {
    std::vector<PetscInt> roots(static_cast<std::size_t>(std::max<PetscInt>(g.num_roots, 200)));
    for (std::size_t i = 0; i < roots.size(); ++i)
        roots[i] = 1000 * this_rank() + static_cast<PetscInt>(i);
    std::vector<PetscInt> leaves(
        static_cast<std::size_t>(std::max<PetscInt>(g.num_leaf_places, 200)), -1);
    PETSC_BOTH(PetscSFBcast, sf, MPIU_INT, roots.data(), leaves.data(), MPI_REPLACE);
    PETSC_BOTH(PetscSFReduce, sf, MPIU_INT, leaves.data(), roots.data(), MPI_SUM);
    append(to, roots);
    append(to, leaves);
}

TEST_F(StarForest, ForestsMadeOfOthersAreThoseOfBasic) {
    for (const auto& g : graphs()) {
        compare_types(g.name, [&](const char* type, numbers& found) {
            PetscSF sf = make(g, type), other = nullptr;
            std::vector<PetscInt> selected;
            for (PetscInt root = 0; root < g.num_roots; root += 2) selected.push_back(root);
            PETSC(PetscSFCreateEmbeddedRootSF(sf, static_cast<PetscInt>(selected.size()),
                                              selected.data(), &other));
            append_bcast(other, g, found);
            PETSC(PetscSFDestroy(&other));

            selected.clear();
            for (std::size_t leaf = 0; leaf < g.leaves.size(); leaf += 3)
                selected.push_back(static_cast<PetscInt>(leaf));
            PETSC(PetscSFCreateEmbeddedLeafSF(sf, static_cast<PetscInt>(selected.size()),
                                              selected.data(), &other));
            append_bcast(other, g, found);
            PETSC(PetscSFDestroy(&other));

            for (const auto what :
                 {PETSCSF_DUPLICATE_GRAPH, PETSCSF_DUPLICATE_RANKS, PETSCSF_DUPLICATE_CONFONLY}) {
                PETSC(PetscSFDuplicate(sf, what, &other));
                if (what != PETSCSF_DUPLICATE_GRAPH) {
                    PETSC(PetscSFSetGraph(
                        other, g.num_roots, static_cast<PetscInt>(g.leaves.size()),
                        const_cast<PetscInt*>(g.leaves.data()), PETSC_COPY_VALUES,
                        const_cast<PetscSFNode*>(g.roots.data()), PETSC_COPY_VALUES));
                }
                append_bcast(other, g, found);
                PETSC(PetscSFDestroy(&other));
            }
            append_bcast(sf, g, found);
            PETSC(PetscSFDestroy(&sf));
        });
    }
}

TEST_F(StarForest, ComposedForestsAreThoseOfBasic) {
    const auto all = graphs();
    for (const auto& a : all) {
        for (const auto& b : all) {
            compare_types(a.name + " and " + b.name, [&](const char* type, numbers& found) {
                // The leaves of the first are roots of the second.
                auto second = b;
                second.num_roots = a.num_leaf_places;
                for (auto& root : second.roots) root.index = 0;
                PetscSF first = make(a, type), then = make(second, type), both = nullptr;
                PETSC(PetscSFCompose(first, then, &both));
                append_bcast(both, b, found);
                PETSC(PetscSFDestroy(&both));
                PETSC(PetscSFDestroy(&then));
                PETSC(PetscSFDestroy(&first));
            });
        }
    }
}

TEST_F(StarForest, DegreesGatherScatterAndRanksAreThoseOfBasic) {
    for (const auto& g : graphs()) {
        compare_types(g.name, [&](const char* type, numbers& found) {
            PetscSF sf = make(g, type);
            const PetscInt *degrees = nullptr, *offsets = nullptr, *roots = nullptr;
            PETSC_BOTH(PetscSFComputeDegree, sf, &degrees);
            found.insert(found.end(), degrees, degrees + g.num_roots);
            PetscInt num_edges = 0;
            for (PetscInt i = 0; i < g.num_roots; ++i) num_edges += degrees[i];
            std::vector<PetscInt> leaves(static_cast<std::size_t>(g.num_leaf_places)),
                gathered(static_cast<std::size_t>(num_edges));
            for (std::size_t i = 0; i < leaves.size(); ++i)
                leaves[i] = 100 * this_rank() + static_cast<PetscInt>(i);
            PETSC_BOTH(PetscSFGather, sf, MPIU_INT, leaves.data(), gathered.data());
            append(found, gathered);
            for (auto& value : gathered) value = 7 * value + 1;
            PETSC_BOTH(PetscSFScatter, sf, MPIU_INT, gathered.data(), leaves.data());
            append(found, leaves);

            PetscInt num_others = 0;
            const PetscMPIInt* others = nullptr;
            PETSC(PetscSFGetLeafRanks(sf, &num_others, &others, &offsets, &roots));
            found.insert(found.end(), others, others + num_others);
            found.insert(found.end(), offsets, offsets + num_others + 1);
            found.insert(found.end(), roots, roots + offsets[num_others]);
            MPI_Group incoming, outgoing;
            PETSC(PetscSFGetGroups(sf, &incoming, &outgoing));
            int size = 0;
            MPI_Group_size(incoming, &size);
            found.push_back(size);
            PETSC(PetscSFDestroy(&sf));
        });
    }
}

void append(numbers& to, Vec vector) {
    PetscInt length = 0;
    const PetscScalar* values = nullptr;
    PETSC(VecGetLocalSize(vector, &length));
    PETSC(VecGetArrayRead(vector, &values));
    for (PetscInt i = 0; i < length; ++i) {
        to.push_back(PetscRealPart(values[i]));
        to.push_back(PetscImaginaryPart(values[i]));
    }
    PETSC(VecRestoreArrayRead(vector, &values));
}

void fill(Vec vector, double step) {
    PetscInt first = 0, last = 0;
    PETSC(VecGetOwnershipRange(vector, &first, &last));
    PetscScalar* values = nullptr;
    PETSC(VecGetArray(vector, &values));
    for (PetscInt i = first; i < last; ++i)
        values[i - first] = std::sin(step * (i + 1) + this_rank());
    PETSC(VecRestoreArray(vector, &values));
}

// Entries and blocks of them, each mode, both ways, with places that several entries go to, in one vector or in two.
TEST_F(StarForest, VectorScattersAreThoseOfBasic) {
    for (const PetscInt block : {1, 3}) {
        for (const auto mode : {INSERT_VALUES, ADD_VALUES, MAX_VALUES, MIN_VALUES}) {
            if (PetscDefined(USE_COMPLEX) && mode != INSERT_VALUES && mode != ADD_VALUES) continue;
            for (const bool is_to_one : {false, true}) {
                compare_types("block " + std::to_string(block), [&](const char*, numbers& found) {
                    const PetscInt length = 24;
                    random_numbers random(9);
                    std::vector<PetscInt> from, to;
                    for (PetscInt i = 0;
                         i < 40 && !(is_to_one && mode == INSERT_VALUES && i >= length); ++i) {
                        from.push_back(below(random, length * num_ranks()));
                        to.push_back(is_to_one && mode != INSERT_VALUES ? i % 7
                                                                        : (5 * i) % (2 * length));
                    }
                    Vec x, y;
                    PETSC(VecCreateMPI(PETSC_COMM_WORLD, length * block, PETSC_DECIDE, &x));
                    PETSC(VecCreateSeq(PETSC_COMM_SELF, 2 * length * block, &y));
                    fill(x, 0.3);
                    fill(y, 0.7);
                    IS is_from, is_to;
                    PETSC(ISCreateBlock(PETSC_COMM_SELF, block, static_cast<PetscInt>(from.size()),
                                        from.data(), PETSC_COPY_VALUES, &is_from));
                    PETSC(ISCreateBlock(PETSC_COMM_SELF, block, static_cast<PetscInt>(to.size()),
                                        to.data(), PETSC_COPY_VALUES, &is_to));
                    VecScatter scatter;
                    PETSC(VecScatterCreate(x, is_from, y, is_to, &scatter));
                    PETSC_BOTH(VecScatter, scatter, x, y, mode, SCATTER_FORWARD);
                    append(found, y);
                    PETSC_BOTH(VecScatter, scatter, y, x, mode, SCATTER_REVERSE);
                    append(found, x);
                    if (!is_to_one) {  // PETSc cannot otherwise
                        PETSC_BOTH(VecScatter, scatter, x, y, mode, SCATTER_FORWARD_LOCAL);
                        append(found, y);
                    }
                    PETSC(VecScatterDestroy(&scatter));
                    PETSC(ISDestroy(&is_to));
                    PETSC(ISDestroy(&is_from));
                    PETSC(VecDestroy(&y));
                    PETSC(VecDestroy(&x));
                });
            }
        }
    }
}

TEST_F(StarForest, RootsAndLeavesMayBeOneArray) {
    compare_types("one vector", [&](const char*, numbers& found) {
        Vec x;
        PETSC(VecCreateMPI(PETSC_COMM_WORLD, 10, PETSC_DECIDE, &x));
        fill(x, 0.2);
        // Of every rank the first five entries go to the last five of the next one.
        IS from, to;
        const PetscInt next = (this_rank() + 1) % num_ranks();
        PETSC(ISCreateStride(PETSC_COMM_WORLD, 5, 10 * this_rank(), 1, &from));
        PETSC(ISCreateStride(PETSC_COMM_WORLD, 5, 10 * next + 5, 1, &to));
        VecScatter scatter;
        PETSC(VecScatterCreate(x, from, x, to, &scatter));
        for (const auto mode : {INSERT_VALUES, ADD_VALUES}) {
            PETSC_BOTH(VecScatter, scatter, x, x, mode, SCATTER_FORWARD);
            append(found, x);
        }
        PETSC(VecScatterDestroy(&scatter));
        PETSC(ISDestroy(&to));
        PETSC(ISDestroy(&from));
        PETSC(VecDestroy(&x));
    });
}

TEST_F(StarForest, GridsAreThoseOfBasic) {
    compare_types("DMDA", [&](const char*, numbers& found) {
        DM grid;
        PETSC(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_GHOSTED,
                           DMDA_STENCIL_BOX, 11, 13, PETSC_DECIDE, PETSC_DECIDE, 2, 1, nullptr,
                           nullptr, &grid));
        PETSC(DMSetUp(grid));
        Vec global, local, other;
        PETSC(DMCreateGlobalVector(grid, &global));
        PETSC(DMCreateLocalVector(grid, &local));
        PETSC(VecDuplicate(local, &other));
        fill(global, 0.1);
        PETSC(DMGlobalToLocal(grid, global, INSERT_VALUES, local));
        append(found, local);
        PETSC_BOTH(DMLocalToLocal, grid, local, INSERT_VALUES, other);
        append(found, other);
        PETSC(DMLocalToGlobal(grid, local, ADD_VALUES, global));
        append(found, global);
        PETSC(VecDestroy(&other));
        PETSC(VecDestroy(&local));
        PETSC(VecDestroy(&global));
        PETSC(DMDestroy(&grid));
    });
}

TEST_F(StarForest, MeshesAreThoseOfBasic) {
    compare_types("DMPlex", [&](const char*, numbers& found) {
        const PetscInt faces[] = {5, 4};
        DM mesh, parts = nullptr;
        PETSC(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 2, PETSC_FALSE, faces, nullptr, nullptr,
                                  nullptr, PETSC_TRUE, &mesh));
        PetscPartitioner partitioner;
        PETSC(DMPlexGetPartitioner(mesh, &partitioner));
        PETSC(PetscPartitionerSetType(partitioner, PETSCPARTITIONERSIMPLE));
        PetscSF moved = nullptr;
        PETSC(DMPlexDistribute(mesh, 1, &moved, &parts));
        if (parts) {
            PETSC(PetscSFDestroy(&moved));
            PETSC(DMDestroy(&mesh));
            mesh = parts;
        }
        PetscInt first = 0, last = 0;
        PETSC(DMPlexGetChart(mesh, &first, &last));
        found.push_back(last - first);
        const PetscInt components[] = {1}, dofs[] = {1, 2, 1};
        PetscSection section;
        PETSC(DMSetNumFields(mesh, 1));
        PETSC(DMPlexCreateSection(mesh, nullptr, components, dofs, 0, nullptr, nullptr, nullptr,
                                  nullptr, &section));
        PETSC(DMSetLocalSection(mesh, section));
        PETSC(PetscSectionDestroy(&section));
        Vec global, local;
        PETSC(DMCreateGlobalVector(mesh, &global));
        PETSC(DMCreateLocalVector(mesh, &local));
        fill(global, 0.4);
        PETSC(DMGlobalToLocal(mesh, global, INSERT_VALUES, local));
        append(found, local);
        PETSC(DMLocalToGlobal(mesh, local, ADD_VALUES, global));
        append(found, global);
        PETSC(VecDestroy(&local));
        PETSC(VecDestroy(&global));
        PETSC(DMDestroy(&mesh));
    });
}

}  // namespace

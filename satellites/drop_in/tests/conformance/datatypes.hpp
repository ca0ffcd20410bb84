/// @file
/// @brief Datatypes of every constructor, all of which hold a chosen number of equal units.
#pragma once

#include <mpi.h>

#include <numeric>
#include <vector>

#include "random.hpp"

namespace conformance {

/// What a message is made of, whatever the datatypes at its two ends; `pair` is an int, a gap of 4 bytes and a double.
enum class unit { byte, integer, real, pair };

/// A committed datatype of `num_units` units.
struct datatype {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    int num_units = 1;
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    bool is_predefined = true;

    void free() {
        if (!is_predefined && handle != MPI_DATATYPE_NULL) MPI_Type_free(&handle);
    }
};

inline MPI_Datatype make_pair() {
    const int lengths[] = {1, 1};
    const MPI_Aint displacements[] = {0, 8};
    const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, displacements, members, &type);
    return type;
}

/// Units at displacements of their own: gaps, any order, and some before the address that is given.
inline MPI_Datatype make_hindexed(MPI_Datatype base, MPI_Aint base_extent, int num_units,
                                  random_numbers& random) {
    std::vector<MPI_Aint> displacements;
    auto position = -static_cast<MPI_Aint>(random.below(3));
    for (int i = 0; i < num_units; ++i, position += 1 + random.below(2))
        displacements.push_back(position * base_extent);
    random.shuffle(displacements);
    const std::vector<int> lengths(displacements.size(), 1);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(num_units, lengths.data(), displacements.data(), base, &type);
    return type;
}

/// Two blocks with padding between them.
inline MPI_Datatype make_struct(MPI_Datatype base, MPI_Aint base_extent, int num_units) {
    const int first = num_units / 2;
    const int lengths[] = {first, num_units - first};
    const MPI_Aint displacements[] = {0, (first + 1) * base_extent};
    const MPI_Datatype members[] = {base, base};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, displacements, members, &type);
    return type;
}

inline MPI_Datatype make_contiguous(MPI_Datatype base, int num_units,
                                    [[maybe_unused]] random_numbers& random) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
#ifdef CROSSDOCK_HAS_LARGE_COUNTS
    if (random.below(2) == 0) {
        MPI_Type_contiguous_c(num_units, base, &type);
        return type;
    }
#endif
    MPI_Type_contiguous(num_units, base, &type);
    return type;
}

inline MPI_Datatype make_resized(MPI_Datatype base, MPI_Aint base_extent, int num_units,
                                 random_numbers& random) {
    MPI_Datatype dense = MPI_DATATYPE_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(num_units, base, &dense);
    const int before = random.below(3);
    MPI_Type_create_resized(dense, -before * base_extent,
                            (before + num_units + random.below(3)) * base_extent, &type);
    MPI_Type_free(&dense);
    return type;
}

/// @param num_units  of the datatype, unless it is the unit itself.
inline datatype make_datatype(unit of, int num_units, random_numbers& random) {
    const MPI_Datatype predefined[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE};
    auto base = of == unit::pair ? make_pair() : predefined[static_cast<int>(of)];
    MPI_Aint unused = 0;
    MPI_Aint base_extent = 0;
    MPI_Type_get_extent(base, &unused, &base_extent);
    datatype made;
    made.num_units = num_units;
    made.is_predefined = false;
    switch (random.below(9)) {
        case 0: made.handle = make_contiguous(base, num_units, random); break;
        case 1: MPI_Type_vector(num_units, 1, 2 + random.below(2), base, &made.handle); break;
        case 2: made.handle = make_resized(base, base_extent, num_units, random); break;
        case 3: made.handle = make_hindexed(base, base_extent, num_units, random); break;
        case 4: made.handle = make_struct(base, base_extent, num_units); break;
        default:
            made.num_units = 1;
            made.is_predefined = of != unit::pair;
            made.handle = base;
            if (!made.is_predefined) MPI_Type_dup(base, &made.handle);
            break;
    }
    if (!made.is_predefined) MPI_Type_commit(&made.handle);
    MPI_Type_get_extent(made.handle, &made.lower_bound, &made.extent);
    if (of == unit::pair) MPI_Type_free(&base);
    return made;
}

}  // namespace conformance

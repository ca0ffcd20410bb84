/// @file
/// @brief What one rank sends or receives: counts, displacements and datatypes, and the memory that they name.
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>

#include "datatypes.hpp"
#include "functions.hpp"

namespace conformance {

enum class placement { consecutive, scattered, overlapping };

/// The send or the receive arguments of one rank, and the memory that they name.
class side {
  public:
    static constexpr std::size_t guard_bytes = 64;

    std::vector<datatype> types;  // one, or one for each block
    std::vector<MPI_Datatype> handles;
    std::tuple<std::vector<int>, std::vector<MPI_Count>> counts;
    std::tuple<std::vector<int>, std::vector<MPI_Aint>> displacements;
    std::vector<MPI_Aint> byte_displacements;
    std::vector<std::byte> storage;
    void* base = nullptr;

    /// Arrays without an element have an address, as some MPIs want it.
    void avoid_null_arrays() {
        handles.reserve(1);
        byte_displacements.reserve(1);
        std::apply([](auto&... all) { (all.reserve(1), ...); }, counts);
        std::apply([](auto&... all) { (all.reserve(1), ...); }, displacements);
    }

    const datatype& type_of(std::size_t block) const {
        return types.size() == 1 ? types[0] : types[block];
    }
    std::size_t num_blocks() const { return first_bytes_.size(); }

    /// @param equal_count  where one count holds for all blocks
    template <class Count, class Displacement>
    arguments<Count, Displacement> as_arguments(int equal_count) const {
        return {base,
                static_cast<Count>(equal_count),
                std::get<std::vector<Count>>(counts).data(),
                std::get<std::vector<Displacement>>(displacements).data(),
                byte_displacements.data(),
                handles.data()};
    }

    /// Blocks of `num_units` units each, counted in values of their datatypes.
    /// @param has_byte_displacements  as MPI_Neighbor_alltoallw
    void place(random_numbers& random, placement how, const std::vector<int>& num_units,
               bool has_byte_displacements, bool is_bottom, std::size_t shift_bytes) {
        const auto num_blocks = num_units.size();
        auto& small = std::get<0>(counts);
        small.resize(num_blocks);
        std::vector<MPI_Aint> widths(num_blocks);  // in steps
        const MPI_Aint step = has_byte_displacements ? 16 : 1;
        for (std::size_t i = 0; i < num_blocks; ++i) {
            small[i] = num_units[i] / type_of(i).num_units;
            widths[i] =
                has_byte_displacements ? (small[i] * type_of(i).extent + 15) / 16 * 16 : small[i];
        }
        std::get<1>(counts).assign(small.begin(), small.end());

        std::vector<MPI_Aint> first(num_blocks);
        const auto end = how == placement::overlapping ? overlap(random, widths, step, first)
                                                       : line_up(random, how, widths, step, first);
        const MPI_Aint unit_bytes = has_byte_displacements ? 1 : types[0].extent;
        storage.resize(2 * guard_bytes + shift_bytes + static_cast<std::size_t>(end * unit_bytes));
        auto* start = storage.data() + guard_bytes + shift_bytes;
        MPI_Aint origin = 0;  // what displacements count from; blocks before it have negative ones
        if (how != placement::consecutive && random.chance(50))
            origin = random.below(static_cast<int>(end / step) + 1) * step;

        first_bytes_.resize(num_blocks);
        for (std::size_t i = 0; i < num_blocks; ++i)
            first_bytes_[i] =
                guard_bytes + shift_bytes + static_cast<std::size_t>(first[i] * unit_bytes);
        MPI_Aint address = 0;
        MPI_Get_address(start, &address);
        if (has_byte_displacements) {
            base = is_bottom ? MPI_BOTTOM : start + origin;
            byte_displacements.resize(num_blocks);
            for (std::size_t i = 0; i < num_blocks; ++i)
                byte_displacements[i] =
                    first[i] - type_of(i).lower_bound + (is_bottom ? address : -origin);
            return;
        }
        // Not by pointer arithmetic, as a lower bound may lie before the storage.
        address += origin * unit_bytes - types[0].lower_bound;
        base = reinterpret_cast<void*>(address);
        auto& steps = std::get<0>(displacements);
        steps.resize(num_blocks);
        for (std::size_t i = 0; i < num_blocks; ++i) steps[i] = static_cast<int>(first[i] - origin);
        std::get<1>(displacements).assign(steps.begin(), steps.end());
    }

    /// The block that holds a byte of the storage, or -1: a gap or a guard.
    int block_at(std::size_t byte) const {
        for (std::size_t i = 0; i < num_blocks(); ++i) {
            const auto extent =
                static_cast<std::size_t>(std::get<0>(counts)[i] * type_of(i).extent);
            if (byte >= first_bytes_[i] && byte < first_bytes_[i] + extent)
                return static_cast<int>(i);
        }
        return -1;
    }

    void free_types() {
        for (auto& type : types) type.free();
    }

  private:
    static MPI_Aint line_up(random_numbers& random, placement how,
                            const std::vector<MPI_Aint>& widths, MPI_Aint step,
                            std::vector<MPI_Aint>& first) {
        std::vector<std::size_t> order(widths.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const bool is_scattered = how == placement::scattered;
        if (is_scattered && random.chance(50)) random.shuffle(order);
        MPI_Aint end = 0;
        for (const auto i : order) {
            if (is_scattered) end += random.below(3) * step;
            first[i] = end;
            end += widths[i];
        }
        return end;
    }

    static MPI_Aint overlap(random_numbers& random, const std::vector<MPI_Aint>& widths,
                            MPI_Aint step, std::vector<MPI_Aint>& first) {
        MPI_Aint end = 0;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            first[i] = random.below(4) * step;
            end = std::max(end, first[i] + widths[i]);
        }
        return end;
    }

    std::vector<std::size_t> first_bytes_;  // in storage
};

}  // namespace conformance

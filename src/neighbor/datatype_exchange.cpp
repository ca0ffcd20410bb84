#include "datatype_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "../base/throw_error.hpp"

namespace crossdock {

namespace {

std::vector<count_t> sorted_unique(std::vector<count_t> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

// Calls `use(from, to, length)` for every stretch, of at most so many items, in which both indices
// count up together.
template <class Use>
void for_each_run(const copy_list& list, int most, Use&& use) {
    list.from.with_lookup([&](auto from) {
        list.to.with_lookup([&](auto to) {
            for (count_t k = 0; k < list.size();) {
                int length = 1;
                while (k + length < list.size() && from(k + length) == from(k) + length &&
                       to(k + length) == to(k) + length && length < most) {
                    ++length;
                }
                use(from(k), to(k), length);
                k += length;
            }
        });
    });
}

template <class Byte>
std::vector<Byte*> places_of(std::span<const std::span<Byte>> fields) {
    std::vector<Byte*> places;
    for (const auto& field : fields) places.push_back(field.data());
    return places;
}

// Calls `copy(bytes, in_packed, value)` for the values of all fields, which lie one after the other in an item.
template <class Byte, class Copy>
void copy_fields(const std::vector<Byte*>& fields, std::size_t value_bytes,
                 std::span<const count_t> indices, std::byte* packed, const Copy& copy) {
    const auto copy_values = [&](auto bytes) {
        const std::size_t item_bytes = fields.size() * bytes;
        for (std::size_t f = 0; f < fields.size(); ++f) {
            for (const count_t index : indices) {
                const auto i = static_cast<std::size_t>(index);
                copy(bytes, packed + i * item_bytes + f * bytes, fields[f] + i * bytes);
            }
        }
    };
    // Copies of so many bytes need no call.
    if (value_bytes == 8) return copy_values(std::integral_constant<std::size_t, 8>());
    if (value_bytes == 4) return copy_values(std::integral_constant<std::size_t, 4>());
    copy_values(value_bytes);
}

}  // namespace

std::vector<count_t> used_items(const plan& p) {
    std::vector<count_t> items;
    const auto add = [&](count_t position) {
        if (position < p.num_items()) items.push_back(position);
    };
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends)
            std::for_each(message.positions.begin(), message.positions.end(), add);
    }
    for (const auto& d : p.deliveries()) add(d.position);
    return sorted_unique(std::move(items));
}

std::vector<count_t> filled_slots(const plan& p) {
    std::vector<count_t> slots;
    for (const auto& d : p.deliveries()) slots.push_back(d.slot);
    return sorted_unique(std::move(slots));
}

void array_overlap::check_offset(const plan& p, count_t slots_after_items, std::size_t item_bytes) {
    const auto bytes = static_cast<count_t>(item_bytes);
    const count_t rest = slots_after_items % bytes;
    const relation here{slots_after_items / bytes - (rest < 0 ? 1 : 0), rest != 0};
    if (allowed_ == here) return;
    const auto used = used_items(p);
    auto next = used.begin();
    for (const count_t slot : filled_slots(p)) {
        const count_t first = slot + here.shift;
        next = std::lower_bound(next, used.end(), first);
        if (next == used.end()) break;
        if (*next > first + (here.is_between ? 1 : 0)) continue;
        throw_error_of(p.rank(), errc::invalid_argument,
                       "item {} is sent and slot {} is filled in the same memory: the slots "
                       "begin {} bytes {} the items. Fill slots where no items are sent "
                       "from, or in an array of their own.",
                       *next, slot, std::abs(slots_after_items),
                       slots_after_items < 0 ? "before" : "after");
    }
    allowed_ = here;
}

item_copy pack_fields(std::span<const std::span<const std::byte>> fields, std::size_t value_bytes) {
    return [all = places_of(fields), value_bytes](std::span<const count_t> indices,
                                                  std::byte* packed) {
        copy_fields(all, value_bytes, indices, packed,
                    [](auto bytes, std::byte* in_packed, const std::byte* value) {
                        std::memcpy(in_packed, value, bytes);
                    });
    };
}

item_copy unpack_fields(std::span<const std::span<std::byte>> fields, std::size_t value_bytes) {
    return [all = places_of(fields), value_bytes](std::span<const count_t> indices,
                                                  std::byte* packed) {
        copy_fields(all, value_bytes, indices, packed,
                    [](auto bytes, const std::byte* in_packed, std::byte* value) {
                        std::memcpy(value, in_packed, bytes);
                    });
    };
}

void packed_arrays::make(const plan& p, std::size_t item_bytes) {
    if (item_bytes_ == item_bytes) return;
    const auto allocate = [&](count_t num_values) {
        return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(num_values) *
                                                           item_bytes);
    };
    item_bytes_ = 0;  // until all of them are made
    used_items_ = used_items(p);
    filled_slots_ = filled_slots(p);
    items_ = allocate(p.num_items());
    slots_ = allocate(p.num_slots());
    item_bytes_ = item_bytes;
}

void packed_arrays::pack(const plan& p, std::size_t item_bytes, const item_copy& pack_items,
                         item_copy unpack_slots) {
    make(p, item_bytes);
    pack_items(used_items_, items());
    is_reverse_ = false;
    unpack_ = std::move(unpack_slots);
}

void packed_arrays::pack_reverse(const plan& p, std::size_t item_bytes, const item_copy& pack_slots,
                                 const item_copy& pack_items, item_copy unpack_items) {
    make(p, item_bytes);
    pack_slots(filled_slots_, slots());
    pack_items(used_items_, items());
    is_reverse_ = true;
    unpack_ = std::move(unpack_items);
}

void packed_arrays::unpack() {
    if (!unpack_) return;
    const auto copy = std::exchange(unpack_, nullptr);
    is_reverse_ ? copy(used_items_, items()) : copy(filled_slots_, slots());
}

void packed_arrays::abandon() noexcept {
    static_cast<void>(items_.release());
    static_cast<void>(slots_.release());
}

number_type number_type_of(MPI_Datatype datatype) {
    // MPI has some of them only beside a compiler of Fortran.
    if (datatype == MPI_DATATYPE_NULL) return {};
    const auto is_one_of = [&](const auto& list) {
        return std::find(list.begin(), list.end(), datatype) != list.end();
    };
    const auto of_kind = [&](char kind) {
        return number_type{kind, static_cast<std::size_t>(datatype_layout(datatype).size_bytes)};
    };
    if (is_one_of(std::array{MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4,
                             MPI_REAL8}))
        return of_kind('f');
    if (is_one_of(std::array{MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG,
                             MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_INTEGER,
                             MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}))
        return of_kind('i');
    if (is_one_of(std::array{MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                             MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
                             MPI_UINT64_T}))
        return of_kind('u');
    return {};
}

namespace {

template <class T, class Op>
combine_values own_combination(Op op) {
    return [op](std::byte* to, count_t to_step, const std::byte* from, value_layout layout,
                const copy_list& list) mutable {
        combine_in_steps(reinterpret_cast<T*>(to), to_step, reinterpret_cast<const T*>(from),
                         layout, list, op);
    };
}

combine_values combination_by_mpi(MPI_Datatype datatype, MPI_Op operation, count_t extent) {
    return [=](std::byte* to, count_t to_step, const std::byte* from, value_layout layout,
               const copy_list& list) {
        const int width = static_cast<int>(layout.width);
        // Stretches of one array may overlap.
        const bool are_joined = layout.step == width && to_step == width && from != to;
        const int most = are_joined ? std::numeric_limits<int>::max() / width : 1;
        for_each_run(list, most, [&](count_t from_index, count_t to_index, int length) {
            CROSSDOCK_MPI(MPI_Reduce_local(from + from_index * layout.step * extent,
                                           to + to_index * to_step * extent, length * width,
                                           datatype, operation));
        });
    };
}

}  // namespace

combine_function datatype_combination::items(count_t values_per_item) && {
    return [combine = std::move(values), values_per_item](std::byte* to, const std::byte* from,
                                                          const copy_list& list) {
        combine(to, values_per_item, from, {values_per_item, values_per_item}, list);
    };
}

datatype_combination combination_of(MPI_Datatype datatype, MPI_Op operation, count_t width) {
    require_commutative(operation);
    const datatype_layout layout(datatype);
    layout.require_in_extent();
    datatype_combination found{static_cast<std::size_t>(layout.extent), nullptr};
    with_number(number_type_of(datatype), [&](auto number) {
        using T = decltype(number);
        for_each_operation<T>([&](const auto& one) {
            if (one.is(operation)) found.values = own_combination<T>(one.apply);
        });
    });
    if (found.values) return found;
    checked_cast<int>(width);
    found.values = combination_by_mpi(datatype, operation, layout.extent);
    return found;
}

void check_arrays(const plan& p, const void* items, const void* slots) {
    if ((p.num_items() == 0 || items) && (p.num_slots() == 0 || slots)) return;
    throw error(errc::invalid_argument,
                p.num_items() > 0 && !items
                    ? fmt::format("items is a null pointer, but the pattern needs {} of them",
                                  p.num_items())
                    : fmt::format("slots is a null pointer, but the pattern needs {} of them",
                                  p.num_slots()),
                p.rank());
}

}  // namespace crossdock

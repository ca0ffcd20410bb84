#include "crossdock/detail/array/bytes_operation_mpi.hpp"

#include <cstring>

namespace crossdock {

namespace {

// Of values of which only the bytes are known.
class bytes_operation final : public value_operation {
  public:
    struct functions {
        std::string name;
        value_combination combine;
        value_combination apply;  // a travelling value to an entry
        bool combines_at_owner = false;
    };

    bytes_operation(std::size_t item_bytes, std::size_t value_bytes, functions what)
        : item_bytes_(item_bytes), value_bytes_(value_bytes), what_(std::move(what)) {}

    std::size_t value_bytes() const noexcept override { return value_bytes_; }
    bool may_throw() const noexcept override { return false; }
    bool combines_at_owner() const noexcept override { return what_.combines_at_owner; }
    const char* name() const noexcept override { return what_.name.c_str(); }
    bool fill_with_identity(std::byte*, std::size_t) const noexcept override { return false; }

    void combine(std::byte* into, std::uint8_t* is_set, const std::byte* from,
                 std::span<const position_t> positions, std::size_t&) const override {
        for (const position_t p : positions) {
            std::byte* const to = into + p * value_bytes_;
            if (std::exchange(is_set[p], 1))
                what_.combine(to, from);
            else
                std::memcpy(to, from, value_bytes_);
            from += value_bytes_;
        }
    }

    void apply(std::byte* entries, const std::byte* from, std::span<const count_t> offsets,
               std::size_t&) const override {
        for (const count_t offset : offsets) {
            what_.apply(entries + static_cast<std::size_t>(offset) * item_bytes_, from);
            from += value_bytes_;
        }
    }

  private:
    std::size_t item_bytes_;
    std::size_t value_bytes_;
    functions what_;
};

value_combination copy_of_bytes(std::size_t num_bytes) {
    return [num_bytes](std::byte* into, const std::byte* value) {
        std::memcpy(into, value, num_bytes);
    };
}

// The value of the smaller rank, and of one rank the later; each has its rank behind it.
entry_writes smallest_rank_last(std::size_t item_bytes) {
    const auto rank_of = [item_bytes](const std::byte* value) {
        rank_t rank = 0;
        std::memcpy(&rank, value + item_bytes, sizeof rank);
        return rank;
    };
    const std::size_t value_bytes = item_bytes + sizeof(rank_t);
    return {bytes_write(item_bytes, value_bytes, "smallest rank",
                        [rank_of, value_bytes](std::byte* into, const std::byte* value) {
                            if (rank_of(value) <= rank_of(into))
                                std::memcpy(into, value, value_bytes);
                        }),
            true};
}

}  // namespace

entry_operation bytes_update(std::size_t item_bytes, std::string name,
                             const value_combination& combine) {
    return {std::make_unique<bytes_operation>(
        item_bytes, item_bytes, bytes_operation::functions{std::move(name), combine, combine})};
}

entry_operation bytes_write(std::size_t item_bytes, std::size_t value_bytes, std::string name,
                            value_combination combine) {
    return {std::make_unique<bytes_operation>(
        item_bytes, value_bytes,
        bytes_operation::functions{std::move(name), std::move(combine), copy_of_bytes(item_bytes),
                                   true})};
}

entry_operation replacing(const number_type& type, std::size_t item_bytes) {
    auto result = bytes_update(item_bytes, "replace", copy_of_bytes(item_bytes));
    result.predefined = {MPI_BYTE, MPI_REPLACE};
    with_number(type, [&](auto number) { result = typed_update<decltype(number)>(replace()); });
    return result;
}

entry_writes writes_by(const number_type& type, std::size_t item_bytes, overwrite which,
                       value_combination choose) {
    switch (which) {
        case overwrite::any: return {replacing(type, item_bytes)};
        case overwrite::smallest_rank_last: return smallest_rank_last(item_bytes);
        case overwrite::user:
            if (!choose) throw error(errc::invalid_argument, "choose is a null pointer");
            return {bytes_write(item_bytes, item_bytes, "chosen by the caller", std::move(choose))};
        case overwrite::minimum:
        case overwrite::maximum: break;
    }
    entry_writes result;
    const bool has_order = with_number(type, [&](auto number) {
        result.by.operation = make_write_rule<decltype(number)>(which, nullptr).operation;
    });
    if (!has_order)
        throw error(
            errc::invalid_argument,
            "values without an order have no minimum or maximum; name another overwrite rule");
    return result;
}

std::vector<std::byte> with_rank_behind(const std::byte* values, std::size_t num_values,
                                        std::size_t item_bytes, rank_t rank) {
    const std::size_t step = item_bytes + sizeof rank;
    std::vector<std::byte> result(num_values * step);
    for (std::size_t k = 0; k < num_values; ++k) {
        std::byte* const to = result.data() + k * step;
        std::memcpy(to, values + k * item_bytes, item_bytes);
        std::memcpy(to + item_bytes, &rank, sizeof rank);
    }
    return result;
}

}  // namespace crossdock

#include "halo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace crossdock {

namespace {

void check_owners(const char* what, const std::vector<rank_t>& owner, count_t length,
                  rank_t num_ranks) {
    if (static_cast<count_t>(owner.size()) != length) {
        throw error(errc::size_mismatch,
                    fmt::format("{} {}s have {} owners", length, what, owner.size()));
    }
    const auto outside = std::find_if(owner.begin(), owner.end(),
                                      [&](rank_t rank) { return rank < 0 || rank >= num_ranks; });
    if (outside != owner.end()) {
        throw error(errc::rank_out_of_range,
                    fmt::format("owner {} of {} {} is outside [0, {})", *outside, what,
                                outside - owner.begin(), num_ranks));
    }
}

/// One halo per rank with its owned rows and columns; returns every column's item at its owner.
std::vector<count_t> distribute(const partition& owners, std::vector<halo>& halos) {
    for (std::size_t row = 0; row < owners.row_owner.size(); ++row) {
        const auto owner = static_cast<std::size_t>(owners.row_owner[row]);
        halos[owner].owned_rows.push_back(static_cast<count_t>(row));
    }
    std::vector<count_t> item_of_column;
    item_of_column.reserve(owners.column_owner.size());
    for (std::size_t column = 0; column < owners.column_owner.size(); ++column) {
        halo& owner = halos[static_cast<std::size_t>(owners.column_owner[column])];
        item_of_column.push_back(owner.exchange.num_items++);
        owner.owned_columns.push_back(static_cast<count_t>(column));
    }
    return item_of_column;
}

class halo_builder {
  public:
    halo_builder(const sparse_matrix& matrix, const partition& owners)
        : matrix_(matrix),
          owners_(owners),
          last_reader_(owners.column_owner.size(), -1),
          halos_(static_cast<std::size_t>(owners.num_ranks)),
          item_of_column_(distribute(owners, halos_)) {}

    /// Visits readers in rank order, so that every owner's destinations ascend.
    std::vector<halo> build() && {
        for (rank_t rank = 0; rank < owners_.num_ranks; ++rank) {
            halo& reader = halos_[static_cast<std::size_t>(rank)];
            reader.exchange.rank = rank;
            reader.exchange.num_ranks = owners_.num_ranks;
            find_ghosts(reader);
            connect(reader);
        }
        return std::move(halos_);
    }

  private:
    rank_t owner_of(count_t column) const {
        return owners_.column_owner[static_cast<std::size_t>(column)];
    }

    void find_ghosts(halo& reader) {
        const rank_t rank = reader.exchange.rank;
        std::vector<count_t>& ghosts = reader.ghost_columns;
        for (const count_t row : reader.owned_rows) {
            for (const count_t column : matrix_.row(row)) {
                rank_t& last = last_reader_[static_cast<std::size_t>(column)];
                if (last == rank || owner_of(column) == rank) continue;
                last = rank;
                ghosts.push_back(column);
            }
        }
        std::sort(ghosts.begin(), ghosts.end(), [&](count_t a, count_t b) {
            return owner_of(a) != owner_of(b) ? owner_of(a) < owner_of(b) : a < b;
        });
        reader.exchange.num_slots = static_cast<count_t>(ghosts.size());
    }

    /// Enters every stretch of ghosts with one owner at the reader and at the owner.
    void connect(halo& reader) {
        std::vector<count_t> items;
        std::vector<count_t> slots;
        const std::vector<count_t>& ghosts = reader.ghost_columns;
        for (std::size_t first = 0; first < ghosts.size(); first += slots.size()) {
            const rank_t owner = owner_of(ghosts[first]);
            items.clear();
            slots.clear();
            for (std::size_t slot = first; slot < ghosts.size(); ++slot) {
                if (owner_of(ghosts[slot]) != owner) break;
                items.push_back(item_of_column_[static_cast<std::size_t>(ghosts[slot])]);
                slots.push_back(static_cast<count_t>(slot));
            }
            reader.exchange.receives.append(owner, slots);
            halos_[static_cast<std::size_t>(owner)].exchange.sends.append(reader.exchange.rank,
                                                                          items);
        }
    }

    const sparse_matrix& matrix_;
    const partition& owners_;
    std::vector<rank_t> last_reader_;  ///< the last rank that listed a column as a ghost
    std::vector<halo> halos_;
    std::vector<count_t> item_of_column_;
};

}  // namespace

std::vector<halo> halos_from_matrix(const sparse_matrix& matrix, const partition& owners) {
    check_owners("row", owners.row_owner, matrix.num_rows, owners.num_ranks);
    check_owners("column", owners.column_owner, matrix.num_columns, owners.num_ranks);
    return halo_builder(matrix, owners).build();
}

}  // namespace crossdock

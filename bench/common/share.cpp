#include "bench/common/share.hpp"

#include <unordered_map>

namespace crossdock::bench {

namespace {

// Every column's item at its owner.
std::vector<count_t> items_of_columns(count_t num_columns, const std::vector<halo>& ranks) {
    std::vector<count_t> item_of(static_cast<std::size_t>(num_columns));
    for (const halo& rank : ranks) {
        count_t item = 0;
        for (const count_t column : rank.owned_columns)
            item_of[static_cast<std::size_t>(column)] = item++;
    }
    return item_of;
}

// What all ranks' shares are cut from.
struct whole {
    const sparse_matrix& matrix;
    std::vector<double> product;
    std::vector<double> column_sums;
    std::vector<count_t> item_of;
};

share cut_one(const whole& all, halo&& rank) {
    const auto& matrix = all.matrix;
    share part;
    for (const count_t column : rank.ghost_columns)
        part.slot_items.push_back(all.item_of[static_cast<std::size_t>(column)]);
    std::unordered_map<count_t, count_t> place_of;
    count_t place = 0;
    for (const count_t column : rank.owned_columns) place_of[column] = place++;
    for (const count_t column : rank.ghost_columns) place_of[column] = place++;
    part.row_offsets.push_back(0);
    for (const count_t row : rank.owned_rows) {
        for (const count_t column : matrix.row(row)) part.entries.push_back(place_of.at(column));
        const auto first =
            matrix.values.begin() + matrix.row_offsets[static_cast<std::size_t>(row)];
        part.values.insert(part.values.end(), first,
                           first + static_cast<count_t>(matrix.row(row).size()));
        part.row_offsets.push_back(static_cast<count_t>(part.entries.size()));
        part.expected.push_back(all.product[static_cast<std::size_t>(row)]);
    }
    for (const count_t column : rank.owned_columns)
        part.column_sums.push_back(all.column_sums[static_cast<std::size_t>(column)]);
    part.rows = std::move(rank.owned_rows);
    part.exchange = std::move(rank.exchange);
    part.item_columns = std::move(rank.owned_columns);
    part.slot_columns = std::move(rank.ghost_columns);
    return part;
}

// Applies `use` to every array of a share, in the order in which they travel.
template <class Share, class Use>
void for_each_array(Share& part, Use&& use) {
    for (auto* list : {&part.exchange.sends, &part.exchange.receives}) {
        use(list->ranks, MPI_INT);
        use(list->offsets, MPI_INT64_T);
        use(list->indices, MPI_INT64_T);
    }
    use(part.item_columns, MPI_INT64_T);
    use(part.slot_columns, MPI_INT64_T);
    use(part.slot_items, MPI_INT64_T);
    use(part.rows, MPI_INT64_T);
    use(part.row_offsets, MPI_INT64_T);
    use(part.entries, MPI_INT64_T);
    use(part.values, MPI_DOUBLE);
    use(part.expected, MPI_DOUBLE);
    use(part.column_sums, MPI_DOUBLE);
}

void send(const communicator& comm, const share& part, rank_t destination, int tag) {
    for_each_array(part, [&](const auto& array, MPI_Datatype type) {
        CROSSDOCK_MPI(MPI_Send(array.data(), checked_cast<int>(array.size()), type, destination,
                               tag, comm.get()));
    });
}

share receive(const communicator& comm, int tag) {
    share part;
    for_each_array(part, [&](auto& array, MPI_Datatype type) {
        MPI_Status status;
        int size = 0;
        CROSSDOCK_MPI(MPI_Probe(0, tag, comm.get(), &status));
        CROSSDOCK_MPI(MPI_Get_count(&status, type, &size));
        array.resize(static_cast<std::size_t>(size));
        CROSSDOCK_MPI(MPI_Recv(array.data(), size, type, 0, tag, comm.get(), MPI_STATUS_IGNORE));
    });
    part.exchange.rank = comm.rank();
    part.exchange.num_ranks = comm.num_ranks();
    part.exchange.num_items = static_cast<count_t>(part.item_columns.size());
    part.exchange.num_slots = static_cast<count_t>(part.slot_columns.size());
    return part;
}

}  // namespace

std::vector<share> cut(const workload& work) {
    auto ranks = halos_from_matrix(work.matrix, work.owners);
    const whole all{work.matrix, serial_product(work.matrix), serial_column_sums(work.matrix),
                    items_of_columns(work.matrix.num_columns, ranks)};
    std::vector<share> parts;
    for (auto& rank : ranks) parts.push_back(cut_one(all, std::move(rank)));
    return parts;
}

share distribute(const communicator& comm, const std::string& file,
                 const std::string& partition_spec, const topology& regions) {
    auto parts = distribute(comm, [&] {
        std::vector<workload> loaded;
        loaded.push_back(load_workload(file, partition_spec, regions));
        return loaded;
    });
    return std::move(parts.front());
}

std::vector<share> distribute(const communicator& comm,
                              const std::function<std::vector<workload>()>& load) {
    const auto tags = comm.reserve_tags(1);
    const int tag = tags.first();
    const bool is_root = comm.rank() == 0;
    auto works = on_all_or_none(comm, [&] { return is_root ? load() : std::vector<workload>(); });
    count_t num_works = static_cast<count_t>(works.size());
    CROSSDOCK_MPI(MPI_Bcast(&num_works, 1, MPI_INT64_T, 0, comm.get()));
    std::vector<share> own;
    for (count_t w = 0; w < num_works; ++w) {
        auto parts = on_all_or_none(comm, [&] {
            return is_root ? cut(works[static_cast<std::size_t>(w)]) : std::vector<share>();
        });
        for (std::size_t rank = 1; rank < parts.size(); ++rank)
            send(comm, parts[rank], static_cast<rank_t>(rank), tag);
        own.push_back(is_root ? std::move(parts.front()) : receive(comm, tag));
    }
    return own;
}

void multiply(const share& part, std::span<const double> items, std::span<const double> slots,
              std::span<double> y) {
    for (std::size_t row = 0; row < y.size(); ++row) {
        double sum = 0;
        const auto end = static_cast<std::size_t>(part.row_offsets[row + 1]);
        for (auto k = static_cast<std::size_t>(part.row_offsets[row]); k < end; ++k) {
            const auto place = static_cast<std::size_t>(part.entries[k]);
            sum += part.values[k] *
                   (place < items.size() ? items[place] : slots[place - items.size()]);
        }
        y[row] = sum;
    }
}

std::vector<double> product(const share& part, std::span<const double> items,
                            std::span<const double> slots) {
    std::vector<double> y(part.row_offsets.size() - 1);
    multiply(part, items, slots, y);
    return y;
}

void add_row_weights(const share& part, std::size_t num_values, std::span<double> items,
                     std::span<double> slots) {
    for (std::size_t row = 0; row < part.rows.size(); ++row) {
        const auto end = static_cast<std::size_t>(part.row_offsets[row + 1]);
        for (auto k = static_cast<std::size_t>(part.row_offsets[row]); k < end; ++k) {
            const std::size_t first = static_cast<std::size_t>(part.entries[k]) * num_values;
            double* const to = first < items.size() ? &items[first] : &slots[first - items.size()];
            for (std::size_t v = 0; v < num_values; ++v)
                to[v] += static_cast<double>(v + 1) * row_weight(part.rows[row]);
        }
    }
}

}  // namespace crossdock::bench

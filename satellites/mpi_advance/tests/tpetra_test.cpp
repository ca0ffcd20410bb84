// Trilinos of Debian, whose Tpetra knows no MPI Advance: this program defines how its Distributor sends doubles, by MPI
// Advance's names. Tpetra's library calls it in place of its own, which is weak.
#include <mpi_advance.h>

#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_Distributor.hpp>
#include <Tpetra_Export.hpp>
#include <Tpetra_Import.hpp>
#include <Tpetra_MultiVector.hpp>
#include <algorithm>
#include <vector>

#include "expecting.h"

namespace {

int num_sends_by_mpi_advance = 0;

using place = Kokkos::Device<Kokkos::Serial, Kokkos::HostSpace>;
using sent_values =
    Kokkos::View<const double*, Kokkos::LayoutRight, place, Kokkos::MemoryTraits<0>>;
using received_values = Kokkos::View<double*, place>;
using long_received_values = Kokkos::View<double*, Kokkos::LayoutRight, place>;

MPIX_Comm* comm_of_world() {
    static MPIX_Comm* const made = [] {
        MPIX_Comm* comm = nullptr;
        EXPECT(MPIX_Comm_init(&comm, MPI_COMM_WORLD) == MPI_SUCCESS);
        return comm;
    }();
    return made;
}

std::vector<int> times(Teuchos::ArrayView<const std::size_t> numbers, std::size_t num_packets) {
    std::vector<int> all;
    for (const auto number : numbers) all.push_back(static_cast<int>(number * num_packets));
    return all;
}

// The send type of later versions: the neighbors in an MPIX_Topo, and one call.
void send_by_mpi_advance(const Tpetra::Details::DistributorPlan& plan, const double* exports,
                         std::size_t num_packets, double* imports) {
    ++num_sends_by_mpi_advance;
    const auto to = plan.getProcsTo(), from = plan.getProcsFrom();
    const auto send_counts = times(plan.getLengthsTo(), num_packets);
    const auto receive_counts = times(plan.getLengthsFrom(), num_packets);
    auto send_starts = times(plan.getStartsTo(), num_packets);
    std::vector<int> receive_starts;
    int next = 0;
    for (const int count : receive_counts) {
        receive_starts.push_back(next);
        next += count;
    }
    // Values that are not in the order of their destinations.
    std::vector<double> ordered;
    for (const auto from_packet : plan.getIndicesTo())
        ordered.insert(ordered.end(), exports + from_packet * num_packets,
                       exports + (from_packet + 1) * num_packets);
    MPIX_Info* info = nullptr;
    MPIX_Topo* neighbors = nullptr;
    MPIX_Info_init(&info);
    MPIX_Topo_init(static_cast<int>(from.size()), from.getRawPtr(), receive_counts.data(),
                   static_cast<int>(to.size()), to.getRawPtr(), send_counts.data(), info,
                   &neighbors);
    EXPECT(MPIX_Neighbor_alltoallv_topo(ordered.empty() ? exports : ordered.data(),
                                        send_counts.data(), send_starts.data(), MPI_DOUBLE, imports,
                                        receive_counts.data(), receive_starts.data(), MPI_DOUBLE,
                                        neighbors, comm_of_world()) == MPI_SUCCESS);
    MPIX_Topo_free(&neighbors);
    MPIX_Info_free(&info);
}

}  // namespace

namespace Tpetra::Details {

template <>
void DistributorActor::doPosts(const DistributorPlan& plan, const sent_values& exports,
                               size_t num_packets, const received_values& imports) {
    send_by_mpi_advance(plan, exports.data(), num_packets, imports.data());
}

template <>
void DistributorActor::doPosts(const DistributorPlan& plan, const sent_values& exports,
                               size_t num_packets, const long_received_values& imports) {
    send_by_mpi_advance(plan, exports.data(), num_packets, imports.data());
}

}  // namespace Tpetra::Details

namespace {

constexpr int num_rows = 4;  // of each rank

using map = Tpetra::Map<>;
using vectors = Tpetra::MultiVector<double>;
using global = map::global_ordinal_type;

// Rows of a matrix with a band as wide as two ranks.
std::vector<global> columns_of(global row) {
    std::vector<global> columns;
    for (global column = row - 2 * num_rows; column <= row + 2 * num_rows; column += 3)
        if (column >= 0 && column < num_rows * num_ranks) columns.push_back(column);
    return columns;
}
double value(global row, std::size_t column) {
    return static_cast<double>(100 * row) + static_cast<double>(column);
}

struct halo {
    halo()
        : comm(new Teuchos::MpiComm<int>(MPI_COMM_WORLD)),
          rows(new map(num_rows * num_ranks, 0, comm)) {
        for (global row = rank * num_rows; row < (rank + 1) * num_rows; ++row)
            for (const auto column : columns_of(row))
                if (column / num_rows != rank) needed.push_back(column);
        std::ranges::sort(needed);
        needed.erase(std::ranges::unique(needed).begin(), needed.end());
        ghosts = Teuchos::rcp(new map(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                                      Teuchos::ArrayView<const global>(needed), 0, comm));
    }

    Teuchos::RCP<const Teuchos::Comm<int>> comm;
    Teuchos::RCP<const map> rows, ghosts;
    std::vector<global> needed;
};

void fill(vectors& to) {
    for (std::size_t k = 0; k < to.getNumVectors(); ++k)
        for (std::size_t i = 0; i < to.getLocalLength(); ++i)
            to.replaceLocalValue(static_cast<int>(i), k,
                                 value(to.getMap()->getGlobalElement(static_cast<int>(i)), k));
}

void import_brings_ghosts(const halo& all, std::size_t num_vectors) {
    const Tpetra::Import<> import(all.rows, all.ghosts);
    vectors items(all.rows, num_vectors), ghosts(all.ghosts, num_vectors);
    fill(items);
    for (int round = 0; round < 3; ++round) {
        ghosts.putScalar(-1);
        const int before = num_sends_by_mpi_advance;
        ghosts.doImport(items, import, Tpetra::INSERT);
        EXPECT(num_sends_by_mpi_advance == before + (num_ranks > 1));
        for (std::size_t k = 0; k < num_vectors; ++k)
            for (std::size_t i = 0; i < all.needed.size(); ++i)
                EXPECT(ghosts.getData(k)[static_cast<int>(i)] == value(all.needed[i], k));
    }
}

// A row gets one from each rank that needs it.
void export_adds(const halo& all) {
    const Tpetra::Export<> way_back(all.ghosts, all.rows);
    vectors items(all.rows, 1), ghosts(all.ghosts, 1);
    ghosts.putScalar(1);
    items.doExport(ghosts, way_back, Tpetra::ADD);
    for (int i = 0; i < num_rows; ++i) {
        const global column = rank * num_rows + i;
        double num_ranks_that_need_it = 0;
        for (int other = 0; other < num_ranks; ++other) {
            bool is_needed = false;
            for (global row = other * num_rows; row < (other + 1) * num_rows; ++row)
                is_needed = is_needed || std::ranges::count(columns_of(row), column) > 0;
            num_ranks_that_need_it += is_needed && other != rank;
        }
        EXPECT(items.getData(0)[i] == num_ranks_that_need_it);
    }
}

void product_is_right(const halo& all) {
    Tpetra::CrsMatrix<double> matrix(all.rows, 8);
    for (global row = rank * num_rows; row < (rank + 1) * num_rows; ++row) {
        const auto columns = columns_of(row);
        const std::vector<double> ones(columns.size(), 1);
        matrix.insertGlobalValues(row, Teuchos::ArrayView<const global>(columns),
                                  Teuchos::ArrayView<const double>(ones));
    }
    matrix.fillComplete();
    vectors x(all.rows, 1), y(all.rows, 1);
    fill(x);
    for (int round = 0; round < 3; ++round) {
        const int before = num_sends_by_mpi_advance;
        matrix.apply(x, y);
        EXPECT(num_sends_by_mpi_advance == before + (num_ranks > 1));
        for (int i = 0; i < num_rows; ++i) {
            double expected = 0;
            for (const auto column : columns_of(rank * num_rows + i)) expected += value(column, 0);
            EXPECT(y.getData(0)[i] == expected);
        }
    }
}

// Packets to ranks in turn, which are not in the order of their destinations.
void packets_in_any_order_arrive(const halo& all) {
    std::vector<int> destinations;
    for (int turn = 0; turn < 3; ++turn)
        for (int other = num_ranks; other-- > 0;) destinations.push_back(other);
    Tpetra::Distributor distributor(all.comm);
    const auto num_packets =
        distributor.createFromSends(Teuchos::ArrayView<const int>(destinations));
    EXPECT(num_packets == destinations.size());
    const received_values exports("exports", 2 * destinations.size()),
        imports("imports", 2 * num_packets);
    for (std::size_t i = 0; i < exports.size(); ++i)
        exports[i] = 1000 * rank + 10 * destinations[i / 2] + static_cast<double>(i % 2);
    const int before = num_sends_by_mpi_advance;
    distributor.doPostsAndWaits(sent_values(exports), 2, imports);
    EXPECT(num_sends_by_mpi_advance == before + 1);
    std::vector<double> came(imports.data(), imports.data() + imports.size()), expected;
    for (int source = 0; source < num_ranks; ++source)
        for (int turn = 0; turn < 3; ++turn)
            for (int k = 0; k < 2; ++k) expected.push_back(1000 * source + 10 * rank + k);
    std::ranges::sort(came);
    std::ranges::sort(expected);
    EXPECT(came == expected);
}

}  // namespace

int main(int argc, char** argv) {
    start_ranks(&argc, &argv);
    Tpetra::initialize(&argc, &argv);

    {
        const halo all;
        import_brings_ghosts(all, 1);
        import_brings_ghosts(all, 3);
        export_adds(all);
        product_is_right(all);
        packets_in_any_order_arrive(all);
    }

    MPIX_Comm* last = comm_of_world();
    EXPECT(MPIX_Comm_free(&last) == MPI_SUCCESS);
    Tpetra::finalize();
    return end_ranks();
}

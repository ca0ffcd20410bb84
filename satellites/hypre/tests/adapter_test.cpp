// Exchanges by the library against hypre's own: the same values, bit by bit.
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/hypre/boomer_amg.hpp"
#include "crossdock/crossdock.hpp"

namespace crossdock::hypre_test {

namespace {

context make_world() {
    context world(MPI_COMM_WORLD);
    const auto num_ranks = world.num_ranks();
    return num_ranks < 2 ? world
                         : world.with_topology(
                               topology::from_string(std::to_string(num_ranks / 2) + "," +
                                                         std::to_string(num_ranks - num_ranks / 2),
                                                     num_ranks));
}

neighbor_options along(const char* route, std::size_t item_bytes = sizeof(double)) {
    return {.route = route, .item_bytes = item_bytes};
}

constexpr std::array routes{"direct", "three_step", "hypercube"};

// No sum of these is exact, so that the order of additions shows.
double uneven(count_t global_index) { return std::sin(static_cast<double>(global_index) + 1); }

template <class T>
std::vector<T> numbers(count_t first, std::size_t num, const std::function<T(count_t)>& value) {
    std::vector<T> result(num);
    for (std::size_t i = 0; i < num; ++i) result[i] = value(first + static_cast<count_t>(i));
    return result;
}

std::size_t num_sent(const hypre_ParCSRCommPkg* package) {
    return static_cast<std::size_t>(package->send_map_starts[package->num_sends]);
}

std::size_t num_received(const hypre_ParCSRCommPkg* package) {
    return static_cast<std::size_t>(package->recv_vec_starts[package->num_recvs]);
}

template <class T>
void run_job(HYPRE_Int job, hypre_ParCSRCommPkg* package, std::vector<T>& from,
             std::vector<T>& to) {
    hypre_ParCSRCommHandleDestroy(
        hypre_ParCSRCommHandleCreate(job, package, from.data(), to.data()));
}

template <class T>
std::vector<T> by_hypre(HYPRE_Int job, hypre_ParCSRCommPkg* package, const std::vector<T>& items) {
    std::vector<T> packed(num_sent(package));
    for (std::size_t k = 0; k < packed.size(); ++k)
        packed[k] = items[static_cast<std::size_t>(package->send_map_elmts[k])];
    std::vector<T> slots(num_received(package));
    run_job(job, package, packed, slots);
    return slots;
}

template <class T>
void expect_job(const context& world, HYPRE_Int job, hypre_ParCSRMatrix* matrix,
                const std::function<T(count_t)>& value) {
    auto* const package = hypre_ParCSRMatrixCommPkg(matrix);
    const auto items =
        numbers<T>(hypre_ParCSRMatrixFirstColDiag(matrix),
                   static_cast<std::size_t>(hypre_ParCSRMatrixNumCols(matrix)), value);
    const auto expected = by_hypre(job, package, items);
    for (const char* route : routes) {
        neighbor_exchange exchange(world, pattern_from_hypre(world, package),
                                   along(route, sizeof(T)));
        std::vector<T> slots(expected.size());
        exchange.forward(items, slots);
        EXPECT_EQ(slots, expected) << route << ", job " << job;
    }
}

// Job 2, and the same values added up in reverse.
void expect_transposed_job(const context& world, hypre_ParCSRMatrix* matrix) {
    auto* const package = hypre_ParCSRMatrixCommPkg(matrix);
    auto values = numbers<double>(world.rank(), num_received(package), uneven);
    std::vector<double> expected(num_sent(package));
    run_job(2, package, values, expected);
    auto whole = numbers<HYPRE_Int>(7 * world.rank(), num_received(package),
                                    [](count_t i) { return static_cast<HYPRE_Int>(i); });
    std::vector<HYPRE_Int> returned(num_sent(package));
    run_job(12, package, whole, returned);
    std::vector<HYPRE_Int> sums(static_cast<std::size_t>(hypre_ParCSRMatrixNumCols(matrix)), 5);
    const auto initial = sums;
    for (std::size_t k = 0; k < returned.size(); ++k)
        sums[static_cast<std::size_t>(package->send_map_elmts[k])] += returned[k];
    for (const char* route : routes) {
        neighbor_exchange exchange(world, transposed_pattern_from_hypre(world, package),
                                   along(route));
        std::vector<double> slots(expected.size());
        exchange.forward(values, slots);
        EXPECT_EQ(slots, expected) << route;

        neighbor_exchange halo(world, pattern_from_hypre(world, package),
                               along(route, sizeof(HYPRE_Int)));
        auto items = initial;
        halo.reverse(whole, items, sum{});
        EXPECT_EQ(items, sums) << route;
    }
}

std::span<double> values_of(hypre_Vector* vector) {
    return {hypre_VectorData(vector),
            static_cast<std::size_t>(hypre_VectorSize(vector) * hypre_VectorNumVectors(vector))};
}

// hypre's vector of a side of a matrix, of one value or of several for each index.
class par_vector {
  public:
    par_vector(hypre_ParCSRMatrix* matrix, bool is_of_rows, HYPRE_Int num_vectors = 1)
        : vector_(hypre_ParMultiVectorCreate(hypre_ParCSRMatrixComm(matrix),
                                             is_of_rows ? hypre_ParCSRMatrixGlobalNumRows(matrix)
                                                        : hypre_ParCSRMatrixGlobalNumCols(matrix),
                                             is_of_rows ? hypre_ParCSRMatrixRowStarts(matrix)
                                                        : hypre_ParCSRMatrixColStarts(matrix),
                                             num_vectors)) {
        hypre_ParVectorInitialize(vector_);
    }
    ~par_vector() { hypre_ParVectorDestroy(vector_); }
    par_vector(const par_vector&) = delete;
    par_vector& operator=(const par_vector&) = delete;

    void fill() {
        const auto first = hypre_ParVectorFirstIndex(vector_);
        for (std::size_t i = 0; i < values().size(); ++i)
            values()[i] = uneven(first + static_cast<count_t>(i));
    }
    std::span<double> values() const { return values_of(local()); }
    hypre_ParVector* get() const { return vector_; }
    hypre_Vector* local() const { return hypre_ParVectorLocalVector(vector_); }

  private:
    hypre_ParVector* vector_;
};

void expect_same_bits(const par_vector& found, const par_vector& expected) {
    const auto bytes = expected.values().size_bytes();
    EXPECT_TRUE(bytes == 0 ||
                std::memcmp(found.values().data(), expected.values().data(), bytes) == 0);
}

// The off-diagonal columns' values, where hypre's kernels look for them.
class column_values {
  public:
    explicit column_values(hypre_ParCSRMatrix* matrix, HYPRE_Int num_vectors = 1)
        : vector_(hypre_SeqMultiVectorCreate(hypre_CSRMatrixNumCols(hypre_ParCSRMatrixOffd(matrix)),
                                             num_vectors)) {
        hypre_VectorMultiVecStorageMethod(vector_) = num_vectors > 1 ? 1 : 0;
        hypre_SeqVectorInitialize(vector_);
    }
    ~column_values() { hypre_SeqVectorDestroy(vector_); }
    column_values(const column_values&) = delete;
    column_values& operator=(const column_values&) = delete;

    std::span<double> values() const { return values_of(vector_); }
    hypre_Vector* get() const { return vector_; }

  private:
    hypre_Vector* vector_;
};

void expect_products(const context& world, hypre_ParCSRMatrix* matrix) {
    auto* const package = hypre_ParCSRMatrixCommPkg(matrix);
    auto* const diag = hypre_ParCSRMatrixDiag(matrix);
    auto* const offd = hypre_ParCSRMatrixOffd(matrix);
    par_vector x(matrix, false);
    par_vector y(matrix, true);
    par_vector expected(matrix, true);
    x.fill();
    hypre_ParCSRMatrixMatvec(1, matrix, x.get(), 0, expected.get());
    par_vector back(matrix, false);
    par_vector expected_back(matrix, false);
    hypre_ParCSRMatrixMatvecT(1, matrix, expected.get(), 0, expected_back.get());
    const column_values columns(matrix);
    for (const char* route : routes) {
        neighbor_exchange halo(world, pattern_from_hypre(world, package), along(route));
        halo.start(x.values(), columns.values());
        hypre_CSRMatrixMatvec(1, diag, x.local(), 0, y.local());
        halo.wait();
        hypre_CSRMatrixMatvec(1, offd, columns.get(), 1, y.local());
        expect_same_bits(y, expected);

        neighbor_exchange home(world, transposed_pattern_from_hypre(world, package), along(route));
        std::vector<double> returned(num_sent(package));
        hypre_CSRMatrixMatvecT(1, offd, expected.local(), 0, columns.get());
        home.start(columns.values(), returned);
        hypre_CSRMatrixMatvecT(1, diag, expected.local(), 0, back.local());
        home.wait();
        for (std::size_t k = 0; k < returned.size(); ++k)
            back.values()[static_cast<std::size_t>(package->send_map_elmts[k])] += returned[k];
        expect_same_bits(back, expected_back);
    }
}

void expect_all_like_hypre(const context& world, hypre_ParCSRMatrix* matrix) {
    expect_job<double>(world, 1, matrix, uneven);
    expect_job<HYPRE_Int>(world, 11, matrix, [](count_t i) { return static_cast<HYPRE_Int>(i); });
    expect_job<HYPRE_BigInt>(world, 21, matrix,
                             [](count_t i) { return static_cast<HYPRE_BigInt>(3 * i); });
    expect_transposed_job(world, matrix);
    expect_products(world, matrix);
}

class Hierarchy : public testing::TestWithParam<const char*> {};

TEST_P(Hierarchy, EveryLevelIsExchangedAsByHypre) {
    auto world = make_world();
    {
        const bench::boomer_amg amg(world, GetParam());

        ASSERT_GT(amg.levels().size(), 1U);
        for (auto* matrix : amg.levels()) expect_all_like_hypre(world, matrix);
        for (auto* matrix : amg.interpolations()) expect_all_like_hypre(world, matrix);
    }
    world.close();
}

INSTANTIATE_TEST_SUITE_P(Problems, Hierarchy,
                         testing::Values("rotated:40x30", "7pt:9x8x7", "27pt:8x8x8"),
                         [](const auto& problem) {
                             const std::string text = problem.param;
                             return text.substr(0, text.find(':'));
                         });

// hypre turns the package into one of several components when it multiplies several vectors.
TEST(Adapter, SeveralVectorsAreOneExchange) {
    auto world = make_world();
    {
        const bench::boomer_amg amg(world, "27pt:6x5x4");
        auto* const matrix = amg.levels().front();
        auto* const package = hypre_ParCSRMatrixCommPkg(matrix);
        constexpr HYPRE_Int num_vectors = 3;
        using item = std::array<double, num_vectors>;
        const auto num_columns = static_cast<std::size_t>(hypre_ParCSRMatrixNumCols(matrix));
        const auto first = hypre_ParCSRMatrixFirstColDiag(matrix);
        std::vector<item> rows(num_columns);
        par_vector x(matrix, false, num_vectors);
        for (std::size_t v = 0; v < num_vectors; ++v) {
            for (std::size_t i = 0; i < num_columns; ++i) {
                rows[i][v] =
                    uneven(3 * (first + static_cast<count_t>(i)) + static_cast<count_t>(v));
                x.values()[v * num_columns + i] = rows[i][v];
            }
        }
        neighbor_exchange by_rows(world, pattern_from_hypre(world, package),
                                  along("three_step", sizeof(item)));

        par_vector expected(matrix, true, num_vectors);
        hypre_ParCSRMatrixMatvec(1, matrix, x.get(), 0, expected.get());
        ASSERT_EQ(hypre_ParCSRCommPkgNumComponents(package), num_vectors);
        neighbor_exchange halo(world, pattern_from_hypre(world, package), along("three_step"));
        const column_values columns(matrix, num_vectors);
        par_vector y(matrix, true, num_vectors);
        halo.start(x.values(), columns.values());
        hypre_CSRMatrixMatvec(1, hypre_ParCSRMatrixDiag(matrix), x.local(), 0, y.local());
        halo.wait();
        hypre_CSRMatrixMatvec(1, hypre_ParCSRMatrixOffd(matrix), columns.get(), 1, y.local());
        std::vector<item> slots(columns.values().size() / num_vectors);
        by_rows.forward(rows, slots);

        expect_same_bits(y, expected);
        EXPECT_TRUE(slots.empty() || std::memcmp(slots.data(), columns.values().data(),
                                                 columns.values().size_bytes()) == 0);
    }
    world.close();
}

// Only every third rank has rows; each needs those of all others.
TEST(Adapter, RanksWithoutRowsTakePart) {
    auto world = make_world();
    HYPRE_Init();
    const HYPRE_Int own = world.rank() % 3 == 0 ? 2 : 0;
    HYPRE_Int end = 0;
    MPI_Scan(&own, &end, 1, HYPRE_MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const HYPRE_Int num_rows = 2 * ((world.num_ranks() + 2) / 3);
    HYPRE_IJMatrix made = nullptr;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, end - own, end - 1, end - own, end - 1, &made);
    HYPRE_IJMatrixSetObjectType(made, HYPRE_PARCSR);
    HYPRE_IJMatrixInitialize(made);
    for (HYPRE_BigInt row = end - own; row < end; ++row) {
        for (HYPRE_BigInt column = 0; column < num_rows; ++column) {
            HYPRE_Int one = 1;
            const double value = uneven(row * num_rows + column);
            HYPRE_IJMatrixSetValues(made, 1, &one, &row, &column, &value);
        }
    }
    HYPRE_IJMatrixAssemble(made);
    void* object = nullptr;
    HYPRE_IJMatrixGetObject(made, &object);
    auto* const matrix = static_cast<hypre_ParCSRMatrix*>(object);
    if (hypre_ParCSRMatrixCommPkg(matrix) == nullptr) hypre_MatvecCommPkgCreate(matrix);

    expect_all_like_hypre(world, matrix);
    EXPECT_EQ(pattern_from_hypre(world, hypre_ParCSRMatrixCommPkg(matrix)).num_slots,
              own == 0 ? 0 : num_rows - own);

    HYPRE_IJMatrixDestroy(made);
    HYPRE_Finalize();
    world.close();
}

// A package of no communication, which the last rank spoils.
struct package_arrays {
    std::vector<HYPRE_Int> ranks{0};
    std::vector<HYPRE_Int> starts{0, 0};
    std::vector<HYPRE_Int> elements{0};
    hypre_ParCSRCommPkg package{};

    explicit package_arrays(MPI_Comm comm) {
        package.comm = comm;
        package.num_sends = 1;
        package.num_recvs = 1;
        package.send_procs = package.recv_procs = ranks.data();
        package.send_map_starts = package.recv_vec_starts = starts.data();
        package.send_map_elmts = elements.data();
    }
    package_arrays(const package_arrays&) = delete;
    package_arrays& operator=(const package_arrays&) = delete;
};

errc code_of(const context& world, const hypre_ParCSRCommPkg* package) {
    try {
        static_cast<void>(pattern_from_hypre(world, package));
    } catch (const error& fault) {
        EXPECT_EQ(fault.rank(), world.num_ranks() - 1);
        return fault.code();
    }
    return errc::internal;
}

TEST(Adapter, BadPackageOfOneRankFailsOnAll) {
    auto world = make_world();
    const bool is_bad = world.rank() == world.num_ranks() - 1;
    const std::vector<std::pair<std::function<void(package_arrays&)>, errc>> faults{
        {[](auto& bad) { bad.package.num_sends = -1; }, errc::invalid_argument},
        {[](auto& bad) { bad.package.send_procs = nullptr; }, errc::invalid_argument},
        {[](auto& bad) { bad.package.send_map_elmts = nullptr; }, errc::invalid_argument},
        {[](auto& bad) { bad.package.recv_vec_starts = nullptr; }, errc::invalid_argument},
        {[](auto& bad) { bad.starts.assign(2, 1); }, errc::invalid_argument},
        {[](auto& bad) { bad.starts.back() = -1; }, errc::invalid_argument},
        {[&](auto& bad) { bad.ranks = {world.num_ranks()}; }, errc::rank_out_of_range},
        {[](auto& bad) {
             bad.starts = {0, 1};
             bad.elements = {-1};
         },
         errc::index_out_of_range},
        {[](auto& bad) { bad.package.comm = MPI_COMM_NULL; }, errc::invalid_argument},
        {[](auto& bad) { bad.package.comm = MPI_COMM_SELF; }, errc::invalid_argument},
    };
    for (std::size_t f = 0; f < faults.size(); ++f) {
        if (world.num_ranks() == 1 && f + 1 == faults.size()) break;  // its ranks are those of self
        package_arrays arrays(MPI_COMM_WORLD);
        EXPECT_NO_THROW(static_cast<void>(pattern_from_hypre(world, &arrays.package)));
        if (is_bad) faults[f].first(arrays);
        EXPECT_EQ(code_of(world, &arrays.package), faults[f].second) << "fault " << f;
    }
    package_arrays good(MPI_COMM_WORLD);
    EXPECT_EQ(code_of(world, is_bad ? nullptr : &good.package), errc::invalid_argument);
    world.close();
}

TEST(Adapter, PackageWithoutNeighborsNeedsNoArrays) {
    auto world = make_world();
    hypre_ParCSRCommPkg package{};
    package.comm = MPI_COMM_WORLD;
    const pattern nothing{
        .rank = world.rank(), .num_ranks = world.num_ranks(), .sends = {}, .receives = {}};

    EXPECT_EQ(pattern_from_hypre(world, &package), nothing);
    EXPECT_EQ(transposed_pattern_from_hypre(world, &package), nothing);
    world.close();
}

}  // namespace

}  // namespace crossdock::hypre_test

// hypre's exchanges, whose values say where they come from, with libcrossdock_hypre.so linked before hypre.
//
// With CROSSDOCK_ROUTE=... all uses of a package from its third one on follow a plan, as client_test.py counts.
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <_hypre_parcsr_mv.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int num_uses = 6;
int num_faults = 0;
int rank = 0, num_ranks = 0;

void expect(bool is_so, const char* what) {
    if (is_so) return;
    ++num_faults;
    std::printf("rank %d: %s\n", rank, what);
}

// A matrix in which each rank has a few rows, and needs the first of those up to `reach` ranks away. The last rank may
// need nothing.
class matrix {
  public:
    matrix(MPI_Comm comm, int reach, bool is_last_alone = false) {
        int self = 0, all = 0;
        MPI_Comm_rank(comm, &self);
        MPI_Comm_size(comm, &all);
        constexpr int num_rows = 4;
        const int first = self * num_rows;
        HYPRE_IJMatrixCreate(comm, first, first + num_rows - 1, first, first + num_rows - 1, &ij_);
        HYPRE_IJMatrixSetObjectType(ij_, HYPRE_PARCSR);
        HYPRE_IJMatrixInitialize(ij_);
        const auto is_alone = [&](int one) { return is_last_alone && one == all - 1; };
        for (HYPRE_BigInt row = first; row < first + num_rows; ++row) {
            std::vector<HYPRE_BigInt> columns{row};
            for (int other = self - reach; other <= self + reach; ++other)
                if (other >= 0 && other < all && other != self && !is_alone(self) &&
                    !is_alone(other))
                    for (int k = 0; k <= (self + other) % 3; ++k)
                        columns.push_back(other * num_rows + k);
            const std::vector<HYPRE_Complex> values(columns.size(), 1);
            HYPRE_Int count = static_cast<HYPRE_Int>(columns.size());
            HYPRE_IJMatrixSetValues(ij_, 1, &count, &row, columns.data(), values.data());
        }
        HYPRE_IJMatrixAssemble(ij_);
        void* object = nullptr;
        HYPRE_IJMatrixGetObject(ij_, &object);
        matrix_ = static_cast<hypre_ParCSRMatrix*>(object);
        make_package();
    }
    ~matrix() { HYPRE_IJMatrixDestroy(ij_); }
    matrix(const matrix&) = delete;
    matrix& operator=(const matrix&) = delete;

    void make_package() { hypre_MatvecCommPkgCreate(matrix_); }
    void free_package() {
        hypre_MatvecCommPkgDestroy(package());
        hypre_ParCSRMatrixCommPkg(matrix_) = nullptr;
    }
    hypre_ParCSRCommPkg* package() const { return hypre_ParCSRMatrixCommPkg(matrix_); }

  private:
    HYPRE_IJMatrix ij_ = nullptr;
    hypre_ParCSRMatrix* matrix_ = nullptr;
};

struct side {
    HYPRE_Int num;
    const HYPRE_Int* ranks;
    const HYPRE_Int* starts;
};

// One exchange of values that say between which ranks they go, at which place, and in which use.
template <class T>
class exchange {
  public:
    exchange(int job, hypre_ParCSRCommPkg* package, int use)
        : use_(use), comm_(package->comm), package_(package) {
        sends_ = {package->num_sends, package->send_procs, package->send_map_starts};
        receives_ = {package->num_recvs, package->recv_procs, package->recv_vec_starts};
        if (job % 10 == 2) std::swap(sends_, receives_);
        send_.assign(static_cast<std::size_t>(sends_.starts[sends_.num]), T{});
        receive_.assign(static_cast<std::size_t>(receives_.starts[receives_.num]), T{-1});
        int self = 0;
        MPI_Comm_rank(comm_, &self);
        for (int i = 0; i < sends_.num; ++i)
            for (int k = sends_.starts[i]; k < sends_.starts[i + 1]; ++k)
                send_[static_cast<std::size_t>(k)] =
                    value(self, sends_.ranks[i], k - sends_.starts[i]);
        handle_ =
            use % 2 == 0
                ? hypre_ParCSRCommHandleCreate(job, package, send_.data(), receive_.data())
                : hypre_ParCSRCommHandleCreate_v2(job, package, HYPRE_MEMORY_HOST, send_.data(),
                                                  HYPRE_MEMORY_HOST, receive_.data());
    }
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    void finish() {
        hypre_ParCSRCommHandleDestroy(handle_);
        int self = 0;
        MPI_Comm_rank(comm_, &self);
        bool is_right = true;
        for (int i = 0; i < receives_.num; ++i)
            for (int k = receives_.starts[i]; k < receives_.starts[i + 1]; ++k)
                is_right = is_right && receive_[static_cast<std::size_t>(k)] ==
                                           value(receives_.ranks[i], self, k - receives_.starts[i]);
        expect(is_right, "a value is not the one that was sent");
    }

  private:
    T value(int from, int to, int place) const {
        return static_cast<T>(((from * 100 + to) * 100 + place) * 100 + use_);
    }

    int use_;
    MPI_Comm comm_;
    hypre_ParCSRCommPkg* package_;
    side sends_{}, receives_{};
    std::vector<T> send_, receive_;
    hypre_ParCSRCommHandle* handle_ = nullptr;
};

void exchange_all(hypre_ParCSRCommPkg* package, int uses) {
    for (int use = 0; use < uses; ++use) {
        for (const int job : {1, 2}) exchange<HYPRE_Complex>(job, package, use).finish();
        for (const int job : {11, 12}) exchange<HYPRE_Int>(job, package, use).finish();
        for (const int job : {21, 22}) exchange<HYPRE_BigInt>(job, package, use).finish();
    }
}

void test_jobs() {
    const matrix one(MPI_COMM_WORLD, 2);
    exchange_all(one.package(), num_uses);
}

void test_several_under_way() {
    const matrix one(MPI_COMM_WORLD, 3);
    for (int use = 0; use < num_uses; ++use) {
        exchange<HYPRE_Complex> a(1, one.package(), use), b(1, one.package(), use + 50),
            c(2, one.package(), use);
        exchange<HYPRE_Int> d(11, one.package(), use);
        exchange<HYPRE_Complex> e(1, one.package(), use + 20), f(1, one.package(), use + 10),
            g(1, one.package(), use + 30);
        for (auto* const each : {&b, &g, &f}) each->finish();
        for (auto* const each : {&a, &c, &e}) each->finish();
        d.finish();
    }
}

// hypre turns a package into one of several components and back, as hypre_ParCSRCommPkgUpdateVecStarts does.
void test_components() {
    const matrix one(MPI_COMM_WORLD, 2);
    auto* const package = one.package();
    const auto scale = [](HYPRE_Int* starts, HYPRE_Int num, bool is_up) {
        for (HYPRE_Int i = 0; i <= num; ++i) starts[i] = is_up ? starts[i] * 2 : starts[i] / 2;
    };
    for (const bool is_up : {true, false}) {
        exchange_all(package, 4);
        package->num_components = is_up ? 2 : 1;
        scale(package->send_map_starts, package->num_sends, is_up);
        scale(package->recv_vec_starts, package->num_recvs, is_up);
    }
    exchange_all(package, 4);
}

// hypre may use the memory of a package for another one.
void test_other_arrays() {
    const matrix one(MPI_COMM_WORLD, 1), other(MPI_COMM_WORLD, 2);
    for (int i = 0; i < 3; ++i) {
        exchange_all(one.package(), 4);
        std::swap(*one.package(), *other.package());
    }
    std::swap(*one.package(), *other.package());
}

int num_errors = 0;
void count_error(MPI_Comm*, int* code, ...) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(*code, text.data(), &length);
    expect(std::strstr(text.data(), "changed in place") != nullptr, "the error is another one");
    ++num_errors;
}

// Whether a plan is followed or not, values are right; MPI's error handler is told where it was.
void test_lists_changed_in_place() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    {
        const matrix one(comm, 1);
        auto* const package = one.package();
        const std::vector sends(package->send_map_starts,
                                package->send_map_starts + package->num_sends + 1);
        const std::vector receives(package->recv_vec_starts,
                                   package->recv_vec_starts + package->num_recvs + 1);
        exchange_all(package, 4);
        for (HYPRE_Int i = 0; i <= package->num_sends; ++i) package->send_map_starts[i] = i;
        for (HYPRE_Int i = 0; i <= package->num_recvs; ++i) package->recv_vec_starts[i] = i;
        const bool is_other =
            sends.back() != package->num_sends || receives.back() != package->num_recvs;
        exchange_all(package, 1);
        const char* const route = std::getenv("CROSSDOCK_ROUTE");
        const bool is_planned =
            route != nullptr && std::strcmp(route, "sideways") != 0 && num_ranks > 1;
        if (is_planned) expect(num_errors == (is_other ? 6 : 0), "not all errors are told");
        std::ranges::copy(sends, package->send_map_starts);
        std::ranges::copy(receives, package->recv_vec_starts);
        num_errors = 0;
        exchange_all(package, 1);
        expect(num_errors == 0, "an error is told of lists that are as before");
    }
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
}

// MPI lets a rank wait for others between the two calls.
void test_blocking_between() {
    const matrix one(MPI_COMM_WORLD, 2);
    const bool calls_back = std::getenv("CROSSDOCK_PROGRESS") == nullptr;
    for (int use = 0; use < num_uses; ++use) {
        exchange<HYPRE_Complex> barrier_between(1, one.package(), use);
        MPI_Barrier(MPI_COMM_WORLD);
        barrier_between.finish();
        if (use < 3 || !calls_back || num_ranks == 1) continue;
        // The first rank waits for what the last one does after its exchange, the last one for what the first one does
        // before its exchange is over.
        int token = 0;
        if (rank == num_ranks - 1)
            MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        exchange<HYPRE_Complex> received_between(1, one.package(), use);
        if (rank == 0) {
            MPI_Send(&token, 1, MPI_INT, num_ranks - 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, num_ranks - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        received_between.finish();
        if (rank == num_ranks - 1) MPI_Send(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
}

// What is kept for a package dies with it.
void test_addresses_used_again() {
    matrix narrow(MPI_COMM_WORLD, 1), wide(MPI_COMM_WORLD, 3);
    std::set<const void*> wide_ones;
    int num_again = 0;
    for (int i = 0; i < 12; ++i) {
        for (int use = 0; use < 4; ++use) {
            exchange<HYPRE_Complex>(1, narrow.package(), use).finish();
            exchange<HYPRE_Complex>(1, wide.package(), use).finish();
        }
        wide_ones.insert(wide.package());
        narrow.free_package();
        wide.free_package();
        narrow.make_package();
        wide.make_package();
        num_again += wide_ones.contains(narrow.package());
    }
    expect(num_again > 0, "no address was used again");
}

// Ranks that exchange nothing leave calls out, as they do inside hypre.
void test_ranks_that_leave_calls_out() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        // What the ranks have agreed on before goes on.
        const matrix before(comm, 2);
        for (int use = 0; use < num_uses; ++use)
            exchange<HYPRE_Complex>(1, before.package(), use).finish();
        const matrix one(comm, 2, true);
        for (int use = 0; use < num_uses; ++use) {
            if (rank != num_ranks - 1) exchange<HYPRE_Int>(12, one.package(), use).finish();
            exchange<HYPRE_Complex>(1, before.package(), use).finish();
            exchange<HYPRE_Complex>(1, one.package(), use).finish();
            exchange<HYPRE_Complex>(2, one.package(), use).finish();
        }
    }
    MPI_Comm_free(&comm);
}

// Others give up waiting for its vote while some wait for theirs, which have it. A later package is none the worse.
void test_a_rank_that_is_late() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
        const matrix one(comm, 1);
        for (int use = 0; use < num_uses; ++use) {
            if (use == 1 && rank == num_ranks - 1)
                std::this_thread::sleep_for(std::chrono::milliseconds(1500));
            exchange<HYPRE_Complex>(1, one.package(), use).finish();
        }
        const matrix later(comm, 1);
        for (int use = 0; use < num_uses; ++use) {
            exchange<HYPRE_Complex>(1, later.package(), use).finish();
            exchange<HYPRE_Complex>(1, one.package(), use).finish();
        }
    }
    MPI_Comm_free(&comm);
}

void test_other_communicators() {
    for (int i = 0; i < 2; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
        {
            const matrix one(comm, 2);
            exchange_all(one.package(), 4);
        }
        MPI_Comm_free(&comm);
    }
}

}  // namespace

int main(int num_arguments, char** arguments) {
    MPI_Init(&num_arguments, &arguments);
    HYPRE_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    test_jobs();
    test_a_rank_that_is_late();
    test_several_under_way();
    test_components();
    test_other_arrays();
    test_lists_changed_in_place();
    test_blocking_between();
    test_addresses_used_again();
    test_ranks_that_leave_calls_out();
    test_other_communicators();
    // What is freed only after MPI_Finalize.
    auto late = std::make_unique<matrix>(MPI_COMM_WORLD, 2);
    exchange_all(late->package(), 4);
    HYPRE_Finalize();
    MPI_Allreduce(MPI_IN_PLACE, &num_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    late.reset();
    return num_faults != 0;
}

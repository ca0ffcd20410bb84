// A rank ends amid each kind of operation in turn. The others get errc::rank_failed with its number, close the context,
// shrink the communicator, and go on. Needs an MPI that tells of such ranks: mpirun --with-ft ulfm.
//
// Arguments: the names of operations; without any, all.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crossdock/crossdock.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // after mpi.h
#endif

namespace {

using namespace crossdock;

// One turn; false: a wrong result.
using turn = std::function<bool()>;

struct operation {
    std::string name;
    std::function<turn(const context&)> make;
};

turn halo(const context& where, const neighbor_options& options) {
    const rank_t n = where.num_ranks();
    const std::vector<count_t> needed{(where.rank() + 1) % n, (where.rank() + n - 1) % n};
    const auto exchange = std::make_shared<neighbor_exchange>(
        where, pattern_from_needed(where, where.rank(), 1, needed), options);
    return [=] {
        const std::vector<std::int64_t> items{where.rank()};
        std::vector<std::int64_t> slots(2);
        exchange->forward(items, slots);
        return slots[0] == needed[0] && slots[1] == needed[1];
    };
}

turn to_right(const context& where, const char* algorithm) {
    return [=] {
        const rank_t n = where.num_ranks();
        const std::vector<rank_t> to{(where.rank() + 1) % n};
        const std::vector<std::int64_t> values{where.rank()};
        const auto got = sparse_exchange(where, constant_messages<std::int64_t>{to, 1, values},
                                         {.algorithm = algorithm});
        return got.sources.size() == 1 && got.values[0] == (where.rank() + n - 1) % n;
    };
}

turn additions(const context& where, array_transport transport) {
    using numbers = distributed_array<std::int64_t>;
    const auto array = std::make_shared<numbers>(
        where, where.num_ranks(), array_options<std::int64_t>{.transport = transport});
    return [=, round = std::int64_t{0}]() mutable {
        const std::vector<count_t> all{0, where.num_ranks() - 1};
        const std::vector<std::int64_t> ones(2, 1);
        std::vector<std::int64_t> sums(2);
        array->update(all, ones, sum());
        array->read(all, sums);
        const std::int64_t expected = ++round * where.num_ranks();
        return sums == std::vector(2, expected);
    };
}

turn pushes(const context& where, const stream_options& options) {
    const auto sum = std::make_shared<std::int64_t>(0);
    const auto items = std::make_shared<stream<std::int64_t>>(
        where,
        [sum](auto&, const auto& batch) {
            for (const auto item : batch) *sum += item;
        },
        options);
    return [=, round = std::int64_t{0}]() mutable {
        auto& port = items->port(0);
        for (rank_t to = 0; to < where.num_ranks(); ++to) port.push(to, to + 1);
        port.drain().wait();
        return *sum == ++round * where.num_ranks() * (where.rank() + 1);
    };
}

turn combining(const context& where) {
    const auto shared = std::make_shared<gather_scatter>(
        where, std::vector<count_t>{1, 2 + where.rank()}, gather_options{});
    return [=] {
        std::vector<double> values{1, 5};
        shared->combine(values, sum());
        return values[0] == where.num_ranks() && values[1] == 5;
    };
}

std::vector<operation> all_operations() {
    std::vector<operation> all;
    for (const char* const route : {"direct", "three_step"}) {
        for (const char* const executor : {"persistent", "shared_memory"}) {
            all.push_back(
                {std::string("halo_") + route + "_" + executor, [=](const context& where) {
                     return halo(where, {.route = route, .executor = executor});
                 }});
        }
    }
    for (const auto& algorithm : registered_exchange_algorithms()) {
        if (algorithm.name.starts_with("rma"))
            continue;  // MPI's windows wait for those that have ended
        all.push_back(
            {"sparse_" + algorithm.name, [name = algorithm.example](const context& where) {
                 return to_right(where, name.c_str());
             }});
    }
    all.push_back(
        {"array", [](const context& where) { return additions(where, array_transport::routed); }});
    for (const bool shared : {false, true}) {
        all.push_back({shared ? "stream_shared" : "stream", [=](const context& where) {
                           return pushes(where, {.shared_memory = shared});
                       }});
    }
    all.push_back({"gather_scatter", combining});
    all.push_back({"setup", [](const context& where) {
                       return [&where] { return halo(where, {.route = "three_step"})(); };
                   }});
    all.push_back({"context", [](const context& where) {
                       return [&where] {
                           context another(where.comm().get());
                           another.close();
                           return true;
                       };
                   }});
    return all;
}

int num_wrong = 0;

void expect(bool is_so, const operation& in, int rank, const std::string& what) {
    if (is_so) return;
    ++num_wrong;
    std::printf("wrong: %s, rank %d: %s\n", in.name.c_str(), rank, what.c_str());
    std::fflush(stdout);
}

// Two nodes: the first half of the ranks, and the others.
std::string halves(int num_ranks) {
    return std::to_string(num_ranks / 2) + "," + std::to_string(num_ranks - num_ranks / 2);
}

void run(const operation& one, MPI_Comm comm, rank_t victim) {
    int rank = 0, num_ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &num_ranks);
    context where(comm, {.nodes = halves(num_ranks)});
    auto next = one.make(where);
    for (int i = 0; i < 3; ++i) expect(next(), one, rank, "another result");
    MPI_Barrier(comm);
    if (rank == victim) std::raise(SIGKILL);
    try {
        for (;;) next();
    } catch (const error& fault) {
        expect(fault.code() == errc::rank_failed && fault.rank() == victim, one, rank,
               "rank " + std::to_string(victim) + " has ended, and the error is " +
                   to_string(fault.code()) + " of rank " + std::to_string(fault.rank()) + ": " +
                   fault.what());
    }
    try {
        halo(where, {});
        expect(false, one, rank, "the next call succeeds");
    } catch (const error& fault) {
        expect(fault.code() == errc::rank_failed, one, rank,
               "the next call fails by another error");
    }
    where.close();
    expect(!where.comm().is_open(), one, rank, "the context is open");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const std::vector<std::string> names(argv + 1, argv + argc);
    int num_passed = 0, rank = 0, num_ranks = 0;
    for (const auto& one : all_operations()) {
        if (!names.empty() && std::ranges::find(names, one.name) == names.end()) continue;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &num_ranks);
        if (num_ranks < 3) break;
        if (rank == 0)
            std::printf("%s on %d ranks\n", one.name.c_str(), num_ranks), std::fflush(stdout);
        run(one, comm, num_passed % num_ranks);
        MPI_Comm fewer = MPI_COMM_NULL;
        expect(MPIX_Comm_shrink(comm, &fewer) == MPI_SUCCESS, one, rank, "MPI does not shrink");
        MPI_Comm_free(&comm);
        comm = fewer;
        ++num_passed;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0 && num_wrong == 0) std::printf("%d passed, 0 failed\n", num_passed);
    MPI_Finalize();
    return num_wrong > 0 ? 1 : 0;
}

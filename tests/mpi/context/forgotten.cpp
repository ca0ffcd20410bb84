// Makes contexts of several communicators, and all that keeps windows or requests with them, and closes nothing:
// MPI_Finalize does.
//
// The halves take turns, as any program must that makes windows of disjoint communicators with Open MPI 4.1: it names a
// window's file by node, job, and the communicator's number alone, and both halves have the same number
// (docs/mpis.md).
#include <optional>
#include <vector>

#include "crossdock/distributed_array.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "support/patterns.hpp"

namespace {

using namespace crossdock;

// A communicator's context, and what is made with it.
struct forgotten {
    explicit forgotten(MPI_Comm comm) : where(comm) {
        const auto own =
            test::all_to_all_pattern(where.num_ranks())[static_cast<std::size_t>(where.rank())];
        halo.emplace(where, own, neighbor_options{.route = "three_step"});
        const std::vector<double> items(static_cast<std::size_t>(own.num_items), 1.0);
        std::vector<double> slots(static_cast<std::size_t>(own.num_slots));
        halo->forward(items, slots);
        numbers.emplace(where, 2 * where.num_ranks(),
                        array_options<int>{.transport = array_transport::rma});
        const std::vector<count_t> indices{where.rank()};
        const std::vector<int> ones{1};
        numbers->update(indices, std::span<const int>(ones), sum{});
    }

    context where;
    std::optional<neighbor_exchange> halo;
    std::optional<distributed_array<int>> numbers;
};

template <class Work>
void in_turns(int group, const Work& work) {
    for (const int turn : {0, 1}) {
        if (turn == group) work();
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// Whether a context is refused: before MPI_Init, and after MPI_Finalize.
bool refuses_a_context() {
    try {
        const context where(MPI_COMM_WORLD);
    } catch (const error& fault) {
        return fault.code() == errc::invalid_state;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (!refuses_a_context()) return 1;
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm halves = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
    bool is_closed = true;
    {
        std::vector<forgotten> all;
        in_turns(rank % 2, [&] { all.emplace_back(halves); });
        all.emplace_back(MPI_COMM_WORLD);
        if (rank % 2 == 0) all.emplace_back(halves);
        all.emplace_back(MPI_COMM_WORLD);
        in_turns(rank % 2, [&] { const forgotten lost(halves); });  // nobody can close it any more
        MPI_Comm_free(&halves);
        MPI_Finalize();
        for (const auto& one : all) is_closed = is_closed && !one.where.is_open();
    }
    return is_closed && refuses_a_context() ? 0 : 1;
}

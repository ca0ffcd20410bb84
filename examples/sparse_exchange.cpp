// Every rank owns three indices and needs two, which it asks their owners for. An owner does not know
// who will ask. Fails unless all are asked by those who need them.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "crossdock/sparse_exchange.hpp"

using crossdock::count_t;
using crossdock::rank_t;

constexpr count_t indices_per_rank = 3;

static std::vector<count_t> needed_by(count_t rank, count_t num_ranks) {
    const count_t num_indices = indices_per_rank * num_ranks;
    return {rank * rank % num_indices, (rank * rank + 3) % num_indices};
}

static rank_t owner_of(count_t index) { return static_cast<rank_t>(index / indices_per_rank); }

// Whether these are the questions to `owner`: who asks, and for what.
static bool is_right(const crossdock::received<count_t>& questions, rank_t owner,
                     count_t num_ranks) {
    std::vector<rank_t> askers;
    std::vector<count_t> indices;
    for (count_t rank = 0; rank < num_ranks; ++rank) {
        for (const count_t index : needed_by(rank, num_ranks)) {
            if (owner_of(index) != owner) continue;
            askers.push_back(static_cast<rank_t>(rank));
            indices.push_back(index);
        }
    }
    return questions.sources == askers && questions.values == indices;
}

static bool all_are_asked() {
    crossdock::context world(MPI_COMM_WORLD);

    const auto needed = needed_by(world.rank(), world.num_ranks());
    std::vector<rank_t> owners(needed.size());
    std::transform(needed.begin(), needed.end(), owners.begin(), owner_of);
    const auto questions =
        crossdock::sparse_exchange(world, crossdock::constant_messages<count_t>{owners, 1, needed});

    for (const auto& [source, indices] : questions) {
        std::printf("rank %d needs index %lld of rank %d\n", source,
                    static_cast<long long>(indices[0]), world.rank());
    }
    int is_good = is_right(questions, world.rank(), world.num_ranks()) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    world.close();
    return is_good != 0;
}

int main(int argc, char** argv) {
    crossdock::report_uncaught();
    MPI_Init(&argc, &argv);
    const bool is_good = all_are_asked();
    MPI_Finalize();
    return is_good ? 0 : 1;
}

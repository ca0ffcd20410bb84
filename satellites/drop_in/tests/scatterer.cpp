// Ghosts of a distributed vector, after the scatterer of DOLFINx: values of owners go to the ghosts, those of ghosts
// are added up by the owners, in packed buffers by nonblocking calls. Some ranks share nothing with any other.
#include <mpi.h>

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr int num_owned = 20;

struct shared_index {
    int owner;
    int ghost_rank;
    int index;  // of the owner's
};

// Every third rank is isolated; not every rank with ghosts has indices that others have as ghosts.
std::vector<shared_index> shared_indices(int num_ranks) {
    std::vector<shared_index> all;
    for (int owner = 0; owner < num_ranks; ++owner)
        for (int ghost_rank = 0; ghost_rank < num_ranks; ++ghost_rank) {
            if (owner == ghost_rank || owner % 3 == 2 || ghost_rank % 3 == 2) continue;
            if ((ghost_rank + 2 * owner) % 4 == 0) continue;
            for (int i = 0; i <= (3 * owner + ghost_rank) % 7; ++i)
                all.push_back({owner, ghost_rank, (owner + 3 * ghost_rank + i) % num_owned});
        }
    return all;
}

// What a rank exchanges with its neighbors on one side: blocks of one packed buffer.
struct packed_side {
    std::vector<int> ranks, sizes, displacements;

    void add(int rank) {
        if (ranks.empty() || ranks.back() != rank) {
            displacements.push_back(num_items());
            ranks.push_back(rank);
            sizes.push_back(0);
        }
        ++sizes.back();
    }
    int degree() const { return static_cast<int>(ranks.size()); }
    int num_items() const { return ranks.empty() ? 0 : displacements.back() + sizes.back(); }
};

MPI_Comm graph_of(const packed_side& sources, const packed_side& destinations) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources.degree(), sources.ranks.data(),
                                   MPI_UNWEIGHTED, destinations.degree(), destinations.ranks.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, false, &made);
    return made;
}

class scatterer {
  public:
    scatterer(int rank, int num_ranks) {
        for (const auto& [owner, ghost_rank, index] : shared_indices(num_ranks)) {
            if (owner == rank) {
                local_.add(ghost_rank);
                local_indices_.push_back(static_cast<std::size_t>(index));
            }
            if (ghost_rank == rank) remote_.add(owner);
        }
        forward_ = graph_of(remote_, local_);
        reverse_ = graph_of(local_, remote_);
    }
    ~scatterer() {
        MPI_Comm_free(&forward_);
        MPI_Comm_free(&reverse_);
    }
    scatterer(const scatterer&) = delete;
    scatterer& operator=(const scatterer&) = delete;

    const std::vector<std::size_t>& local_indices() const { return local_indices_; }
    int num_ghosts() const { return remote_.num_items(); }

    MPI_Request begin_forward(const std::vector<double>& packed,
                              std::vector<double>& ghosts) const {
        return begin(packed, local_, ghosts, remote_, forward_);
    }
    MPI_Request begin_reverse(const std::vector<double>& ghosts,
                              std::vector<double>& packed) const {
        return begin(ghosts, remote_, packed, local_, reverse_);
    }

  private:
    static MPI_Request begin(const std::vector<double>& sent, const packed_side& to,
                             std::vector<double>& received, const packed_side& from,
                             MPI_Comm graph) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ineighbor_alltoallv(sent.data(), to.sizes.data(), to.displacements.data(), MPI_DOUBLE,
                                received.data(), from.sizes.data(), from.displacements.data(),
                                MPI_DOUBLE, graph, &request);
        return request;
    }

    packed_side local_, remote_;
    std::vector<std::size_t> local_indices_;  // of what is packed
    MPI_Comm forward_ = MPI_COMM_NULL, reverse_ = MPI_COMM_NULL;
};

double owned_value(int iteration, int owner, int index) {
    return 1e6 * iteration + 100.0 * owner + index;
}
double ghost_value(int iteration, int owner, int ghost_rank, int index) {
    return owned_value(iteration, owner, index) + 1e4 * ghost_rank;
}

// By turns as programs do.
void complete(int iteration, MPI_Request& request) {
    int is_complete = 0;
    while (iteration % 2 == 0 && !is_complete) MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

bool is_forward_right(const scatterer& by, int rank, int num_ranks, int iteration) {
    std::vector<double> packed, expected;
    for (const std::size_t index : by.local_indices())
        packed.push_back(owned_value(iteration, rank, static_cast<int>(index)));
    std::vector<double> ghosts(static_cast<std::size_t>(by.num_ghosts()), -1);
    auto request = by.begin_forward(packed, ghosts);
    for (const auto& [owner, ghost_rank, index] : shared_indices(num_ranks))
        if (ghost_rank == rank) expected.push_back(owned_value(iteration, owner, index));
    complete(iteration, request);
    return ghosts == expected;
}

bool is_reverse_right(const scatterer& by, int rank, int num_ranks, int iteration) {
    std::vector<double> ghosts, sums(num_owned, 0), expected(sums);
    for (const auto& [owner, ghost_rank, index] : shared_indices(num_ranks)) {
        const double value = ghost_value(iteration, owner, ghost_rank, index);
        if (ghost_rank == rank) ghosts.push_back(value);
        if (owner == rank) expected[static_cast<std::size_t>(index)] += value;
    }
    std::vector<double> packed(by.local_indices().size(), -1);
    auto request = by.begin_reverse(ghosts, packed);
    complete(iteration, request);
    for (std::size_t i = 0; i < packed.size(); ++i) sums[by.local_indices()[i]] += packed[i];
    return sums == expected;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, num_ranks = 0, num_faults = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    const auto expect = [&](bool is_right, std::string_view what, int iteration) {
        if (is_right) return;
        ++num_faults;
        std::printf("rank %d: wrong values after iteration %d, %s\n", rank, iteration, what.data());
    };
    {
        const scatterer by(rank, num_ranks);
        for (int iteration = 0; iteration < 40; ++iteration) {
            expect(is_forward_right(by, rank, num_ranks, iteration), "forward", iteration);
            expect(is_reverse_right(by, rank, num_ranks, iteration), "in reverse", iteration);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &num_faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_faults > 0;
}

/* Calls MPI Advance as Tpetra's Distributor does, with its parameter "Send type" at MpiAdvanceAlltoall and at
 * MpiAdvanceNbralltoallv, in the style of both its versions. Prints what is wrong and fails on all ranks if anything
 * is on one. */
#include <mpi_advance.h>

#include <memory>
#include <vector>

#include "expecting.h"

namespace {

// Who has to do with whom, and how many packets; the message of a rank to itself is one of them.
bool sends(int source, int destination) {
    return destination == source || (source + 2 * destination) % 3 == 0;
}
int packets(int source, int destination) { return (source + destination) % 3; }
double value(int source, int destination, int k) {
    return 100.0 * source + 10.0 * destination + 0.5 * k;
}

struct plan {
    std::vector<int> procs_to, procs_from;
    std::shared_ptr<MPIX_Comm*> mpix_comm;
};

plan make_plan() {
    plan made;
    for (int other = 0; other < num_ranks; ++other) {
        if (sends(rank, other)) made.procs_to.push_back(other);
        if (sends(other, rank)) made.procs_from.push_back(other);
    }
    return made;
}

// One message after the other, of `scale` times as many packets.
struct messages {
    messages(const std::vector<int>& peers, int scale, bool are_sent) {
        for (const int peer : peers) {
            const int source = are_sent ? rank : peer;
            const int destination = are_sent ? peer : rank;
            starts.push_back(static_cast<int>(values.size()));
            lengths.push_back(scale * packets(source, destination));
            for (int k = 0; k < lengths.back(); ++k)
                values.push_back(value(source, destination, k));
        }
    }

    std::vector<int> starts, lengths;
    std::vector<double> values;
};

// Of the length of the communicator.
std::vector<int> spread(const std::vector<int>& peers, const std::vector<int>& numbers) {
    std::vector<int> all(static_cast<std::size_t>(num_ranks), 0);
    for (std::size_t i = 0; i < peers.size(); ++i)
        all[static_cast<std::size_t>(peers[i])] = numbers[i];
    return all;
}

// What a rank sends in an exchange, and what comes.
struct buffers {
    buffers(const plan& p, int scale)
        : exports(p.procs_to, scale, true),
          wanted(p.procs_from, scale, false),
          imports(wanted.values.size(), -1) {}

    void expect_success(int code) const {
        EXPECT(code == MPI_SUCCESS);
        EXPECT(imports == wanted.values);
    }

    messages exports, wanted;
    std::vector<double> imports;
};

void post_alltoallv(const plan& p, int scale) {
    buffers all(p, scale);
    const auto sendcounts = spread(p.procs_to, all.exports.lengths);
    const auto sdispls = spread(p.procs_to, all.exports.starts);
    const auto recvcounts = spread(p.procs_from, all.wanted.lengths);
    const auto rdispls = spread(p.procs_from, all.wanted.starts);
    all.expect_success(MPIX_Alltoallv(all.exports.values.data(), sendcounts.data(), sdispls.data(),
                                      MPI_DOUBLE, all.imports.data(), recvcounts.data(),
                                      rdispls.data(), MPI_DOUBLE, *p.mpix_comm));
}

// Trilinos 16: the neighbors in an MPIX_Topo, made for every exchange.
void post_neighbor_alltoallv_topo(const plan& p, int scale) {
    buffers all(p, scale);
    MPIX_Info* xinfo;
    MPIX_Topo* xtopo;
    MPIX_Info_init(&xinfo);
    MPIX_Topo_init(static_cast<int>(p.procs_from.size()), p.procs_from.data(),
                   all.wanted.lengths.data(), static_cast<int>(p.procs_to.size()),
                   p.procs_to.data(), all.exports.lengths.data(), xinfo, &xtopo);
    all.expect_success(MPIX_Neighbor_alltoallv_topo(
        all.exports.values.data(), all.exports.lengths.data(), all.exports.starts.data(),
        MPI_DOUBLE, all.imports.data(), all.wanted.lengths.data(), all.wanted.starts.data(),
        MPI_DOUBLE, xtopo, *p.mpix_comm));
    MPIX_Topo_free(&xtopo);
    MPIX_Info_free(&xinfo);
}

// Trilinos 14: the neighbors with the communicator.
void post_neighbor_alltoallv(const plan& p, int scale) {
    buffers all(p, scale);
    all.expect_success(MPIX_Neighbor_alltoallv(
        all.exports.values.data(), all.exports.lengths.data(), all.exports.starts.data(),
        MPI_DOUBLE, all.imports.data(), all.wanted.lengths.data(), all.wanted.starts.data(),
        MPI_DOUBLE, *p.mpix_comm));
}

void expect_nothing_is_exchanged(MPIX_Comm* comm) {
    const std::vector<int> zeros(static_cast<std::size_t>(num_ranks), 0);
    // MPICH wants two buffers even of nothing.
    char byte = 'x';
    EXPECT(MPIX_Alltoallv(nullptr, zeros.data(), zeros.data(), MPI_BYTE, &byte, zeros.data(),
                          zeros.data(), MPI_BYTE, comm) == MPI_SUCCESS);
    EXPECT(MPIX_Neighbor_alltoallv(&byte, nullptr, nullptr, MPI_BYTE, &byte, nullptr, nullptr,
                                   MPI_BYTE, comm) == MPI_SUCCESS);
    EXPECT(byte == 'x');
}

void run() {
    plan p = make_plan();
    MPIX_Comm* plain = nullptr;
    EXPECT(MPIX_Comm_init(&plain, MPI_COMM_WORLD) == MPI_SUCCESS);
    p.mpix_comm = std::shared_ptr<MPIX_Comm*>(new MPIX_Comm*(plain), [](MPIX_Comm** comm) {
        EXPECT(MPIX_Comm_free(comm) == MPI_SUCCESS);
        delete comm;
    });
    // The same numbers of packets come again and again.
    for (int round = 0; round < 3; ++round) {
        for (int scale = 1; scale <= 2; ++scale) {
            post_alltoallv(p, scale);
            post_neighbor_alltoallv_topo(p, scale);
        }
    }
    post_neighbor_alltoallv_topo(p, 0);

    plan graph = make_plan();
    const messages exports(p.procs_to, 1, true);
    const messages wanted(p.procs_from, 1, false);
    MPIX_Comm* neighbors = nullptr;
    EXPECT(MPIX_Dist_graph_create_adjacent(
               MPI_COMM_WORLD, static_cast<int>(graph.procs_from.size()), graph.procs_from.data(),
               wanted.lengths.data(), static_cast<int>(graph.procs_to.size()),
               graph.procs_to.data(), exports.lengths.data(), MPI_INFO_NULL, false,
               &neighbors) == MPI_SUCCESS);
    graph.mpix_comm = std::make_shared<MPIX_Comm*>(neighbors);
    for (int round = 0; round < 3; ++round) post_neighbor_alltoallv(graph, 1 + round % 2);
    EXPECT(MPIX_Comm_free(neighbors) == MPI_SUCCESS);

    MPIX_Comm* lonely = nullptr;
    EXPECT(MPIX_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, nullptr, nullptr,
                                           MPI_INFO_NULL, 0, &lonely) == MPI_SUCCESS);
    expect_nothing_is_exchanged(lonely);
    EXPECT(MPIX_Comm_free(&lonely) == MPI_SUCCESS && lonely == nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    start_ranks(&argc, &argv);

    run();

    return end_ranks();
}

// Calls with all ranks, which are taken over if CROSSDOCK_TAKE asks for it: most of the counts are zero, or all are
// small. They repeat, and then do not.
#include <mpi.h>

#include <vector>

#include "world.hpp"

namespace {

// Of every call another; nothing to most ranks.
int count_of(int call, int from, int to) {
    const int distance = (to - from) % 4;
    return distance == 1 || distance == -3 ? 1 + (call + from) % 3 : 0;
}

struct blocks {
    std::vector<int> counts, displacements, bytes;
    std::vector<MPI_Datatype> types;
    std::vector<int> values;

    void add(int count) {
        counts.push_back(count);
        displacements.push_back(static_cast<int>(values.size()));
        bytes.push_back(static_cast<int>(values.size() * sizeof(int)));
        types.push_back(MPI_INT);
        values.resize(values.size() + static_cast<std::size_t>(count), -1);
    }
};

enum class form { blocking, nonblocking };

void exchange(world& in, int call, int lengths, form how, bool has_types, MPI_Comm comm) {
    blocks sent, received;
    for (int other = 0; other < in.num_ranks; ++other) {
        sent.add(count_of(lengths, in.rank, other));
        received.add(count_of(lengths, other, in.rank));
        for (int i = 0; i < sent.counts.back(); ++i)
            sent.values[static_cast<std::size_t>(sent.displacements.back() + i)] =
                10000 * call + 100 * in.rank + i;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const auto with_types = [&](auto* function, auto... last) {
        function(sent.values.data(), sent.counts.data(), sent.bytes.data(), sent.types.data(),
                 received.values.data(), received.counts.data(), received.bytes.data(),
                 received.types.data(), comm, last...);
    };
    const auto with_counts = [&](auto* function, auto... last) {
        function(sent.values.data(), sent.counts.data(), sent.displacements.data(), MPI_INT,
                 received.values.data(), received.counts.data(), received.displacements.data(),
                 MPI_INT, comm, last...);
    };
    if (how == form::blocking)
        has_types ? with_types(MPI_Alltoallw) : with_counts(MPI_Alltoallv);
    else
        has_types ? with_types(MPI_Ialltoallw, &request) : with_counts(MPI_Ialltoallv, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int other = 0; other < in.num_ranks; ++other)
        for (int i = 0; i < received.counts[static_cast<std::size_t>(other)]; ++i)
            if (received.values[static_cast<std::size_t>(
                    received.displacements[static_cast<std::size_t>(other)] + i)] !=
                10000 * call + 100 * other + i)
                ++in.num_faults;
}

void exchange_equal(world& in, int call, form how, MPI_Comm comm) {
    std::vector<int> sent, received(static_cast<std::size_t>(in.num_ranks));
    for (int other = 0; other < in.num_ranks; ++other)
        sent.push_back(10000 * call + 100 * in.rank + other);
    MPI_Request request = MPI_REQUEST_NULL;
    if (how == form::blocking)
        MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm);
    else
        MPI_Ialltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int other = 0; other < in.num_ranks; ++other)
        if (received[static_cast<std::size_t>(other)] != 10000 * call + 100 * other + in.rank)
            ++in.num_faults;
}

void call_all(world& in, MPI_Comm comm) {
    for (const auto how : {form::blocking, form::nonblocking}) {
        for (int call = 0; call < 40; ++call) exchange(in, call, call / 30, how, false, comm);
        for (int call = 0; call < 12; ++call) exchange(in, call, 1, how, true, comm);
        for (int call = 0; call < 12; ++call) exchange_equal(in, call, how, comm);
        for (int call = 0; call < 40; ++call) exchange(in, call, call, how, call % 2, comm);
    }
    // Where the data lie already.
    std::vector<int> values;
    for (int other = 0; other < in.num_ranks; ++other) values.push_back(100 * in.rank + other);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values.data(), 1, MPI_INT, comm);
    for (int other = 0; other < in.num_ranks; ++other)
        if (values[static_cast<std::size_t>(other)] != 100 * other + in.rank) ++in.num_faults;
}

// Intercommunicators are MPI's.
void call_between_halves(world& in) {
    if (in.num_ranks < 2) return;
    const halves two(in.rank);
    const auto num_others = static_cast<std::size_t>(two.is_upper() ? 1 : in.num_ranks - 1);
    std::vector<int> sent(num_others, in.rank), received(num_others, -1);
    MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, two.both());
    for (std::size_t i = 0; i < num_others; ++i)
        if (received[i] != (two.is_upper() ? 0 : static_cast<int>(i) + 1)) ++in.num_faults;
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_all(argc, argv, [](world& in) {
        call_all(in, MPI_COMM_WORLD);
        MPI_Comm reversed = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -in.rank, &reversed);
        world turned = in;
        MPI_Comm_rank(reversed, &turned.rank);
        call_all(turned, reversed);
        MPI_Comm_free(&reversed);
        in.num_faults = turned.num_faults;
        call_between_halves(in);
        in.expect(in.num_faults == 0, "values are wrong");
    });
}

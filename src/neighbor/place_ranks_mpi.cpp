#include "place_ranks_mpi.hpp"

#include <vector>

#include "../base/collective_mpi.hpp"
#include "../plan/place_ranks.hpp"

namespace crossdock {

namespace {

// On rank 0 the pairs of all ranks, on others nothing.
std::vector<rank_traffic> gather_traffic(const communicator& comm, const pattern& p) {
    static_assert(sizeof(rank_traffic) == 16);
    int num_pairs = 0;
    std::vector<int> nums_pairs, offsets;
    const auto own = on_all_or_none(comm, [&] {
        if (comm.rank() == 0) nums_pairs.resize(static_cast<std::size_t>(comm.num_ranks()));
        auto pairs = traffic_of(p);
        num_pairs = checked_cast<int>(std::ssize(pairs));
        return pairs;
    });
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Igather(&num_pairs, 1, MPI_INT, nums_pairs.data(), 1, MPI_INT, 0, comm.get(),
                           request);
    });
    auto all = on_all_or_none(comm, [&] {
        count_t sum = 0;
        for (const int num : nums_pairs) {
            offsets.push_back(checked_cast<int>(sum));
            sum += num;
        }
        return std::vector<rank_traffic>(static_cast<std::size_t>(sum));
    });
    MPI_Datatype pair;
    CROSSDOCK_MPI(MPI_Type_contiguous(static_cast<int>(sizeof(rank_traffic)), MPI_BYTE, &pair));
    CROSSDOCK_MPI(MPI_Type_commit(&pair));
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Igatherv(own.data(), num_pairs, pair, all.data(), nums_pairs.data(),
                            offsets.data(), pair, 0, comm.get(), request);
    });
    CROSSDOCK_MPI(MPI_Type_free(&pair));
    return all;
}

// What this rank's items make all ranks send, at their own places and at the others.
struct two_counts {
    count_t at_own = 0;
    count_t placed = 0;
};

}  // namespace

std::unique_ptr<route> place_ranks(const communicator& comm, const pattern& p, const route& r,
                                   const compile_options& options) {
    const auto all = gather_traffic(comm, p);
    auto places = on_all_or_none(comm, [&] {
        return comm.rank() == 0 ? r.find_places(all)
                                : std::vector<rank_t>(static_cast<std::size_t>(comm.num_ranks()));
    });
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Ibcast(places.data(), comm.num_ranks(), MPI_INT, 0, comm.get(), request);
    });
    std::unique_ptr<route> placed;
    auto counts = on_all_or_none(comm, [&] {
        placed = r.with_places(std::move(places));
        return two_counts{count_sent(p, r, options), count_sent(p, *placed, options)};
    });
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, &counts, 2, MPI_INT64_T, MPI_SUM, comm.get(), request);
    });
    return counts.placed < counts.at_own ? std::move(placed) : nullptr;
}

}  // namespace crossdock

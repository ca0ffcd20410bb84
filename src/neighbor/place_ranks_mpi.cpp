#include "place_ranks_mpi.hpp"

#include <array>

#include "../plan/place_ranks.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

std::vector<word_message> traffic_for_first(const pattern& p) {
    std::vector<std::int64_t> words;
    for (const auto& one : traffic_of(p))
        words.insert(words.end(), {std::int64_t{one.destination}, one.num_items});
    return {{0, std::move(words)}};
}

std::unique_ptr<route> place_ranks(const communicator& comm, setup_rounds& rounds,
                                   std::span<const word_message> traffic, const pattern& p,
                                   const route& r, const compile_options& options) {
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    auto places = with_reserve([&] { return std::vector<rank_t>(num_ranks); });
    rounds.attempt([&] {
        if (comm.rank() != 0) return;
        std::vector<rank_traffic> all;
        for (const auto& [source, words] : traffic) {
            for (std::size_t i = 0; i < words.size(); i += 2)
                all.push_back({source, static_cast<rank_t>(words[i]), words[i + 1]});
        }
        places = r.find_places(all);
    });
    constexpr rank_t no_place = -1;
    if (rounds.fault()) places.front() = no_place;
    rounds.run(
        [&](MPI_Request* request) {
            return MPI_Ibcast(places.data(), comm.num_ranks(), MPI_INT, 0, comm.get(), request);
        },
        [&] { return places.front() == no_place; });
    std::unique_ptr<route> placed;
    // What this rank's items make all ranks send, at their own places and at the others; and whether it has failed.
    std::array<count_t, 3> sums{};
    rounds.attempt([&] {
        placed = r.with_places(std::move(places));
        sums = {count_sent(p, r, options), count_sent(p, *placed, options), 0};
    });
    sums[2] = rounds.fault() ? 1 : 0;
    rounds.run(
        [&](MPI_Request* request) {
            return MPI_Iallreduce(MPI_IN_PLACE, sums.data(), 3, MPI_INT64_T, MPI_SUM, comm.get(),
                                  request);
        },
        [&] { return sums[2] > 0; });
    return sums[1] < sums[0] ? std::move(placed) : nullptr;
}

}  // namespace crossdock

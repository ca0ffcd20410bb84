#include "bench/gather/shared_places.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace crossdock::bench::gather {

namespace {

// A list of words for every rank, or from every rank.
using words_of_ranks = std::vector<std::vector<count_t>>;

words_of_ranks exchange_all(const communicator& comm, const words_of_ranks& words) {
    const auto num_ranks = words.size();
    std::vector<int> counts(num_ranks), places(num_ranks), new_counts(num_ranks),
        new_places(num_ranks);
    for (std::size_t rank = 0; rank < num_ranks; ++rank)
        counts[rank] = checked_cast<int>(words[rank].size());
    CROSSDOCK_MPI(
        MPI_Alltoall(counts.data(), 1, MPI_INT, new_counts.data(), 1, MPI_INT, comm.get()));
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    std::exclusive_scan(new_counts.begin(), new_counts.end(), new_places.begin(), 0);
    std::vector<count_t> all;
    for (const auto& list : words) all.insert(all.end(), list.begin(), list.end());
    std::vector<count_t> came(static_cast<std::size_t>(new_places.back() + new_counts.back()));
    CROSSDOCK_MPI(MPI_Alltoallv(all.data(), counts.data(), places.data(), MPI_INT64_T, came.data(),
                                new_counts.data(), new_places.data(), MPI_INT64_T, comm.get()));
    words_of_ranks result(num_ranks);
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        const auto first = came.begin() + new_places[rank];
        result[rank].assign(first, first + new_counts[rank]);
    }
    return result;
}

struct asked_id {
    count_t id;
    std::size_t rank;
    friend auto operator<=>(const asked_id&, const asked_id&) = default;
};

// To every holder of a shared id: the id, its number, the number of its holders, and these.
words_of_ranks answers_to(const communicator& comm, const words_of_ranks& asked,
                          count_t& num_shared) {
    std::vector<asked_id> all;
    for (std::size_t rank = 0; rank < asked.size(); ++rank)
        for (const count_t id : asked[rank]) all.push_back({id, rank});
    std::sort(all.begin(), all.end());
    const auto for_each_shared = [&](auto&& use) {
        for (auto first = all.begin(); first != all.end();) {
            const auto last = std::find_if(first, all.end(),
                                           [&](const asked_id& a) { return a.id != first->id; });
            if (last - first > 1) use(first, last);
            first = last;
        }
    };
    count_t own = 0;
    for_each_shared([&](auto, auto) { ++own; });
    count_t next = 0;
    CROSSDOCK_MPI(MPI_Scan(&own, &next, 1, MPI_INT64_T, MPI_SUM, comm.get()));
    CROSSDOCK_MPI(MPI_Allreduce(&own, &num_shared, 1, MPI_INT64_T, MPI_SUM, comm.get()));
    next -= own;
    words_of_ranks answers(asked.size());
    for_each_shared([&](auto first, auto last) {
        for (auto holder = first; holder != last; ++holder) {
            auto& words = answers[holder->rank];
            words.insert(words.end(), {first->id, next, last - first});
            for (auto other = first; other != last; ++other)
                words.push_back(static_cast<count_t>(other->rank));
        }
        ++next;
    });
    return answers;
}

}  // namespace

void local_copies::gather(double* values) const {
    std::uint32_t k = 0;
    for (std::size_t i = 0; i < first_.size(); ++i) {
        double sum = values[first_[i]];
        for (; k < ends_[i]; ++k) sum += values[others_[k]];
        values[first_[i]] = sum;
    }
}

void local_copies::scatter(double* values) const {
    std::uint32_t k = 0;
    for (std::size_t i = 0; i < first_.size(); ++i)
        for (; k < ends_[i]; ++k) values[others_[k]] = values[first_[i]];
}

rank_places find_places(const communicator& comm, std::span<const count_t> ids) {
    std::vector<std::pair<count_t, std::uint32_t>> places;
    for (std::uint32_t i = 0; i < ids.size(); ++i)
        if (ids[i] != 0) places.emplace_back(ids[i], i);
    std::sort(places.begin(), places.end());
    rank_places result;
    std::vector<std::pair<count_t, std::uint32_t>> first_copies;
    words_of_ranks asked(static_cast<std::size_t>(comm.num_ranks()));
    for (auto first = places.begin(); first != places.end();) {
        const auto last = std::find_if(first, places.end(),
                                       [&](const auto& p) { return p.first != first->first; });
        if (last - first > 1) result.copies.add(first, last);
        first_copies.push_back(*first);
        asked[static_cast<std::size_t>(first->first % comm.num_ranks())].push_back(first->first);
        first = last;
    }
    const auto answers =
        exchange_all(comm, answers_to(comm, exchange_all(comm, asked), result.num_shared));
    for (const auto& words : answers) {
        for (std::size_t w = 0; w < words.size();) {
            const auto found = std::lower_bound(first_copies.begin(), first_copies.end(),
                                                std::pair(words[w], std::uint32_t{0}));
            shared_place one{words[w], found->second, words[w + 1], {}};
            const auto end = w + 3 + static_cast<std::size_t>(words[w + 2]);
            for (w += 3; w < end; ++w) one.holders.push_back(static_cast<rank_t>(words[w]));
            result.shared.push_back(std::move(one));
        }
    }
    std::sort(result.shared.begin(), result.shared.end(),
              [](const shared_place& a, const shared_place& b) { return a.id < b.id; });
    return result;
}

}  // namespace crossdock::bench::gather

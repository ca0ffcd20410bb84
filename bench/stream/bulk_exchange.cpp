#include "bench/stream/bulk_exchange.hpp"

#include <algorithm>

namespace crossdock::bench::streaming {

bulk_exchange::bulk_exchange(const communicator& comm, int num_workers, count_t round_items)
    : comm_(comm),
      num_workers_(num_workers),
      thread_items_(static_cast<std::uint64_t>(std::max<count_t>(1, round_items / num_workers))) {
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    const auto workers = static_cast<std::size_t>(num_workers);
    for (std::size_t thread = 0; thread < workers; ++thread) {
        // Not initialised: what is never written never takes memory.
        words_.emplace_back(new std::uint64_t[num_ranks * workers * thread_items_]);
        cursors_.emplace_back(num_ranks * workers);
    }
    for (int thread = 0; thread < num_workers; ++thread) {
        for (int worker = 0; worker < num_workers; ++worker) {
            leg part{std::vector<int>(num_ranks), {}, std::vector<int>(num_ranks), {}};
            for (std::size_t rank = 0; rank < num_ranks; ++rank)
                part.send_offsets.push_back(checked_cast<int>(
                    (rank * workers + static_cast<std::size_t>(worker)) * thread_items_));
            part.receive_offsets.resize(num_ranks);
            legs_.push_back(std::move(part));
        }
    }
    counts_to_.resize(num_ranks * legs_.size());
    counts_from_.resize(counts_to_.size());
}

std::span<std::uint64_t*> bulk_exchange::begin(int worker) {
    auto& cursors = cursors_[static_cast<std::size_t>(worker)];
    for (std::size_t owner = 0; owner < cursors.size(); ++owner)
        cursors[owner] = start(worker, owner);
    return cursors;
}

void bulk_exchange::exchange_counts() {
    auto count = counts_to_.begin();
    for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank) {
        for (int thread = 0; thread < num_workers_; ++thread) {
            for (int worker = 0; worker < num_workers_; ++worker) {
                const auto owner = static_cast<std::size_t>(rank * num_workers_ + worker);
                const bool stays = rank == comm_.rank();
                *count++ = stays ? 0 : static_cast<int>(segment(thread, owner).size());
            }
        }
    }
    const int num_legs = static_cast<int>(legs_.size());
    CROSSDOCK_MPI(MPI_Alltoall(counts_to_.data(), num_legs, MPI_INT, counts_from_.data(), num_legs,
                               MPI_INT, comm_.get()));
}

void bulk_exchange::exchange() {
    if (comm_.num_ranks() == 1) return;
    exchange_counts();
    std::size_t end = 0;
    for (std::size_t l = 0; l < legs_.size(); ++l) {
        leg& part = legs_[l];
        part.first_received = end;
        for (std::size_t rank = 0; rank < part.send_counts.size(); ++rank) {
            part.send_counts[rank] = counts_to_[rank * legs_.size() + l];
            part.receive_counts[rank] = counts_from_[rank * legs_.size() + l];
            part.receive_offsets[rank] = static_cast<int>(end - part.first_received);
            end += static_cast<std::size_t>(part.receive_counts[rank]);
        }
        part.num_received = end - part.first_received;
    }
    if (received_.size() < end) received_.resize(end);
    for (std::size_t l = 0; l < legs_.size(); ++l) {
        const leg& part = legs_[l];
        std::uint64_t* const words = words_[l / static_cast<std::size_t>(num_workers_)].get();
        CROSSDOCK_MPI(MPI_Alltoallv(words, part.send_counts.data(), part.send_offsets.data(),
                                    MPI_UINT64_T, received_.data() + part.first_received,
                                    part.receive_counts.data(), part.receive_offsets.data(),
                                    MPI_UINT64_T, comm_.get()));
    }
}

void bulk_exchange::exchange_back() {
    if (comm_.num_ranks() == 1) return;
    for (std::size_t l = 0; l < legs_.size(); ++l) {
        const leg& part = legs_[l];
        std::uint64_t* const words = words_[l / static_cast<std::size_t>(num_workers_)].get();
        CROSSDOCK_MPI(MPI_Alltoallv(received_.data() + part.first_received,
                                    part.receive_counts.data(), part.receive_offsets.data(),
                                    MPI_UINT64_T, words, part.send_counts.data(),
                                    part.send_offsets.data(), MPI_UINT64_T, comm_.get()));
    }
}

}  // namespace crossdock::bench::streaming

// The algorithms in which messages travel directly and receivers find out about them.
#include <algorithm>

#include "../base/collective_mpi.hpp"
#include "algorithms_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

using words = std::vector<std::uint64_t>;
using sent_messages = std::span<const byte_message>;

// Others are about to sum with this rank.
words zeros(std::size_t num_words) {
    return with_reserve([&] { return words(num_words); });
}

template <class Words>
void sum_over_ranks(const communicator& comm, Words& vector) {
    allreduce(comm, vector.data(), vector.size(), MPI_UINT64_T, MPI_SUM);
}

// What a rank learns about the messages to it.
struct tally {
    bool is_good = false;
    count_t num_messages = 0;
};

// The votes of all, and whether as many messages are sent as are expected in all.
tally check_known_sources(const exchange_task& task, sent_messages sent) {
    const communicator& comm = task.mail.comm();
    auto sums =
        summed_votes::of(task.vote(), static_cast<count_t>(sent.size()) - *task.num_sources);
    sum_over_ranks(comm, sums);
    return {summed_votes::is_good(sums.data(), comm.num_ranks()), *task.num_sources};
}

tally count_by_allreduce(const exchange_task& task, sent_messages sent) {
    const communicator& comm = task.mail.comm();
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    const auto votes = summed_votes::of(task.vote());
    auto sums = zeros(num_ranks + votes.size());
    for (const auto& message : sent) ++sums[static_cast<std::size_t>(message.peer)];
    std::ranges::copy(votes, sums.begin() + comm.num_ranks());
    sum_over_ranks(comm, sums);
    return {summed_votes::is_good(sums.data() + num_ranks, comm.num_ranks()),
            static_cast<count_t>(sums[static_cast<std::size_t>(comm.rank())])};
}

tally count_by_reduce_scatter(const exchange_task& task, sent_messages sent) {
    const communicator& comm = task.mail.comm();
    auto votes = summed_votes::of(task.vote());
    auto to_ranks = zeros(static_cast<std::size_t>(comm.num_ranks()) * votes.size());
    for (std::size_t i = 0; i < to_ranks.size(); ++i) to_ranks[i] = votes[i % votes.size()];
    constexpr std::size_t count_of = summed_votes::balance;  // has no other use here
    for (const auto& message : sent) {
        ++to_ranks[static_cast<std::size_t>(message.peer) * votes.size() + count_of];
    }
    run_collective(comm, [&](MPI_Request* reduction) {
        return MPI_Ireduce_scatter_block(to_ranks.data(), votes.data(),
                                         static_cast<int>(votes.size()), MPI_UINT64_T, MPI_SUM,
                                         comm.get(), reduction);
    });
    const auto num_messages = static_cast<count_t>(std::exchange(votes[count_of], 0));
    return {summed_votes::is_good(votes.data(), comm.num_ranks()), num_messages};
}

// Returns those that are under way.
sent_messages send_all(const exchange_task& task) {
    std::size_t num_sent = 0;
    task.note_fault_of([&] {
        for (const auto& message : task.messages) {
            task.mail.send(message, task.tags.found());
            ++num_sent;
        }
    });
    return sent_messages(task.messages).first(num_sent);
}

void take_all(const exchange_task& task, count_t num_messages) {
    for (count_t num_found = 0; num_found < num_messages; ++num_found) {
        task.note_fault_of([&] {
            const auto message = task.mail.wait_for_message(task.tags.found());
            with_reserve([&] { task.found.push_back(message); });
        });
    }
    task.note_fault_of([&] { task.mail.wait_until([&] { return task.mail.are_sent(); }); });
}

// Messages travel while they are counted. What was counted has been sent, so it is taken even if nothing comes of it.
bool exchange_counted(const exchange_task& task,
                      tally (*count)(const exchange_task&, sent_messages)) {
    const auto counted = count(task, send_all(task));
    take_all(task, counted.num_messages);
    return counted.is_good;
}

// Messages travel while the known numbers are checked. Where these are wrong, what was sent is counted after all,
// so that it can be taken.
bool exchange_expected(const exchange_task& task) {
    const auto sent = send_all(task);
    const auto expected = check_known_sources(task, sent);
    take_all(task, (expected.is_good ? expected : count_by_allreduce(task, sent)).num_messages);
    return expected.is_good;
}

}  // namespace

bool exchange_by_allreduce(const exchange_task& task) {
    return task.num_sources ? exchange_expected(task) : exchange_counted(task, count_by_allreduce);
}

bool exchange_by_reduce_scatter(const exchange_task& task) {
    return task.num_sources ? exchange_expected(task)
                            : exchange_counted(task, count_by_reduce_scatter);
}

bool exchange_by_consensus(const exchange_task& task) {
    const communicator& comm = task.mail.comm();
    const int tag = task.tags.found();
    task.note_fault_of([&] {
        for (const auto& message : task.messages) task.mail.send_synchronously(message, tag);
    });
    summed_votes::words votes{};
    MPI_Request consensus = MPI_REQUEST_NULL;
    bool has_voted = false;
    const auto take_message = [&] {
        bool has_come = false;
        task.note_fault_of([&] {
            const auto message = task.mail.receive(tag);
            has_come = message.has_value();
            if (message) with_reserve([&] { task.found.push_back(*message); });
        });
        return has_come;
    };
    for (int is_over = 0; !is_over;) {
        if (take_message()) continue;
        if (has_voted) {
            insist([&] { return MPI_Test(&consensus, &is_over, MPI_STATUS_IGNORE); });
        } else if (task.mail.are_sent()) {
            votes = summed_votes::of(task.vote());
            insist([&] {
                return MPI_Iallreduce(MPI_IN_PLACE, votes.data(), static_cast<int>(votes.size()),
                                      MPI_UINT64_T, MPI_SUM, comm.get(), &consensus);
            });
            has_voted = true;
        }
        if (!is_over) task.mail.pause();
    }
    return summed_votes::is_good(votes.data(), comm.num_ranks());
}

}  // namespace crossdock

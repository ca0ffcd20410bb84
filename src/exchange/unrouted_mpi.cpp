// The algorithms in which messages travel directly and receivers find out about them.
#include "algorithms_mpi.hpp"

namespace crossdock {

namespace {

using words = std::vector<std::uint64_t>;

void sum_over_ranks(const communicator& comm, words& vector) {
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, vector.data(), checked_cast<int>(vector.size()),
                                 MPI_UINT64_T, MPI_SUM, comm.get(), &reduction));
    comm.wait(reduction);
}

// What a rank learns about the messages to it.
struct tally {
    bool is_good = false;
    count_t num_messages = 0;
};

// The votes of all, and whether as many messages are sent as are expected in all.
tally check_known_sources(const exchange_task& task) {
    const communicator& comm = task.mail.comm();
    const auto votes =
        summed_votes::of(task.own, static_cast<count_t>(task.messages.size()) - *task.num_sources);
    words sums(votes.begin(), votes.end());
    sum_over_ranks(comm, sums);
    return {summed_votes::is_good(sums.data(), comm.num_ranks()), *task.num_sources};
}

tally count_by_allreduce(const exchange_task& task) {
    const communicator& comm = task.mail.comm();
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    words sums(num_ranks);
    for (const auto& message : task.messages) ++sums[static_cast<std::size_t>(message.peer)];
    const auto votes = summed_votes::of(task.own);
    sums.insert(sums.end(), votes.begin(), votes.end());
    sum_over_ranks(comm, sums);
    return {summed_votes::is_good(sums.data() + num_ranks, comm.num_ranks()),
            static_cast<count_t>(sums[static_cast<std::size_t>(comm.rank())])};
}

tally count_by_reduce_scatter(const exchange_task& task) {
    const communicator& comm = task.mail.comm();
    auto votes = summed_votes::of(task.own);
    words to_ranks;
    for (rank_t rank = 0; rank < comm.num_ranks(); ++rank)
        to_ranks.insert(to_ranks.end(), votes.begin(), votes.end());
    constexpr std::size_t count_of = summed_votes::balance;  // has no other use here
    for (const auto& message : task.messages) {
        ++to_ranks[static_cast<std::size_t>(message.peer) * votes.size() + count_of];
    }
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Ireduce_scatter_block(to_ranks.data(), votes.data(),
                                            static_cast<int>(votes.size()), MPI_UINT64_T, MPI_SUM,
                                            comm.get(), &reduction));
    comm.wait(reduction);
    const auto num_messages = static_cast<count_t>(std::exchange(votes[count_of], 0));
    return {summed_votes::is_good(votes.data(), comm.num_ranks()), num_messages};
}

void send_all(const exchange_task& task) {
    for (const auto& message : task.messages) task.mail.send(message, task.tags.found());
}

void take_all(const exchange_task& task, count_t num_messages, std::vector<byte_message>& found) {
    for (count_t num_found = 0; num_found < num_messages; ++num_found)
        found.push_back(task.mail.wait_for_message(task.tags.found()));
    task.mail.wait_until([&] { return task.mail.are_sent(); });
}

// Messages travel while they are counted. What was counted has been sent, so it is taken even if nothing comes of it.
bool exchange_counted(const exchange_task& task, tally (*count)(const exchange_task&),
                      std::vector<byte_message>& found) {
    send_all(task);
    const auto counted = count(task);
    take_all(task, counted.num_messages, found);
    return counted.is_good;
}

// Messages travel while the known numbers are checked. Where these are wrong, what was sent is counted after all,
// so that it can be taken.
bool exchange_expected(const exchange_task& task, std::vector<byte_message>& found) {
    send_all(task);
    const auto expected = check_known_sources(task);
    take_all(task, (expected.is_good ? expected : count_by_allreduce(task)).num_messages, found);
    return expected.is_good;
}

}  // namespace

bool exchange_by_allreduce(const exchange_task& task, std::vector<byte_message>& found) {
    return task.num_sources ? exchange_expected(task, found)
                            : exchange_counted(task, count_by_allreduce, found);
}

bool exchange_by_reduce_scatter(const exchange_task& task, std::vector<byte_message>& found) {
    return task.num_sources ? exchange_expected(task, found)
                            : exchange_counted(task, count_by_reduce_scatter, found);
}

bool exchange_by_consensus(const exchange_task& task, std::vector<byte_message>& found) {
    const communicator& comm = task.mail.comm();
    const int tag = task.tags.found();
    for (const auto& message : task.messages) task.mail.send_synchronously(message, tag);
    auto votes = summed_votes::of(task.own);
    MPI_Request consensus = MPI_REQUEST_NULL;
    for (int is_over = 0; !is_over;) {
        if (const auto message = task.mail.receive(tag)) {
            found.push_back(*message);
            continue;
        }
        if (consensus != MPI_REQUEST_NULL) {
            CROSSDOCK_MPI(MPI_Test(&consensus, &is_over, MPI_STATUS_IGNORE));
        } else if (task.mail.are_sent()) {
            CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, votes.data(), static_cast<int>(votes.size()),
                                         MPI_UINT64_T, MPI_SUM, comm.get(), &consensus));
        }
        if (!is_over) task.mail.pause();
    }
    return summed_votes::is_good(votes.data(), comm.num_ranks());
}

}  // namespace crossdock

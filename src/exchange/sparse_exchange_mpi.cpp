#include "crossdock/exchange/sparse_exchange_mpi.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace crossdock {

namespace {

constexpr rank_t few_ranks = 16;

// Receives one message if one is there.
bool receive_any(const communicator& comm, int tag, std::vector<word_message>& inbox) {
    int is_there = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    CROSSDOCK_MPI(MPI_Improbe(MPI_ANY_SOURCE, tag, comm.get(), &is_there, &handle, &status));
    if (!is_there) return false;
    int num_words = 0;
    CROSSDOCK_MPI(MPI_Get_count(&status, MPI_INT64_T, &num_words));
    auto& message = inbox.emplace_back();
    message.peer = status.MPI_SOURCE;
    message.words.resize(static_cast<std::size_t>(num_words));
    CROSSDOCK_MPI(
        MPI_Mrecv(message.words.data(), num_words, MPI_INT64_T, &handle, MPI_STATUS_IGNORE));
    return true;
}

bool all_complete(std::vector<MPI_Request>& requests) {
    int is_complete = 0;
    CROSSDOCK_MPI(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_complete,
                              MPI_STATUSES_IGNORE));
    return is_complete != 0;
}

// Nonblocking consensus: a synchronous send is complete when it is matched, and the barrier is over
// when every rank's sends are.
void agree_that_all_arrived(const communicator& comm, int tag,
                            const std::vector<word_message>& outbox,
                            std::vector<word_message>& inbox) {
    std::vector<MPI_Request> sends;
    for (const auto& [peer, words] : outbox) {
        CROSSDOCK_MPI(MPI_Issend(words.data(), checked_cast<int>(words.size()), MPI_INT64_T, peer,
                                 tag, comm.get(), &sends.emplace_back()));
    }
    MPI_Request barrier = MPI_REQUEST_NULL;
    for (int is_over = 0; !is_over;) {
        const bool has_received = receive_any(comm, tag, inbox);
        if (barrier != MPI_REQUEST_NULL) {
            CROSSDOCK_MPI(MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE));
        } else if (all_complete(sends)) {
            CROSSDOCK_MPI(MPI_Ibarrier(comm.get(), &barrier));
        }
        comm.progress();
        if (!has_received) std::this_thread::yield();
    }
}

// Among few ranks, an empty message to everyone else costs less than a consensus. A real message
// ends in a word of its own, which tells it from none.
void hear_from_everyone(const communicator& comm, int tag, std::vector<word_message>& outbox,
                        std::vector<word_message>& inbox) {
    std::array<bool, few_ranks> has_message{};
    for (auto& [peer, words] : outbox) {
        words.push_back(0);
        has_message[static_cast<std::size_t>(peer)] = true;
    }
    for (rank_t peer = 0; peer < comm.num_ranks(); ++peer) {
        if (peer != comm.rank() && !has_message[static_cast<std::size_t>(peer)])
            outbox.push_back({peer, {}});
    }
    std::vector<MPI_Request> sends;
    for (const auto& [peer, words] : outbox) {
        CROSSDOCK_MPI(MPI_Isend(words.data(), checked_cast<int>(words.size()), MPI_INT64_T, peer,
                                tag, comm.get(), &sends.emplace_back()));
    }
    const std::size_t num_expected = inbox.size() + outbox.size();
    while (inbox.size() < num_expected || !all_complete(sends)) {
        comm.progress();
        if (!receive_any(comm, tag, inbox)) std::this_thread::yield();
    }
    std::erase_if(inbox, [&](const auto& m) { return m.peer != comm.rank() && m.words.empty(); });
    for (auto& [peer, words] : inbox) {
        if (peer != comm.rank()) words.pop_back();
    }
}

}  // namespace

std::vector<word_message> sparse_exchange(const communicator& comm, int tag,
                                          std::vector<word_message> outbox) {
    std::vector<word_message> inbox;
    for (auto message = outbox.begin(); message != outbox.end(); ++message) {
        if (message->peer != comm.rank()) continue;
        inbox.push_back(std::move(*message));
        outbox.erase(message);
        break;
    }
    if (comm.num_ranks() <= few_ranks) {
        hear_from_everyone(comm, tag, outbox, inbox);
    } else {
        agree_that_all_arrived(comm, tag, outbox, inbox);
    }
    std::sort(inbox.begin(), inbox.end(),
              [](const auto& a, const auto& b) { return a.peer < b.peer; });
    return inbox;
}

}  // namespace crossdock

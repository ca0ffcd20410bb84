#include "crossdock/exchange/sparse_exchange.hpp"

#include <algorithm>
#include <thread>

namespace crossdock {

namespace {

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

}  // namespace

std::vector<word_message> sparse_exchange(const communicator& comm, int tag,
                                          std::vector<word_message> outbox) {
    std::vector<word_message> inbox;
    std::vector<MPI_Request> sends;
    sends.reserve(outbox.size());
    for (auto& [peer, words] : outbox) {
        if (peer == comm.rank()) {
            inbox.push_back({peer, std::move(words)});
            continue;
        }
        CROSSDOCK_MPI(MPI_Issend(words.data(), checked_cast<int>(words.size()), MPI_INT64_T, peer,
                                 tag, comm.get(), &sends.emplace_back()));
    }

    MPI_Request barrier = MPI_REQUEST_NULL;
    for (int is_over = 0; !is_over;) {
        const bool has_received = receive_any(comm, tag, inbox);
        if (barrier != MPI_REQUEST_NULL) {
            CROSSDOCK_MPI(MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE));
        } else {
            int all_sent = 0;
            CROSSDOCK_MPI(MPI_Testall(static_cast<int>(sends.size()), sends.data(), &all_sent,
                                      MPI_STATUSES_IGNORE));
            if (all_sent) CROSSDOCK_MPI(MPI_Ibarrier(comm.get(), &barrier));
        }
        if (!has_received) std::this_thread::yield();
    }
    std::sort(inbox.begin(), inbox.end(),
              [](const auto& a, const auto& b) { return a.peer < b.peer; });
    return inbox;
}

}  // namespace crossdock

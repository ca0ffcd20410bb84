#include "peer_exchange_mpi.hpp"

#include <utility>

#include "crossdock/detail/base/memory_reserve.hpp"
#include "exchange_state_mpi.hpp"
#include "word_bytes_mpi.hpp"

namespace crossdock {

peer_exchange::peer_exchange(const communicator& comm, const topology& regions)
    : comm_(comm),
      state_(comm.resource<exchange_state>()),
      mail_(comm, regions, exchange_options{}.max_message_bytes, arrivals_) {
    static_assert(max_rounds == exchange_tags::max_stages);
    const auto tags = state_.next_tags();
    stop_tag_ = tags.found();
    first_tag_ = tags.stage(0);
}

std::vector<word_message> peer_exchange::next(std::vector<word_message> to_send,
                                              std::size_t num_sources) {
    if (round_ == max_rounds)
        throw error(errc::invalid_state, "a peer_exchange has no more rounds");
    const int tag = first_tag_ + round_++;
    to_send_ = std::move(to_send);
    for (const auto& message : to_send_) mail_.send(bytes_of(message), tag);
    const auto wait_until = [&](auto&& is_done) {
        while (!is_done()) {
            if (is_told_to_stop()) throw peer_stopped();
            mail_.pause();
        }
    };
    wait_until([&] {
        while (arrivals_.messages().size() < num_sources) {
            const auto message = mail_.receive(tag);
            if (!message) return false;
            arrivals_.add(*message);
        }
        return true;
    });
    wait_until([&] { return mail_.are_sent(); });
    arrivals_.sort_by_source();
    auto inbox = words_of(arrivals_);
    arrivals_ = byte_inbox();
    return inbox;
}

bool peer_exchange::is_told_to_stop() const {
    int is_told = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, stop_tag_, comm_.get(), &is_told, MPI_STATUS_IGNORE);
    return is_told != 0;
}

// A word without content to every rank.
void peer_exchange::stop() noexcept {
    for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank) {
        if (rank == comm_.rank()) continue;
        MPI_Request request = MPI_REQUEST_NULL;
        const auto tell = [&] {
            return MPI_Isend(nullptr, 0, MPI_BYTE, rank, stop_tag_, comm_.get(), &request);
        };
        if (tell() != MPI_SUCCESS) tell();
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    take_leave();
}

// What others still send to this rank is received from now on, so that they get on. Its own messages are received
// before it comes to the meeting, or their memory would be gone too early.
void peer_exchange::take_leave() noexcept {
    has_stopped_ = true;
    try {
        with_reserve([&] { comm_.add_work(this); });
        mail_.wait_until([&] {
            discard_rounds();
            return mail_.are_sent();
        });
    } catch (...) {
        // MPI does not work any more.
    }
}

void peer_exchange::discard_rounds() noexcept {
    for (int round = 0; round < max_rounds; ++round) mail_.discard_all(first_tag_ + round);
}

void peer_exchange::renew_tags() const { state_.renew_tags(comm_); }

}  // namespace crossdock

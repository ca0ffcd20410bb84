#include "peer_exchange_mpi.hpp"

#include "exchange_state_mpi.hpp"
#include "mailbox_mpi.hpp"
#include "word_bytes_mpi.hpp"

namespace crossdock {

peer_exchange::peer_exchange(const communicator& comm, const topology& regions)
    : comm_(comm),
      regions_(regions),
      first_tag_(comm.resource<exchange_state>().next_tags().stage(0)) {
    static_assert(max_rounds == exchange_tags::max_stages);
}

std::vector<word_message> peer_exchange::next(const std::vector<word_message>& outbox,
                                              std::size_t num_sources) {
    if (round_ == max_rounds)
        throw error(errc::invalid_state, "a peer_exchange has no more rounds");
    const int tag = first_tag_ + round_++;
    byte_inbox arrivals;
    mailbox mail(comm_, regions_, exchange_options{}.max_message_bytes, arrivals);
    for (const auto& message : outbox) mail.send(bytes_of(message), tag);
    while (arrivals.messages().size() < num_sources) arrivals.add(mail.wait_for_message(tag));
    mail.wait_until([&] { return mail.are_sent(); });
    arrivals.sort_by_source();
    return words_of(arrivals);
}

}  // namespace crossdock

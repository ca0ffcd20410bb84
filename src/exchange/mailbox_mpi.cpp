#include "mailbox_mpi.hpp"

#include <algorithm>
#include <cstring>

#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

// Giving the core away is a system call, and some MPIs do it themselves when they find nothing.
constexpr int pauses_between_yields = 16;

// Parts of one message that may wait at its receiver.
constexpr int most_untaken_parts = 64;

std::optional<matched_part> match(const communicator& comm, int tag) {
    int is_there = 0;
    matched_part part;
    MPI_Status status;
    CROSSDOCK_MPI(MPI_Improbe(MPI_ANY_SOURCE, tag, comm.get(), &is_there, &part.handle, &status));
    if (!is_there) return std::nullopt;
    part.source = status.MPI_SOURCE;
    CROSSDOCK_MPI(MPI_Get_count(&status, MPI_BYTE, &part.bytes));
    return part;
}

void take(const communicator& comm, matched_part part, std::byte* to) {
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Imrecv(to, part.bytes, MPI_BYTE, &part.handle, &request));
    comm.wait(request);
}

// Calls `use(first, length)` for each part of `bytes` bytes.
template <class Use>
void for_each_part(count_t bytes, count_t max_message_bytes, Use&& use) {
    for (count_t first = 0; first < bytes; first += max_message_bytes)
        use(first, static_cast<int>(std::min(bytes - first, max_message_bytes)));
}

}  // namespace

bool pending_requests::are_complete() {
    while (num_complete_ < requests_.size()) {
        int is_complete = 0;
        CROSSDOCK_MPI(MPI_Test(&requests_[num_complete_], &is_complete, MPI_STATUS_IGNORE));
        if (!is_complete) return false;
        ++num_complete_;
    }
    return true;
}

mailbox::mailbox(const communicator& comm, const topology& regions, count_t max_message_bytes,
                 byte_inbox& arrivals)
    : comm_(comm), regions_(regions), max_message_bytes_(max_message_bytes), arrivals_(arrivals) {}

void mailbox::post(const byte_message& message, int tag, send_function start) {
    count(message);
    if (message.bytes >= max_message_bytes_ || !departures_.empty())
        return post_parts(message, tag, start, message.bytes >= max_message_bytes_);
    CROSSDOCK_MPI(start(message.data, static_cast<int>(message.bytes), MPI_BYTE, message.peer, tag,
                        comm_.get(), sends_.add()));
}

void mailbox::post_parts(const byte_message& message, int tag, send_function start,
                         bool says_length) {
    departures_[{message.peer, tag}].push_back({message, start, says_length});
    send_parts();
}

void mailbox::send_parts() {
    for (auto next = departures_.begin(); next != departures_.end();) {
        const auto [peer, tag] = next->first;
        auto& messages = next->second;
        while (!messages.empty() && send_parts_of(messages.front(), peer, tag))
            messages.pop_front();
        next = messages.empty() ? departures_.erase(next) : std::next(next);
    }
}

// Returns whether all parts have left.
bool mailbox::send_parts_of(departure& one, rank_t peer, int tag) {
    for (;;) {
        int is_taken = 1;  // of no request, too
        CROSSDOCK_MPI(MPI_Test(&one.taken, &is_taken, MPI_STATUS_IGNORE));
        if (!is_taken) return false;
        for (int i = 0; i < most_untaken_parts; ++i) {
            const count_t bytes = std::min(one.rest.bytes, max_message_bytes_);
            const count_t num_left = one.rest.bytes - bytes;
            const bool is_last_for_now = i + 1 == most_untaken_parts && num_left > 0;
            CROSSDOCK_MPI((is_last_for_now ? &MPI_Issend : one.start)(
                one.rest.data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm_.get(),
                is_last_for_now ? &one.taken : sends_.add()));
            if (std::exchange(one.says_length, false)) {
                CROSSDOCK_MPI(one.start(&lengths_.emplace_front(num_left), sizeof(count_t),
                                        MPI_BYTE, peer, tag, comm_.get(), sends_.add()));
            }
            if (num_left == 0) return true;
            one.rest = {peer, num_left, one.rest.data + bytes};
        }
    }
}

void mailbox::count(const byte_message& message) {
    ++sent_.messages;
    sent_.message_bytes += message.bytes;
    if (regions_.region_of(message.peer) == regions_.region_of(comm_.rank())) return;
    ++sent_.inter_region_messages;
    sent_.inter_region_message_bytes += message.bytes;
}

void mailbox::send_announced(const byte_message& message, int tag) {
    count(message);
    if (message.bytes > 0) post_parts(message, tag, &MPI_Isend, false);
}

void mailbox::send(bundle&& bytes, rank_t destination, int tag) {
    bundles_.push_back(std::move(bytes));
    send({destination, bundles_.back().bytes, bundles_.back().data.data()}, tag);
}

std::optional<byte_message> mailbox::receive(int tag) {
    const auto part = match(comm_, tag);
    if (!part) return std::nullopt;
    if (part->bytes == max_message_bytes_) return receive_rest(*part, tag);
    std::byte* const data = arrivals_.make_room(part->bytes);
    take(comm_, *part, data);
    return byte_message{part->source, part->bytes, data};
}

byte_message mailbox::receive_rest(const matched_part& first_part, int tag) {
    const auto first_bytes = static_cast<std::size_t>(first_part.bytes);
    const auto beginning = std::make_unique_for_overwrite<std::byte[]>(first_bytes);
    take(comm_, first_part, beginning.get());
    count_t num_left = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Irecv(&num_left, sizeof num_left, MPI_BYTE, first_part.source, tag,
                            comm_.get(), &request));
    comm_.wait(request);
    const count_t bytes = first_part.bytes + num_left;
    std::byte* const data = arrivals_.make_room(bytes);
    start_receive_into(data + first_bytes, first_part.source, num_left, tag);
    std::memcpy(data, beginning.get(), first_bytes);
    wait_until([&] { return are_received(); });
    return {first_part.source, bytes, data};
}

byte_message mailbox::wait_for_message(int tag) {
    std::optional<byte_message> message;
    wait_until([&] { return (message = receive(tag)).has_value(); });
    return *message;
}

byte_message mailbox::start_receive(rank_t source, count_t bytes, int tag) {
    std::byte* const data = arrivals_.make_room(bytes);
    start_receive_into(data, source, bytes, tag);
    return {source, bytes, data};
}

void mailbox::start_receive_into(std::byte* data, rank_t source, count_t bytes, int tag) {
    for_each_part(bytes, max_message_bytes_, [&](count_t first, int length) {
        CROSSDOCK_MPI(
            MPI_Irecv(data + first, length, MPI_BYTE, source, tag, comm_.get(), receives_.add()));
    });
}

void mailbox::pause() {
    // MPI has made progress in the call that found nothing: a probe, or a test of an active
    // request.
    if (comm_.has_work()) comm_.progress();
    send_parts();
    if (++num_pauses_ % pauses_between_yields == 0) pause_wait();
}

}  // namespace crossdock

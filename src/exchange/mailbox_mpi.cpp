#include "mailbox_mpi.hpp"

#include <algorithm>
#include <cstring>

#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

// Giving the core away is a system call, and some MPIs do it themselves when they find nothing.
constexpr int pauses_between_yields = 16;

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
    const auto start_part = [&](const void* data, count_t bytes) {
        CROSSDOCK_MPI(start(data, static_cast<int>(bytes), MPI_BYTE, message.peer, tag, comm_.get(),
                            sends_.add()));
    };
    count(message);
    start_part(message.data, std::min(message.bytes, max_message_bytes_));
    if (message.bytes < max_message_bytes_) return;
    const std::byte* const rest = message.data + max_message_bytes_;
    start_part(&lengths_.emplace_front(message.bytes - max_message_bytes_), sizeof(count_t));
    for_each_part(lengths_.front(), max_message_bytes_,
                  [&](count_t first, int length) { start_part(rest + first, length); });
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
    for_each_part(message.bytes, max_message_bytes_, [&](count_t first, int length) {
        CROSSDOCK_MPI(MPI_Isend(message.data + first, length, MPI_BYTE, message.peer, tag,
                                comm_.get(), sends_.add()));
    });
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
    if (++num_pauses_ % pauses_between_yields == 0) pause_wait();
}

}  // namespace crossdock

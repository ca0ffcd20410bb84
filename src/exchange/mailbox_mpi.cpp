#include "mailbox_mpi.hpp"

#include <algorithm>
#include <cstring>

#include "../base/collective_mpi.hpp"
#include "../base/watchdog.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
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
    insist([&] {
        return MPI_Improbe(MPI_ANY_SOURCE, tag, comm.get(), &is_there, &part.handle, &status);
    });
    if (!is_there) return std::nullopt;
    part.source = status.MPI_SOURCE;
    insist([&] { return MPI_Get_count(&status, MPI_BYTE, &part.bytes); });
    return part;
}

void discard(const communicator& comm, matched_part& part) noexcept {
    if (part.handle != MPI_MESSAGE_NULL) discard_message(comm, part.handle, part.bytes);
}

void take(const communicator& comm, matched_part& part, std::byte* to) {
    run_collective(comm, [&](MPI_Request* request) {
        return MPI_Imrecv(to, part.bytes, MPI_BYTE, &part.handle, request);
    });
}

}  // namespace

bool pending_requests::are_complete() {
    while (num_complete_ < requests_.size()) {
        int is_complete = 0;
        auto& request = requests_[num_complete_];
        // Where it is active still, MPI is asked again.
        insist([&] {
            const int code = MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
            if (code != MPI_SUCCESS && request == MPI_REQUEST_NULL)
                throw mpi_error(code, "MPI_Test");
            return code;
        });
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
    start_send(start, message.data, message.bytes, message.peer, tag, nullptr);
}

// Others wait for it.
void mailbox::start_send(send_function start, const void* data, count_t bytes, rank_t peer, int tag,
                         MPI_Request* request) {
    if (request == nullptr) request = with_reserve([&] { return sends_.add(); });
    insist([&] {
        return start(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm_.get(), request);
    });
}

void mailbox::post_parts(const byte_message& message, int tag, send_function start,
                         bool says_length) {
    with_reserve([&] {
        departures_[{message.peer, tag}].push_back({message, start, says_length});
    });
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
        insist([&] { return MPI_Test(&one.taken, &is_taken, MPI_STATUS_IGNORE); });
        if (!is_taken) return false;
        for (int i = 0; i < most_untaken_parts; ++i) {
            const count_t bytes = std::min(one.rest.bytes, max_message_bytes_);
            const count_t num_left = one.rest.bytes - bytes;
            const bool is_last_for_now = i + 1 == most_untaken_parts && num_left > 0;
            start_send(is_last_for_now ? &MPI_Issend : one.start, one.rest.data, bytes, peer, tag,
                       is_last_for_now ? &one.taken : nullptr);
            if (std::exchange(one.says_length, false)) {
                with_reserve([&] { lengths_.push_front(num_left); });
                start_send(one.start, &lengths_.front(), sizeof(count_t), peer, tag, nullptr);
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
    with_reserve([&] { bundles_.push_back(std::move(bytes)); });
    send({destination, bundles_.back().bytes, bundles_.back().data.data()}, tag);
}

std::optional<byte_message> mailbox::receive(int tag) {
    auto part = match(comm_, tag);
    if (!part) return std::nullopt;
    try {
        if (part->bytes == max_message_bytes_) return receive_rest(*part, tag);
        std::byte* const data = with_reserve([&] { return arrivals_.make_room(part->bytes); });
        take(comm_, *part, data);
        return byte_message{part->source, part->bytes, data};
    } catch (...) {
        discard(comm_, *part);
        throw;
    }
}

void mailbox::discard_all(int tag) noexcept {
    try {
        while (auto part = match(comm_, tag)) discard(comm_, *part);
    } catch (...) {
        // MPI does not work any more.
    }
}

byte_message mailbox::receive_rest(matched_part& first_part, int tag) {
    const auto first_bytes = static_cast<std::size_t>(first_part.bytes);
    const auto beginning =
        with_reserve([&] { return std::make_unique_for_overwrite<std::byte[]>(first_bytes); });
    take(comm_, first_part, beginning.get());
    count_t num_left = 0;
    run_collective(comm_, [&](MPI_Request* request) {
        return MPI_Irecv(&num_left, sizeof num_left, MPI_BYTE, first_part.source, tag, comm_.get(),
                         request);
    });
    const count_t bytes = first_part.bytes + num_left;
    std::byte* const data = with_reserve([&] { return arrivals_.make_room(bytes); });
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
    std::byte* const data = with_reserve([&] { return arrivals_.make_room(bytes); });
    start_receive_into(data, source, bytes, tag);
    return {source, bytes, data};
}

void mailbox::start_receive_into(std::byte* data, rank_t source, count_t bytes, int tag) {
    for (count_t first = 0; first < bytes; first += max_message_bytes_) {
        const auto length = static_cast<int>(std::min(bytes - first, max_message_bytes_));
        MPI_Request* const request = with_reserve([&] { return receives_.add(); });
        insist([&] {
            return MPI_Irecv(data + first, length, MPI_BYTE, source, tag, comm_.get(), request);
        });
    }
}

void mailbox::pause() {
    // MPI has made progress in the call that found nothing: a probe, or a test of an active
    // request.
    if (comm_.may_not_block()) comm_.progress();
    send_parts();
    watchdog::look();
    if (++num_pauses_ % pauses_between_yields == 0) pause_wait();
}

}  // namespace crossdock

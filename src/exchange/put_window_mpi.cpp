#include "put_window_mpi.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "../base/collective_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr count_t first_half_bytes = count_t{1} << 15;
constexpr count_t counter_bytes = 64;  // a cache line, so that tickets and records do not meet
constexpr std::int64_t one_ticket = 1;

// Ends a passive epoch towards all ranks, however it is left.
class access_epoch {
  public:
    explicit access_epoch(MPI_Win window) : window_(window) {
        insist([&] { return MPI_Win_lock_all(MPI_MODE_NOCHECK, window_); });
    }
    ~access_epoch() {
        try {
            insist([&] { return MPI_Win_unlock_all(window_); });
        } catch (...) {
            // MPI does not work any more.
        }
    }
    access_epoch(const access_epoch&) = delete;
    access_epoch& operator=(const access_epoch&) = delete;

  private:
    MPI_Win window_;
};

}  // namespace

// One half of the window, as a sender and as the receiver see it.
class put_window::half {
  public:
    half(const put_window& whole, count_t message_bytes)
        : window_(whole.window_.get()),
          first_((whole.is_odd_ ? 1 : 0) * whole.half_bytes_),
          memory_(whole.window_.memory() + first_),
          message_bytes_(message_bytes),
          record_bytes_(record_bytes(message_bytes)),
          num_places_(std::max<count_t>(0, whole.half_bytes_ - counter_bytes) / record_bytes_) {}

    std::vector<std::int64_t> draw_tickets(const std::vector<byte_message>& messages) const {
        auto tickets = with_reserve([&] { return std::vector<std::int64_t>(messages.size()); });
        for (std::size_t i = 0; i < messages.size(); ++i) {
            insist([&] {
                return MPI_Fetch_and_op(&one_ticket, &tickets[i], MPI_INT64_T, messages[i].peer,
                                        first_, MPI_SUM, window_);
            });
        }
        insist([&] { return MPI_Win_flush_all(window_); });
        return tickets;
    }

    // Those without a place are left out; the window is to be made larger.
    void put(const std::vector<byte_message>& messages, const std::vector<std::int64_t>& tickets,
             std::int64_t own_rank) const {
        for (std::size_t i = 0; i < messages.size(); ++i) {
            if (tickets[i] >= num_places_) continue;
            const MPI_Aint place = first_ + counter_bytes + tickets[i] * record_bytes_;
            put_bytes(window_, reinterpret_cast<const std::byte*>(&own_rank), sizeof own_rank,
                      messages[i].peer, place);
            put_bytes(window_, messages[i].data, message_bytes_, messages[i].peer,
                      place + static_cast<MPI_Aint>(sizeof own_rank));
        }
        insist([&] { return MPI_Win_flush_all(window_); });
    }

    void take(byte_inbox& memory, std::vector<byte_message>& found) const {
        insist([&] { return MPI_Win_sync(window_); });
        std::int64_t num_records = 0;
        std::memcpy(&num_records, memory_, sizeof num_records);
        for (std::int64_t i = 0; i < num_records; ++i) {
            const std::byte* const record = memory_ + counter_bytes + i * record_bytes_;
            std::int64_t source = 0;
            std::memcpy(&source, record, sizeof source);
            std::byte* const data = with_reserve([&] { return memory.make_room(message_bytes_); });
            std::memcpy(data, record + sizeof source, unsigned_bytes(message_bytes_));
            with_reserve([&] {
                found.push_back({static_cast<rank_t>(source), message_bytes_, data});
            });
        }
    }

    // For the exchange after the next, before which nobody looks at it.
    void clear() const {
        std::memset(memory_, 0, sizeof(std::int64_t));
        insist([&] { return MPI_Win_sync(window_); });
    }

    bool has_place_for(count_t num_tickets) const { return num_tickets <= num_places_; }

  private:
    MPI_Win window_;
    count_t first_;
    std::byte* memory_;
    count_t message_bytes_;
    count_t record_bytes_;
    count_t num_places_;
};

bool put_window::exchange(mailbox& mail, const std::vector<byte_message>& messages,
                          count_t message_bytes, const error_vote& own,
                          std::vector<byte_message>& found) {
    const communicator& comm = mail.comm();
    for (const auto& [peer, bytes, data] : messages)
        mail.count({peer, bytes + static_cast<count_t>(sizeof(std::int64_t)), data});
    if (!window_.is_open()) {
        comm.wait_for_all();
        make(comm, first_half_bytes);
    }
    is_odd_ = !is_odd_;
    while (true) {
        window_agreement result;
        {
            const access_epoch epoch(window_.get());
            const half now(*this, message_bytes);
            const auto tickets = now.draw_tickets(messages);
            now.put(messages, tickets, comm.rank());
            const auto last = std::max_element(tickets.begin(), tickets.end());
            result = agree_on_window(comm, own, last == tickets.end() ? 0 : *last + 1);
            const bool is_over = !result.is_good || now.has_place_for(result.greatest);
            if (is_over && result.is_good) now.take(mail.arrivals(), found);
            if (is_over) now.clear();
            if (is_over) return result.is_good;
        }
        make(comm, static_cast<count_t>(std::bit_ceil(static_cast<std::uint64_t>(
                       counter_bytes + result.greatest * record_bytes(message_bytes)))));
    }
}

void put_window::make(const communicator& comm, count_t half_bytes) {
    half_bytes_ = half_bytes;
    window_.make(comm, 2 * half_bytes);
    {
        const access_epoch epoch(window_.get());
        for (const bool is_odd : {false, true}) {
            is_odd_ = is_odd;
            half(*this, 0).clear();
        }
    }
    meet_all(comm);
}

}  // namespace crossdock

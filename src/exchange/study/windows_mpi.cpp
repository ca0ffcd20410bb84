#include "windows_mpi.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "../../base/collective_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr count_t largest_put_bytes = count_t{1} << 30;

std::size_t unsigned_bytes(count_t bytes) { return static_cast<std::size_t>(bytes); }

// Bytes of a message behind a word, in whole words.
count_t record_bytes(count_t message_bytes) {
    return static_cast<count_t>(sizeof(std::int64_t)) + (message_bytes + 7) / 8 * 8;
}

// The agreement of all ranks, and the greatest number that one of them gave.
struct window_agreement {
    bool is_good = false;
    count_t greatest = 0;
};

// Reduces 6 words.
// @par Collective
// Yes; waits for all ranks.
window_agreement agree_on_window(const communicator& comm, const error_vote& own, count_t number) {
    std::array<std::int64_t, 6> words{own.has_fault ? 1 : 0, own.shape[0],  -own.shape[0],
                                      own.shape[1],          -own.shape[1], number};
    allreduce(comm, words.data(), words.size(), MPI_INT64_T, MPI_MAX);
    return {words[0] == 0 && words[1] == -words[2] && words[3] == -words[4], words[5]};
}

// Starts to put any number of bytes.
void put_bytes(MPI_Win window, const std::byte* data, count_t bytes, rank_t destination,
               MPI_Aint place) {
    for (count_t first = 0; first < bytes; first += largest_put_bytes) {
        const int length = static_cast<int>(std::min(bytes - first, largest_put_bytes));
        insist([&] {
            return MPI_Put(data + first, length, MPI_BYTE, destination, place + first, length,
                           MPI_BYTE, window);
        });
    }
}

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

using head = std::int64_t;  // of a record: 0, or the bytes of the message and one more
constexpr count_t head_bytes = sizeof(head);

// How many messages to the same rank are before each.
std::vector<count_t> rows_of(const std::vector<byte_message>& messages) {
    std::vector<count_t> rows;
    std::unordered_map<rank_t, count_t> num_to;
    for (const auto& message : messages) rows.push_back(num_to[message.peer]++);
    return rows;
}

}  // namespace

void exchange_window::make(const communicator& comm, count_t bytes) {
    close();
    // Asked for by name, as Open MPI 4.1 otherwise mixes up the windows of communicators that have
    // no rank in common.
    const auto allocate = all_share_memory_ ? &MPI_Win_allocate_shared : &MPI_Win_allocate;
    insist([&] {
        return allocate(bytes, 1, MPI_INFO_NULL, comm.get(), static_cast<void*>(&memory_),
                        &window_);
    });
    insist([&] { return MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN); });
}

void exchange_window::close() {
    if (is_open()) insist([&] { return MPI_Win_free(&window_); });
}

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

    void take(const exchange_task& task) const {
        insist([&] { return MPI_Win_sync(window_); });
        std::int64_t num_records = 0;
        std::memcpy(&num_records, memory_, sizeof num_records);
        for (std::int64_t i = 0; i < num_records; ++i) {
            const std::byte* const record = memory_ + counter_bytes + i * record_bytes_;
            std::int64_t source = 0;
            std::memcpy(&source, record, sizeof source);
            std::byte* const data =
                with_reserve([&] { return task.mail.arrivals().make_room(message_bytes_); });
            std::memcpy(data, record + sizeof source, unsigned_bytes(message_bytes_));
            with_reserve([&] {
                task.found.push_back({static_cast<rank_t>(source), message_bytes_, data});
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

bool put_window::exchange(const exchange_task& task, count_t message_bytes) {
    mailbox& mail = task.mail;
    const auto& messages = task.messages;
    const error_vote own = task.vote();
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
            if (is_over && result.is_good) now.take(task);
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

bool fence_window::exchange(const exchange_task& task, count_t message_bytes) {
    const auto rows = with_reserve([&] { return rows_of(task.messages); });
    const count_t own_rows = rows.empty() ? 0 : *std::ranges::max_element(rows) + 1;
    const auto [is_good, num_rows] = agree_on_window(task.mail.comm(), task.vote(), own_rows);
    if (!is_good || num_rows == 0) return is_good;
    put_and_take(task, rows, num_rows, message_bytes);
    return true;
}

bool fence_window::exchange_of_any_size(const exchange_task& task) {
    count_t own_most = 0;
    for (const auto& message : task.messages) own_most = std::max(own_most, message.bytes);
    const auto [is_good, most_bytes] = agree_on_window(task.mail.comm(), task.vote(), own_most);
    if (!is_good || most_bytes == 0) return is_good;
    const auto rows = with_reserve([&] { return std::vector<count_t>(task.messages.size(), 0); });
    put_and_take(task, rows, 1, most_bytes);
    return true;
}

void fence_window::put_and_take(const exchange_task& task, const std::vector<count_t>& rows,
                                count_t num_rows, count_t message_bytes) {
    const communicator& comm = task.mail.comm();
    comm.wait_for_all();
    provide(comm, num_rows, record_bytes(message_bytes));
    put(task, rows);
    take(task);
}

void fence_window::put(const exchange_task& task, const std::vector<count_t>& rows) const {
    const auto& messages = task.messages;
    const communicator& comm = task.mail.comm();
    auto records = with_reserve(
        [&] { return std::vector<std::byte>(messages.size() * unsigned_bytes(record_bytes_)); });
    insist([&] { return MPI_Win_fence(MPI_MODE_NOPRECEDE, window_.get()); });
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto& [destination, bytes, data] = messages[i];
        std::byte* const record = records.data() + i * unsigned_bytes(record_bytes_);
        const head is_there = bytes + 1;
        std::memcpy(record, &is_there, sizeof is_there);
        if (bytes > 0) std::memcpy(record + head_bytes, data, unsigned_bytes(bytes));
        const count_t place = rows[i] * comm.num_ranks() + comm.rank();
        put_bytes(window_.get(), record, head_bytes + bytes, destination, place * record_bytes_);
        task.mail.count({destination, head_bytes + bytes, data});
    }
    insist([&] { return MPI_Win_fence(MPI_MODE_NOSUCCEED, window_.get()); });
}

// Leaves zeros: nobody puts anything before all have agreed again.
void fence_window::take(const exchange_task& task) const {
    for (count_t place = 0; place < num_rows_ * num_ranks_; ++place) {
        std::byte* const record = window_.memory() + place * record_bytes_;
        head is_there = 0;
        std::memcpy(&is_there, record, sizeof is_there);
        if (is_there == 0) continue;
        const count_t bytes = is_there - 1;
        std::byte* const data = with_reserve([&] { return task.mail.arrivals().make_room(bytes); });
        if (bytes > 0) std::memcpy(data, record + head_bytes, unsigned_bytes(bytes));
        std::memset(record, 0, unsigned_bytes(head_bytes + bytes));
        with_reserve([&] {
            task.found.push_back({static_cast<rank_t>(place % num_ranks_), bytes, data});
        });
    }
}

void fence_window::provide(const communicator& comm, count_t num_rows, count_t record_bytes) {
    num_ranks_ = comm.num_ranks();
    num_rows_ = num_rows;
    record_bytes_ = record_bytes;
    const count_t bytes = num_rows * num_ranks_ * record_bytes;
    if (window_.is_open() && bytes <= window_bytes_) return;
    window_.make(comm, bytes);
    window_bytes_ = bytes;
    std::memset(window_.memory(), 0, unsigned_bytes(bytes));
}

}  // namespace crossdock

#include "fence_window_mpi.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "../base/collective_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

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

bool fence_window::exchange(mailbox& mail, const std::vector<byte_message>& messages,
                            count_t message_bytes, const error_vote& own,
                            std::vector<byte_message>& found) {
    const auto rows = with_reserve([&] { return rows_of(messages); });
    const count_t own_rows = rows.empty() ? 0 : *std::ranges::max_element(rows) + 1;
    const auto [is_good, num_rows] = agree_on_window(mail.comm(), own, own_rows);
    if (!is_good || num_rows == 0) return is_good;
    put_and_take(mail, messages, rows, num_rows, message_bytes, found);
    return true;
}

bool fence_window::exchange_of_any_size(mailbox& mail, const std::vector<byte_message>& messages,
                                        const error_vote& own, std::vector<byte_message>& found) {
    count_t own_most = 0;
    for (const auto& message : messages) own_most = std::max(own_most, message.bytes);
    const auto [is_good, most_bytes] = agree_on_window(mail.comm(), own, own_most);
    if (!is_good || most_bytes == 0) return is_good;
    const auto rows = with_reserve([&] { return std::vector<count_t>(messages.size(), 0); });
    put_and_take(mail, messages, rows, 1, most_bytes, found);
    return true;
}

void fence_window::put_and_take(mailbox& mail, const std::vector<byte_message>& messages,
                                const std::vector<count_t>& rows, count_t num_rows,
                                count_t message_bytes, std::vector<byte_message>& found) {
    mail.comm().wait_for_all();
    provide(mail.comm(), num_rows, record_bytes(message_bytes));
    put(mail, messages, rows);
    take(mail.arrivals(), found);
}

void fence_window::put(mailbox& mail, const std::vector<byte_message>& messages,
                       const std::vector<count_t>& rows) const {
    const communicator& comm = mail.comm();
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
        mail.count({destination, head_bytes + bytes, data});
    }
    insist([&] { return MPI_Win_fence(MPI_MODE_NOSUCCEED, window_.get()); });
}

// Leaves zeros: nobody puts anything before all have agreed again.
void fence_window::take(byte_inbox& memory, std::vector<byte_message>& found) const {
    for (count_t place = 0; place < num_rows_ * num_ranks_; ++place) {
        std::byte* const record = window_.memory() + place * record_bytes_;
        head is_there = 0;
        std::memcpy(&is_there, record, sizeof is_there);
        if (is_there == 0) continue;
        const count_t bytes = is_there - 1;
        std::byte* const data = with_reserve([&] { return memory.make_room(bytes); });
        if (bytes > 0) std::memcpy(data, record + head_bytes, unsigned_bytes(bytes));
        std::memset(record, 0, unsigned_bytes(head_bytes + bytes));
        with_reserve([&] {
            found.push_back({static_cast<rank_t>(place % num_ranks_), bytes, data});
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

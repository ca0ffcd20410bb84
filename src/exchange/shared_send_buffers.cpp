#include "shared_send_buffers.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t alignment = 8;  // of messages

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

struct alignas(line) send_buffer_head {
    std::atomic<std::uint64_t> round;  // that the half holds
    std::uint64_t has_more;
    agreement agreed;
};
static_assert(sizeof(send_buffer_head) == line && std::atomic<std::uint64_t>::is_always_lock_free);

std::size_t index_bytes(std::size_t num_ranks) {
    return rounded(num_ranks * sizeof(std::uint32_t), line);
}

std::size_t half_bytes(std::size_t num_ranks, std::size_t room_bytes) {
    return sizeof(send_buffer_head) + index_bytes(num_ranks) + rounded(room_bytes, line);
}

}  // namespace

// The half of a send buffer that a round uses.
class shared_send_buffers::half {
  public:
    half(std::byte* memory, std::size_t num_ranks)
        : memory_(memory), room_at_(sizeof(send_buffer_head) + index_bytes(num_ranks)) {}

    send_buffer_head& head() const { return *reinterpret_cast<send_buffer_head*>(memory_); }
    std::uint32_t* ends() const {
        return reinterpret_cast<std::uint32_t*>(memory_ + sizeof(send_buffer_head));
    }
    std::byte* room() const { return memory_ + room_at_; }
    // What is for the rank with this number.
    std::span<const std::byte> section(std::size_t rank) const {
        const std::size_t first = rank == 0 ? 0 : ends()[rank - 1];
        return {room() + first, ends()[rank] - first};
    }

  private:
    std::byte* memory_;
    std::size_t room_at_;
};

std::size_t shared_send_buffers::send_buffer_bytes(std::size_t num_ranks, std::size_t room_bytes) {
    return 2 * half_bytes(num_ranks, room_bytes);
}

shared_send_buffers::shared_send_buffers(std::vector<std::byte*> send_buffers, std::size_t here,
                                         std::size_t room_bytes)
    : send_buffers_(std::move(send_buffers)),
      here_(here),
      room_bytes_(room_bytes),
      begun_(send_buffers_.size()) {}

void shared_send_buffers::initialize() const {
    for (const std::size_t first : {std::size_t{0}, half_bytes(send_buffers_.size(), room_bytes_)})
        std::construct_at(reinterpret_cast<send_buffer_head*>(send_buffers_[here_] + first));
}

shared_send_buffers::half shared_send_buffers::half_of(std::size_t rank) const {
    const std::size_t first = round_ % 2 * half_bytes(send_buffers_.size(), room_bytes_);
    return {send_buffers_[rank] + first, send_buffers_.size()};
}

agreement shared_send_buffers::exchange(const agreement& own, std::vector<placed_envelope> messages,
                                        const room_maker& make_room,
                                        const std::function<void()>& pause,
                                        std::vector<envelope>& arrived) {
    if (!std::ranges::is_sorted(messages, {}, &placed_envelope::place))
        std::ranges::stable_sort(messages, {}, &placed_envelope::place);
    with_reserve([&] { arrived.reserve(arrived.size() + send_buffers_.size()); });
    agreement agreed = own;
    cursor done;
    bool has_more = false;
    do {
        ++round_;
        has_more = write(messages, done);
        auto& head = half_of(here_).head();
        head.has_more = has_more ? 1 : 0;
        head.agreed = own;
        head.round.store(round_, std::memory_order_release);
        for (std::size_t source = 0; source < send_buffers_.size(); ++source) {
            if (source == here_) continue;
            const auto& other = half_of(source).head();
            while (other.round.load(std::memory_order_acquire) != round_) pause();
            agreed.merge(other.agreed);
            has_more = has_more || other.has_more != 0;
            read(source, make_room, arrived);
        }
    } while (has_more);
    return agreed;
}

// Returns whether something is left for the next round.
bool shared_send_buffers::write(std::span<const placed_envelope> messages, cursor& done) const {
    const half into = half_of(here_);
    std::size_t end = 0;
    for (std::size_t rank = 0; rank < send_buffers_.size(); ++rank) {
        while (done.message < messages.size() && messages[done.message].place == rank &&
               room_bytes_ - end >= sizeof(envelope_head)) {
            const envelope& message = messages[done.message].message;
            std::byte* const data = write_value(into.room() + end, envelope_head(message));
            const auto left = static_cast<std::size_t>(carried_bytes(message)) - done.bytes;
            const std::size_t part = std::min(left, room_bytes_ - end - sizeof(envelope_head));
            if (part > 0) std::memcpy(data, message.data + done.bytes, part);
            end += rounded(sizeof(envelope_head) + part, alignment);
            done.bytes += part;
            if (part < left) break;
            done = {done.message + 1, 0};
        }
        into.ends()[rank] = static_cast<std::uint32_t>(end);
    }
    return done.message < messages.size();
}

void shared_send_buffers::read(std::size_t source, const room_maker& make_room,
                               std::vector<envelope>& arrived) {
    auto& begun = begun_[source];
    auto section = half_of(source).section(here_);
    while (!section.empty()) {
        const auto head = read_value<envelope_head>(section.data());
        const std::byte* const data = section.data() + sizeof(envelope_head);
        if (begun.bytes == 0) {
            auto& message = with_reserve(
                [&]() -> envelope& { return arrived.emplace_back(head.with(nullptr)); });
            begun.bytes = static_cast<std::size_t>(carried_bytes(message));
            begun.to = make_room(carried_bytes(message));
            message.data = begun.to;
        }
        const std::size_t part = std::min(begun.bytes, section.size() - sizeof(envelope_head));
        if (part > 0) std::memcpy(begun.to, data, part);
        begun = {begun.to + part, begun.bytes - part};
        section = section.subspan(rounded(sizeof(envelope_head) + part, alignment));
    }
}

}  // namespace crossdock

#include "crossdock/detail/stream/stream_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <string>

namespace crossdock {

namespace {

struct named_scheme {
    stream_scheme scheme;
    const char* name;
};

constexpr std::array<named_scheme, 6> scheme_names{{{stream_scheme::automatic, "auto"},
                                                    {stream_scheme::ww, "ww"},
                                                    {stream_scheme::wps, "wps"},
                                                    {stream_scheme::wsp, "wsp"},
                                                    {stream_scheme::pp, "pp"},
                                                    {stream_scheme::node, "node"}}};

}  // namespace

const char* to_string(stream_scheme scheme) noexcept {
    return std::find_if(scheme_names.begin(), scheme_names.end(),
                        [&](const named_scheme& n) { return n.scheme == scheme; })
        ->name;
}

stream_scheme stream_scheme_from_string(std::string_view name) {
    std::string lower(name);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const named_scheme& n : scheme_names) {
        if (lower == n.name) return n.scheme;
    }
    throw error(errc::invalid_argument,
                fmt::format("unknown scheme \"{}\"; there are auto, ww, wps, wsp, pp, node", name));
}

int latency_histogram::class_of(std::int64_t nanoseconds) noexcept {
    if (nanoseconds < 64) return static_cast<int>(nanoseconds);
    const int power = 63 - std::countl_zero(static_cast<std::uint64_t>(nanoseconds));  // 6 and more
    const auto step = static_cast<int>(nanoseconds >> (power - 5)) - 32;               // 0 to 31
    return 64 + 32 * (power - 6) + step;
}

// Unsigned: the last class ends at 2^63.
std::uint64_t latency_histogram::least_of(int number) noexcept {
    const auto n = static_cast<std::uint64_t>(number);
    if (n < 64) return n;
    const std::uint64_t power = (n - 64) / 32 + 6;
    return (32 + (n - 64) % 32) << (power - 5);
}

void latency_histogram::add(std::int64_t nanoseconds) noexcept {
    const std::int64_t time = std::max<std::int64_t>(nanoseconds, 0);
    ++counts_[static_cast<std::size_t>(class_of(time))];
    ++count_;
    max_nanoseconds_ = std::max(max_nanoseconds_, time);
}

void latency_histogram::add(const latency_histogram& other) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_nanoseconds_ = std::max(max_nanoseconds_, other.max_nanoseconds_);
}

double latency_histogram::quantile_seconds(double share) const noexcept {
    const auto rank = std::max<std::int64_t>(
        static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_))), 1);
    std::int64_t below = 0;
    for (int i = 0; i < num_classes; ++i) {
        below += counts_[static_cast<std::size_t>(i)];
        if (below >= rank) {
            const auto max = static_cast<std::uint64_t>(max_nanoseconds_);
            return 1e-9 * static_cast<double>(std::min(least_of(i + 1) - 1, max));
        }
    }
    return 0;
}

std::vector<latency_histogram::bucket> latency_histogram::buckets() const {
    std::vector<bucket> result;
    for (int i = 0; i < num_classes; ++i) {
        if (const std::int64_t count = counts_[static_cast<std::size_t>(i)]; count > 0) {
            result.push_back({1e-9 * static_cast<double>(least_of(i)),
                              1e-9 * static_cast<double>(least_of(i + 1)), count});
        }
    }
    return result;
}

const char* to_string(flush_cause cause) noexcept {
    constexpr std::array<const char*, num_flush_causes> names{"full",     "request", "idle", "age",
                                                              "pressure", "urgent",  "drain"};
    return names[static_cast<std::size_t>(cause)];
}

stream_statistics& stream_statistics::operator+=(const stream_statistics& other) noexcept {
    items += other.items;
    combined += other.combined;
    handled += other.handled;
    forwarded += other.forwarded;
    hops += other.hops;
    messages += other.messages;
    mpi_messages += other.mpi_messages;
    mpi_bytes += other.mpi_bytes;
    message_items += other.message_items;
    for (std::size_t i = 0; i < messages_by_cause.size(); ++i) {
        messages_by_cause[i] += other.messages_by_cause[i];
    }
    overflow_buffers += other.overflow_buffers;
    waits += other.waits;
    peak_buffers += other.peak_buffers;
    latency.add(other.latency);
    return *this;
}

}  // namespace crossdock

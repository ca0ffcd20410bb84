#include "crossdock/stream/scheme.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace crossdock {

namespace {

constexpr count_t most_bytes_of_a_worker = 1 << 20;
constexpr count_t most_bytes_of_own_buffers = 16 << 20;

struct named_scheme {
    stream_scheme scheme;
    const char* name;
};

constexpr std::array<named_scheme, 6> names{{{stream_scheme::automatic, "auto"},
                                             {stream_scheme::ww, "ww"},
                                             {stream_scheme::wps, "wps"},
                                             {stream_scheme::wsp, "wsp"},
                                             {stream_scheme::pp, "pp"},
                                             {stream_scheme::node, "node"}}};

// Buffers that one source fills.
count_t num_buffers(stream_scheme scheme, count_t num_places, int num_workers) {
    return scheme == stream_scheme::ww ? num_places * num_workers : num_places;
}

}  // namespace

const char* to_string(stream_scheme scheme) noexcept {
    return std::find_if(names.begin(), names.end(),
                        [&](const named_scheme& n) { return n.scheme == scheme; })
        ->name;
}

stream_scheme stream_scheme_from_string(std::string_view name) {
    std::string lower(name);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const named_scheme& n : names) {
        if (lower == n.name) return n.scheme;
    }
    throw error(errc::invalid_argument,
                fmt::format("unknown scheme \"{}\"; there are auto, ww, wps, wsp, pp, node", name));
}

stream_scheme choose_stream_scheme(count_t num_places, int num_workers, count_t buffer_bytes) {
    const count_t buffers = num_places * num_workers;
    if (num_workers == 1 || buffers <= most_bytes_of_a_worker / buffer_bytes) {
        return stream_scheme::ww;
    }
    return buffers <= most_bytes_of_own_buffers / buffer_bytes ? stream_scheme::wps
                                                               : stream_scheme::pp;
}

count_t max_buffered_items(stream_scheme scheme, count_t buffer_items, count_t num_places,
                           int num_workers) {
    const count_t sources = fills_together(scheme) ? 1 : num_workers;
    return buffer_items * num_buffers(scheme, num_places, num_workers) * sources;
}

message_bounds stream_message_bounds(stream_scheme scheme, count_t num_items, count_t buffer_items,
                                     count_t num_places, int num_workers) {
    const count_t full = num_items / buffer_items;
    const count_t least = full + (num_items % buffer_items == 0 ? 0 : 1);
    return {least, full + std::min(num_items, num_buffers(scheme, num_places, num_workers))};
}

}  // namespace crossdock

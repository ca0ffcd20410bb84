/// @file
/// @brief Who shares a buffer of a stream, and with whom: the schemes of the study and their costs.
#pragma once

#include <string_view>

#include "crossdock/base/types.hpp"

namespace crossdock {

/// @brief Between whom the items of one buffer travel.
///
/// With t workers in each of N processes, g items in a buffer:
///
/// | scheme | a buffer is filled by | and holds items for | who puts them into order |
/// |---|---|---|---|
/// | `ww` | one worker | one worker | nobody has to |
/// | `wps` | one worker | the workers of one process | a worker there |
/// | `wsp` | one worker | the workers of one process | the sender |
/// | `pp` | the workers of a process | the workers of one process | a worker there |
/// | `node` | the workers of a node | the workers of one node | a worker there |
///
/// @par Source
/// \cite chandrasekar2024stream, Sec. III. Differs: a worker of `pp` and `node` collects a few items
/// of its own and takes room for all of them at once, where the study takes room for each item.
enum class stream_scheme { automatic, ww, wps, wsp, pp, node };

/// @brief The scheme's name in lower case: "auto", "ww", "wps", "wsp", "pp", "node".
const char* to_string(stream_scheme scheme) noexcept;

/// @brief Reads a scheme's name, in any case.
/// @throws error(errc::invalid_argument)  no such scheme; the text lists those there are
stream_scheme stream_scheme_from_string(std::string_view name);

/// @brief Whether several workers fill one buffer.
constexpr bool fills_together(stream_scheme scheme) {
    return scheme == stream_scheme::pp || scheme == stream_scheme::node;
}

/// @brief The scheme that `automatic` stands for; the one rule, by measurement (`docs/stream.md`).
///
/// One worker to a process needs no order (`ww`), and nor do several as long as the buffers of one
/// hold no more than 1 MiB. Otherwise they take `wps`, unless the buffers of a process would then
/// hold more than 16 MiB: those share theirs (`pp`).
/// @param num_places    processes that a worker sends to in one hop
/// @param num_workers   of a process
/// @param buffer_bytes  of a full buffer
stream_scheme choose_stream_scheme(count_t num_places, int num_workers, count_t buffer_bytes);

/// @brief How many items the source buffers of one process hold at most.
///
/// Of one worker: g N t (`ww`) or g N (`wps`, `wsp`); of all workers together g N (`pp`). A node
/// has g M with M nodes, which its processes share.
/// @param scheme        not `automatic`
/// @param buffer_items  g
/// @param num_places    N, or the number of nodes for `node`; on routes of several hops the partners
/// @param num_workers   t
count_t max_buffered_items(stream_scheme scheme, count_t buffer_items, count_t num_places,
                           int num_workers);

/// @brief The bounds of the study for one source without flushes before the end.
struct message_bounds {
    count_t least;  ///< if all items go the same way
    count_t most;   ///< if every buffer ends with one that is not full
};

/// @brief How many messages `num_items` items of one source make, if only full buffers and at the
/// end partial ones are sent.
///
/// A source is a worker (`ww`, `wps`, `wsp`), a process (`pp`) or a node (`node`).
/// @pre as `max_buffered_items`
message_bounds stream_message_bounds(stream_scheme scheme, count_t num_items, count_t buffer_items,
                                     count_t num_places, int num_workers);

}  // namespace crossdock

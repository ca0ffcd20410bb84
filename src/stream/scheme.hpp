// What the schemes of a stream cost, and the choice of one.
#pragma once

#include "crossdock/detail/stream/stream_options.hpp"
#include "crossdock/machine.hpp"

namespace crossdock {

/// @brief How many items the source buffers of one process hold at most.
///
/// Of one worker: g N t (`ww`) or g N (`wps`, `wsp`); of all workers together g N (`pp`). A node
/// has g M with M nodes, which its processes share.
/// @param scheme        not `automatic`
/// @param buffer_items  g
/// @param num_endpoints N, or the number of nodes for `node`; on routes of several hops the
/// partners
/// @param num_workers   t
count_t max_buffered_items(stream_scheme scheme, count_t buffer_items, count_t num_endpoints,
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
                                     count_t num_endpoints, int num_workers);

/// @brief What a stream looks like to the choice of its scheme.
struct stream_shape {
    count_t num_endpoints = 1;  ///< N: processes that a worker sends to in one hop
    int num_workers = 1;        ///< t, of a process
    count_t buffer_items = 1;   ///< g
    count_t item_bytes = 8;     ///< m
};

/// @brief The buffers that one worker fills in `ww` may hold as much as the cache of its core: 1
/// MiB, which is the size of the second level on the processors of the described machines, or half
/// of it.
inline constexpr count_t most_bytes_of_a_worker = 1 << 20;

/// @brief The buffers of a process in `wps` may hold as much as its part of a processor's last
/// level of cache: 16 MiB.
inline constexpr count_t most_bytes_of_a_process = 16 << 20;

/// @brief The scheme that `automatic` stands for: the cheapest of `ww`, `wps` and `pp` whose
/// buffers are small enough.
///
/// For a worker that pushes g N items to workers drawn at random, between two flushes:
///
/// | scheme | buffers, at most | messages | an item waits for | copies besides | hand-overs |
/// |---|---|---|---|---|---|
/// | `ww` | g m N t of a worker, 1 MiB | N t | g N t / 2 items of its worker | | |
/// | `wps` | g m N t of a process, 16 MiB | N | g N / 2 | 1, into order | (t - 1) N of buffers |
/// | `pp` | g m N of a process | N | g N / (2 t) | 1, into order | as `wps`, 1 for 512 bytes |
///
/// How long items wait has no price here, as `flush_on_idle` and `max_age_seconds` bound it. If the
/// buffers of all schemes are too large, it is `pp`, which has the smallest. With one worker to a
/// process it is `ww`, which does then what the others do.
/// Source: \cite chandrasekar2024stream, Sec. III, for messages and waiting. Differs: prices instead of
/// counts, and limits for what stays in the caches.
stream_scheme choose_stream_scheme(const stream_shape& shape, const machine& m = default_machine());

}  // namespace crossdock

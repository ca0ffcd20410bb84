/// @file
/// @brief The words in which ranks tell each other of references and access requests.
///
/// Decoding throws error(errc::internal) on words that no encoder has made for this rank.
#pragma once

#include <cstdint>
#include <vector>

#include "access_request.hpp"

namespace crossdock {

/// @brief Appends a run as two words for each 2^24 - 1 items.
///
///     bits 63...33  buffer    32  is an input    31...0  section
///     bits 63...24  slot                         23...0  length
void encode(std::vector<std::int64_t>& words, const reference_run& run);

/// @brief The runs of a message; what was one run may come as several.
/// @param num_buffers  ranks of the domain
/// @param num_items    of the message
std::vector<reference_run> decode_references(const std::vector<std::int64_t>& words,
                                             int num_buffers, count_t num_items);

/// @brief The words of a request.
///
///     is reader
///     number of writes; for each: counter, sender, number of runs; for each run: from, to, length
///     number of sends; for each: its ten numbers
///     number of receives; for each: its ten numbers
///     for each copy: first, length
std::vector<std::int64_t> encode(const access_request& request);

/// @brief The request that a rank of the domain has made.
/// @param asking       that rank; the stripes lie in its buffer
/// @param num_buffers  ranks of the domain
/// @param own_items    the slots in which this rank has announced its own items
access_request decode_access_request(const std::vector<std::int64_t>& words, buffer_number asking,
                                     int num_buffers, const slot_range& own_items);

}  // namespace crossdock

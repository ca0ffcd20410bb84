#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "../base/collective_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"
#include "../context/named_context_mpi.hpp"
#include "algorithms_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/exchange/exchange_rules.hpp"
#include "exchange_words_mpi.hpp"

namespace crossdock {

namespace {

constexpr count_t block_bytes = count_t{1} << 14;
constexpr count_t most_message_bytes = std::numeric_limits<int>::max();

exchange_options with_defaults(exchange_options options) {
    if (options.max_message_bytes == 0)
        options.max_message_bytes = exchange_options{}.max_message_bytes;
    return options;
}

// What is wrong with what all ranks gave alike.
void check_common(const context& where, const exchange_options& options) {
    where.comm().require_open();
    check_sizes(where);
    if (options.max_message_bytes < 1 || options.max_message_bytes > most_message_bytes) {
        throw_error(errc::invalid_argument, "max_message_bytes is {}, outside [1, {}]",
                    options.max_message_bytes, most_message_bytes);
    }
    if (options.max_forwarded_bytes.value_or(0) < 0) {
        throw_error(errc::invalid_argument, "max_forwarded_bytes is {}; the minimum is 0",
                    *options.max_forwarded_bytes);
    }
}

// Whether all ranks gave the same.
void compare_common(const context& where, const exchange_options& options) {
    const auto list = [&](named_values& values) {
        values.add("algorithm", options.algorithm)
            .add("max_message_bytes", options.max_message_bytes)
            .add("max_forwarded_bytes", options.max_forwarded_bytes.value_or(-1));
        add_context(values, where);
    };
    agree(where, std::nullopt,
          with_reserve([&] { return equal_arguments("a sparse exchange", list); }));
}

std::string shape_text(count_t items_per_message, count_t item_bytes) {
    return items_per_message < 0
               ? fmt::format("any number of values of {} bytes per message", item_bytes)
               : fmt::format("{} values of {} bytes per message", items_per_message, item_bytes);
}

void check_shape(const communicator& comm, const message_shape& shape) {
    const count_t num_items = shape.items_per_message.value_or(0);
    if (shape.item_bytes >= 1 && num_items >= 0 &&
        num_items <= std::numeric_limits<count_t>::max() / shape.item_bytes) {
        return;
    }
    throw_error_of(comm.rank(), errc::invalid_argument,
                   "rank {} sends {}; the minimum is 0 values of 1 byte", comm.rank(),
                   shape_text(shape.items_per_message.value_or(-1), shape.item_bytes));
}

void check_message(const communicator& comm, const message_shape& shape,
                   const byte_message& message) {
    const auto& [destination, bytes, data] = message;
    const rank_t rank = comm.rank();
    check_sized_message(rank, destination, bytes, comm.num_ranks());
    const bool has_whole_items = bytes % shape.item_bytes == 0;
    const count_t num_items = bytes / shape.item_bytes;
    if (!has_whole_items || num_items != shape.items_per_message.value_or(num_items)) {
        throw_error_of(rank, errc::invalid_argument,
                       "the message of rank {} to rank {} has {} bytes, which is not {}", rank,
                       destination, bytes,
                       shape_text(shape.items_per_message.value_or(-1), shape.item_bytes));
    }
    if (bytes > 0 && data == nullptr) {
        throw_error_of(rank, errc::invalid_argument,
                       "the message of rank {} to rank {} has {} bytes, but its data is a "
                       "null pointer",
                       rank, destination, bytes);
    }
}

constexpr const char* does_not_add_up =
    "the known numbers of sources do not add up to the messages that are sent";

void check_num_sources(const communicator& comm, const bytes_to_send& to_send,
                       const exchange_options& options) {
    if (!options.num_sources) return;
    if (*options.num_sources < 0) {
        throw_error_of(comm.rank(), errc::invalid_argument,
                       "rank {} expects {} messages; the minimum is 0", comm.rank(),
                       *options.num_sources);
    }
    const auto num_own =
        std::count_if(to_send.messages.begin(), to_send.messages.end(),
                      [&](const auto& message) { return message.peer == comm.rank(); });
    if (*options.num_sources < num_own)
        throw error(errc::count_mismatch, does_not_add_up, comm.rank());
}

std::optional<error> find_fault(const communicator& comm, const bytes_to_send& to_send,
                                const exchange_options& options,
                                const exchange_algorithm& algorithm) {
    if (to_send.fault && to_send.fault->rank() >= 0) return to_send.fault;
    std::optional<error> fault;
    attempt(comm.rank(), fault, [&] {
        if (to_send.fault) {
            throw_error_of(comm.rank(), to_send.fault->code(), "rank {}: {}", comm.rank(),
                           to_send.fault->what());
        }
        if (takes_one_size_only(algorithm.method) && !to_send.shape.items_per_message) {
            throw_error_of(comm.rank(), errc::invalid_argument,
                           "the algorithm {} exchanges messages of one size only; take auto",
                           to_string(algorithm));
        }
        check_shape(comm, to_send.shape);
        for (const auto& message : to_send.messages) check_message(comm, to_send.shape, message);
        check_num_sources(comm, to_send, options);
    });
    return fault;
}

// Counts what is sent to each rank, and compares with the numbers that are said to be known. With a fault anywhere
// nothing is: of that the exchange itself tells all ranks.
void check_known_numbers(const communicator& comm, const bytes_to_send& to_send,
                         const std::optional<error>& fault, const exchange_options& options) {
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    // Behind the ranks: how many have a fault, and how many know their number.
    auto sums = with_reserve([&] { return std::vector<count_t>(num_ranks + 2); });
    sums[num_ranks] = fault ? 1 : 0;
    sums[num_ranks + 1] = options.num_sources ? 1 : 0;
    if (!fault) {
        for (const auto& message : to_send.messages) ++sums[static_cast<std::size_t>(message.peer)];
    }
    allreduce(comm, sums.data(), sums.size(), MPI_INT64_T, MPI_SUM);
    if (sums[num_ranks] > 0 || sums[num_ranks + 1] == 0) return;
    std::optional<error> wrong;
    const count_t num_sent = sums[static_cast<std::size_t>(comm.rank())];
    if (!options.num_sources) {
        wrong.emplace(errc::count_mismatch,
                      fmt::format("rank {} gives no number of sources, but others do; give it on "
                                  "all ranks or on none",
                                  comm.rank()),
                      comm.rank());
    } else if (*options.num_sources != num_sent) {
        wrong.emplace(errc::count_mismatch,
                      fmt::format("rank {} expects {} messages, but {} are sent to it; correct its "
                                  "number of sources, or leave the numbers out on all ranks",
                                  comm.rank(), *options.num_sources, num_sent),
                      comm.rank());
    }
    agree(comm, wrong);
}

// Says on all ranks what the fault is that all have agreed on.
[[noreturn]] void throw_agreed(const communicator& comm, const std::optional<error>& fault,
                               const error_vote& own, const equal_arguments& same) {
    agree(comm, fault, same);
    auto first = own.shape;
    run_collective(comm, [&](MPI_Request* broadcast) {
        return MPI_Ibcast(first.data(), static_cast<int>(first.size()), MPI_INT64_T, 0, comm.get(),
                          broadcast);
    });
    std::optional<error> difference;
    attempt(comm.rank(), difference, [&] {
        if (first == own.shape) return;
        throw_error_of(comm.rank(), errc::count_mismatch,
                       "rank {} sends {}, rank 0 {}; give all ranks the same", comm.rank(),
                       shape_text(own.shape[0], own.shape[1]), shape_text(first[0], first[1]));
    });
    agree(comm, difference);
    throw error(errc::count_mismatch, does_not_add_up);
}

// Where messages may have any length, a number of items below 0 says so, and which one says the
// hash.
error_vote vote_of(const message_shape& shape, bool has_fault, const equal_arguments& same,
                   std::uint32_t bits) {
    return {
        has_fault, {shape.items_per_message.value_or(-1 - same.hash()), shape.item_bytes}, bits};
}

// Copies what goes to the rank itself, and leaves the rest.
std::vector<byte_message> keep_own(const std::vector<byte_message>& messages, rank_t rank,
                                   byte_inbox& inbox) {
    std::vector<byte_message> others;
    others.reserve(messages.size());
    for (const auto& message : messages) {
        if (message.peer != rank) {
            others.push_back(message);
            continue;
        }
        std::byte* const copy = inbox.make_room(message.bytes);
        if (message.bytes > 0)
            std::memcpy(copy, message.data, static_cast<std::size_t>(message.bytes));
        inbox.add({rank, message.bytes, copy});
    }
    return others;
}

// The algorithm as a function, ready to run.
// @param message_bytes  of every message, for algorithms that take one size only
exchange_function function_of(const exchange_algorithm& algorithm, const context& where,
                              exchange_state& state, count_t message_bytes,
                              count_t max_forwarded_bytes) {
    auto& memory = state.memory(where);
    const auto by_region = [&](const exchange_function& across) -> exchange_function {
        const kept_route& inside = state.inside_region(where);
        return [&inside, across](const exchange_task& task) {
            return exchange_by_region(task, inside, across);
        };
    };
    switch (algorithm.method) {
        case exchange_method::personalized: return exchange_by_allreduce;
        case exchange_method::reduce_scatter: return exchange_by_reduce_scatter;
        case exchange_method::nonblocking: return exchange_by_consensus;
        case exchange_method::locality_personalized: return by_region(exchange_by_allreduce);
        case exchange_method::locality_nonblocking: return by_region(exchange_by_consensus);
        case exchange_method::locality_rma:
            return by_region([&memory](const exchange_task& task) {
                return memory.between_fences.exchange_of_any_size(task);
            });
        case exchange_method::rma:
            return [&memory, message_bytes](const exchange_task& task) {
                return memory.window.exchange(task, message_bytes);
            };
        case exchange_method::rma_fence:
            return [&memory, message_bytes](const exchange_task& task) {
                return memory.between_fences.exchange(task, message_bytes);
            };
        case exchange_method::shared_memory: {
            auto& send_buffers = memory.make_send_buffers(where.comm());
            return [&memory, &send_buffers, max_forwarded_bytes](const exchange_task& task) {
                return exchange_by_node(task, memory.nodes, send_buffers, max_forwarded_bytes);
            };
        }
        case exchange_method::routed: break;
    }
    const kept_route& way = state.over_all(algorithm.route, where);
    return [&way, max_forwarded_bytes](const exchange_task& task) {
        return exchange_routed(task, way, max_forwarded_bytes);
    };
}

}  // namespace

count_t byte_inbox::num_bytes() const noexcept {
    return std::accumulate(messages_.begin(), messages_.end(), count_t{0},
                           [](count_t sum, const auto& one) { return sum + one.bytes; });
}

void byte_inbox::copy_to(std::byte* to) const {
    for (const auto& message : messages_) {
        if (message.bytes > 0)
            std::memcpy(to, message.data, static_cast<std::size_t>(message.bytes));
        to += message.bytes;
    }
}

std::byte* byte_inbox::make_room(count_t bytes) {
    const auto allocate = [&](count_t num_bytes) {
        return blocks_.emplace_back(static_cast<std::size_t>(num_bytes), memory_).data();
    };
    if (bytes > block_bytes / 4) return allocate(bytes);
    constexpr count_t alignment = alignof(std::max_align_t);
    const count_t padded = (bytes + alignment - 1) / alignment * alignment;
    if (free_ == nullptr || padded > num_free_bytes_) {
        free_ = allocate(block_bytes);
        num_free_bytes_ = block_bytes;
    }
    num_free_bytes_ -= padded;
    return std::exchange(free_, free_ + padded);
}

void byte_inbox::sort_by_source() {
    if (!std::ranges::is_sorted(messages_, {}, &byte_message::peer))
        std::ranges::stable_sort(messages_, {}, &byte_message::peer);
}

namespace {

// All is waiting, as algorithms pack and send on the way.
void note_in(exchange_watch& watch, const exchange_algorithm& algorithm,
             const exchange_traffic& sent, bool is_auto) {
    auto& object = watch.object();
    object.objects = 1;
    object.why = is_auto ? "estimated" : "given";
    with_reserve([&] { object.route = to_string(algorithm); });
    watch.change(activity::waiting);
    watch.note_started();
    watch.finish({sent.messages, sent.message_bytes, sent.inter_region_messages,
                  sent.inter_region_message_bytes});
}

// What this rank alone fails with when all have agreed is thrown, unless it is wanted as `late`.
byte_inbox exchange(const context& where, const bytes_to_send& to_send,
                    const exchange_options& given_options, memory_wish wish,
                    std::optional<error>* late = nullptr, std::uint32_t* bits = nullptr) {
    memory_reserve::keep();
    const auto& comm = where.comm();
    const auto options = with_reserve([&] { return with_defaults(given_options); });
    with_reserve([&] { check_common(where, options); });
    auto& state = comm.resource<exchange_state>();
    const bool is_of_user = wish != memory_wish::never;
    const auto watch =
        is_of_user ? state.records().new_watch("sparse exchange", options.name, {}) : nullptr;
    std::optional<collective_call> collective;
    if (is_of_user) collective.emplace("a sparse exchange", comm);
    const watched_start now(watch.get());
    if (state.checks()) compare_common(where, options);
    const bool is_one_size = to_send.shape.items_per_message.has_value();
    const auto algorithm = state.resolve(options.algorithm, where, is_one_size, wish);
    const bool is_auto = options.algorithm == "auto";
    const count_t max_forwarded_bytes = options.max_forwarded_bytes.value_or(
        is_auto ? auto_max_forwarded_bytes : std::numeric_limits<count_t>::max());
    auto fault = find_fault(comm, to_send, options, algorithm);
    if (state.checks()) check_known_numbers(comm, to_send, fault, options);

    byte_inbox inbox;
    std::vector<byte_message> others;
    attempt(comm.rank(), fault, [&] { others = keep_own(to_send.messages, comm.rank(), inbox); });
    if (fault) inbox = byte_inbox();
    const auto num_own = static_cast<count_t>(inbox.messages().size());
    const count_t message_bytes =
        fault ? 0 : to_send.shape.items_per_message.value_or(0) * to_send.shape.item_bytes;
    const auto run = with_reserve(
        [&] { return function_of(algorithm, where, state, message_bytes, max_forwarded_bytes); });
    const auto own =
        vote_of(to_send.shape, fault.has_value(), to_send.same, bits == nullptr ? 0 : *bits);
    mailbox mail(comm, where.topology(), options.max_message_bytes, inbox);
    std::uint32_t common_bits = 0;
    std::vector<byte_message> found;
    exchange_task task{
        mail, state.next_tags(), std::move(others), own, options.num_sources, fault, common_bits,
        found};
    if (task.num_sources) *task.num_sources -= num_own;

    if (!run(task)) throw_agreed(comm, fault, own, to_send.same);
    if (bits != nullptr) *bits = common_bits;
    task.note_fault_of([&] { with_reserve([&] { inbox.add(found); }); });
    if (fault && late == nullptr) throw *fault;
    if (fault) *late = fault;
    if (options.order == message_order::by_source) inbox.sort_by_source();
    if (options.sent != nullptr) *options.sent = mail.sent();
    if (watch) note_in(*watch, algorithm, mail.sent(), is_auto);
    return inbox;
}

}  // namespace

byte_inbox exchange_bytes(const context& where, const bytes_to_send& to_send,
                          const exchange_options& options) {
    return exchange(where, to_send, options, memory_wish::when_it_pays);
}

exchange_algorithm resolve_exchange_algorithm(const context& where, const std::string& name,
                                              bool is_one_size) {
    check_sizes(where);
    return where.comm().resource<exchange_state>().resolve(name, where, is_one_size,
                                                           memory_wish::at_once);
}

std::vector<word_message> exchange_words(const communicator& comm, const topology& regions,
                                         const std::vector<word_message>& to_send,
                                         const std::optional<error>& fault,
                                         const equal_arguments& same, std::optional<error>* late,
                                         std::uint32_t* bits) {
    bytes_to_send bytes{{}, {word_bytes, std::nullopt}, fault, same};
    attempt(comm.rank(), bytes.fault, [&] {
        bytes.messages.reserve(to_send.size());
        for (const auto& message : to_send) bytes.messages.push_back(bytes_of(message));
    });
    const auto where = with_reserve([&] { return context(comm, regions); });
    const auto inbox = exchange(where, bytes, {}, memory_wish::never, late, bits);
    std::vector<word_message> words;
    std::optional<error> failed;
    attempt(comm.rank(), failed, [&] { words = words_of(inbox); });
    if (failed && late == nullptr) throw *failed;
    if (failed) *late = failed;
    return words;
}

}  // namespace crossdock

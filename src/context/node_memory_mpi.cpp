#include "node_memory_mpi.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "../base/collective_mpi.hpp"
#include "../base/rank_fault_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../model/machine_mpi.hpp"
#include "../topology/nodes_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

constexpr std::size_t least_window_bytes = std::size_t{1} << 16;

// The next multiple of the alignment.
std::size_t in_lines(std::size_t bytes) {
    constexpr std::size_t line = shared_window::alignment;
    return (bytes + line - 1) / line * line;
}

// What Linux lets processes share at most; without limit where that is unknown.
std::uint64_t free_shared_bytes() {
    struct statvfs found {};
    if (statvfs("/dev/shm", &found) != 0) return std::numeric_limits<std::uint64_t>::max();
    return std::uint64_t{found.f_bavail} * found.f_frsize;
}

// Asked beforehand: where it does not suffice, Open MPI 4.1 returns to one process of the node
// only.
void check_room(MPI_Comm node, std::uint64_t bytes) {
    // The sum of all, and what the first of them finds free.
    int rank = 0;
    insist([&] { return MPI_Comm_rank(node, &rank); });
    std::array<std::uint64_t, 2> sums{bytes, rank == 0 ? free_shared_bytes() : 0};
    insist(
        [&] { return MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_UINT64_T, MPI_SUM, node); });
    if (sums[0] <= sums[1]) return;
    throw_error(errc::out_of_memory,
                "the ranks of a node want {} bytes of shared memory, but {} are free; "
                "enlarge /dev/shm or share less",
                sums[0], sums[1]);
}

// Ends on all processes of the node if one has failed.
void require_success(MPI_Comm node, bool is_usable, std::size_t bytes, MPI_Win& window) {
    std::array<int, 2> is_missing{is_usable ? 0 : 1, window != MPI_WIN_NULL ? 0 : 1};
    insist(
        [&] { return MPI_Allreduce(MPI_IN_PLACE, is_missing.data(), 2, MPI_INT, MPI_MAX, node); });
    if (is_missing[0] == 0) return;
    if (is_missing[1] == 0) insist_quietly([&] { return MPI_Win_free(&window); });
    throw_error(errc::out_of_memory,
                "MPI cannot allocate {} bytes of memory for the ranks of a node to share", bytes);
}

// Memory that nobody has written to is not taken from what is free, and whoever writes to it when
// nothing is left is killed. So it is taken at once.
void take_pages(std::byte* memory, std::size_t bytes) {
    constexpr std::size_t least_page_bytes = 4096;
    for (std::size_t at = 0; at < bytes; at += least_page_bytes) memory[at] = std::byte{0};
    std::fill_n(memory, std::min(bytes, least_page_bytes), std::byte{0});
}

// Where the piece of each process begins.
std::vector<std::byte*> pieces_of(MPI_Comm node, MPI_Win window, std::size_t alignment) {
    int num_processes = 0;
    insist([&] { return MPI_Comm_size(node, &num_processes); });
    std::vector<std::byte*> pieces;
    for (int process = 0; process < num_processes; ++process) {
        MPI_Aint piece_bytes = 0;
        int unit = 0;
        void* base = nullptr;
        insist([&] {
            return MPI_Win_shared_query(window, process, &piece_bytes, &unit,
                                        static_cast<void*>(&base));
        });
        auto room = static_cast<std::size_t>(piece_bytes);
        pieces.push_back(static_cast<std::byte*>(std::align(alignment, 1, base, room)));
    }
    return pieces;
}

}  // namespace

// A window that not all processes have is left to MPI_Finalize: to free it takes all of them.
shared_window::shared_window(MPI_Comm node, std::size_t bytes) {
    // MPI aligns as it likes. With multiples of it, all are out of line alike.
    const std::size_t whole = in_lines(bytes) + alignment;
    check_room(node, whole);
    void* own = nullptr;
    bool is_usable = true;
    try {
        insist([&] {
            return MPI_Win_allocate_shared(static_cast<MPI_Aint>(whole), 1, MPI_INFO_NULL, node,
                                           static_cast<void*>(&own), &window_);
        });
        insist([&] { return MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN); });
        take_pages(static_cast<std::byte*>(own), whole);
        pieces_ = pieces_of(node, window_, alignment);
    } catch (...) {
        is_usable = false;
    }
    require_success(node, is_usable, whole, window_);
}

void shared_window::free() {
    if (window_ != MPI_WIN_NULL) insist([this] { return MPI_Win_free(&window_); });
    pieces_.clear();
}

node_memory::node_memory(const communicator& node, memory_domain domain)
    : domain_(std::move(domain)),
      said_(static_cast<std::size_t>(domain_.size())),
      heard_(said_.size()),
      comm_(node) {}

std::shared_ptr<node_memory> node_memory::make(const communicator& whole, const topology& nodes) {
    const communicator node = whole.split(nodes.region_of(whole.rank()));
    return with_reserve(
        [&] { return std::make_shared<node_memory>(node, memory_domain(nodes, whole.rank())); });
}

std::size_t node_memory::post_bytes() const {
    return in_lines(2 * (sizeof(std::uint64_t) + said_.size() * sizeof(two_words)));
}

node_memory::post node_memory::post_of(std::size_t number) const {
    std::byte* const begin = windows_[0].pieces()[number];
    const std::size_t half = num_exchanges_ % 2;
    auto* const numbers = reinterpret_cast<std::uint64_t*>(begin);
    auto* const words = reinterpret_cast<two_words*>(numbers + 2);
    return {numbers[half], words + half * said_.size()};
}

// Until there is shared memory by messages, the same words to all.
void node_memory::exchange_said() {
    ++num_exchanges_;
    if (!has_memory()) {
        return run_collective(comm_, [&](MPI_Request* request) {
            return MPI_Iallgather(said_.data(), 2, MPI_INT64_T, heard_.data(), 2, MPI_INT64_T,
                                  comm_.get(), request);
        });
    }
    const auto here = static_cast<std::size_t>(domain_.here().value());
    const auto own = post_of(here);
    std::ranges::copy(said_, own.words);
    std::atomic_ref(own.exchange).store(num_exchanges_, std::memory_order_release);
    for (std::size_t k = 0; k < heard_.size(); ++k) {
        const auto other = post_of(k);
        const std::atomic_ref exchange(other.exchange);
        for (int looks = 1; exchange.load(std::memory_order_acquire) != num_exchanges_; ++looks) {
            if (looks % looks_at_memory == 0) comm_.progress();
            pause_wait();
        }
        heard_[k] = other.words[here];
    }
}

bool node_memory::hears_refusal() {
    const auto found =
        std::ranges::find(heard_, refuses, [](const auto& words) { return words[0]; });
    if (found == heard_.end()) return false;
    ++num_refusals_;
    refusing_rank_ = domain_.rank_at(buffer_number(static_cast<int>(found - heard_.begin())));
    return true;
}

void node_memory::refuse() {
    std::ranges::fill(said_, two_words{refuses, 0});
    exchange_said();
}

const std::vector<two_words>& node_memory::exchange_words(std::span<const two_words> own,
                                                          const std::optional<error>& fault) {
    if (fault) {
        refuse();
        hears_refusal();
        throw *fault;
    }
    std::ranges::copy(own, said_.begin());
    exchange_said();
    if (hears_refusal()) throw peer_stopped();
    return heard_;
}

std::vector<std::byte*> node_memory::share(std::size_t bytes,
                                           const std::function<void(std::byte*)>& initialize) {
    ++num_shares_;
    bytes = in_lines(bytes);
    std::vector<std::byte*> buffers;
    std::optional<range> own;
    std::optional<error> fault;
    while (true) {
        two_words mine{has_none, 0};
        attempt(domain_.rank_at(domain_.here()), fault, [&] {
            taken_.reserve(taken_.size() + 1);
            free_.reserve(free_.size() + 2);
            windows_.reserve(windows_.size() + 2);
            buffers.reserve(heard_.size());
            if (!own) own = take(bytes);
            if (!own) return;
            initialize(address(domain_.here(), own->window, own->first));
            mine = {static_cast<std::int64_t>(own->window), static_cast<std::int64_t>(own->first)};
        });
        if (fault) mine[0] = refuses;
        std::ranges::fill(said_, mine);
        exchange_said();
        if (hears_refusal()) {
            if (own) put_back(*own);
            if (fault) throw *fault;
            throw peer_stopped();
        }
        const auto has_any = [](const two_words& place) { return place[0] != has_none; };
        if (std::ranges::all_of(heard_, has_any)) break;
        try {
            if (const auto* const one = suspension::current();
                one != nullptr && !one->may_make_communicators())
                throw error(errc::out_of_memory,
                            "shared memory cannot grow inside an intercepted call");
            comm_.wait_for_all();
            grow_by(own ? 0 : bytes);
        } catch (...) {
            if (own) put_back(*own);
            throw node_failure(current_error());
        }
    }
    taken_.push_back(*own);
    for (const auto& [window, first] : heard_) {
        const buffer_number owner(static_cast<int>(buffers.size()));
        buffers.push_back(
            address(owner, static_cast<std::size_t>(window), static_cast<std::size_t>(first)));
    }
    return buffers;
}

// The smallest free range that suffices.
std::optional<node_memory::range> node_memory::take(std::size_t bytes) {
    reuse_returned();
    auto best = free_.end();
    for (auto one = free_.begin(); one != free_.end(); ++one) {
        if (one->bytes >= bytes && (best == free_.end() || one->bytes < best->bytes)) best = one;
    }
    if (best == free_.end()) return std::nullopt;
    const range result{best->window, best->first, bytes};
    best->first += bytes;
    best->bytes -= bytes;
    if (best->bytes == 0) free_.erase(best);
    return result;
}

void node_memory::put_back(const range& freed) {
    range whole = freed;
    std::erase_if(free_, [&](const range& other) {
        if (other.window != whole.window) return false;
        if (other.first + other.bytes == whole.first) {
            whole.first = other.first;
        } else if (whole.first + whole.bytes != other.first) {
            return false;
        }
        whole.bytes += other.bytes;
        return true;
    });
    free_.push_back(whole);
}

void node_memory::reuse_returned() {
    std::erase_if(returned_, [&](const returned_range& one) {
        if (!one.is_unused()) return false;
        put_back(one.where);
        return true;
    });
}

// Adds a window that is larger than needed, so that windows are few. If there is not that much
// memory, adds a window of just the size that is needed.
void node_memory::grow_by(std::size_t own_bytes) {
    try {
        grow(own_bytes == 0 ? 0 : std::max({own_bytes, own_bytes_, least_window_bytes}));
    } catch (const error& failure) {
        if (failure.code() != errc::out_of_memory) throw;
        grow(own_bytes);
    }
}

void node_memory::grow(std::size_t bytes) {
    const std::size_t first = windows_.empty() ? post_bytes() : 0;
    windows_.emplace_back(comm_.get(), first + bytes);
    own_bytes_ += bytes;
    if (bytes > 0) free_.push_back({windows_.size() - 1, first, bytes});
}

void node_memory::give_back(std::byte* own, std::function<bool()> is_unused) {
    const auto found = std::find_if(taken_.begin(), taken_.end(), [&](const range& taken) {
        return address(domain_.here(), taken.window, taken.first) == own;
    });
    if (found == taken_.end()) return;  // closed
    returned_.push_back({*found, std::move(is_unused)});
    taken_.erase(found);
}

void node_memory::close() {
    returned_.clear();
    taken_.clear();
    free_.clear();
    for (auto& window : windows_) window.free();
    windows_.clear();
    comm_.close();
}

memory_piece::memory_piece(std::shared_ptr<node_memory> memory, std::size_t bytes,
                           const std::function<void(std::byte*)>& initialize) {
    if (memory && memory->domain().is_shared()) {
        all_ = memory->share(bytes, initialize);
        own_ = all_[static_cast<std::size_t>(memory->domain().here().value())];
        memory_ = std::move(memory);
        return;
    }
    void* const made = ::operator new (bytes, std::align_val_t{shared_window::alignment});
    private_.reset(static_cast<std::byte*>(made));
    all_ = {own_ = private_.get()};
    initialize(own_);
}

void memory_piece::give_back(std::function<bool()> is_unused) {
    private_.reset();
    if (memory_) memory_->give_back(own_, std::move(is_unused));
    memory_.reset();
}

const std::shared_ptr<node_memory>& node_memories::of(const communicator& comm,
                                                      const std::optional<topology>& nodes) {
    for (const auto& known : entries_) {
        if (known.nodes == nodes) return known.memory;
    }
    machine_of(comm);  // before there are parts, which have it from here
    nodes_of(comm);
    const topology found = with_reserve([&] { return nodes_of(comm, nodes); });
    comm.wait_for_all();
    const auto made = node_memory::make(comm, found);
    return with_reserve([&]() -> auto& {
        return entries_.emplace_back(entry{nodes, made}).memory;
    });
}

void node_memories::close() {
    for (const auto& known : entries_) known.memory->close();
    entries_.clear();
}

}  // namespace crossdock

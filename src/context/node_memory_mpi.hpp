/// @file
/// @brief The memory in which the ranks of a node hand each other their items.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "../topology/memory_domain.hpp"
#include "crossdock/communicator.hpp"
#include "crossdock/topology.hpp"

namespace crossdock {

/// @brief A piece of memory of each process of a node, which all of them can read and write.
///
/// The system gives it back when the last process ends, however it ends. The destructor does not
/// communicate: a window that was not freed is left to MPI_Finalize.
class shared_window {
  public:
    static constexpr std::size_t alignment = 64;

    shared_window() = default;

    /// @brief Allocates this process's piece, and finds those of the others.
    /// @param node   processes that can share memory, with MPI_ERRORS_RETURN
    /// @param bytes  may differ between processes
    ///
    /// The memory is taken from the system at once, not where it is first written to. The first `alignment` bytes of a
    /// piece are 0.
    /// @throws error(errc::out_of_memory)  the system has not so much left, or MPI cannot allocate
    /// it; on all processes of the node
    /// @par Collective
    /// Yes, over `node`; blocks.
    shared_window(MPI_Comm node, std::size_t bytes);

    /// @brief The pieces of all processes, in the order of their ranks in `node`; aligned.
    const std::vector<std::byte*>& pieces() const noexcept { return pieces_; }

    /// @brief Gives the memory back.
    /// @par Collective
    /// Yes, over the node; blocks.
    void free();

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    std::vector<std::byte*> pieces_;
};

/// @brief What one rank says to another one.
using two_words = std::array<std::int64_t, 2>;

/// @brief What all ranks of a domain have failed with.
struct node_failure : error {
    explicit node_failure(const error& failure) : error(failure) {}
};

/// @brief The ranks of a communicator that share memory with this one, and that memory.
///
/// The memory is MPI windows. A window is added when the free memory does not suffice. Memory that
/// is given back is used again, so windows are few, however many exchanges are set up.
class node_memory {
  public:
    /// @param node    the ranks of `domain`, in its order; closed by `close()`
    node_memory(const communicator& node, memory_domain domain);

    /// @brief The memory of this rank's domain.
    /// @param whole  divided into domains
    /// @param nodes  each of its regions is one
    /// @par Collective
    /// Yes, over `whole`; blocks.
    static std::shared_ptr<node_memory> make(const communicator& whole, const topology& nodes);

    /// @brief The communicator in which a rank's number in the domain is its rank.
    const communicator& comm() const noexcept { return comm_; }
    const memory_domain& domain() const noexcept { return domain_; }

    /// @brief Allocates memory of each rank that all of them can use.
    /// @param bytes       for this rank; may differ between ranks
    /// @param initialize  called with this rank's memory before others know of it
    /// @return the memory of each, by number; aligned to 64 bytes
    /// @par Collective
    /// Yes, over the domain; waits, and makes progress on all work meanwhile.
    /// @throws node_failure  on all ranks of the domain: errc::out_of_memory
    /// @throws peer_stopped  another rank has refused
    /// @throws error  this rank has failed, and refused
    std::vector<std::byte*> share(std::size_t bytes,
                                  const std::function<void(std::byte*)>& initialize);

    /// @brief In place of `share`, on a rank that has failed before: it fails on all.
    /// @par Collective
    /// As `share`.
    void refuse();

    /// @brief Whether there is any memory that is shared; equal on all ranks of the domain.
    bool has_memory() const noexcept { return !windows_.empty(); }

    /// @brief Says two words to each rank of the domain; the first is -1 or more.
    /// @param own    by number
    /// @param fault  what this rank has failed with: it says nothing
    /// @return what each has said to this rank, by number; until the next call
    /// @pre has_memory()
    /// @par Collective
    /// As `share`.
    /// @throws error  what this rank has failed with
    /// @throws peer_stopped  another rank has failed
    const std::vector<two_words>& exchange_words(std::span<const two_words> own,
                                                 const std::optional<error>& fault);

    /// @brief How often `share` was called, and how often a rank has refused.
    int num_shares() const noexcept { return num_shares_; }
    int num_refusals() const noexcept { return num_refusals_; }
    /// @brief The rank that has refused last.
    rank_t refusing_rank() const noexcept { return refusing_rank_; }

    /// @brief Gives this rank's memory back, from which others may still read.
    /// @param is_unused  whether all have read it; called later, when memory is wanted
    void give_back(std::byte* own, std::function<bool()> is_unused);

    /// @par Collective
    /// Yes, over the domain; blocks.
    void close();
    bool is_open() const noexcept { return comm_.is_open(); }

  private:
    // Bytes of this rank's piece of a window.
    struct range {
        std::size_t window;
        std::size_t first;
        std::size_t bytes;
    };
    struct returned_range {
        range where;
        std::function<bool()> is_unused;
    };

    std::optional<range> take(std::size_t bytes);
    void put_back(const range& freed);
    void reuse_returned();
    void grow_by(std::size_t own_bytes);
    void grow(std::size_t bytes);
    std::byte* address(buffer_number of, std::size_t window, std::size_t first) const {
        return windows_[window].pieces()[static_cast<std::size_t>(of.value())] + first;
    }

    // What a rank says first of its memory that is to be shared, where it has none; or in place of anything.
    static constexpr std::int64_t has_none = -1;
    static constexpr std::int64_t refuses = -2;

    // At the begin of a rank's first piece: what it says in an exchange of words, after the number of the exchange. The
    // one before is kept, as nobody is further behind.
    struct post {
        std::uint64_t& exchange;
        two_words* words;  // for each rank
    };
    std::size_t post_bytes() const;
    post post_of(std::size_t number) const;
    void exchange_said();
    bool hears_refusal();

    memory_domain domain_;
    std::vector<two_words> said_, heard_;  // by number
    std::uint64_t num_exchanges_ = 0;      // of words
    communicator comm_;
    int num_shares_ = 0;
    int num_refusals_ = 0;
    rank_t refusing_rank_ = 0;
    std::vector<shared_window> windows_;
    std::size_t own_bytes_ = 0;  // in all windows
    std::vector<range> free_;    // adjacent ranges are joined
    std::vector<range> taken_;
    std::vector<returned_range> returned_;
};

/// @brief A piece of memory of this rank: one that all of its domain can use, or private memory.
///
/// Private memory is freed with this object. Shared memory stays taken until it is given back, or the node
/// memory is closed.
class memory_piece {
  public:
    memory_piece() = default;

    /// @param memory      of the domain; null for a rank that shares nothing
    /// @param initialize  called with this rank's memory before others know of it
    /// @par Collective
    /// As `node_memory::share` where there are several ranks in the domain, and no otherwise.
    memory_piece(
        std::shared_ptr<node_memory> memory, std::size_t bytes,
        const std::function<void(std::byte*)>& initialize = [](std::byte*) {});

    /// @brief The pieces of all ranks of the domain, by number; aligned to 64 bytes.
    const std::vector<std::byte*>& all() const noexcept { return all_; }

    /// @brief Null for private memory.
    const node_memory* shared() const noexcept { return memory_.get(); }

    /// @brief Whether the memory is still there: what is shared is freed where the node memory is closed.
    bool is_open() const noexcept { return !memory_ || memory_->is_open(); }

    /// @brief As `node_memory::give_back`; what is private is freed at once.
    void give_back(std::function<bool()> is_unused);
    /// @brief Frees nothing, ever: MPI may still use the memory.
    void keep() noexcept { static_cast<void>(private_.release()); }

  private:
    struct deleter {
        void operator()(std::byte* memory) const noexcept {
            ::operator delete (memory, std::align_val_t{shared_window::alignment});
        }
    };

    std::shared_ptr<node_memory> memory_;  // null for private memory
    std::unique_ptr<std::byte, deleter> private_;
    std::byte* own_ = nullptr;
    std::vector<std::byte*> all_;
};

/// @brief The node memories of a communicator: one for each way in which it is divided.
class node_memories final : public communicator_resource {
  public:
    explicit node_memories(const communicator&) {}

    /// @brief The memory of this rank's domain.
    ///
    /// The domain is the ranks that can share memory with this one. If `nodes` is given, only those
    /// in the same region of it belong to the domain.
    /// @par Collective
    /// Yes, over `comm`; blocks where it is asked for the first time.
    /// @throws error  on all ranks, as `machine_of`: what ranks of a domain exchange is planned for
    /// that machine
    const std::shared_ptr<node_memory>& of(const communicator& comm,
                                           const std::optional<topology>& nodes);

    void close() override;

  private:
    struct entry {
        std::optional<topology> nodes;
        std::shared_ptr<node_memory> memory;
    };

    std::vector<entry> entries_;
};

}  // namespace crossdock

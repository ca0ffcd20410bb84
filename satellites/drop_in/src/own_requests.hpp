/// @file
/// @brief The requests that the program holds and this library completes, and MPI's functions for them.
///
/// MPI is told of a persistent request only if the program gives it to another function than MPI_Wait or MPI_Waitall:
/// these two do without MPI.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "own_request.hpp"
#include "planned_call.hpp"
#include "progress.hpp"

namespace crossdock::drop_in {

/// @brief An exchange along a plan: of a persistent request, or of one nonblocking call.
class exchange_with_request final : private watched {
  public:
    exchange_with_request(neighbor_call&& call, planned_exchange::instance& exchange);
    exchange_with_request(neighbor_call&& call, std::unique_ptr<planned_exchange>&& plan);
    ~exchange_with_request();
    exchange_with_request(const exchange_with_request&) = delete;
    exchange_with_request& operator=(const exchange_with_request&) = delete;

    template <class Receive>
    MPI_Request make_request(Receive&& function) {
        return request_.receive_by(function);
    }

    bool is_active() const noexcept { return is_active_; }
    /// @brief Neither active, nor complete and not waited for; not told of a visible one.
    bool is_inactive() const noexcept { return !is_active_ && !is_complete_; }
    bool is_visible() const noexcept { return is_visible_; }
    /// @brief Whether its last exchange has failed.
    bool has_failed() const noexcept { return has_failed_; }

    /// @brief Starts the exchange. What fails is told as if it had failed later.
    void start();

    /// @brief From now on MPI knows when the request is active, and when it is complete.
    void make_visible();

    /// @brief Blocks until it is complete; a nonblocking call's object is gone then.
    void wait();

    /// @brief The program has waited for it: it is inactive again.
    void set_waited_for() noexcept { is_complete_ = false; }

  private:
    bool advance() override;
    void end(int code);

    own_request request_;  // the only one that needs memory: arguments are not taken before
    neighbor_call call_;
    std::unique_ptr<planned_exchange> plan_;  // of a persistent request
    planned_exchange::instance& exchange_;
    bool is_visible_;
    planned_exchange::instance::sides_as_planned is_as_planned_;
    bool is_active_ = false;
    bool has_failed_ = false;
    bool is_complete_ = false;  // and not waited for, and not visible
    std::optional<planned_call> by_plan_;
};

/// @brief The requests of this process that the user holds, but for those that are not persistent and complete.
/// @par Thread safety
/// For threads that have `progress_engine::access`.
struct own_requests {
    std::unordered_map<MPI_Request, std::unique_ptr<exchange_with_request>> planned;
    std::unordered_map<MPI_Request, std::unique_ptr<own_request>> in_bodies;
    /// Their codes, until a function of MPI's has completed them.
    std::unordered_map<MPI_Request, int> failed;

    static own_requests& of_process();
    static void count(MPI_Request request, int number);
    void forget_failure(MPI_Request request);

    exchange_with_request* find_planned(MPI_Request request) const;
    std::unique_ptr<exchange_with_request> forget(MPI_Request request);
    bool is_active(MPI_Request request) const;

    /// @brief Completes what MPI knows to be active. Error handlers are told before the program can see it.
    void complete(const own_request& request, const graph& on, int code);
};

/// @brief How many requests that the program holds are this library's, of each hash of their handles.
extern constinit std::array<std::atomic<int>, 256> num_own_requests;
/// @brief How many in all, and one more where calls poll: as long as it is zero, waits are MPI's own.
extern constinit std::atomic<int> num_to_wait_for;

inline std::size_t hash_of(MPI_Request request) noexcept {
    const std::size_t bits = std::hash<MPI_Request>{}(request);
    return (bits >> 6 ^ bits >> 14) % num_own_requests.size();
}

/// @brief False for most requests that are not this library's.
inline bool may_be_own(MPI_Request request) noexcept {
    return num_own_requests[hash_of(request)].load(std::memory_order_relaxed) > 0;
}
inline bool may_have_own(std::span<const MPI_Request> requests) noexcept {
    for (const auto& one : requests)
        if (may_be_own(one)) return true;
    return false;
}

/// @brief Starts the exchange of a persistent request that is inactive and not visible.
/// @return false if it is another one, which MPI is to start
bool start_invisible(MPI_Request request);

/// @brief Starts the exchange of a persistent request that MPI has started; nothing if it is another one.
void start_visible(MPI_Request request);

/// @brief Shows MPI those of the requests that are this library's.
void make_visible(std::span<const MPI_Request> requests);

/// @brief Waits for a persistent request that is not visible, if nothing else is under way.
/// @return false if MPI's wait is to wait for it
bool wait_invisibly(MPI_Request request);

/// @brief Waits until those of the requests that are this library's are complete, faster than MPI's wait calls back.
void wait_for_own(std::span<const MPI_Request> requests);

/// @brief Whether one of the requests is this library's and has failed, so that MPI's wait for it fails.
bool has_failed(std::span<const MPI_Request> requests);

/// @brief What is to be known of a request after a function of MPI's that may have completed it.
/// @param given  the request
/// @param left   what MPI made of it: Open MPI frees persistent ones that have failed
/// @return       why it failed, if it was this library's, a code that error handlers have seen; else MPI_SUCCESS
int take_failure(MPI_Request given, MPI_Request left);

/// @brief Frees what is behind a persistent request; nothing if it is another one.
void forget_persistent(MPI_Request request);

/// @brief Whether a request is this library's and not complete, so that MPI must not cancel it.
bool is_own_and_active(MPI_Request request);

}  // namespace crossdock::drop_in

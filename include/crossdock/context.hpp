/// @file
/// @brief Where communication takes place: the ranks, their topology and their machine; and by which library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/export.hpp"
#include "crossdock/machine.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How a context is made; equal on all ranks. An empty text means the default.
struct context_options {
    /// The regions of the ranks: what `topology::from_string` reads, such as "4x16" or "cyclic:4x16"; or "node",
    /// "socket", "numa" or "l3", which are discovered. By default what CROSSDOCK_TOPOLOGY says, and else "node". Ranks
    /// of several regions may still share memory: `nodes` alone says that they do not.
    std::string topology = "";
    /// Who may share memory: the ranks of a region of this topology, if they can. By default all that can.
    std::string nodes = "";
    /// The machine that routes are chosen for: a preset's name, a file that rank 0 reads, or the
    /// JSON of a machine. By default what CROSSDOCK_MACHINE says, and else `assumed_machine`.
    std::string machine = "";
    /// Where the report of all objects goes when the context is closed: "1" for a table on rank 0's standard error;
    /// else a file, to which rank 0 appends lines of JSON; "0" for no report. "objects": exchanges are measured, but
    /// nobody but `report()` of objects says it. By default what CROSSDOCK_REPORT says, and else "0".
    std::string report = "";
    /// Whether a thread makes progress on active neighbor exchanges, and on the present step of gather-scatters, while
    /// this rank computes. Needs MPI_THREAD_MULTIPLE. Functions that combine values may run on it.
    bool progress_thread = false;
};

/// @brief What all objects of one name have done on this rank since their context was made.
///
/// Without a report (`context_options::report`), a timeline (CROSSDOCK_TRACE) or Caliper nothing is measured, and all
/// numbers but the gains are 0. How the seconds inside of calls divide is measured in the first eight exchanges and
/// every 16th, and assumed of the others.
struct object_report {
    std::string name = "";   ///< the option, or the place that made the objects: "solver.cpp:120"
    std::string kind = "";   ///< such as "neighbor exchange"
    std::string route = "";  ///< of the object that was made last
    std::string why = "";    ///< "given", "estimated", "trying" or "measured"
    count_t objects = 0;
    count_t starts = 0;
    count_t messages = 0;  ///< sent by MPI, also for others
    count_t bytes = 0;     ///< in these messages
    count_t inter_region_messages = 0;
    count_t inter_region_bytes = 0;
    double exchange_seconds = 0;  ///< from the begin of a start until its exchange is complete
    double overlap_seconds = 0;   ///< of these, outside of the object's calls
    double packing_seconds = 0;   ///< inside: copying and combining values
    double sending_seconds = 0;   ///< inside: MPI's calls that begin to send or receive
    double waiting_seconds = 0;   ///< inside: all else
    rank_t longest_awaited = -1;  ///< the rank whose items this one waited for longest; -1: none
    double longest_awaited_seconds = 0;
    double estimated_gain = 0;  ///< seconds of `direct` over those of the route; 0: not estimated
    double measured_gain = 0;   ///< likewise, where "auto:measure" tried both; else 0
};

/// @brief A line of JSON of the schema `crossdock.report/1`, as of a context of one rank.
std::string to_json(const object_report& one);

/// @brief A communicator of the library's own, the topology of its ranks, and their machine.
///
/// It is made once and is the first argument of everything that communicates:
///
///     crossdock::context world(MPI_COMM_WORLD);
///     crossdock::neighbor_exchange halo(world, pattern);
///
/// | state | legal calls | next |
/// |---|---|---|
/// | open | all | closed by `close()` |
/// | closed | destruction, `close()`, and what does not communicate | |
///
/// All other calls throw error(errc::invalid_state), and so do those of objects that were made with a closed context.
///
/// A copy is cheap: it shares the communicator, and closing one closes all. The destructor does not communicate. A
/// context that nobody has closed is closed by MPI_Finalize, on all ranks in the reverse of the order in which they
/// made their contexts; objects made with it may then still be destroyed. Two things must be closed before: a stream
/// with a progress thread, and contexts that several threads made, which need not have one order.
/// @par Thread safety
/// One thread at a time for a context and what was made with it; several threads with contexts of their own need
/// MPI_THREAD_MULTIPLE. Streams say what their threads may do.
class context {
  public:
    /// @brief Duplicates `user`, and finds out or takes what the options say. No message of the library meets one of
    /// the user's. The environment is read here, on rank 0.
    /// @par Collective
    /// Yes, over `user`; blocks.
    /// @throws error(errc::invalid_argument)  `user` is MPI_COMM_NULL or an intercommunicator; or options differ
    /// between ranks
    /// @throws error(errc::invalid_state)     MPI is not initialised, or already finalised; or a progress thread is
    /// asked for without MPI_THREAD_MULTIPLE
    /// @throws error(errc::invalid_topology)  on all ranks: a topology's text is malformed, or of another number of
    /// ranks
    /// @throws as `load_machine`, on all ranks
    explicit context(MPI_Comm user, const context_options& options = {});

    /// @brief As above, of a communicator that was duplicated before, which it shares.
    /// @param comm  open; stays so if this throws
    context(const communicator& comm, const context_options& options);

    /// @brief A context of a communicator that was duplicated before, which it shares. Does not communicate.
    /// @param comm     open
    /// @param regions  equal on all ranks; of as many ranks as `comm`, which whoever uses the context checks
    context(const communicator& comm, crossdock::topology regions);

    /// @brief This context with another topology, with other nodes, or with another machine. It shares the
    /// communicator, and does not communicate. The argument must be equal on all ranks.
    [[nodiscard]] context with_topology(crossdock::topology regions) const;
    [[nodiscard]] context with_nodes(crossdock::topology nodes) const;
    [[nodiscard]] context with_machine(crossdock::machine given) const;

    rank_t rank() const noexcept { return comm_.rank(); }
    rank_t num_ranks() const noexcept { return comm_.num_ranks(); }

    /// @brief The region of every rank.
    const crossdock::topology& topology() const noexcept { return regions_; }

    /// @brief Who may share memory, if that was restricted.
    const std::optional<crossdock::topology>& nodes() const noexcept { return nodes_; }

    /// @brief The machine that routes are chosen for.
    /// @par Collective
    /// No; but yes and blocking for a context made of a `communicator`, until one machine is known there.
    const crossdock::machine& machine() const;

    /// @brief Whether a machine was named for this context, by its options or by `with_machine`.
    bool has_own_machine() const noexcept { return machine_ != nullptr; }

    /// @brief What the objects of each name have done on this rank; nothing without a report.
    std::vector<object_report> reports() const;

    const communicator& comm() const noexcept { return comm_; }
    operator const communicator&() const noexcept { return comm_; }

    /// @brief The error of one rank alone that was told to all ranks last, such as the reason of errc::peer_failed;
    /// none if no rank has failed so far.
    ///
    /// A start that fails throws on its rank alone. The next collective call of the library that agrees on its
    /// arguments tells the error to all: where something is made, prepared or duplicated, and `close`. If several ranks
    /// have failed since the last such call, the lowest of them tells its last error. It is the same on all ranks then,
    /// and stays when the context is closed.
    std::optional<error> last_peer_error() const noexcept { return comm_.last_peer_error(); }

    /// @brief Frees the communicator and what is kept with it; before, rank 0 writes the report, if one is asked for.
    /// What was made with the context can then only be closed and destroyed. Does nothing if the context is closed
    /// already.
    ///
    /// A stream with a progress thread must be closed before, unless MPI has MPI_THREAD_MULTIPLE.
    /// @par Collective
    /// Yes; blocks.
    /// @throws error(errc::invalid_state)  on all ranks: on one of them an exchange is active, or items of a stream
    /// have not been drained; or an object was destroyed like that, or an array with queued requests, but for what an
    /// exception destroys. The error names the object, its place, and the number of items that are lost on all ranks.
    /// It is thrown once: the context stays open, and the next call closes it.
    void close() { comm_.close(); }
    bool is_open() const noexcept { return comm_.is_open(); }

  private:
    void take(const context_options& options);

    communicator comm_;
    crossdock::topology regions_;
    std::optional<crossdock::topology> nodes_;
    std::shared_ptr<const crossdock::machine> machine_;
};

/// @brief What the environment says instead of a route that a program gives: CROSSDOCK_FORCE_ROUTE, or CROSSDOCK_ROUTE
/// in place of "auto".
std::string asked_route(const context& where, const std::string& route);

/// @brief As above, for what tries no routes: "auto" in place of "auto:measure".
std::string asked_untried_route(const context& where, const std::string& route);

/// @brief Throws where the topology or the nodes of a context are not of its ranks.
/// @throws error(errc::size_mismatch)
void check_sizes(const context& where);

/// @brief What the linked library is, as one line of JSON of the schema `crossdock.configuration/1`.
///
/// - `version`, and `commit`: that of the sources when CMake was last run, with `-dirty` if they had changes; null if
///   unknown;
/// - `build`: the compiler, CMake's build type, whether the libraries are shared, and `with`, which optional parts are
///   there; `without` says of the others why they are not;
/// - `mpi`: the library that runs, and the version of MPI's standard in the header that this library was built with.
///
/// May be called before MPI_Init and after MPI_Finalize.
std::string configuration();

}  // namespace crossdock

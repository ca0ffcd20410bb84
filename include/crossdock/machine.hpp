/// @file
/// @brief The cost parameters of a machine: latencies, overheads, and seconds per byte.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/topology.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief How far two ranks are from each other.
enum class locality_level {
    self,     ///< the same rank
    region,   ///< the same node and region
    node,     ///< the same node, another region
    network,  ///< another node
};

inline constexpr std::size_t num_locality_levels = 4;

/// @brief The levels' names, nearest first: "self", "region", "node", "network".
inline constexpr std::array<const char*, num_locality_levels> locality_level_names{
    "self", "region", "node", "network"};

/// @brief The regions that routes know, and the nodes that ranks really share. Often they are the same. Where regions
/// are sockets, a node has several; where nodes are larger regions of any kind, that is fine as well.
///
///     regions "4x2", nodes "2x4"      0 and 1: region    0 and 2: node    0 and 4: network
class rank_layout {
  public:
    /// @brief Every region is a node.
    explicit rank_layout(topology regions) : regions_(std::move(regions)), nodes_(regions_) {}

    /// @throws error(errc::size_mismatch)  they have different numbers of ranks
    rank_layout(topology regions, topology nodes);

    const topology& regions() const noexcept { return regions_; }
    const topology& nodes() const noexcept { return nodes_; }
    rank_t num_ranks() const noexcept { return regions_.num_ranks(); }

    /// @throws error(errc::rank_out_of_range)  one is outside [0, P)
    locality_level level_of(rank_t a, rank_t b) const;

  private:
    topology regions_;
    topology nodes_;
};

/// @brief The time that a message is on its way in one protocol, eager or rendezvous.
///
/// A message of s bytes takes `latency_seconds` + s `seconds_per_byte`.
struct protocol_parameters {
    double latency_seconds = 0;
    double seconds_per_byte = 0;

    friend bool operator==(const protocol_parameters&, const protocol_parameters&) = default;
};

/// @brief What a message costs between two ranks of one locality, such as two ranks of a node.
///
///     sender     |send_overhead|
///     way                      |latency   bytes x seconds_per_byte|
///     receiver                                                    |receive_overhead|
///
/// A core does the overheads of its messages one after the other. Their ways overlap.
struct level_parameters {
    protocol_parameters eager;
    /// For messages of more than `rendezvous_bytes`. Its latency includes the handshake.
    protocol_parameters rendezvous;
    count_t rendezvous_bytes = 0;
    double send_overhead_seconds = 0;
    double receive_overhead_seconds = 0;

    const protocol_parameters& protocol_of(count_t message_bytes) const noexcept {
        return message_bytes > rendezvous_bytes ? rendezvous : eager;
    }

    friend bool operator==(const level_parameters&, const level_parameters&) = default;
};

/// @brief What it costs to exchange arrays that are in the memory of devices (GPUs).
struct device_parameters {
    /// Of a copy between a device's memory and the host's, until the host sees that it is done.
    protocol_parameters copy;
    /// Of messages whose values MPI reads from a device's memory and writes to another's; by `locality_level`.
    std::array<level_parameters, num_locality_levels> levels;

    friend bool operator==(const device_parameters&, const device_parameters&) = default;
};

/// @brief The cost parameters of one machine. All times are in seconds.
///
/// A message of s bytes takes alpha + beta s, as in the postal model; alpha is the sum of the latency and both
/// overheads. All ranks of a node share the rate at which the node injects bytes into the network. Where ranks share
/// cores, `seconds_per_byte` is the core time that a byte takes, at both ends together.
/// @par Source
/// \cite gropp2016maxrate for the limit of a node, \cite bienz2018irregular for localities and the search of queues,
/// \cite hoefler2010loggopsim for overheads that keep a rank busy.
struct machine {
    std::string name;
    std::string description;
    std::array<level_parameters, num_locality_levels> levels;  ///< by `locality_level`
    /// For each byte that all ranks of a node together send to other nodes: 1 / R_node.
    double injection_seconds_per_byte = 0;
    /// For each posted receive that MPI looks at before it finds the one that a message belongs to.
    double matching_seconds = 0;
    double copy_seconds_per_byte = 0;  ///< of gathering or scattering
    double copy_seconds_per_item = 0;  ///< besides, for each item that is copied by itself
    /// From the moment a rank writes a flag in shared memory until another rank sees it.
    double hand_over_seconds = 0;
    /// The cores that all ranks share, if there are more ranks than cores; 0: each rank has its own.
    int num_cores = 0;
    /// Where ranks share cores: how long a waiting rank looks for messages before it yields its core to the next rank.
    double time_slice_seconds = 0;
    std::optional<device_parameters> device;  ///< where the ranks have devices, and it is known
    /// The source of each number. A key is the path of a number or of a group: "levels.network.eager".
    std::map<std::string, std::string> sources;

    const level_parameters& at(locality_level level) const noexcept {
        return levels[static_cast<std::size_t>(level)];
    }

    friend bool operator==(const machine&, const machine&) = default;
};

/// @brief The source of a number or a group, such as "levels.network.eager"; null if it has none.
const std::string* source_of(const machine& m, std::string path);

/// @brief Checks the numbers of a machine.
/// @throws error(errc::invalid_argument)  a number is negative, not finite, or without a source; a farther level has a
/// smaller latency than a nearer one; or rendezvous has a smaller latency than eager. The text names the number.
void validate(const machine& m);

/// @brief The machine as messages between devices find it: with `levels` of its devices. Copies cost nothing, because
/// devices do them.
/// @throws error(errc::invalid_argument)  it has no `device`
[[nodiscard]] machine machine_of_devices(const machine& m);

/// @brief The machine as JSON text, schema "crossdock.machine/1".
std::string to_json(const machine& m);

/// @brief Reads what `to_json` wrote.
/// @throws error(errc::parse_error)       the text is not JSON or has another schema, or a field is missing, unknown or
/// of another type
/// @throws error(errc::invalid_argument)  as `validate`
[[nodiscard]] machine machine_from_json(const std::string& text);

/// @brief The machines that come with the library; `docs/machines.md` describes them.
const std::vector<machine>& machine_presets();

/// @brief Finds a preset by its name, or reads a machine from a file, or from JSON.
/// @param name_or_path  a preset's name; JSON, which begins with a brace; else the path of a file
/// @throws error(errc::file_error)  there is no such preset or file; the text lists the presets
/// @throws as `machine_from_json`, with the file's name
[[nodiscard]] machine load_machine(const std::string& name_or_path);

/// @brief The machine that the library assumes unless the caller names one: "generic_100g".
const machine& default_machine();

}  // namespace crossdock

/// @file
/// @brief The parameters of a machine that communication is priced with.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crossdock/detail/base/export.hpp"
#include "crossdock/detail/model/locality.hpp"

namespace CROSSDOCK_EXPORT crossdock {

/// @brief What a message costs on its way in one protocol: `latency_seconds`, and more for every byte.
struct protocol_parameters {
    double latency_seconds = 0;
    double seconds_per_byte = 0;

    friend bool operator==(const protocol_parameters&, const protocol_parameters&) = default;
};

/// @brief Messages between ranks that are equally far from each other.
///
///     sender     |send_overhead|
///     way                      |latency   bytes x seconds_per_byte|
///     receiver                                                    |receive_overhead|
///
/// Overheads are what a rank's core does, one message after the other; ways overlap.
struct level_parameters {
    protocol_parameters eager;
    /// For messages of more than `rendezvous_bytes`; its latency has the handshake in it.
    protocol_parameters rendezvous;
    count_t rendezvous_bytes = 0;
    double send_overhead_seconds = 0;
    double receive_overhead_seconds = 0;

    const protocol_parameters& protocol_of(count_t message_bytes) const noexcept {
        return message_bytes > rendezvous_bytes ? rendezvous : eager;
    }

    friend bool operator==(const level_parameters&, const level_parameters&) = default;
};

/// @brief A machine, as numbers. All times are in seconds.
///
/// A message takes alpha + beta s by the postal model, with alpha the overheads and the latency together;
/// the ranks of a node share what the node can inject. Where cores are shared, `seconds_per_byte` is what a
/// byte costs a core, at both ends together.
/// @par Source
/// \cite gropp2016maxrate for the limit of a node, \cite bienz2018irregular for localities and the search
/// of queues, \cite hoefler2010loggopsim for overheads that keep a rank busy.
struct machine {
    std::string name;
    std::string description;
    std::array<level_parameters, num_locality_levels> levels;  ///< by `locality_level`
    /// Of all that the ranks of a node send to other nodes: 1 / R_node.
    double injection_seconds_per_byte = 0;
    /// For every waiting receive that is passed over before a message's own is found.
    double matching_seconds = 0;
    double copy_seconds_per_byte = 0;  ///< gathering or scattering
    double copy_seconds_per_item = 0;  ///< on top, for every item that is copied by itself
    /// From a flag written in shared memory until another rank sees it.
    double hand_over_seconds = 0;
    /// Cores that all ranks share, where there are more ranks than cores; 0: each rank has its own.
    int num_cores = 0;
    /// That a rank which waits looks for messages before it gives a shared core to the next one; only
    /// where cores are shared.
    double time_slice_seconds = 0;
    /// Where the numbers come from: path of a number or a group, "levels.network.eager", and its source.
    std::map<std::string, std::string> sources;

    const level_parameters& at(locality_level level) const noexcept {
        return levels[static_cast<std::size_t>(level)];
    }

    friend bool operator==(const machine&, const machine&) = default;
};

/// @brief Checks the numbers.
/// @throws error(errc::invalid_argument)  one is negative or not finite, a farther level has a smaller
///         latency, rendezvous a smaller one than eager, or a number has no source; the text names it
void validate(const machine& m);

/// @brief The machine as JSON text, schema "crossdock.machine/1".
std::string to_json(const machine& m);

/// @brief Reads what `to_json` wrote.
/// @throws error(errc::parse_error)       not JSON, another schema, or a field is missing, unknown or of
///         another type
/// @throws error(errc::invalid_argument)  as `validate`
machine machine_from_json(const std::string& text);

/// @brief The machines that come with the library; `docs/machines.md` describes them.
const std::vector<machine>& machine_presets();

/// @brief A preset, or the machine in a file.
/// @param name_or_path  a preset's name; or else a path
/// @throws error(errc::file_error)  neither; the text lists the presets
/// @throws as `machine_from_json`, with the file's name
machine load_machine(const std::string& name_or_path);

/// @brief The machine that is assumed where none is given: the preset "generic_100g".
const machine& default_machine();

}  // namespace crossdock

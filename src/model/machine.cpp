#include "crossdock/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "../base/json_document.hpp"
#include "preset_texts.hpp"

namespace crossdock {

namespace {

using nlohmann::json;

constexpr const char* schema = "crossdock.machine/1";
constexpr double most_seconds = 1000;  // of one message; and picoseconds of many still fit
constexpr const char* default_name = "generic_100g";

[[noreturn]] void refuse(const machine& m, const std::string& what) {
    throw error(errc::invalid_argument, fmt::format("the machine \"{}\": {}", m.name, what));
}

// Every number under `value`, with its path.
void check_numbers(const machine& m, const json& value, const std::string& path) {
    if (value.is_object()) {
        for (const auto& [key, inner] : value.items())
            check_numbers(m, inner, path.empty() ? key : path + '.' + key);
        return;
    }
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < 0)
        refuse(m, fmt::format("{} is {:g}, not a number >= 0", path, number));
    if (number > most_seconds && path.find("seconds") != std::string::npos)
        refuse(m, fmt::format("{} is {:g}, more than {:g}", path, number, most_seconds));
    if (!source_of(m, path)) refuse(m, fmt::format("{} has no source", path));
}

void check_order(const machine& m) {
    const auto path = [](std::size_t level, const char* protocol) {
        return fmt::format("levels.{}.{}.latency_seconds", locality_level_names[level], protocol);
    };
    const auto check = [&](double small, const std::string& small_path, double large,
                           const std::string& large_path) {
        if (small > large)
            refuse(m, fmt::format("{} is {:g}, more than {}, which is {:g}", small_path, small,
                                  large_path, large));
    };
    for (std::size_t level = 0; level < num_locality_levels; ++level) {
        const auto& here = m.levels[level];
        check(here.eager.latency_seconds, path(level, "eager"), here.rendezvous.latency_seconds,
              path(level, "rendezvous"));
        if (level == 0) continue;
        const auto& nearer = m.levels[level - 1];
        check(nearer.eager.latency_seconds, path(level - 1, "eager"), here.eager.latency_seconds,
              path(level, "eager"));
    }
}

std::string list_of_presets() {
    std::string names;
    for (const auto& m : machine_presets()) names += (names.empty() ? "" : ", ") + m.name;
    return names;
}

const machine* find_preset(const std::string& name) {
    const auto& all = machine_presets();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const machine& m) { return m.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

// Found by nlohmann::json through argument-dependent look-up; one line names the fields both ways.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(protocol_parameters, latency_seconds, seconds_per_byte)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(level_parameters, eager, rendezvous, rendezvous_bytes,
                                   send_overhead_seconds, receive_overhead_seconds)

static json numbers_json(const machine& m) {
    json levels;
    for (std::size_t level = 0; level < num_locality_levels; ++level)
        levels[locality_level_names[level]] = m.levels[level];
    return {{"levels", std::move(levels)},
            {"injection_seconds_per_byte", m.injection_seconds_per_byte},
            {"matching_seconds", m.matching_seconds},
            {"copy_seconds_per_byte", m.copy_seconds_per_byte},
            {"copy_seconds_per_item", m.copy_seconds_per_item},
            {"hand_over_seconds", m.hand_over_seconds},
            {"num_cores", m.num_cores},
            {"time_slice_seconds", m.time_slice_seconds}};
}

static json as_json(const machine& m) {
    json all = numbers_json(m);
    all["schema"] = schema;
    all["name"] = m.name;
    all["description"] = m.description;
    all["sources"] = m.sources;
    return all;
}

const std::string* source_of(const machine& m, std::string path) {
    for (;;) {
        const auto found = m.sources.find(path);
        if (found != m.sources.end()) return &found->second;
        const auto dot = path.rfind('.');
        if (dot == std::string::npos) return nullptr;
        path.resize(dot);
    }
}

void validate(const machine& m) {
    check_numbers(m, numbers_json(m), "");
    check_order(m);
}

std::string to_json(const machine& m) { return as_json(m).dump(2) + '\n'; }

machine machine_from_json(const std::string& text) {
    machine m;
    const auto read = [&](const json& all) {
        all.at("name").get_to(m.name);
        all.at("description").get_to(m.description);
        for (std::size_t level = 0; level < num_locality_levels; ++level)
            all.at("levels").at(locality_level_names[level]).get_to(m.levels[level]);
        all.at("injection_seconds_per_byte").get_to(m.injection_seconds_per_byte);
        all.at("matching_seconds").get_to(m.matching_seconds);
        all.at("copy_seconds_per_byte").get_to(m.copy_seconds_per_byte);
        all.at("copy_seconds_per_item").get_to(m.copy_seconds_per_item);
        all.at("hand_over_seconds").get_to(m.hand_over_seconds);
        all.at("num_cores").get_to(m.num_cores);
        all.at("time_slice_seconds").get_to(m.time_slice_seconds);
        all.at("sources").get_to(m.sources);
    };
    read_document(text, "machine", schema, read, [&] { return as_json(m); });
    validate(m);
    return m;
}

const std::vector<machine>& machine_presets() {
    static const std::vector<machine> presets = [] {
        std::vector<machine> all;
        for (const char* text : preset_texts()) all.push_back(machine_from_json(text));
        return all;
    }();
    return presets;
}

machine load_machine(const std::string& name_or_path) {
    if (name_or_path.starts_with('{')) return machine_from_json(name_or_path);
    if (const auto* preset = find_preset(name_or_path)) return *preset;
    std::ifstream file(name_or_path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        throw error(
            errc::file_error,
            fmt::format("\"{}\" is neither a file that can be read nor one of the machines {}",
                        name_or_path, list_of_presets()));
    }
    try {
        return machine_from_json(text.str());
    } catch (const error& fault) {
        throw error(fault.code(), name_or_path + ": " + fault.what());
    }
}

const machine& default_machine() {
    static const machine& found = *find_preset(default_name);
    return found;
}

}  // namespace crossdock

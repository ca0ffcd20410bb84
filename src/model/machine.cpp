#include "crossdock/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "../base/throw_error.hpp"
#include "preset_texts.hpp"

namespace crossdock {

namespace {

constexpr const char* schema = "crossdock.machine/1";
constexpr double most_seconds = 1000;  // of one message; and picoseconds of many still fit
constexpr const char* default_name = "generic_100g";

[[noreturn]] void refuse(const machine& m, const std::string& what) {
    throw_error(errc::invalid_argument, "the machine \"{}\": {}", m.name, what);
}

using nlohmann::json;

[[noreturn]] void refuse(const std::string& what) { throw error(errc::parse_error, what); }

// "levels.network.eager" of the keys one by one.
std::string joined(const std::vector<std::string>& keys) {
    return fmt::format("{}", fmt::join(keys, "."));
}

// The strings, numbers and other scalars of an object and of the objects in it. Other than a document, it can
// be destroyed where memory has run out: json moves nested values into a new vector, in its destructor.
class json_fields {
  public:
    using path = std::vector<std::string>;  // keys, from the outermost one

    // @throws error(errc::parse_error)  not JSON, not an object, or with an array in it
    static json_fields parse(const std::string& text);

    // Field by field, ordered by path.
    const std::map<path, json>& all() const noexcept { return scalars_; }

    void set(path where, json scalar) {
        scalars_.insert_or_assign(std::move(where), std::move(scalar));
    }

    // Takes a field out.
    // @throws error(errc::parse_error)  it is missing, of another type, or a number that does not fit
    template <class Value>
    void take(const path& where, Value& value) {
        const auto found = scalars_.find(where);
        if (found == scalars_.end())
            refuse(fmt::format("the field \"{}\" is missing", joined(where)));
        try {
            found->second.get_to(value);
        } catch (const json::type_error&) {
            refuse(fmt::format("the field \"{}\" has another type", joined(where)));
        }
        // Conversions round and wrap numbers that do not fit, silently.
        if (json(value) != found->second)
            refuse(fmt::format("the number \"{}\" does not fit", joined(where)));
        scalars_.erase(found);
    }

    // The object as JSON, which `parse` reads.
    std::string dump() const;

  private:
    std::map<path, json> scalars_;
};

// What nlohmann::json::sax_parse calls; false would end it.
class field_collector {
  public:
    explicit field_collector(json_fields& fields) : fields_(fields) {}

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(json::number_integer_t value) { return add(value); }
    bool number_unsigned(json::number_unsigned_t value) { return add(value); }
    bool number_float(json::number_float_t value, const std::string&) { return add(value); }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(json::binary_t&) { refuse("it has binary values"); }

    bool start_object(std::size_t) {
        keys_.emplace_back();
        is_empty_ = true;
        return true;
    }
    bool key(std::string& name) {
        keys_.back() = std::move(name);
        is_empty_ = false;
        return true;
    }
    bool end_object() {
        keys_.pop_back();
        if (std::exchange(is_empty_, false) && !keys_.empty()) add(nullptr);
        return true;
    }
    bool start_array(std::size_t) {
        refuse(keys_.empty() ? "it is not an object" : joined(keys_) + " is an array");
    }
    bool end_array() { return true; }

    bool parse_error(std::size_t byte, const std::string&, const json::exception&) {
        refuse(fmt::format("it is not JSON, from byte {} on", byte));
    }

  private:
    bool add(json scalar) {
        if (keys_.empty()) refuse("it is not an object");
        fields_.set(keys_, std::move(scalar));
        return true;
    }

    json_fields& fields_;
    json_fields::path keys_;  // of the value that comes next
    bool is_empty_ = false;   // the innermost object so far
};

json_fields json_fields::parse(const std::string& text) {
    json_fields fields;
    field_collector collector(fields);
    json::sax_parse(text, &collector);
    return fields;
}

std::string json_fields::dump() const {
    std::string text = "{";
    path outer;  // the objects that are open
    const char* separator = "\n";
    const auto begin_line = [&] {
        text += std::exchange(separator, ",\n");
        text.append(2 * outer.size() + 2, ' ');
    };
    const auto close_to = [&](std::size_t depth) {
        while (outer.size() > depth) {
            outer.pop_back();
            text += '\n' + std::string(2 * outer.size() + 2, ' ') + '}';
        }
    };
    for (const auto& [keys, scalar] : scalars_) {
        const auto differ = std::mismatch(outer.begin(), outer.end(), keys.begin(), keys.end() - 1);
        close_to(static_cast<std::size_t>(differ.first - outer.begin()));
        for (auto depth = outer.size(); depth + 1 < keys.size(); ++depth) {
            begin_line();
            text += json(keys[depth]).dump() + ": {";
            separator = "\n";
            outer.push_back(keys[depth]);
        }
        begin_line();
        text += json(keys.back()).dump() + ": " + scalar.dump();
    }
    close_to(0);
    return text + "\n}\n";
}

// Calls `use` with the path and the field of each number.
template <class Machine, class Use>
void for_each_number(Machine& m, Use&& use) {
    const auto use_protocol = [&](json_fields::path path, auto& all) {
        path.emplace_back("latency_seconds");
        use(path, all.latency_seconds);
        path.back() = "seconds_per_byte";
        use(path, all.seconds_per_byte);
    };
    const auto use_levels = [&](const json_fields::path& group, auto& levels) {
        for (std::size_t level = 0; level < num_locality_levels; ++level) {
            const auto path = [&](const char* last) {
                auto keys = group;
                keys.insert(keys.end(), {"levels", locality_level_names[level], last});
                return keys;
            };
            auto& all = levels[level];
            use_protocol(path("eager"), all.eager);
            use_protocol(path("rendezvous"), all.rendezvous);
            use(path("rendezvous_bytes"), all.rendezvous_bytes);
            use(path("send_overhead_seconds"), all.send_overhead_seconds);
            use(path("receive_overhead_seconds"), all.receive_overhead_seconds);
        }
    };
    use_levels({}, m.levels);
    if (m.device) {
        use_protocol({"device", "copy"}, m.device->copy);
        use_levels({"device"}, m.device->levels);
    }
    use({"injection_seconds_per_byte"}, m.injection_seconds_per_byte);
    use({"matching_seconds"}, m.matching_seconds);
    use({"copy_seconds_per_byte"}, m.copy_seconds_per_byte);
    use({"copy_seconds_per_item"}, m.copy_seconds_per_item);
    use({"hand_over_seconds"}, m.hand_over_seconds);
    use({"num_cores"}, m.num_cores);
    use({"time_slice_seconds"}, m.time_slice_seconds);
}

json_fields numbers_of(const machine& m) {
    json_fields numbers;
    for_each_number(
        m, [&](json_fields::path path, const auto& field) { numbers.set(std::move(path), field); });
    return numbers;
}

void check_numbers(const machine& m) {
    const auto numbers = numbers_of(m);
    for (const auto& [keys, scalar] : numbers.all()) {
        const auto path = joined(keys);
        const auto number = scalar.get<double>();
        if (!std::isfinite(number) || number < 0)
            refuse(m, fmt::format("{} is {:g}, not a number >= 0", path, number));
        if (number > most_seconds && path.find("seconds") != std::string::npos)
            refuse(m, fmt::format("{} is {:g}, more than {:g}", path, number, most_seconds));
        if (!source_of(m, path)) refuse(m, fmt::format("{} has no source", path));
    }
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
    check_numbers(m);
    check_order(m);
}

machine machine_of_devices(const machine& m) {
    if (!m.device) refuse(m, "has no costs of devices; add the group \"device\" to its file");
    machine found = m;
    found.levels = m.device->levels;
    found.copy_seconds_per_byte = found.copy_seconds_per_item = 0;
    return found;
}

std::string to_json(const machine& m) {
    auto all = numbers_of(m);
    all.set({"schema"}, schema);
    all.set({"name"}, m.name);
    all.set({"description"}, m.description);
    for (const auto& [path, source] : m.sources) all.set({"sources", path}, source);
    return all.dump();
}

machine machine_from_json(const std::string& text) {
    machine m;
    try {
        auto all = json_fields::parse(text);
        std::string found;
        all.take({"schema"}, found);
        if (found != schema) {
            throw_error(errc::parse_error, "expected one of schema {}, found \"{}\"", schema,
                        found);
        }
        all.take({"name"}, m.name);
        all.take({"description"}, m.description);
        const auto begins_with_device = [](const auto& field) {
            return field.first[0] == "device";
        };
        if (std::ranges::any_of(all.all(), begins_with_device)) m.device.emplace();
        for_each_number(m,
                        [&](const json_fields::path& path, auto& field) { all.take(path, field); });
        while (!all.all().empty()) {
            const auto path = all.all().begin()->first;
            if (path.size() != 2 || path[0] != "sources") {
                throw_error(errc::parse_error, "the field \"{}\" is unknown", joined(path));
            }
            all.take(path, m.sources[path[1]]);
        }
    } catch (const error& fault) {
        throw_error(fault.code(), "not a machine: {}", fault.what());
    }
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
        throw_error(errc::file_error,
                    "\"{}\" is neither a file that can be read nor one of the machines {}",
                    name_or_path, list_of_presets());
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

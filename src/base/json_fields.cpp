#include "json_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "crossdock/error.hpp"

namespace crossdock {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& what) { throw error(errc::parse_error, what); }

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

}  // namespace

std::string joined(const json_fields::path& keys) {
    return fmt::format("{}", fmt::join(keys, "."));
}

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

std::map<json_fields::path, json>::iterator json_fields::find(const path& where) {
    const auto found = scalars_.find(where);
    if (found == scalars_.end()) refuse(fmt::format("the field \"{}\" is missing", joined(where)));
    return found;
}

void json_fields::refuse_type(const path& where) {
    refuse(fmt::format("the field \"{}\" has another type", joined(where)));
}

void json_fields::refuse_number(const path& where) {
    refuse(fmt::format("the number \"{}\" does not fit", joined(where)));
}

}  // namespace crossdock

/// @file
/// @brief Versioned JSON documents, read as they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "crossdock/error.hpp"

namespace crossdock {

/// @brief What is wrong with a document, in words that do not name the library that reads JSON.
inline std::string json_fault(const nlohmann::json::exception& fault) {
    constexpr int missing_key = 403;
    if (const auto* no_json = dynamic_cast<const nlohmann::json::parse_error*>(&fault))
        return "it is not JSON, from byte " + std::to_string(no_json->byte) + " on";
    if (fault.id != missing_key) return "a field has another type";
    const std::string text = fault.what();  // "... key 'name' not found"
    const auto begin = text.find('\'') + 1;
    return "the field \"" + text.substr(begin, text.rfind('\'') - begin) + "\" is missing";
}

/// @brief Reads a document that is written again to prove that nothing was lost.
/// @param what    what it describes, for the errors: "plan"
/// @param schema  what its field "schema" must say
/// @param read    takes the fields out of it, as nlohmann::json's `at` and `get_to` do
/// @param write   what was read, as JSON: conversions round and wrap numbers that do not fit,
/// silently
/// @throws error(errc::parse_error)  not JSON, another schema, or a field is missing, unknown or of
/// another type, or a number does not fit
template <class Read, class Write>
void read_document(const std::string& text, const std::string& what, const std::string& schema,
                   Read&& read, Write&& write) {
    try {
        const auto all = nlohmann::json::parse(text);
        if (all.at("schema") != schema) {
            throw error(errc::parse_error, "expected a " + what + " of schema " + schema +
                                               ", found " + all.at("schema").dump());
        }
        read(all);
        if (write() != all) {
            throw error(errc::parse_error,
                        "not a " + what + ": a number does not fit, or a field is unknown");
        }
    } catch (const nlohmann::json::exception& fault) {
        throw error(errc::parse_error, "not a " + what + ": " + json_fault(fault));
    }
}

}  // namespace crossdock

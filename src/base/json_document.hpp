/// @file
/// @brief Versioned JSON documents, read as they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "crossdock/error.hpp"

namespace crossdock {

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
        throw error(errc::parse_error, "not a " + what + ": " + fault.what());
    }
}

}  // namespace crossdock

/// @file
/// @brief A JSON object as a list of its fields, which takes no memory when it is destroyed.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace crossdock {

/// @brief The strings, numbers and other scalars of an object and of the objects in it. Other than a document, it can
/// be destroyed where memory has run out: nlohmann::json moves nested values into a new vector, in its destructor.
class json_fields {
  public:
    using path = std::vector<std::string>;  ///< keys, from the outermost one

    /// @throws error(errc::parse_error)  not JSON, not an object, or with an array in it
    static json_fields parse(const std::string& text);

    /// @brief Field by field, ordered by path.
    const std::map<path, nlohmann::json>& all() const noexcept { return scalars_; }

    void set(path where, nlohmann::json scalar) {
        scalars_.insert_or_assign(std::move(where), std::move(scalar));
    }

    /// @brief Takes a field out.
    /// @throws error(errc::parse_error)  it is missing, of another type, or a number that does not fit
    template <class Value>
    void take(const path& where, Value& value) {
        const auto found = find(where);
        try {
            found->second.get_to(value);
        } catch (const nlohmann::json::type_error&) {
            refuse_type(where);
        }
        // Conversions round and wrap numbers that do not fit, silently.
        if (nlohmann::json(value) != found->second) refuse_number(where);
        scalars_.erase(found);
    }

    /// @brief The object as JSON, which `parse` reads.
    std::string dump() const;

  private:
    std::map<path, nlohmann::json>::iterator find(const path& where);
    [[noreturn]] static void refuse_type(const path& where);
    [[noreturn]] static void refuse_number(const path& where);

    std::map<path, nlohmann::json> scalars_;
};

/// @brief "levels.network.eager" of the keys one by one.
std::string joined(const json_fields::path& keys);

}  // namespace crossdock

#include "crossdock/neighbor/neighbor_options.hpp"

#include <fmt/format.h>

#include "crossdock/base/error.hpp"

namespace crossdock {

const char* to_string(executor_kind kind) noexcept {
    switch (kind) {
        case executor_kind::persistent: return "persistent";
        case executor_kind::shared_memory: return "shared_memory";
        default: return "auto";
    }
}

executor_kind parse_executor(std::string_view name) {
    for (const auto kind :
         {executor_kind::automatic, executor_kind::persistent, executor_kind::shared_memory}) {
        if (name == to_string(kind)) return kind;
    }
    throw error(errc::invalid_argument,
                fmt::format("there is no executor \"{}\": auto, persistent, shared_memory", name));
}

}  // namespace crossdock

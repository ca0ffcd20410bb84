#include "crossdock/context.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace crossdock {

// What is returned, without MPI; cmake/configuration.cmake writes it.
extern const char* const build_text;

std::string configuration() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    CROSSDOCK_MPI(MPI_Get_library_version(text.data(), &length));
    const std::string_view library = text.data();
    auto all = nlohmann::ordered_json::parse(build_text);
    all["mpi"] = {{"library", library.substr(0, library.find_first_of(",\r\n"))},
                  {"standard", std::to_string(MPI_VERSION) + "." + std::to_string(MPI_SUBVERSION)}};
    return all.dump();
}

}  // namespace crossdock

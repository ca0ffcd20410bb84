#include "error_code_mpi.hpp"

#include <mpi.h>

#include <map>
#include <mutex>
#include <string>

namespace crossdock {

namespace {

// Open MPI prints no longer ones where an error ends the program.
constexpr std::size_t longest_text = 150;
static_assert(longest_text < MPI_MAX_ERROR_STRING);

}  // namespace

int error_code_of(errc code, std::string_view sentence) noexcept {
    static std::mutex mutex;
    static std::map<errc, int> codes;
    try {
        const std::scoped_lock lock(mutex);
        const auto text = "crossdock: " + std::string(sentence);
        auto known = codes.find(code);
        if (known == codes.end()) {
            int made = MPI_ERR_OTHER;
            if (MPI_Add_error_code(MPI_ERR_OTHER, &made) != MPI_SUCCESS) return MPI_ERR_OTHER;
            known = codes.emplace(code, made).first;
        }
        MPI_Add_error_string(known->second, text.substr(0, longest_text).c_str());
        return known->second;
    } catch (...) {  // there is no room for a code
        return MPI_ERR_OTHER;
    }
}

}  // namespace crossdock

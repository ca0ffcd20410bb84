#include "crossdock/communicator.hpp"

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

bool may_call_mpi() noexcept {
    int is_initialised = 0;
    int is_over = 0;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_over);
    if (!is_initialised || is_over) return false;
    int support = MPI_THREAD_SINGLE;
    int is_main = 0;
    MPI_Query_thread(&support);
    MPI_Is_thread_main(&is_main);
    return is_main || support >= MPI_THREAD_SERIALIZED;
}

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

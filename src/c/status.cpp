#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "crossdock/communicator.hpp"
#include "crossdock/context.hpp"
#include "handles.hpp"

using crossdock::errc;

namespace {

thread_local std::string last_error;
thread_local int last_class = MPI_SUCCESS;
thread_local bool calls_handlers = true;
thread_local std::optional<crossdock::error> announced;

int last_code(crossdock_status status) {
    const auto code = static_cast<crossdock::errc>(status);
    const std::string_view sentence = last_error.empty() ? to_string(code) : last_error.c_str();
    return crossdock::error_code_of(code, sentence);
}

// What MPI calls the exception in flight.
int error_class_of(errc code) {
    try {
        throw;
    } catch (const crossdock::c::argument_error& fault) {
        return fault.mpi_class();
    } catch (...) {
    }
    switch (code) {
        case errc::size_mismatch: return MPI_ERR_TRUNCATE;
        case errc::rank_out_of_range: return MPI_ERR_RANK;
        case errc::count_mismatch:
        case errc::count_overflow: return MPI_ERR_COUNT;
        case errc::invalid_argument:
        case errc::invalid_topology:
        case errc::unknown_route:
        case errc::invalid_route: return MPI_ERR_ARG;
        default: return MPI_ERR_OTHER;
    }
}

}  // namespace

crossdock_status crossdock::remember_error() noexcept {
    last_class = MPI_ERR_OTHER;
    try {
        const error fault = current_error();
        last_error = fault.what();
        last_class = error_class_of(fault.code());
        return static_cast<crossdock_status>(fault.code());
    } catch (...) {  // there is no room even for the sentence
        last_error.clear();
        return CROSSDOCK_OUT_OF_MEMORY;
    }
}

namespace crossdock::c {

crossdock_status report_error(MPI_Comm comm) noexcept {
    const auto status = remember_error();
    if (calls_handlers && may_call_mpi())
        MPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, last_code(status));
    return status;
}

crossdock_status report_error(const error_site& errors) noexcept {
    const auto status = remember_error();
    if (calls_handlers && may_call_mpi()) errors.call_handler(last_code(status));
    return status;
}

void require(const void* pointer, const char* what, const char* why) {
    if (pointer == nullptr)
        throw error(errc::invalid_argument, std::string(what) + " is a null pointer" + why);
}

void give_text(char** result, const std::string& text) {
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *result = copy;
}

}  // namespace crossdock::c

std::function<crossdock_status()> crossdock::reporter_of(const crossdock_context* handle) {
    if (handle == nullptr) return [] { return c::report_error(MPI_COMM_SELF); };
    return [errors = handle->errors] { return c::report_error(errors); };
}

std::optional<crossdock::error> crossdock::take_announced() noexcept {
    return std::exchange(announced, std::nullopt);
}

std::size_t crossdock::checked_size(const void* options, std::size_t num_known) {
    constexpr std::size_t most = 4096;  // any more is memory that was never set
    std::size_t size = 0;
    std::memcpy(&size, options, sizeof size);
    if (size < sizeof size || size > most)
        throw error(errc::invalid_argument, "options say that they have " + std::to_string(size) +
                                                " bytes; begin with their initialiser");
    const auto* const bytes = static_cast<const std::byte*>(options);
    if (size > num_known && std::any_of(bytes + num_known, bytes + size,
                                        [](std::byte byte) { return byte != std::byte{0}; }))
        throw error(errc::invalid_argument,
                    "options have " + std::to_string(size) + " bytes, of which only " +
                        std::to_string(num_known) + " are known; the others must be 0");
    return std::min(size, num_known);
}

const char* crossdock_last_error(void) { return last_error.c_str(); }

int crossdock_last_error_class(void) { return last_class; }

int crossdock_call_error_handlers(int are_called) {
    return std::exchange(calls_handlers, are_called != 0);
}

crossdock_status crossdock_fail(int status, const char* sentence) {
    return crossdock::c::guarded([&] {
        crossdock::c::require(sentence, "sentence");
        throw crossdock::error(static_cast<errc>(status), sentence);
    });
}

void crossdock_fail_next(int status, const char* sentence) {
    try {
        if (!announced)
            announced.emplace(static_cast<errc>(status), sentence == nullptr ? "" : sentence);
    } catch (...) {
        announced = crossdock::current_error();
    }
}

const char* crossdock_status_name(int status) {
    return crossdock::to_string(static_cast<crossdock::errc>(status));
}

crossdock_status crossdock_free(void* memory) {
    std::free(memory);
    return CROSSDOCK_SUCCESS;
}

crossdock_status crossdock_version(int* major, int* minor, int* patch) {
    return crossdock::c::guarded([&] {
        crossdock::c::require(major, "major");
        crossdock::c::require(minor, "minor");
        crossdock::c::require(patch, "patch");
        *major = CROSSDOCK_VERSION_MAJOR;
        *minor = CROSSDOCK_VERSION_MINOR;
        *patch = CROSSDOCK_VERSION_PATCH;
    });
}

crossdock_status crossdock_configuration(char** result) {
    return crossdock::c::give_text(crossdock::c::no_handle, result, "result",
                                   [] { return crossdock::configuration(); });
}

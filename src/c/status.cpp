#include <cstdlib>
#include <cstring>
#include <new>

#include "handles.hpp"

namespace {

thread_local std::string last_error;

}  // namespace

namespace crossdock::c {

crossdock_status remember_error() noexcept {
    try {
        const error fault = current_error();
        last_error = fault.what();
        return static_cast<crossdock_status>(fault.code());
    } catch (...) {  // there is no room even for the sentence
        last_error.clear();
        return CROSSDOCK_OUT_OF_MEMORY;
    }
}

void require(const void* pointer, const char* what) {
    if (pointer == nullptr)
        throw error(errc::invalid_argument, std::string(what) + " is a null pointer");
}

void give_text(char** result, const std::string& text) {
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *result = copy;
}

}  // namespace crossdock::c

const char* crossdock_last_error(void) { return last_error.c_str(); }

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

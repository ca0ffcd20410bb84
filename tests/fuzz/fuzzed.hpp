/// @file
/// @brief What the fuzzers of readers share: a file in memory, and what a reader may do with what it does not like.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "crossdock/error.hpp"

namespace crossdock::fuzz {

/// @brief Ends the fuzzer, which keeps the input.
inline void require(bool is_true) {
    if (!is_true) std::abort();
}

/// @brief A reader returns, or refuses the input in a sentence. Anything else that it throws ends the fuzzer; so does
/// an error that is not about the input.
template <class Read>
void read_or_refuse(Read&& read) {
    try {
        read();
    } catch (const error& fault) {
        require(fault.code() != errc::internal && fault.code() != errc::out_of_memory);
        require(!std::string_view(fault.what()).empty());
    }
}

/// @brief A file with a path and without a disk, written anew for each input.
class memory_file {
  public:
    memory_file()
        : file_(memfd_create("fuzzed", 0)), path_("/proc/self/fd/" + std::to_string(file_)) {
        require(file_ >= 0);
    }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    ~memory_file() { ::close(file_); }

    const std::string& holding(std::string_view text) {
        require(ftruncate(file_, 0) == 0);
        require(pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
        return path_;
    }

  private:
    int file_;
    std::string path_;
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// @brief The first line, which the rest follows.
inline std::string_view take_line(std::string_view& text) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

}  // namespace crossdock::fuzz

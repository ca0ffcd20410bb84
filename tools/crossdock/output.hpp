/// @file
/// @brief What the user reads: results on standard output, faults on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

namespace crossdock::tool {

/// @brief Formats to standard output; that it cannot be written is found by `flush_output`.
template <class... Values>
void print(fmt::format_string<Values...> text, Values&&... values) {
    const std::string formatted = fmt::format(text, std::forward<Values>(values)...);
    std::fwrite(formatted.data(), 1, formatted.size(), stdout);
}

/// @brief Hands over what was printed.
/// @throws error(errc::file_error)  it cannot be written, as on a full disk
void flush_output();

/// @brief One line on standard error.
/// @{
void report(const std::string& fault);
void warn(const std::string& doubt);
/// @}

/// @brief A file that a verb writes.
///
/// A regular file, or a new one, is there when all of it is: `close` renames what was written beside
/// it. What is anything else, such as a device, a pipe or a symbolic link, is written through and
/// stays what it is.
class output_file {
  public:
    /// @brief Opens it, which waits for the reader of a named pipe.
    /// @throws error(errc::file_error)  it cannot be written
    explicit output_file(std::string path);
    /// Forgets what was written beside a file that is not closed.
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    const std::string& path() const noexcept { return path_; }
    std::ostream& stream() noexcept { return stream_; }

    /// @brief Whether it is a file of its own, about which standard output may tell.
    bool is_replaced() const noexcept { return !beside_.empty(); }

    /// @brief Whether what is written here and what is printed get into one file, as of /dev/stdout.
    bool is_standard_output() const;

    /// @throws error(errc::file_error)  not all could be written
    void close();

  private:
    // Keeps why a write failed until somebody asks.
    class noting_buffer : public std::filebuf {
      public:
        int fault = 0;  // as errno

      protected:
        int_type overflow(int_type next) override;
        std::streamsize xsputn(const char* text, std::streamsize length) override;
        int sync() override;

      private:
        void note(bool is_fault);
    };

    [[noreturn]] void fail(int fault);

    std::string path_;
    std::string beside_;  // is renamed at the end; empty if written through
    noting_buffer file_;
    std::ostream stream_;
};

}  // namespace crossdock::tool

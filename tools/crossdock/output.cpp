#include "tools/crossdock/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "crossdock/error.hpp"

namespace crossdock::tool {

void flush_output() {
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        throw error(errc::file_error, "cannot write to standard output");
}

void report(const std::string& fault) {
    fmt::print(stderr, "crossdock: {}\n", fault);
    std::fflush(stderr);
}

void warn(const std::string& doubt) { report("warning: " + doubt); }

output_file::noting_buffer::int_type output_file::noting_buffer::overflow(int_type next) {
    const auto result = std::filebuf::overflow(next);
    note(traits_type::eq_int_type(result, traits_type::eof()));
    return result;
}

std::streamsize output_file::noting_buffer::xsputn(const char* text, std::streamsize length) {
    const auto num_taken = std::filebuf::xsputn(text, length);
    note(num_taken < length);
    return num_taken;
}

int output_file::noting_buffer::sync() {
    const int result = std::filebuf::sync();
    note(result < 0);
    return result;
}

void output_file::noting_buffer::note(bool is_fault) {
    if (is_fault && fault == 0) fault = errno;
}

output_file::output_file(std::string path) : path_(std::move(path)), stream_(&file_) {
    namespace fs = std::filesystem;
    std::error_code fault;
    const auto kind = fs::symlink_status(path_, fault).type();
    if (kind == fs::file_type::not_found || kind == fs::file_type::regular)
        beside_ = path_ + ".partial";
    const auto& opened = is_replaced() ? beside_ : path_;
    if (!file_.open(opened, std::ios::out | std::ios::binary)) fail(errno);
}

output_file::~output_file() {
    if (is_replaced() && file_.is_open()) std::remove(beside_.c_str());
}

bool output_file::is_standard_output() const {
    using facts = struct stat;
    facts written{}, printed{};
    return ::stat(path_.c_str(), &written) == 0 && ::fstat(STDOUT_FILENO, &printed) == 0 &&
           written.st_dev == printed.st_dev && written.st_ino == printed.st_ino;
}

void output_file::close() {
    if (!stream_.flush()) fail(file_.fault);
    file_.close();
    if (is_replaced() && std::rename(beside_.c_str(), path_.c_str()) != 0) fail(errno);
}

void output_file::fail(int fault) {
    if (is_replaced()) std::remove(beside_.c_str());
    throw error(errc::file_error, fmt::format("cannot write {}: {}", path_, std::strerror(fault)));
}

}  // namespace crossdock::tool

#include "tools/crossdock/output.hpp"

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

}  // namespace crossdock::tool

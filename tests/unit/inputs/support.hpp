#pragma once

#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/project_file.hpp"
#include "support/thrown_by.hpp"
#include "tools/inputs/matrix.hpp"

namespace crossdock::test {

/// A file of this process, removed at the end of its scope.
class temporary_file {
  public:
    explicit temporary_file(const std::string& content)
        : path_(std::filesystem::temp_directory_path() /
                ("crossdock_pattern_test_" + std::to_string(getpid()))) {
        std::ofstream(path_, std::ios::binary) << content;
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { std::filesystem::remove(path_); }

    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

inline std::string gzip(std::string text) {
    z_stream stream{};
    deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string result(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(text.data());
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = static_cast<uInt>(result.size());
    deflate(&stream, Z_FINISH);
    result.resize(stream.total_out);
    deflateEnd(&stream);
    return result;
}

inline sparse_matrix read_text(const std::string& content) {
    return read_matrix_market(temporary_file(content).path());
}

inline sparse_matrix read_data(const std::string& name) {
    return read_matrix_market(test::project_file("data/" + name + ".mtx.gz"));
}

}  // namespace crossdock::test

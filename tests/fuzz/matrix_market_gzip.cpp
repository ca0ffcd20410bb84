// The first byte says what the rest is: compressed data as it is, or text that is compressed here, at a level and in
// members that the byte gives, so that checksums are right.
#include <zlib.h>

#include <vector>

#include "fuzzed.hpp"
#include "tools/inputs/matrix.hpp"

namespace {

void append_member(std::string& to, std::string_view text, int level) {
    z_stream stream{};
    crossdock::fuzz::require(
        deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 1, Z_DEFAULT_STRATEGY) == Z_OK);
    std::vector<Bytef> room(deflateBound(&stream, text.size()));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = room.data();
    stream.avail_out = static_cast<uInt>(room.size());
    crossdock::fuzz::require(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    to.append(reinterpret_cast<const char*>(room.data()), stream.total_out);
    deflateEnd(&stream);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    if (size == 0) return 0;
    static fuzz::memory_file file;
    const auto text = fuzz::text_of(data + 1, size - 1);
    std::string content;
    if (data[0] % 4 == 0) {
        content = "\x1f\x8b\x08";
        content += text;
    } else {
        const std::size_t half = data[0] % 4 == 1 ? 0 : size / 2;
        append_member(content, text.substr(0, half), data[0] % 2);
        append_member(content, text.substr(half), data[0] % 2);
        if (data[0] % 4 == 3) content.resize(content.size() - size % 20);
    }
    fuzz::read_or_refuse([&] { static_cast<void>(read_matrix_market(file.holding(content))); });
    return 0;
}

// Levels of a multigrid hierarchy, of which each has patterns.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "fuzzed.hpp"
#include "tools/inputs/hierarchy.hpp"

namespace {

// A folder in memory with one file; removed when the fuzzer ends.
struct folder {
    std::string path = "/dev/shm/crossdock-fuzz-" + std::to_string(getpid());
    folder() { std::filesystem::create_directory(path); }
    ~folder() { std::filesystem::remove_all(path); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crossdock;
    static const folder parts;
    std::ofstream(parts.path + "/0.txt") << fuzz::text_of(data, size);
    fuzz::read_or_refuse([&] {
        for (const auto& level : read_hierarchy(parts.path)) {
            const auto work = fold(level, 1);
            fuzz::require(work.matrix.num_columns == level.starts.back());
        }
    });
    static const auto regions = topology::one_region(2);
    const std::string number[] = {"", ":0", ":1", ":x"};
    fuzz::read_or_refuse([&] {
        for (const auto& work :
             load_levels("amg:" + parts.path + number[size % 4], "block", regions))
            fuzz::require(work.matrix.num_rows == 2);
    });
    return 0;
}

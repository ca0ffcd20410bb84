// A histogram of the words of a text file, in a table of 2^k buckets that is spread over the ranks.
//
// Every rank reads its part of the file, hashes its words, and adds one to each word's bucket. Words are
// far from evenly distributed: every rank adds to the bucket of "the" many times. That becomes one
// request of each rank, and on the hypercube these become one that reaches the bucket's owner.
//
// Additions are queued and done by `step`, which is for all ranks together. So that no rank queues a
// whole file, each reads its part in pieces, and all ranks have equally many.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "common/program.hpp"

using namespace examples;
using crossdock::block_partition;

constexpr count_t piece_bytes = 1 << 20;

static bool is_letter(int character) {
    return character != EOF && std::isalnum(static_cast<unsigned char>(character)) != 0;
}

static char lower(int character) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
}

static count_t bucket_of(const std::string& word, count_t num_buckets) {
    return static_cast<count_t>(std::hash<std::string>()(word) &
                                static_cast<std::size_t>(num_buckets - 1));
}

static count_t file_bytes(const std::string& path) {
    std::error_code fault;
    const auto num_bytes = std::filesystem::file_size(path, fault);
    if (!fault && std::ifstream(path)) return static_cast<count_t>(num_bytes);
    throw crossdock::error(crossdock::errc::file_error, "cannot read " + path);
}

// The words that begin in [first, last). The last one may end behind it; one that began before belongs
// to the part before.
static std::vector<std::string> words_between(const std::string& path, count_t first,
                                              count_t last) {
    std::ifstream file(path, std::ios::binary);
    file.seekg(std::max(first - 1, count_t{0}));
    bool is_in_word = first > 0 && is_letter(file.get());
    std::vector<std::string> words;
    for (count_t at = first; at < last || (is_in_word && !words.empty()); ++at) {
        const int character = file.get();
        if (is_letter(character)) {
            if (!is_in_word) words.emplace_back();
            if (!words.empty()) words.back() += lower(character);
        }
        is_in_word = is_letter(character);
    }
    return words;
}

static std::vector<count_t> serial_histogram(const std::string& path, count_t num_buckets) {
    std::vector<count_t> counts(static_cast<std::size_t>(num_buckets));
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    std::string words = text.str();
    std::transform(words.begin(), words.end(), words.begin(), [](char c) {
        const int character = static_cast<unsigned char>(c);
        return is_letter(character) ? lower(character) : ' ';
    });
    std::istringstream stream(words);
    for (std::string word; stream >> word;) {
        ++counts[static_cast<std::size_t>(bucket_of(word, num_buckets))];
    }
    return counts;
}

static bool word_histogram(const crossdock::context& world, const std::string& path, int bits) {
    const count_t num_buckets = count_t{1} << bits;
    const count_t num_bytes = crossdock::on_all_or_none(world, [&] { return file_bytes(path); });
    const auto parts = block_partition::blocks(num_bytes, world.num_ranks());
    const count_t first = parts.first(world.rank()), last = parts.first(world.rank() + 1);
    crossdock::distributed_array<count_t> counts(world, num_buckets, {.route = "hypercube"});

    // Rank 0 has the largest part.
    for (count_t read_bytes = 0; read_bytes < parts.size(0); read_bytes += piece_bytes) {
        const count_t begin = std::min(first + read_bytes, last);
        for (const auto& word : words_between(path, begin, std::min(begin + piece_bytes, last))) {
            counts.update(bucket_of(word, num_buckets), 1);
        }
        counts.step(crossdock::sum());
    }

    const auto found = entries_on_rank_0(counts, world);
    counts.close();
    const auto num_words = std::accumulate(found.begin(), found.end(), count_t{0});
    const count_t most = found.empty() ? 0 : *std::max_element(found.begin(), found.end());
    return report(
        world,
        fmt::format("{}: {} words in {} buckets, at most {} in one",
                    std::filesystem::path(path).filename().string(), num_words, num_buckets, most),
        world.rank() != 0 || found == serial_histogram(path, num_buckets));
}

int main(int argc, char** argv) {
    CLI::App app("Counts the words of a text by their hash");
    std::string path = EXAMPLES_DATA_DIR "/../ARCHITECTURE.md";
    int bits = 12;
    app.add_option("FILE", path, "a text")->capture_default_str();
    app.add_option("--bits", bits, "k for 2^k buckets")
        ->check(CLI::Range(0, 24))
        ->capture_default_str();
    return run(app, argc, argv,
               [&](const auto& world) { return word_histogram(world, path, bits); });
}

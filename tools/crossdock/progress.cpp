#include "tools/crossdock/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace crossdock::tool {

namespace {

constexpr std::chrono::milliseconds between_lines{100};
constexpr const char* clear_line = "\r\033[K";

// What the handler writes. One text is written while the handler may read the other.
struct last_words {
    std::array<char, 160> text{};
    std::size_t length = 0;
};
std::array<last_words, 2> texts;
std::atomic<const last_words*> current{nullptr};

void prepare(const std::string& sentence) {
    auto& next = current.load() == &texts[0] ? texts[1] : texts[0];
    next.length = std::min(sentence.size(), next.text.size());
    std::copy_n(sentence.begin(), next.length, next.text.begin());
    current.store(&next);
}

// Calls only what a handler of signals may call.
void end_process(int /*signal*/) {
    const last_words* const words = current.load();
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words->text.data(), words->length);
    _exit(interrupted);
}

}  // namespace

progress::progress(const std::string& verb) : verb_(verb), is_shown_(::isatty(STDERR_FILENO) == 1) {
    prepare(fmt::format("{}crossdock: {} was interrupted\n", is_shown_ ? clear_line : "", verb_));
    struct sigaction handling {};
    handling.sa_handler = &end_process;
    ::sigaction(SIGINT, &handling, &previous_);
}

progress::~progress() {
    ::sigaction(SIGINT, &previous_, nullptr);
    if (!is_shown_) return;
    std::fputs(clear_line, stderr);
    std::fflush(stderr);
}

void progress::tell(const std::string& where) {
    prepare(fmt::format("{}crossdock: {} was interrupted at {}\n", is_shown_ ? clear_line : "",
                        verb_, where));
    const auto now = std::chrono::steady_clock::now();
    if (!is_shown_ || now < next_) return;
    next_ = now + between_lines;
    fmt::print(stderr, "{}{}: {}", clear_line, verb_, where);
    std::fflush(stderr);
}

}  // namespace crossdock::tool

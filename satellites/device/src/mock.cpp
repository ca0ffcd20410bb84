// A device of the host's own: memory that the processor cannot touch but in here, and streams whose steps are late. A
// step runs when somebody looks at an event or waits, in an order that a seed gives: between streams any that events
// allow, in a stream that of the calls. So a synchronization that is missing shows as a wrong value, and a stray access
// of the host as a fault of memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "backends.hpp"
#include "crossdock/error.hpp"
#include "kernels.hpp"

namespace crossdock::device {

namespace {

template <class Arguments, void (*work)(const Arguments&, index_t)>
void run_threads(const std::byte* arguments, index_t num_threads, bool is_backward) {
    Arguments a;
    std::memcpy(&a, arguments, sizeof(a));
    for (index_t i = 0; i < num_threads; ++i) work(a, is_backward ? num_threads - 1 - i : i);
}

#define ENTRY_COPY(bytes, word) &run_threads<copy_arguments, &copy_word<word>>,
#define ENTRY_FOLD(operation, name, type) \
    &run_threads<fold_arguments, &fold_value<type, fold_##operation>>,
constexpr void (*kernels[])(const std::byte*, index_t,
                            bool) = {CROSSDOCK_DEVICE_KERNELS(ENTRY_COPY, ENTRY_FOLD)};

// What is recorded in it last, and what of that is done.
struct event {
    std::uint64_t recorded = 0;
    std::uint64_t done = 0;
};

struct step {
    std::function<void()> work;
    std::shared_ptr<event> awaited = nullptr;  // done at least up to `number`, before the step
    std::uint64_t number = 0;
};

using queue = std::deque<step>;

// Of the caller, rounded up to pages, with a page behind it that nobody may touch.
struct block {
    std::byte* begin;
    std::size_t num_bytes;
};

class mock final : public driver {
  public:
    mock(std::uint64_t seed, const std::string& forgotten)
        : random_(seed), seed_(seed), forgotten_(forgotten) {}
    ~mock() override {
        for (const auto& [memory, one] : device_) unused_.push_back(one);
        for (const auto& one : unused_) munmap(one.begin, one.num_bytes + page_bytes());
    }

    std::string name() const override { return "mock"; }
    std::string description() const override {
        return "mock of seed " + std::to_string(seed_) + ", in memory of the host";
    }

    bool can_use(const void* address) override { return find(device_, address) != nullptr; }

    void* allocate(std::size_t num_bytes) override {
        const std::size_t page = page_bytes();
        const std::size_t size = (num_bytes + page - 1) / page * page;
        void* const found =
            mmap(nullptr, size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (found == MAP_FAILED) throw error(errc::out_of_memory, "mock: no memory is left");
        auto* const begin = static_cast<std::byte*>(found);
        // The end is the page's, as far as the widest word allows.
        auto* const memory = begin + (size - num_bytes) / 16 * 16;
        device_[memory] = {begin, size};
        open_all(true);
        std::memset(begin, 0xd5, size);
        open_all(false);
        return memory;
    }
    // The addresses are not used again as long as this lives, so that whatever uses them later fails.
    void free(void* memory) noexcept override {
        const auto found = device_.find(memory);
        if (found == device_.end()) return;
        madvise(found->second.begin, found->second.num_bytes, MADV_DONTNEED);
        unused_.push_back(found->second);
        device_.erase(found);
    }
    void* allocate_pinned(std::size_t num_bytes) override {
        void* const memory = std::malloc(num_bytes);
        if (memory == nullptr) throw error(errc::out_of_memory, "mock: no memory is left");
        std::memset(memory, 0xa7, num_bytes);
        pinned_[memory] = {static_cast<std::byte*>(memory), num_bytes};
        return memory;
    }
    void free_pinned(void* memory) noexcept override {
        if (pinned_.erase(memory) > 0) std::free(memory);
    }

    // The target has something else until the step is done.
    void copy_down(void* pinned, const void* device, std::size_t num_bytes, stream on) override {
        require(find(pinned_, pinned), "the target is not pinned memory of the host");
        std::memset(pinned, 0xa7, num_bytes);
        enqueue(on, {[=, this] { copy(pinned, device, num_bytes, pinned, device); }});
    }
    void copy_up(void* device, const void* pinned, std::size_t num_bytes, stream on) override {
        require(find(pinned_, pinned), "the source is not pinned memory of the host");
        enqueue(on, {[=, this] { copy(device, pinned, num_bytes, pinned, device); }});
    }

    event_handle make_event() override {
        auto made = std::make_shared<event>();
        auto* const handle = made.get();
        events_[handle] = std::move(made);
        return handle;
    }
    void free_event(event_handle event) noexcept override { events_.erase(event); }
    void record(event_handle handle, stream on) override {
        // On the default stream there are lists of an exchange that is made.
        if (forgotten_ == "record" && on != nullptr) return;
        const auto one = events_.at(handle);
        enqueue(on, {[one, number = ++one->recorded] { one->done = std::max(one->done, number); }});
    }
    void let_wait(stream on, event_handle handle) override {
        if (forgotten_ == "let_wait") return;
        const auto one = events_.at(handle);
        enqueue(on, {[] {}, one, one->recorded});
    }
    bool is_complete(event_handle handle) override {
        const auto one = events_.at(handle);
        for (auto num = random_() % 4; num > 0; --num) run_one();
        require_health();
        return one->done >= one->recorded || forgotten_ == "is_complete";
    }
    void wait(event_handle handle) override {
        const auto one = events_.at(handle);
        while (one->done < one->recorded) run_or_fail();
        require_health();
    }

    stream make_stream() override {
        auto* const handle = reinterpret_cast<stream>(streams_.size());
        streams_[handle];
        return handle;
    }
    void free_stream(stream one) noexcept override {
        try {
            wait_for(one);
        } catch (const error&) {  // the next call says so
        }
    }
    void wait_for(stream one) override {
        const auto& waited = streams_.at(one);
        while (!waited.empty()) run_or_fail();
        require_health();
    }

    void launch(int kernel, const void* arguments, std::size_t num_bytes, count_t num_threads,
                stream on) override {
        const auto* const first = static_cast<const std::byte*>(arguments);
        const bool is_backward = random_() % 2 == 1;
        enqueue(on, {[=, this, kept = std::vector<std::byte>(first, first + num_bytes)] {
                    open_all(true);
                    kernels[kernel](kept.data(), num_threads, is_backward);
                    open_all(false);
                }});
    }

  private:
    static std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

    static void require(bool is_so, const char* otherwise) {
        if (!is_so) throw error(errc::invalid_state, std::string("mock: ") + otherwise);
    }

    static const block* find(const std::map<const void*, block>& blocks, const void* address) {
        auto next = blocks.upper_bound(address);
        if (next == blocks.begin()) return nullptr;
        const block& one = (--next)->second;
        return address < one.begin + one.num_bytes ? &one : nullptr;
    }

    void open_all(bool is_open) {
        for (const auto& [memory, one] : device_) {
            const int access = is_open ? PROT_READ | PROT_WRITE : PROT_NONE;
            if (mprotect(one.begin, one.num_bytes, access) != 0)
                throw error(errc::out_of_memory, "mock: the system has too many areas of memory");
        }
    }

    void copy(void* to, const void* from, std::size_t num_bytes, const void* pinned,
              const void* device) {
        require(find(pinned_, pinned) && find(device_, device),
                "a copy uses memory that was freed");
        open_all(true);
        std::memcpy(to, from, num_bytes);
        open_all(false);
    }

    void enqueue(stream on, step one) { streams_.at(on).push_back(std::move(one)); }

    static bool can_run(const queue& steps) {
        if (steps.empty()) return false;
        const auto& next = steps.front();
        return !next.awaited || next.awaited->done >= next.number;
    }

    // The next step of any stream that may run; false if there is none.
    bool run_one() {
        std::vector<queue*> ready;
        for (auto& [handle, steps] : streams_)
            if (can_run(steps)) ready.push_back(&steps);
        if (ready.empty()) return false;
        auto& chosen = *ready[random_() % ready.size()];
        const step one = std::move(chosen.front());
        chosen.pop_front();
        try {
            one.work();
        } catch (const error& fault) {
            failure_.emplace(fault);
        }
        return true;
    }
    void run_or_fail() { require(run_one(), "a stream waits for ever"); }

    // As with a driver, what a step has failed with every later look at an event says.
    void require_health() const {
        if (failure_) throw *failure_;
    }

    std::mt19937_64 random_;
    std::uint64_t seed_;
    std::string forgotten_;
    std::map<const void*, block> device_;
    std::map<const void*, block> pinned_;
    std::vector<block> unused_;
    std::map<void*, std::shared_ptr<event>> events_;
    // By number, so that the order does not depend on addresses.
    std::map<stream, queue> streams_{{nullptr, {}}};
    std::optional<error> failure_;
};

}  // namespace

std::shared_ptr<driver> make_mock(std::uint64_t seed, const std::string& forgotten) {
    return std::make_shared<mock>(seed, forgotten);
}

}  // namespace crossdock::device

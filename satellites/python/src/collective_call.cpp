#include "collective_call.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "crossdock/communicator.hpp"

namespace crossdock::python {

namespace {

std::byte* new_stack(std::size_t num_bytes) {
    void* const memory = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE);
    return static_cast<std::byte*>(memory);
}

// A thread's next call uses the stack of its last one: UCX, which MPICH may use, keeps a record of each munmap.
struct unused_stack {
    std::span<std::byte> memory;
    unused_stack() = default;
    unused_stack(const unused_stack&) = delete;
    unused_stack& operator=(const unused_stack&) = delete;
    ~unused_stack() { replace({}); }
    void replace(std::span<std::byte> by) {
        if (!memory.empty()) munmap(memory.data(), memory.size());
        memory = by;
    }
};
thread_local unused_stack last_stack;

}  // namespace

collective_call::collective_call(std::function<void()> body)
    : body_(std::move(body)),
      stack_(last_stack.memory.empty() ? new_stack(stack_bytes)
                                       : std::exchange(last_stack.memory, {}).data()) {
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack_;
    inside_.uc_stack.ss_size = stack_bytes;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&enter), 2,
                static_cast<unsigned>(std::uint64_t{address} >> 32),
                static_cast<unsigned>(address));
}

collective_call::~collective_call() { last_stack.replace({stack_, stack_bytes}); }

bool collective_call::run() {
    end_ = std::chrono::steady_clock::now() + between_signals;
    auto* const around = suspension::set_current(this);
    switch_stacks(outside_, inside_);
    suspension::set_current(around);
    return is_done_;
}

// makecontext passes ints.
void collective_call::enter(unsigned high, unsigned low) {
    auto& call = *reinterpret_cast<collective_call*>(
        static_cast<std::uintptr_t>(std::uint64_t{high} << 32 | low));
    try {
        call.body_();
    } catch (...) {
        call.thrown_ = std::current_exception();
    }
    call.is_done_ = true;
    call.switch_stacks(call.inside_, call.outside_);
}

void collective_call::suspend() {
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() >= end_) switch_stacks(inside_, outside_);
}

void collective_call::before_blocking(const communicator& comm) {
    MPI_Request barrier = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Ibarrier(comm.get(), &barrier));
    comm.wait(barrier);
}

// The exceptions that are being handled belong to a stack, but C++ keeps them for the thread.
void collective_call::switch_stacks(ucontext_t& from, ucontext_t& to) {
    auto* const of_thread = reinterpret_cast<std::byte*>(abi::__cxa_get_globals());
    std::ranges::swap_ranges(exceptions_, std::span(of_thread, exceptions_.size()));
    swapcontext(&from, &to);
}

}  // namespace crossdock::python

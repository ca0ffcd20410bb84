#include "crossdock/communicator.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "error_code_mpi.hpp"

namespace crossdock {

namespace {

// For so long a rank waits for rank 0 to end the program by the same error.
constexpr std::chrono::seconds patience{3};

// Open MPI's launcher ends the program without what it has not passed on by then.
constexpr std::chrono::milliseconds time_to_print{200};

void wait_for_rank_0() {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
        // Rank 0 learns of the error by messages that this rank may still have to pass on.
        int is_there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &is_there, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

[[noreturn]] void end_program(const char* sentence) {
    std::fflush(stdout);
    const bool has_mpi = may_call_mpi();
    int rank = 0;
    if (has_mpi) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) wait_for_rank_0();
    std::fprintf(stderr, "error: %s\n", sentence);
    std::this_thread::sleep_for(time_to_print);
    if (has_mpi) MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
}

[[noreturn]] void report_and_end() {
    if (!std::current_exception())
        end_program(
            "std::terminate was called without an exception, as where a thread is not joined");
    try {
        throw;
    } catch (const std::exception& fault) {
        end_program(fault.what());
    } catch (...) {
        end_program("an exception that is no std::exception");
    }
}

}  // namespace

void report_uncaught() noexcept { std::set_terminate(report_and_end); }

}  // namespace crossdock

#include "crossdock/communicator.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

namespace crossdock {

namespace {

// For so long a rank waits for another to end the program: for rank 0 by the same error, and for twice as long for the
// rank whose error the others only hear of.
constexpr std::chrono::seconds patience{3};

// Open MPI's launcher ends the program without what it has not passed on by then.
constexpr std::chrono::milliseconds time_to_print{200};

void wait_for_other(std::chrono::seconds longest) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (std::chrono::steady_clock::now() < end) {
        // It learns of the error by messages that this rank may still have to pass on.
        int is_there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &is_there, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

[[noreturn]] void end_program(const char* sentence, bool is_of_peer = false) {
    std::fflush(stdout);
    const bool has_mpi = may_call_mpi();
    int rank = 0;
    if (has_mpi) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (has_mpi && (rank != 0 || is_of_peer)) wait_for_other(is_of_peer ? 2 * patience : patience);
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
    } catch (const error& fault) {
        end_program(fault.what(), fault.code() == errc::peer_failed);
    } catch (const std::exception& fault) {
        end_program(fault.what());
    } catch (...) {
        end_program("an exception that is no std::exception");
    }
}

}  // namespace

void report_uncaught() noexcept { std::set_terminate(report_and_end); }

}  // namespace crossdock

/// @file
/// @brief What is found: differences on standard error, at most ten of each rank.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace conformance {

class report {
  public:
    static constexpr long max_differences = 10;

    report(std::uint64_t seed, int rank, bool is_verbose)
        : seed_(seed), rank_(rank), is_verbose_(is_verbose) {
        std::signal(SIGTERM, print_where);
    }

    /// What the following is about; --verbose prints it, and who ends a program that hangs sees it.
    void enter(long exchange, const std::string& what) {
        std::snprintf(where_, sizeof where_, "seed %llu, exchange %ld, %s, rank %d",
                      static_cast<unsigned long long>(seed_), exchange, what.c_str(), rank_);
        if (is_verbose_ && rank_ == 0) std::fprintf(stderr, "conformance: %s\n", where_);
    }

    void difference(const std::string& what) {
        ++num_differences_;
        if (num_differences_ <= max_differences)
            std::fprintf(stderr, "conformance: difference: %s: %s\n", where_, what.c_str());
    }

    void expect_equal(const char* what, long expected, long got) {
        if (expected != got)
            difference(std::string(what) + ": expected " + std::to_string(expected) + ", got " +
                       std::to_string(got));
    }

    /// Of all ranks. Collective.
    long num_differences() const {
        long sum = 0;
        PMPI_Allreduce(&num_differences_, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        return sum;
    }

  private:
    static void print_where(int signal) {
        const char before[] = "conformance: ended in ";
        auto written = write(STDERR_FILENO, before, sizeof before - 1);
        std::size_t length = 0;
        while (length < sizeof where_ && where_[length] != '\0') ++length;
        written += write(STDERR_FILENO, where_, length);
        written += write(STDERR_FILENO, "\n", 1);
        _exit(written > 0 ? 128 + signal : 1);
    }

    inline static char where_[512] = "";
    std::uint64_t seed_;
    int rank_;
    bool is_verbose_;
    long num_differences_ = 0;
};

}  // namespace conformance

/// @file
/// @brief What a program does between start and wait: other calls in which it may block, on all ranks or on some.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <string>

#include "random.hpp"
#include "report.hpp"

namespace conformance {

class interlude {
  public:
    /// @param everyone  a communicator of all ranks for these calls alone
    /// @param half      one of every second rank, of which this rank is a member
    interlude(random_numbers& shared, MPI_Comm everyone, MPI_Comm half, report& found)
        : kind_(static_cast<kind>(shared.below(16))),
          odd_ranks_(shared.below(2)),
          everyone_(everyone),
          half_(half),
          found_(&found) {
        PMPI_Comm_size(everyone, &num_ranks_);
        PMPI_Comm_rank(everyone, &rank_);
        is_among_ = rank_ % 2 == odd_ranks_;
        partner_ = rank_ ^ 1;
    }

    std::string name() const {
        constexpr const char* names[] = {"Barrier",
                                         "Barrier of half the ranks",
                                         "Allreduce",
                                         "Allreduce of half the ranks",
                                         "a ring of Send and Recv",
                                         "Ssend",
                                         "Probe",
                                         "Recv of what is sent after wait",
                                         "Probe of what is sent after wait",
                                         "sleep"};
        const auto i = static_cast<std::size_t>(kind_);
        return i < std::size(names) ? std::string(", between: ") + names[i] : "";
    }

    void before_wait() {
        int sum = 0;
        const int one = 1;
        const bool is_sender = rank_ % 2 == 1;
        switch (kind_) {
            case kind::barrier: MPI_Barrier(everyone_); break;
            case kind::half_barrier:
                if (is_among_) MPI_Barrier(half_);
                break;
            case kind::half_allreduce:
                if (!is_among_) break;
                [[fallthrough]];
            case kind::allreduce: {
                const auto comm = kind_ == kind::allreduce ? everyone_ : half_;
                int expected = 0;
                PMPI_Comm_size(comm, &expected);
                MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
                found_->expect_equal("sum of Allreduce", expected, sum);
                break;
            }
            case kind::ring: pass_token(); break;
            case kind::ssend:
                if (!has_partner()) break;
                if (is_sender)
                    MPI_Ssend(&rank_, 1, MPI_INT, partner_, tag, everyone_);
                else
                    receive(false);
                break;
            case kind::probe:
                if (!has_partner()) break;
                if (is_sender) {
                    usleep(200);
                    MPI_Send(&rank_, 1, MPI_INT, partner_, tag, everyone_);
                } else {
                    receive(true);
                }
                break;
            case kind::late_send:
            case kind::late_probe:
                if (has_partner() && !is_sender) receive(kind_ == kind::late_probe);
                break;
            case kind::sleep:
                if (is_among_) usleep(1000);
                break;
            default: break;
        }
    }

    void after_wait() {
        if ((kind_ == kind::late_send || kind_ == kind::late_probe) && has_partner() &&
            rank_ % 2 == 1)
            MPI_Send(&rank_, 1, MPI_INT, partner_, tag, everyone_);
    }

  private:
    enum class kind {
        barrier,
        half_barrier,
        allreduce,
        half_allreduce,
        ring,
        ssend,
        probe,
        late_send,
        late_probe,
        sleep
        // and as often as not, nothing
    };
    static constexpr int tag = 1;

    bool has_partner() const { return partner_ < num_ranks_; }

    void receive(bool probes) {
        int value = -1;
        MPI_Status status;
        if (probes) {
            MPI_Probe(partner_, tag, everyone_, &status);
            found_->expect_equal("source that Probe found", partner_, status.MPI_SOURCE);
        }
        MPI_Recv(&value, 1, MPI_INT, partner_, tag, everyone_, &status);
        found_->expect_equal("value of a receive between start and wait", partner_, value);
    }

    void pass_token() {
        int token = 0;
        const int next = (rank_ + 1) % num_ranks_;
        const int previous = (rank_ + num_ranks_ - 1) % num_ranks_;
        if (num_ranks_ == 1) return;
        if (rank_ > 0) MPI_Recv(&token, 1, MPI_INT, previous, tag, everyone_, MPI_STATUS_IGNORE);
        ++token;
        MPI_Send(&token, 1, MPI_INT, next, tag, everyone_);
        if (rank_ > 0) return;
        MPI_Recv(&token, 1, MPI_INT, previous, tag, everyone_, MPI_STATUS_IGNORE);
        found_->expect_equal("token after a ring of Send and Recv", num_ranks_, token);
    }

    kind kind_;
    int odd_ranks_;
    MPI_Comm everyone_;
    MPI_Comm half_;
    report* found_;
    int num_ranks_ = 0;
    int rank_ = 0;
    int partner_ = 0;
    bool is_among_ = false;
};

}  // namespace conformance

/// @file
/// @brief Every way to complete requests, and ordinary messages whose requests stand in the same array.
#pragma once

#include <sched.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "random.hpp"
#include "report.hpp"

namespace conformance {

enum class completion {
    wait,
    waitall,
    waitany,
    waitsome,
    test,
    testall,
    testany,
    testsome,
    get_status,
    get_status_all  // which not all MPIs have
};
#ifdef CROSSDOCK_HAS_GET_STATUS_ALL
constexpr int num_completions = 10;
#else
constexpr int num_completions = 9;
#endif

inline std::vector<std::size_t> random_order(std::size_t size, random_numbers& random) {
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.shuffle(order);
    return order;
}

/// Completes an array of requests, of which some may be null or inactive, and keeps the status of each.
class completer {
  public:
    completer(std::vector<MPI_Request>& requests, random_numbers& random, report& found)
        : requests_(&requests),
          random_(&random),
          found_(&found),
          statuses_(requests.size()),
          times_(requests.size(), 0) {}

    /// @param num_active  of the requests
    void complete(completion how, int num_active) {
        const auto size = static_cast<int>(requests_->size());
        auto* requests = requests_->data();
        switch (how) {
            case completion::wait:
            case completion::test:
            case completion::get_status:
                for (const auto i : random_order(requests_->size(), *random_)) complete_one(how, i);
                return;
            case completion::waitall: MPI_Waitall(size, requests, statuses_.data()); return;
            case completion::testall:
                poll([&](int& flag) { MPI_Testall(size, requests, &flag, statuses_.data()); });
                return;
#ifdef CROSSDOCK_HAS_GET_STATUS_ALL
            case completion::get_status_all:
                poll([&](int& flag) {
                    MPI_Request_get_status_all(size, requests, &flag, statuses_.data());
                });
                for (auto& one : *requests_) MPI_Wait(&one, MPI_STATUS_IGNORE);
                return;
#endif
            case completion::waitany:
            case completion::testany:
                while (complete_any(how == completion::waitany)) {
                }
                break;
            default:
                while (complete_some(how == completion::waitsome)) {
                }
                break;
        }
        found_->expect_equal("requests completed by Waitany, Waitsome, Testany or Testsome",
                             num_active, std::accumulate(times_.begin(), times_.end(), 0));
        if (!times_.empty())
            found_->expect_equal("times that one request completed", std::min(num_active, 1),
                                 *std::max_element(times_.begin(), times_.end()));
    }

    const MPI_Status& status(std::size_t i) const { return statuses_[i]; }

  private:
    template <class Test>
    static void poll(const Test& test) {
        for (int flag = 0;;) {
            test(flag);
            if (flag != 0) return;
            sched_yield();
        }
    }

    void complete_one(completion how, std::size_t i) {
        auto* request = &(*requests_)[i];
        auto* status = &statuses_[i];
        if (how == completion::get_status)
            poll([&](int& flag) { MPI_Request_get_status(*request, &flag, status); });
        if (how == completion::test)
            poll([&](int& flag) { MPI_Test(request, &flag, status); });
        else
            MPI_Wait(request, how == completion::wait ? status : MPI_STATUS_IGNORE);
    }

    bool complete_any(bool waits) {
        const auto size = static_cast<int>(requests_->size());
        int index = MPI_UNDEFINED;
        MPI_Status status;
        if (waits)
            MPI_Waitany(size, requests_->data(), &index, &status);
        else
            poll([&](int& flag) { MPI_Testany(size, requests_->data(), &index, &flag, &status); });
        if (index == MPI_UNDEFINED) return false;
        keep(index, status);
        return true;
    }

    bool complete_some(bool waits) {
        const auto size = static_cast<int>(requests_->size());
        std::vector<int> indices(requests_->size());
        std::vector<MPI_Status> statuses(requests_->size());
        int num_done = 0;
        const auto some = waits ? MPI_Waitsome : MPI_Testsome;
        some(size, requests_->data(), &num_done, indices.data(), statuses.data());
        if (num_done == MPI_UNDEFINED) return false;
        if (num_done == 0) sched_yield();
        for (std::size_t k = 0; k < static_cast<std::size_t>(num_done); ++k)
            keep(indices[k], statuses[k]);
        return true;
    }

    void keep(int index, const MPI_Status& status) {
        const auto i = static_cast<std::size_t>(index);
        statuses_[i] = status;
        ++times_[i];
    }

    std::vector<MPI_Request>* requests_;
    random_numbers* random_;
    report* found_;
    std::vector<MPI_Status> statuses_;
    std::vector<int> times_;
};

/// A message to the next rank and one from the previous, by requests that are persistent or not.
class ring_message {
  public:
    ring_message(MPI_Comm comm, int tag, int num_values, bool is_persistent)
        : is_persistent_(is_persistent),
          tag_(tag),
          comm_(comm),
          sent_(static_cast<std::size_t>(num_values)),
          received_(sent_.size()) {
        int num_ranks = 0;
        PMPI_Comm_size(comm, &num_ranks);
        PMPI_Comm_rank(comm, &rank_);
        previous_ = (rank_ + num_ranks - 1) % num_ranks;
        next_ = (rank_ + 1) % num_ranks;
        if (!is_persistent_) return;
        MPI_Recv_init(received_.data(), num_values, MPI_INT, previous_, tag, comm, &requests[0]);
        MPI_Send_init(sent_.data(), num_values, MPI_INT, next_, tag, comm, &requests[1]);
    }
    ring_message(const ring_message&) = delete;
    ring_message& operator=(const ring_message&) = delete;
    ~ring_message() {
        for (auto& request : requests)
            if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }

    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};  // to receive, to send

    bool is_persistent() const { return is_persistent_; }

    /// Persistent requests are left to whoever starts them.
    void start(int round) {
        for (std::size_t i = 0; i < sent_.size(); ++i) sent_[i] = value(rank_, round, i);
        std::fill(received_.begin(), received_.end(), -1);
        if (is_persistent_) return;
        const auto size = static_cast<int>(sent_.size());
        MPI_Irecv(received_.data(), size, MPI_INT, previous_, tag_, comm_, &requests[0]);
        MPI_Isend(sent_.data(), size, MPI_INT, next_, tag_, comm_, &requests[1]);
    }

    void check(int round, const MPI_Status& status, report& found) const {
        int num_values = -1;
        MPI_Get_count(&status, MPI_INT, &num_values);
        found.expect_equal("source in the status of a receive", previous_, status.MPI_SOURCE);
        found.expect_equal("tag in the status of a receive", tag_, status.MPI_TAG);
        found.expect_equal("count in the status of a receive", static_cast<long>(sent_.size()),
                           num_values);
        for (std::size_t i = 0; i < sent_.size(); ++i) {
            if (received_[i] == value(previous_, round, i)) continue;
            found.expect_equal("value of an ordinary receive", value(previous_, round, i),
                               received_[i]);
            return;
        }
    }

  private:
    static int value(int rank, int round, std::size_t i) {
        return static_cast<int>(hash_of(rank, round, i) & 0xffffffU);
    }

    bool is_persistent_;
    int tag_;
    MPI_Comm comm_;
    int rank_ = 0;
    int previous_ = 0;
    int next_ = 0;
    std::vector<int> sent_;
    std::vector<int> received_;
};

}  // namespace conformance

#include "message_set.hpp"

#include <ctime>

namespace crossdock {

namespace {

double core_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

message_set::~message_set() {
    for (auto* list : {&receives_, &sends_})
        for (auto& request : *list) MPI_Request_free(&request);
}

void message_set::send_to(rank_t rank, std::size_t bytes, MPI_Comm comm) {
    auto& buffer = buffers_.emplace_back(bytes);
    CROSSDOCK_MPI(MPI_Send_init(buffer.data(), checked_cast<int>(bytes), MPI_BYTE, rank, data_tag,
                                comm, &sends_.emplace_back(MPI_REQUEST_NULL)));
}

void message_set::receive_from(rank_t rank, std::size_t bytes, MPI_Comm comm) {
    auto& buffer = buffers_.emplace_back(bytes);
    CROSSDOCK_MPI(MPI_Recv_init(buffer.data(), checked_cast<int>(bytes), MPI_BYTE, rank, data_tag,
                                comm, &receives_.emplace_back(MPI_REQUEST_NULL)));
}

found_times message_set::exchange() {
    const double start = MPI_Wtime();
    const double first_core_seconds = core_seconds();
    if (!receives_.empty())
        CROSSDOCK_MPI(MPI_Startall(static_cast<int>(receives_.size()), receives_.data()));
    const double core_start = core_seconds();
    for (auto& request : sends_) CROSSDOCK_MPI(MPI_Start(&request));
    const double sending = core_seconds() - core_start;
    wait_for(receives_);
    wait_for(sends_);
    return {elapsed_since(start), core_seconds() - first_core_seconds, sending};
}

}  // namespace crossdock

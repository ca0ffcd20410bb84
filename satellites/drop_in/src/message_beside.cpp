#include "message_beside.hpp"

#include <new>
#include <utility>

#include "crossdock/communicator.hpp"

namespace crossdock::drop_in {

// MPI may still read or write what it was given.
message_beside::~message_beside() {
    if (request_ != MPI_REQUEST_NULL)
        static_cast<void>(new (std::nothrow) std::vector<std::byte>(std::move(packed)));
}

typed_values message_beside::packed_values() {
    return {packed.data(), checked_cast<value_count>(std::ssize(packed)), MPI_BYTE};
}

void message_beside::send(const typed_values& values) {
    CROSSDOCK_MPI(CROSSDOCK_WIDEST(Isend)(values.at, values.count, values.type, where_.peer,
                                          where_.tag, where_.comm, &request_));
}

bool message_beside::is_sent() {
    int is_complete = 0;
    CROSSDOCK_MPI(PMPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE));
    return is_complete != 0;
}

bool message_beside::find() {
    MPI_Status status;
    int is_there = 0;
    CROSSDOCK_MPI(PMPI_Improbe(where_.peer, where_.tag, where_.comm, &is_there, &found_, &status));
    if (!is_there) return false;
    MPI_Count num_bytes = 0;
    CROSSDOCK_MPI(PMPI_Get_elements_x(&status, MPI_BYTE, &num_bytes));
    num_bytes_ = num_bytes;
    return true;
}

bool message_beside::begin(const typed_values& values) {
    CROSSDOCK_MPI(
        CROSSDOCK_WIDEST(Imrecv)(values.at, values.count, values.type, &found_, &request_));
    return true;
}

}  // namespace crossdock::drop_in

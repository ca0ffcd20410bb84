// An MPI that takes memory of the mock: the library's calls come here, and go on to MPI's own with memory of the host.
// Memory that is sent is read when the send starts, and looked at again when it is complete: it must not have changed.
#include "aware_mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "support.hpp"

namespace crossdock::device_test {

namespace {

using bytes_of_host = pinned_array<std::byte>;

// A message from or to memory of a device, and the host's memory in its place.
struct transfer {
    std::shared_ptr<driver> on;
    void* there;
    std::unique_ptr<bytes_of_host> here;
    bool is_send;
};

std::vector<std::weak_ptr<driver>> known;
std::multimap<MPI_Request, transfer> under_way;
bool is_willing = true;
bool was_changed = false;

std::shared_ptr<driver> owner_of(const void* memory) {
    for (const auto& one : known)
        if (auto on = one.lock(); on && on->can_use(memory)) return on;
    return nullptr;
}

std::unique_ptr<bytes_of_host> bring_down(driver& on, const void* there, int num_bytes) {
    auto here = std::make_unique<bytes_of_host>(on, static_cast<std::size_t>(num_bytes));
    const own_stream by(on);
    on.copy_down(here->data(), there, here->span().size(), by);
    on.wait_for(by);
    return here;
}

void complete(const transfer& one, const MPI_Status* status) {
    if (one.is_send) {
        const auto now = bring_down(*one.on, one.there, static_cast<int>(one.here->span().size()));
        if (!std::ranges::equal(now->span(), one.here->span())) was_changed = true;
        return;
    }
    int num_bytes = 0;
    MPI_Get_count(status, MPI_BYTE, &num_bytes);
    const own_stream by(*one.on);
    if (num_bytes > 0)
        one.on->copy_up(one.there, one.here->data(), static_cast<std::size_t>(num_bytes), by);
    one.on->wait_for(by);
}

}  // namespace

void make_mpi_know(const std::shared_ptr<device::driver>& on) {
    if (on->name() == "mock") known.push_back(on);
}

bool was_sent_memory_changed() { return std::exchange(was_changed, false); }

void let_mpi_say(bool takes_it) { is_willing = takes_it; }

extern "C" {

// For programs in C.
void let_mpi_take_memory_of_the_device(void) { make_mpi_know(device::open()); }

int MPIX_Query_mock_support(void) { return is_willing; }

int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    const auto on = owner_of(from);
    if (!on) return PMPI_Isend(from, count, type, to, tag, comm, request);
    auto here = bring_down(*on, from, count);
    const int code = PMPI_Isend(here->data(), count, type, to, tag, comm, request);
    under_way.emplace(*request, transfer{on, const_cast<void*>(from), std::move(here), true});
    return code;
}

int MPI_Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
    const auto on = owner_of(to);
    if (!on) return PMPI_Irecv(to, count, type, from, tag, comm, request);
    auto here = std::make_unique<bytes_of_host>(*on, static_cast<std::size_t>(count));
    const int code = PMPI_Irecv(here->data(), count, type, from, tag, comm, request);
    under_way.emplace(*request, transfer{on, to, std::move(here), false});
    return code;
}

int MPI_Testall(int count, MPI_Request requests[], int* is_complete, MPI_Status* statuses) {
    const std::vector<MPI_Request> tested(requests, requests + count);
    const int code = PMPI_Testall(count, requests, is_complete, statuses);
    if (code != MPI_SUCCESS || !*is_complete || under_way.empty()) return code;
    for (std::size_t i = 0; i < tested.size(); ++i) {
        const auto [first, last] = under_way.equal_range(tested[i]);
        for (auto one = first; one != last; ++one) complete(one->second, statuses + i);
        under_way.erase(first, last);
    }
    return code;
}
}

}  // namespace crossdock::device_test

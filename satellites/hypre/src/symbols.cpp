// The functions of hypre that libcrossdock_hypre.so takes the place of. Their integers may have 4 bytes, see
// `wide_int`.
#include <mpi.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "packages.hpp"
#include "satellites/drop_in/src/basics.hpp"

namespace {

using namespace crossdock::hypre_drop_in;
using crossdock::drop_in::current_code;

struct open_exchange {
    comm_handle* handle;
    package_exchange* exchange;
    std::shared_ptr<package> of;  // hypre frees some packages while exchanges are under way
};

auto& open_exchanges() {
    static auto& all = *new std::vector<open_exchange>;
    return all;
}

bool is_off() {
    static const bool off = std::getenv("CROSSDOCK_OFF") != nullptr;
    return off;
}

// What fails is told as MPI tells it.
template <class Body>
void report_errors(MPI_Comm comm, Body&& body) noexcept {
    try {
        body();
    } catch (...) {
        MPI_Comm_call_errhandler(comm, current_code());
    }
}

int num_makers = 0;

// While hypre makes the package of a matrix, which is collective.
class maker {
  public:
    explicit maker(const void* matrix) : is_active_(loaded_hypre::of_process().is_known()) {
        if (!is_active_) return;
        // A matrix begins with its communicator.
        const MPI_Comm comm = *static_cast<const MPI_Comm*>(matrix);
        report_errors(comm, [comm] { ballot::have(comm, !is_off()); });
        ++num_makers;
    }
    ~maker() { num_makers -= is_active_; }
    maker(const maker&) = delete;
    maker& operator=(const maker&) = delete;

  private:
    bool is_active_;
};

comm_handle* create(create_function* own, int job, comm_package* theirs, int send_location,
                    void* send, int receive_location, void* receive, const void* caller) {
    const auto by_hypre = [&] {
        return own(job, theirs, send_location, send, receive_location, receive);
    };
    constexpr int host = 0;
    const auto of = package::of(theirs);
    if (!of) return by_hypre();
    const auto& hypre = loaded_hypre::of_process();
    if (hypre.has_devices() && (send_location != host || receive_location != host))
        return by_hypre();
    package_exchange* started = nullptr;
    report_errors(of->comm(), [&] {
        static auto* const destroy =
            loaded_hypre::own<destroy_function>("hypre_ParCSRCommHandleDestroy", caller);
        const own_functions functions{own, destroy};
        started = of->start(*theirs, {job, send, receive, caller}, functions);
    });
    if (started == nullptr) return by_hypre();
    auto* const made = hypre.create_without_messages(own, job, *theirs, send_location, send,
                                                     receive_location, receive);
    open_exchanges().push_back({made, started, of});
    return made;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

comm_handle* hypre_ParCSRCommHandleCreate_v2(int job, comm_package* theirs, int send_location,
                                             void* send, int receive_location, void* receive) {
    const void* const caller = __builtin_return_address(0);
    static auto* const own =
        loaded_hypre::own<create_function>("hypre_ParCSRCommHandleCreate_v2", caller);
    return create(own, job, theirs, send_location, send, receive_location, receive, caller);
}

comm_handle* hypre_ParCSRCommHandleCreate(int job, comm_package* theirs, void* send,
                                          void* receive) {
    const void* const caller = __builtin_return_address(0);
    static auto* const own =
        loaded_hypre::own<create_function>("hypre_ParCSRCommHandleCreate_v2", caller);
    constexpr int host = 0;
    return create(own, job, theirs, host, send, host, receive, caller);
}

wide_int hypre_ParCSRCommHandleDestroy(comm_handle* handle) {
    static auto* const own = loaded_hypre::own<destroy_function>("hypre_ParCSRCommHandleDestroy",
                                                                 __builtin_return_address(0));
    auto& all = open_exchanges();
    for (auto at = all.begin(); at != all.end(); ++at) {
        if (at->handle != handle) continue;
        const auto one = *at;
        all.erase(at);
        const int code = one.exchange->finish();
        if (code != MPI_SUCCESS) MPI_Comm_call_errhandler(one.of->comm(), code);
        break;
    }
    return own(handle);
}

wide_int hypre_ParCSRCommPkgCreateAndFill(MPI_Comm comm, wide_int num_receives, void* receive_procs,
                                          void* receive_starts, wide_int num_sends,
                                          void* send_procs, void* send_starts, void* send_elements,
                                          comm_package** theirs) {
    using function =
        wide_int(MPI_Comm, wide_int, void*, void*, wide_int, void*, void*, void*, comm_package**);
    static auto* const own = loaded_hypre::own<function>("hypre_ParCSRCommPkgCreateAndFill",
                                                         __builtin_return_address(0));
    const auto result = own(comm, num_receives, receive_procs, receive_starts, num_sends,
                            send_procs, send_starts, send_elements, theirs);
    // Others live inside one function of hypre's, which ranks without neighbors may leave out.
    package::forget(*theirs);
    if (num_makers == 0) return result;
    report_errors(comm, [&] {
        package::add(
            **theirs,
            {comm, 1, {0, send_procs, send_starts}, {0, receive_procs, receive_starts}, false});
    });
    return result;
}

wide_int hypre_MatvecCommPkgCreate(void* matrix) {
    using function = wide_int(void*);
    static auto* const own =
        loaded_hypre::own<function>("hypre_MatvecCommPkgCreate", __builtin_return_address(0));
    const maker one(matrix);
    return own(matrix);
}

wide_int hypre_GetCommPkgRTFromCommPkgA(void* matrix, void* of, void* coarse, void* map) {
    using function = wide_int(void*, void*, void*, void*);
    static auto* const own =
        loaded_hypre::own<function>("hypre_GetCommPkgRTFromCommPkgA", __builtin_return_address(0));
    const maker one(matrix);
    return own(matrix, of, coarse, map);
}

wide_int hypre_MatvecCommPkgDestroy(comm_package* theirs) {
    using function = wide_int(comm_package*);
    static auto* const own =
        loaded_hypre::own<function>("hypre_MatvecCommPkgDestroy", __builtin_return_address(0));
    package::forget(theirs);
    return own(theirs);
}

}  // extern "C"

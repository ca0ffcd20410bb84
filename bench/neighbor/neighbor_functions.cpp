#include "bench/neighbor/neighbor_functions.hpp"

#include <dlfcn.h>

#include "crossdock/error.hpp"
#include "tools/crossdock/drop_in_library.hpp"

#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define CROSSDOCK_NEIGHBOR_INIT MPI_Neighbor_alltoallv_init
#elif defined(CROSSDOCK_HAS_MPI_EXTENSIONS)
#include <mpi-ext.h>
#define CROSSDOCK_NEIGHBOR_INIT MPIX_Neighbor_alltoallv_init
#endif

namespace crossdock::bench {

namespace {

// What the library does not define, dlsym finds in MPI, which the library needs.
class drop_in_library {
  public:
    drop_in_library() {
        const auto path = tool::find_drop_in_library();
        if (path.empty()) throw error(errc::file_error, tool::no_drop_in_library);
        // Never closed: MPI calls it until MPI_Finalize.
        handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr) throw error(errc::file_error, dlerror());
    }

    template <class Function>
    void find(Function*& function, const char* name) const {
        function = reinterpret_cast<Function*>(dlsym(handle_, name));
        if (function == nullptr) throw error(errc::file_error, dlerror());
    }

  private:
    void* handle_ = nullptr;
};

#define CROSSDOCK_TEXT(name) #name
#define CROSSDOCK_NAME(name) CROSSDOCK_TEXT(name)

neighbor_functions find_functions_of_drop_in() {
    const drop_in_library library;
    neighbor_functions found{};
    library.find(found.create_graph, "MPI_Dist_graph_create_adjacent");
    library.find(found.free_graph, "MPI_Comm_free");
    library.find(found.exchange, "MPI_Neighbor_alltoallv");
    library.find(found.start_exchange, "MPI_Ineighbor_alltoallv");
#ifdef CROSSDOCK_NEIGHBOR_INIT
    library.find(found.make_persistent, CROSSDOCK_NAME(CROSSDOCK_NEIGHBOR_INIT));
#endif
    library.find(found.start, "MPI_Start");
    library.find(found.wait, "MPI_Wait");
    library.find(found.free_request, "MPI_Request_free");
    return found;
}

}  // namespace

const neighbor_functions& functions_of_mpi() {
    static constexpr neighbor_functions functions{MPI_Dist_graph_create_adjacent,
                                                  MPI_Comm_free,
                                                  MPI_Neighbor_alltoallv,
                                                  MPI_Ineighbor_alltoallv,
#ifdef CROSSDOCK_NEIGHBOR_INIT
                                                  CROSSDOCK_NEIGHBOR_INIT,
#else
                                                  nullptr,
#endif
                                                  MPI_Start,
                                                  MPI_Wait,
                                                  MPI_Request_free};
    return functions;
}

const neighbor_functions& functions_of_drop_in() {
    static const neighbor_functions functions = find_functions_of_drop_in();
    return functions;
}

}  // namespace crossdock::bench

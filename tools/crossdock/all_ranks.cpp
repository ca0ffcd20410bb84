#include "tools/crossdock/all_ranks.hpp"

#include <cstdlib>
#include <string_view>

#include "crossdock/discover_topology.hpp"
#include "tools/crossdock/output.hpp"

namespace crossdock::tool {

using namespace std::string_literals;

namespace {

// For what the ranks did not agree on: the others know nothing of it and would wait forever.
void give_up(const std::exception& fault) {
    report(fault.what());
    MPI_Abort(MPI_COMM_WORLD, bad_input);
}

}  // namespace

bool is_first_process() {
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
        if (const char* const rank = std::getenv(variable)) return std::string_view(rank) == "0";
    }
    return true;
}

int on_all_ranks(const std::function<int(const communicator&)>& body, int thread_support) {
    int provided = 0;
    CROSSDOCK_MPI(MPI_Init_thread(nullptr, nullptr, thread_support, &provided));
    communicator world(MPI_COMM_WORLD);
    int exit_code = bad_input;
    try {
        const int code_of_body = body(world);
        flush_output();  // once a rank exits with an error the launcher may end the others
        exit_code = code_of_body;
    } catch (const mpi_error& fault) {
        give_up(fault);
    } catch (const error& fault) {
        if (world.rank() == 0) report(fault.what());
    } catch (const std::exception& fault) {
        give_up(fault);
    }
    world.close();
    CROSSDOCK_MPI(MPI_Finalize());
    return exit_code;
}

topology topology_of(const communicator& comm, const std::string& text) {
    if (text.empty()) return discover_topology(comm);
    return on_all_or_none(comm, [&] { return topology::from_string(text, comm.num_ranks()); });
}

std::string mpi_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    CROSSDOCK_MPI(MPI_Get_library_version(text.data(), &length));
    text.resize(static_cast<std::size_t>(length));
    return text.substr(0, text.find_first_of(",\r\n\0"s));
}

}  // namespace crossdock::tool

/// @file
/// @brief Wrong arguments: MPI_* must tell of them as PMPI_* does, to the caller and to the communicator's handler.
#pragma once

#include <string>

#include "grid_edges.hpp"
#include "report.hpp"

namespace conformance {

enum class fault {
    in_place_sent,
    in_place_received,
    null_sent_type,
    null_received_type,
    no_topology
};
constexpr const char* fault_names[] = {
    "MPI_IN_PLACE as send buffer", "MPI_IN_PLACE as receive buffer", "MPI_DATATYPE_NULL sent",
    "MPI_DATATYPE_NULL received", "a communicator without a topology"};

// MPICH 5.0 takes MPI_IN_PLACE for an address and crashes.
#ifdef OPEN_MPI
constexpr int first_fault = 0;
#else
constexpr int first_fault = static_cast<int>(fault::null_sent_type);
#endif

/// What a communicator's handler was told first.
inline MPI_Comm handled_comm = MPI_COMM_NULL;
inline int handled_class = MPI_SUCCESS;

inline void keep_error(MPI_Comm* comm, int* code, ...) {
    if (handled_class != MPI_SUCCESS) return;
    handled_comm = *comm;
    MPI_Error_class(*code, &handled_class);
}

struct error_seen {
    int returned_class = MPI_SUCCESS;
    int handled_class = MPI_SUCCESS;
    bool is_handled_on_comm = false;
};

inline error_seen provoke(const functions& mpi, form how, call which, fault what, MPI_Comm comm) {
    int sent_value = 1;
    int received_value = 0;
    const int count = 1;
    const int displacement = 0;
    const MPI_Aint byte_displacement = 0;
    const MPI_Datatype sent_type = what == fault::null_sent_type ? MPI_DATATYPE_NULL : MPI_INT;
    const MPI_Datatype received_type =
        what == fault::null_received_type ? MPI_DATATYPE_NULL : MPI_INT;
    void* sent = what == fault::in_place_sent ? MPI_IN_PLACE : &sent_value;
    void* received = what == fault::in_place_received ? MPI_IN_PLACE : &received_value;
    handled_comm = MPI_COMM_NULL;
    handled_class = MPI_SUCCESS;
    const int code = invoke_form(
        mpi, how, which, {sent, count, &count, &displacement, &byte_displacement, &sent_type},
        {received, count, &count, &displacement, &byte_displacement, &received_type}, comm);
    error_seen seen;
    MPI_Error_class(code, &seen.returned_class);
    seen.handled_class = handled_class;
    seen.is_handled_on_comm = handled_comm == comm;
    return seen;
}

inline void compare_fault(form how, call which, fault what, const MPI_Comm (&comms)[2],
                          report& found) {
    const auto got = provoke(taken_functions, how, which, what, comms[0]);
    const auto expected = provoke(twin_functions, how, which, what, comms[1]);
    const std::string where =
        name_of(how, which) + ", " + fault_names[static_cast<int>(what)] + ": ";
    found.expect_equal((where + "class of the error").c_str(), expected.returned_class,
                       got.returned_class);
    found.expect_equal((where + "class that the handler was told").c_str(), expected.handled_class,
                       got.handled_class);
    found.expect_equal((where + "handled on the communicator").c_str(), expected.is_handled_on_comm,
                       got.is_handled_on_comm);
}

// The library of the MPI-5 ABI in Intel MPI 2021.18 and 2021.19 takes MPI_ERRORS_RETURN for MPI_ERRORS_ARE_FATAL.
inline bool can_return_errors() {
#ifdef MPI_ABI
    std::string version(MPI_MAX_LIBRARY_VERSION_STRING, ' ');
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    return version.find("Intel") == std::string::npos;
#else
    return true;
#endif
}

/// Collective on MPI_COMM_WORLD; each rank exchanges with itself alone, so that an MPI may find what it does not check.
inline void compare_errors(report& found) {
    found.enter(0, "wrong arguments");
    MPI_Errhandler keeping = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(keep_error, &keeping);
    for (const auto handler : {MPI_ERRORS_RETURN, keeping}) {
        if (handler == MPI_ERRORS_RETURN && !can_return_errors()) continue;
        const int self = 0;
        MPI_Comm graphs[2];
        MPI_Comm plain[2];
        const auto make = [&](const auto& function, MPI_Comm& made) {
            function(MPI_COMM_SELF, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED,
                     MPI_INFO_NULL, 0, &made);
        };
        make(MPI_Dist_graph_create_adjacent, graphs[0]);
        make(PMPI_Dist_graph_create_adjacent, graphs[1]);
        for (auto& comm : plain) PMPI_Comm_dup(MPI_COMM_SELF, &comm);
        for (const auto comm : {graphs[0], graphs[1], plain[0], plain[1], MPI_COMM_WORLD})
            MPI_Comm_set_errhandler(comm, handler);
        for (int how = 0; how < (has_persistent() ? 3 : 2); ++how) {
            for (int which = 0; which < 5; ++which) {
                for (int what = first_fault; what < 5; ++what)
                    compare_fault(
                        static_cast<form>(how), static_cast<call>(which), static_cast<fault>(what),
                        static_cast<fault>(what) == fault::no_topology ? plain : graphs, found);
            }
        }
        for (auto* comm : {&graphs[0], &graphs[1], &plain[0], &plain[1]}) MPI_Comm_free(comm);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&keeping);
}

}  // namespace conformance

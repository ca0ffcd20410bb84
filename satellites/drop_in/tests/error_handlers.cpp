// What a user's error handler is told of calls that fail, and what the program sees of communicators: as by PMPI_.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

int rank = 0, num_ranks = 0, num_faults = 0;
MPI_Comm parent = MPI_COMM_NULL, grid = MPI_COMM_NULL;

std::string name_of(MPI_Comm comm) {
    const std::pair<MPI_Comm, const char*> known[] = {{MPI_COMM_WORLD, "MPI_COMM_WORLD"},
                                                      {MPI_COMM_SELF, "MPI_COMM_SELF"},
                                                      {parent, "the parent"},
                                                      {grid, "the grid"}};
    for (const auto& [one, name] : known)
        if (one == comm) return name;
    return "another communicator";
}

int class_of(int code) {
    int found = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &found);
    return found;
}

// A line for each call of the handler.
std::string told;
void tell(MPI_Comm* comm, int* code, ...) {
    told += name_of(*comm) + ", code " + std::to_string(*code) + ", class " +
            std::to_string(class_of(*code)) + "\n";
}

void expect(const std::string& what, const std::string& expected, const std::string& got) {
    if (expected == got) return;
    ++num_faults;
    std::printf("rank %d: %s: by MPI alone:\n%sby the drop-in:\n%s\n", rank, what.c_str(),
                expected.c_str(), got.c_str());
}

// MPI's function, or what takes its place.
#define CHOOSE(name) (by_mpi ? PMPI_##name : MPI_##name)

struct failing_call {
    const char* name;
    std::function<int(bool by_mpi)> call;
};

MPI_Comm made = MPI_COMM_NULL;
int one = 1, zero = 0, many = 1 << 20, negative = -1, flag = 0, index = 0;

const std::vector<failing_call>& failing_calls() {
    static const std::vector<failing_call> all{
        {"MPI_Dist_graph_create, n is -1",
         [](bool by_mpi) {
             return CHOOSE(Dist_graph_create)(parent, -1, &zero, &one, &zero, MPI_UNWEIGHTED,
                                              MPI_INFO_NULL, 0, &made);
         }},
        {"MPI_Dist_graph_create, a destination is no rank",
         [](bool by_mpi) {
             return CHOOSE(Dist_graph_create)(parent, 1, &zero, &one, &many, MPI_UNWEIGHTED,
                                              MPI_INFO_NULL, 0, &made);
         }},
        {"MPI_Dist_graph_create, a degree is -1",
         [](bool by_mpi) {
             return CHOOSE(Dist_graph_create)(parent, 1, &zero, &negative, &zero, MPI_UNWEIGHTED,
                                              MPI_INFO_NULL, 0, &made);
         }},
        {"MPI_Dist_graph_create, no communicator",
         [](bool by_mpi) {
             return CHOOSE(Dist_graph_create)(MPI_COMM_NULL, 1, &zero, &one, &zero, MPI_UNWEIGHTED,
                                              MPI_INFO_NULL, 0, &made);
         }},
        {"MPI_Dist_graph_create_adjacent, a degree is -1",
         [](bool by_mpi) {
             return CHOOSE(Dist_graph_create_adjacent)(parent, -1, &zero, MPI_UNWEIGHTED, 1, &zero,
                                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
         }},
        {"MPI_Dist_graph_create_adjacent, a source is no rank",
         [](bool by_mpi) {
             return CHOOSE(Dist_graph_create_adjacent)(parent, 1, &many, MPI_UNWEIGHTED, 1, &zero,
                                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
         }},
        {"MPI_Dist_graph_create_adjacent, no communicator",
         [](bool by_mpi) {
             return CHOOSE(Dist_graph_create_adjacent)(MPI_COMM_NULL, 1, &zero, MPI_UNWEIGHTED, 1,
                                                       &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                                       &made);
         }},
        {"MPI_Graph_create, too many nodes",
         [](bool by_mpi) { return CHOOSE(Graph_create)(parent, many, &one, &zero, 0, &made); }},
        {"MPI_Cart_create, too many ranks",
         [](bool by_mpi) { return CHOOSE(Cart_create)(parent, 1, &many, &zero, 0, &made); }},
        {"MPI_Cart_create, -1 dimensions",
         [](bool by_mpi) { return CHOOSE(Cart_create)(parent, -1, &one, &zero, 0, &made); }},
        {"MPI_Cart_sub, no grid",
         [](bool by_mpi) { return CHOOSE(Cart_sub)(parent, &one, &made); }},
        {"MPI_Comm_dup, no communicator",
         [](bool by_mpi) { return CHOOSE(Comm_dup)(MPI_COMM_NULL, &made); }},
        {"MPI_Comm_dup_with_info, no communicator",
         [](bool by_mpi) {
             return CHOOSE(Comm_dup_with_info)(MPI_COMM_NULL, MPI_INFO_NULL, &made);
         }},
        {"MPI_Comm_free, no communicator",
         [](bool by_mpi) {
             MPI_Comm none = MPI_COMM_NULL;
             return CHOOSE(Comm_free)(&none);
         }},
        {"MPI_Comm_disconnect, no communicator",
         [](bool by_mpi) {
             MPI_Comm none = MPI_COMM_NULL;
             return CHOOSE(Comm_disconnect)(&none);
         }},
        {"MPI_Intercomm_create, no communicator",
         [](bool by_mpi) {
             return CHOOSE(Intercomm_create)(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 0, &made);
         }},
        {"MPI_Intercomm_create, a leader is no rank",
         [](bool by_mpi) {
             return CHOOSE(Intercomm_create)(parent, many, MPI_COMM_WORLD, 0, 0, &made);
         }},
        {"MPI_Neighbor_alltoall, no topology",
         [](bool by_mpi) {
             return CHOOSE(Neighbor_alltoall)(&one, 1, MPI_INT, &index, 1, MPI_INT, parent);
         }},
        {"MPI_Neighbor_alltoall, no datatype",
         [](bool by_mpi) {
             return CHOOSE(Neighbor_alltoall)(&one, 1, MPI_DATATYPE_NULL, &index, 1, MPI_INT, grid);
         }},
        {"MPI_Ineighbor_alltoall, a count of -1",
         [](bool by_mpi) {
             MPI_Request request = MPI_REQUEST_NULL;
             return CHOOSE(Ineighbor_alltoall)(&one, -1, MPI_INT, &index, 1, MPI_INT, grid,
                                               &request);
         }},
        {"MPI_Alltoall, no datatype",
         [](bool by_mpi) {
             return CHOOSE(Alltoall)(&one, 1, MPI_DATATYPE_NULL, &index, 1, MPI_INT, parent);
         }},
        {"MPI_Wait, a message that is too long",
         [](bool by_mpi) {
             const int sent[2] = {1, 2};
             MPI_Request request = MPI_REQUEST_NULL;
             PMPI_Irecv(&index, 1, MPI_INT, rank, 3, parent, &request);
             PMPI_Send(sent, 2, MPI_INT, rank, 3, parent);
             return CHOOSE(Wait)(&request, MPI_STATUS_IGNORE);
         }},
        {"MPI_Waitall, a message that is too long",
         [](bool by_mpi) {
             const int sent[2] = {1, 2};
             MPI_Request request = MPI_REQUEST_NULL;
             MPI_Status status;
             PMPI_Irecv(&index, 1, MPI_INT, rank, 3, parent, &request);
             PMPI_Send(sent, 2, MPI_INT, rank, 3, parent);
             return CHOOSE(Waitall)(1, &request, &status);
         }},
        {"MPI_Waitall, -1 requests",
         [](bool by_mpi) { return CHOOSE(Waitall)(-1, nullptr, MPI_STATUSES_IGNORE); }},
        {"MPI_Testall, -1 requests",
         [](bool by_mpi) { return CHOOSE(Testall)(-1, nullptr, &flag, MPI_STATUSES_IGNORE); }},
        {"MPI_Waitany, -1 requests",
         [](bool by_mpi) { return CHOOSE(Waitany)(-1, nullptr, &index, MPI_STATUS_IGNORE); }},
        {"MPI_Wait, no request",
         [](bool by_mpi) { return CHOOSE(Wait)(nullptr, MPI_STATUS_IGNORE); }},
        {"MPI_Test, no request",
         [](bool by_mpi) { return CHOOSE(Test)(nullptr, &flag, MPI_STATUS_IGNORE); }},
        {"MPI_Start, a null request",
         [](bool by_mpi) {
             MPI_Request none = MPI_REQUEST_NULL;
             return CHOOSE(Start)(&none);
         }},
        {"MPI_Startall, a null request",
         [](bool by_mpi) {
             MPI_Request none = MPI_REQUEST_NULL;
             return CHOOSE(Startall)(1, &none);
         }},
        {"MPI_Request_free, a null request",
         [](bool by_mpi) {
             MPI_Request none = MPI_REQUEST_NULL;
             return CHOOSE(Request_free)(&none);
         }},
        {"MPI_Cancel, a null request",
         [](bool by_mpi) {
             MPI_Request none = MPI_REQUEST_NULL;
             return CHOOSE(Cancel)(&none);
         }},
        {"MPI_Cancel, a neighbor exchange",
         [](bool by_mpi) {
             const int sent[2] = {1, 2};
             int got[2] = {0, 0};
             MPI_Request request = MPI_REQUEST_NULL;
             CHOOSE(Ineighbor_alltoall)(sent, 1, MPI_INT, got, 1, MPI_INT, grid, &request);
             const int code = CHOOSE(Cancel)(&request);
             CHOOSE(Wait)(&request, MPI_STATUS_IGNORE);
             return code;
         }},
        {"MPI_Barrier, no communicator",
         [](bool by_mpi) { return CHOOSE(Barrier)(MPI_COMM_NULL); }},
        {"MPI_Comm_split, no communicator",
         [](bool by_mpi) { return CHOOSE(Comm_split)(MPI_COMM_NULL, 0, 0, &made); }},
        {"MPI_Send, no rank",
         [](bool by_mpi) { return CHOOSE(Send)(&one, 1, MPI_INT, many, 0, parent); }},
    };
    return all;
}

void compare_failing_calls(const char* when) {
    for (const auto& [name, call] : failing_calls()) {
        std::string found[2];
        for (const bool by_mpi : {true, false}) {
            told.clear();
            const int code = call(by_mpi);
            found[by_mpi] = told + "returned " + std::to_string(code) + "\n";
        }
        expect(std::string(name) + when, found[1], found[0]);
    }
}

// What a program sees of a communicator that it has made.
std::string facts_of(MPI_Comm comm) {
    std::string facts;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0, kind = MPI_UNDEFINED, is_kept = 0, num_keys = 0;
    void* value = nullptr;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL, of_parent = MPI_ERRHANDLER_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm_get_name(comm, name, &length);
    MPI_Comm_get_errhandler(comm, &handler);
    MPI_Comm_get_errhandler(parent, &of_parent);
    MPI_Topo_test(comm, &kind);
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &is_kept);
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_nkeys(info, &num_keys);
    facts += "name \"" + std::string(name) + "\", ";
    facts += handler == of_parent              ? "the parent's handler, "
             : handler == MPI_ERRORS_RETURN    ? "MPI_ERRORS_RETURN, "
             : handler == MPI_ERRORS_ARE_FATAL ? "MPI_ERRORS_ARE_FATAL, "
                                               : "another handler, ";
    facts += "topology " + std::to_string(kind) + ", MPI_TAG_UB " +
             (is_kept ? std::to_string(*static_cast<int*>(value)) : "none") + ", info";
    for (int key = 0; key < num_keys; ++key) {
        char text[MPI_MAX_INFO_KEY + 1] = "";
        MPI_Info_get_nthkey(info, key, text);
        facts += " " + std::string(text);
    }
    MPI_Info_free(&info);
    return facts + "\n";
}

// How often functions of the program's copy and delete an attribute.
int num_copied = 0, num_deleted = 0;
int copy(MPI_Comm, int, void*, void* value, void* to, int* is_copied) {
    ++num_copied;
    *static_cast<void**>(to) = value;
    *is_copied = 1;
    return MPI_SUCCESS;
}
int forget(MPI_Comm, int, void*, void*) {
    ++num_deleted;
    return MPI_SUCCESS;
}

struct making_call {
    const char* name;
    std::function<int(bool by_mpi, MPI_Comm*)> make;
};

void compare_communicators() {
    const std::vector<making_call> all{
        {"MPI_Dist_graph_create",
         [](bool by_mpi, MPI_Comm* to) {
             return CHOOSE(Dist_graph_create)(parent, 1, &rank, &one, &rank, MPI_UNWEIGHTED,
                                              MPI_INFO_NULL, 0, to);
         }},
        {"MPI_Dist_graph_create_adjacent",
         [](bool by_mpi, MPI_Comm* to) {
             return CHOOSE(Dist_graph_create_adjacent)(parent, 1, &rank, MPI_UNWEIGHTED, 1, &rank,
                                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, to);
         }},
        {"MPI_Cart_create",
         [](bool by_mpi, MPI_Comm* to) {
             return CHOOSE(Cart_create)(parent, 1, &num_ranks, &one, 0, to);
         }},
        {"MPI_Comm_dup", [](bool by_mpi, MPI_Comm* to) { return CHOOSE(Comm_dup)(parent, to); }},
        {"MPI_Comm_dup_with_info",
         [](bool by_mpi, MPI_Comm* to) {
             return CHOOSE(Comm_dup_with_info)(parent, MPI_INFO_NULL, to);
         }},
        {"MPI_Comm_split",
         [](bool by_mpi, MPI_Comm* to) { return CHOOSE(Comm_split)(parent, 0, 0, to); }},
    };
    for (const auto& [name, make] : all) {
        std::string found[2];
        for (const bool by_mpi : {true, false}) {
            MPI_Comm comm = MPI_COMM_NULL;
            told.clear();
            num_copied = num_deleted = 0;
            make(by_mpi, &comm);
            found[by_mpi] = facts_of(comm);
            if (name != std::string("MPI_Comm_split") && name != std::string("MPI_Comm_dup") &&
                name != std::string("MPI_Comm_dup_with_info")) {
                int got[2] = {0, 0};
                const int sent[2] = {rank, rank};
                for (int k = 0; k < 4; ++k)
                    CHOOSE(Neighbor_alltoall)(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
                found[by_mpi] += "used: " + facts_of(comm);
            }
            CHOOSE(Comm_free)(&comm);
            found[by_mpi] += told + "attributes: " + std::to_string(num_copied) + " copied, " +
                             std::to_string(num_deleted) + " deleted\n";
        }
        expect(name, found[1], found[0]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Errhandler telling = MPI_ERRHANDLER_NULL;
    int key = MPI_KEYVAL_INVALID;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    MPI_Comm_create_errhandler(tell, &telling);
    PMPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_name(parent, "parent");
    MPI_Comm_create_keyval(copy, forget, &key, nullptr);
    MPI_Comm_set_attr(parent, key, &num_copied);
    for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF, parent})
        MPI_Comm_set_errhandler(comm, telling);
    MPI_Cart_create(parent, 1, &num_ranks, &one, 0, &grid);
    compare_failing_calls("");
    compare_communicators();
    int got[2] = {0, 0};
    const int sent[2] = {rank, rank};
    for (int k = 0; k < 8; ++k) MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, grid);
    compare_failing_calls(", after exchanges");
    MPI_Comm_free(&grid);
    MPI_Comm_free(&parent);
    MPI_Comm_free_keyval(&key);
    MPI_Errhandler_free(&telling);
    MPI_Finalize();
    return num_faults > 0;
}

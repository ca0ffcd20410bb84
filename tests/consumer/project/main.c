/* What a C program outside the project writes: fails unless the library links and answers. */
#include <crossdock/crossdock.h>
#include <string.h>

#if __has_include(<gslib.h>) || __has_include(<mpi_advance.h>) || __has_include(<mpix.h>)
#error "a header with the name of another library's is found without asking for it"
#endif

static int has_version(void) {
    char* text = NULL;
    int has = crossdock_configuration(&text) == CROSSDOCK_SUCCESS &&
              strstr(text, "\"version\":\"" PACKAGE_VERSION "\"") != NULL;
    crossdock_free(text);
    return has;
}

int main(int argc, char** argv) {
    const int is_known_before = has_version();
    MPI_Init(&argc, &argv);

    int num_regions = 0;
    crossdock_context* world = NULL;
    crossdock_topology* topology = NULL;
    int is_as_expected =
        strcmp(CROSSDOCK_VERSION, PACKAGE_VERSION) == 0 &&
        crossdock_context_create(MPI_COMM_WORLD, NULL, &world) == CROSSDOCK_SUCCESS &&
        crossdock_topology_from_string("2x4", &topology) == CROSSDOCK_SUCCESS &&
        crossdock_topology_num_regions(topology, &num_regions) == CROSSDOCK_SUCCESS &&
        num_regions == 2;
    crossdock_topology_free(topology);
    crossdock_context_close(world);
    crossdock_context_free(world);

    MPI_Finalize();
    return is_known_before && is_as_expected && has_version() ? 0 : 1;
}

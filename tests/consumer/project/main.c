/* What a C program outside the project writes: fails unless the library links and answers. */
#include <crossdock/crossdock.h>
#include <string.h>

int main(int argc, char** argv) {
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
    return is_as_expected ? 0 : 1;
}

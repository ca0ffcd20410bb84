/* What a program for gslib writes: fails unless the library links and sums. */
#include <crossdock/gslib/gslib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);

    struct comm world;
    comm_init(&world, MPI_COMM_WORLD);
    const slong id[2] = {7, 7};
    double v[2] = {1, 2};
    struct gs_data* data = gs_setup(id, 2, &world, 0, gs_auto, 0);
    gs(v, gs_double, gs_add, 0, data, NULL);
    gs_free(data);
    comm_free(&world);

    MPI_Finalize();
    return v[0] == 3 && v[1] == 3 ? 0 : 1;
}

/* What calls that wait cost a program which exchanges nothing at the time: the library's instructions in them, one by
 * one. The first are before the first graph, the others after a plan was made. */
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static int rank, num_faults;
static uintptr_t first, last;
static volatile int num_instructions;

static void step(int number, siginfo_t* info, void* context) {
    const uintptr_t at = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
    (void)number, (void)info;
    num_instructions += at >= first && at < last;
}

/* The library's code. */
static int find(struct dl_phdr_info* library, size_t size, void* inside) {
    int i;
    (void)size;
    for (i = 0; i < library->dlpi_phnum; ++i) {
        const ElfW(Phdr)* const part = &library->dlpi_phdr[i];
        const uintptr_t begin = library->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (!(part->p_flags & PF_X) || (uintptr_t)inside < begin || (uintptr_t)inside >= end)
            continue;
        first = begin;
        last = end;
        return 1;
    }
    return 0;
}

static void set_stepping(int is_on) {
    if (is_on)
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
    else
        __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}

#define COUNT(most, call)                                                             \
    do {                                                                              \
        num_instructions = 0;                                                         \
        set_stepping(1);                                                              \
        call;                                                                         \
        set_stepping(0);                                                              \
        num_faults += num_instructions == 0 || num_instructions > (most);             \
        printf("%d of at most %d instructions: %s\n", num_instructions, most, #call); \
    } while (0)

static void count_all(int most) {
    int sent = 1, received, sum;
    MPI_Request request;
    MPI_Irecv(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    COUNT(most, MPI_Send(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD));
    COUNT(most, MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Isend(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    COUNT(most, MPI_Recv(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    COUNT(most, MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
}

int main(int argc, char** argv) {
    struct sigaction action;
    int neighbor, num_ranks, weight = 1, sent, received, i;
    MPI_Comm pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    dl_iterate_phdr(find, dlsym(RTLD_DEFAULT, "MPI_Pcontrol"));
    memset(&action, 0, sizeof action);
    action.sa_sigaction = step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    /* The first calls are bound to functions. */
    count_all(100);
    count_all(8);
    neighbor = num_ranks - 1 - rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &neighbor, &weight, 1, &neighbor, &weight,
                                   MPI_INFO_NULL, 0, &pair);
    for (i = 0; i < 3; ++i) {
        sent = rank;
        MPI_Neighbor_alltoall(&sent, 1, MPI_INT, &received, 1, MPI_INT, pair);
        num_faults += received != neighbor;
    }
    count_all(200);
    count_all(40);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    return num_faults > 0;
}

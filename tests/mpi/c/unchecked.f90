! As unchecked.c.
program unchecked
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi_f08
    use crossdock
    implicit none
    type(crossdock_context) :: world
    type(crossdock_pattern) :: pattern
    type(crossdock_neighbor_exchange) :: halo
    type(MPI_Comm) :: ring
    real(real64), asynchronous :: item(1), slot(1)
    character(8) :: how
    integer :: rank, status
    call MPI_Init()
    call get_command_argument(1, how)
    call MPI_Comm_dup(MPI_COMM_WORLD, ring)
    if (how == "returned") call MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN)
    call MPI_Comm_rank(ring, rank)
    call world%create(ring, status)
    if (how == "freed") call MPI_Comm_free(ring)
    call pattern%from_needed(world, int(rank, int64), 1_int64, [int(1 - rank, int64)], status)
    call halo%create(world, pattern, status)
    item = rank
    slot = -1
    call halo%start(item, slot, status)
    call halo%wait(status)
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 1) call halo%wait(status)
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 1) print "(2a, i0)", crossdock_status_name(status), ", slot ", int(slot)
    call halo%free()
    call pattern%free()
    call world%close(status)
    call world%free()
    call MPI_Finalize()
end program

! A ring of cells, num_cells_here to a rank. Each rank needs the cell before its first and the one after its last; then
! it sends a contribution back to both. Fails unless every value is as expected.
program halo
    use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
    use mpi_f08
    use crossdock
    implicit none

    integer, parameter :: num_cells_here = 4
    type(crossdock_context) :: world
    type(crossdock_pattern) :: pattern
    type(crossdock_neighbor_exchange) :: ring
    integer(int64) :: num_cells, first, ghosts(2)
    real(real64), asynchronous :: cells(num_cells_here), slots(2)
    real(real64) :: expected(num_cells_here)
    logical :: is_right
    integer :: i, status

    call MPI_Init()
    call world%create(MPI_COMM_WORLD, status)
    call check(status, "context")

    ! Cells are numbered from 0, as global ids are.
    num_cells = int(num_cells_here, int64) * world%num_ranks()
    first = int(num_cells_here, int64) * world%rank()
    ghosts = [modulo(first - 1, num_cells), modulo(first + num_cells_here, num_cells)]
    call pattern%from_needed(world, first, int(num_cells_here, int64), ghosts, status)
    call check(status, "pattern")
    call ring%create(world, pattern, status)
    call check(status, "neighbor exchange")
    call pattern%free()

    ! A cell's value is its number, and each ghost must be the value of its cell.
    cells = [(real(first + i - 1, real64), i = 1, num_cells_here)]
    slots = -1
    call ring%start(cells, slots, status)
    call check(status, "start")
    ! Inner cells would be computed here.
    call ring%wait(status)
    call check(status, "wait")
    is_right = all(slots == real(ghosts, real64))

    ! Each end of a rank's cells is a ghost of one other rank, which adds 0.5 to it.
    expected = cells
    expected([1, num_cells_here]) = expected([1, num_cells_here]) + 0.5_real64
    call ring%reverse([0.5_real64, 0.5_real64], cells, MPI_SUM, status)
    call check(status, "reverse")
    is_right = is_right .and. all(cells == expected)

    call MPI_Allreduce(MPI_IN_PLACE, is_right, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    if (world%rank() == 0) print "(i0, a, i0, 2a)", num_cells, " cells on ", world%num_ranks(), &
        " ranks: forward and reverse are ", trim(merge("right", "WRONG", is_right))
    call ring%free()
    call world%close(status)
    call check(status, "close")
    call world%free()
    call MPI_Finalize()
    if (.not. is_right) stop 1

contains

    subroutine check(status, what)
        integer, intent(in) :: status
        character(*), intent(in) :: what
        if (status == CROSSDOCK_SUCCESS) return
        write (error_unit, "(5a)") what, ": ", crossdock_status_name(status), ": ", crossdock_last_error()
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine
end program

! A histogram whose bins are dealt out to the ranks. Each rank pushes numbers to the ranks that have their bins, which
! count them as they come. Fails unless all counts are as a serial program has them.
module bins
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64
    implicit none

    integer(int64), parameter :: num_bins_here = 16
    integer, parameter :: num_draws = 10000   ! of each rank

    type :: own_bins
        integer(int64) :: first
        integer(int64) :: counts(0:num_bins_here - 1) = 0
    end type

contains

    ! Takes a batch of items, which are numbers of bins. A result that is not 0 would end the stream on all ranks.
    function count_bins(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        type(own_bins), pointer :: own
        integer(int64), pointer :: drawn(:)
        integer(int64) :: i
        call c_f_pointer(user, own)
        call c_f_pointer(items, drawn, [num_items])
        fault = 1
        if (any(drawn < own%first .or. drawn >= own%first + num_bins_here)) return   ! not ours
        do i = 1, num_items
            own%counts(drawn(i) - own%first) = own%counts(drawn(i) - own%first) + 1
        end do
        fault = 0
    end function

    ! The numbers of a rank: Lehmer's generator, which begins with a multiple of the rank's successor.
    function draws(rank, num_bins) result(drawn)
        integer, intent(in) :: rank
        integer(int64), intent(in) :: num_bins
        integer(int64) :: drawn(num_draws), state
        integer :: i
        state = 12345_int64 * (rank + 1)
        do i = 1, num_draws
            state = modulo(48271 * state, 2147483647_int64)
            drawn(i) = modulo(state / 8, num_bins)
        end do
    end function
end module

program histogram
    use, intrinsic :: iso_fortran_env, only: error_unit
    use mpi_f08
    use crossdock
    use bins
    implicit none

    type(crossdock_context) :: world
    type(crossdock_stream) :: stream
    type(crossdock_stream_port) :: port
    type(own_bins), target :: own
    integer(int64) :: drawn(num_draws), num_bins, expected(0:num_bins_here - 1)
    integer :: i, rank, status
    logical :: is_right

    call MPI_Init()
    call world%create(MPI_COMM_WORLD, status)
    call check(status, "context")
    num_bins = num_bins_here * world%num_ranks()
    own%first = num_bins_here * world%rank()
    call stream%create(world, 8, count_bins, status, user=c_loc(own))
    call check(status, "stream")
    call stream%get_port(port, status)
    call check(status, "port")

    drawn = draws(world%rank(), num_bins)
    do i = 1, num_draws
        call port%push(int(drawn(i) / num_bins_here), drawn(i), status)
        call check(status, "push")
        if (modulo(i, 256) == 0) call port%progress(status)
    end do
    call port%start_drain(status)
    call check(status, "start to drain")
    call port%wait_drain(status)
    call check(status, "drain")

    expected = 0
    do rank = 0, world%num_ranks() - 1
        drawn = draws(rank, num_bins) - own%first
        do i = 1, num_draws
            if (drawn(i) >= 0 .and. drawn(i) < num_bins_here) expected(drawn(i)) = expected(drawn(i)) + 1
        end do
    end do
    is_right = all(own%counts == expected)
    call MPI_Allreduce(MPI_IN_PLACE, is_right, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    if (world%rank() == 0) print "(2(i0, a), i0, 2a)", int(num_draws, int64) * world%num_ranks(), " numbers in ", &
        num_bins, " bins on ", world%num_ranks(), " ranks: the counts are ", trim(merge("right", "WRONG", is_right))
    call stream%close(status)
    call check(status, "close the stream")
    call stream%free()
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

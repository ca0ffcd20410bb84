! What the tests of the Fortran module have in common: each checks values on all ranks, and fails if one is wrong.
module checks
    use, intrinsic :: iso_c_binding, only: c_double
    use, intrinsic :: iso_fortran_env, only: error_unit, int64
    use mpi_f08
    use crossdock
    implicit none

    integer :: num_faults = 0, num_checks = 0, num_milliseconds = 0

contains

    !> Errors are looked at here, and end no program.
    subroutine set_up(world, rank, num_ranks)
        type(crossdock_context), intent(inout) :: world
        integer, intent(out) :: rank, num_ranks
        integer :: status, thread_support
        call MPI_Init_thread(MPI_THREAD_MULTIPLE, thread_support)
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
        call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
        call MPI_Comm_size(MPI_COMM_WORLD, num_ranks)
        call world%create(MPI_COMM_WORLD, status)
        call expect_success(status, "a context")
    end subroutine

    subroutine expect(is_right, sentence)
        logical, intent(in) :: is_right
        character(*), intent(in) :: sentence
        integer :: rank
        num_checks = num_checks + 1
        if (is_right) return
        num_faults = num_faults + 1
        call MPI_Comm_rank(MPI_COMM_WORLD, rank)
        write (error_unit, "(a, i0, 2a)") "rank ", rank, ": not so: ", sentence
    end subroutine

    subroutine expect_success(status, what)
        integer, intent(in) :: status
        character(*), intent(in) :: what
        if (status == CROSSDOCK_SUCCESS) then
            call expect(.true., what)
        else
            call expect(.false., what // " succeeds, but: " // crossdock_last_error())
        end if
    end subroutine

    !> A call has failed with a status and a sentence.
    subroutine expect_error(actual, expected, sentence)
        integer, intent(in) :: actual, expected
        character(*), intent(in) :: sentence
        call expect(actual == expected, "the status is " // crossdock_status_name(expected) // ", not " // &
            crossdock_status_name(actual) // " for " // sentence)
        if (actual == expected) call expect(index(crossdock_last_error(), sentence) == 1, &
            "the sentence begins with '" // sentence // "', not '" // crossdock_last_error() // "'")
    end subroutine

    !> The object that a call was for was never made.
    subroutine expect_null(actual, what)
        integer, intent(in) :: actual
        character(*), intent(in) :: what
        call expect_error(actual, CROSSDOCK_INVALID_ARGUMENT, what // " is a null pointer")
    end subroutine

    !> The time for trials of routes: each call is a millisecond later.
    function one_later() bind(C) result(seconds)
        real(c_double) :: seconds
        num_milliseconds = num_milliseconds + 1
        seconds = 0.001_c_double * num_milliseconds
    end function

    function text(number)
        integer, intent(in) :: number
        character(:), allocatable :: text
        character(12) :: digits
        write (digits, "(i0)") number
        text = trim(digits)
    end function

    subroutine finish(world)
        type(crossdock_context), intent(inout) :: world
        integer :: status
        call world%close(status)
        call expect_success(status, "close")
        call world%free()
        call MPI_Allreduce(MPI_IN_PLACE, num_faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
        call MPI_Finalize()
        if (num_faults > 0 .or. num_checks == 0) stop 1
    end subroutine
end module

! Messages from a rank to itself, completed by each function that completes some.
subroutine complete_messages(num_faults) bind(c)
    use mpi
    use, intrinsic :: iso_c_binding
    implicit none
    integer(c_int), intent(out) :: num_faults
    integer :: requests(2), got(2), places(2), way, number, num_done, ierror
    logical :: is_complete

    num_faults = 0
    do way = 1, 6
        got = -1
        call MPI_Irecv(got(1), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1), ierror)
        call MPI_Irecv(got(2), 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, requests(2), ierror)
        call MPI_Send(way, 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, ierror)
        call MPI_Send(way + 1, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierror)
        num_done = 0
        is_complete = .false.
        do while (num_done < 2)
            number = 1
            select case (way)
            case (1)
                call MPI_Test(requests(1 + num_done), is_complete, MPI_STATUS_IGNORE, ierror)
                if (.not. is_complete) number = 0
            case (2)
                call MPI_Testall(2, requests, is_complete, MPI_STATUSES_IGNORE, ierror)
                number = merge(2, 0, is_complete)
            case (3)
                call MPI_Testany(2, requests, places(1), is_complete, MPI_STATUS_IGNORE, ierror)
                if (.not. is_complete) number = 0
            case (4)
                call MPI_Testsome(2, requests, number, places, MPI_STATUSES_IGNORE, ierror)
            case (5)
                call MPI_Waitany(2, requests, places(1), MPI_STATUS_IGNORE, ierror)
            case (6)
                call MPI_Waitsome(2, requests, number, places, MPI_STATUSES_IGNORE, ierror)
            end select
            if (way >= 3 .and. number > 0) then
                if (any(places(:number) < 1 .or. places(:number) > 2)) num_faults = num_faults + 1
                if (any(requests(places(:number)) /= MPI_REQUEST_NULL)) num_faults = num_faults + 1
            end if
            num_done = num_done + number
        end do
        if (any(got /= [way + 1, way])) num_faults = num_faults + 1
    end do
end subroutine complete_messages

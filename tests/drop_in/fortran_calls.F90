! All neighborhood collectives in all forms, on communicators of all kinds, with the interface to MPI that the compiler
! is told: mpif.h, `use mpi` or `use mpi_f08`. Compares every item of the buffers.
#ifdef CROSSDOCK_HAS_NEIGHBOR_INIT
#define alltoall_init MPI_Neighbor_alltoall_init
#define alltoallv_init MPI_Neighbor_alltoallv_init
#define alltoallw_init MPI_Neighbor_alltoallw_init
#define allgather_init MPI_Neighbor_allgather_init
#define allgatherv_init MPI_Neighbor_allgatherv_init
#else
#define alltoall_init MPIX_Neighbor_alltoall_init
#define alltoallv_init MPIX_Neighbor_alltoallv_init
#define alltoallw_init MPIX_Neighbor_alltoallw_init
#define allgather_init MPIX_Neighbor_allgather_init
#define allgatherv_init MPIX_Neighbor_allgatherv_init
#endif
#ifdef USE_MPI_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif

program fortran_calls
#if defined USE_MPI_F08
    use mpi_f08
#ifndef CROSSDOCK_HAS_NEIGHBOR_INIT
    use mpi_f08_ext
#endif
#elif defined USE_MPI
    use mpi
#ifndef CROSSDOCK_HAS_NEIGHBOR_INIT
    use mpi_ext
#endif
#endif
    implicit none
#ifdef USE_MPIF_H
    include 'mpif.h'
#endif

    integer, parameter :: num_kinds = 5, buffer_size = 16
    integer, parameter :: blocking = 1, nonblocking = 2, persistent = 3
    ! Of each kind, in integers: what a neighbor gets, and where the blocks of two stand.
    integer, parameter :: counts(num_kinds) = [2, 3, 4, 2, 2]
    integer, parameter :: send_displacements(2, num_kinds) = reshape([0, 2, 6, 1, 5, 0, 0, 0, 0, 0], [2, num_kinds])
    integer, parameter :: receive_displacements(2, num_kinds) = reshape([0, 2, 1, 9, 0, 6, 0, 2, 4, 1], [2, num_kinds])
    character(10), parameter :: names(num_kinds) = &
        [character(10) :: "alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"]

    integer :: rank, num_ranks, ierror, num_faults, iteration, integer_bytes
    integer :: sent(buffer_size, num_kinds), received(buffer_size, num_kinds)
    HANDLE(MPI_Datatype) :: pair, types(2)
    integer(MPI_ADDRESS_KIND) :: send_bytes(2), receive_bytes(2)
    integer :: length
    logical :: is_route_named  ! MPI's own functions must not be called then

    call get_environment_variable("CROSSDOCK_ROUTE", length=length)
    is_route_named = length > 0
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, num_ranks, ierror)
    call MPI_Type_size(MPI_INTEGER, integer_bytes, ierror)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, ierror)
    call MPI_Type_commit(pair, ierror)
    types(1) = MPI_INTEGER
    types(2) = pair
    send_bytes = send_displacements(:, 3) * integer_bytes
    receive_bytes = receive_displacements(:, 3) * integer_bytes
    num_faults = 0
    iteration = 0
    call on_adjacent_graphs()
    call on_other_graphs()
    call on_grids()
    call cancel_a_receive()
    call MPI_Type_free(pair, ierror)
    call MPI_Allreduce(MPI_IN_PLACE, num_faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_Finalize(ierror)
    if (num_faults > 0) error stop "fortran_calls: wrong values"

contains

    integer function at_distance(distance)
        integer, intent(in) :: distance

        at_distance = modulo(rank + distance, num_ranks)
    end function at_distance

    subroutine on_adjacent_graphs()
        HANDLE(MPI_Comm) :: graph, copy
        integer :: sources(2), destinations(2), degree

        sources = [at_distance(-1), at_distance(-3)]
        destinations = [at_distance(1), at_distance(3)]
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, [5, 6], 2, destinations, [7, 8], &
            MPI_INFO_NULL, .true., graph, ierror)
        call call_all(graph, "an adjacent graph", sources, [1, 2])
        call call_from_bottom(graph, sources)
        if (.not. is_route_named) call call_in_place(graph)
        call MPI_Comm_dup(graph, copy, ierror)
        call call_all(copy, "a duplicate", sources, [1, 2])
        call MPI_Comm_disconnect(copy, ierror)
        call expect(copy == MPI_COMM_NULL, "MPI_Comm_disconnect")
        call MPI_Comm_dup_with_info(graph, MPI_INFO_NULL, copy, ierror)
        call call_all(copy, "a duplicate with info", sources, [1, 2])
        call MPI_Comm_free(copy, ierror)
        call MPI_Comm_free(graph, ierror)
        call expect(graph == MPI_COMM_NULL, "MPI_Comm_free")

        ! Rank 0 is isolated.
        degree = 0
        sources = MPI_PROC_NULL
        if (rank == 0) then
            call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, sources, MPI_WEIGHTS_EMPTY, 0, sources, &
                MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph, ierror)
        else
            degree = 1
            sources(1) = 1 + modulo(rank - 2, num_ranks - 1)
            destinations(1) = 1 + modulo(rank, num_ranks - 1)
            call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, [5], 1, destinations, [5], &
                MPI_INFO_NULL, .false., graph, ierror)
        end if
        call call_all(graph, "a graph with an isolated rank", sources(1:degree), [1, 2])
        call MPI_Comm_free(graph, ierror)
    end subroutine on_adjacent_graphs

    subroutine on_other_graphs()
        HANDLE(MPI_Comm) :: graph
        integer :: i, left, right

        left = at_distance(-1)
        right = at_distance(1)
        call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [right], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
            graph, ierror)
        call call_all(graph, "a distributed graph", [left], [1])
        call MPI_Comm_free(graph, ierror)
        if (num_ranks < 3) return
        call MPI_Graph_create(MPI_COMM_WORLD, num_ranks, [(2 * i, i = 1, num_ranks)], &
            [(modulo(i - 1, num_ranks), modulo(i + 1, num_ranks), i = 0, num_ranks - 1)], .false., graph, ierror)
        call call_all(graph, "a graph", [left, right], [2, 1])
        call MPI_Comm_free(graph, ierror)
    end subroutine on_other_graphs

    subroutine on_grids()
        HANDLE(MPI_Comm) :: grid, line
        integer :: below, above

        call MPI_Cart_create(MPI_COMM_WORLD, 2, [num_ranks, 1], [num_ranks > 2, .false.], .false., grid, ierror)
        call MPI_Cart_sub(grid, [.true., .false.], line, ierror)
        call MPI_Cart_shift(line, 0, 1, below, above, ierror)
        call call_all(line, "a line of a grid", [below, above], [2, 1])
        call MPI_Comm_free(line, ierror)
        call MPI_Comm_free(grid, ierror)
        call MPI_Cart_create(MPI_COMM_WORLD, 1, [num_ranks], [num_ranks > 2], .true., line, ierror)
        call MPI_Cart_shift(line, 0, 1, below, above, ierror)
        call call_all(line, "a grid", [below, above], [2, 1])
        call MPI_Comm_free(line, ierror)
    end subroutine on_grids

    ! Sources get the block of this number of a rank's.
    subroutine call_all(comm, where, sources, blocks)
        HANDLE(MPI_Comm), intent(in) :: comm
        character(*), intent(in) :: where
        integer, intent(in) :: sources(:), blocks(:)
        HANDLE(MPI_Request) :: requests(num_kinds)
        integer :: i, repetition

        do repetition = 1, 3
            call fill()
            call call_each(comm, blocking, requests)
            call compare(where // ", blocking", sources, blocks)
            call fill()
            call call_each(comm, nonblocking, requests)
            call MPI_Waitall(num_kinds, requests, MPI_STATUSES_IGNORE, ierror)
            call compare(where // ", nonblocking", sources, blocks)
        end do
        call call_each(comm, persistent, requests)
        do repetition = 1, 3
            call fill()
            call MPI_Startall(num_kinds, requests, ierror)
            call MPI_Waitall(num_kinds, requests, MPI_STATUSES_IGNORE, ierror)
            call compare(where // ", started together", sources, blocks)
            call fill()
            do i = num_kinds, 1, -1
                call MPI_Start(requests(i), ierror)
            end do
            do i = 1, num_kinds
                call MPI_Wait(requests(i), MPI_STATUS_IGNORE, ierror)
            end do
            call compare(where // ", started one by one", sources, blocks)
        end do
        do i = 1, num_kinds
            call MPI_Request_free(requests(i), ierror)
            call expect(requests(i) == MPI_REQUEST_NULL, "MPI_Request_free")
        end do
    end subroutine call_all

    subroutine call_each(comm, form, requests)
        HANDLE(MPI_Comm), intent(in) :: comm
        integer, intent(in) :: form
        HANDLE(MPI_Request), intent(inout) :: requests(num_kinds)
        ! Whether MPI reads the arrays of persistent calls again is its own affair: they stay.
        integer, save :: type_counts(2) = [4, 2], c2(2) = counts(2), c5(2) = counts(5), &
            s2(2) = send_displacements(:, 2), r2(2) = receive_displacements(:, 2), r5(2) = receive_displacements(:, 5)

        select case (form)
        case (blocking)
            call MPI_Neighbor_alltoall(sent(1, 1), 2, MPI_INTEGER, received(1, 1), 2, MPI_INTEGER, comm, ierror)
            call MPI_Neighbor_alltoallv(sent(1, 2), c2, s2, MPI_INTEGER, received(1, 2), c2, r2, MPI_INTEGER, comm, &
                ierror)
            call MPI_Neighbor_alltoallw(sent(1, 3), type_counts, send_bytes, types, received(1, 3), type_counts, &
                receive_bytes, types, comm, ierror)
            call MPI_Neighbor_allgather(sent(1, 4), 1, pair, received(1, 4), 2, MPI_INTEGER, comm, ierror)
            call MPI_Neighbor_allgatherv(sent(1, 5), 2, MPI_INTEGER, received(1, 5), c5, r5, MPI_INTEGER, comm, ierror)
        case (nonblocking)
            call MPI_Ineighbor_alltoall(sent(1, 1), 2, MPI_INTEGER, received(1, 1), 2, MPI_INTEGER, comm, requests(1), &
                ierror)
            call MPI_Ineighbor_alltoallv(sent(1, 2), c2, s2, MPI_INTEGER, received(1, 2), c2, r2, MPI_INTEGER, comm, &
                requests(2), ierror)
            call MPI_Ineighbor_alltoallw(sent(1, 3), type_counts, send_bytes, types, received(1, 3), type_counts, &
                receive_bytes, types, comm, requests(3), ierror)
            call MPI_Ineighbor_allgather(sent(1, 4), 1, pair, received(1, 4), 2, MPI_INTEGER, comm, requests(4), ierror)
            call MPI_Ineighbor_allgatherv(sent(1, 5), 2, MPI_INTEGER, received(1, 5), c5, r5, MPI_INTEGER, comm, &
                requests(5), ierror)
        case (persistent)
            call alltoall_init(sent(1, 1), 2, MPI_INTEGER, received(1, 1), 2, MPI_INTEGER, comm, MPI_INFO_NULL, &
                requests(1), ierror)
            call alltoallv_init(sent(1, 2), c2, s2, MPI_INTEGER, received(1, 2), c2, r2, MPI_INTEGER, comm, &
                MPI_INFO_NULL, requests(2), ierror)
            call alltoallw_init(sent(1, 3), type_counts, send_bytes, types, received(1, 3), type_counts, &
                receive_bytes, types, comm, MPI_INFO_NULL, requests(3), ierror)
            call allgather_init(sent(1, 4), 1, pair, received(1, 4), 2, MPI_INTEGER, comm, MPI_INFO_NULL, &
                requests(4), ierror)
            call allgatherv_init(sent(1, 5), 2, MPI_INTEGER, received(1, 5), c5, r5, MPI_INTEGER, comm, &
                MPI_INFO_NULL, requests(5), ierror)
        end select
    end subroutine call_each

    ! A graph of two neighbors: displacements are addresses.
    subroutine call_from_bottom(graph, sources)
        HANDLE(MPI_Comm), intent(in) :: graph
        integer, intent(in) :: sources(2)
        integer(MPI_ADDRESS_KIND) :: send_addresses(2), receive_addresses(2)
        integer :: i

        do i = 1, 2
            call MPI_Get_address(sent(1 + send_displacements(i, 3), 3), send_addresses(i), ierror)
            call MPI_Get_address(received(1 + receive_displacements(i, 3), 3), receive_addresses(i), ierror)
        end do
        call fill()
        call MPI_Neighbor_alltoallw(MPI_BOTTOM, [4, 2], send_addresses, types, MPI_BOTTOM, [4, 2], receive_addresses, &
            types, graph, ierror)
        call MPI_F_sync_reg(received)
        call compare_kind(3, "from MPI_BOTTOM", sources, [1, 2])
    end subroutine call_from_bottom

    subroutine call_in_place(graph)
        HANDLE(MPI_Comm), intent(in) :: graph
        integer :: code, class

        call MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN, ierror)
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
        call MPI_Neighbor_alltoall(MPI_IN_PLACE, 2, MPI_INTEGER, received(1, 1), 2, MPI_INTEGER, graph, code)
        call MPI_Comm_set_errhandler(graph, MPI_ERRORS_ARE_FATAL, ierror)
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
        call MPI_Error_class(code, class, ierror)
        call expect(class == MPI_ERR_ARG, "MPI_IN_PLACE")
    end subroutine call_in_place

    subroutine cancel_a_receive()
        HANDLE(MPI_Request) :: request
        integer :: token

        call MPI_Irecv(token, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, request, ierror)
        call MPI_Cancel(request, ierror)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call expect(request == MPI_REQUEST_NULL, "MPI_Cancel")
    end subroutine cancel_a_receive

    integer function value_of(of_rank, kind, position)
        integer, intent(in) :: of_rank, kind, position

        value_of = ((iteration * 10 + kind) * 100 + of_rank) * 100 + position
    end function value_of

    subroutine fill()
        integer :: kind, position

        iteration = iteration + 1
        do kind = 1, num_kinds
            do position = 1, buffer_size
                sent(position, kind) = value_of(rank, kind, position)
            end do
        end do
        received = -1
    end subroutine fill

    subroutine compare(what, sources, blocks)
        character(*), intent(in) :: what
        integer, intent(in) :: sources(:), blocks(:)
        integer :: kind

        do kind = 1, num_kinds
            call compare_kind(kind, what, sources, blocks)
        end do
    end subroutine compare

    subroutine compare_kind(kind, what, sources, blocks)
        integer, intent(in) :: kind, sources(:), blocks(:)
        character(*), intent(in) :: what
        integer :: expected(buffer_size), i, j

        expected = -1
        do i = 1, size(sources)
            if (sources(i) == MPI_PROC_NULL) cycle
            do j = 1, counts(kind)
                expected(receive_displacements(i, kind) + j) = &
                    value_of(sources(i), kind, send_displacements(blocks(i), kind) + j)
            end do
        end do
        call expect(all(received(:, kind) == expected), trim(names(kind)) // " on " // what)
    end subroutine compare_kind

    subroutine expect(is_right, what)
        logical, intent(in) :: is_right
        character(*), intent(in) :: what

        if (is_right) return
        num_faults = num_faults + 1
        print *, "rank", rank, "is wrong:", what
    end subroutine expect
end program fortran_calls

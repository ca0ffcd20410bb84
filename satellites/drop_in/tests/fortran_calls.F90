! All neighborhood collectives and exchanges between all ranks in all forms, on communicators of all kinds, with the
! interface to MPI that the compiler is told: mpif.h, `use mpi` or `use mpi_f08`. Compares every item of the buffers.
#ifndef CROSSDOCK_HAS_NEIGHBOR_INIT
#define MPI_Neighbor_alltoall_init MPIX_Neighbor_alltoall_init
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#define MPI_Neighbor_alltoallw_init MPIX_Neighbor_alltoallw_init
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#define MPI_Neighbor_allgatherv_init MPIX_Neighbor_allgatherv_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#endif
#ifdef USE_MPI_F08
#define HANDLE(kind) type(kind)
#define STATUSES(name, size) type(MPI_Status) :: name(size)
#define STATUS(name, number) name(number)
#define STATUS_FIELD(name, number, field) name(number)%field
#else
#define HANDLE(kind) integer
#define STATUSES(name, size) integer :: name(MPI_STATUS_SIZE, size)
#define STATUS(name, number) name(:, number)
#define STATUS_FIELD(name, number, field) name(field, number)
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

    integer, parameter :: num_kinds = 5, num_kinds_of_all_ranks = 3, buffer_size = 16
    integer, parameter :: num_ways = 7
    character(18), parameter :: ways(num_ways) = [character(18) :: "Test", "Testall", "Testany", "Testsome", "Waitany", &
        "Waitsome", "Request_get_status"]
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
    ! What the calls on all ranks take. A block of two for each rank; to the last one first, if counts differ.
    integer, parameter :: most_ranks = buffer_size / 2
    integer, dimension(most_ranks) :: all_counts_to, all_send_displacements, all_send_counts, all_send_bytes, &
        all_counts_from, all_receive_displacements, all_receive_bytes
    HANDLE(MPI_Datatype) :: all_send_types(most_ranks), all_receive_types(most_ranks)
    ! Of each place in `received`: the rank that it gets an item of, or -1, and the item's place there.
    integer, dimension(buffer_size, num_kinds) :: origin_rank, origin_position
    integer :: num_calls  ! of a kind each
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
    call on_all_ranks()
    call between_halves()
    call wait_for_messages()
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
        call call_from_bottom(graph)
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

    ! Of the ranks of a communicator in the order of MPI_COMM_WORLD or, `step` being -1, in the opposite one. Every rank
    ! sends two items to each, or none, one or two.
    subroutine describe_all_ranks(step)
        integer, intent(in) :: step
        integer :: number, other, i

        origin_rank = -1
        do other = 0, num_ranks - 1
            i = 1 + other
            if (step == -1) i = num_ranks - other
            all_counts_to(i) = modulo(other - rank, 3)
            all_counts_from(i) = modulo(rank - other, 3)
            all_send_displacements(i) = 2 * (num_ranks - i)
            all_receive_displacements(i) = 2 * (i - 1)
            all_send_counts(i) = min(1, all_counts_to(i))
            all_send_types(i) = types(max(1, all_counts_to(i)))
            all_receive_types(i) = MPI_INTEGER
            ! This rank's number, where the communicator counts.
            number = 1 + rank
            if (step == -1) number = num_ranks - rank
            call expect_block(1, all_receive_displacements(i), other, 2 * (number - 1), 2)
            call expect_block(2, all_receive_displacements(i), other, 2 * (num_ranks - number), all_counts_from(i))
            call expect_block(3, all_receive_displacements(i), other, 2 * (num_ranks - number), all_counts_from(i))
        end do
        all_send_bytes(:num_ranks) = all_send_displacements(:num_ranks) * integer_bytes
        all_receive_bytes(:num_ranks) = all_receive_displacements(:num_ranks) * integer_bytes
        num_calls = num_kinds_of_all_ranks
    end subroutine describe_all_ranks

    subroutine on_all_ranks()
        HANDLE(MPI_Comm) :: comm

        if (num_ranks > most_ranks) error stop "fortran_calls: too many ranks"
        call describe_all_ranks(1)
        call repeat_calls(MPI_COMM_WORLD, "all ranks")
        call call_all_from_bottom()
        if (.not. is_route_named) call call_all_in_place()
        call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm, ierror)
        call describe_all_ranks(-1)
        call repeat_calls(comm, "all ranks in the opposite order")
        call MPI_Comm_free(comm, ierror)
    end subroutine on_all_ranks

    ! Rank 0 and the others send to each other. Intercommunicators are MPI's.
    subroutine between_halves()
        HANDLE(MPI_Comm) :: half, both
        integer :: other

        if (num_ranks < 2 .or. is_route_named) return
        call MPI_Comm_split(MPI_COMM_WORLD, min(rank, 1), rank, half, ierror)
        call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, merge(1, 0, rank == 0), 1, both, ierror)
        call describe_all_ranks(1)
        origin_rank = -1
        do other = merge(1, 0, rank == 0), merge(num_ranks - 1, 0, rank == 0)
            call expect_block(3, merge(2 * (other - 1), 0, rank == 0), other, max(0, 2 * (rank - 1)), 2)
        end do
        all_send_counts = 2
        all_counts_from = 2
        all_send_types = MPI_INTEGER
        all_send_bytes = all_receive_bytes
        call fill()
        call MPI_Alltoallw(sent(1, 3), all_send_counts, all_send_bytes, all_send_types, received(1, 3), &
            all_counts_from, all_receive_bytes, all_receive_types, both, ierror)
        call compare_kind(3, "an intercommunicator")
        call MPI_Comm_free(both, ierror)
        call MPI_Comm_free(half, ierror)
    end subroutine between_halves

    ! Types with the addresses of the buffers.
    subroutine call_all_from_bottom()
        HANDLE(MPI_Datatype) :: of_sent, of_received
        integer(MPI_ADDRESS_KIND) :: address(1)

        call MPI_Get_address(sent(1, 1), address(1), ierror)
        call MPI_Type_create_hindexed(1, [2], address, MPI_INTEGER, of_sent, ierror)
        call MPI_Type_commit(of_sent, ierror)
        call MPI_Get_address(received(1, 1), address(1), ierror)
        call MPI_Type_create_hindexed(1, [2], address, MPI_INTEGER, of_received, ierror)
        call MPI_Type_commit(of_received, ierror)
        call fill()
        call MPI_Alltoall(MPI_BOTTOM, 1, of_sent, MPI_BOTTOM, 1, of_received, MPI_COMM_WORLD, ierror)
        call MPI_F_sync_reg(received)
        call compare_kind(1, "all ranks, from MPI_BOTTOM")
        call MPI_Type_free(of_sent, ierror)
        call MPI_Type_free(of_received, ierror)
    end subroutine call_all_from_bottom

    ! Where the data lie already; what is said of the data to be sent must not be read.
    subroutine call_all_in_place()
        HANDLE(MPI_Request) :: requests(num_kinds_of_all_ranks)
        HANDLE(MPI_Datatype) :: no_types(1)
        integer :: twos(num_ranks), kind

        twos = 2
        no_types(1) = MPI_DATATYPE_NULL
        origin_rank(:, 2) = origin_rank(:, 1)
        origin_rank(:, 3) = origin_rank(:, 1)
        origin_position(:, 2) = origin_position(:, 1)
        origin_position(:, 3) = origin_position(:, 1)
        call fill()
        do kind = 1, num_kinds_of_all_ranks
            received(1:2 * num_ranks, kind) = sent(1:2 * num_ranks, kind)
        end do
        call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, received(1, 1), 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
        call MPI_Ialltoallv(MPI_IN_PLACE, [0], [0], MPI_DATATYPE_NULL, received(1, 2), twos, &
            all_receive_displacements, MPI_INTEGER, MPI_COMM_WORLD, requests(2), ierror)
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
        call MPI_Alltoallw(MPI_IN_PLACE, [0], [0], no_types, received(1, 3), twos, all_receive_bytes, &
            all_receive_types, MPI_COMM_WORLD, ierror)
        do kind = 1, num_kinds_of_all_ranks
            call compare_kind(kind, "all ranks, in place")
        end do
    end subroutine call_all_in_place

    ! Sources get the block of this number of a rank's.
    subroutine call_all(comm, where, sources, blocks)
        HANDLE(MPI_Comm), intent(in) :: comm
        character(*), intent(in) :: where
        integer, intent(in) :: sources(:), blocks(:)
        integer :: kind, i

        origin_rank = -1
        do kind = 1, num_kinds
            do i = 1, size(sources)
                if (sources(i) == MPI_PROC_NULL) cycle
                call expect_block(kind, receive_displacements(i, kind), sources(i), &
                    send_displacements(blocks(i), kind), counts(kind))
            end do
        end do
        num_calls = num_kinds
        call repeat_calls(comm, where)
    end subroutine call_all

    subroutine expect_block(kind, receive_displacement, source, send_displacement, num_items)
        integer, intent(in) :: kind, receive_displacement, source, send_displacement, num_items
        integer :: i

        do i = 1, num_items
            origin_rank(receive_displacement + i, kind) = source
            origin_position(receive_displacement + i, kind) = send_displacement + i
        end do
    end subroutine expect_block

    subroutine repeat_calls(comm, where)
        HANDLE(MPI_Comm), intent(in) :: comm
        character(*), intent(in) :: where
        HANDLE(MPI_Request) :: requests(num_kinds)
        integer, save :: num_repeated = 0
        integer :: i, repetition, way

        do repetition = 1, 3
            call fill()
            call call_each(comm, blocking, requests)
            call compare(where // ", blocking")
            call fill()
            call call_each(comm, nonblocking, requests)
            call MPI_Waitall(num_calls, requests, MPI_STATUSES_IGNORE, ierror)
            call compare(where // ", nonblocking")
        end do
        call call_each(comm, persistent, requests)
        do repetition = 1, 3
            call fill()
            call MPI_Startall(num_calls, requests, ierror)
            call MPI_Waitall(num_calls, requests, MPI_STATUSES_IGNORE, ierror)
            call compare(where // ", started together")
            call fill()
            do i = num_calls, 1, -1
                call MPI_Start(requests(i), ierror)
            end do
            do i = 1, num_calls
                call MPI_Wait(requests(i), MPI_STATUS_IGNORE, ierror)
            end do
            call compare(where // ", started one by one")
        end do
        ! Each time another function is the first that sees requests for which only MPI_Wait and MPI_Waitall waited.
        do repetition = 1, num_ways
            way = 1 + mod(num_repeated + repetition, num_ways)
            call fill()
            call MPI_Startall(num_calls, requests, ierror)
            call complete(requests(:num_calls), way)
            call compare(where // ", completed by " // trim(ways(way)))
        end do
        num_repeated = num_repeated + 1
        do i = 1, num_calls
            call MPI_Request_free(requests(i), ierror)
            call expect(requests(i) == MPI_REQUEST_NULL, "MPI_Request_free")
        end do
    end subroutine repeat_calls

    ! Waits for all, and leaves the requests inactive.
    subroutine complete(requests, way)
        HANDLE(MPI_Request), intent(inout) :: requests(:)
        integer, intent(in) :: way
        integer :: i, number, num_done, places(size(requests))
        logical :: is_complete
        STATUSES(statuses, 1)  ! Open MPI 4.1's MPI_Request_get_status gives no flag without

        num_done = 0
        select case (ways(way))
        case ("Test", "Request_get_status")
            do i = 1, size(requests)
                is_complete = .false.
                do while (.not. is_complete)
                    if (ways(way) == "Test") then
                        call MPI_Test(requests(i), is_complete, MPI_STATUS_IGNORE, ierror)
                    else
                        call MPI_Request_get_status(requests(i), is_complete, STATUS(statuses, 1), ierror)
                        if (is_complete) call MPI_Wait(requests(i), MPI_STATUS_IGNORE, ierror)
                    end if
                end do
            end do
        case ("Testall")
            is_complete = .false.
            do while (.not. is_complete)
                call MPI_Testall(size(requests), requests, is_complete, MPI_STATUSES_IGNORE, ierror)
            end do
        case ("Waitany", "Testany")
            do while (num_done < size(requests))
                is_complete = .true.
                if (ways(way) == "Waitany") then
                    call MPI_Waitany(size(requests), requests, number, MPI_STATUS_IGNORE, ierror)
                else
                    call MPI_Testany(size(requests), requests, number, is_complete, MPI_STATUS_IGNORE, ierror)
                end if
                if (.not. is_complete) cycle
                call expect(number /= MPI_UNDEFINED, "an index")
                num_done = num_done + 1
            end do
        case default
            do while (num_done < size(requests))
                if (ways(way) == "Waitsome") then
                    call MPI_Waitsome(size(requests), requests, number, places, MPI_STATUSES_IGNORE, ierror)
                else
                    call MPI_Testsome(size(requests), requests, number, places, MPI_STATUSES_IGNORE, ierror)
                end if
                call expect(number /= MPI_UNDEFINED, "a number of requests")
                num_done = num_done + number
            end do
        end select
    end subroutine complete

    subroutine call_each(comm, form, requests)
        HANDLE(MPI_Comm), intent(in) :: comm
        integer, intent(in) :: form
        HANDLE(MPI_Request), intent(inout) :: requests(num_kinds)

        if (num_calls == num_kinds) then
            call call_neighbors(comm, form, requests)
        else
            call call_all_ranks(comm, form, requests)
        end if
    end subroutine call_each

    subroutine call_all_ranks(comm, form, requests)
        HANDLE(MPI_Comm), intent(in) :: comm
        integer, intent(in) :: form
        HANDLE(MPI_Request), intent(inout) :: requests(num_kinds)

        select case (form)
        case (blocking)
            call MPI_Alltoall(sent(1, 1), 2, MPI_INTEGER, received(1, 1), 1, pair, comm, ierror)
            call MPI_Alltoallv(sent(1, 2), all_counts_to, all_send_displacements, MPI_INTEGER, received(1, 2), &
                all_counts_from, all_receive_displacements, MPI_INTEGER, comm, ierror)
            call MPI_Alltoallw(sent(1, 3), all_send_counts, all_send_bytes, all_send_types, received(1, 3), &
                all_counts_from, all_receive_bytes, all_receive_types, comm, ierror)
        case (nonblocking)
            call MPI_Ialltoall(sent(1, 1), 2, MPI_INTEGER, received(1, 1), 1, pair, comm, requests(1), ierror)
            call MPI_Ialltoallv(sent(1, 2), all_counts_to, all_send_displacements, MPI_INTEGER, received(1, 2), &
                all_counts_from, all_receive_displacements, MPI_INTEGER, comm, requests(2), ierror)
            call MPI_Ialltoallw(sent(1, 3), all_send_counts, all_send_bytes, all_send_types, received(1, 3), &
                all_counts_from, all_receive_bytes, all_receive_types, comm, requests(3), ierror)
        case (persistent)
            call MPI_Alltoall_init(sent(1, 1), 2, MPI_INTEGER, received(1, 1), 1, pair, comm, MPI_INFO_NULL, &
                requests(1), ierror)
            call MPI_Alltoallv_init(sent(1, 2), all_counts_to, all_send_displacements, MPI_INTEGER, received(1, 2), &
                all_counts_from, all_receive_displacements, MPI_INTEGER, comm, MPI_INFO_NULL, requests(2), ierror)
            call MPI_Alltoallw_init(sent(1, 3), all_send_counts, all_send_bytes, all_send_types, received(1, 3), &
                all_counts_from, all_receive_bytes, all_receive_types, comm, MPI_INFO_NULL, requests(3), ierror)
        end select
    end subroutine call_all_ranks

    subroutine call_neighbors(comm, form, requests)
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
            call MPI_Neighbor_alltoall_init(sent(1, 1), 2, MPI_INTEGER, received(1, 1), 2, MPI_INTEGER, comm, &
                MPI_INFO_NULL, requests(1), ierror)
            call MPI_Neighbor_alltoallv_init(sent(1, 2), c2, s2, MPI_INTEGER, received(1, 2), c2, r2, MPI_INTEGER, &
                comm, MPI_INFO_NULL, requests(2), ierror)
            call MPI_Neighbor_alltoallw_init(sent(1, 3), type_counts, send_bytes, types, received(1, 3), type_counts, &
                receive_bytes, types, comm, MPI_INFO_NULL, requests(3), ierror)
            call MPI_Neighbor_allgather_init(sent(1, 4), 1, pair, received(1, 4), 2, MPI_INTEGER, comm, MPI_INFO_NULL, &
                requests(4), ierror)
            call MPI_Neighbor_allgatherv_init(sent(1, 5), 2, MPI_INTEGER, received(1, 5), c5, r5, MPI_INTEGER, comm, &
                MPI_INFO_NULL, requests(5), ierror)
        end select
    end subroutine call_neighbors

    ! On the graph of two neighbors that was called last: displacements are addresses.
    subroutine call_from_bottom(graph)
        HANDLE(MPI_Comm), intent(in) :: graph
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
        call compare_kind(3, "an adjacent graph, from MPI_BOTTOM")
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

    ! Requests of MPI's: what the waits say of them is MPI's, too. Of the last message there is no room for all.
    subroutine wait_for_messages()
        HANDLE(MPI_Request) :: requests(3)
        STATUSES(statuses, 3)
        integer :: items(3), i, num_items, code, class

        if (num_ranks < 2) return  ! Open MPI 4.1 forgets the error of a message from the rank itself
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
        items = -1
        do i = 1, 3
            call MPI_Irecv(items(i), 1, MPI_INTEGER, at_distance(-1), 10 + i, MPI_COMM_WORLD, requests(i), ierror)
        end do
        do i = 1, 3
            call MPI_Send([rank, rank], max(1, i - 1), MPI_INTEGER, at_distance(1), 10 + i, MPI_COMM_WORLD, ierror)
        end do
        call MPI_Wait(requests(1), STATUS(statuses, 1), code)
        call expect(code == MPI_SUCCESS .and. requests(1) == MPI_REQUEST_NULL, "MPI_Wait")
        call MPI_Waitall(2, requests(2:3), STATUS(statuses, 2:3), code)
        call MPI_Error_class(code, class, ierror)
        call expect(class == MPI_ERR_IN_STATUS .and. all([(requests(i) == MPI_REQUEST_NULL, i = 1, 3)]), "MPI_Waitall")
        do i = 1, 3
            call expect(STATUS_FIELD(statuses, i, MPI_SOURCE) == at_distance(-1), "MPI_SOURCE")
            call expect(STATUS_FIELD(statuses, i, MPI_TAG) == 10 + i, "MPI_TAG")
            if (i == 3) exit
            call MPI_Get_count(STATUS(statuses, i), MPI_INTEGER, num_items, ierror)
            call expect(num_items == 1 .and. items(i) == at_distance(-1), "MPI_Get_count")
        end do
        call expect(STATUS_FIELD(statuses, 2, MPI_ERROR) == MPI_SUCCESS, "MPI_ERROR of a message")
        call MPI_Error_class(STATUS_FIELD(statuses, 3, MPI_ERROR), class, ierror)
        call expect(class == MPI_ERR_TRUNCATE, "MPI_ERROR of a long message")
        call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
    end subroutine wait_for_messages

    subroutine cancel_a_receive()
        HANDLE(MPI_Request) :: request
        integer :: token

        call MPI_Irecv(token, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, request, ierror)
        call MPI_Cancel(request, ierror)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call expect(request == MPI_REQUEST_NULL, "MPI_Cancel")
    end subroutine cancel_a_receive

    elemental integer function value_of(of_rank, kind, position)
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

    subroutine compare(what)
        character(*), intent(in) :: what
        integer :: kind

        do kind = 1, num_calls
            call compare_kind(kind, what)
        end do
    end subroutine compare

    subroutine compare_kind(kind, what)
        integer, intent(in) :: kind
        character(*), intent(in) :: what
        integer :: expected(buffer_size)

        where (origin_rank(:, kind) >= 0)
            expected = value_of(origin_rank(:, kind), kind, origin_position(:, kind))
        elsewhere
            expected = -1
        end where
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

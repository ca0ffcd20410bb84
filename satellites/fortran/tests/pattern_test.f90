! Patterns and exchanges from what programs give MPI_Neighbor_alltoallv, and patterns in files.
program pattern_test
    use, intrinsic :: iso_c_binding, only: c_int
    use, intrinsic :: iso_fortran_env, only: real64
    use checks
    implicit none

    interface
        function process_id() bind(C, name="getpid") result(number)
            import :: c_int
            integer(c_int) :: number
        end function
    end interface
    type(crossdock_context) :: world
    type(MPI_Comm) :: graph, turned
    integer :: status, rank, num_ranks, next, previous

    call set_up(world, rank, num_ranks)
    next = modulo(rank + 1, num_ranks)
    previous = modulo(rank - 1, num_ranks)
    ! Two values go to the next rank, and the second of them to the previous one.
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [previous, next], MPI_UNWEIGHTED, 2, [next, previous], &
        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, turned)

    call arguments()
    call arguments_with_ids()
    call arguments_of_nobody()
    call dist_graph()
    call alltoallv_init()
    call lists()
    call columns_of_rows()
    call faults()
    call files()
    call faults_of_files()
    call MPI_Comm_free(turned)
    call MPI_Comm_free(graph)
    call finish(world)

contains

    ! Slots 0 and 1 are of the previous rank, slot 3 of the next one; slot 2 is nobody's.
    subroutine exchange(pattern)
        type(crossdock_pattern), intent(inout) :: pattern
        type(crossdock_neighbor_exchange) :: halo
        call expect_success(status, "a pattern")
        call halo%create(world, pattern, status)
        call expect_slots(halo)
        call halo%free()
        call pattern%free()
    end subroutine

    subroutine expect_slots(halo)
        type(crossdock_neighbor_exchange), intent(in) :: halo
        real(real64) :: items(2), slots(4)
        items = [10 * rank, 10 * rank + 1]
        slots = -1
        call halo%forward(items, slots, status)
        call expect_success(status, "forward")
        call expect(all(slots == [10 * previous, 10 * previous + 1, -1, 10 * next + 1]), "the neighbors' values came")
    end subroutine

    subroutine arguments()
        type(crossdock_pattern) :: pattern
        call pattern%from_neighbor_alltoallv(world, [next, previous], [2, 1], [0, 1], [previous, next], [2, 1], [0, 3], &
            status)
        call expect(pattern%num_items() == 2, "the pattern has two items")
        call expect(pattern%num_slots() == 4, "the pattern has four slots")
        call exchange(pattern)
    end subroutine

    subroutine arguments_with_ids()
        type(crossdock_pattern) :: pattern
        call pattern%from_neighbor_alltoallv(world, [next, previous], [2, 1], [0, 2], [previous, next], [2, 1], [0, 3], &
            status, send_ids=[7_int64, 8_int64, 8_int64])
        call expect_success(status, "ids")
        call expect(pattern%num_items() == 3, "a send buffer with a copy has three positions")
        call pattern%free()
    end subroutine

    subroutine arguments_of_nobody()
        type(crossdock_pattern) :: pattern
        type(crossdock_neighbor_exchange) :: halo
        integer :: nobody(0)
        real(real64) :: items(0), slots(0)
        call pattern%from_neighbor_alltoallv(world, nobody, nobody, nobody, nobody, nobody, nobody, status)
        call expect_success(status, "no neighbors")
        call halo%create(world, pattern, status)
        call halo%forward(items, slots, status)
        call halo%reverse(slots, items, MPI_SUM, status)
        call expect_success(status, "a reverse exchange of nothing")
        call halo%free()
        call pattern%free()
    end subroutine

    subroutine dist_graph()
        type(crossdock_pattern) :: pattern
        call pattern%from_dist_graph(graph, [2, 1], [0, 1], [2, 1], [0, 3], status)
        call exchange(pattern)
        call pattern%from_dist_graph(MPI_COMM_WORLD, [2, 1], [0, 1], [2, 1], [0, 3], status)
        call expect(status == CROSSDOCK_INVALID_ARGUMENT, "MPI_COMM_WORLD has no graph")
    end subroutine

    subroutine alltoallv_init()
        type(crossdock_neighbor_exchange) :: halo
        call halo%alltoallv_init(world, [2, 1], [0, 1], [2, 1], [0, 3], graph, MPI_REAL8, status, route="two_step")
        call expect_success(status, "alltoallv_init")
        call expect(index(halo%explain(), "two_step") > 0, "the route is the one that was given")
        call expect_slots(halo)
        call halo%free()
        call halo%alltoallv_init(world, [2, 1], [0, 1], [2, 1], [0, 3], MPI_COMM_WORLD, MPI_REAL8, status)
        call expect(status == CROSSDOCK_INVALID_ARGUMENT, "MPI_COMM_WORLD has no graph to exchange along")
        if (num_ranks == 1) return
        call halo%alltoallv_init(world, [2, 1], [0, 1], [2, 1], [0, 3], turned, MPI_REAL8, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "the graph has other ranks than the context")
    end subroutine

    ! Global ids in any order: rank r owns r and 100 + r.
    subroutine lists()
        type(crossdock_pattern) :: pattern
        type(crossdock_neighbor_exchange) :: halo
        integer :: items(2), slots(3)
        call pattern%from_needed(world, int([100 + rank, rank], int64), int([next, 100 + previous, next], int64), status)
        call expect_success(status, "lists of ids")
        call halo%create(world, pattern, status)
        items = [100 + rank, rank]
        call halo%forward(items, slots, status)
        call expect(all(slots == [next, 100 + previous, next]), "the value of an id is the id")
        call halo%free()
        call pattern%free()
    end subroutine

    ! Each rank owns two columns, and its rows need the next rank's first one, too.
    subroutine columns_of_rows()
        type(crossdock_pattern) :: pattern
        type(crossdock_neighbor_exchange) :: halo
        integer(int64) :: first, local(4), few(1)
        integer(int64), allocatable :: ghosts(:)
        integer :: x(3)
        call crossdock_renumber_columns(2_int64, 2_int64, [integer(int64) :: 2, 1, 3, 0], local, ghosts, status)
        call expect_success(status, "renumber_columns")
        call expect(size(ghosts) == 2, "there are two ghosts")
        call expect(all(ghosts == [0, 1]) .and. all(local == [0, 3, 1, 2]), "ghosts are behind")

        first = 2 * rank
        call crossdock_renumber_columns(first, 2_int64, [first, first + 1, int(2 * next, int64), first], local, &
            ghosts, status)
        call expect(all(local == [0, 1, merge(2, 0, num_ranks > 1), 0]), "columns of the array")
        call pattern%from_needed(world, first, 2_int64, ghosts, status)
        call halo%create(world, pattern, status)
        x = [2 * rank, 2 * rank + 1, 2 * next]
        call halo%forward(x(:2), x(3:2 + size(ghosts)), status)
        call expect(all(x(local + 1) == [2 * rank, 2 * rank + 1, 2 * next, 2 * rank]), "the columns' values")
        call halo%free()
        call pattern%free()

        few = 7
        call crossdock_renumber_columns(0_int64, 2_int64, [0_int64, 1_int64], few, ghosts, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "columns and local_columns differ in length")
        call crossdock_renumber_columns(0_int64, 2_int64, [-1_int64], few, ghosts, status)
        call expect(status == CROSSDOCK_INDEX_OUT_OF_RANGE, "columns are not negative")
        call expect(few(1) == 7, "nothing is renumbered")
    end subroutine

    subroutine faults()
        type(crossdock_pattern) :: pattern
        call pattern%from_neighbor_alltoallv(world, [next], [2, 1], [0, 1], [previous], [2], [0], status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "destinations and send_counts differ in length")
        call pattern%from_neighbor_alltoallv(world, [next], [2], [0], [previous], [2, 1], [0, 1], status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "sources and recv_counts differ in length")
        call pattern%from_neighbor_alltoallv(world, [next], [2], [0, 1], [previous], [2], [0], status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "send_counts and send_displs differ in length")
        call pattern%from_dist_graph(graph, [2, 1], [0, 1], [2, 1], [0], status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "recv_counts and recv_displs differ in length")
        call expect(pattern%num_items() == -1, "there is no pattern")
        ! Of all ranks.
        call pattern%from_needed(world, int(rank, int64), 1_int64, [merge(-1_int64, 0_int64, rank == num_ranks - 1)], status)
        call expect(status == CROSSDOCK_INDEX_OUT_OF_RANGE, "ids are not negative")
        call pattern%free()
    end subroutine

    ! Each rank needs what the next one has.
    subroutine files()
        type(crossdock_pattern) :: ring
        character(:), allocatable :: name
        integer :: i
        name = "/tmp/crossdock-fortran-pattern-" // text(int(process_id()))
        call ring%from_needed(world, int([rank], int64), int([next], int64), status)
        call ring%write(world, name // ".mtx  ", status, item_bytes=24)
        call expect_success(status, "write")
        if (rank == 0) then
            call expect_next_line(name // ".mtx", "%%MatrixMarket matrix coordinate pattern general")
            call expect_next_line(name // ".mtx", "% items of 24 bytes")
            call expect_next_line(name // ".mtx", &
                text(num_ranks) // " " // text(num_ranks) // " " // text(merge(num_ranks, 0, num_ranks > 1)))
            do i = 0, num_ranks - 1
                if (num_ranks > 1) call expect_next_line(name // ".mtx", &
                    text(modulo(i - 1, num_ranks) + 1) // " " // text(i + 1))
            end do
            call expect_end(name // ".mtx")
            do i = 0, num_ranks - 1
                call expect_next_line(name // ".owners", text(i))
            end do
            call expect_end(name // ".owners")
        end if
        call ring%write(world, name // ".mtx", status)
        if (rank == 0) then
            call expect_next_line(name // ".mtx", "%%MatrixMarket matrix coordinate pattern general")
            call expect_next_line(name // ".mtx", "% items of 8 bytes")
            call remove(name // ".mtx")
            call remove(name // ".owners")
        end if
        call ring%free()
    end subroutine

    ! Of a file that is opened with its first line.
    subroutine expect_next_line(name, expected)
        character(*), intent(in) :: name, expected
        character(80) :: line
        integer :: unit, fault
        inquire (file=name, number=unit)
        if (unit == -1) open (newunit=unit, file=name, status="old", action="read", iostat=fault)
        line = ""
        read (unit, "(a)", iostat=fault) line
        call expect(fault == 0 .and. line == expected, "a line of " // name // " is '" // expected // "', not '" // &
            trim(line) // "'")
    end subroutine

    subroutine expect_end(name)
        character(*), intent(in) :: name
        character(80) :: line
        integer :: unit, fault
        inquire (file=name, number=unit)
        read (unit, "(a)", iostat=fault) line
        call expect(is_iostat_end(fault), name // " has no further line")
        close (unit)
    end subroutine

    subroutine remove(name)
        character(*), intent(in) :: name
        integer :: unit
        inquire (file=name, number=unit)
        if (unit == -1) open (newunit=unit, file=name, status="old")
        close (unit, status="delete")
    end subroutine

    ! All ranks hear of the fault of one.
    subroutine faults_of_files()
        type(crossdock_context) :: nowhere
        type(crossdock_pattern) :: ring, none, ring_or_none
        logical :: is_there
        character(:), allocatable :: name
        call ring%from_needed(world, int([rank], int64), int([next], int64), status)
        call ring%write(nowhere, "own.mtx", status)
        call expect_null(status, "context")
        ring_or_none = ring
        if (rank == num_ranks - 1) ring_or_none = none
        name = "/tmp/crossdock-fortran-no-pattern-" // text(int(process_id()))
        call ring_or_none%write(world, name // ".mtx", status)
        call expect_null(status, "pattern")
        call ring%write(world, name // ".mtx", status, item_bytes=merge(0, 8, rank == 0))
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "item_bytes is 0")
        inquire (file=name // ".mtx", exist=is_there)
        call expect(.not. is_there, "no file is written")
        call ring%write(world, "/missing/own.mtx", status)
        call expect_error(status, CROSSDOCK_FILE_ERROR, "cannot write /missing/own.mtx")
        call ring%free()
    end subroutine
end program

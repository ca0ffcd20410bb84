! Contexts, topologies, names, and what an object says that was never made.
program context_test
    use checks
    implicit none

    type(crossdock_context) :: world, other, none
    integer :: status, rank, num_ranks

    call set_up(world, rank, num_ranks)
    call expect(world%rank() == rank, "the context has the rank")
    call expect(world%num_ranks() == num_ranks, "the context has the number of ranks")
    call names_of_statuses()
    call names_of_routes()
    call topologies_of_text()
    call topologies_of_ranks()
    call contexts_with_topologies()
    call reports_of_objects()
    call faults()
    call world%close(status)
    call expect_success(status, "the first close")
    call finish(world)

contains

    subroutine names_of_statuses()
        integer, parameter :: statuses(*) = [CROSSDOCK_SUCCESS, CROSSDOCK_INVALID_ARGUMENT, CROSSDOCK_INVALID_TOPOLOGY, &
            CROSSDOCK_UNKNOWN_ROUTE, CROSSDOCK_INVALID_ROUTE, CROSSDOCK_SIZE_MISMATCH, CROSSDOCK_RANK_OUT_OF_RANGE, &
            CROSSDOCK_INDEX_OUT_OF_RANGE, CROSSDOCK_COUNT_MISMATCH, CROSSDOCK_COUNT_OVERFLOW, CROSSDOCK_FILE_ERROR, &
            CROSSDOCK_PARSE_ERROR, CROSSDOCK_INVALID_STATE, CROSSDOCK_INVALID_PLAN, CROSSDOCK_MPI_FAILURE, &
            CROSSDOCK_OUT_OF_MEMORY, CROSSDOCK_INTERNAL, CROSSDOCK_HANDLER_FAILED, &
            CROSSDOCK_PEER_FAILED, CROSSDOCK_TIMEOUT, CROSSDOCK_RANK_FAILED]
        character(18), parameter :: expected(*) = [character(18) :: "success", "invalid_argument", "invalid_topology", &
            "unknown_route", "invalid_route", "size_mismatch", "rank_out_of_range", "index_out_of_range", &
            "count_mismatch", "count_overflow", "file_error", "parse_error", "invalid_state", "invalid_plan", &
            "mpi_failure", "out_of_memory", "internal", "handler_failed", &
            "peer_failed   ", "timeout       ", "rank_failed"]
        integer :: i, version(3)
        do i = 1, size(statuses)
            call expect(crossdock_status_name(statuses(i)) == trim(expected(i)), "a status is " // trim(expected(i)) // &
                ", not " // crossdock_status_name(statuses(i)))
        end do
        call expect(crossdock_status_name(99) == "unknown", "99 is no status")
        version = -1
        call crossdock_version(version(1), version(2), version(3))
        call expect(all(version >= 0), "there is a version")
    end subroutine

    subroutine names_of_routes()
        call expect(crossdock_num_routes() >= 6, "there are routes")
        call expect(crossdock_route_name(0) == "direct", "the first route is direct")
        call expect(crossdock_route_example(0) == "direct", "direct has no parameters")
        call expect(crossdock_route_name(-1) == "", "there is no route -1")
    end subroutine

    subroutine topologies_of_text()
        type(crossdock_topology) :: topology
        call topology%from_string("2,3  ", status)
        call expect_success(status, "2,3")
        call expect(topology%num_ranks() == 5, "2,3 has 5 ranks")
        call expect(topology%num_regions() == 2, "2,3 has 2 regions")
        call expect(topology%region_of(1) == 0 .and. topology%region_of(2) == 1, "rank 2 is the first of region 1")
        call expect(topology%region_of(5) == -1, "there is no rank 5")
        call expect(topology%local_rank(4) == 2, "rank 4 is the third of its region")
        call expect(topology%region_size(1) == 3, "region 1 has 3 ranks")
        call expect(topology%rank_at(1, 1) == 3, "rank 3 is the second of region 1")
        call expect(topology%to_string() == "2,3", "2,3 is written as it was read")
        call topology%free()
        call expect(topology%num_ranks() == -1, "a topology that was freed has no ranks")
        call topology%from_regions([0, 1, 0, 1], status)
        call expect(topology%to_string() == "cyclic:2x2", "0 1 0 1 is cyclic:2x2, not " // topology%to_string())
        call topology%free()
    end subroutine

    subroutine topologies_of_ranks()
        type(crossdock_topology) :: topology
        call topology%gather(world, rank / 2, status)
        call expect_success(status, "gather")
        call expect(topology%num_regions() == (num_ranks + 1) / 2, "two ranks are a region")
        call expect(topology%region_of(rank) == rank / 2, "the key is the region")
        call topology%free()
        call topology%discover(world, CROSSDOCK_NODE, status)
        call expect_success(status, "discover")
        call expect(topology%num_ranks() == num_ranks, "what is discovered has all ranks")
        call topology%free()
    end subroutine

    subroutine contexts_with_topologies()
        type(crossdock_topology) :: topology, given
        call topology%gather(world, rank, status)
        call world%with_topology(topology, other, status)
        call expect_success(status, "with_topology")
        call other%topology(given, status)
        call expect(given%num_regions() == num_ranks, "every rank is a region")
        call given%free()
        call other%free()
        call world%with_nodes(topology, other, status)
        call expect_success(status, "with_nodes")
        call other%free()
        call topology%free()
        call other%create(MPI_COMM_WORLD, status, topology="1x" // text(num_ranks), nodes="1x" // text(num_ranks))
        call expect_success(status, "a context with options")
        call other%topology(given, status)
        call expect(given%num_regions() == 1, "all ranks are one region")
        call given%free()
        call other%close(status)
        call other%free()
    end subroutine

    subroutine reports_of_objects()
        type(crossdock_gather_scatter) :: dofs
        character(:), allocatable :: lines
        call other%create(MPI_COMM_WORLD, status, report="objects")
        call expect_success(status, "a context with a report")
        call dofs%create(other, [1_int64, 2_int64], status, name="shared dofs")
        call expect_success(status, "an object with a name")
        lines = other%reports()
        call expect(index(lines, '"name":"shared dofs","kind":"gather-scatter"') > 0, "the object is reported")
        call expect(index(lines, '"starts":0,') > 0, "nothing was started")
        call dofs%free()
        call other%close(status)
        call other%free()
        call expect(world%reports() == "", "nothing is measured without a report")
    end subroutine

    subroutine faults()
        type(crossdock_topology) :: topology
        call topology%from_string("2xx", status)
        call expect(status == CROSSDOCK_INVALID_TOPOLOGY, "2xx is no topology")
        call other%create(MPI_COMM_NULL, status)
        call expect(status == CROSSDOCK_INVALID_ARGUMENT, "MPI_COMM_NULL has no ranks")
        call other%create(MPI_COMM_WORLD, status, topology="1x77")
        call expect(status == CROSSDOCK_INVALID_TOPOLOGY, "1x77 is of other ranks")
        call expect(other%rank() == -1, "a context that failed is none")
        call none%close(status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "context is a null pointer")
        call topology%gather(none, 0, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "context is a null pointer")
        call topology%gather(world, merge(-1, 0, rank == num_ranks - 1), status)
        call expect(status == CROSSDOCK_INVALID_ARGUMENT, "a key of one rank is negative, as all ranks hear")
    end subroutine
end program

! The gather-scatter of shared ids: both ranks of arrays, fields, own types and operations, flagged ids and
! transposed operations, two at once, options, and what fails.
module gather_callbacks
    use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi_f08, only: MPI_Datatype
    implicit none

    type :: point
        real(real64) :: mass
        integer :: times
    end type

contains

    ! An operation on points, for MPI_Op_create.
    subroutine add_points(values, into, length, datatype)
        type(c_ptr), value :: values, into
        integer :: length
        type(MPI_Datatype) :: datatype
        type(point), pointer :: x(:), y(:)
        if (datatype%MPI_VAL < 0) return
        call c_f_pointer(values, x, [length])
        call c_f_pointer(into, y, [length])
        y%mass = y%mass + x%mass
        y%times = y%times + x%times
    end subroutine
end module

program gather_scatter_test
    use, intrinsic :: iso_c_binding, only: c_loc, c_null_ptr, c_ptr
    use, intrinsic :: iso_fortran_env, only: real64
    use checks
    use gather_callbacks
    implicit none

    integer, parameter :: num_ids = 5
    type(crossdock_context) :: world
    type(crossdock_gather_scatter) :: shared
    integer(int64) :: ids(num_ids)
    integer :: status, rank, num_ranks

    call set_up(world, rank, num_ranks)
    ! Every rank has one point of its own, shares one with the next rank and one with the previous one; what is no point
    ! comes next, and all share the last.
    ids = [integer(int64) :: 1000 + rank, 1 + rank, 1 + modulo(rank + 1, num_ranks), 0, 500]
    call shared%create(world, ids, status)
    call expect_success(status, "a gather-scatter")

    call columns()
    call parts_of_arrays()
    call several_fields()
    call other_types()
    call two_at_once()
    call flagged()
    call options()
    call measured()
    call faults()
    call nothing()
    call shared%free()
    call shared%wait(status)
    call expect_null(status, "shared")
    call finish(world)

contains

    function given() result(values)
        integer :: values(num_ids)
        values = [7, rank + 1, rank + 2, 9, rank]
    end function

    ! Of rank r's second and third values the other copies are of the ranks before and after.
    function sums() result(values)
        integer :: values(num_ids)
        values = [7, rank + modulo(rank - 1, num_ranks) + 3, rank + modulo(rank + 1, num_ranks) + 3, 9, &
            num_ranks * (num_ranks - 1) / 2]
    end function

    subroutine columns()
        real(real64), asynchronous :: velocity(3, num_ids)
        logical :: is_complete
        integer :: i
        do i = 1, 3
            velocity(i, :) = 10**i * given()
        end do
        call shared%start(velocity, MPI_SUM, status)
        is_complete = .false.
        do while (.not. is_complete)
            call shared%test(is_complete, status)
            call expect_success(status, "test")
            if (status /= CROSSDOCK_SUCCESS) exit
        end do
        do i = 1, 3
            call expect(all(velocity(i, :) == 10**i * sums()), "row " // text(i))
        end do
    end subroutine

    ! What blocks takes any part of an array.
    subroutine parts_of_arrays()
        real(real64) :: points(2, num_ids), scattered(2 * num_ids)
        points(1, :) = given()
        points(2, :) = -1
        call shared%combine(points(1, :), MPI_SUM, status)
        call expect(all(points(1, :) == sums()) .and. all(points(2, :) == -1), "the row alone has sums")
        scattered = -1
        scattered(::2) = given()
        call shared%combine(scattered(::2), MPI_SUM, status)
        call expect(all(scattered(::2) == sums()) .and. all(scattered(2::2) == -1), "every other value is a sum")
        call shared%start(scattered(::2), MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values is not contiguous")
        call shared%start_fields([crossdock_field(points(1, :))], MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values is not contiguous")
    end subroutine

    subroutine several_fields()
        real(real64), asynchronous :: velocity(2, num_ids), force(2, num_ids)
        type(crossdock_traffic) :: traffic
        velocity(1, :) = given()
        velocity(2, :) = 2 * given()
        force = 4 * velocity
        call shared%start_fields([crossdock_field(velocity), crossdock_field(force)], MPI_SUM, status)
        call expect_success(status, "start_fields")
        call shared%wait(status)
        call expect(all(velocity(1, :) == sums()) .and. all(velocity(2, :) == 2 * sums()), "the first field")
        call expect(all(force(1, :) == 4 * sums()) .and. all(force(2, :) == 8 * sums()), "the second field")
        call shared%statistics(traffic, status)
        call expect_success(status, "statistics")
        call expect(num_ranks > 1 .or. traffic%messages == 0, "one rank sends no messages")
    end subroutine

    ! Numbers and points by their addresses.
    subroutine other_types()
        real(real64), target :: mass(num_ids), velocity(3, num_ids), force(3, num_ids)
        type(point), target :: points(num_ids)
        type(MPI_Datatype) :: of_point
        type(MPI_Op) :: addition
        integer :: i
        mass = given()
        call shared%combine(c_loc(mass), 1, MPI_REAL8, MPI_SUM, status)
        call expect(all(mass == sums()), "sums at an address")
        do i = 1, 3
            velocity(i, :) = i * given()
        end do
        force = -velocity
        call shared%start_fields([c_loc(velocity), c_loc(force)], 3, MPI_DOUBLE_PRECISION, MPI_SUM, status)
        call shared%wait(status)
        do i = 1, 3
            call expect(all(velocity(i, :) == i * sums()) .and. all(force(i, :) == -i * sums()), &
                "row " // text(i) // " at addresses")
        end do
        call MPI_Type_contiguous(storage_size(points) / 8, MPI_BYTE, of_point)
        call MPI_Type_commit(of_point)
        call MPI_Op_create(add_points, .true., addition)
        points%mass = 0.5_real64 * given()
        points%times = 1
        call shared%start(c_loc(points), 1, of_point, addition, status)
        call shared%wait(status)
        call expect(all(points%mass == 0.5_real64 * sums()), "sums of points")
        call expect(all(points%times == [1, 2, 2, 1, num_ranks]), "each copy was added once")
        call shared%combine_fields([c_loc(points)], 1, of_point, addition, status)
        call expect(points(5)%times == num_ranks**2, "all copies had all copies")
        call MPI_Op_free(addition)
        call MPI_Type_free(of_point)
    end subroutine

    subroutine two_at_once()
        type(crossdock_gather_scatter) :: twin
        real(real64), asynchronous :: first(num_ids), second(num_ids)
        call shared%duplicate(twin, status)
        call expect_success(status, "a duplicate")
        first = given()
        second = 2 * given()
        call shared%start(first, MPI_SUM, status)
        call twin%start(second, MPI_SUM, status)
        call twin%wait(status)
        call expect(all(second == 2 * sums()), "sums of the second")
        call shared%wait(status)
        call expect(all(first == sums()), "sums of the first")
        call twin%free()
    end subroutine

    ! One copy gives its value to all; transposed it gets the sum of all.
    subroutine flagged()
        type(crossdock_gather_scatter) :: copied
        integer(int64) :: of_rank_0(num_ids)
        real(real64), asynchronous :: values(num_ids)
        of_rank_0 = ids
        call crossdock_flag_duplicates(world, of_rank_0, status)
        call expect_success(status, "flag_duplicates")
        call expect(of_rank_0(1) == ids(1) .and. of_rank_0(4) == 0, "what has one copy stays")
        call expect(of_rank_0(5) == merge(500, -500, rank == 0), "rank 0 has the copy that is not flagged")
        call copied%create(world, of_rank_0, status)
        call expect_copies(copied)
        call copied%free()
        call copied%create(world, ids, status, unique=.true.)
        call expect_copies(copied)
        values = given()
        call copied%start(values, MPI_SUM, status, transposed=.false.)
        call copied%wait(status)
        call expect(values(5) == 0, "what is not transposed is copied")
        call copied%free()
    end subroutine

    subroutine expect_copies(copied)
        type(crossdock_gather_scatter), intent(in) :: copied
        real(real64), target :: values(num_ids), others(num_ids)
        integer :: sum_of_all(num_ids), of_last
        sum_of_all = sums()
        of_last = merge(sum_of_all(5), rank, rank == 0)
        values = given()
        call copied%combine(values, MPI_SUM, status)
        call expect(values(5) == 0, "all have the value of rank 0")
        values = given()
        call copied%combine(values, MPI_SUM, status, transposed=.true.)
        call expect(values(5) == of_last, "rank 0 has the sum of all")
        values = given()
        others = 2 * given()
        call copied%combine_fields([crossdock_field(values), crossdock_field(others)], MPI_SUM, status, &
            transposed=.true.)
        call expect(values(5) == of_last .and. others(5) == 2 * of_last, "rank 0 has the sums of both fields")
        values = given()
        call copied%combine(c_loc(values), 1, MPI_REAL8, MPI_SUM, status, transposed=.true.)
        call expect(values(5) == of_last, "rank 0 has the sum of what addresses have")
    end subroutine

    subroutine options()
        type(crossdock_gather_scatter) :: by_holders
        type(crossdock_traffic) :: traffic
        real(real64) :: values(2, num_ids)
        call by_holders%create(world, ids, status, method="holders", route="direct", deduplicate=.false., &
            executor="persistent", max_message_bytes=16_int64, item_bytes=16, reproducible=.true.)
        call expect_success(status, "all options")
        call expect(index(by_holders%explain(), "holders direct") > 0, "the route is explained")
        call expect(by_holders%method() == "holders" .and. by_holders%route() == "direct", "method and route are taken")
        call expect(by_holders%num_ids() == num_ids .and. .not. by_holders%is_active(), "it is idle")
        call by_holders%statistics(traffic, status)
        call expect(traffic%messages == num_ranks - 1, "every rank sends to all others")
        values = spread(real(given(), real64), 1, 2)
        call by_holders%combine(values, MPI_SUM, status)
        call expect(all(values(1, :) == sums()) .and. all(values(2, :) == sums()), "sums by holders")
        call by_holders%free()
        call by_holders%create(world, ids, status, route="detour")
        call expect(status == CROSSDOCK_UNKNOWN_ROUTE, "there is no such route")
        call expect(by_holders%explain() == "", "there is no gather-scatter")
    end subroutine

    subroutine measured()
        type(crossdock_gather_scatter) :: tried
        integer :: values(num_ids), i, num_tried
        logical :: is_trying
        character(:), allocatable :: route
        real(real64) :: seconds
        call tried%create(world, ids, status, route="auto:measure", measure_max_candidates=2, &
            measure_exchanges_each=2, measure_max_lost_seconds=1e9_real64, measure_clock=one_later)
        do i = 1, 20
            values = given()
            call tried%combine(values, MPI_SUM, status)
        end do
        call expect(all(values == sums()), "sums of trials")
        call expect(num_ranks == 1 .or. num_milliseconds > 0, "the clock was asked")
        call tried%num_tried_routes(num_tried, is_trying, status)
        call expect_success(status, "num_tried_routes")
        call expect(.not. is_trying .and. num_tried <= 2, "no more than two routes are tried")
        do i = 0, num_tried - 1
            call tried%tried_route(i, route, seconds, status)
            call expect_success(status, "tried_route")
            call expect(route /= "" .and. seconds > 0, "a route was tried")
        end do
        call tried%free()
    end subroutine

    ! Of this rank, each on all of them.
    subroutine faults()
        real(real64) :: values(num_ids), wide(2, num_ids), high(num_ids, 2), none(0, num_ids), old(num_ids)
        integer :: numbers(num_ids)
        type(crossdock_field) :: no_field
        logical :: is_complete
        values = given()
        old = values
        wide = 0
        high = 0
        numbers = 0
        call shared%wait(status)
        call expect_error(status, CROSSDOCK_INVALID_STATE, "no operation is active: start one before test or wait")
        is_complete = .false.
        call shared%test(is_complete, status)
        call expect_error(status, CROSSDOCK_INVALID_STATE, "no operation is active: start one before test or wait")
        call expect(.not. is_complete, "what fails leaves what it was to fill")
        call shared%combine(values(:4), MPI_SUM, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 5 ids, but 4 values")
        call shared%combine(high, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 5 ids, but 2 values")
        call shared%combine(none, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values_per_id is 0, but has to be at least 1")
        call shared%combine_fields([crossdock_field ::], MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "there is no array to combine: give at least one")
        call shared%combine_fields([no_field], MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "a field has no values: crossdock_field makes one")
        call shared%combine_fields([crossdock_field(values), crossdock_field(numbers)], MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "fields are real64 and int32")
        call shared%combine_fields([crossdock_field(values), crossdock_field(wide)], MPI_SUM, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "fields have columns of 1 and of 2 values")
        if (rank == 1) then
            call shared%combine_fields([crossdock_field(values), crossdock_field(numbers)], MPI_SUM, status)
            call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "fields are real64 and int32")
        else if (num_ranks > 1) then
            call shared%combine(values, MPI_SUM, status)
            call expect(status == CROSSDOCK_PEER_FAILED, "the fault of rank 1 is heard of")
            values = old
        end if
        call faults_of_addresses()
        call expect(all(values == old), "nothing is combined")
    end subroutine

    subroutine faults_of_addresses()
        type(c_ptr) :: no_addresses(0)
        call shared%combine(c_null_ptr, 1, MPI_REAL8, MPI_SUM, status)
        call expect_null(status, "values")
        call shared%combine_fields(no_addresses, 1, MPI_REAL8, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "there is no array to combine: give at least one")
    end subroutine

    ! Of a gather-scatter, and with a context, that nobody made.
    subroutine nothing()
        type(crossdock_context) :: nowhere
        type(crossdock_gather_scatter) :: nobody
        real(real64) :: values(num_ids)
        values = 0
        call nobody%create(nowhere, ids, status)
        call expect_null(status, "context")
        call crossdock_flag_duplicates(nowhere, ids, status)
        call expect_null(status, "context")
        call expect(nobody%route() == "" .and. nobody%method() == "" .and. nobody%num_ids() == -1, "it has nothing")
        call nobody%combine(values, MPI_SUM, status)
        call expect_null(status, "shared")
    end subroutine
end program

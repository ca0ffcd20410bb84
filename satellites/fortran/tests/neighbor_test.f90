! Neighbor exchanges in both directions, of all types and ranks of arrays, overlapped and in parts; plans; and what fails.
program neighbor_test
    use, intrinsic :: iso_c_binding, only: c_loc
    use, intrinsic :: iso_fortran_env, only: int32, real32, real64
    use, intrinsic :: ieee_arithmetic, only: ieee_is_nan, ieee_quiet_nan, ieee_value
    use checks
    implicit none

    integer, parameter :: num_owned = 3
    type :: particle
        real(real64) :: mass
        integer :: cell
    end type
    type(crossdock_context) :: world, flat
    type(crossdock_topology) :: regions
    type(crossdock_pattern) :: pattern
    integer(int64), allocatable :: needed(:)
    integer(int64) :: first
    integer :: status, rank, num_ranks, i

    call set_up(flat, rank, num_ranks)
    ! Uneven regions of at most two ranks.
    call regions%gather(flat, (rank + 1) / 2, status)
    call flat%with_topology(regions, world, status)
    call expect_success(status, "regions")

    ! The value of global index g is value_of(g). Each rank needs, of every other rank, the first value or the last
    ! two; the third value of its successor twice; and one of its own.
    first = int(num_owned, int64) * rank
    needed = [integer(int64) ::]
    do i = 0, num_ranks - 1
        if (modulo(rank + i, 2) == 0) then
            needed = [needed, int(num_owned * i, int64)]
        else
            needed = [needed, int(num_owned * i + [1, 2], int64)]
        end if
    end do
    needed = [needed, int(num_owned * modulo(rank + 1, num_ranks) + [2, 2], int64), first + 1]
    call pattern%from_needed(world, first, int(num_owned, int64), needed, status)
    call expect_success(status, "a pattern")
    call expect(pattern%num_items() == num_owned, "a pattern has the items that are owned")
    call expect(pattern%num_slots() == size(needed), "a pattern has the slots that are needed")

    call every_start()
    call every_type()
    call columns()
    call other_types()
    call fields_together()
    call two_types()
    call two_at_once()
    call options()
    call tried_routes()
    call plans()
    call plans_of_all()
    call faults()
    call faults_of_one_rank()
    call pattern%free()
    call regions%free()
    call world%free()
    deallocate (needed)
    call finish(flat)

contains

    elemental integer(int64) function value_of(id) result(value)
        integer(int64), intent(in) :: id
        value = 7 * id + 3
    end function

    ! How often an index is needed, on all ranks: of those that this rank owns.
    function times_needed() result(times)
        integer(int64) :: times(num_owned)
        integer(int64), allocatable :: all_times(:)
        integer :: j
        allocate (all_times(0:num_owned * num_ranks - 1), source=0_int64)
        do j = 1, size(needed)
            all_times(needed(j)) = all_times(needed(j)) + 1
        end do
        call MPI_Allreduce(MPI_IN_PLACE, all_times, size(all_times), MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
        times = all_times(first:first + num_owned - 1)
    end function

    function owned() result(ids)
        integer(int64) :: ids(num_owned)
        integer :: j
        ids = [(first + j, j = 0, num_owned - 1)]
    end function

    subroutine every_start()
        type(crossdock_neighbor_exchange) :: halo
        real(real64), asynchronous :: items(num_owned), slots(size(needed))
        integer(int64) :: times(num_owned)
        logical :: is_complete
        times = times_needed()
        call halo%create(world, pattern, status, route="hypercube")
        call expect_success(status, "a route")
        call expect(index(halo%explain(), "hypercube") > 0, "the route is explained")
        call expect(halo%route() == "hypercube" .and. .not. halo%is_active(), "the route is taken")
        items = real(value_of(owned()), real64)
        slots = -1
        call halo%start(items, slots, status)
        call expect_success(status, "start")
        is_complete = .false.
        do while (.not. is_complete)
            call halo%test(is_complete, status)
            call expect_success(status, "test")
            if (status /= CROSSDOCK_SUCCESS) exit
        end do
        call expect(all(slots == real(value_of(needed), real64)), "all slots are right after test")
        call halo%start_reverse(slots, items, MPI_SUM, status)
        call expect_success(status, "start_reverse")
        call halo%wait(status)
        call expect_success(status, "wait")
        call expect(all(items == real(value_of(owned()) * (1 + times), real64)), "all sums are right")
        call halo%free()
    end subroutine

    subroutine every_type()
        type(crossdock_neighbor_exchange) :: halo
        real(real32) :: x32(num_owned), ghosts32(size(needed))
        integer(int32) :: i32(num_owned), ighosts32(size(needed))
        integer(int64) :: i64(num_owned), ighosts64(size(needed))
        complex(real32) :: z32(num_owned), zghosts32(size(needed))
        complex(real64) :: z64(num_owned), zghosts64(size(needed))
        integer(int64) :: times(num_owned)
        times = times_needed()
        call halo%create(world, pattern, status, item_bytes=4)
        x32 = real(value_of(owned()), real32)
        call halo%forward(x32, ghosts32, status)
        call expect(all(ghosts32 == real(value_of(needed), real32)), "slots of real32")
        call halo%reverse(ghosts32, x32, MPI_SUM, status)
        call expect(all(x32 == real(value_of(owned()) * (1 + times), real32)), "sums of real32")
        i32 = int(value_of(owned()), int32)
        call halo%forward(i32, ighosts32, status)
        call expect(all(ighosts32 == int(value_of(needed), int32)), "slots of int32")
        ighosts32 = ighosts32 + rank
        i32 = 0
        call halo%reverse(ighosts32, i32, MPI_MAX, status)
        call expect(all(i32 >= value_of(owned()) .and. i32 < value_of(owned()) + num_ranks .or. times == 0), &
            "maxima of int32")

        i64 = value_of(owned())
        call halo%forward(i64, ighosts64, status)
        call expect(all(ighosts64 == value_of(needed)), "slots of int64")
        call halo%reverse(ighosts64, i64, MPI_MIN, status)
        call expect(all(i64 == value_of(owned())), "minima of int64")
        z32 = cmplx(value_of(owned()), -1, real32)
        call halo%forward(z32, zghosts32, status)
        call expect(all(zghosts32 == cmplx(value_of(needed), -1, real32)), "slots of complex of real32")

        z64 = cmplx(value_of(owned()), -1, real64)
        call halo%forward(z64, zghosts64, status)
        call expect(all(zghosts64 == cmplx(value_of(needed), -1, real64)), "slots of complex of real64")
        call halo%reverse(zghosts64, z64, MPI_SUM, status)
        call expect(all(z64 == cmplx(value_of(owned()) * (1 + times), -1 - times, real64)), "sums of complex of real64")
        call halo%free()
    end subroutine

    ! Of an array of rank 2 the columns are the items.
    subroutine columns()
        type(crossdock_neighbor_exchange) :: halo
        real(real64), asynchronous :: items(2, num_owned), slots(2, size(needed))
        real(real64) :: strided(3, num_owned)
        integer(int64) :: times(num_owned)
        times = times_needed()
        call halo%create(world, pattern, status)
        items(1, :) = real(value_of(owned()), real64)
        items(2, :) = -items(1, :)
        call halo%forward(items, slots, status)
        call expect(all(slots(1, :) == real(value_of(needed), real64)), "the first value of each column")
        call expect(all(slots(2, :) == -real(value_of(needed), real64)), "the second value of each column")
        call halo%reverse(slots, items, MPI_SUM, status)
        call expect(all(items(1, :) == real(value_of(owned()) * (1 + times), real64)), "the first sum of each column")
        call expect(all(items(2, :) == -items(1, :)), "the second sum of each column")

        ! What blocks takes parts of arrays, too; what starts does not.
        strided = 0
        strided([1, 3], :) = 4
        slots = 0
        call halo%forward(strided([1, 3], :), slots, status)
        call expect(all(slots == 4), "values of a part of an array")
        call halo%start(strided(1:3:2, :), slots, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "items is not contiguous")
        call halo%start_reverse(slots, strided(1:3:2, :), MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "items is not contiguous")
        call halo%free()

    end subroutine

    subroutine other_types()
        type(crossdock_neighbor_exchange) :: halo
        type(particle), target :: items(num_owned), slots(size(needed))
        real(real64), target :: x(num_owned), ghosts(size(needed))
        type(MPI_Datatype) :: bytes
        integer(int64) :: times(num_owned)
        times = times_needed()
        call MPI_Type_contiguous(storage_size(items) / 8, MPI_BYTE, bytes)
        call MPI_Type_commit(bytes)
        call halo%create(world, pattern, status)
        items%mass = real(value_of(owned()), real64)
        items%cell = int(owned())
        slots%cell = -1
        call halo%forward(c_loc(items), c_loc(slots), bytes, status)
        call expect(all(slots%mass == real(value_of(needed), real64)), "masses")
        slots%cell = -1
        call halo%start(c_loc(items), c_loc(slots), bytes, status)
        call halo%wait(status)
        call expect(all(slots%cell == needed), "cells")
        call MPI_Type_free(bytes)

        x = 1
        ghosts = 1
        call halo%reverse(c_loc(ghosts), c_loc(x), MPI_REAL8, MPI_SUM, status)
        call expect(all(x == real(1 + times, real64)), "sums by a datatype of Fortran")
        call halo%free()
    end subroutine

    subroutine fields_together()
        type(crossdock_neighbor_exchange) :: halo
        real(real64), target :: x(num_owned), y(num_owned), x_ghosts(size(needed)), y_ghosts(size(needed))
        integer(int64) :: times(num_owned)
        times = times_needed()
        call halo%create(world, pattern, status)
        x = real(value_of(owned()), real64)
        y = -x
        call halo%start_fields([c_loc(x), c_loc(y)], [c_loc(x_ghosts), c_loc(y_ghosts)], MPI_REAL8, status)
        call halo%wait(status)
        call expect(all(x_ghosts == real(value_of(needed), real64)), "the first field")
        call expect(all(y_ghosts == -x_ghosts), "the second field")
        x = 1
        y = 2
        x_ghosts = 1
        y_ghosts = 3
        call halo%start_reverse_fields([c_loc(x_ghosts), c_loc(y_ghosts)], [c_loc(x), c_loc(y)], MPI_REAL8, MPI_SUM, status)
        call halo%wait(status)
        call expect(all(x == real(1 + times, real64)), "sums of the first field")
        call expect(all(y == real(2 + 3 * times, real64)), "sums of the second field")
        call halo%start_fields([c_loc(x)], [c_loc(x_ghosts), c_loc(y_ghosts)], MPI_REAL8, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "there is no array; give at least one")
        call halo%free()
    end subroutine

    ! Items lie one after the other, slots with a gap behind each.
    subroutine two_types()
        type(crossdock_neighbor_exchange) :: halo
        real(real64), target :: items(num_owned), slots(2, size(needed))
        type(MPI_Datatype) :: spaced
        call MPI_Type_create_resized(MPI_REAL8, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, spaced)
        call MPI_Type_commit(spaced)
        call halo%create(world, pattern, status)
        items = real(value_of(owned()), real64)
        slots = -1
        call halo%start_types(c_loc(items), MPI_REAL8, c_loc(slots), spaced, status)
        call halo%wait(status)
        call expect(all(slots(1, :) == real(value_of(needed), real64)), "slots with gaps")
        call expect(all(slots(2, :) == -1), "the gaps")
        call halo%start_types(c_loc(items), MPI_REAL8, c_loc(slots), MPI_REAL4, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "an item has 8 bytes, but a slot 4: give datatypes of equal size")
        call halo%free()
        call MPI_Type_free(spaced)
    end subroutine

    subroutine two_at_once()
        type(crossdock_neighbor_exchange) :: halo, twin
        real(real64), asynchronous :: x(num_owned), y(num_owned), x_ghosts(size(needed)), y_ghosts(size(needed))
        call halo%create(world, pattern, status, route="three_step")
        call halo%duplicate(twin, status)
        call expect_success(status, "duplicate")
        x = real(value_of(owned()), real64)
        y = -x
        call halo%start(x, x_ghosts, status)
        call twin%start(y, y_ghosts, status)
        call twin%wait(status)
        call halo%wait(status)
        call expect(all(x_ghosts == real(value_of(needed), real64)), "slots of the first")
        call expect(all(y_ghosts == -x_ghosts), "slots of the second")
        call twin%free()
        call halo%free()
    end subroutine

    subroutine options()
        type(crossdock_neighbor_exchange) :: halo
        type(crossdock_traffic) :: once, often
        real(real64), asynchronous :: x(num_owned), ghosts(size(needed))
        call halo%create(world, pattern, status, route="hypercube", executor="persistent", deduplicate=.true., &
            max_message_bytes=16_int64, prepare=CROSSDOCK_PREPARE_FORWARD)
        call expect_success(status, "options")
        call halo%statistics(once, status)
        x = real(value_of(owned()), real64)
        call halo%forward(x, ghosts, status)
        call expect(all(ghosts == real(value_of(needed), real64)), "slots of short messages")
        call halo%reverse(ghosts, x, MPI_MAX, status)
        call expect_success(status, "a reverse exchange that was not ready")
        call expect(all(x == real(value_of(owned()), real64)), "maxima of equal values")
        ghosts = ieee_value(1.0_real64, ieee_quiet_nan)
        call halo%reverse(ghosts, x, MPI_MIN, status)
        call expect(all(ieee_is_nan(x) .eqv. times_needed() > 0), "a NaN stays in minima")
        call expect(all(ieee_is_nan(x) .or. x == real(value_of(owned()), real64)), "nothing else changes")
        x = real(value_of(owned()), real64)
        call halo%start(x, ghosts, status)
        call halo%free(status)
        call expect(status == CROSSDOCK_INVALID_STATE, "an active exchange is not freed")
        call halo%wait(status)
        call halo%free(status)
        call expect_success(status, "free")
        call halo%create(world, pattern, status, route="hypercube", deduplicate=.false.)
        call halo%statistics(often, status)
        call expect(often%messages == once%messages, "the messages are the same")
        call expect(merge(often%items > once%items, often%items == once%items, num_ranks > 1), &
            "without deduplication more items travel")
        call halo%free()
        call halo%create(world, pattern, status, route="hypercube", reproducible=.true.)
        call halo%statistics(once, status)
        call expect(once%items == often%items, "what is reproducible is not deduplicated")
        call halo%free()
    end subroutine

    subroutine tried_routes()
        type(crossdock_neighbor_exchange) :: halo
        real(real64) :: x(num_owned), ghosts(size(needed)), seconds
        integer :: num_tried, k
        logical :: is_trying
        character(:), allocatable :: route
        call halo%create(world, pattern, status, route="auto:measure", measure_max_candidates=2, &
            measure_exchanges_each=1, measure_max_lost_seconds=10.0_real64, measure_clock=one_later, &
            prepare=CROSSDOCK_PREPARE_LAZY)
        call expect_success(status, "auto:measure")
        x = real(value_of(owned()), real64)
        do k = 1, 4
            call halo%forward(x, ghosts, status)
        end do
        call expect(all(ghosts == real(value_of(needed), real64)), "slots of trials")
        num_tried = -1
        is_trying = .true.
        call halo%num_tried_routes(num_tried, is_trying, status)
        call expect_success(status, "num_tried_routes")
        call expect(num_tried >= 0 .and. num_tried <= 2 .and. .not. is_trying, "at most two routes were tried")
        do k = 0, num_tried - 1
            seconds = -1
            call halo%tried_route(k, route, seconds, status)
            call expect_success(status, "a route that was tried")
            call expect(len(route) > 0 .and. seconds > 0.0009_real64, "by the clock it took a millisecond or more")
        end do
        call halo%tried_route(num_tried, route, seconds, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "tried route " // text(num_tried) // &
            " is outside [0, " // text(num_tried) // ")")
        call halo%free()
    end subroutine

    ! In a ring, whose plans each rank makes of all.
    subroutine plans_of_all()
        type(crossdock_pattern) :: patterns(0:num_ranks - 1), few(1)
        type(crossdock_plan) :: plans(0:num_ranks - 1), twisted(0:num_ranks - 1), mine, none
        type(crossdock_traffic) :: total, of_stage
        integer :: r, stage
        do r = 0, num_ranks - 1
            call patterns(r)%from_neighbor_alltoallv(r, num_ranks, [modulo(r + 1, num_ranks)], [2], [0], &
                [modulo(r - 1, num_ranks)], [2], [0], status)
        end do
        call crossdock_plan_compile_all(regions, patterns, "three_step", plans, status, deduplicate=.true.)
        call expect_success(status, "the plans of all ranks")
        call crossdock_plan_verify(plans, patterns, status)
        call expect_success(status, "verify")
        call mine%compile(world, patterns(rank), status, route="three_step")
        call expect(mine%is_equal(plans(rank)), "both are the same plan")
        call expect(.not. mine%is_equal(none), "a plan is not equal to none")
        total = crossdock_traffic()
        do stage = 0, mine%num_stages() - 1
            call mine%stage_traffic(regions, stage, of_stage, status)
            call expect_success(status, "the traffic of a stage")
            total%messages = total%messages + of_stage%messages
        end do
        call mine%total_traffic(regions, of_stage, status)
        call expect(total%messages == of_stage%messages, "all stages together")
        call mine%free()
        call mine%compile(world, patterns(rank), status, route="direct")
        call expect(mine%buffer_items() == merge(4, 0, num_ranks > 1), "two items are sent, and two received")
        call expect(.not. mine%is_equal(plans(rank)), "a plan is not equal to one of another route")

        if (num_ranks > 1) then
            twisted = plans
            twisted(0) = plans(1)
            call crossdock_plan_verify(twisted, patterns, status)
            call expect(status == CROSSDOCK_INVALID_PLAN, "the plan of rank 1 is not that of rank 0")
            call crossdock_plan_compile_all(regions, few, "direct", plans, status)
            call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "each rank of the topology has a pattern and a plan")
            call crossdock_plan_verify(plans, few, status)
            call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "plans and patterns differ in length")
        end if
        call mine%free()
        call expect(mine%buffer_items() == -1, "there is no plan")
        do r = 0, num_ranks - 1
            call plans(r)%free()
            call patterns(r)%free()
        end do
    end subroutine

    subroutine plans()
        type(crossdock_plan) :: plan, copy
        type(crossdock_neighbor_exchange) :: halo
        type(crossdock_traffic) :: planned, sent
        real(real64) :: x(num_owned), ghosts(size(needed))
        call plan%compile(world, pattern, status, route="three_step")
        call expect_success(status, "a plan")
        call expect(plan%num_stages() == merge(3, 1, num_ranks > 2), "the stages of three_step")
        call expect(plan%route() == "three_step", "the plan knows its route")
        call expect(index(plan%to_string(), "three_step") > 0, "a plan names its route")
        call copy%from_json(plan%to_json(), status)
        call expect(copy%to_json() == plan%to_json(), "the same plan")
        call plan%total_traffic(regions, planned, status)
        call halo%create_from_plan(world, copy, status, executor="persistent")
        call halo%statistics(sent, status)
        call expect(sent%messages == planned%messages .and. sent%items == planned%items, "the traffic is the plan's")
        x = real(value_of(owned()), real64)
        call halo%forward(x, ghosts, status)
        call expect(all(ghosts == real(value_of(needed), real64)), "slots by a plan")
        call copy%free()
        call halo%plan(copy, status)
        call expect(copy%is_equal(plan), "the plan of the exchange")
        call copy%free()
        call plan%free()
        call halo%free()
        call plan%from_json("{", status)
        call expect(status == CROSSDOCK_PARSE_ERROR .and. plan%to_json() == "", "no JSON and no plan")
    end subroutine

    ! All ranks hear the same.
    subroutine faults()
        type(crossdock_neighbor_exchange) :: halo
        call halo%create(world, pattern, status, route="no_such_route")
        call expect(status == CROSSDOCK_UNKNOWN_ROUTE, "there is no such route")
        call expect(index(crossdock_last_error(), 'no_such_route') > 0, "the sentence names the route")
        if (num_ranks > 1) then
            call halo%create(world, pattern, status, prepare=merge(77, 0, rank == num_ranks - 1))
            call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "there is no preparation 77")
        end if
        call halo%free()
    end subroutine

    ! Of a start each rank hears its own, and the others of it.
    subroutine faults_of_one_rank()
        type(crossdock_neighbor_exchange) :: halo
        real(real64), asynchronous :: x(num_owned), ghosts(size(needed)), pairs(2, size(needed))
        logical :: is_complete
        integer :: failed
        character(:), allocatable :: sentence
        call halo%start(x, ghosts, status)
        call expect_null(status, "exchange")
        call expect(halo%explain() == "", "nothing is explained")
        call halo%create(world, pattern, status)
        call halo%start(x(:2), ghosts, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "rank " // text(rank) // " has arrays of 2 items and " // &
            text(size(needed)) // " slots, but its pattern needs 3 and " // text(size(needed)))
        call halo%start(reshape(x, [3, 1]), pairs, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "items have columns of 3 values, but slots of 2")
        ! Each rank needs something of rank 1.
        if (rank == 1) then
            call halo%forward(reshape(x, [3, 1]), pairs, status)
            call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "items have columns of 3 values, but slots of 2")
        else if (num_ranks > 1) then
            call halo%forward(x, ghosts, status)
            call expect(status == CROSSDOCK_PEER_FAILED, "the fault of rank 1 is heard of")
        end if
        x = real(value_of(owned()), real64)
        call halo%forward(x, ghosts, status)
        call expect_success(status, "the next exchange")
        call halo%prepare(8, status)
        call expect_success(status, "prepare")
        if (num_ranks > 1) then
            sentence = world%last_peer_error(failed)
            call expect(failed == 0 .or. failed == 1, "all are told of the lowest rank that failed")
            call expect(index(sentence, "items have columns of 3 values, but slots of 2") == 1, &
                "its last error is told: " // sentence)
        end if
        call expect(all(ghosts == real(value_of(needed), real64)), "all slots are right after a fault")
        call halo%prepare(0, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "items of 0 bytes: an item has at least 1 byte")
        is_complete = .true.
        call halo%test(is_complete, status)
        call expect(status == CROSSDOCK_INVALID_STATE, "nothing is active")
        call expect(is_complete, "a test that fails leaves what it was to fill")
        call halo%free()
    end subroutine
end program

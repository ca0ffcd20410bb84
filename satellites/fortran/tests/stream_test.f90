! Streams: items of several types, handlers that push and fail, workers, keys, sources, priorities, back-pressure, causes,
! and what fails.
module handlers
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int8, int64, real64
    use crossdock
    implicit none

    !> What has come, byte by byte.
    type :: inbox
        integer :: item_bytes = 0
        integer(int8), allocatable :: bytes(:)
    end type

    type, bind(C) :: particle
        real(c_double) :: mass
        integer(c_int) :: cell
    end type

    type, bind(C) :: entry
        integer(c_int64_t) :: key, sum
    end type

    type :: source_check
        integer :: num_right = 0, before = -1, behind = -1
    end type

contains

    function ignore(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        fault = merge(0, 1, num_items > 0 .and. c_associated(port) .and. c_associated(items) .and. &
            .not. c_associated(user))
    end function

    function add_up(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        integer(int64), pointer :: sum_here, numbers(:)
        call c_f_pointer(user, sum_here)
        call c_f_pointer(items, numbers, [num_items])
        sum_here = sum_here + sum(numbers)
        fault = merge(0, 1, c_associated(port))
    end function

    function add_up_by_worker(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        integer(int64), pointer :: sums(:), numbers(:)
        type(crossdock_stream_port) :: here
        integer :: rank, worker
        here = crossdock_stream_port(port)
        call here%id(rank, worker, fault)
        if (fault /= CROSSDOCK_SUCCESS) return
        call c_f_pointer(user, sums, [2])
        call c_f_pointer(items, numbers, [num_items])
        sums(worker + 1) = sums(worker + 1) + sum(numbers)
    end function

    function keep(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        type(inbox), pointer :: came
        integer(int8), pointer :: bytes(:)
        call c_f_pointer(user, came)
        call c_f_pointer(items, bytes, [num_items * came%item_bytes])
        came%bytes = [came%bytes, bytes]
        fault = merge(0, 1, c_associated(port))
    end function

    ! The item says how many more times it is to be passed on.
    function pass_on(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        integer(int64), pointer :: next_and_handled(:), left(:)
        type(crossdock_stream_port) :: here
        integer :: i
        call c_f_pointer(user, next_and_handled, [2])
        call c_f_pointer(items, left, [num_items])
        here = crossdock_stream_port(port)
        next_and_handled(2) = next_and_handled(2) + num_items
        fault = CROSSDOCK_SUCCESS
        do i = 1, size(left)
            if (left(i) > 0) call here%push(int(next_and_handled(1)), left(i) - 1, fault)
            if (fault /= CROSSDOCK_SUCCESS) return
        end do
    end function

    function fail_on_5(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        integer(int64), pointer :: numbers(:)
        call c_f_pointer(items, numbers, [num_items])
        fault = merge(42, 0, any(numbers == 5) .and. c_associated(port) .and. .not. c_associated(user))
    end function

    function check_sources(user, port, items, num_items) bind(C) result(fault)
        type(c_ptr), value :: user, port, items
        integer(c_int64_t), value :: num_items
        integer(c_int) :: fault
        type(source_check), pointer :: check
        integer, pointer :: pushed_by(:)
        type(crossdock_stream_port) :: here
        integer :: rank, worker
        integer(int64) :: i
        call c_f_pointer(user, check)
        call c_f_pointer(items, pushed_by, [num_items])
        here = crossdock_stream_port(port)
        do i = 0, num_items - 1
            call here%source(i, rank, worker, fault)
            if (fault /= CROSSDOCK_SUCCESS) return
            if (rank == pushed_by(i + 1) .and. worker == 0) check%num_right = check%num_right + 1
        end do
        call here%source(-1_int64, rank, worker, check%before)
        call here%source(num_items, rank, worker, check%behind)
    end function

    function key_of(user, item) bind(C) result(key)
        type(c_ptr), value :: user, item
        integer(c_int64_t) :: key
        type(entry), pointer :: found
        call c_f_pointer(item, found)
        key = merge(found%key, -1_int64, c_associated(user))
    end function

    subroutine add_sums(user, into, value) bind(C)
        type(c_ptr), value :: user, into, value
        type(entry), pointer :: waiting, pushed
        if (.not. c_associated(user)) return
        call c_f_pointer(into, waiting)
        call c_f_pointer(value, pushed)
        waiting%sum = waiting%sum + pushed%sum
    end subroutine
end module

program stream_test
    use, intrinsic :: iso_fortran_env, only: real32
    use checks
    use handlers
    implicit none

    type(crossdock_context) :: world
    type(crossdock_stream) :: stream
    type(crossdock_stream_port) :: port
    type(crossdock_stream_counts) :: counts
    integer :: status, rank, num_ranks, next, previous, to, i, thread_support

    call set_up(world, rank, num_ranks)
    call MPI_Query_thread(thread_support)
    next = modulo(rank + 1, num_ranks)
    previous = modulo(rank - 1, num_ranks)

    call each_item_once()
    call numbers_and_columns()
    call derived_types()
    call handlers_that_push()
    call two_workers()
    call keys()
    call sources("pp")
    call priorities()
    call back_pressure()
    call causes()
    call options()
    call a_handler_that_fails()
    call faults()
    call nothing()
    call finish(world)

contains

    subroutine expect_made(what)
        character(*), intent(in) :: what
        call expect_success(status, what)
        call stream%get_port(port, status)
        call expect_success(status, "the port of " // what)
    end subroutine

    subroutine drain()
        call port%start_drain(status)
        call expect_success(status, "start_drain")
        call port%wait_drain(status)
        call expect_success(status, "wait_drain")
    end subroutine

    subroutine close()
        call stream%close(status)
        call expect_success(status, "close the stream")
        call stream%free()
    end subroutine

    subroutine expect_counts(cause, number, what)
        integer, intent(in) :: cause, number
        character(*), intent(in) :: what
        call stream%statistics(counts, status)
        call expect_success(status, "statistics")
        call expect(counts%messages_by_cause(cause) == number, what)
    end subroutine

    subroutine each_item_once()
        integer(int64), target :: total
        integer(int64) :: item
        integer :: phase
        total = 0
        call stream%create(world, 8, add_up, status, user=c_loc(total), buffer_items=8_int64)
        call expect_made("a stream")
        call expect(stream%scheme() == "ww", "a worker has a buffer for each worker")
        do phase = 1, 3
            do to = 0, num_ranks - 1
                do item = 1, 20
                    call port%push(to, 1000 * rank + item, status)
                end do
            end do
            call drain()
            call expect(total == phase * (20 * 1000 * num_ranks * (num_ranks - 1) / 2 + 210 * num_ranks), &
                "all items of phase " // text(phase) // " are added")
        end do
        call stream%statistics(counts, status)
        call expect_success(status, "statistics")
        call expect(counts%items == 60 * num_ranks .and. counts%handled == 60 * num_ranks, "pushed and handled are equal")
        call expect(sum(counts%messages_by_cause) == counts%messages, "each buffer left for one cause")
        counts%items = -1
        call port%statistics(counts, status)
        call expect(counts%items == 60 * num_ranks, "the one port has pushed all")
        call close()
    end subroutine

    ! Each rank pushes three numbers to the next rank; columns; and a row, which is not contiguous and travels all the same.
    subroutine numbers_and_columns()
        type(inbox), target :: came
        real(real64) :: columns(3, 2)
        logical :: is_pushed
        columns = reshape([1, 2, 3, 4, 5, 6], [3, 2]) + 0.5_real64 * rank

        call begin(came, 8)
        is_pushed = .false.
        call port%try_push(next, 0.1_real64 + rank, is_pushed, status)
        call expect_success(status, "try_push")
        call expect(is_pushed, "there is room for real64")
        call port%push(next, huge(0_int64) - rank, status)
        call port%push(next, cmplx(1, rank, real32), status)
        call drain()
        call expect(all(transfer(came%bytes, [0_int64]) == [transfer(0.1_real64 + previous, 0_int64), &
            huge(0_int64) - previous, transfer(cmplx(1, previous, real32), 0_int64)]), &
            "items of real64, int64 and complex of real32")
        call close()

        call begin(came, 24)
        call port%push(next, columns(:, 2), status)
        call drain()
        call expect(all(transfer(came%bytes, [0.0_real64]) == [4, 5, 6] + 0.5_real64 * previous), "an item that is a column")
        call close()

        call begin(came, 16)
        call port%push(next, columns(2, :), status)
        call drain()
        call expect(all(transfer(came%bytes, [0.0_real64]) == [2, 5] + 0.5_real64 * previous), "an item that is a row")
        call close()
    end subroutine

    subroutine begin(came, item_bytes)
        type(inbox), target, intent(inout) :: came
        integer, intent(in) :: item_bytes
        came%item_bytes = item_bytes
        came%bytes = [integer(int8) ::]
        call stream%create(world, item_bytes, keep, status, user=c_loc(came), ordered=.true.)
        call expect_made("a stream of " // text(item_bytes) // " bytes")
    end subroutine

    subroutine derived_types()
        type(inbox), target :: came
        type(particle), target :: pushed
        type(particle) :: expected(2), found(2)
        logical :: is_pushed
        call begin(came, int(c_sizeof(pushed)))
        pushed = particle(0.5_real64 + rank, rank)
        call port%push(next, c_loc(pushed), status)
        call expect_success(status, "a particle")
        ! A push takes a copy.
        pushed%cell = -rank
        is_pushed = .false.
        call port%try_push(next, c_loc(pushed), is_pushed, status)
        call expect(is_pushed, "there is room for a particle")
        call drain()
        expected = [particle(0.5_real64 + previous, previous), particle(0.5_real64 + previous, -previous)]
        call expect(size(came%bytes) == 32, "two particles came")
        found = transfer(came%bytes, found)
        call expect(all(found%mass == expected%mass) .and. all(found%cell == expected%cell), "particles")
        call close()
    end subroutine

    subroutine handlers_that_push()
        integer(int64), target :: next_and_handled(2)
        next_and_handled = [next, 0]
        call stream%create(world, 8, pass_on, status, user=c_loc(next_and_handled))
        call expect_made("a stream whose handler pushes")
        call port%push(rank, 3_int64 * num_ranks - 1, status)
        call drain()
        call expect(next_and_handled(2) == 3 * num_ranks, "each item has made three rounds")
        call close()
    end subroutine

    ! One thread works for both.
    subroutine two_workers()
        type(crossdock_stream_port) :: ports(0:1)
        integer(int64), target :: sums(2)
        integer(int64) :: num_handled
        integer :: worker, found_rank, found_worker
        logical :: are_at_rest(0:1)
        if (thread_support < MPI_THREAD_FUNNELED) return
        sums = 0
        call stream%create(world, 8, add_up_by_worker, status, user=c_loc(sums), workers=2, scheme="wps")
        call expect_success(status, "a stream of two workers")
        call expect(stream%scheme() == "wps", "the scheme is the one that was given")
        do worker = 0, 1
            call stream%get_port(ports(worker), status, worker=worker)
            call expect_success(status, "the port of worker " // text(worker))
            call ports(worker)%id(found_rank, found_worker, status)
            call expect(found_rank == rank .and. found_worker == worker, "a port knows whose it is")
        end do
        do to = 0, num_ranks - 1
            do worker = 0, 1
                call ports(0)%push(to, int(10 * rank + 100 * worker, int64), status, worker=worker)
                call ports(1)%push(to, int(10 * rank + 100 * worker + 1, int64), status, worker)
                call expect_success(status, "push to a worker")
            end do
        end do
        num_handled = -1
        call ports(0)%progress(status, num_handled)
        call expect_success(status, "progress")
        call expect(num_handled >= 0, "progress counts")
        do worker = 0, 1
            call ports(worker)%start_drain(status)
        end do
        are_at_rest = .false.
        do while (.not. all(are_at_rest))
            do worker = 0, 1
                if (.not. are_at_rest(worker)) call ports(worker)%test_drain(are_at_rest(worker), status)
                if (status /= CROSSDOCK_SUCCESS) exit
            end do
            if (status /= CROSSDOCK_SUCCESS) exit
        end do
        call expect_success(status, "test_drain")
        call expect(sums(1) == 10 * num_ranks * (num_ranks - 1) + num_ranks, "the sum of the first worker")
        call expect(sums(2) == sums(1) + 200 * num_ranks, "the sum of the second worker")
        call ports(1)%statistics(counts, status)
        call expect(counts%items == 2 * num_ranks .and. counts%handled == 2 * num_ranks, "statistics of the second port")
        call close()
    end subroutine

    subroutine keys()
        type(inbox), target :: came
        type(entry), target :: item
        type(entry), allocatable :: found(:)
        integer :: key
        came%bytes = [integer(int8) ::]
        came%item_bytes = 16
        call stream%create(world, 16, keep, status, user=c_loc(came), key=key_of, combine=add_sums, flush_on_idle=.false.)
        call expect_made("a stream of items that combine")
        do i = 0, 299
            item = entry(modulo(i, 3) + 1, i)
            call port%push(0, c_loc(item), status)
        end do
        call drain()
        allocate (found(size(came%bytes) / 16))
        found = transfer(came%bytes, found)
        do key = 1, 3
            call expect(sum(found%sum, found%key == key) == merge(num_ranks * (14750 + 100 * key), 0, rank == 0), &
                "the sum of key " // text(key))
        end do
        call stream%statistics(counts, status)
        call expect(counts%items == 300 .and. counts%combined >= 297, "one item of each key leaves")
        call close()
    end subroutine

    subroutine sources(scheme)
        character(*), intent(in) :: scheme
        type(source_check), target :: check
        integer :: found_rank, found_worker
        call stream%create(world, 4, check_sources, status, user=c_loc(check), with_source=.true., scheme=scheme)
        call expect_made("a stream with sources")
        do to = 0, num_ranks - 1
            do i = 1, 20
                call port%push(to, rank, status)
            end do
        end do
        call drain()
        call expect(check%num_right == 20 * num_ranks, "each item is of who pushed it in " // scheme)
        call expect(check%before == CROSSDOCK_INDEX_OUT_OF_RANGE, "there is no item before the first")
        call expect(check%behind == CROSSDOCK_INDEX_OUT_OF_RANGE, "there is no item behind the last")
        found_rank = 7
        found_worker = 8
        call port%source(0_int64, found_rank, found_worker, status)
        call expect_error(status, CROSSDOCK_INVALID_STATE, "no batch is at hand")
        call expect(found_rank == 7 .and. found_worker == 8, "what fails leaves what it was to fill")
        call close()
    end subroutine

    subroutine priorities()
        type(inbox), target :: came
        integer :: order(4)
        came%item_bytes = 4
        came%bytes = [integer(int8) ::]
        call stream%create(world, 4, keep, status, user=c_loc(came), priorities=2)
        call expect_made("a stream of two priorities")
        do i = 0, 2
            call port%push(rank, i, status)
        end do
        call port%push_urgent(rank, 100, status)
        call expect_success(status, "push_urgent")
        call drain()
        order = -1
        if (size(came%bytes) == 16) order = transfer(came%bytes, order)
        call expect(all(order == [100, 0, 1, 2]), "the urgent item is handled first")
        call expect_counts(CROSSDOCK_FLUSH_URGENT, 1, "one buffer was urgent")
        call close()

    end subroutine

    ! To itself, so that nobody takes what it pushed: two buffers of 8 items, then there is no room.
    subroutine back_pressure()
        integer(int64), target :: total
        integer(int64) :: num_handled
        integer :: num_pushed
        logical :: is_pushed
        total = 0
        call stream%create(world, 8, add_up, status, user=c_loc(total), buffer_items=8_int64, max_buffers=2, &
            pressure=CROSSDOCK_PRESSURE_FAIL)
        call expect_made("a stream of two buffers")
        num_pushed = 0
        is_pushed = .true.
        do while (is_pushed)
            call port%try_push(rank, 1_int64, is_pushed, status)
            call expect_success(status, "try_push")
            if (is_pushed) num_pushed = num_pushed + 1
            if (status /= CROSSDOCK_SUCCESS .or. num_pushed > 16) exit
        end do
        call expect(num_pushed == 16, "there is room for two buffers")
        call port%push(rank, 1_int64, status)
        call expect(status == CROSSDOCK_INVALID_STATE, "a push without room fails")
        call port%progress(status, num_handled)
        call expect_success(status, "progress")
        call expect(num_handled == 16, "progress handles both buffers")
        call drain()
        call expect(total == 16, "all that were pushed are added")
        call close()
    end subroutine

    subroutine causes()
        integer(int64), target :: total
        logical :: is_at_rest
        total = 0
        call stream%create(world, 8, add_up, status, user=c_loc(total), buffer_items=8_int64, flush_on_idle=.false.)
        call expect_made("a stream that waits for full buffers")
        call port%push(rank, 5_int64, status)
        call port%flush(status)
        call expect_success(status, "flush")
        call expect_counts(CROSSDOCK_FLUSH_REQUEST, 1, "one buffer left on request")
        call port%push(rank, 5_int64, status)
        call port%flush_to(rank, status)
        call expect_success(status, "flush_to")
        call expect_counts(CROSSDOCK_FLUSH_REQUEST, 2, "another one left on request")
        call port%flush_to(num_ranks, status)
        call expect(status == CROSSDOCK_RANK_OUT_OF_RANGE, "the last rank has no next one to flush to")
        call stream%drive(status)
        call expect_success(status, "drive")
        call port%progress(status)
        call expect_success(status, "progress")
        call expect(total == 10, "what left has come")
        call port%set_buffer_items(rank, 2_int64, status)
        call expect_success(status, "set_buffer_items")
        do i = 1, 6
            call port%push(rank, 5_int64, status)
        end do
        call expect_counts(CROSSDOCK_FLUSH_FULL, 3, "buffers of two items were full")
        call port%set_buffer_items(rank, 9_int64, status)
        call expect(status == CROSSDOCK_INVALID_ARGUMENT, "a buffer has room for 8 items")
        call port%start_drain(status)
        is_at_rest = .false.
        do while (.not. is_at_rest)
            call port%test_drain(is_at_rest, status)
            if (status /= CROSSDOCK_SUCCESS) exit
        end do
        call expect_success(status, "test_drain")
        call expect(total == 40, "all items are added")
        call close()
    end subroutine

    subroutine options()
        integer(int64), target :: total
        total = 0
        call stream%create(world, 8, add_up, status, user=c_loc(total), route="hypercube", shared_memory=.false., &
            max_age_seconds=0.001_real64, pressure=CROSSDOCK_PRESSURE_BLOCK, latency_sample_interval=1_int64, &
            progress_thread=thread_support >= MPI_THREAD_SERIALIZED, &
            communication_thread=thread_support >= MPI_THREAD_SERIALIZED)
        call expect_made("a stream with options")
        do to = 0, num_ranks - 1
            call port%push(to, int(rank, int64), status)
        end do
        call drain()
        call expect(total == num_ranks * (num_ranks - 1) / 2, "an item of each rank")
        call stream%statistics(counts, status)
        call expect(counts%mpi_messages > 0 .neqv. num_ranks == 1, "without shared memory there are messages")
        call expect(counts%latency_samples > 0 .and. counts%latency_max_seconds >= counts%latency_median_seconds, &
            "times were taken")
        call close()
    end subroutine

    subroutine a_handler_that_fails()
        integer :: failing
        failing = num_ranks - 1
        call stream%create(world, 8, fail_on_5, status)
        call expect_made("a stream whose handler fails")
        if (rank == 0) call port%push(failing, 5_int64, status)
        call port%start_drain(status)
        call expect_success(status, "start_drain")
        call port%wait_drain(status)
        call expect(status == CROSSDOCK_HANDLER_FAILED, "all ranks hear that a handler has failed")
        if (rank == failing) call expect(crossdock_last_error() == "the handler of worker 0 of rank " // &
            text(failing) // " has returned 42", "the sentence names the handler")
        call port%push(0, 1_int64, status)
        call expect(status == CROSSDOCK_HANDLER_FAILED, "nothing is pushed any more")
        call close()
    end subroutine

    ! Of a port each rank hears its own.
    subroutine faults()
        logical :: is_pushed
        integer(int64), target :: item
        type(crossdock_stream_port) :: none
        item = 0
        call stream%create(world, 8, ignore, status)
        call expect_made("a stream")
        call port%push(rank, 1, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "an item has 4 bytes, but items of the stream have 8")
        is_pushed = .true.
        call port%try_push(rank, [1.0_real64, 2.0_real64, 3.0_real64], is_pushed, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "an item has 24 bytes, but items of the stream have 8")
        call expect(is_pushed, "a push that fails leaves what it was to fill")
        call port%push(-1, 1_int64, status)
        call expect(status == CROSSDOCK_RANK_OUT_OF_RANGE, "there is no rank -1")
        call port%push(rank, item, status, worker=1)
        call expect(status == CROSSDOCK_RANK_OUT_OF_RANGE, "there is no second worker")
        call port%push(rank, c_null_ptr, status)
        call expect_null(status, "item")
        call stream%get_port(none, status, worker=1)
        call expect(status == CROSSDOCK_INDEX_OUT_OF_RANGE, "nor has it a port")
        call none%push(rank, item, status)
        call expect_null(status, "port")
        call drain()
        call stream%statistics(counts, status)
        call expect(counts%items == 0, "nothing was pushed")
        call close()
    end subroutine

    ! Of a stream and a port that nobody made.
    subroutine nothing()
        type(crossdock_context) :: no_context
        type(crossdock_stream) :: none
        type(crossdock_stream_port) :: no_port
        call none%create(no_context, 8, ignore, status)
        call expect_null(status, "context")
        call none%create(world, 8, ignore, status, route="nowhere")
        call expect(status == CROSSDOCK_UNKNOWN_ROUTE, "there is no such route")
        call expect(none%scheme() == "", "there is no stream")
        call none%get_port(no_port, status)
        call expect_null(status, "stream")
        call no_port%flush(status)
        call expect_null(status, "port")
    end subroutine
end program

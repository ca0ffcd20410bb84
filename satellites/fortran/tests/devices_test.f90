! Arrays in memory of a device, here of the mock, are exchanged as those of the host; errors reach MPI's error handlers.
module device_callbacks
    use mpi_f08
    implicit none

    integer :: num_told(2) = 0   ! of errors, on MPI_COMM_SELF and on MPI_COMM_WORLD

contains

    subroutine count_error(comm, code)
        type(MPI_Comm) :: comm
        integer :: code
        integer :: which
        if (code == MPI_SUCCESS) error stop
        which = merge(2, 1, comm == MPI_COMM_WORLD)
        num_told(which) = num_told(which) + 1
    end subroutine
end module

program devices_test
    use, intrinsic :: iso_c_binding, only: c_associated, c_intptr_t, c_loc, c_null_ptr, c_ptr
    use, intrinsic :: iso_fortran_env, only: int32, real64
    use checks
    use crossdock_devices
    use device_callbacks
    implicit none

    integer, parameter :: num_owned = 40
    type(crossdock_context) :: world
    type(crossdock_device) :: device
    type(MPI_Errhandler) :: counting
    integer :: status, rank, num_ranks, next, last, sum_of_ranks

    call set_up(world, rank, num_ranks)
    next = modulo(rank + 1, num_ranks)
    last = modulo(rank - 1, num_ranks)
    sum_of_ranks = num_ranks * (num_ranks - 1) / 2
    call MPI_Comm_create_errhandler(count_error, counting)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, counting)
    call device%open(status, name="no_such")
    call expect_told(1, CROSSDOCK_INVALID_ARGUMENT, "there is no device 'no_such'")
    call expect(device%description() == "", "there is no device")
    call expect_told(1, CROSSDOCK_INVALID_ARGUMENT, "device is a null pointer")
    call device%open(status)
    call expect_success(status, "open")
    call expect(index(device%description(), "mock of seed 1,") == 1, "it is the mock")

    call neighbors()
    call copies_of_ids()
    call messages()
    call device%free()
    call MPI_Errhandler_free(counting)
    call finish(world)

contains

    ! The last call has failed, and one error handler has heard of it, of MPI_COMM_SELF or of the context.
    subroutine expect_told(which, code, sentence)
        integer, intent(in) :: which, code
        character(*), intent(in) :: sentence
        if (which == 2) call expect(status == code, "the status is " // crossdock_status_name(code))
        call expect(index(crossdock_last_error(), sentence) == 1, &
            "the sentence is '" // sentence // "', not '" // crossdock_last_error() // "'")
        call expect(num_told(which) == 1 .and. sum(num_told) == 1, "one handler heard of: " // sentence)
        num_told = 0
    end subroutine

    function there(values) result(memory)
        real(real64), target, intent(in) :: values(:)
        type(c_ptr) :: memory
        call device%allocate(8_int64 * size(values), memory, status)
        call expect_success(status, "allocate")
        call device%copy_in(memory, c_loc(values), 8_int64 * size(values), status)
        call expect_success(status, "copy_in")
    end function

    function found(memory, length) result(values)
        type(c_ptr), intent(in) :: memory
        integer, intent(in) :: length
        real(real64), target :: values(length)
        values = -1
        call device%copy_out(c_loc(values), memory, 8_int64 * length, status)
        call expect_success(status, "copy_out")
    end function

    subroutine give_back(memory)
        type(c_ptr), intent(in) :: memory
        call device%deallocate(memory, status)
        call expect_success(status, "deallocate")
    end subroutine

    ! Ghosts: the first two items of the next rank, and the first one of its own.
    subroutine neighbors()
        type(crossdock_pattern) :: pattern
        type(crossdock_device_neighbor_exchange) :: halo
        real(real64) :: x(num_owned)
        type(c_ptr) :: items, slots
        logical :: is_complete
        integer :: i
        call pattern%from_needed(world, int(rank * num_owned, int64), int(num_owned, int64), &
            [integer(int64) :: next * num_owned, next * num_owned + 1, rank * num_owned], status)
        call expect_success(status, "a pattern")
        call halo%create(world, pattern, status, device, path="fast")
        call expect_told(2, CROSSDOCK_INVALID_ARGUMENT, "there is no path 'fast'")
        call halo%create(world, pattern, status, route="detour")
        call expect_told(2, CROSSDOCK_UNKNOWN_ROUTE, "")
        call halo%create(world, pattern, status, device, path="staged", route="direct", deduplicate=.false., &
            executor="persistent", max_message_bytes=16_int64, item_bytes=8, &
            prepare=CROSSDOCK_PREPARE_FORWARD, reproducible=.true., name="ghosts")
        call expect_success(status, "all options")
        call pattern%free()
        call expect(index(halo%explain(), "device  mock of seed 1,") == 1, "the device is explained")
        call expect(index(halo%explain(), "path    staged: as given") > 0, "the path is explained")

        x = [(100 * rank + i, i=1, num_owned)]
        items = there(x)
        slots = there([0._real64, 0._real64, 0._real64])
        call halo%start(items, slots, MPI_REAL8, status)
        call expect_success(status, "start")
        is_complete = .false.
        do while (.not. is_complete)
            call halo%test(is_complete, status)
            call expect_success(status, "test")
        end do
        call expect(all(found(slots, 3) == [100 * next + 1, 100 * next + 2, 100 * rank + 1]), "ghosts")
        call halo%start_reverse(slots, items, MPI_REAL8, MPI_SUM, status)
        call expect_success(status, "start_reverse")
        call halo%wait(status, c_null_ptr)
        call expect_success(status, "wait")
        x(1) = 3 * x(1)
        x(2) = 2 * x(2)
        call expect(all(found(items, num_owned) == x), "ghosts are added to their items")

        call halo%wait(status)
        call expect_told(2, CROSSDOCK_INVALID_STATE, "no exchange is active")
        call halo%start(items, slots, MPI_DATATYPE_NULL, status)
        call expect_told(2, CROSSDOCK_INVALID_ARGUMENT, "values have 0 bytes")
        call halo%start_reverse(slots, items, MPI_CHARACTER, MPI_SUM, status)
        call expect_told(2, CROSSDOCK_INVALID_ARGUMENT, "a device combines values of")
        call halo%free()
        call halo%wait(status)
        call expect_told(1, CROSSDOCK_INVALID_ARGUMENT, "exchange is a null pointer")
        call give_back(items)
        call give_back(slots)
    end subroutine

    subroutine copies_of_ids()
        type(crossdock_device_gather_scatter) :: shared
        type(c_ptr) :: values
        logical :: is_complete
        call shared%create(world, [integer(int64) :: 7, 8, 100 + rank, -7], status, device, method="owners", &
            route="direct", unique=.false., deduplicate=.true., executor="persistent", max_message_bytes=16_int64, &
            item_bytes=16, reproducible=.true., name="ids")
        call expect_success(status, "all options")
        values = there([real(real64) :: 1, 2, 10 + rank, 20, 5, 6, 30, 40])
        call shared%start(values, 2, MPI_DOUBLE_PRECISION, MPI_SUM, status)
        call expect_success(status, "start")
        is_complete = .false.
        do while (.not. is_complete)
            call shared%test(is_complete, status)
            call expect_success(status, "test")
        end do
        call expect(all(found(values, 8) == [num_ranks, 2 * num_ranks, 10 * num_ranks + sum_of_ranks, &
            20 * num_ranks, 5, 6, num_ranks, 2 * num_ranks]), "sums of values that are not flagged")
        call give_back(values)
        values = there([real(real64) :: rank, 2, 3, 40 + rank])
        call shared%start(values, 1, MPI_REAL8, MPI_MAX, status, transposed=.true.)
        call shared%wait(status)
        call expect_success(status, "wait")
        call expect(all(found(values, 4) == [39 + num_ranks, 2, 3, 40 + rank]), "the flagged copies give")
        call shared%start(values, 1, MPI_REAL8, MPI_PROD, status)
        call expect_told(2, CROSSDOCK_INVALID_ARGUMENT, "a device combines by MPI_SUM")
        call shared%free()
        call shared%wait(status)
        call expect_told(1, CROSSDOCK_INVALID_ARGUMENT, "shared is a null pointer")
        call give_back(values)
    end subroutine

    ! Two values for the next rank, and one for this.
    subroutine messages()
        type(crossdock_device_messages) :: came
        real(real64) :: values(3)
        type(c_ptr) :: memory
        integer :: i, j
        memory = there([rank + 0.5_real64, rank + 0.25_real64, -1._real64])
        call crossdock_device_sparse_exchange(world, [next, rank], [2_int64], memory, MPI_REAL8, came, status)
        call expect_told(2, CROSSDOCK_SIZE_MISMATCH, "counts and destinations differ in length")
        do i = 1, 2
            call crossdock_device_sparse_exchange(world, [next, rank], [2_int64, 1_int64], memory, MPI_REAL8, came, &
                status, algorithm="nbx", device=device)
            call expect_success(status, "a sparse exchange")
        end do
        call expect(size(came%sources) == 2 .and. all(came%displacements == [0_int64, came%counts(1)]), "two messages")
        values = found(came%values, 3)
        do i = 1, 2
            j = int(came%displacements(i))
            if (came%counts(i) == 2) then
                call expect(came%sources(i) == last .and. all(values(j + 1:j + 2) == last + [0.5_real64, 0.25_real64]), &
                    "the message of the rank before")
            else
                call expect(came%sources(i) == rank .and. values(j + 1) == -1, "the message of this rank")
            end if
        end do
        call came%free()
        call expect(.not. c_associated(came%values), "the values are freed")
        call crossdock_device_sparse_exchange(world, [integer ::], [integer(int64) ::], c_null_ptr, MPI_REAL8, came, status)
        call expect_success(status, "nothing is sent")
        call expect(size(came%sources) == 0, "nothing came")
        call came%free()
        call give_back(memory)
    end subroutine
end program

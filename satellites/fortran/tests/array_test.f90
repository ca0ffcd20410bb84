! Distributed arrays: reads, writes and updates of all types, columns, steps, own functions, prepared batches, and what
! fails.
module functions
    use, intrinsic :: iso_c_binding
    implicit none

    type, bind(C) :: tally
        integer(c_int64_t) :: times = 0
        real(c_double) :: largest = -1
    end type

contains

    ! `user` is what each value counts.
    subroutine add_tallies(user, into, value) bind(C)
        type(c_ptr), value :: user, into, value
        type(tally), pointer :: both, other
        integer(c_int64_t), pointer :: weight
        call c_f_pointer(user, weight)
        call c_f_pointer(into, both)
        call c_f_pointer(value, other)
        both%times = both%times + weight * other%times
        both%largest = max(both%largest, other%largest)
    end subroutine

    ! `user` is the number to come close to.
    subroutine closest(user, into, value) bind(C)
        type(c_ptr), value :: user, into, value
        integer(c_int), pointer :: number, best, other
        call c_f_pointer(user, number)
        call c_f_pointer(into, best)
        call c_f_pointer(value, other)
        if (abs(other - number) < abs(best - number)) best = other
    end subroutine
end module

program array_test
    use, intrinsic :: iso_fortran_env, only: int32, real32, real64
    use checks
    use functions
    implicit none

    type(crossdock_context) :: world
    integer :: status, rank, num_ranks, i
    integer(int64) :: num_entries
    integer(int64), allocatable :: all_entries(:)

    call set_up(world, rank, num_ranks)
    num_entries = 2 * num_ranks + 1
    all_entries = [(int(i, int64), i=0, 2 * num_ranks)]

    call integers()
    call numbers()
    call columns()
    call parts_of_given_sizes()
    call steps()
    call faults_of_steps()
    call own_functions()
    call own_choice()
    call batches()
    call gather_and_scatter()
    call gather_columns()
    call fetch_and_update()
    call faults_of_batches()
    call faults()
    call nothing()
    deallocate (all_entries)
    call finish(world)

contains

    subroutine integers()
        type(crossdock_distributed_array) :: counts
        integer(int64) :: values(num_entries)
        integer(int64), pointer :: entries(:)
        integer(int64) :: total
        call counts%create(world, num_entries, MPI_INTEGER8, status)
        call expect_success(status, "an array")
        call expect(counts%size() == num_entries, "the array has its entries")
        call expect(counts%owner(0_int64) == 0, "rank 0 owns the first entry")
        call expect(counts%owner(num_entries) == -1, "nobody owns what is behind the last")
        ! Every rank adds its rank to every entry, and 1 to entry 0 once more.
        call counts%update(all_entries, [(int(rank, int64), i=1, size(all_entries))], MPI_SUM, status)
        call expect_success(status, "update")
        call counts%update([0_int64], [1_int64], MPI_SUM, status)
        values = -1
        call counts%read(all_entries, values, status)
        call expect_success(status, "read")
        total = num_ranks * (num_ranks - 1) / 2
        call expect(values(1) == total + num_ranks .and. all(values(2:) == total), "all entries are the sums")
        call counts%write([int(rank, int64)], [-int(rank, int64)], status)
        call expect_success(status, "write")
        call counts%read(all_entries(num_ranks:1:-1), values(:num_ranks), status)
        call expect(all(values(:num_ranks) == -all_entries(num_ranks:1:-1)), "what was written is read in any order")
        call counts%local(entries, status)
        call expect_success(status, "local")
        entries = counts%first_index()
        call MPI_Barrier(MPI_COMM_WORLD)
        call counts%read([counts%first_index()], values(:1), status)
        call expect(values(1) == counts%first_index(), "own entries are read as they were set")
        call expect(counts%route() /= "", "the last batch took a route")
        call counts%close(status)
        call expect_success(status, "close")
        call counts%free()
    end subroutine

    ! Of each type, the largest rank's value stays, or the sum.
    subroutine numbers()
        type(crossdock_distributed_array) :: array
        real(real64) :: d(1)
        real(real32) :: s(1)
        integer(int32) :: i4(1)
        complex(real64) :: z(1)
        integer(int64) :: last(1)
        last = num_entries - 1
        call array%create(world, num_entries, MPI_DOUBLE_PRECISION, status)
        call array%update(last, [real(rank, real64)], MPI_MAX, status)
        call array%read(last, d, status)
        call expect(d(1) == num_ranks - 1, "the maximum of real64")
        call array%free()
        call array%create(world, num_entries, MPI_REAL, status, route="hypercube", combine="hash")
        call array%update(last, [real(rank, real32)], MPI_MAX, status)
        call array%read(last, s, status)
        call expect(s(1) == num_ranks - 1, "the maximum of real32")
        call expect(array%route() == "hypercube", "the route is the one that was given")
        call array%free()
        call array%create(world, num_entries, MPI_REAL, status, route="hypercube", reproducible=.true.)
        call expect(array%route() == "direct", "what is reproducible travels directly")
        call array%free()
        call array%create(world, num_entries, MPI_INTEGER, status, equal_writes=CROSSDOCK_OVERWRITE_MAXIMUM)
        call array%write(last, [rank], status)
        call array%read(last, i4, status)
        call expect(i4(1) == num_ranks - 1, "of integers the largest stays")
        call array%free()
        call array%create(world, num_entries, MPI_DOUBLE_COMPLEX, status, transport=CROSSDOCK_TRANSPORT_PLAIN)
        call array%update(last, [cmplx(1, rank, real64)], MPI_SUM, status)
        call array%read(last, z, status)
        call expect(z(1) == cmplx(num_ranks, num_ranks * (num_ranks - 1) / 2, real64), "the sum of complex of real64")
        call array%free()
    end subroutine

    subroutine columns()
        type(crossdock_distributed_array) :: points
        type(MPI_Datatype) :: point
        real(real64) :: values(3, 2)
        call MPI_Type_contiguous(3, MPI_REAL8, point)
        call MPI_Type_commit(point)
        call points%create(world, num_entries, point, status)
        call points%write([int(rank, int64)], reshape(rank + [0.0_real64, 0.25_real64, 0.5_real64], [3, 1]), status)
        call points%read(int([num_ranks - 1, 0], int64), values, status)
        call expect(all(values(:, 1) == num_ranks - 1 + [0.0_real64, 0.25_real64, 0.5_real64]), "the last rank's column")
        call expect(all(values(:, 2) == [0.0_real64, 0.25_real64, 0.5_real64]), "the first rank's column")
        call points%free()
        call MPI_Type_free(point)
    end subroutine

    ! Rank 0 owns all.
    subroutine parts_of_given_sizes()
        type(crossdock_distributed_array) :: array
        integer, pointer :: entries(:)
        call array%create(world, num_entries, MPI_INTEGER, status, num_local=merge(num_entries, 0_int64, rank == 0))
        call array%local(entries, status)
        call expect(size(entries) == merge(int(num_entries), 0, rank == 0), "rank 0 owns all")
        call array%free()
    end subroutine

    ! Of rank 0 only updates.
    subroutine steps()
        type(crossdock_distributed_array) :: array
        type(crossdock_array_requests) :: writes, reads, none
        type(crossdock_array_counts) :: counts
        integer(int64), target :: written(1), added(2), values(3)
        integer(int64) :: last
        last = num_entries - 1
        call array%create(world, num_entries, MPI_INTEGER8, status)
        written = 10 * rank
        added = [1, 2]
        values = -1
        writes = crossdock_array_requests([int(rank, int64)], written)
        reads = crossdock_array_requests([last, int(num_ranks - 1, int64), last], values)
        if (rank == 0) then
            writes = none
            reads = none
        end if
        call array%step(status, writes=writes, updates=crossdock_array_requests([last, last], added), &
            operation=MPI_SUM, reads=reads)
        call expect_success(status, "step")
        if (rank == 0) then
            call expect(all(values == -1), "rank 0 reads nothing")
        else
            call expect(all(values == [3 * num_ranks, 10 * (num_ranks - 1), 3 * num_ranks]), &
                "a step reads what it has written and updated")
        end if
        call array%statistics(counts, status)
        call expect_success(status, "statistics")
        call expect(counts%requests == merge(2, 6, rank == 0), "requests of all kinds are counted")

        written = 77
        call array%step(status, writes=crossdock_array_requests([last], written))
        call array%step(status, reads=crossdock_array_requests([last], values(2:2)))
        call expect(values(2) == 77, "a step only writes, and a step only reads")
        call array%step(status)
        call expect_success(status, "a step of nothing")
        call array%free()
    end subroutine

    ! All ranks hear of the last rank's fault.
    subroutine faults_of_steps()
        type(crossdock_distributed_array) :: array
        integer(int64), target :: values(3)
        logical :: is_last
        is_last = rank == num_ranks - 1
        values = 1
        call array%create(world, num_entries, MPI_INTEGER8, status)
        call array%step(status, writes=crossdock_array_requests(all_entries(:merge(2, 3, is_last)), values))
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 2 indices, but 3 values")
        if (is_last) then
            call array%step(status, reads=crossdock_array_requests(all_entries(:2), values(::2)))
        else
            call array%step(status, reads=crossdock_array_requests(all_entries(:2), values(:2)))
        end if
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values is not contiguous")
        call array%step(status, updates=crossdock_array_requests(all_entries(:3), values))
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "operation is MPI_OP_NULL")
        if (num_ranks > 1) then
            call array%step(status, operation=merge(MPI_SUM, MPI_OP_NULL, is_last))
            call expect(status == CROSSDOCK_INVALID_ARGUMENT, "all ranks update, or none")
        end if
        call array%read(all_entries(:3), values, status)
        call expect(all(values == 0), "no entry has changed")
        call array%free()
    end subroutine

    ! Entries of a type of the program's own, given by address.
    subroutine own_functions()
        type(crossdock_distributed_array) :: array
        type(MPI_Datatype) :: bytes
        type(tally), target :: given(2), found(2)
        type(tally), pointer :: own(:)
        integer(int64), target :: weight
        integer(int64) :: indices(2), num_local
        type(c_ptr) :: entries
        call MPI_Type_contiguous(int(c_sizeof(given(1))), MPI_BYTE, bytes)
        call MPI_Type_commit(bytes)
        call array%create(world, num_entries, bytes, status)
        indices = [num_entries - 1, 0_int64]
        weight = 1
        given = [tally(1, real(rank, real64)), tally(2, -real(rank, real64))]
        call array%update_with(indices, c_loc(given), add_tallies, status, user=c_loc(weight))
        call expect_success(status, "update_with")
        call array%read(indices, c_loc(found), status)
        call expect(all(found%times == [num_ranks, 2 * num_ranks]), "the counts of both entries")
        call expect(all(found%largest == [num_ranks - 1, 0]), "the largest values of both entries")
        given = tally(7, 0.5_real64)
        call array%write(indices, c_loc(given), status)
        call array%local(entries, num_local, status)
        call c_f_pointer(entries, own, [num_local])
        if (array%first_index() == 0) call expect(own(1)%times == 7 .and. own(1)%largest == 0.5_real64, &
            "the first entry was written")
        call array%read(indices, c_null_ptr, status)
        call expect_null(status, "values")
        call array%free()
        call MPI_Type_free(bytes)
    end subroutine

    subroutine own_choice()
        type(crossdock_distributed_array) :: array
        integer, target :: number
        integer :: values(1)
        number = 1
        call array%create(world, num_entries, MPI_INTEGER, status, equal_writes=CROSSDOCK_OVERWRITE_USER, &
            choose=closest, user=c_loc(number))
        call array%read([0_int64], values, status)
        call expect(values(1) == 0, "the closest to 1 stays")
        call array%free()
    end subroutine

    subroutine batches()
        type(crossdock_distributed_array) :: array
        type(crossdock_prepared_batch) :: batch
        type(crossdock_plan) :: plan
        real(real64), asynchronous :: values(2), few(1), pair(2, 2)
        integer(int64) :: indices(2)
        logical :: is_complete
        indices = [int(rank, int64), num_entries - 1]
        call array%create(world, num_entries, MPI_REAL8, status)
        call array%prepare(indices, batch, status)
        call expect_success(status, "prepare")
        values = [1, 2]
        call batch%start_update(values, MPI_SUM, status)
        call expect_success(status, "start_update")
        call batch%wait(status)
        call expect_success(status, "wait")
        values = -1
        call batch%start_read(values, status)
        is_complete = .false.
        do while (.not. is_complete)
            call batch%test(is_complete, status)
            if (status /= CROSSDOCK_SUCCESS) exit
        end do
        call expect_success(status, "test")
        call expect(all(values == [1, 2 * num_ranks]), "what a batch added a batch reads")
        call batch%update([1.0_real64, 0.5_real64], MPI_SUM, status)
        call batch%read(values, status)
        call expect(all(values == [2.0_real64, 2.5_real64 * num_ranks]), "an update and a read that block")
        call batch%plan(plan, status)
        call expect_success(status, "plan")
        call expect(plan%num_stages() > 0, "a batch has a plan")
        call plan%free()
        call batch%start_read(few, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 2 indices, but 1 values")
        call batch%start_update(pair, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "values have 16 bytes, but entries of the array 8")
        call batch%free()
        call array%free()
        call batch%wait(status)
        call expect_null(status, "batch")
    end subroutine

    ! Each rank asks for the first entry, the last one and the first again.
    subroutine gather_and_scatter()
        type(crossdock_distributed_array) :: array
        type(crossdock_prepared_batch) :: batch
        integer(int64) :: indices(3), values(3), back(3), first
        integer(int64), pointer :: own(:)
        integer(int64), allocatable :: offsets(:), gathered(:), expected_offsets(:), expected(:)
        integer :: r
        indices = [0_int64, num_entries - 1, 0_int64]
        values = 100 * rank + [1, 2, 3]
        call array%create(world, num_entries, MPI_INTEGER8, status)
        call array%prepare(indices, batch, status)
        call batch%gather(values, offsets, gathered, status)
        call expect_success(status, "gather")
        call array%local(own, status)
        first = array%first_index()
        expected = [integer(int64) ::]
        expected_offsets = [0_int64]
        do i = int(first), int(first) + size(own) - 1
            do r = 0, num_ranks - 1
                if (i == 0) expected = [expected, 100_int64 * r + 1, 100_int64 * r + 3]
                if (i == num_entries - 1) expected = [expected, 100_int64 * r + 2]
            end do
            expected_offsets = [expected_offsets, size(expected, kind=int64)]
        end do
        call expect(size(offsets) == size(own) + 1, "an offset for each entry, and the end")
        call expect(all(offsets == expected_offsets), "offsets")
        call expect(size(gathered) == size(expected), "as many values as were asked for come to an owner")
        call expect(all(gathered == expected), "values by entry, by rank, and in the rank's order")
        back = -1
        call batch%scatter(gathered + 1, back, status)
        call expect_success(status, "scatter")
        call expect(all(back == values + 1), "each request has its value back")
        call batch%free()
        call array%free()
    end subroutine

    subroutine gather_columns()
        type(crossdock_distributed_array) :: points
        type(crossdock_prepared_batch) :: batch
        type(MPI_Datatype) :: point
        real(real64) :: values(3, 1), back(3, 1)
        real(real64), allocatable :: gathered(:, :)
        integer(int64), allocatable :: offsets(:)
        call MPI_Type_contiguous(3, MPI_REAL8, point)
        call MPI_Type_commit(point)
        call points%create(world, num_entries, point, status)
        call points%prepare([0_int64], batch, status)
        values(:, 1) = rank + [0.0_real64, 0.25_real64, 0.5_real64]
        call batch%gather(values, offsets, gathered, status)
        call expect_success(status, "gather columns")
        call expect(all(shape(gathered) == [3, merge(num_ranks, 0, rank == 0)]), "rank 0 has all columns")
        do i = 1, size(gathered, 2)
            call expect(all(gathered(:, i) == i - 1 + [0.0_real64, 0.25_real64, 0.5_real64]), "column " // text(i))
        end do
        back = -1
        call batch%scatter(gathered, back, status)
        call expect(all(back == values), "each rank has its column back")
        call batch%free()
        call points%free()
        call MPI_Type_free(point)
    end subroutine

    subroutine fetch_and_update()
        type(crossdock_distributed_array) :: array
        type(crossdock_prepared_batch) :: batch
        integer :: found(2), entries(1)
        call array%create(world, num_entries, MPI_INTEGER, status)
        call array%prepare([0_int64, 0_int64], batch, status)
        found = -1
        call batch%fetch_and_update([1, 1], found, MPI_SUM, status)
        call expect_success(status, "fetch_and_update")
        call expect(all(found == 2 * rank + [0, 1]), "each request found what those before had made")
        call array%read([0_int64], entries, status)
        call expect(entries(1) == 2 * num_ranks, "all took effect")
        call batch%free()
        call array%free()
    end subroutine

    ! All ranks hear of the last rank's fault.
    subroutine faults_of_batches()
        type(crossdock_distributed_array) :: array
        type(crossdock_prepared_batch) :: batch
        integer(int64) :: values(2), found(2)
        integer(int64), allocatable :: offsets(:), gathered(:), wrong(:)
        integer :: length
        logical :: is_last
        is_last = rank == num_ranks - 1
        length = merge(1, 2, is_last)
        values = 1
        found = -1
        call array%create(world, num_entries, MPI_INTEGER8, status)
        call array%prepare([int(rank, int64), num_entries - 1], batch, status)
        call batch%gather(values(:length), offsets, gathered, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 2 indices, but 1 values")
        call expect(.not. allocated(offsets) .and. .not. allocated(gathered), "nothing is gathered")
        call batch%fetch_and_update(values(:length), found, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 2 indices, but 1 values")
        call batch%gather(values, offsets, gathered, status)
        call expect_success(status, "gather")
        wrong = gathered
        if (is_last) wrong = [gathered, 7_int64]
        call batch%scatter(wrong, found, status)
        length = size(gathered)
        call MPI_Bcast(length, 1, MPI_INTEGER, num_ranks - 1, MPI_COMM_WORLD)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are " // text(length) // &
            " requests for this rank's entries, but " // text(length + 1) // " values")
        call expect(all(found == -1), "nothing has come")
        call array%read([num_entries - 1], values(:1), status)
        call expect(values(1) == 0, "no entry has changed")
        call batch%free()
        call array%free()
    end subroutine

    ! Of an array and a batch that nobody made.
    subroutine nothing()
        type(crossdock_distributed_array) :: array
        type(crossdock_prepared_batch) :: batch
        integer(int64) :: values(1)
        integer(int64), allocatable :: offsets(:), gathered(:)
        values = 0
        call array%step(status)
        call expect_null(status, "array")
        call array%update_with([0_int64], values, closest, status)
        call expect_null(status, "array")
        call batch%read(values, status)
        call expect_null(status, "batch")
        call batch%gather(values, offsets, gathered, status)
        call expect_null(status, "batch")
    end subroutine

    ! All ranks hear of the last rank's fault.
    subroutine faults()
        type(crossdock_distributed_array) :: array
        integer(int64) :: values(2)
        real(real64) :: wrong(2)
        integer, pointer :: entries(:)
        logical :: is_last
        is_last = rank == num_ranks - 1
        call array%create(world, num_entries, MPI_INTEGER8, status, transport=merge(77, 0, is_last))
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "there is no transport 77")
        call expect(array%size() == -1, "there is no array")
        call array%create(world, num_entries, MPI_INTEGER8, status)
        values = -1
        call array%read(all_entries(:merge(1, 2, is_last)), values, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 1 indices, but 2 values")
        call array%write([merge(num_entries, 0_int64, is_last)], values(:1), status)
        call expect(status == CROSSDOCK_INDEX_OUT_OF_RANGE, "there is no such entry")
        wrong = 1
        call array%update(all_entries(:2), wrong, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values are real64, but entries of the array int64")
        call array%local(entries, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values are int32, but entries of the array int64")
        call array%read(all_entries(:2), values, status)
        call expect(all(values == 0), "no entry has changed")
        call array%free()
        call array%read(all_entries(:2), values, status)
        call expect_null(status, "array")
    end subroutine
end program

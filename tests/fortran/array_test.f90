! Distributed arrays: reads, writes and updates of all types, columns, prepared batches, and what fails.
program array_test
    use, intrinsic :: iso_fortran_env, only: int32, real32, real64
    use checks
    implicit none

    type(crossdock_context) :: world
    integer :: status, rank, num_ranks, i
    integer(int64) :: num_entries
    integer(int64), allocatable :: all_entries(:)

    call MPI_Init()
    call world%create(MPI_COMM_WORLD, status)
    call expect_success(status, "a context")
    rank = world%rank()
    num_ranks = world%num_ranks()
    num_entries = 2 * num_ranks + 1
    all_entries = [(int(i, int64), i=0, 2 * num_ranks)]

    call integers()
    call numbers()
    call columns()
    call parts_of_given_sizes()
    call batches()
    call faults()
    call world%close(status)
    call world%free()
    deallocate (all_entries)
    call finish()

contains

    subroutine integers()
        type(crossdock_array) :: counts
        integer(int64) :: values(num_entries)
        integer(int64), pointer :: entries(:)
        integer(int64) :: total
        call counts%create(world, num_entries, MPI_INTEGER8, status)
        call expect_success(status, "an array")
        call expect(counts%size() == num_entries, "the array has its entries")
        call expect(counts%owner(0_int64) == 0, "rank 0 owns the first entry")
        call expect(counts%owner(num_entries) == -1, "nobody owns what is behind the last")
        call expect(counts%owner(counts%first_index()) == rank .or. num_ranks > num_entries, "each rank owns its first")
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
        type(crossdock_array) :: array
        real(real64) :: d(1)
        real(real32) :: s(1)
        integer(int32) :: i4(1)
        complex(real32) :: c(1)
        complex(real64) :: z(1)
        integer(int64) :: last(1)
        last = num_entries - 1
        call array%create(world, num_entries, MPI_DOUBLE_PRECISION, status)
        call array%update(last, [real(rank, real64)], MPI_MAX, status)
        call array%read(last, d, status)
        call expect_success(status, "real64")
        call expect(d(1) == num_ranks - 1, "the maximum of real64")
        call array%free()
        call array%create(world, num_entries, MPI_REAL, status, route="hypercube", combine="hash")
        call array%update(last, [real(rank, real32)], MPI_MAX, status)
        call array%read(last, s, status)
        call expect(s(1) == num_ranks - 1, "the maximum of real32")
        call expect(array%route() == "hypercube", "the route is the one that was given")
        call array%free()
        call array%create(world, num_entries, MPI_INTEGER, status, equal_writes=CROSSDOCK_OVERWRITE_MAXIMUM)
        call array%write(last, [rank], status)
        call array%read(last, i4, status)
        call expect(i4(1) == num_ranks - 1, "of integers the largest stays")
        call array%free()
        call array%create(world, num_entries, MPI_COMPLEX, status)
        call array%update(last, [cmplx(1, rank, real32)], MPI_SUM, status)
        call array%read(last, c, status)
        call expect(c(1) == cmplx(num_ranks, num_ranks * (num_ranks - 1) / 2, real32), "the sum of complex of real32")
        call array%free()
        call array%create(world, num_entries, MPI_DOUBLE_COMPLEX, status, transport=CROSSDOCK_TRANSPORT_PLAIN)
        call array%update(last, [cmplx(1, rank, real64)], MPI_SUM, status)
        call array%read(last, z, status)
        call expect(z(1) == cmplx(num_ranks, num_ranks * (num_ranks - 1) / 2, real64), "the sum of complex of real64")
        call array%free()
    end subroutine

    subroutine columns()
        type(crossdock_array) :: points
        type(MPI_Datatype) :: point
        real(real64) :: values(3, 2)
        call MPI_Type_contiguous(3, MPI_REAL8, point)
        call MPI_Type_commit(point)
        call points%create(world, num_entries, point, status)
        call points%write([int(rank, int64)], reshape(rank + [0.0_real64, 0.25_real64, 0.5_real64], [3, 1]), status)
        call expect_success(status, "a column is written")
        call points%read(int([num_ranks - 1, 0], int64), values, status)
        call expect_success(status, "columns are read")
        call expect(all(values(:, 1) == num_ranks - 1 + [0.0_real64, 0.25_real64, 0.5_real64]), "the last rank's column")
        call expect(all(values(:, 2) == [0.0_real64, 0.25_real64, 0.5_real64]), "the first rank's column")
        call points%free()
        call MPI_Type_free(point)
    end subroutine

    ! Rank 0 owns all.
    subroutine parts_of_given_sizes()
        type(crossdock_array) :: array
        integer, pointer :: entries(:)
        call array%create(world, num_entries, MPI_INTEGER, status, num_local=merge(num_entries, 0_int64, rank == 0))
        call expect_success(status, "parts of given sizes")
        call array%local(entries, status)
        call expect_success(status, "local entries")
        call expect(size(entries) == merge(int(num_entries), 0, rank == 0), "rank 0 owns all")
        call array%free()
    end subroutine

    subroutine batches()
        type(crossdock_array) :: array
        type(crossdock_array_batch) :: batch
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
        call batch%start_read(few, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 2 indices, but 1 values")
        call batch%start_update(pair, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "values have 16 bytes, entries of the array 8")
        call batch%free()
        call array%free()
        call batch%wait(status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "batch is a null pointer")
    end subroutine

    ! All ranks hear of the last rank's fault.
    subroutine faults()
        type(crossdock_array) :: array
        integer(int64) :: values(2)
        real(real64) :: wrong(2), wrong_columns(2, 2)
        integer, pointer :: entries(:)
        logical :: is_last
        is_last = rank == num_ranks - 1
        call array%create(world, num_entries, MPI_DATATYPE_NULL, status)
        call expect(status == CROSSDOCK_INVALID_ARGUMENT, "MPI_DATATYPE_NULL is no datatype")
        call array%create(world, num_entries, MPI_INTEGER8, status, transport=merge(77, 0, is_last))
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "there is no transport 77")
        call expect(array%size() == -1, "there is no array")
        call array%create(world, num_entries, MPI_INTEGER8, status)
        values = -1
        call array%read(all_entries(:merge(1, 2, is_last)), values, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 1 indices, but 2 values")
        call array%update(all_entries(:merge(1, 2, is_last)), values, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "there are 1 indices, but 2 values")
        call array%write([merge(num_entries, 0_int64, is_last)], values(:1), status)
        call expect(status == CROSSDOCK_INDEX_OUT_OF_RANGE, "there is no such entry")
        wrong = 1
        call array%update(all_entries(:2), wrong, MPI_SUM, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values are real64, entries of the array int64")
        wrong_columns = 1
        call array%read(all_entries(:2), wrong_columns, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values are real64, entries of the array int64")
        call array%local(entries, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "values are int32, entries of the array int64")
        call array%update(all_entries(:2), values, MPI_OP_NULL, status)
        call expect(status == CROSSDOCK_INVALID_ARGUMENT, "MPI_OP_NULL is no operation")
        call array%read(all_entries(:2), values, status)
        call expect(all(values == 0), "no entry has changed")
        call array%free()
        call array%read(all_entries(:2), values, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "array is a null pointer")
    end subroutine
end program

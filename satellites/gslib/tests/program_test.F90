! The Fortran names of gslib, called as Nek5000 calls them.
program gslib_program
  use mpi
  implicit none
  integer, parameter :: n = 3
  integer :: handle, request, rank, num_ranks, ierror, failures
  integer(8) :: id(n)
  real(8) :: u(n), v(n), fields(n, 2)
  integer(8) :: l(n)
  real(8) :: first, second
  integer :: num, tuples(2, 16), cells(2, 16), i
  integer(8) :: longs(1, 16)
  real(8) :: reals(2, 16)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, num_ranks, ierror)
  failures = 0

  ! A chain of elements of two points.
  id = [int(rank + 1, 8), int(rank + 2, 8), 0_8]
  first = merge(3, 1, rank > 0)
  second = merge(3, 2, rank + 1 < num_ranks)
  call fgslib_gs_setup(handle, id, n, MPI_COMM_WORLD, num_ranks)
  call expect(handle == 0, 1)

  u = [1, 2, 3]
  call fgslib_gs_op(handle, u, 1, 1, 0)
  call expect(all(u == [first, second, 3d0]), 2)
  u = [1, 2, 3]
  v = 10 * u
  call fgslib_gs_op_many(handle, u, v, u, u, u, u, 2, 1, 1, 0)
  call expect(all(u == [first, second, 3d0]) .and. all(v == 10 * u), 3)
  fields(:, 1) = [1, 2, 3]
  fields(:, 2) = 10 * fields(:, 1)
  call fgslib_gs_op_fields(handle, fields, n, 2, 1, 1, 0)
  call expect(all(fields(:, 1) == u) .and. all(fields(:, 2) == v), 4)
  l = [1, 2, 3]
  call fgslib_gs_op_vec(handle, l, 1, 3, 4, 0)
  call expect(all(l == [merge(2, 1, rank > 0), 2, 3]), 5)
  u = [1, 2, 3]
  call fgslib_igs_op(handle, u, 1, 1, 0, request)
  call fgslib_gs_op_wait(request)
  call expect(all(u == [first, second, 3d0]), 6)
  call fgslib_gs_free(handle)

  call fgslib_gs_setup_pick(handle, id, n, MPI_COMM_WORLD, num_ranks, 2)
  call expect(handle == 1, 7)
  u = [1, 2, 3]
  call fgslib_igs_op_vec(handle, u, 1, 1, 1, 0, request)
  call fgslib_gs_op_wait(request)
  call expect(all(u == [first, second, 3d0]), 8)
  call fgslib_gs_free(handle)
  call fgslib_gs_setup(handle, id, n, MPI_COMM_WORLD, num_ranks + 1)
  call expect(handle == -1, 9)

  call fgslib_gs_unique(id, n, MPI_COMM_WORLD, num_ranks)
  call expect(id(1) == merge(-(rank + 1), 1, rank > 0) .and. id(2) == rank + 2, 10)

  ! Two tuples to each rank, and those that came sorted by their second number.
  call fgslib_crystal_setup(handle, MPI_COMM_WORLD, num_ranks)
  call expect(handle == 0, 11)
  num = 2 * num_ranks
  do i = 1, num
    tuples(:, i) = [mod(i, num_ranks), 100 * i - rank]
  end do
  call fgslib_crystal_ituple_transfer(handle, tuples, 2, num, 16, 1)
  call expect(num == 2 * num_ranks, 12)
  call fgslib_crystal_ituple_sort(handle, tuples, 2, num, [2], 1)
  do i = 1, num_ranks
    call expect(all(tuples(:, i) == [num_ranks - i, 100 * merge(rank, num_ranks, rank > 0) - num_ranks + i]), 13)
    call expect(tuples(1, i + num_ranks) == num_ranks - i, 14)
    call expect(tuples(2, i + num_ranks) == tuples(2, i) + 100 * num_ranks, 15)
  end do

  ! Rank r sends r tuples to rank 0, which has room for three; it sorts them by their long number, then by their rank.
  num = rank
  do i = 1, num
    cells(:, i) = [-i, 0]
    longs(1, i) = 2_8**40 * i
    reals(:, i) = [rank + i / 16d0, -1d0]
  end do
  call fgslib_crystal_tuple_transfer(handle, num, 3, cells, 2, longs, 1, reals, 2, 2)
  call expect(num == merge(num_ranks * (num_ranks - 1) / 2, 0, rank == 0), 16)
  if (num > 1) then
    call fgslib_crystal_tuple_sort(handle, 3, cells, 2, longs, 1, reals, 2, [3, 2], 2)
    call expect(all(cells(:, 1:3) == reshape([-1, 1, -1, 2, -2, 2], [2, 3])), 17)
    call expect(all(longs(1, 1:3) == 2_8**40 * [1, 1, 2]), 18)
    call expect(all(reals(1, 1:3) == [1 + 1 / 16d0, 2 + 1 / 16d0, 2 + 2 / 16d0]), 19)
  end if
  num = 3
  call fgslib_crystal_tuple_transfer(handle, num, 3, cells, 2, longs, 1, reals, 2, 3)
  call expect(num == 3, 20)
  call fgslib_crystal_free(handle)
  call fgslib_crystal_setup(handle, MPI_COMM_WORLD, num_ranks + 1)
  call expect(handle == -1, 21)
  call fgslib_crystal_setup(handle, MPI_COMM_WORLD, num_ranks)
  call expect(handle >= 0, 22)

  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  call fgslib_crystal_free(handle)
  if (failures /= 0) stop 1

contains

  subroutine expect(is_true, number)
    logical, intent(in) :: is_true
    integer, intent(in) :: number
    if (is_true) return
    failures = failures + 1
    print *, 'rank', rank, 'expectation', number
  end subroutine

end program

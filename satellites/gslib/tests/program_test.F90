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

  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
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

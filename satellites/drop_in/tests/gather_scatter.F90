! The gather-scatter of a spectral element code, after that of Neko: ranks add up what they hold of shared points.
! Values travel by nonblocking calls, while each rank adds up the points that it alone has.
program gather_scatter
    use mpi_f08
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none

    integer, parameter :: num_points = 40, num_iterations = 60
    type(MPI_Comm) :: graph
    type(MPI_Request) :: request
    integer :: rank, num_ranks, num_neighbors, num_shared, iteration, num_faults
    integer, allocatable :: neighbors(:), counts(:), displacements(:), points(:)
    real(real64) :: values(num_points), sums(num_points)
    real(real64), allocatable, asynchronous :: sent(:), received(:)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, num_ranks)
    call share_points()
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, num_neighbors, neighbors, MPI_UNWEIGHTED, &
        num_neighbors, neighbors, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
    num_faults = 0
    do iteration = 1, num_iterations
        call add_up()
        num_faults = num_faults + count_faults()
    end do
    call MPI_Comm_free(graph)
    deallocate (neighbors, counts, displacements, points, sent, received)
    call MPI_Allreduce(MPI_IN_PLACE, num_faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Finalize()
    if (num_faults > 0) error stop "gather_scatter: wrong sums"

contains

    pure real(real64) function value_of(of_rank, point)
        integer, intent(in) :: of_rank, point

        value_of = 1000.0_real64 * iteration + 50.0_real64 * of_rank + point
    end function value_of

    ! Ranks at a distance of one, two or four share points, the closer the more.
    subroutine share_points()
        integer :: other, distance, i, first

        allocate (neighbors(0), counts(0), displacements(0), points(0))
        do other = 0, num_ranks - 1
            distance = abs(other - rank)
            if (distance /= 1 .and. distance /= 2 .and. distance /= 4) cycle
            first = mod(3 * (rank + other), num_points)
            neighbors = [neighbors, other]
            displacements = [displacements, size(points)]
            counts = [counts, 12 / distance]
            points = [points, (1 + mod(first + i, num_points), i = 0, 12 / distance - 1)]
        end do
        num_neighbors = size(neighbors)
        num_shared = size(points)
        allocate (sent(num_shared), received(num_shared))
    end subroutine share_points

    subroutine add_up()
        integer :: i
        logical :: is_complete

        values = [(value_of(rank, i), i = 1, num_points)]
        sent(:) = values(points)
        received(:) = -1
        call MPI_Ineighbor_alltoallv(sent, counts, displacements, MPI_DOUBLE_PRECISION, received, counts, &
            displacements, MPI_DOUBLE_PRECISION, graph, request)
        sums = 0
        do i = 1, num_points
            sums(i) = sums(i) + values(i)
        end do
        if (mod(iteration, 2) == 0) call MPI_Test(request, is_complete, MPI_STATUS_IGNORE)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        do i = 1, num_shared
            sums(points(i)) = sums(points(i)) + received(i)
        end do
    end subroutine add_up

    integer function count_faults()
        real(real64) :: expected(num_points)
        integer :: i, j

        expected = [(value_of(rank, i), i = 1, num_points)]
        do i = 1, num_neighbors
            do j = displacements(i) + 1, displacements(i) + counts(i)
                expected(points(j)) = expected(points(j)) + value_of(neighbors(i), points(j))
            end do
        end do
        count_faults = count(abs(sums - expected) > 0)
        if (count_faults > 0) print *, "rank", rank, "iteration", iteration, "has wrong sums:", count_faults
    end function count_faults
end program gather_scatter

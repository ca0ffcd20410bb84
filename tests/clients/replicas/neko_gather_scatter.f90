! As Neko sums copies of points by a neighborhood collective: MPI_Ineighbor_alltoallv of module mpi_f08, and MPI_Wait
! after the local part. Ranks are boxes of points in a grid, which share faces, edges and corners.
program neko_gather_scatter
    use mpi_f08
    use, intrinsic :: iso_fortran_env, only: int64
    implicit none
    integer, parameter :: side = 6, most_neighbors = 26, most_shared = most_neighbors * side**2
    integer :: shape(3) = 0, mine(3), to(3), first(3), last(3), step, rank, num_ranks, x, y, z, k, i
    integer :: num_neighbors = 0, num_shared = 0, num_exchanges = 200, exchange
    integer, dimension(most_neighbors) :: ranks, counts, offsets, weights = 1
    integer :: points(3, most_shared)
    double precision :: values(side, side, side), copies(side, side, side), sent(most_shared), received(most_shared)
    integer(int64) :: total, mask = 2_int64**40 - 1
    character(len=16) :: argument
    type(MPI_Comm) :: graph
    type(MPI_Request) :: request

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, num_ranks)
    if (command_argument_count() > 0) then
        call get_command_argument(1, argument)
        read (argument, *) num_exchanges
    end if
    call MPI_Dims_create(num_ranks, 3, shape)
    mine = [mod(rank, shape(1)), mod(rank / shape(1), shape(2)), rank / shape(1) / shape(2)]
    copies = 1
    do step = 0, 26
        to = [mod(step, 3), mod(step / 3, 3), step / 9] - 1
        if (step == 13 .or. any(mine + to < 0) .or. any(mine + to >= shape)) cycle
        first = merge(side, 1, to > 0)
        last = merge(1, side, to < 0)
        num_neighbors = num_neighbors + 1
        ranks(num_neighbors) = ((mine(3) + to(3)) * shape(2) + mine(2) + to(2)) * shape(1) + mine(1) + to(1)
        offsets(num_neighbors) = num_shared
        do z = first(3), last(3)
            do y = first(2), last(2)
                do x = first(1), last(1)
                    num_shared = num_shared + 1
                    points(:, num_shared) = [x, y, z]
                    copies(x, y, z) = copies(x, y, z) + 1
                end do
            end do
        end do
        counts(num_neighbors) = num_shared - offsets(num_neighbors)
    end do
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, num_neighbors, ranks, weights, num_neighbors, ranks, weights, &
        MPI_INFO_NULL, .false., graph)

    do i = 0, side**3 - 1
        values(mod(i, side) + 1, mod(i / side, side) + 1, i / side**2 + 1) = 1d0 / (1 + mod(rank * 7 + i, 101))
    end do
    do exchange = 1, num_exchanges
        do k = 1, num_shared
            sent(k) = values(points(1, k), points(2, k), points(3, k))
        end do
        call MPI_Ineighbor_alltoallv(sent, counts, offsets, MPI_DOUBLE_PRECISION, received, counts, offsets, &
            MPI_DOUBLE_PRECISION, graph, request)
        values(2:side - 1, 2:side - 1, 2:side - 1) = values(2:side - 1, 2:side - 1, 2:side - 1) * 0.875d0
        call MPI_Wait(request, MPI_STATUS_IGNORE)
        do k = 1, num_shared
            x = points(1, k)
            y = points(2, k)
            z = points(3, k)
            values(x, y, z) = values(x, y, z) + received(k)
        end do
        values = values / copies
    end do

    total = sum(iand(transfer(values, [0_int64]), mask))
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0)', "values ", total
    call MPI_Comm_free(graph)
    call MPI_Finalize()
end program

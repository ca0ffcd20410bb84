! Sparse exchanges: messages of one size and of any, and what fails.
program exchange_test
    use, intrinsic :: iso_fortran_env, only: real64
    use checks
    implicit none

    type(crossdock_context) :: world
    integer :: status, rank, num_ranks, next(1), previous, i
    integer, allocatable :: destinations(:), senders(:)

    call set_up(world, rank, num_ranks)
    next = modulo(rank + 1, num_ranks)
    previous = modulo(rank - 1, num_ranks)
    destinations = pack([(i, i=0, num_ranks - 1)], [(sends(rank, i), i=0, num_ranks - 1)])
    senders = pack([(i, i=0, num_ranks - 1)], [(sends(i, rank), i=0, num_ranks - 1)])

    call algorithms()
    call any_size()
    call order_of_arrival()
    call traffic()
    call nothing()
    call faults()
    deallocate (destinations, senders)
    call finish(world)

contains

    elemental logical function sends(source, destination)
        integer, intent(in) :: source, destination
        sends = destination == 0 .or. modulo(source * source + destination, 3) == 0
    end function

    elemental integer(int64) function length_between(source, destination) result(length)
        integer, intent(in) :: source, destination
        length = modulo(source + 2 * destination, 4)
    end function

    subroutine algorithms()
        call expect(crossdock_num_exchange_algorithms() == 10, "there are ten algorithms")
        call expect(crossdock_exchange_algorithm_name(9) == "routed", "the last algorithm takes a route")
        call expect(crossdock_exchange_algorithm_example(9) == "routed:grid:2", "the route is a grid")
        call expect(crossdock_exchange_algorithm_example(-1) == "", "there is no algorithm -1")
        call expect(crossdock_last_error() == "algorithm -1 is outside [0, 10)", "why there is none")
        call one_size("auto")
        call one_size("routed:grid:2")
    end subroutine

    subroutine one_size(algorithm)
        character(*), intent(in) :: algorithm
        integer(int64), allocatable :: values(:, :), received(:, :)
        integer, allocatable :: sources(:)
        integer :: k
        allocate (values(2, size(destinations)))
        values(1, :) = 100 * rank + destinations
        values(2, :) = -destinations
        call crossdock_sparse_exchange(world, destinations, values, sources, received, status, algorithm=algorithm)
        call expect_success(status, algorithm)
        call expect(size(sources) == size(senders) .and. size(received, 2) == size(senders), "as many as were sent")
        call expect(size(received, 1) == 2, "each message has two values")
        if (size(sources) /= size(senders)) return
        call expect(all(sources == senders), "sources ascend")
        do k = 1, size(senders)
            call expect(all(received(:, k) == [100 * senders(k) + rank, -rank]), "the values of a message")
        end do
    end subroutine

    subroutine any_size()
        integer(int64), allocatable :: counts(:), received_counts(:)
        real(real64), allocatable :: values(:), received(:)
        integer, allocatable :: sources(:)
        integer :: k
        counts = length_between(rank, destinations)
        values = [real(real64) ::]
        do k = 1, size(destinations)
            values = [values, message(rank, destinations(k))]
        end do
        call crossdock_sparse_exchange_v(world, destinations, counts, values, sources, received_counts, received, status)
        call expect_success(status, "messages of any size")
        call expect(size(sources) == size(senders), "as many came")
        if (size(sources) /= size(senders)) return
        call expect(all(sources == senders), "sources ascend among messages of any size")
        call expect(all(received_counts == length_between(senders, rank)), "the counts are those that were sent")
        values = [real(real64) ::]
        do k = 1, size(senders)
            values = [values, message(senders(k), rank)]
        end do
        call expect(size(values) == size(received), "all values came")
        if (size(values) == size(received)) call expect(all(values == received), "one message after the other")
    end subroutine

    function message(source, destination) result(values)
        integer, intent(in) :: source, destination
        real(real64), allocatable :: values(:)
        integer :: k
        values = [(real(100 * source + 10 * destination + k, real64), k=1, int(length_between(source, destination)))]
    end function

    subroutine order_of_arrival()
        integer, allocatable :: sources(:)
        integer, allocatable :: received(:, :)
        call crossdock_sparse_exchange(world, [0], reshape([rank], [1, 1]), sources, received, status, &
            order=CROSSDOCK_ARRIVAL, num_sources=merge(num_ranks, 0, rank == 0) + 0_int64)
        call expect_success(status, "known sources")
        call expect(size(sources) == merge(num_ranks, 0, rank == 0), "all came to rank 0")
        call expect(all(sources == received(1, :)), "each value is of its source")
        call expect(sum(sources) == merge(num_ranks * (num_ranks - 1) / 2, 0, rank == 0), "each rank came once")
    end subroutine

    ! 8 values to the next rank.
    subroutine traffic()
        type(crossdock_exchange_traffic) :: sent
        integer, allocatable :: sources(:)
        integer(int64), allocatable :: counts(:), received(:)
        call crossdock_sparse_exchange_v(world, next, [8_int64], [(int(10 * rank + i, int64), i=1, 8)], sources, counts, &
            received, status, algorithm="nonblocking", max_message_bytes=16_int64, sent=sent)
        call expect_success(status, "a message in parts")
        call expect(all(received == [(10 * previous + i, i=1, 8)]), "the parts make the message")
        call expect(sent%messages == merge(1, 0, num_ranks > 1), "a copy to itself is no message")
        call expect(sent%message_bytes == merge(64, 0, num_ranks > 1), "the message has 8 values")
        call crossdock_sparse_exchange_v(world, next, [8_int64], [(int(10 * rank + i, int64), i=1, 8)], sources, counts, &
            received, status, algorithm="routed:grid:2", max_forwarded_bytes=0_int64)
        call expect_success(status, "an announced message")
        call expect(all(received == [(10 * previous + i, i=1, 8)]), "what was announced came")
        call crossdock_sparse_exchange_v(world, next, [8_int64], [(int(10 * rank + i, int64), i=1, 8)], sources, counts, &
            received, status, max_forwarded_bytes=-7_int64)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "max_forwarded_bytes is -7")
    end subroutine

    subroutine nothing()
        integer, allocatable :: sources(:)
        integer(int64), allocatable :: counts(:)
        real(real64), allocatable :: received(:), columns(:, :)
        real(real64) :: none(0), no_columns(3, 0)
        integer :: nobody(0)
        integer(int64) :: no_counts(0)
        call crossdock_sparse_exchange_v(world, nobody, no_counts, none, sources, counts, received, status)
        call expect_success(status, "nothing")
        call expect(size(sources) == 0 .and. size(counts) == 0 .and. size(received) == 0, "nothing came")
        call crossdock_sparse_exchange(world, nobody, no_columns, sources, columns, status)
        call expect_success(status, "no columns")
        call expect(all(shape(columns) == [3, 0]), "no column came")
    end subroutine

    ! All ranks hear of the last rank's fault, and keep what they had.
    subroutine faults()
        integer, allocatable :: sources(:)
        integer(int64), allocatable :: counts(:)
        integer, allocatable :: received(:), columns(:, :)
        character(:), allocatable :: last
        integer :: at_fault
        logical :: is_last
        last = text(num_ranks - 1)
        is_last = rank == num_ranks - 1
        sources = [77]
        at_fault = merge(1, 2, is_last)
        call crossdock_sparse_exchange_v(world, [0, 0], [(1_int64, i=1, at_fault)], [1, 2], sources, counts, received, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, &
                          "the lengths of counts and destinations are 1 and 2 on rank " // last)
        call crossdock_sparse_exchange(world, [0, 0], reshape([1, 2], [1, at_fault]), sources, columns, status)
        call expect_error(status, CROSSDOCK_SIZE_MISMATCH, "values have 1 columns for 2 destinations on rank " // last)
        call crossdock_sparse_exchange_v(world, [0], [merge(3_int64, 2_int64, is_last)], [1, 2], sources, counts, received, status)
        call expect_error(status, CROSSDOCK_INVALID_ARGUMENT, "send_size of rank " // last // &
            " is 2, but its messages have 3 values")
        call expect(all(sources == [77]) .and. .not. allocated(received), "nothing was filled")
    end subroutine
end program

!> Exchanges of arrays in a GPU's memory, over crossdock_device.h, which says what is collective and what fails.
!> `status` and MPI's error handlers are as in the module crossdock.
!>
!> - Items, slots and values are addresses in memory that the device can use: c_loc of an array of CUDA Fortran, or in a
!>   region `host_data use_device` of OpenACC. They lie an extent of `datatype` apart.
!> - `stream` is a cudaStream_t, CUstream or hipStream_t. Without it the call takes the default stream.
!> - Where a device combines values, these are real(real32), real(real64), integer(int32) or integer(int64), and the
!>   operation MPI_SUM, MPI_MIN or MPI_MAX.
!> - Without `device` an exchange takes what crossdock_device%open finds.
module crossdock_devices
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64
    use mpi_f08, only: MPI_Datatype, MPI_Op
    use crossdock
    implicit none
    private

    public :: crossdock_device_sparse_exchange

    !> A GPU.
    type, public :: crossdock_device
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: open => device_open
        procedure :: description => device_description
        procedure :: allocate => device_allocate
        procedure :: deallocate => device_deallocate
        procedure :: copy_in => device_copy_in
        procedure :: copy_out => device_copy_out
        procedure :: free => device_free
    end type

    !> A neighbor exchange whose items and slots are in a GPU's memory.
    type, public :: crossdock_device_neighbor_exchange
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: create => device_exchange_create
        procedure :: start => device_exchange_start
        procedure :: start_reverse => device_exchange_start_reverse
        procedure :: test => device_exchange_test
        procedure :: wait => device_exchange_wait
        procedure :: explain => device_exchange_explain
        procedure :: free => device_exchange_free
    end type

    !> A gather-scatter of values in a GPU's memory.
    type, public :: crossdock_device_gather_scatter
        private
        type(c_ptr) :: handle = c_null_ptr
    contains
        procedure :: create => device_gather_create
        procedure :: start => device_gather_start
        procedure :: test => device_gather_test
        procedure :: wait => device_gather_wait
        procedure :: free => device_gather_free
    end type

    !> What came in a sparse exchange: arranged on the host, with values in the GPU's memory, messages one after the
    !> other.
    type, public :: crossdock_device_messages
        integer, allocatable :: sources(:)
        integer(int64), allocatable :: counts(:), displacements(:)
        type(c_ptr) :: values = c_null_ptr
        type(c_ptr), private :: owner = c_null_ptr
    contains
        procedure :: free => device_messages_free
    end type

    type, bind(C) :: device_messages
        integer(c_int64_t) :: num_messages = 0
        type(c_ptr) :: sources = c_null_ptr
        type(c_ptr) :: counts = c_null_ptr
        type(c_ptr) :: displacements = c_null_ptr
        type(c_ptr) :: values = c_null_ptr
        type(c_ptr) :: owner = c_null_ptr
    end type

    include 'options.inc'
    include 'device_interfaces.inc'

contains

    !> Opens a device.
    !> @param name  'cuda', 'hip', 'mock:17' or 'auto', the default
    subroutine device_open(self, status, name)
        class(crossdock_device), intent(inout) :: self
        integer, intent(out) :: status
        character(*), intent(in), optional :: name
        type(c_text), target :: name_text
        type(c_ptr) :: given
        given = c_null_ptr
        call set_text(name, name_text, given)
        status = c_device_open(given, self%handle)
    end subroutine

    !> The device, and how far it is known to work; '' if there is none.
    function device_description(self) result(text)
        class(crossdock_device), intent(in) :: self
        character(:), allocatable :: text
        type(c_ptr) :: given
        integer(c_int) :: status
        given = c_null_ptr
        status = c_device_description(self%handle, given)
        text = taken_text(status, given)
    end function

    !> Memory of the device, for programs that have no other way to get it.
    subroutine device_allocate(self, num_bytes, memory, status)
        class(crossdock_device), intent(in) :: self
        integer(int64), intent(in) :: num_bytes
        type(c_ptr), intent(inout) :: memory
        integer, intent(out) :: status
        status = c_device_allocate(self%handle, int(num_bytes, c_size_t), memory)
    end subroutine

    subroutine device_deallocate(self, memory, status)
        class(crossdock_device), intent(in) :: self
        type(c_ptr), intent(in) :: memory
        integer, intent(out) :: status
        status = c_device_deallocate(self%handle, memory)
    end subroutine

    !> Copies from memory of the host to memory of the device; waits for what the stream holds, and for the copy.
    subroutine device_copy_in(self, to, from, num_bytes, status, stream)
        class(crossdock_device), intent(in) :: self
        type(c_ptr), intent(in) :: to, from
        integer(int64), intent(in) :: num_bytes
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        status = c_device_copy_in(self%handle, to, from, int(num_bytes, c_size_t), stream_or_default(stream))
    end subroutine

    !> Copies the other way.
    subroutine device_copy_out(self, to, from, num_bytes, status, stream)
        class(crossdock_device), intent(in) :: self
        type(c_ptr), intent(in) :: to, from
        integer(int64), intent(in) :: num_bytes
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        status = c_device_copy_out(self%handle, to, from, int(num_bytes, c_size_t), stream_or_default(stream))
    end subroutine

    !> What was made on the device stays usable.
    subroutine device_free(self)
        class(crossdock_device), intent(inout) :: self
        call forget(self%handle, c_device_free(self%handle))
    end subroutine

    !> Compiles a pattern along a route. Collective. Other options are those of the exchange on the host.
    !> @param path  'staged', 'direct' or 'auto', the default
    subroutine device_exchange_create(self, context, pattern, status, device, path, route, deduplicate, executor, &
            max_message_bytes, item_bytes, prepare, reproducible, name)
        class(crossdock_device_neighbor_exchange), intent(inout) :: self
        type(crossdock_context), intent(in) :: context
        type(crossdock_pattern), intent(in) :: pattern
        integer, intent(out) :: status
        type(crossdock_device), intent(in), optional :: device
        character(*), intent(in), optional :: path, route, executor, name
        logical, intent(in), optional :: deduplicate, reproducible
        integer(int64), intent(in), optional :: max_message_bytes
        integer, intent(in), optional :: item_bytes, prepare
        type(neighbor_options) :: options
        type(option_texts), target :: texts
        type(c_text), target :: path_text
        type(c_ptr) :: given
        given = c_null_ptr
        call set_text(path, path_text, given)
        call set_options(options, texts, route, deduplicate, executor, max_message_bytes, item_bytes, &
            prepare, reproducible, name)
        status = c_device_exchange_create(crossdock_handle(context), crossdock_handle(pattern), options, &
            device_or_any(device), given, self%handle)
    end subroutine

    !> Starts to fill the slots.
    subroutine device_exchange_start(self, items, slots, datatype, status, stream)
        class(crossdock_device_neighbor_exchange), intent(in) :: self
        type(c_ptr), intent(in) :: items, slots
        type(MPI_Datatype), intent(in) :: datatype
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        status = c_device_start(self%handle, items, slots, datatype%MPI_VAL, stream_or_default(stream))
    end subroutine

    !> Starts to bring the slots home, where they are combined with the items.
    subroutine device_exchange_start_reverse(self, slots, items, datatype, operation, status, stream)
        class(crossdock_device_neighbor_exchange), intent(in) :: self
        type(c_ptr), intent(in) :: slots, items
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: operation
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        status = c_device_start_reverse(self%handle, slots, items, datatype%MPI_VAL, operation%MPI_VAL, &
            stream_or_default(stream))
    end subroutine

    !> Makes progress; true if the stream has the result.
    subroutine device_exchange_test(self, is_complete, status, stream)
        class(crossdock_device_neighbor_exchange), intent(in) :: self
        logical, intent(inout) :: is_complete
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        integer(c_int) :: found
        status = c_device_exchange_test(self%handle, stream_or_default(stream), found)
        if (status == CROSSDOCK_SUCCESS) is_complete = found /= 0
    end subroutine

    !> Waits for the messages; the stream gets the rest.
    subroutine device_exchange_wait(self, status, stream)
        class(crossdock_device_neighbor_exchange), intent(in) :: self
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        status = c_device_exchange_wait(self%handle, stream_or_default(stream))
    end subroutine

    !> The device, the path and the route, and why they were chosen; '' if there is no exchange.
    function device_exchange_explain(self) result(text)
        class(crossdock_device_neighbor_exchange), intent(in) :: self
        character(:), allocatable :: text
        type(c_ptr) :: given
        integer(c_int) :: status
        given = c_null_ptr
        status = c_device_exchange_explain(self%handle, given)
        text = taken_text(status, given)
    end function

    !> Frees an idle object.
    subroutine device_exchange_free(self)
        class(crossdock_device_neighbor_exchange), intent(inout) :: self
        call forget(self%handle, c_device_exchange_free(self%handle))
    end subroutine

    !> Finds out who has which ids, and compiles the plans. Collective. Options are those of the gather-scatter on the
    !> host.
    !> @param ids  of the host; not kept
    subroutine device_gather_create(self, context, ids, status, device, method, route, unique, deduplicate, executor, &
            max_message_bytes, item_bytes, reproducible, name)
        class(crossdock_device_gather_scatter), intent(inout) :: self
        type(crossdock_context), intent(in) :: context
        integer(int64), contiguous, intent(in) :: ids(:)
        integer, intent(out) :: status
        type(crossdock_device), intent(in), optional :: device
        character(*), intent(in), optional :: method, route, executor, name
        logical, intent(in), optional :: unique, deduplicate, reproducible
        integer(int64), intent(in), optional :: max_message_bytes
        integer, intent(in), optional :: item_bytes
        type(gather_options) :: options
        type(option_texts), target :: texts
        call set_gather_options(options, texts, method, route, unique, deduplicate, executor, max_message_bytes, &
            item_bytes, reproducible, name)
        status = c_device_gather_create(crossdock_handle(context), size(ids, kind=int64), ids, options, &
            device_or_any(device), self%handle)
    end subroutine

    !> Starts to combine values in place.
    !> @param values_per_id  together for each id
    !> @param transposed     flagged copies give and do not get, in place of the other way round
    subroutine device_gather_start(self, values, values_per_id, datatype, operation, status, transposed, stream)
        class(crossdock_device_gather_scatter), intent(in) :: self
        type(c_ptr), intent(in) :: values
        integer, intent(in) :: values_per_id
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Op), intent(in) :: operation
        integer, intent(out) :: status
        logical, intent(in), optional :: transposed
        type(c_ptr), intent(in), optional :: stream
        status = c_device_gather_start(self%handle, values, int(values_per_id, c_int64_t), datatype%MPI_VAL, &
            operation%MPI_VAL, one_if(transposed), stream_or_default(stream))
    end subroutine

    !> Makes progress; true if the stream has the result.
    subroutine device_gather_test(self, is_complete, status, stream)
        class(crossdock_device_gather_scatter), intent(in) :: self
        logical, intent(inout) :: is_complete
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        integer(c_int) :: found
        status = c_device_gather_test(self%handle, stream_or_default(stream), found)
        if (status == CROSSDOCK_SUCCESS) is_complete = found /= 0
    end subroutine

    !> Waits for the messages; the stream gets the rest.
    subroutine device_gather_wait(self, status, stream)
        class(crossdock_device_gather_scatter), intent(in) :: self
        integer, intent(out) :: status
        type(c_ptr), intent(in), optional :: stream
        status = c_device_gather_wait(self%handle, stream_or_default(stream))
    end subroutine

    !> Frees an idle object.
    subroutine device_gather_free(self)
        class(crossdock_device_gather_scatter), intent(inout) :: self
        call forget(self%handle, c_device_gather_free(self%handle))
    end subroutine

    !> Delivers messages of any size to ranks that do not expect them. Collective; waits for what the stream holds.
    !> @param destinations, counts  of the host: `counts(i)` values, one after the other, to rank `destinations(i)`
    !> @param came                  to be freed; freed before, if something came in it already
    subroutine crossdock_device_sparse_exchange(context, destinations, counts, values, datatype, came, status, &
            algorithm, device, stream)
        type(crossdock_context), intent(in) :: context
        integer, contiguous, intent(in) :: destinations(:)
        integer(int64), contiguous, intent(in) :: counts(:)
        type(c_ptr), intent(in) :: values
        type(MPI_Datatype), intent(in) :: datatype
        type(crossdock_device_messages), intent(inout) :: came
        integer, intent(out) :: status
        character(*), intent(in), optional :: algorithm
        type(crossdock_device), intent(in), optional :: device
        type(c_ptr), intent(in), optional :: stream
        type(device_messages) :: found
        type(c_text), target :: algorithm_text
        type(c_ptr) :: given
        integer(c_int), pointer :: sources(:)
        integer(c_int64_t), pointer :: new_counts(:), displacements(:)
        given = c_null_ptr
        call set_text(algorithm, algorithm_text, given)
        status = c_device_sparse_exchange(crossdock_handle(context), size(destinations, kind=int64), destinations, &
            size(counts, kind=int64), counts, values, datatype%MPI_VAL, given, device_or_any(device), &
            stream_or_default(stream), found)
        if (status /= CROSSDOCK_SUCCESS) return
        call came%free()
        call c_f_pointer(found%sources, sources, [found%num_messages])
        call c_f_pointer(found%counts, new_counts, [found%num_messages])
        call c_f_pointer(found%displacements, displacements, [found%num_messages])
        came%sources = sources
        came%counts = new_counts
        came%displacements = displacements
        came%values = found%values
        came%owner = found%owner
    end subroutine

    !> Frees the values.
    subroutine device_messages_free(self)
        class(crossdock_device_messages), intent(inout) :: self
        type(device_messages) :: found
        found%owner = self%owner
        call forget(self%owner, c_device_messages_free(found))
        self%values = c_null_ptr
    end subroutine

    type(c_ptr) function stream_or_default(stream)
        type(c_ptr), intent(in), optional :: stream
        stream_or_default = c_null_ptr
        if (present(stream)) stream_or_default = stream
    end function

    type(c_ptr) function device_or_any(device)
        type(crossdock_device), intent(in), optional :: device
        device_or_any = c_null_ptr
        if (present(device)) device_or_any = device%handle
    end function

    include 'set_options.inc'
end module

// Buffers in a device's memory, which only MPI may read and write: here at another address, so that whoever else
// touches it ends the program. The driver, whose path is the argument, is loaded while calls go along a plan.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "../src/own_functions.hpp"
#include "world.hpp"

namespace {

using crossdock::drop_in::value_count;

constexpr std::size_t device_bytes = 1 << 20;
std::byte* device = nullptr;
std::byte* device_as_mpi_sees_it = nullptr;

template <class T>
T* seen_by_mpi(T* address) {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(device);
    return device != nullptr && offset < device_bytes
               ? static_cast<T*>(static_cast<void*>(device_as_mpi_sees_it + offset))
               : address;
}

template <class Function>
Function* next(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int num_packed = 0;
int num_unpacked = 0;
int num_exchanges = 0;
int num_messages = 0;
int num_requests = 0;

}  // namespace

#define TEXT(name) #name
#define NAME(name) TEXT(name)
#define NEXT(name) next(name, NAME(name))

extern "C" {

int CROSSDOCK_WIDEST(Pack)(const void* from, value_count count, MPI_Datatype type, void* to,
                           value_count bytes, value_count* position, MPI_Comm comm) {
    ++num_packed;
    return NEXT(CROSSDOCK_WIDEST(Pack))(seen_by_mpi(from), count, type, to, bytes, position, comm);
}

int CROSSDOCK_WIDEST(Unpack)(const void* from, value_count bytes, value_count* position, void* to,
                             value_count count, MPI_Datatype type, MPI_Comm comm) {
    ++num_unpacked;
    return NEXT(CROSSDOCK_WIDEST(Unpack))(from, bytes, position, seen_by_mpi(to), count, type,
                                          comm);
}

int CROSSDOCK_WIDEST(Isend)(const void* from, value_count count, MPI_Datatype type, int to, int tag,
                            MPI_Comm comm, MPI_Request* request) {
    if (type == MPI_LONG) ++num_messages;
    return NEXT(CROSSDOCK_WIDEST(Isend))(seen_by_mpi(from), count, type, to, tag, comm, request);
}

int CROSSDOCK_WIDEST(Irecv)(void* to, value_count count, MPI_Datatype type, int from, int tag,
                            MPI_Comm comm, MPI_Request* request) {
    return NEXT(CROSSDOCK_WIDEST(Irecv))(seen_by_mpi(to), count, type, from, tag, comm, request);
}

int PMPI_Neighbor_alltoall(const void* from, int sent, MPI_Datatype sent_type, void* to,
                           int received, MPI_Datatype received_type, MPI_Comm comm) {
    ++num_exchanges;
    return NEXT(PMPI_Neighbor_alltoall)(seen_by_mpi(from), sent, sent_type, seen_by_mpi(to),
                                        received, received_type, comm);
}

int PMPI_Ineighbor_alltoall(const void* from, int sent, MPI_Datatype sent_type, void* to,
                            int received, MPI_Datatype received_type, MPI_Comm comm,
                            MPI_Request* request) {
    ++num_exchanges;
    return NEXT(PMPI_Ineighbor_alltoall)(seen_by_mpi(from), sent, sent_type, seen_by_mpi(to),
                                         received, received_type, comm, request);
}

#ifdef CROSSDOCK_OWN_INIT
int CROSSDOCK_OWN_INIT(Neighbor_alltoall, )(const void* from, int sent, MPI_Datatype sent_type,
                                            void* to, int received, MPI_Datatype received_type,
                                            MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    ++num_requests;
    return NEXT(CROSSDOCK_OWN_INIT(Neighbor_alltoall, ))(seen_by_mpi(from), sent, sent_type,
                                                         seen_by_mpi(to), received, received_type,
                                                         comm, info, request);
}
#endif

}  // extern "C"

namespace {

void make_device(void* driver) {
    const int memory = memfd_create("device", 0);
    const auto map = [memory](int protection) {
        return static_cast<std::byte*>(
            mmap(nullptr, device_bytes, protection, MAP_SHARED, memory, 0));
    };
    if (ftruncate(memory, device_bytes) != 0) std::abort();
    device_as_mpi_sees_it = map(PROT_READ | PROT_WRITE);
    device = map(PROT_NONE);
    reinterpret_cast<void (*)(const void*, std::size_t)>(dlsym(driver, "set_device_memory"))(
        device, device_bytes);
}

// Which buffers are the device's.
struct places {
    bool sends = false;
    bool receives = false;
};

// Exchanges two values with each other rank.
class all_to_all {
  public:
    explicit all_to_all(world& in) : in_(in) {
        for (int other = 0; other < in.num_ranks; ++other)
            if (other != in.rank) others_.push_back(other);
        const int degree = in.num_ranks - 1;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, others_.data(), MPI_UNWEIGHTED,
                                       degree, others_.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &graph_);
        sent_.resize(2 * others_.size() + 1);
        received_.resize(sent_.size());
    }
    ~all_to_all() { MPI_Comm_free(&graph_); }

    void exchange(places on_device) {
        const auto [from, to] = prepare(on_device);
        MPI_Neighbor_alltoall(from, 2, MPI_LONG, to, 2, MPI_LONG, graph_);
        check(to, "a blocking exchange");
    }

    void start_and_wait(places on_device) {
        const auto [from, to] = prepare(on_device);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ineighbor_alltoall(from, 2, MPI_LONG, to, 2, MPI_LONG, graph_, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(to, "a nonblocking exchange");
    }

#ifdef CROSSDOCK_OWN_INIT
    void repeat(places on_device, int num_times) {
        const auto [from, to] = prepare(on_device);
        MPI_Request request = MPI_REQUEST_NULL;
        CROSSDOCK_INIT(Neighbor_alltoall, )
        (from, 2, MPI_LONG, to, 2, MPI_LONG, graph_, MPI_INFO_NULL, &request);
        for (int i = 0; i < num_times; ++i) {
            prepare(on_device);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            check(to, "a persistent exchange");
        }
        MPI_Request_free(&request);
    }
#endif

  private:
    struct buffers {
        long* from;
        long* to;
    };
    buffers prepare(places on_device) {
        ++number_;
        auto* const on = reinterpret_cast<long*>(device);
        const buffers used{on_device.sends ? on : sent_.data(),
                           on_device.receives ? on + sent_.size() : received_.data()};
        for (std::size_t i = 0; i < 2 * others_.size(); ++i) {
            seen_by_mpi(used.from)[i] = value(in_.rank, others_[i / 2], i % 2);
            seen_by_mpi(used.to)[i] = -1;
        }
        return used;
    }

    void check(long* to, const char* what) {
        for (std::size_t i = 0; i < 2 * others_.size(); ++i)
            in_.expect(seen_by_mpi(to)[i] == value(others_[i / 2], in_.rank, i % 2), what);
    }

    long value(int from, int to, std::size_t index) const {
        return 1000000L * number_ + 10000L * from + 100L * to + static_cast<long>(index);
    }

    world& in_;
    std::vector<int> others_;
    std::vector<long> sent_, received_;
    MPI_Comm graph_ = MPI_COMM_NULL;
    long number_ = 0;
};

void expect_taken(world& in, int& number, int expected, const char* what) {
    in.expect(number == expected, std::string(what) + ": " + std::to_string(number) + " for " +
                                      std::to_string(expected));
    number = 0;
}

// A rank with a buffer on a device goes along the plan as the others do, who are not told of it.
void go_along_a_plan(world& in, const char* driver_path) {
    all_to_all one(in);
    for (int i = 0; i < 3; ++i) one.exchange({});
    void* const driver = dlopen(driver_path, RTLD_NOW | RTLD_LOCAL);
    in.expect(driver != nullptr, "the driver is loaded");
    make_device(driver);
    num_packed = num_unpacked = 0;
    const bool is_first = in.rank == 0;
    one.exchange({is_first, false});
    one.exchange({false, is_first});
    one.start_and_wait({is_first, false});
    one.start_and_wait({false, is_first});
    one.exchange({});
    const int num_blocks = is_first ? 2 * (in.num_ranks - 1) : 0;
    expect_taken(in, num_packed, num_blocks, "blocks that MPI packed");
    expect_taken(in, num_unpacked, num_blocks, "blocks that MPI unpacked");
    expect_taken(in, num_exchanges, 0, "exchanges of MPI's");
    expect_taken(in, num_messages, 0, "messages of MPI's");
}

// No plan is made for calls in which a rank has such a buffer.
void leave_calls_to_mpi(world& in, int (*take_num_questions)()) {
    all_to_all one(in);
    const bool is_first = in.rank == 0;
    take_num_questions();
    for (int i = 0; i < 10; ++i) one.exchange({is_first, is_first});
    for (int i = 0; i < 5; ++i) one.start_and_wait({is_first, false});
    expect_taken(in, num_messages, 15 * (in.num_ranks - 1), "messages of MPI's");
    in.expect(take_num_questions() == 2 * 15, "each call asks for both buffers");
#ifdef CROSSDOCK_OWN_INIT
    one.repeat({false, is_first}, 3);
    expect_taken(in, num_requests, 1, "persistent requests of MPI's");
    in.expect(take_num_questions() == 2, "only making a persistent request asks");
#endif
    expect_taken(in, num_packed, 0, "blocks that MPI packed");
    expect_taken(in, num_unpacked, 0, "blocks that MPI unpacked");
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_all(argc, argv, [argv](world& in) {
        go_along_a_plan(in, argv[1]);
        void* const driver = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
        leave_calls_to_mpi(in, reinterpret_cast<int (*)()>(dlsym(driver, "take_num_questions")));
    });
}

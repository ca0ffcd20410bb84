// Buffers in the memory of crossdock's mock of a device, which ends the program where the processor touches it. With a
// route that is asked for, as the argument says, no such buffer comes to MPI; otherwise some do, and it takes them.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "../src/own_functions.hpp"
#include "satellites/device/tests/support.hpp"
#include "world.hpp"

namespace {

using namespace crossdock;
using crossdock::drop_in::value_count;
using device_test::device_array;
using host_bytes = device_test::pinned_array<std::byte>;

std::shared_ptr<device::driver> mock;
int num_seen = 0;  // calls that brought MPI a buffer on the device

// A buffer as MPI sees it: that of the host, or a copy.
class seen_by_mpi {
  public:
    seen_by_mpi(const void* buffer, std::size_t num_bytes) : buffer_(const_cast<void*>(buffer)) {
        if (num_bytes > 0 && mock && mock->can_use(buffer))
            copy_ = std::make_unique<host_bytes>(*mock, num_bytes);
        bring_down();
    }
    void* data() const { return copy_ ? copy_->data() : buffer_; }
    bool is_copy() const { return copy_ != nullptr; }
    void bring_down() const {
        if (copy_) mock->copy_down(copy_->data(), buffer_, copy_->span().size(), by_);
        mock ? mock->wait_for(by_) : void();
    }
    void bring_up() const {
        if (copy_) mock->copy_up(buffer_, copy_->data(), copy_->span().size(), by_);
        mock ? mock->wait_for(by_) : void();
    }

  private:
    void* buffer_;
    std::unique_ptr<host_bytes> copy_;
    device::stream by_ = nullptr;
};

struct seen_sides {
    seen_by_mpi sends, receives;
};
std::map<MPI_Request, seen_sides> persistent;
std::map<MPI_Request, seen_by_mpi> being_received;

template <class Count>
std::size_t end_of(int num, const Count* counts, const MPI_Aint* offsets,
                   const MPI_Datatype* types) {
    MPI_Aint end = 0;
    for (int i = 0; i < num; ++i) {
        MPI_Aint lower_bound = 0, extent = 0;
        MPI_Type_get_extent(types[i], &lower_bound, &extent);
        if (counts[i] > 0) end = std::max<MPI_Aint>(end, offsets[i] + counts[i] * extent);
    }
    return static_cast<std::size_t>(end);
}

template <class Count>
seen_sides see(const void* from, const Count* sent, const MPI_Aint* sent_at,
               const MPI_Datatype* sent_types, void* to, const Count* received,
               const MPI_Aint* received_at, const MPI_Datatype* received_types, MPI_Comm comm) {
    int num_sources = 0, num_destinations = 0, is_weighted = 0;
    MPI_Dist_graph_neighbors_count(comm, &num_sources, &num_destinations, &is_weighted);
    seen_sides sides{{from, end_of(num_destinations, sent, sent_at, sent_types)},
                     {to, end_of(num_sources, received, received_at, received_types)}};
    if (sides.sends.is_copy() || sides.receives.is_copy()) ++num_seen;
    return sides;
}

// One message's.
seen_by_mpi see(const void* values, value_count count, MPI_Datatype type) {
    MPI_Aint lower_bound = 0, extent = 0;
    MPI_Type_get_extent(type, &lower_bound, &extent);
    seen_by_mpi seen(values, static_cast<std::size_t>(count * extent));
    if (seen.is_copy()) ++num_seen;
    return seen;
}

template <class Function>
Function* next(Function*, const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define TEXT(name) #name
#define NAME(name) TEXT(name)
#define NEXT(name) next(name, NAME(name))

extern "C" {

int PMPI_Neighbor_alltoallw(const void* from, const int* sent, const MPI_Aint* sent_at,
                            const MPI_Datatype* sent_types, void* to, const int* received,
                            const MPI_Aint* received_at, const MPI_Datatype* received_types,
                            MPI_Comm comm) {
    const auto [sends, receives] =
        see(from, sent, sent_at, sent_types, to, received, received_at, received_types, comm);
    const int code =
        NEXT(PMPI_Neighbor_alltoallw)(sends.data(), sent, sent_at, sent_types, receives.data(),
                                      received, received_at, received_types, comm);
    receives.bring_up();
    return code;
}

// Complete when it returns.
int CROSSDOCK_WIDEST(Ineighbor_alltoallw)(const void* from, const value_count* sent,
                                          const MPI_Aint* sent_at, const MPI_Datatype* sent_types,
                                          void* to, const value_count* received,
                                          const MPI_Aint* received_at,
                                          const MPI_Datatype* received_types, MPI_Comm comm,
                                          MPI_Request* request) {
    const auto [sends, receives] =
        see(from, sent, sent_at, sent_types, to, received, received_at, received_types, comm);
    const int code = NEXT(CROSSDOCK_WIDEST(Ineighbor_alltoallw))(
        sends.data(), sent, sent_at, sent_types, receives.data(), received, received_at,
        received_types, comm, request);
    if (!sends.is_copy() && !receives.is_copy()) return code;
    PMPI_Wait(request, MPI_STATUS_IGNORE);
    receives.bring_up();
    return code;
}

int CROSSDOCK_WIDEST(Isend)(const void* from, value_count count, MPI_Datatype type, int to, int tag,
                            MPI_Comm comm, MPI_Request* request) {
    if (!mock || !mock->can_use(from))
        return NEXT(CROSSDOCK_WIDEST(Isend))(from, count, type, to, tag, comm, request);
    static auto& sent = *new std::list<seen_by_mpi>;
    const auto& values = sent.emplace_back(see(from, count, type));
    return NEXT(CROSSDOCK_WIDEST(Isend))(values.data(), count, type, to, tag, comm, request);
}

int CROSSDOCK_WIDEST(Irecv)(void* to, value_count count, MPI_Datatype type, int from, int tag,
                            MPI_Comm comm, MPI_Request* request) {
    if (!mock || !mock->can_use(to))
        return NEXT(CROSSDOCK_WIDEST(Irecv))(to, count, type, from, tag, comm, request);
    auto values = see(to, count, type);
    const int code =
        NEXT(CROSSDOCK_WIDEST(Irecv))(values.data(), count, type, from, tag, comm, request);
    being_received.emplace(*request, std::move(values));
    return code;
}

int PMPI_Test(MPI_Request* request, int* is_complete, MPI_Status* status) {
    const auto known = being_received.find(*request);
    const int code = NEXT(PMPI_Test)(request, is_complete, status);
    if (known != being_received.end() && *is_complete) {
        known->second.bring_up();
        being_received.erase(known);
    }
    return code;
}

#ifdef CROSSDOCK_OWN_INIT
int CROSSDOCK_OWN_INIT(Neighbor_alltoallw, )(const void* from, const int* sent,
                                             const MPI_Aint* sent_at,
                                             const MPI_Datatype* sent_types, void* to,
                                             const int* received, const MPI_Aint* received_at,
                                             const MPI_Datatype* received_types, MPI_Comm comm,
                                             MPI_Info info, MPI_Request* request) {
    auto sides =
        see(from, sent, sent_at, sent_types, to, received, received_at, received_types, comm);
    const int code = NEXT(CROSSDOCK_OWN_INIT(Neighbor_alltoallw, ))(
        sides.sends.data(), sent, sent_at, sent_types, sides.receives.data(), received, received_at,
        received_types, comm, info, request);
    persistent.erase(*request);
    persistent.emplace(*request, std::move(sides));
    return code;
}

int PMPI_Start(MPI_Request* request) {
    const auto known = persistent.find(*request);
    if (known != persistent.end()) known->second.sends.bring_down();
    return NEXT(PMPI_Start)(request);
}
#endif

}  // extern "C"

namespace {

struct collective {
    const char* name;
    std::function<void(const void*, void*)> own;  // MPI's
    std::function<void(const void*, void*)> exchange;
    std::function<void(const void*, void*, MPI_Request*)> start;
    std::function<void(const void*, void*, MPI_Request*)> make;
};

#define LIST(...) __VA_ARGS__
#ifdef CROSSDOCK_OWN_INIT
#define MAKE(name, sent, received)                                            \
    [&](const void* from, void* to, MPI_Request* request) {                   \
        CROSSDOCK_INIT(name, )                                                \
        (from, LIST sent, to, LIST received, graph_, MPI_INFO_NULL, request); \
    }
#else
#define MAKE(name, sent, received) nullptr
#endif
#define COLLECTIVE(name, nonblocking_name, sent, received)                              \
    collective {                                                                        \
#name,                                                                                \
            [&](const void* from, void* to) {                                                 \
                PMPI_##name(from, LIST sent, to, LIST received, graph_);                      \
            },                                                                                \
            [&](const void* from, void* to) {                                                 \
                MPI_##name(from, LIST sent, to, LIST received, graph_);                       \
            },                                                                                \
            [&](const void* from, void* to, MPI_Request* request) {                           \
                MPI_##nonblocking_name(from, LIST sent, to, LIST received, graph_, request);  \
            },                                                                                \
            MAKE(name, sent, received) \
    }

// To this rank and the two behind it, from this rank and the two before it; blocks have gaps between them.
class neighborhood {
  public:
    static constexpr std::size_t num_values = 64;

    explicit neighborhood(world& in) : in_(in) {
        std::vector<int> sources, destinations;
        for (int i = 0; i < std::min(in.num_ranks, 3); ++i) {
            sources.push_back(source(i));
            destinations.push_back((in.rank + i) % in.num_ranks);
        }
        degree_ = static_cast<int>(sources.size());
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree_, sources.data(), MPI_UNWEIGHTED,
                                       degree_, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                                       0, &graph_);
        MPI_Type_contiguous(2, MPI_LONG, &pair_);
        MPI_Type_vector(2, 1, 2, MPI_LONG, &gapped_);
        MPI_Type_commit(&pair_);
        MPI_Type_commit(&gapped_);
        for (int i = 0; i < degree_; ++i) {
            add(sends_, count(in.rank, destinations[static_cast<std::size_t>(i)]));
            add(receives_, count(sources[static_cast<std::size_t>(i)], in.rank));
        }
    }
    ~neighborhood() {
        MPI_Type_free(&pair_);
        MPI_Type_free(&gapped_);
        MPI_Comm_free(&graph_);
    }

    std::vector<collective> in_a_row() {
        auto& [sent, sent_at, sent_bytes, sent_types, more] = sends_;
        auto& [received, received_at, received_bytes, received_types, more_too] = receives_;
        return {COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, (2, MPI_LONG), (2, MPI_LONG)),
                COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
                           (sent.data(), sent_at.data(), MPI_LONG),
                           (received.data(), received_at.data(), MPI_LONG)),
                COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
                           (sent.data(), sent_bytes.data(), sent_types.data()),
                           (received.data(), received_bytes.data(), received_types.data())),
                COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, (3, MPI_LONG), (3, MPI_LONG)),
                COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, (3, MPI_LONG),
                           (threes_.data(), received_at.data(), MPI_LONG))};
    }
    collective with_types_in_a_row() { return in_a_row()[2]; }
    // Which only MPI can pack.
    collective with_gaps() {
        return COLLECTIVE(
            Neighbor_alltoallw, Ineighbor_alltoallw,
            (sends_.counts.data(), sends_.bytes.data(), sends_.gapped.data()),
            (receives_.counts.data(), receives_.bytes.data(), receives_.gapped.data()));
    }

    // In all forms, with buffers on the device of some ranks.
    void compare(const collective& one, int num_times) {
        const bool is_even = in_.rank % 2 == 0;
        const std::array<std::array<bool, 2>, 5> places{{{true, true},
                                                         {is_even, false},
                                                         {false, !is_even},
                                                         {in_.rank == 0, in_.rank == 0},
                                                         {false, false}}};
        for (int i = 0; i < num_times; ++i)
            for (const auto& [sends, receives] : places) compare(one, sends, receives);
    }

    // A device that fails is an error of those who need what is there, and nobody waits for ever.
    void expect_failure(const device_array<long>& there) {
#ifdef CROSSDOCK_OWN_INIT
        const auto one = in_a_row()[1];
        std::vector<long> host(num_values);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_set_errhandler(graph_, MPI_ERRORS_RETURN);
        one.make(in_.rank == 0 ? there.data() : host.data(), host.data() + num_values / 2,
                 &request);
        if (in_.rank == 0) break_device();
        const int started = MPI_Start(&request);
        const int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
        const bool has_failed = started != MPI_SUCCESS || waited != MPI_SUCCESS;
        in_.expect(has_failed == (in_.rank < 3), "who needs what is lost fails");
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
#endif
    }

    // As above, of blocks that were planned to be empty, and go beside the plan.
    void expect_failure_beside(const device_array<long>& there) {
        MPI_Comm_set_errhandler(graph_, MPI_ERRORS_RETURN);
        const std::vector<long> host(num_values, in_.rank), none(num_values, -1);
        auto came = none;
        std::vector<int> sent(sends_.counts.size(), in_.rank != 0), received;
        for (int i = 0; i < degree_; ++i) received.push_back(source(i) != 0);
        const auto exchange = [&](const long* from, bool is_blocking) {
            came = none;
            if (is_blocking)
                return MPI_Neighbor_alltoallv(from, sent.data(), sends_.offsets.data(), MPI_LONG,
                                              came.data(), received.data(),
                                              receives_.offsets.data(), MPI_LONG, graph_);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Ineighbor_alltoallv(from, sent.data(), sends_.offsets.data(), MPI_LONG, came.data(),
                                    received.data(), receives_.offsets.data(), MPI_LONG, graph_,
                                    &request);
            return MPI_Wait(&request, MPI_STATUS_IGNORE);
        };
        for (int i = 0; i < 4; ++i)
            in_.expect(exchange(host.data(), i % 2 == 0) == MPI_SUCCESS, "what is planned");
        if (in_.rank == 0) break_device();
        std::ranges::fill(sent, 1);
        std::ranges::fill(received, 1);
        for (const bool is_blocking : {true, false}) {
            const int code = exchange(in_.rank == 0 ? there.data() : host.data(), is_blocking);
            in_.expect((code != MPI_SUCCESS) == (in_.rank < 3), "who needs a lost block fails");
        }
        // No message is left for the next call.
        for (const bool is_blocking : {true, false}) {
            in_.expect(exchange(host.data(), is_blocking) == MPI_SUCCESS, "what comes next");
            for (int i = 0; i < degree_; ++i)
                in_.expect(came[static_cast<std::size_t>(
                               receives_.offsets[static_cast<std::size_t>(i)])] == source(i),
                           "what comes next brings its own values");
        }
    }

  private:
    int source(int i) const { return (in_.rank + in_.num_ranks - i) % in_.num_ranks; }
    // Each later call that looks at it fails.
    static void break_device() {
        const host_bytes from(*mock, 1);
        void* const gone = mock->allocate(1);
        mock->free(gone);
        mock->copy_up(gone, from.data(), 1, nullptr);
        try {
            mock->wait_for(nullptr);
        } catch (const error&) {  // as meant
        }
    }

    struct side {
        std::vector<int> counts;
        std::vector<int> offsets;
        std::vector<MPI_Aint> bytes;
        std::vector<MPI_Datatype> types;
        std::vector<MPI_Datatype> gapped;
    };
    static int count(int from, int to) { return (2 * from + to + 1) % 4; }
    void add(side& to, int count) const {
        to.offsets.push_back(10 * static_cast<int>(to.counts.size()) + 1);
        to.bytes.push_back(static_cast<MPI_Aint>(to.offsets.back() * sizeof(long)));
        to.counts.push_back(count);
        to.types.push_back(pair_);
        to.gapped.push_back(gapped_);
    }

    void compare(const collective& one, bool sends_there, bool receives_there) {
        const std::string where = std::string(one.name) + (sends_there ? ", sends there" : "") +
                                  (receives_there ? ", receives there" : "");
        std::vector<long> sent(num_values), expected(num_values, -1);
        for (std::size_t i = 0; i < num_values; ++i)
            sent[i] = 1000000L * ++number_ + 1000L * in_.rank + static_cast<long>(i);
        one.own(sent.data(), expected.data());
        const std::vector<long> none(num_values, -1);
        const auto run = [&](const char* form, auto&& exchange) {
            const device_array<long> there(*mock, sent), came_there(*mock, none);
            auto came = none;
            exchange(sends_there ? there.data() : sent.data(),
                     receives_there ? came_there.data() : came.data());
            in_.expect((receives_there ? came_there.get(nullptr) : came) == expected,
                       where + ", " + form);
        };
        run("blocking", one.exchange);
        run("nonblocking", [&](const void* from, void* to) {
            MPI_Request request = MPI_REQUEST_NULL;
            one.start(from, to, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        });
        if (!one.make) return;
        run("persistent", [&](const void* from, void* to) {
            MPI_Request request = MPI_REQUEST_NULL;
            one.make(from, to, &request);
            for (int i = 0; i < 2; ++i) {
                MPI_Start(&request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            const auto by_mpi = persistent.find(request);
            if (by_mpi != persistent.end()) by_mpi->second.receives.bring_up();
            MPI_Request_free(&request);
        });
    }

    world& in_;
    int degree_ = 0;
    MPI_Comm graph_ = MPI_COMM_NULL;
    MPI_Datatype pair_ = MPI_DATATYPE_NULL;
    MPI_Datatype gapped_ = MPI_DATATYPE_NULL;
    side sends_, receives_;
    std::vector<int> threes_{3, 3, 3};
    long number_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const bool has_route = argc > 1 && std::string_view(argv[1]) == "routed";
    return run_on_all(argc, argv, [&](world& in) {
        mock = device::open();
        neighborhood here(in);
        if (!has_route) {
            here.compare(here.with_types_in_a_row(), 20);
            in.expect(num_seen > 0, "MPI was compared with");
            return;
        }
        for (const auto& one : here.in_a_row()) here.compare(one, 2);
        in.expect(num_seen == 0, "MPI saw " + std::to_string(num_seen) + " buffers on the device");
        {
            neighborhood other(in);
            other.compare(other.with_gaps(), 1);
            in.expect(num_seen > 0, "MPI packs what has gaps");
        }
        const device_array<long> there(*mock, std::vector<long>(neighborhood::num_values));
        neighborhood other(in);
        other.expect_failure_beside(there);
        here.expect_failure(there);
        mock.reset();
    });
}

// Stands between the library and both its memory and MPI, hence a program of its own: the k-th allocation, or the k-th
// call of MPI, fails on one rank. Then all ranks must throw or none, and what they use must work afterwards.
//
// By hand, CROSSDOCK_FAULT_STRIDE=1 tries every k, and CROSSDOCK_FAULT_FIRST=k CROSSDOCK_FAULT_LAST=k that one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/distributed_array.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"
#include "support/patterns.hpp"

namespace {

// What fails: calls that ask whether something is there or done are as many as there is time for.
enum class injected { memory, call, question };
constexpr std::array names{"memory", "call", "question"};

struct strike {
    bool is_armed = false;
    injected what = injected::memory;
    long at = 0;      // the k-th from now on
    long number = 0;  // so many there were
} now;

const char* operation_name = "";
int world_rank = 0;

bool fails(injected what) { return now.is_armed && what == now.what && ++now.number == now.at; }

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (fails(injected::memory)) throw std::bad_alloc();
    void* const found =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(std::max<std::size_t>(bytes, 1))
            : std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
    if (found == nullptr) throw std::bad_alloc();
    return found;
}

extern "C" void report_hang(int) {
    std::array<char, 200> text{};
    const int length =
        std::snprintf(text.data(), text.size(), "HANG: rank %d, %s, %s %ld\n", world_rank,
                      operation_name, names[static_cast<std::size_t>(now.what)], now.at);
    if (write(STDERR_FILENO, text.data(), static_cast<std::size_t>(length)) < 0) _exit(3);
    _exit(2);
}

long number_in_environment(const char* variable, long otherwise) {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::atol(text) : otherwise;
}

}  // namespace

// Not inline: the compiler would see memory of std::malloc that operator delete gets, and the other way round.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

#define CROSSDOCK_FAILING(what, name, parameters, arguments) \
    int MPI_##name parameters {                              \
        if (fails(injected::what)) return MPI_ERR_OTHER;     \
        return PMPI_##name arguments;                        \
    }

extern "C" {
CROSSDOCK_FAILING(call, Isend,
                  (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Issend,
                  (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Irecv,
                  (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Imrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Request* e),
                  (a, b, c, d, e))
CROSSDOCK_FAILING(call, Send_init,
                  (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Recv_init,
                  (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Iallreduce,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                   MPI_Request* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Ireduce_scatter_block,
                  (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                   MPI_Request* g),
                  (a, b, c, d, e, f, g))
CROSSDOCK_FAILING(call, Ibcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e, MPI_Request* f),
                  (a, b, c, d, e, f))
CROSSDOCK_FAILING(call, Ibarrier, (MPI_Comm a, MPI_Request* b), (a, b))
CROSSDOCK_FAILING(call, Iallgather,
                  (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g,
                   MPI_Request* h),
                  (a, b, c, d, e, f, g, h))
CROSSDOCK_FAILING(call, Type_contiguous, (int a, MPI_Datatype b, MPI_Datatype* c), (a, b, c))
CROSSDOCK_FAILING(call, Type_commit, (MPI_Datatype * a), (a))
CROSSDOCK_FAILING(call, Get_count, (const MPI_Status* a, MPI_Datatype b, int* c), (a, b, c))
CROSSDOCK_FAILING(question, Iprobe, (int a, int b, MPI_Comm c, int* d, MPI_Status* e),
                  (a, b, c, d, e))
CROSSDOCK_FAILING(question, Improbe,
                  (int a, int b, MPI_Comm c, int* d, MPI_Message* e, MPI_Status* f),
                  (a, b, c, d, e, f))
CROSSDOCK_FAILING(question, Test, (MPI_Request * a, int* b, MPI_Status* c), (a, b, c))
CROSSDOCK_FAILING(question, Wait, (MPI_Request * a, MPI_Status* b), (a, b))
}

namespace crossdock::injected_faults_test {
namespace {

struct operation {
    std::string name;
    std::function<void(const context&)> run;
};

// Makes what a call is given, which is not the library's.
template <class Make>
auto given(Make&& make) {
    const bool is_armed = std::exchange(now.is_armed, false);
    auto result = make();
    now.is_armed = is_armed;
    return result;
}

std::vector<operation> operations() {
    std::vector<operation> all;
    const auto add = [&](std::string name, std::function<void(const context&)> run) {
        all.push_back({std::move(name), std::move(run)});
    };
    const auto mine = [](const context& where) {
        return given([&] {
            return test::all_to_all_pattern(
                where.num_ranks())[static_cast<std::size_t>(where.rank())];
        });
    };
    for (const char* const executor : {"persistent", "shared_memory"}) {
        for (const char* const route : {"direct", "three_step", "auto"}) {
            add(std::string("neighbor_") + route + "_" + executor, [=](const context& where) {
                neighbor_exchange(
                    where, mine(where),
                    {.route = route, .executor = executor, .prepare = preparation::both});
            });
        }
        add(std::string("duplicate_") + executor, [=](const context& where) {
            neighbor_exchange halo(where, mine(where),
                                   {.route = "three_step", .executor = executor});
            const auto twin = halo.duplicate();
        });
        add(std::string("prepare_") + executor, [=](const context& where) {
            neighbor_exchange halo(where, mine(where),
                                   {.route = "three_step", .executor = executor});
            halo.prepare(24);
        });
    }
    for (const char* const route : {"three_step", "auto"}) {
        add(std::string("found_") + route, [=](const context& where) {
            const neighbor_exchange halo(where, mine(where), {.route = route});
            const neighbor_exchange again(where, mine(where), {.route = route});
            EXPECT_EQ(&again.plan(), &halo.plan());
        });
    }
    for (const char* const algorithm :
         {"personalized", "reduce_scatter", "nonblocking", "routed:direct", "routed:three_step",
          "shared_memory", "locality_personalized", "locality_nonblocking", "rma", "rma_fence",
          "locality_rma"}) {
        const auto destinations = [](const context& where) {
            return given([&] {
                return std::vector<rank_t>{(where.rank() + 1) % where.num_ranks(), 0};
            });
        };
        const auto name_of = [=](const char* size) {
            std::string name = std::string("sparse_") + size + algorithm;
            std::ranges::replace(name, ':', '_');
            return name;
        };
        add(name_of("fixed_"), [=](const context& where) {
            static const std::vector<int> values{1, 2, 3, 4};
            const auto to = destinations(where);
            const auto options = given([&] { return exchange_options{.algorithm = algorithm}; });
            sparse_exchange(where, constant_messages<int>{to, 2, values}, options);
        });
        if (takes_one_size_only(parse_exchange_algorithm(algorithm).method)) continue;
        add(name_of("variable_"), [=](const context& where) {
            static const std::vector<int> values{1, 2, 3};
            static const std::vector<count_t> counts{1, 2};
            const auto to = destinations(where);
            const auto options = given([&] { return exchange_options{.algorithm = algorithm}; });
            sparse_exchange(where, variable_messages<int>{to, counts, {}, values}, options);
        });
    }
    add("gather_scatter", [](const context& where) {
        const auto ids = given([&] {
            return std::vector<count_t>{1 + where.rank(), 2 + where.rank(), 100};
        });
        gather_scatter(where, ids, {.route = "three_step"});
    });
    const std::array transports{std::pair("routed", array_transport::routed),
                                std::pair("plain", array_transport::plain),
                                std::pair("rma", array_transport::rma)};
    for (const auto& [name, transport] : transports) {
        for (const bool has_sizes : {false, true}) {
            add(std::string("array_") + name + (has_sizes ? "_of_sizes" : ""),
                [=](const context& where) {
                    array_options<int> options{.transport = transport};
                    if (has_sizes) options.num_local = 2 + where.rank() % 2;
                    const count_t num_entries = 2 * where.num_ranks() + where.num_ranks() / 2;
                    distributed_array<int>(where, num_entries, options);
                });
        }
    }
    for (const bool shared : {false, true}) {
        add(shared ? "stream_shared_memory" : "stream", [=](const context& where) {
            stream<int> items(where, [](auto&&...) {}, {.shared_memory = shared});
            given([&] {
                items.close();
                return 0;
            });
        });
    }
    return all;
}

class Injected : public testing::TestWithParam<operation> {
  protected:
    static void SetUpTestSuite() {
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        int num_ranks = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        // Two nodes, of which each is a region.
        nodes = topology::from_string(
            num_ranks == 1
                ? "1"
                : std::to_string(num_ranks / 2) + "," + std::to_string(num_ranks - num_ranks / 2),
            num_ranks);
        where.emplace(MPI_COMM_WORLD);
        *where = where->with_topology(*nodes).with_nodes(*nodes);
        std::signal(SIGALRM, &report_hang);
    }
    static void TearDownTestSuite() {
        where->close();
        where.reset();
    }

    // What one run gave on this rank.
    struct outcome {
        errc code = errc::success;
        std::string text;
        bool has_struck = false;
    };

    static outcome run(injected what, long at) {
        outcome result;
        operation_name = GetParam().name.c_str();
        now = {world_rank == striking_rank(), what, at, 0};
        alarm(static_cast<unsigned>(number_in_environment("CROSSDOCK_FAULT_SECONDS", 60)));
        std::optional<error> thrown;
        try {
            GetParam().run(*where);
        } catch (const error& fault) {
            now.is_armed = false;
            thrown = fault;
        } catch (const std::bad_alloc&) {
            now.is_armed = false;
            thrown.emplace(errc::internal, "std::bad_alloc");
        }
        result.has_struck =
            now.is_armed ? now.number >= now.at : thrown.has_value() && now.number >= now.at;
        now.is_armed = false;
        if (thrown) {
            result.code = thrown->code();
            result.text = thrown->what();
        }
        return result;
    }

    static int striking_rank() { return where->num_ranks() / 2; }

    // All ranks alike: the code, or success.
    static void expect_all_or_none(injected what, long at, const outcome& own) {
        const auto code = static_cast<int>(own.code);
        std::array<int, 2> least_and_most{code, -code};
        MPI_Allreduce(MPI_IN_PLACE, least_and_most.data(), 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        alarm(0);
        ASSERT_EQ(least_and_most[0], -least_and_most[1])
            << names[static_cast<std::size_t>(what)] << " " << at << ": " << own.text;
        if (own.code == errc::success) return;
        ASSERT_EQ(own.code, what == injected::memory ? errc::out_of_memory : errc::mpi_failure)
            << names[static_cast<std::size_t>(what)] << " " << at << ": " << own.text;
    }

    static void sweep(injected what, long stride) {
        stride = number_in_environment("CROSSDOCK_FAULT_STRIDE", stride);
        const long first = number_in_environment("CROSSDOCK_FAULT_FIRST", 1);
        const long last = number_in_environment("CROSSDOCK_FAULT_LAST", 1'000'000);
        long num_thrown = 0;
        long num_tried = 0;
        for (long at = first; at <= last; at += stride) {
            const auto struck = run(what, at);
            ASSERT_NO_FATAL_FAILURE(expect_all_or_none(what, at, struck));
            int is_over = world_rank == striking_rank() && !struck.has_struck ? 1 : 0;
            MPI_Allreduce(MPI_IN_PLACE, &is_over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            if (is_over) break;
            ++num_tried;
            num_thrown += struck.code != errc::success ? 1 : 0;
            const auto later = run(injected::memory, 0);
            ASSERT_NO_FATAL_FAILURE(expect_all_or_none(injected::memory, 0, later));
            ASSERT_EQ(later.code, errc::success)
                << "after " << names[static_cast<std::size_t>(what)] << " " << at << ": "
                << later.text;
            if (what == injected::question) at = at * 5 / 4;
        }
        if (world_rank == 0)
            std::printf("%s: %ld tried, %ld thrown\n", names[static_cast<std::size_t>(what)],
                        num_tried, num_thrown);
    }

    static std::optional<topology> nodes;
    static std::optional<context> where;
};

std::optional<topology> Injected::nodes;
std::optional<context> Injected::where;

INSTANTIATE_TEST_SUITE_P(Faults, Injected, testing::ValuesIn(operations()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(Injected, MemoryThatIsRefusedOnOneRankFailsOnAllOrNone) {
    run(injected::memory, 0);  // what is made once is there
    sweep(injected::memory, 37);
}

TEST_P(Injected, CallsThatFailOnOneRankFailOnAllOrNone) {
    run(injected::memory, 0);
    sweep(injected::call, 7);
    sweep(injected::question, 3);
}

}  // namespace
}  // namespace crossdock::injected_faults_test

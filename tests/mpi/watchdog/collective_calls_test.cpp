// CROSSDOCK_WATCHDOG names each collective call that a rank does not make. tests/mpi/context has what the others do.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "crossdock/crossdock.h"
#include "crossdock/discover_topology.hpp"
#include "crossdock/distributed_array.hpp"
#include "crossdock/extend.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"
#include "src/base/watchdog.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::collective_calls_test {
namespace {

using test::thrown_by;

// Lets waits of this process be too long while it lives, whatever the time.
class late_clock {
  public:
    late_clock()
        : thread_([](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  watchdog::overdue = watchdog::num_acts.load();
                  std::this_thread::sleep_for(std::chrono::milliseconds(2));
              }
          }) {}

  private:
    std::jthread thread_;
};

int own_rank = 0;
int num_ranks = 0;
bool is_last() { return own_rank == num_ranks - 1; }

pattern own_pattern() {
    return test::all_to_all_pattern(num_ranks)[static_cast<std::size_t>(own_rank)];
}

// What a call needs, made on all ranks.
struct objects {
    context where{MPI_COMM_WORLD};
    pattern own = own_pattern();
    neighbor_exchange halo{where, own};
    gather_scatter shared{where, std::vector<count_t>{1, 2}};
    distributed_array<int> table{where, 8, {.name = "table"}};
    std::vector<count_t> one_id{1};
};

struct named_call {
    const char* in;
    std::function<void(objects&)> make;
};

const std::vector<named_call>& calls_of_cpp() {
    using std::vector;
    static const vector<named_call> all{
        {"making a pattern",
         [](auto& with) {
             static_cast<void>(
                 pattern_from_needed(with.where.comm(), vector<count_t>{own_rank}, {}));
         }},
        {"making a pattern",
         [](auto& with) { static_cast<void>(pattern_from_needed(with.where, own_rank, 1, {})); }},
        {"writing a pattern",
         [](auto& with) { write_pattern(with.where, with.own, "never_written.mtx"); }},
        {"discovering a topology",
         [](auto& with) { static_cast<void>(discover_topology(with.where)); }},
        {"discovering a topology",
         [](auto& with) { static_cast<void>(discover_topology(with.where, locality::numa)); }},
        {"gathering a topology",
         [](auto& with) { static_cast<void>(gather_topology(with.where, 0)); }},
        {"counting cores",
         [](auto& with) {
             std::optional<error> fault;
             count_shared_cores(with.where, fault);
         }},
        {"splitting a context", [](auto& with) { static_cast<void>(with.where.comm().split(0)); }},
        {"making a neighbor exchange",
         [](auto& with) { const neighbor_exchange made(with.where, with.own); }},
        {"making a neighbor exchange",
         [](auto& with) { const neighbor_exchange made(with.where, with.halo.plan()); }},
        {"duplicating a neighbor exchange",
         [](auto& with) { static_cast<void>(with.halo.duplicate()); }},
        {"preparing a neighbor exchange", [](auto& with) { with.halo.prepare(3); }},
        {"exchanging records",
         [](auto& with) {
             item_records<int> records;
             records.offsets.resize(static_cast<std::size_t>(with.own.num_items) + 1);
             static_cast<void>(with.halo.forward_records(records));
         }},
        {"making a gather-scatter",
         [](auto& with) { const gather_scatter made(with.where, with.one_id); }},
        {"duplicating a gather-scatter",
         [](auto& with) { static_cast<void>(with.shared.duplicate()); }},
        {"flagging duplicates", [](auto& with) { flag_duplicates(with.where, with.one_id); }},
        {"making a sparse exchange",
         [](auto& with) {
             static_cast<void>(
                 sparse_exchange(with.where, vector<rank_t>{}, vector<count_t>{}, vector<int>{}));
         }},
        {"making a distributed array",
         [](auto& with) { const distributed_array<int> made(with.where, 8); }},
        {"exchange 1 of distributed array #1 table",
         [](auto& with) {
             vector<int> found;
             with.table.read(vector<count_t>{}, found);
         }},
        {"preparing a batch",
         [](auto& with) { static_cast<void>(with.table.prepare(vector<count_t>{})); }},
        {"making a stream",
         [](auto& with) { const stream<int> made(with.where, [](auto&, const auto&) {}); }},
        {"closing a context", [](auto& with) { with.where.close(); }},
        {"making a collective call", [](auto& with) { agree(with.where, std::nullopt); }},
    };
    return all;
}

// What C hides from C++.
struct handles {
    crossdock_context* where = nullptr;
    crossdock_pattern* own = nullptr;
    crossdock_plan* plan = nullptr;
    crossdock_neighbor_exchange* halo = nullptr;
    crossdock_gather_scatter* shared = nullptr;
    crossdock_distributed_array* table = nullptr;
    crossdock_prepared_batch* batch = nullptr;
    crossdock_stream* numbers = nullptr;

    static void expect(crossdock_status status) {
        EXPECT_EQ(status, CROSSDOCK_SUCCESS) << crossdock_last_error();
    }
    handles() {
        const std::int64_t ids[] = {1, 2};
        MPI_Comm user = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &user);
        MPI_Comm_set_errhandler(user, MPI_ERRORS_RETURN);
        expect(crossdock_context_create(user, nullptr, &where));
        MPI_Comm_free(&user);
        expect(crossdock_pattern_from_needed_range(where, own_rank, 1, 0, nullptr, &own));
        expect(crossdock_plan_compile(where, own, nullptr, &plan));
        expect(crossdock_neighbor_exchange_create(where, own, nullptr, &halo));
        expect(crossdock_gather_scatter_create(where, 2, ids, nullptr, &shared));
        expect(crossdock_distributed_array_create(where, 8, MPI_INT, nullptr, &table));
        expect(crossdock_distributed_array_prepare(table, 0, nullptr, &batch));
        const auto handle = [](void*, crossdock_stream_port*, const void*, std::int64_t) {
            return 0;
        };
        expect(crossdock_stream_create(where, 4, handle, nullptr, nullptr, &numbers));
    }
    handles(const handles&) = delete;
    handles& operator=(const handles&) = delete;
    ~handles() {
        expect(crossdock_stream_free(numbers));
        expect(crossdock_prepared_batch_free(batch));
        expect(crossdock_distributed_array_free(table));
        expect(crossdock_gather_scatter_free(shared));
        expect(crossdock_neighbor_exchange_free(halo));
        expect(crossdock_plan_free(plan));
        expect(crossdock_pattern_free(own));
        expect(crossdock_context_free(where));
    }
};

struct named_function {
    const char* in;
    std::function<crossdock_status(handles&)> call;
};

#define CROSSDOCK_CALLED_IN(in, name, ...)                  \
    {                                                       \
        in, [](handles& with) { return name(__VA_ARGS__); } \
    }
#define CROSSDOCK_CALLED(name, ...) CROSSDOCK_CALLED_IN(#name, name, __VA_ARGS__)
constexpr const char* batch = "exchange 1 of distributed array #1 unnamed";

crossdock_pattern* made_pattern = nullptr;
crossdock_plan* made_plan = nullptr;
crossdock_topology* made_topology = nullptr;
crossdock_neighbor_exchange* made_exchange = nullptr;
crossdock_gather_scatter* made_gather = nullptr;
crossdock_distributed_array* made_array = nullptr;
crossdock_prepared_batch* made_batch = nullptr;
crossdock_stream* made_stream = nullptr;
std::int64_t number = 0;
std::int64_t* numbers = nullptr;
int* sources = nullptr;
void* memory = nullptr;
const crossdock_neighbor_alltoallv_int_arguments no_neighbors{};

const std::vector<named_function>& functions_of_c() {
    static const std::vector<named_function> all{
        CROSSDOCK_CALLED(crossdock_pattern_from_needed, with.where, 0, nullptr, 0, nullptr,
                         &made_pattern),
        CROSSDOCK_CALLED(crossdock_pattern_from_needed_range, with.where, 0, 0, 0, nullptr,
                         &made_pattern),
        CROSSDOCK_CALLED(crossdock_pattern_write, with.where, with.own, "never_written.mtx", 8),
        CROSSDOCK_CALLED(crossdock_topology_discover, with.where, CROSSDOCK_NODE, &made_topology),
        CROSSDOCK_CALLED(crossdock_topology_gather, with.where, 0, &made_topology),
        CROSSDOCK_CALLED(crossdock_plan_compile, with.where, with.own, nullptr, &made_plan),
        CROSSDOCK_CALLED(crossdock_neighbor_exchange_create, with.where, with.own, nullptr,
                         &made_exchange),
        CROSSDOCK_CALLED(crossdock_neighbor_exchange_create_from_plan, with.where, with.plan,
                         nullptr, &made_exchange),
        CROSSDOCK_CALLED(crossdock_neighbor_exchange_create_from_arguments, with.where,
                         &no_neighbors, MPI_INT, nullptr, &made_exchange),
        CROSSDOCK_CALLED(crossdock_neighbor_exchange_duplicate, with.halo, &made_exchange),
        CROSSDOCK_CALLED(crossdock_neighbor_exchange_prepare, with.halo, 3),
        CROSSDOCK_CALLED(crossdock_gather_scatter_create, with.where, 0, nullptr, nullptr,
                         &made_gather),
        CROSSDOCK_CALLED(crossdock_flag_duplicates, with.where, 0, nullptr),
        CROSSDOCK_CALLED(crossdock_gather_scatter_duplicate, with.shared, &made_gather),
        CROSSDOCK_CALLED(crossdock_sparse_exchange_alloc, with.where, 0, nullptr, 1, MPI_INT,
                         nullptr, &number, &sources, &memory, nullptr),
        CROSSDOCK_CALLED(crossdock_sparse_exchange, with.where, 0, nullptr, 1, MPI_INT, nullptr,
                         &number, nullptr, 1, MPI_INT, nullptr, nullptr),
        CROSSDOCK_CALLED(crossdock_distributed_array_create, with.where, 8, MPI_INT, nullptr,
                         &made_array),
        CROSSDOCK_CALLED_IN(batch, crossdock_distributed_array_read, with.table, 0, nullptr,
                            nullptr),
        CROSSDOCK_CALLED_IN(batch, crossdock_distributed_array_write, with.table, 0, nullptr,
                            nullptr),
        CROSSDOCK_CALLED_IN(batch, crossdock_distributed_array_update, with.table, 0, nullptr,
                            nullptr, MPI_SUM),
        CROSSDOCK_CALLED_IN(batch, crossdock_distributed_array_step, with.table, nullptr, nullptr,
                            MPI_OP_NULL, nullptr),
        CROSSDOCK_CALLED(crossdock_distributed_array_prepare, with.table, 0, nullptr, &made_batch),
        CROSSDOCK_CALLED(crossdock_prepared_batch_gather, with.batch, nullptr, &numbers, &memory),
        CROSSDOCK_CALLED(crossdock_prepared_batch_scatter, with.batch, nullptr, nullptr),
        CROSSDOCK_CALLED(crossdock_prepared_batch_fetch_and_update, with.batch, nullptr, nullptr,
                         MPI_SUM),
        CROSSDOCK_CALLED(crossdock_prepared_batch_num_gathered, with.batch, &number),
        CROSSDOCK_CALLED(
            crossdock_stream_create, with.where, 4,
            [](void*, crossdock_stream_port*, const void*, std::int64_t) { return 0; }, nullptr,
            nullptr, &made_stream),
        CROSSDOCK_CALLED(crossdock_stream_close, with.numbers),
        CROSSDOCK_CALLED(crossdock_context_close, with.where),
    };
    return all;
}

class CollectiveCalls : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        if (num_ranks == 1) GTEST_SKIP() << "nobody to wait for";
        setenv("CROSSDOCK_WATCHDOG", "1000:throw:/dev/null", 1);
    }
    void TearDown() override { unsetenv("CROSSDOCK_WATCHDOG"); }

    // The last rank waits in MPI meanwhile.
    template <class Call>
    error without_the_last(Call call) {
        MPI_Request all_are_done = MPI_REQUEST_NULL;
        error found(errc::success, "");
        if (!is_last()) {
            const late_clock late;
            found = thrown_by(call);
        }
        MPI_Ibarrier(MPI_COMM_WORLD, &all_are_done);
        MPI_Wait(&all_are_done, MPI_STATUS_IGNORE);
        return found;
    }
    static std::string text(const std::string& in) {
        return "rank " + std::to_string(own_rank) + " of " + std::to_string(num_ranks) +
               " has waited 1000.0 s for other ranks in " + in +
               "; let `crossdock why /dev/null` name the rank that others wait for";
    }
};

TEST_F(CollectiveCalls, TellWhatARankWaitsInThatIsLeftAlone) {
    for (const auto& [in, make] : calls_of_cpp()) {
        objects with;

        const auto fault = without_the_last([&] { make(with); });

        if (!is_last()) {
            EXPECT_EQ(fault.code(), errc::timeout) << in;
            EXPECT_EQ(fault.what(), text(in));
        }
        with.where.comm().abandon();
    }
}

TEST_F(CollectiveCalls, TellWhatARankWaitsInInC) {
    for (const auto& [in, call] : functions_of_c()) {
        handles with;

        const auto fault = without_the_last([&] {
            EXPECT_EQ(call(with), CROSSDOCK_TIMEOUT) << in;
            throw error(errc::timeout, crossdock_last_error());
        });

        if (!is_last()) {
            EXPECT_EQ(fault.what(), text(in));
        }
        behind(with.where).comm().abandon();
    }
}

// The calls are made in another order on the last rank.
TEST_F(CollectiveCalls, ThatDifferFailOnAllRanks) {
    const auto& all = calls_of_cpp();
    for (std::size_t k = 0; k < all.size(); ++k) {
        const auto& [in, make] = all[k];
        const auto& [other_in, make_other] = all[(k + 2) % all.size()];
        objects with;

        const auto fault = thrown_by(
            [&, one = &make, other = &make_other] { is_last() ? (*other)(with) : (*one)(with); });

        EXPECT_EQ(fault.code(), errc::invalid_argument) << in << ", " << other_in;
        EXPECT_EQ(fault.rank(), num_ranks - 1);
        with.where.comm().abandon();
    }
}

}  // namespace
}  // namespace crossdock::collective_calls_test

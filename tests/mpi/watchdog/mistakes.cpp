// usage: mistakes NAME    four ranks, of which the last one makes a mistake, so that the others wait forever.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "crossdock/distributed_array.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/plan.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"
#include "support/patterns.hpp"

namespace {

using namespace crossdock;

int own_rank = 0;
int num_ranks = 0;
bool is_mistaken() { return own_rank == num_ranks - 1; }

[[noreturn]] void do_something_else() {
    for (;;) pause();
}

// Two objects that all ranks make, each exchanged once.
struct program {
    context where;
    pattern own = test::all_to_all_pattern(num_ranks)[static_cast<std::size_t>(own_rank)];
    std::vector<double> items = std::vector<double>(static_cast<std::size_t>(own.num_items), 1.0);
    std::vector<double> slots = std::vector<double>(static_cast<std::size_t>(own.num_slots));
    neighbor_exchange halo{where, own, {.route = "direct", .name = "halo"}};
    neighbor_exchange other{where, own, {.route = "direct", .name = "other"}};

    explicit program(const std::string& topology = "")
        : where(MPI_COMM_WORLD, {.topology = topology}) {
        halo.forward(items, slots);
        other.forward(items, slots);
    }
};

void skips_an_exchange() {
    program all;
    if (is_mistaken()) do_something_else();
    all.halo.forward(all.items, all.slots);
}

void sits_in_mpi() {
    program all;
    if (is_mistaken()) MPI_Barrier(MPI_COMM_WORLD);
    all.halo.forward(all.items, all.slots);
}

// Others need what this rank forwards.
void blocks_before_wait() {
    program all("2x2");
    neighbor_exchange routed(all.where, all.own,
                             {.route = "two_step", .executor = "persistent", .name = "routed"});
    routed.start(all.items, all.slots);
    if (is_mistaken()) MPI_Barrier(MPI_COMM_WORLD);
    routed.wait();
}

void starts_another() {
    program all;
    auto& one = is_mistaken() ? all.other : all.halo;
    one.forward(all.items, all.slots);
}

void makes_no_context() {
    if (is_mistaken()) do_something_else();
    program all;
}

void makes_another() {
    program all;
    if (is_mistaken()) all.halo.forward(all.items, all.slots);
    const distributed_array<int> table(all.where, 8, {.name = "table"});
}

void leaves_out_a_batch() {
    program all;
    distributed_array<int> table(all.where, 8, {.name = "table"});
    if (is_mistaken()) MPI_Barrier(MPI_COMM_WORLD);
    table.update(std::vector<count_t>{0}, std::vector<int>{1}, sum{});
}

void skips_a_combination() {
    program all;
    gather_scatter shared(all.where, std::vector<count_t>{1, 2},
                          {.method = "owners", .route = "direct", .name = "shared"});
    std::vector<double> values(2, 1);
    shared.combine(values, sum{});
    if (is_mistaken()) MPI_Barrier(MPI_COMM_WORLD);
    shared.combine(values, sum{});
}

void does_not_drain() {
    program all;
    stream<int> numbers(all.where, [](auto&, const auto&) {}, {.name = "numbers"});
    if (is_mistaken()) MPI_Barrier(MPI_COMM_WORLD);
    numbers.port(0).drain().wait();
}

// Rank 0 waits for the message that goes to rank 1.
void awaits_what_goes_elsewhere() {
    program all;
    const std::vector<rank_t> destinations(is_mistaken() ? 1 : 0, 1);
    const std::vector<count_t> counts(destinations.size(), 1);
    const std::vector<int> values(destinations.size(), 1);
    static_cast<void>(sparse_exchange(
        all.where, destinations, counts, values,
        {.algorithm = "personalized", .num_sources = own_rank == 0 ? 1 : 0, .name = "messages"}));
}

void ends() {
    program all;
    if (is_mistaken()) {
        MPI_Finalize();
        std::exit(0);
    }
    all.halo.forward(all.items, all.slots);
}

// The last rank has compiled the plans of a pattern in which it sends nothing to rank 0.
void patterns_differ() {
    program all;
    test::pattern_builder builder(num_ranks);
    for (rank_t from = 0; from < num_ranks; ++from) {
        for (rank_t to = 0; to < num_ranks; ++to) {
            const bool is_left_out = is_mistaken() && from == num_ranks - 1 && to == 0;
            if (from != to && !is_left_out) builder.send(from, 0, to);
        }
    }
    const auto plans =
        compile(all.where.topology(), builder.take(), *make_route("direct", all.where.topology()));
    neighbor_exchange given(all.where, plans[static_cast<std::size_t>(own_rank)],
                            {.executor = "persistent", .name = "given"});
    std::vector<double> items(1), slots(static_cast<std::size_t>(num_ranks) - 1);
    given.forward(items, slots);
}

const std::map<std::string, void (*)()> mistakes{
    {"skips_an_exchange", skips_an_exchange},
    {"sits_in_mpi", sits_in_mpi},
    {"blocks_before_wait", blocks_before_wait},
    {"starts_another", starts_another},
    {"makes_no_context", makes_no_context},
    {"makes_another", makes_another},
    {"leaves_out_a_batch", leaves_out_a_batch},
    {"skips_a_combination", skips_a_combination},
    {"does_not_drain", does_not_drain},
    {"awaits_what_goes_elsewhere", awaits_what_goes_elsewhere},
    {"ends", ends},
    {"patterns_differ", patterns_differ},
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    mistakes.at(argv[1])();
    MPI_Barrier(MPI_COMM_WORLD);
    std::fprintf(stderr, "%s did not hang\n", argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

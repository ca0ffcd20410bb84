// Memory or a call of MPI is refused on one rank, every k-th in turn. Then all ranks must throw or none, what they use
// must work afterwards, and nothing of MPI's may be left.
//
// By hand, CROSSDOCK_FAULT_STRIDE=1 tries every k, and CROSSDOCK_FAULT_FIRST=k CROSSDOCK_FAULT_LAST=k that one;
// CROSSDOCK_FAULT_KIND=call_twice only faults of that kind, and CROSSDOCK_FAULT_SECONDS says how long a hang takes.
// With CROSSDOCK_FAULT_ONE_NODE=1 all ranks share memory.
// sweep.py tries all and writes a record, by CROSSDOCK_FAULT_RECORD=file.
#include <gtest/gtest.h>
#include <sys/time.h>

#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crossdock/crossdock.h"
#include "crossdock/discover_topology.hpp"
#include "crossdock/distributed_array.hpp"
#include "crossdock/extend.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/request_stream.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"
#include "faults/failing_calls.hpp"
#include "support/patterns.hpp"
#include "support/shared_files.hpp"

namespace crossdock::injected_faults_test {
namespace {

struct operation {
    std::string name;
    std::function<void(const context&)> run;  // null: makes a context of its own
    bool is_first = false;                    // on a new communicator every time
    bool is_collective = true;                // all ranks throw or none; otherwise each for itself
    bool is_end = false;                      // what is tried is closing the context, after `run`
};

void PrintTo(const operation& one, std::ostream* out) { *out << one.name; }

// Makes what a call is given, which is not the library's.
template <class Make>
auto given(Make&& make) {
    const bool is_armed = std::exchange(now.is_armed, false);
    auto result = make();
    now.is_armed = is_armed;
    return result;
}

template <class Call>
std::exception_ptr thrown_by(Call&& call) {
    try {
        call();
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

// From the left neighbor, and on rank 0 also from every rank.
void expect_sum(const context& where, const std::vector<int>& values, int from_left,
                int from_each) {
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0),
              from_left + (where.rank() == 0 ? from_each * where.num_ranks() : 0));
}

std::string named(std::string name) {
    std::ranges::replace(name, ':', '_');
    return name;
}

// Batches of an array that is there: a batch that fails changes nothing.
void add_batches(std::vector<operation>& all) {
    using word_array = distributed_array<std::int64_t>;
    const std::array transports{std::pair("routed", array_transport::routed),
                                std::pair("plain", array_transport::plain),
                                std::pair("rma", array_transport::rma)};
    struct request_lists {
        std::vector<count_t> indices;
        std::vector<std::int64_t> values, out;
        explicit request_lists(const context& where)
            : indices{0, 1, where.rank(), 2 * where.num_ranks() - 1},
              values(indices.size(), 1),
              out(indices.size()) {}
    };
    const auto added = [](const std::int64_t& a, const std::int64_t& b) {
        return a + b;
    };  // may throw
    for (const auto& [name, transport] : transports) {
        const auto add = [&, kind = transport](const char* what, auto batch) {
            all.push_back(
                {std::string("batch_") + what + "_" + name, [=](const context& where) {
                     auto array = given([&] {
                         return std::make_unique<word_array>(
                             where, 2 * where.num_ranks(),
                             array_options<std::int64_t>{.route = "three_step", .transport = kind});
                     });
                     auto lists = given([&] { return request_lists(where); });
                     const auto values_of_all = [&] {
                         return given([&] {
                             std::vector<count_t> every(static_cast<std::size_t>(array->size()));
                             std::iota(every.begin(), every.end(), count_t{0});
                             std::vector<std::int64_t> values(every.size());
                             array->read(every, values);
                             return values;
                         });
                     };
                     // RMA makes its window now, so that what is tried is a batch.
                     const auto before = values_of_all();
                     const auto fault = thrown_by([&] { batch(*array, lists); });
                     const auto after = values_of_all();
                     if (fault) {
                         EXPECT_EQ(after, before);
                         std::rethrow_exception(fault);
                     }
                     given([&] {
                         array->close();
                         return 0;
                     });
                 }});
        };
        add("read", [](word_array& array, request_lists& l) { array.read(l.indices, l.out); });
        add("write", [](word_array& array, request_lists& l) { array.write(l.indices, l.values); });
        add("update",
            [](word_array& array, request_lists& l) { array.update(l.indices, l.values, sum()); });
        add("step", [](word_array& array, request_lists& l) {
            given([&] {
                array.write(l.indices[0], 7);
                array.update(l.indices[1], 8);
                array.read(l.indices[2], &l.out[2]);
                return 0;
            });
            array.step();
        });
        if (transport != array_transport::rma) {
            add("update_that_may_throw", [=](word_array& array, request_lists& l) {
                array.update(l.indices, l.values, added);
            });
        }
        add("prepare", [](word_array& array, request_lists& l) {
            const auto same = array.prepare(l.indices);
        });
    }
    all.push_back({"batch_first_rma", [](const context& where) {
                       auto array = given([&] {
                           return std::make_unique<word_array>(
                               where, 2 * where.num_ranks(),
                               array_options<std::int64_t>{.transport = array_transport::rma});
                       });
                       auto lists = given([&] { return request_lists(where); });
                       array->read(lists.indices, lists.out);
                   }});
}

// What is started and waited for: an error is each rank's own, but nobody waits for ever, and the next one is right.
void add_starts(std::vector<operation>& all) {
    const auto add = [&](std::string name, std::function<void(const context&)> run) {
        all.push_back({std::move(name), std::move(run), false, false});
    };
    // `exchange()` twice, and again without a fault; then `check()`.
    const auto twice = [](auto&& exchange, auto&& check) {
        auto fault = thrown_by(exchange);
        const auto later = thrown_by(exchange);
        if (!fault) fault = later;
        given([&] {
            exchange();
            check();
            return 0;
        });
        if (fault) std::rethrow_exception(fault);
    };
    struct readiness {
        const char* name;
        preparation prepare;
        std::size_t
            item_bytes;  // of another size than what is exchanged: both directions are made ready at the start
    };
    for (const char* const executor : {"persistent", "shared_memory", "auto"}) {
        for (const auto& ready : {readiness{"", preparation::both, sizeof(double)},
                                  readiness{"lazy_", preparation::lazy, sizeof(double)},
                                  readiness{"new_size_", preparation::both, sizeof(float)}}) {
            for (const char* const kind : {"", "_reverse", "_datatype"}) {
                const std::string name = std::string("start_") + ready.name + executor + kind;
                add(name, [=, is_reverse = std::string(kind) == "_reverse",
                           has_datatype = std::string(kind) == "_datatype"](const context& where) {
                    auto halo = given([&] {
                        return neighbor_exchange(
                            where,
                            test::all_to_all_pattern(
                                where.num_ranks())[static_cast<std::size_t>(where.rank())],
                            {.route = "three_step",
                             .executor = executor,
                             .item_bytes = ready.item_bytes,
                             .prepare = ready.prepare});
                    });
                    // Values of the datatype lie apart.
                    const std::size_t step = has_datatype ? 2 : 1;
                    auto items = given([&] {
                        return std::vector<double>(
                            step * static_cast<std::size_t>(halo.plan().num_items()), 3);
                    });
                    auto slots = given([&] {
                        return std::vector<double>(
                            step * static_cast<std::size_t>(halo.plan().num_slots()), 4);
                    });
                    MPI_Datatype apart = given([] {
                        MPI_Datatype type = MPI_DATATYPE_NULL;
                        PMPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &type);
                        PMPI_Type_commit(&type);
                        return type;
                    });
                    const auto free_apart = [&] { PMPI_Type_free(&apart); };
                    const auto exchange = [&] {
                        if (has_datatype) {
                            halo.start(items.data(), slots.data(), apart);
                            halo.wait();
                        } else if (is_reverse) {
                            halo.reverse(slots, items, sum());
                        } else {
                            halo.forward(items, slots);
                        }
                    };
                    twice(exchange, [&] {
                        free_apart();
                        if (is_reverse) return;
                        for (std::size_t i = 0; i < slots.size(); ++i)
                            EXPECT_EQ(slots[i], i % step == 0 ? 3 : 4);
                    });
                });
            }
        }
    }
    for (const char* const method : {"owners", "holders"}) {
        for (const char* const executor : {"persistent", "shared_memory"}) {
            add(std::string("start_gather_scatter_") + method + "_" + executor,
                [=](const context& where) {
                    const auto ids = given([&] {
                        return std::vector<count_t>{1 + where.rank(), 2 + where.rank(), 100};
                    });
                    auto shared = given([&] {
                        return gather_scatter(
                            where, ids,
                            {.method = method, .route = "three_step", .executor = executor});
                    });
                    auto values = given([&] { return std::vector<double>(ids.size(), 1); });
                    twice(
                        [&] {
                            std::ranges::fill(values, 1);
                            shared.combine(values, sum());
                        },
                        [&] { EXPECT_EQ(values.back(), where.num_ranks()); });
                });
        }
    }
    // Of the first call, the plan too is tried.
    for (const bool is_first : {true, false}) {
        add(std::string("start_batch_fetch_and_update") + (is_first ? "_first" : ""),
            [=](const context& where) {
                auto table = given([&] { return distributed_array<int>(where, 100); });
                // Of rank 0, and of the rank that is struck.
                const std::vector<count_t> indices = given([] {
                    return std::vector<count_t>{0, 50};
                });
                const auto num_owned = std::ranges::count_if(indices, [&](count_t index) {
                    return static_cast<std::size_t>(index - table.first_index()) <
                           table.local().size();
                });
                auto batch = given([&] { return table.prepare(indices); });
                const std::vector<int> ones = given([] { return std::vector<int>{1, 1}; });
                auto before = given([] { return std::vector<int>(2); });
                if (!is_first) given([&] { return batch.gather(ones); });
                auto fault = thrown_by([&] { batch.fetch_and_update(ones, before, sum()); });
                const auto later = thrown_by([&] {
                    const auto found = batch.gather(ones);
                    EXPECT_EQ(found.values.size(), num_owned * where.num_ranks());
                });
                if (!fault) fault = later;
                given([&] {
                    batch.fetch_and_update(ones, before, sum());
                    return 0;
                });
                if (fault) std::rethrow_exception(fault);
            });
    }
    for (const char* const route : {"direct", "three_step"}) {
        for (const bool shared : {false, true}) {
            add(std::string("start_stream_") + route + (shared ? "_shared_memory" : ""),
                [=](const context& where) {
                    std::int64_t handled = 0;
                    auto items = given([&] {
                        return std::make_unique<stream<int>>(
                            where,
                            [&](auto& port, const auto& batch) {
                                for (const int item : batch) {
                                    ++handled;
                                    // Handlers push beyond the buffers that there are.
                                    if (item > 0)
                                        port.push((where.rank() + 1) % where.num_ranks(), item - 1);
                                }
                            },
                            stream_options{.route = route,
                                           .buffer_items = 16,
                                           .max_buffers = 8,
                                           .shared_memory = shared});
                    });
                    auto& port = items->port(0);
                    constexpr int most = 40;
                    for (int i = 0; i < most; ++i) {
                        for (rank_t to = 0; to < where.num_ranks(); ++to) port.push(to, i);
                    }
                    port.drain().wait();
                    std::int64_t sum_handled = 0;
                    PMPI_Allreduce(&handled, &sum_handled, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
                    EXPECT_EQ(sum_handled, std::int64_t{most} * (most + 1) / 2 * where.num_ranks() *
                                               where.num_ranks());
                    given([&] {
                        items->close();
                        return 0;
                    });
                });
        }
    }
}

// Objects are closed, or their context is.
void add_ends(std::vector<operation>& all) {
    // Closes a thing that `make` gives; if that fails, again without a fault.
    const auto add = [&](std::string name, auto make) {
        all.push_back({std::move(name), [=](const context& where) {
                           auto thing = given([&] { return make(where); });
                           const auto fault = thrown_by([&] { thing->close(); });
                           given([&] {
                               thing->close();
                               thing.reset();
                               return 0;
                           });
                           if (fault) std::rethrow_exception(fault);
                       }});
    };
    for (const auto& [name, transport] :
         {std::pair("routed", array_transport::routed), std::pair("rma", array_transport::rma)}) {
        add(std::string("close_array_") + name, [kind = transport](const context& where) {
            auto array = std::make_unique<distributed_array<int>>(
                where, 2 * where.num_ranks(), array_options<int>{.transport = kind});
            const std::vector<count_t> all_of_first{0, 1};
            std::vector<int> values(2);
            array->read(all_of_first, values);
            return array;
        });
    }
    for (const bool shared : {false, true}) {
        const auto make = [=](const context& where) {
            auto items = std::make_unique<stream<int>>(
                where, [](auto&&...) {},
                stream_options{.buffer_items = 16, .shared_memory = shared});
            for (rank_t to = 0; to < where.num_ranks(); ++to) items->port(0).push(to, 1);
            items->port(0).drain().wait();
            return items;
        };
        add(std::string("close_stream") + (shared ? "_shared_memory" : ""), make);
        all.push_back({std::string("close_context_after_stream") + (shared ? "_shared_memory" : ""),
                       [=](const context& where) { make(where)->close(); }, true, true, true});
    }
    for (const char* const executor : {"persistent", "shared_memory"}) {
        all.push_back(
            {std::string("close_context_after_neighbor_") + executor,
             [=](const context& where) {
                 neighbor_exchange(
                     where,
                     test::all_to_all_pattern(
                         where.num_ranks())[static_cast<std::size_t>(where.rank())],
                     {.route = "three_step", .executor = executor, .prepare = preparation::both});
             },
             true, true, true});
    }
    for (const char* const algorithm : {"nonblocking", "shared_memory", "rma", "locality_rma"}) {
        all.push_back({std::string("close_context_after_sparse_") + algorithm,
                       [=](const context& where) {
                           const std::vector<rank_t> to{(where.rank() + 1) % where.num_ranks()};
                           const std::vector<int> values{1};
                           static_cast<void>(sparse_exchange(where,
                                                             constant_messages<int>{to, 1, values},
                                                             {.algorithm = algorithm}));
                       },
                       true, true, true});
    }
    all.push_back({"close_context_after_choice",
                   [](const context& where) {
                       const std::vector<count_t> ids{1 + where.rank(), 2 + where.rank(), 100};
                       gather_scatter(where, ids, {});
                   },
                   true, true, true});
}

void succeed(crossdock_status status) {
    if (status == CROSSDOCK_SUCCESS) return;
    now.is_armed = false;
    throw error(static_cast<errc>(status), crossdock_last_error());
}

template <class Handle>
using c_handle = std::unique_ptr<Handle, crossdock_status (*)(Handle*)>;

// What `make(arguments..., &result)` gives.
template <class Handle, class Make, class... Arguments>
c_handle<Handle> made_in_c(crossdock_status (*free)(Handle*), Make&& make,
                           const Arguments&... arguments) {
    Handle* made = nullptr;
    succeed(make(arguments..., &made));
    return {made, free};
}

// What the interface of C adds to the calls of the library.
void add_calls_of_c(std::vector<operation>& all) {
    // `run` gets the context, as C has it, and two numbers: this rank and the next.
    const auto add = [&](const char* name, auto run) {
        all.push_back({name, [=](const context& where) {
                           crossdock_call_error_handlers(0);
                           const auto in_c = given([&] {
                               return c_handle<crossdock_context>(new_handle_of(where),
                                                                  crossdock_context_free);
                           });
                           const count_t rank = where.rank();
                           const std::array<count_t, 2> two{rank, (rank + 1) % where.num_ranks()};
                           run(in_c.get(), two);
                       }});
    };
    add("c_context", [](const crossdock_context*, const auto&) {
        const auto made =
            made_in_c(crossdock_context_free, crossdock_context_create, MPI_COMM_WORLD, nullptr);
        given([&] {
            crossdock_context_close(made.get());
            return 0;
        });
    });
    const auto pattern_in_c = [](const crossdock_context* where, const auto& two) {
        return made_in_c(crossdock_pattern_free, crossdock_pattern_from_needed_range, where, two[0],
                         1, 1, &two[1]);
    };
    const auto halo_in_c = [=](const crossdock_context* where, const auto& two) {
        const auto of = given([&] { return pattern_in_c(where, two); });
        return made_in_c(crossdock_neighbor_exchange_free, crossdock_neighbor_exchange_create,
                         where, of.get(), nullptr);
    };
    const auto shared_in_c = [](const crossdock_context* where, const auto& two) {
        return made_in_c(crossdock_gather_scatter_free, crossdock_gather_scatter_create, where, 2,
                         two.data(), nullptr);
    };
    const auto array_in_c = [](const crossdock_context* where) {
        return made_in_c(crossdock_distributed_array_free, crossdock_distributed_array_create,
                         where, 100, MPI_INT, nullptr);
    };
    const auto twin_of = [](const auto& one, auto* free, auto* duplicate) {
        made_in_c(free, duplicate, one.get());
    };
    add("c_pattern", pattern_in_c);
    add("c_neighbor", halo_in_c);
    add("c_neighbor_duplicate", [=](const crossdock_context* where, const auto& two) {
        twin_of(given([&] { return halo_in_c(where, two); }), crossdock_neighbor_exchange_free,
                crossdock_neighbor_exchange_duplicate);
    });
    add("c_gather_scatter", shared_in_c);
    add("c_gather_scatter_duplicate", [=](const crossdock_context* where, const auto& two) {
        twin_of(given([&] { return shared_in_c(where, two); }), crossdock_gather_scatter_free,
                crossdock_gather_scatter_duplicate);
    });
    add("c_array",
        [=](const crossdock_context* where, const auto&) { static_cast<void>(array_in_c(where)); });
    add("c_batch_update", [=](const crossdock_context* where, const auto& two) {
        const auto table = given([&] { return array_in_c(where); });
        const std::array<int, 2> ones{1, 1};
        succeed(
            crossdock_distributed_array_update(table.get(), 2, two.data(), ones.data(), MPI_SUM));
    });
    add("c_batch_prepare", [=](const crossdock_context* where, const auto& two) {
        const auto table = given([&] { return array_in_c(where); });
        made_in_c(crossdock_prepared_batch_free, crossdock_distributed_array_prepare, table.get(),
                  2, two.data());
    });
    add("c_batch_gather", [=](const crossdock_context* where, const auto& two) {
        const auto table = given([&] { return array_in_c(where); });
        const auto batch = given([&] {
            return made_in_c(crossdock_prepared_batch_free, crossdock_distributed_array_prepare,
                             table.get(), 2, two.data());
        });
        const std::array<int, 2> ones{1, 1};
        std::int64_t* offsets = nullptr;
        void* gathered = nullptr;
        succeed(crossdock_prepared_batch_gather(batch.get(), ones.data(), &offsets, &gathered));
        crossdock_free(offsets);
        crossdock_free(gathered);
    });
    add("c_stream", [](const crossdock_context* where, const auto&) {
        const crossdock_stream_handler ignore = [](void*, crossdock_stream_port*, const void*,
                                                   std::int64_t) { return 0; };
        const auto items = made_in_c(crossdock_stream_free, crossdock_stream_create, where,
                                     sizeof(int), ignore, nullptr, nullptr);
        given([&] { return crossdock_stream_close(items.get()); });
    });
    add("c_sparse", [](const crossdock_context* where, const auto& two) {
        const int to = static_cast<int>(two[1]), value = 7;
        const std::int64_t length = 1;
        std::int64_t num_messages = 0, num_values = 0, *counts = nullptr, *places = nullptr;
        int* sources = nullptr;
        void* values = nullptr;
        succeed(crossdock_sparse_exchange_v_alloc(where, 1, 1, &to, &length, nullptr, MPI_INT,
                                                  &value, &num_messages, &num_values, &sources,
                                                  &counts, &places, &values, nullptr));
        EXPECT_EQ(*static_cast<int*>(values), 7);
        for (void* const one : {static_cast<void*>(sources), static_cast<void*>(counts),
                                static_cast<void*>(places), values})
            crossdock_free(one);
    });
}

std::vector<operation> operations() {
    std::vector<operation> all;
    const auto add = [&](std::string name, std::function<void(const context&)> run) {
        all.push_back({std::move(name), std::move(run)});
    };
    all.push_back({"context", nullptr});
    const auto mine = [](const context& where) {
        return given([&] {
            return test::all_to_all_pattern(
                where.num_ranks())[static_cast<std::size_t>(where.rank())];
        });
    };
    for (const char* const executor : {"persistent", "shared_memory"}) {
        for (const char* const route : {"direct", "three_step", "auto", "grid:2"}) {
            add(named(std::string("neighbor_") + route + "_" + executor),
                [=](const context& where) {
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
            return named(std::string("sparse_") + size + algorithm);
        };
        add(name_of("fixed_"), [=](const context& where) {
            static const std::vector<int> values{1, 2, 3, 4};
            const auto to = destinations(where);
            const auto options = given([&] { return exchange_options{.algorithm = algorithm}; });
            const auto got = sparse_exchange(where, constant_messages<int>{to, 2, values}, options);
            expect_sum(where, got.values, 1 + 2, 3 + 4);
        });
        if (takes_one_size_only(parse_exchange_algorithm(algorithm).method)) continue;
        add(name_of("variable_"), [=](const context& where) {
            static const std::vector<int> values{1, 2, 3};
            static const std::vector<count_t> counts{1, 2};
            const auto to = destinations(where);
            const auto options = given([&] { return exchange_options{.algorithm = algorithm}; });
            const auto got =
                sparse_exchange(where, variable_messages<int>{to, counts, {}, values}, options);
            expect_sum(where, got.values, 1, 2 + 3);
        });
    }
    add("pattern_from_needed", [](const context& where) {
        const auto needed = given([&] {
            return std::vector<count_t>{0, 2 * where.num_ranks() - 1};
        });
        const auto found = pattern_from_needed(where, 2 * where.rank(), 2, needed);
        EXPECT_EQ(found.num_slots, 2);
    });
    add("forward_records", [=](const context& where) {
        auto halo =
            given([&] { return neighbor_exchange(where, mine(where), {.route = "three_step"}); });
        const auto items = given([&] {
            item_records<int> made;
            for (count_t i = 1; i <= halo.plan().num_items(); ++i) made.offsets.push_back(2 * i);
            made.values.resize(static_cast<std::size_t>(made.offsets.back()));
            return made;
        });
        const auto slots = halo.forward_records(items);
        EXPECT_EQ(slots.offsets.back(), 2 * halo.plan().num_slots());
    });
    add("flag_duplicates", [](const context& where) {
        std::array<count_t, 2> ids{7, 8 + where.rank()};
        flag_duplicates(where, ids);
        EXPECT_EQ(ids[0], where.rank() == 0 ? 7 : -7);
    });
    add("discovered_topology", [](const context& where) {
        static_cast<void>(discover_topology(where));
        EXPECT_EQ(gather_topology(where, where.rank() % 2).num_regions(),
                  std::min(where.num_ranks(), 2));
    });
    add("pattern_written", [=](const context& where) {
        static const auto file = given(
            [] { return testing::TempDir() + "faults" + std::to_string(getppid()) + ".mtx"; });
        write_pattern(where, mine(where), file);
    });
    add("request_stream", [](const context& where) {
        request_stream<int, int> asking(
            where, [](auto&, auto, auto) {}, [](auto&, auto, auto) {});
        given([&] {
            asking.close();
            return 0;
        });
    });
    add("gather_scatter", [](const context& where) {
        const auto ids = given([&] {
            return std::vector<count_t>{1 + where.rank(), 2 + where.rank(), 100};
        });
        gather_scatter(where, ids, {.route = "three_step"});
    });
    add("gather_scatter_auto", [](const context& where) {
        const auto ids = given([&] {
            return std::vector<count_t>{1 + where.rank(), 2 + where.rank(), 100};
        });
        gather_scatter(where, ids, {});
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
    add_batches(all);
    add_ends(all);
    add_calls_of_c(all);
    // What is found out about a communicator when it is first used.
    for (std::size_t i = 0, num = all.size(); i < num; ++i) {
        if (!all[i].run || all[i].name.starts_with("duplicate") ||
            all[i].name.starts_with("prepare") || all[i].name.starts_with("batch") ||
            all[i].name.starts_with("close") || all[i].name.starts_with("c_"))
            continue;
        all.push_back({"first_" + all[i].name, all[i].run, true});
    }
    add_starts(all);
    return all;
}

class Injected : public testing::TestWithParam<operation> {
  protected:
    static void SetUpTestSuite() {
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        // Two nodes, of which each is a region; or one.
        const bool is_one_node = num_ranks == 1 || std::getenv("CROSSDOCK_FAULT_ONE_NODE");
        nodes = is_one_node ? std::to_string(num_ranks)
                            : std::to_string(num_ranks / 2) + "," +
                                  std::to_string(num_ranks - num_ranks / 2);
        std::signal(SIGALRM, &report_hang);
        const itimerval each_second{{1, 0}, {1, 0}};
        setitimer(ITIMER_REAL, &each_second, nullptr);
        files_from_the_start = test::shared_files();
    }

    void SetUp() override {
        operation_name = GetParam().name.c_str();
        wait_anew();
    }
    void TearDown() override {
        forget_context();
        seconds_left = 0;
        EXPECT_EQ(live.requests, 0);
        EXPECT_EQ(live.communicators, 0);
        EXPECT_EQ(live.windows, 0);
        EXPECT_EQ(live.datatypes, 0);
        EXPECT_EQ(live.operations, 0);
        live = {};
        EXPECT_EQ(test::shared_files(), files_from_the_start);
    }

    // From now on what does not end is a hang.
    static void wait_anew() {
        seconds_left = static_cast<int>(number_in_environment("CROSSDOCK_FAULT_SECONDS", 10));
    }

    // What one run gave on this rank.
    struct outcome {
        errc code = errc::success;
        std::string text;
        bool has_struck = false;
    };

    static context make_context() {
        return context(MPI_COMM_WORLD, context_options{.topology = nodes, .nodes = nodes});
    }
    void forget_context() {
        if (where) where->close();
        where.reset();
    }

    outcome run(const fault& kind, long at) {
        outcome result;
        const auto& tried = GetParam();
        if (tried.is_first) forget_context();
        if (tried.run && !where) where.emplace(make_context());
        if (tried.is_end) tried.run(*where);
        now = {world_rank == striking_rank(), kind, at};
        std::optional<error> thrown;
        try {
            if (tried.is_end) {
                where->close();
            } else if (tried.run) {
                tried.run(*where);
            } else {
                forget_context();
                where.emplace(make_context());
            }
        } catch (const error& failure) {
            now.is_armed = false;
            thrown = failure;
        } catch (const std::bad_alloc&) {
            now.is_armed = false;
            thrown.emplace(errc::internal, "std::bad_alloc");
        }
        now.is_armed = false;
        result.has_struck = world_rank == striking_rank() && now.number >= now.at;
        if (thrown) {
            result.code = thrown->code();
            result.text = thrown->what();
        }
        return result;
    }

    static int striking_rank() { return num_ranks / 2; }

    static std::string text_of(const fault& kind, long at, const outcome& own) {
        return std::string(kind.name()) + " " + std::to_string(at) + " " +
               (now.call != nullptr ? now.call : "") + ": " + own.text;
    }

    // All ranks alike: the code, or success.
    static void expect_all_or_none(const fault& kind, long at, const outcome& own) {
        const auto code = static_cast<int>(own.code);
        std::array<int, 2> least_and_most{code, -code};
        MPI_Allreduce(MPI_IN_PLACE, least_and_most.data(), 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        wait_anew();
        const auto expected =
            kind.what == injected::memory ? errc::out_of_memory : errc::mpi_failure;
        if (GetParam().is_collective) {
            ASSERT_EQ(least_and_most[0], -least_and_most[1]) << text_of(kind, at, own);
        } else if (world_rank != striking_rank() && own.code == errc::peer_failed) {
            return;
        }
        if (own.code == errc::success) return;
        // Where MPI shares no memory, for whatever reason, there is none.
        if (kind.what != injected::memory && own.code == errc::out_of_memory) return;
        ASSERT_EQ(own.code, expected) << text_of(kind, at, own);
    }

    void sweep(const fault& kind, long stride) {
        const char* const only = std::getenv("CROSSDOCK_FAULT_KIND");
        if (only != nullptr && std::string(only) != kind.name()) return;
        // Most starts have few k, a stream and what a communicator is first used for have many.
        const bool has_few =
            !GetParam().is_collective && GetParam().name.find("stream") == std::string::npos;
        if (has_few) stride = std::max(stride / 8, 1L);
        if (GetParam().is_first || (!GetParam().is_collective && !has_few)) stride *= 4;
        stride = number_in_environment("CROSSDOCK_FAULT_STRIDE", stride);
        const long first = number_in_environment("CROSSDOCK_FAULT_FIRST", 1);
        const long last = number_in_environment("CROSSDOCK_FAULT_LAST", 1'000'000);
        run({}, 0);  // what is made once is there
        long num_thrown = 0;
        long num_told = 0;  // with errc::peer_failed elsewhere
        long num_tried = 0;
        for (long at = first; at <= last; at += stride) {
            const auto struck = run(kind, at);
            ASSERT_NO_FATAL_FAILURE(expect_all_or_none(kind, at, struck));
            std::array<int, 3> any{struck.has_struck ? 1 : 0, struck.code != errc::success ? 1 : 0,
                                   struck.code == errc::peer_failed ? 1 : 0};
            MPI_Allreduce(MPI_IN_PLACE, any.data(), 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            if (any[0] == 0) break;
            ++num_tried;
            num_thrown += any[1];
            num_told += any[2];
            const auto later = run({}, 0);
            ASSERT_NO_FATAL_FAILURE(expect_all_or_none({}, 0, later));
            ASSERT_EQ(later.code, errc::success) << "after " << text_of(kind, at, later);
            if (kind.what == injected::question) at = at * 5 / 4;
        }
        const char* const record = std::getenv("CROSSDOCK_FAULT_RECORD");
        if (world_rank != 0 || record == nullptr) return;
        std::ofstream(record, std::ios::app)
            << R"({"operation": ")" << operation_name << R"(", "ranks": )" << num_ranks
            << R"(, "kind": ")" << kind.name() << R"(", "tried": )" << num_tried
            << R"(, "thrown": )" << num_thrown << R"(, "told": )" << num_told << "}\n";
    }

    static int num_ranks;
    static std::string nodes;
    static std::set<std::string> files_from_the_start;
    std::optional<context> where;
};

int Injected::num_ranks = 1;
std::string Injected::nodes;
std::set<std::string> Injected::files_from_the_start;

INSTANTIATE_TEST_SUITE_P(Faults, Injected, testing::ValuesIn(operations()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(Injected, MemoryThatIsRefusedOnOneRankFailsOnAllOrNone) { sweep({injected::memory}, 61); }

TEST_P(Injected, CallsThatFailOnOneRankFailOnAllOrNone) {
    sweep({injected::call}, 13);
    sweep({injected::question}, 3);
}

TEST_P(Injected, CallsThatFailAgainFailOnAllOrNone) {
    sweep({injected::call, true}, 19);
    sweep({injected::question, true}, 5);
}

TEST_P(Injected, CallsThatAreLateChangeNothing) {
    // What is tried once calls MPI 100 times, and all of it would take minutes.
    static int number = 0;
    if (number++ % number_in_environment("CROSSDOCK_FAULT_STRIDE", 96) != 0) return;
    EXPECT_EQ(run({injected::late}, 0).code, errc::success);
}

// For lost_ranks_test.py, which stops or kills one rank meanwhile.
TEST_P(Injected, RoundsEndAsUsual) {
    const long num_rounds = number_in_environment("CROSSDOCK_FAULT_ROUNDS", 0);
    for (long round = 0; round < num_rounds; ++round) {
        wait_anew();
        ASSERT_EQ(run({}, 0).code, errc::success);
    }
}

}  // namespace
}  // namespace crossdock::injected_faults_test

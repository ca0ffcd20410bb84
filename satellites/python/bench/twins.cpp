/// @file
/// @brief What satellites/python/bench/twins.py compares with: the same in C++, in the same process.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/stream.hpp"

namespace {

using crossdock::count_t;
using crossdock::rank_t;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// As SciPy has them.
struct csr_matrix {
    std::int64_t num_rows;
    const std::int32_t* row_begins;
    const std::int32_t* columns;
    const double* values;
};

// y += A x
void multiply_add(const csr_matrix& a, const double* x, double* y) {
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
        double sum = y[i];
        for (std::int32_t k = a.row_begins[i]; k < a.row_begins[i + 1]; ++k)
            sum += a.values[k] * x[a.columns[k]];
        y[i] = sum;
    }
}

struct twins {
    explicit twins(MPI_Comm comm) : world(comm) {}

    crossdock::context world;
    std::optional<crossdock::neighbor_exchange> halo;
    std::unique_ptr<crossdock::stream<std::int64_t>> stream;
    std::int64_t sum = 0;
};

}  // namespace

extern "C" {

twins* twins_create(const MPI_Comm* comm) { return new twins(*comm); }

void twins_make_halo(twins* t, std::int64_t first, std::int64_t num_items,
                     const std::int64_t* needed, std::int64_t num_needed) {
    const std::span wanted(needed, static_cast<std::size_t>(num_needed));
    t->halo.emplace(t->world, crossdock::pattern_from_needed(t->world, first, num_items, wanted));
}

/// @return seconds of `count` exchanges
double twins_exchange(twins* t, const double* items, double* slots, std::int64_t count) {
    const auto& plan = t->halo->plan();
    const std::span in(items, static_cast<std::size_t>(plan.num_items()));
    const std::span out(slots, static_cast<std::size_t>(plan.num_slots()));
    const double begin = now();
    for (std::int64_t i = 0; i < count; ++i) {
        t->halo->start(in, out);
        t->halo->wait();
    }
    return now() - begin;
}

/// @brief y = A x into new memory, as `DistributedMatrix` does it.
/// @return seconds
double twins_product(twins* t, const csr_matrix* inside, const csr_matrix* outside, const double* x,
                     double* y) {
    const double begin = now();
    const auto& plan = t->halo->plan();
    std::vector<double> ghosts(static_cast<std::size_t>(plan.num_slots()));
    t->halo->start(std::span(x, static_cast<std::size_t>(plan.num_items())), ghosts);
    std::fill_n(y, inside->num_rows, 0.0);
    multiply_add(*inside, x, y);
    t->halo->wait();
    multiply_add(*outside, ghosts.data(), y);
    return now() - begin;
}

/// @brief The same without the exchange.
double twins_local_product(twins*, const csr_matrix* inside, const csr_matrix* outside,
                           const double* x, const double* ghosts, double* y) {
    const double begin = now();
    std::fill_n(y, inside->num_rows, 0.0);
    multiply_add(*inside, x, y);
    multiply_add(*outside, ghosts, y);
    return now() - begin;
}

void twins_make_stream(twins* t) {
    t->stream =
        std::make_unique<crossdock::stream<std::int64_t>>(t->world, [t](auto&, const auto& batch) {
            for (const std::int64_t item : batch) t->sum += item;
        });
}

/// @return seconds to push all items and drain
double twins_push(twins* t, const std::int64_t* destinations, const std::int64_t* items,
                  std::int64_t count) {
    const double begin = now();
    auto& port = t->stream->port();
    for (std::int64_t i = 0; i < count; ++i)
        port.push(static_cast<rank_t>(destinations[i]), items[i]);
    port.drain().wait();
    return now() - begin;
}

std::int64_t twins_sum(const twins* t) { return t->sum; }

void twins_free(twins* t) {
    t->stream->close();
    t->stream.reset();
    t->halo.reset();
    t->world.close();
    delete t;
}
}

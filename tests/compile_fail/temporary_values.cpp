// What is started keeps the addresses of values, so that these have to outlive the call.
#include <array>
#include <span>
#include <vector>

#include "crossdock/distributed_array.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"

using crossdock::sum;
using values = std::vector<double>;
using bytes = std::vector<std::byte>;

values make_values();
bytes make_bytes();

void start(crossdock::neighbor_exchange& halo, values& x, values& ghosts) {
    halo.start(x, ghosts);
    halo.start(std::span<const double>(x), std::span(ghosts));
    halo.start(std::as_const(x), std::span(ghosts).first(1));
    halo.start_reverse(ghosts, x, sum{});
    halo.start_bytes(std::as_bytes(std::span(x)), std::as_writable_bytes(std::span(ghosts)), 8);
    // These wait.
    halo.forward(make_values(), ghosts);
    halo.reverse(make_values(), x, sum{});
#if MISTAKE == 1
    halo.start(make_values(), ghosts);
    halo.start(x, make_values());
    halo.start_reverse(make_values(), x, sum{});
    halo.start_bytes(make_bytes(), std::as_writable_bytes(std::span(ghosts)), 8);
    halo.start_reverse_bytes(make_bytes(), std::as_writable_bytes(std::span(x)), 8, {});
#endif
}

void combine(crossdock::gather_scatter& shared, values& x, std::vector<values>& fields) {
    shared.start(x, sum{});
    shared.start(std::span(x), sum{});
    shared.start_fields(fields, sum{});
    shared.start_fields(std::array{std::span(x)}, sum{});
    shared.combine(make_values(), sum{});
#if MISTAKE == 1
    shared.start(make_values(), sum{});
    shared.start_fields(std::array{make_values()}, sum{});
#endif
}

void update(crossdock::prepared_batch<double>& requests, values& x) {
    requests.start_read(x);
    requests.start_update(x, sum{});
    requests.update(make_values(), sum{});
#if MISTAKE == 1
    requests.start_update(make_values(), sum{});
    requests.start_read(make_values());
#endif
}

#include "crossdock/gather_scatter.hpp"
#include "crossdock/make_pattern.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/request_stream.hpp"
#include "crossdock/route.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"

void use(crossdock::stream_port<int>& port, crossdock::request_port<int, int>& requests,
         crossdock::neighbor_exchange& halo, crossdock::gather_scatter& shared,
         const crossdock::context& world, const crossdock::topology& regions) {
    port.drain().wait();
#if MISTAKE == 1
    port.drain();
    requests.drain();
    port.try_push({0, 0}, 1);
    halo.test();
    shared.test();
    halo.duplicate();
    world.with_topology(regions);
    crossdock::make_route("direct", regions);
    crossdock::pattern_from_needed(world.comm(), 0, 1, {});
    crossdock::topology::from_string("2x4");
    crossdock::sparse_exchange(world, {0}, {1}, std::span<const int>());
#endif
    (void)requests, (void)halo, (void)shared, (void)world, (void)regions;
}

#include "build_schedule_mpi.hpp"

#include "../exchange/peer_exchange_mpi.hpp"
#include "../executor/shared_memory_schedule_builder.hpp"
#include "crossdock/detail/exchange/byte_exchange_mpi.hpp"

namespace crossdock {

std::shared_ptr<const shared_memory_schedule> build_schedule_mpi(const plan& p, direction way,
                                                                 const node_memory* memory,
                                                                 count_t max_part_items,
                                                                 const stripe_rule* stripes) {
    const memory_domain alone(p.rank());
    const auto& domain = memory ? memory->domain() : alone;
    shared_memory_schedule_builder compiler(way == direction::forward
                                                ? forward_task_graph(p, domain, stripes)
                                                : reverse_task_graph(p, domain, stripes),
                                            domain, max_part_items, stripes);
    if (!memory) {
        compiler.send_access_requests();
        return std::make_shared<const shared_memory_schedule>(compiler.finish());
    }
    const auto& comm = memory->comm();
    const auto everybody = topology::one_region(comm.num_ranks());
    peer_exchange rounds(comm, everybody);
    for (int stage = 0; stage < compiler.num_stages(); ++stage) {
        compiler.receive_references(stage, rounds.next(compiler.send_references(stage),
                                                       compiler.reference_sources(stage).size()));
    }
    compiler.receive_access_requests(
        exchange_words(comm, everybody, compiler.send_access_requests()));
    return std::make_shared<const shared_memory_schedule>(compiler.finish());
}

}  // namespace crossdock

#include "crossdock/neighbor/compile_circuit_mpi.hpp"

#include "crossdock/exchange/byte_exchange_mpi.hpp"
#include "crossdock/exchange/peer_exchange_mpi.hpp"
#include "crossdock/executor/circuit_compiler.hpp"

namespace crossdock {

std::shared_ptr<const circuit> compile_circuit_mpi(const plan& p, direction way,
                                                   const node_memory* memory,
                                                   count_t max_part_items, const lane_rule* lanes) {
    const memory_domain alone(p.rank());
    const auto& domain = memory ? memory->domain() : alone;
    circuit_compiler compiler(
        way == direction::forward ? forward_flow(p, domain, lanes) : reverse_flow(p, domain, lanes),
        domain, max_part_items, lanes);
    if (!memory) {
        compiler.send_claims();
        return std::make_shared<const circuit>(compiler.finish());
    }
    const auto& comm = memory->comm();
    const auto everybody = topology::one_region(comm.num_ranks());
    peer_exchange rounds(comm, everybody);
    for (int stage = 0; stage < compiler.num_stages(); ++stage) {
        compiler.receive_references(stage, rounds.next(compiler.send_references(stage),
                                                       compiler.reference_sources(stage).size()));
    }
    compiler.receive_claims(exchange_words(comm, everybody, compiler.send_claims()));
    return std::make_shared<const circuit>(compiler.finish());
}

}  // namespace crossdock

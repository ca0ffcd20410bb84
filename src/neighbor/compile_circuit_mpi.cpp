#include "crossdock/neighbor/compile_circuit_mpi.hpp"

#include <thread>

#include "crossdock/exchange/byte_exchange_mpi.hpp"
#include "crossdock/executor/circuit_compiler.hpp"

namespace crossdock {

namespace {

// Waits for one message of unknown length from a known source.
word_message receive_words(const communicator& comm, rank_t source, int tag) {
    MPI_Message found = MPI_MESSAGE_NULL;
    MPI_Status status;
    for (int is_there = 0; !is_there;) {
        CROSSDOCK_MPI(MPI_Improbe(source, tag, comm.get(), &is_there, &found, &status));
        if (is_there) break;
        comm.progress();
        std::this_thread::yield();
    }
    int length = 0;
    CROSSDOCK_MPI(MPI_Get_count(&status, MPI_INT64_T, &length));
    word_message message{source, std::vector<std::int64_t>(static_cast<std::size_t>(length))};
    CROSSDOCK_MPI(MPI_Mrecv(message.words.data(), length, MPI_INT64_T, &found, MPI_STATUS_IGNORE));
    return message;
}

// Delivers messages to ranks that expect them.
std::vector<word_message> exchange_with_known(const communicator& comm,
                                              const std::vector<word_message>& outbox,
                                              const std::vector<int>& sources, int tag) {
    std::vector<MPI_Request> sends;
    sends.reserve(outbox.size());
    for (const auto& [peer, words] : outbox) {
        CROSSDOCK_MPI(MPI_Isend(words.data(), checked_cast<int>(words.size()), MPI_INT64_T, peer,
                                tag, comm.get(), &sends.emplace_back()));
    }
    std::vector<word_message> inbox;
    inbox.reserve(sources.size());
    for (const int source : sources) inbox.push_back(receive_words(comm, source, tag));
    for (auto& send : sends) comm.wait(send);
    return inbox;
}

}  // namespace

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
    for (int stage = 0; stage < compiler.num_stages(); ++stage) {
        compiler.receive_references(
            stage, exchange_with_known(comm, compiler.send_references(stage),
                                       compiler.reference_sources(stage), memory->tag()));
    }
    compiler.receive_claims(
        exchange_words(comm, topology::one_region(comm.num_ranks()), compiler.send_claims()));
    return std::make_shared<const circuit>(compiler.finish());
}

}  // namespace crossdock

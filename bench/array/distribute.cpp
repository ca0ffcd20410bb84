#include "bench/array/distribute.hpp"

namespace crossdock::bench::array {

namespace {

static_assert(sizeof(edge) == 2 * sizeof(count_t));

template <class Value>
void send(const communicator& comm, const std::vector<Value>& values, MPI_Datatype type,
          rank_t destination, int tag) {
    CROSSDOCK_MPI(MPI_Send(values.data(), checked_cast<int>(values.size()), type, destination, tag,
                           comm.get()));
}

template <class Value>
std::vector<Value> receive(const communicator& comm, MPI_Datatype type, int tag) {
    MPI_Status status;
    int size = 0;
    CROSSDOCK_MPI(MPI_Probe(0, tag, comm.get(), &status));
    CROSSDOCK_MPI(MPI_Get_count(&status, type, &size));
    std::vector<Value> values(static_cast<std::size_t>(size));
    CROSSDOCK_MPI(MPI_Recv(values.data(), size, type, 0, tag, comm.get(), MPI_STATUS_IGNORE));
    return values;
}

class edge_datatype {
  public:
    edge_datatype() {
        CROSSDOCK_MPI(MPI_Type_contiguous(2, MPI_INT64_T, &type_));
        CROSSDOCK_MPI(MPI_Type_commit(&type_));
    }
    ~edge_datatype() { MPI_Type_free(&type_); }
    edge_datatype(const edge_datatype&) = delete;
    edge_datatype& operator=(const edge_datatype&) = delete;

    MPI_Datatype get() const noexcept { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

count_t num_entries_of_all(const communicator& comm, const std::vector<rank_work>& work) {
    count_t number = work.empty() ? 0 : work.front().owners.num_entries();
    CROSSDOCK_MPI(MPI_Bcast(&number, 1, MPI_INT64_T, 0, comm.get()));
    return number;
}

}  // namespace

rank_work distribute(const communicator& comm, const workload_options& options) {
    auto work = on_all_or_none(comm, [&] {
        return comm.rank() == 0 ? make_work(options, comm.num_ranks()) : std::vector<rank_work>();
    });
    const auto tags = comm.reserve_tags(1);
    const int tag = tags.first();
    const edge_datatype edges;
    const count_t num_entries = num_entries_of_all(comm, work);
    if (comm.rank() != 0) {
        return {options.workload, block_partition::blocks(num_entries, comm.num_ranks()),
                comm.rank(), receive<edge>(comm, edges.get(), tag),
                receive<value_t>(comm, MPI_DOUBLE, tag)};
    }
    for (std::size_t rank = 1; rank < work.size(); ++rank) {
        send(comm, work[rank].edges, edges.get(), static_cast<rank_t>(rank), tag);
        send(comm, work[rank].expected, MPI_DOUBLE, static_cast<rank_t>(rank), tag);
    }
    return std::move(work.front());
}

}  // namespace crossdock::bench::array

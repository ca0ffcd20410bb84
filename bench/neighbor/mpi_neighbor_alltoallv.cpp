#include "bench/neighbor/contender.hpp"
#include "bench/neighbor/neighbor_functions.hpp"
#include "tools/crossdock/drop_in_library.hpp"

namespace crossdock::bench {

namespace {

// The values of one side of all messages; counts and displacements in items.
struct side {
    std::span<const rank_t> ranks;
    std::byte* values;
    std::vector<int> counts;
    std::vector<int> displacements;

    // Open MPI's persistent call refuses null pointers where there is no neighbor.
    side(std::span<const rank_t> neighbors, std::byte* first) : ranks(neighbors), values(first) {
        counts.reserve(neighbors.size() + 1);
        displacements.reserve(neighbors.size() + 1);
    }

    void append(std::size_t count, count_t displacement) {
        counts.push_back(checked_cast<int>(count));
        displacements.push_back(checked_cast<int>(displacement));
    }
};

side packed_side(const pattern& what, packed_items& packed) {
    side result(what.sends.ranks, packed.data());
    for (std::size_t e = 0; e < what.sends.size(); ++e)
        result.append(what.sends[e].size(), what.sends.offsets[e]);
    return result;
}

side slot_side(const pattern& what, std::span<std::byte> slots) {
    side result(what.receives.ranks, slots.data());
    for (std::size_t e = 0; e < what.receives.size(); ++e)
        result.append(what.receives[e].size(), what.receives[e].front());
    return result;
}

// Whose functions are called, and from which exchange on one is like the other.
struct provider {
    const neighbor_functions& functions;
    int num_unsettled;
};

provider mpi(const communicator&) { return {functions_of_mpi(), 0}; }

// It plans a call that is repeated, and compares with MPI by itself; within how many calls is its own matter, but these
// are enough.
provider drop_in(const communicator& comm) {
    // The ranks agree once that all have it.
    static const auto* const functions =
        on_all_or_none(comm, [] { return &functions_of_drop_in(); });
    return {*functions, 20};
}

// What all forms of the collective need: the graph, and the arguments that describe the values.
class graph_collective : public contender {
  public:
    graph_collective(const exchange_task& task, const provider& by)
        : task_(task),
          functions_(by.functions),
          type_(task.item_bytes),
          packed_(task),
          from_(packed_side(task.what, packed_)),
          to_(slot_side(task.what, task.slots)),
          num_unsettled_(by.num_unsettled) {
        if (!task.is_forward()) std::swap(from_, to_);
        CROSSDOCK_MPI(functions_.create_graph(
            task.where.comm().get(), checked_cast<int>(to_.ranks.size()), to_.ranks.data(),
            MPI_UNWEIGHTED, checked_cast<int>(from_.ranks.size()), from_.ranks.data(),
            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_));
    }

    ~graph_collective() override { functions_.free_graph(&graph_); }

    traffic sent() const override { return direct_traffic(task_.where.topology(), task_.what); }

    bool is_settled() const override { return num_unsettled_ <= 0; }

  protected:
    // Calls a function with the arguments that all forms have, and what one form has besides.
    template <class Function, class... More>
    void call(const char* name, Function* function, More... more) {
        const int code = function(from_.values, from_.counts.data(), from_.displacements.data(),
                                  type_.get(), to_.values, to_.counts.data(),
                                  to_.displacements.data(), type_.get(), graph_, more...);
        if (code != MPI_SUCCESS) throw mpi_error(code, name);
    }

    void before() {
        if (task_.is_forward()) packed_.pack();
    }

    void after() {
        if (!task_.is_forward()) packed_.add();
        --num_unsettled_;
    }

    exchange_task task_;
    const neighbor_functions& functions_;

  private:
    item_datatype type_;
    packed_items packed_;
    side from_;
    side to_;
    MPI_Comm graph_ = MPI_COMM_NULL;
    int num_unsettled_;
};

class blocking_call final : public graph_collective {
  public:
    using graph_collective::graph_collective;

    void start() override {
        before();
        call("MPI_Neighbor_alltoallv", functions_.exchange);
        after();
    }

    void test() override {}
    void wait() override {}
};

class call_with_request : public graph_collective {
  public:
    using graph_collective::graph_collective;

    void test() override {
        int is_complete = 0;
        CROSSDOCK_MPI(MPI_Test(&request_, &is_complete, MPI_STATUS_IGNORE));
    }

    void wait() override {
        CROSSDOCK_MPI(functions_.wait(&request_, MPI_STATUS_IGNORE));
        after();
    }

  protected:
    MPI_Request request_ = MPI_REQUEST_NULL;
};

class nonblocking_call final : public call_with_request {
  public:
    using call_with_request::call_with_request;

    void start() override {
        before();
        call("MPI_Ineighbor_alltoallv", functions_.start_exchange, &request_);
    }
};

class persistent_call final : public call_with_request {
  public:
    persistent_call(const exchange_task& task, const provider& by) : call_with_request(task, by) {
        call("MPI_Neighbor_alltoallv_init", functions_.make_persistent, MPI_INFO_NULL, &request_);
    }

    ~persistent_call() override { functions_.free_request(&request_); }

    void start() override {
        before();
        CROSSDOCK_MPI(functions_.start(&request_));
    }
};

template <class Call>
entrant make_entrant(const std::string& name, provider (*find)(const communicator&),
                     const std::string& obstacle) {
    return {name, "", false, obstacle,
            [find](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<Call>(task, find(task.where.comm()));
            }};
}

}  // namespace

std::vector<entrant> neighborhood_collectives() {
    const std::string no_library =
        tool::find_drop_in_library().empty() ? tool::no_drop_in_library : "";
    const std::string no_init = functions_of_mpi().make_persistent == nullptr
                                    ? "this MPI has no MPI_Neighbor_alltoallv_init"
                                    : "";
    return {make_entrant<blocking_call>("mpi_neighbor_alltoallv", mpi, ""),
            make_entrant<nonblocking_call>("mpi_ineighbor_alltoallv", mpi, ""),
            make_entrant<persistent_call>("mpi_neighbor_alltoallv_init", mpi, no_init),
            make_entrant<blocking_call>("drop_in:blocking", drop_in, no_library),
            make_entrant<nonblocking_call>("drop_in:nonblocking", drop_in, no_library),
            make_entrant<persistent_call>("drop_in:persistent", drop_in,
                                          no_library.empty() ? no_init : no_library)};
}

}  // namespace crossdock::bench

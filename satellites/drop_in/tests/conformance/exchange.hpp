/// @file
/// @brief One neighborhood collective with buffers of its own: a call under test, or its twin.
#pragma once

#include <algorithm>
#include <string>

#include "grid_edges.hpp"
#include "side.hpp"
#include "topology.hpp"

namespace conformance {

enum class amount { none, one, tiny, few_edges, some, many };

/// What is not the same each time; `layout` is displacements and datatypes, but not counts, of some ranks.
enum class change { never, counts, some_counts, some_counts_once, layout };

// Open MPI does not keep the datatypes of persistent collectives: it crashes at the start if they have been freed.
constexpr bool keeps_datatypes(form how) {
#ifdef OPEN_MPI
    return how == form::nonblocking;
#else
    return how != form::blocking;
#endif
}

/// What all ranks agree on about an exchange; the rest follows from the seed and the rank.
struct exchange_choice {
    call which = call::alltoallv;
    form how = form::blocking;
    bool is_large = false;
    unit of = unit::byte;
    int multiple = 1;  ///< all counts of units are multiples of it: then datatypes may hold several
    amount size = amount::some;
    change changes = change::never;
    bool alternates_buffers = false;
    bool frees_types_early = false;
    bool is_bottom = false;
    std::uint64_t seed = 0;

    static exchange_choice draw(form how, random_numbers& shared) {
        exchange_choice drawn;
        drawn.how = how;
        drawn.which = static_cast<call>(shared.below(5));
        drawn.is_large = has_large_counts() && shared.chance(20);
        drawn.of = static_cast<unit>(shared.below(4));
        drawn.multiple = shared.chance(50) ? 1 : 6;
        const int size = shared.below(20);
        drawn.size = size < 15   ? static_cast<amount>(size / 3)
                     : size < 19 ? amount::some
                                 : amount::many;
        if (how != form::persistent && shared.chance(60))
            drawn.changes = static_cast<change>(1 + shared.below(4));
        drawn.alternates_buffers = how != form::persistent && shared.chance(20);
        drawn.frees_types_early = shared.chance(20) && keeps_datatypes(how);
        drawn.is_bottom = shared.chance(25);
        drawn.seed = shared.next();
        return drawn;
    }

    std::string name() const { return name_of(how, which) + (is_large ? "_c" : ""); }
};

class exchange {
  public:
    exchange(const exchange_choice& choice, const topology& where, MPI_Comm comm,
             const functions& mpi)
        : choice_(choice), where_(&where), comm_(comm), mpi_(&mpi) {
        make_types(0);
    }
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;
    ~exchange() {
        if (request != MPI_REQUEST_NULL) mpi_->request_free(&request);
        send_.free_types();
        recv_.free_types();
    }

    MPI_Request request = MPI_REQUEST_NULL;

    const exchange_choice& choice() const { return choice_; }
    const side& sent() const { return send_; }
    const side& received() const { return recv_; }

    /// Sets counts and displacements, and fills the buffers; of a persistent exchange, the latter only.
    void prepare(int round) {
        if (choice_.how != form::persistent || round == 0) {
            if (has_freed_types_ || layout_ != layout(round)) make_types(layout(round));
            place(round);
        }
        random_numbers contents(hash_of(choice_.seed, where_->rank(), round, 1));
        // Any pairing of the edges between two ranks gives the same if the sender's bytes are all equal.
        if (where_->has_paired_edges() && !pairs_as_mpi4(choice_.how))
            std::fill(send_.storage.begin(), send_.storage.end(),
                      static_cast<std::byte>(contents.next()));
        else
            contents.fill(send_.storage);
        random_numbers(hash_of(choice_.seed, where_->rank(), round, 2)).fill(recv_.storage);
    }

    /// Of a persistent exchange, once, after prepare(0).
    void initialize() {
        if (comm_ != MPI_COMM_NULL && choice_.how == form::persistent) {
            invoke<&forms<int, int>::persistent, &forms<MPI_Count, MPI_Aint>::persistent>(
                MPI_INFO_NULL, &request);
            free_types_early();
        }
    }

    /// Calls, or starts what `request` stands for.
    void start() {
        if (comm_ == MPI_COMM_NULL) return;
        if (choice_.how == form::persistent) {
            mpi_->start(&request);
        } else if (choice_.how == form::nonblocking) {
            invoke<&forms<int, int>::nonblocking, &forms<MPI_Count, MPI_Aint>::nonblocking>(
                &request);
            free_types_early();
        } else {
            invoke<&forms<int, int>::blocking, &forms<MPI_Count, MPI_Aint>::blocking>();
        }
    }

    void wait() { mpi_->wait(&request, MPI_STATUS_IGNORE); }

  private:
    bool is_allgather() const {
        return choice_.which == call::allgather || choice_.which == call::allgatherv;
    }
    // Where a rank has no neighbor. Open MPI does not: 4.1 and 5.0 in allgatherv, 4.1 in persistent calls.
    bool takes_null_arrays() const {
#ifdef OPEN_MPI
        return choice_.which != call::allgatherv && choice_.how != form::persistent;
#else
        return true;
#endif
    }

    // Which of the edges between two ranks it is.
    static int occurrence(std::size_t neighbor, const std::vector<int>& neighbors) {
        const auto end = neighbors.begin() + static_cast<std::ptrdiff_t>(neighbor);
        return static_cast<int>(std::count(neighbors.begin(), end, neighbors[neighbor]));
    }

    // Equal at both ends of an edge; on a grid, equal for all edges between two ranks, which see pairs_as_mpi4().
    std::uint64_t edge_key(std::size_t neighbor, bool is_receive) const {
        const auto& neighbors = is_receive ? where_->sources() : where_->destinations();
        const int here = where_->rank();
        const int other = neighbors[neighbor];
        const int k = where_->is_cartesian() ? 0 : occurrence(neighbor, neighbors);
        switch (choice_.which) {
            case call::allgather:
            case call::alltoall: return 0;
            case call::allgatherv: return hash_of(is_receive ? other : here);
            default: return is_receive ? hash_of(other, here, k) : hash_of(here, other, k);
        }
    }

    // Twice the same, and at times what has been before.
    static int version_in(int round) { return round / 2 % 3; }

    int layout(int round) const {
        const bool is_among = hash_of(choice_.seed, where_->rank(), 6) % 2 == 0;
        return choice_.changes == change::layout && is_among ? version_in(round) : 0;
    }

    int num_units(std::uint64_t key, int round) const {
        const bool is_among = hash_of(choice_.seed, key, 3) % 8 == 0;
        int version = 0;
        if (choice_.changes == change::counts ||
            (choice_.changes == change::some_counts && is_among))
            version = version_in(round);
        if (choice_.changes == change::some_counts_once && is_among && round >= 10) version = 1;
        random_numbers random(hash_of(choice_.seed, key, version));
        switch (choice_.size) {
            case amount::none: return 0;
            case amount::one: return choice_.multiple;
            case amount::tiny: return choice_.multiple * random.below(4);
            case amount::few_edges:
                return random.chance(70) ? 0 : choice_.multiple * (1 + random.below(20));
            case amount::some: return choice_.multiple * random.below(60);
            default: return choice_.multiple * random.below(2000 / choice_.multiple);
        }
    }

    std::vector<int> units_of_blocks(std::size_t num_blocks, bool is_receive, int round) const {
        std::vector<int> units(num_blocks);
        for (std::size_t i = 0; i < num_blocks; ++i)
            units[i] = is_allgather() && !is_receive ? sent_units_
                                                     : num_units(edge_key(i, is_receive), round);
        return units;
    }

    void make_types(int layout) {
        layout_ = layout;
        has_freed_types_ = false;
        send_.free_types();
        recv_.free_types();
        random_numbers own(hash_of(choice_.seed, where_->rank(), layout));
        make_types(send_, own, is_allgather() ? 1 : where_->destinations().size(), 0);
        make_types(recv_, own, where_->sources().size(), 1);
    }

    void make_types(side& made, random_numbers& own, std::size_t num_blocks, int is_receive) {
        num_blocks_[is_receive] = num_blocks;
        if (!takes_null_arrays()) made.avoid_null_arrays();
        made.types.clear();
        made.handles.clear();
        const bool is_w = choice_.which == call::alltoallw;
        for (std::size_t i = 0; i < (is_w ? num_blocks : 1); ++i) {
            const int divisors[] = {1, 2, 3, 6};
            const int held = choice_.multiple == 1 ? 1 : divisors[own.below(4)];
            const auto of =
                is_w ? static_cast<unit>(hash_of(choice_.seed, edge_key(i, is_receive == 1), 4) % 4)
                     : choice_.of;
            made.types.push_back(make_datatype(of, held, own));
            made.handles.push_back(made.types.back().handle);
        }
    }

    void place(int round) {
        equal_units_ = num_units(0, round);
        sent_units_ = choice_.which == call::allgatherv ? num_units(hash_of(where_->rank()), round)
                                                        : equal_units_;
        const bool is_w = choice_.which == call::alltoallw;
        const bool is_v =
            choice_.which == call::allgatherv || choice_.which == call::alltoallv || is_w;
        random_numbers own(hash_of(choice_.seed, where_->rank(), layout_, 5));
        const bool overlaps = own.chance(20);
        const auto recv_how = is_v ? placement::scattered : placement::consecutive;
        const auto send_how = is_allgather()     ? placement::consecutive
                              : is_v && overlaps ? placement::overlapping
                                                 : recv_how;
        const std::size_t shift =
            choice_.alternates_buffers && round % 2 == 1 ? side::guard_bytes : 0;
        send_.place(own, send_how, units_of_blocks(num_blocks_[0], false, round), is_w,
                    choice_.is_bottom, shift);
        recv_.place(own, recv_how, units_of_blocks(num_blocks_[1], true, round), is_w,
                    choice_.is_bottom, shift);
        for (auto* at : {&send_, &recv_})
            if (is_v && takes_null_arrays() && at->num_blocks() == 0) at->base = nullptr;
    }

    // Calls what `Small` or `Large` names in the table of functions.
    template <auto Small, auto Large, class... Last>
    void invoke(Last... last) {
        if (choice_.is_large)
            invoke_form(mpi_->large.*Large, last...);
        else
            invoke_form(mpi_->small.*Small, last...);
    }

    template <class Count, class Displacement, class... Last>
    void invoke_form(const calls<Count, Displacement, MPI_Comm, Last...>& mpi, Last... last) {
        conformance::invoke(mpi, choice_.which,
                            arguments_of<Count, Displacement>(send_, sent_units_),
                            arguments_of<Count, Displacement>(recv_, equal_units_), comm_, last...);
    }

    // Calls of alltoallw have no datatype where there is no neighbor, nor the one count.
    template <class Count, class Displacement>
    static arguments<Count, Displacement> arguments_of(const side& at, int units) {
        return at.as_arguments<Count, Displacement>(
            at.types.empty() ? 0 : units / at.types[0].num_units);
    }

    void free_types_early() {
        if (!choice_.frees_types_early) return;
        send_.free_types();
        recv_.free_types();
        has_freed_types_ = true;
    }

    exchange_choice choice_;
    const topology* where_;
    MPI_Comm comm_;
    const functions* mpi_;
    side send_;
    side recv_;
    std::size_t num_blocks_[2] = {0, 0};
    int sent_units_ = 0;   // to all destinations, where the call has one count for them
    int equal_units_ = 0;  // from all sources
    int layout_ = 0;
    bool has_freed_types_ = false;
};

}  // namespace conformance

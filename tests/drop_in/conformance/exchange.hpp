/// @file
/// @brief One neighborhood collective with buffers of its own: a call under test, or its twin.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "datatypes.hpp"
#include "grid_edges.hpp"
#include "topology.hpp"

namespace conformance {

enum class amount { none, one, tiny, few_edges, some, many };
enum class change { never, all, some_edges };

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
        drawn.changes = how == form::persistent || shared.chance(50) ? change::never
                        : shared.chance(50)                          ? change::all
                                                                     : change::some_edges;
        drawn.alternates_buffers = how != form::persistent && shared.chance(20);
        drawn.frees_types_early = shared.chance(20) && keeps_datatypes(how);
        drawn.is_bottom = shared.chance(25);
        drawn.seed = shared.next();
        return drawn;
    }

    std::string name() const { return name_of(how, which) + (is_large ? "_c" : ""); }
};

enum class placement { consecutive, scattered, overlapping };

/// The send or the receive arguments of one rank, and the memory that they name.
class side {
  public:
    static constexpr std::size_t guard_bytes = 64;

    std::vector<datatype> types;  // one, or one for each block
    std::vector<MPI_Datatype> handles;
    std::tuple<std::vector<int>, std::vector<MPI_Count>> counts;
    std::tuple<std::vector<int>, std::vector<MPI_Aint>> displacements;
    std::vector<MPI_Aint> byte_displacements;
    std::vector<std::byte> storage;
    void* base = nullptr;

    /// Arrays without an element have an address, as some MPIs want it.
    void avoid_null_arrays() {
        handles.reserve(1);
        byte_displacements.reserve(1);
        std::apply([](auto&... all) { (all.reserve(1), ...); }, counts);
        std::apply([](auto&... all) { (all.reserve(1), ...); }, displacements);
    }

    const datatype& type_of(std::size_t block) const {
        return types.size() == 1 ? types[0] : types[block];
    }
    std::size_t num_blocks() const { return first_bytes_.size(); }

    /// @param equal_count  where one count holds for all blocks
    template <class Count, class Displacement>
    arguments<Count, Displacement> as_arguments(int equal_count) const {
        return {base,
                static_cast<Count>(equal_count),
                std::get<std::vector<Count>>(counts).data(),
                std::get<std::vector<Displacement>>(displacements).data(),
                byte_displacements.data(),
                handles.data()};
    }

    /// Blocks of `num_units` units each, counted in values of their datatypes.
    /// @param has_byte_displacements  as MPI_Neighbor_alltoallw
    void place(random_numbers& random, placement how, const std::vector<int>& num_units,
               bool has_byte_displacements, bool is_bottom, std::size_t shift_bytes) {
        const auto num_blocks = num_units.size();
        auto& small = std::get<0>(counts);
        small.resize(num_blocks);
        std::vector<MPI_Aint> widths(num_blocks);  // in steps
        const MPI_Aint step = has_byte_displacements ? 16 : 1;
        for (std::size_t i = 0; i < num_blocks; ++i) {
            small[i] = num_units[i] / type_of(i).num_units;
            widths[i] =
                has_byte_displacements ? (small[i] * type_of(i).extent + 15) / 16 * 16 : small[i];
        }
        std::get<1>(counts).assign(small.begin(), small.end());

        std::vector<MPI_Aint> first(num_blocks);
        const auto end = how == placement::overlapping ? overlap(random, widths, step, first)
                                                       : line_up(random, how, widths, step, first);
        const MPI_Aint unit_bytes = has_byte_displacements ? 1 : types[0].extent;
        storage.resize(2 * guard_bytes + shift_bytes + static_cast<std::size_t>(end * unit_bytes));
        auto* start = storage.data() + guard_bytes + shift_bytes;
        MPI_Aint origin = 0;  // what displacements count from; blocks before it have negative ones
        if (how != placement::consecutive && random.chance(50))
            origin = random.below(static_cast<int>(end / step) + 1) * step;

        first_bytes_.resize(num_blocks);
        for (std::size_t i = 0; i < num_blocks; ++i)
            first_bytes_[i] =
                guard_bytes + shift_bytes + static_cast<std::size_t>(first[i] * unit_bytes);
        MPI_Aint address = 0;
        MPI_Get_address(start, &address);
        if (has_byte_displacements) {
            base = is_bottom ? MPI_BOTTOM : start + origin;
            byte_displacements.resize(num_blocks);
            for (std::size_t i = 0; i < num_blocks; ++i)
                byte_displacements[i] =
                    first[i] - type_of(i).lower_bound + (is_bottom ? address : -origin);
            return;
        }
        // Not by pointer arithmetic, as a lower bound may lie before the storage.
        address += origin * unit_bytes - types[0].lower_bound;
        base = reinterpret_cast<void*>(address);
        auto& steps = std::get<0>(displacements);
        steps.resize(num_blocks);
        for (std::size_t i = 0; i < num_blocks; ++i) steps[i] = static_cast<int>(first[i] - origin);
        std::get<1>(displacements).assign(steps.begin(), steps.end());
    }

    /// Where a block's values start for MPI, as a receive or send by hand would be told.
    void* address_of(std::size_t block) const {
        const auto* start = storage.data() + first_bytes_[block];
        return reinterpret_cast<void*>(reinterpret_cast<MPI_Aint>(start) -
                                       type_of(block).lower_bound);
    }

    /// The block that holds a byte of the storage, or -1: a gap or a guard.
    int block_at(std::size_t byte) const {
        for (std::size_t i = 0; i < num_blocks(); ++i) {
            const auto extent =
                static_cast<std::size_t>(std::get<0>(counts)[i] * type_of(i).extent);
            if (byte >= first_bytes_[i] && byte < first_bytes_[i] + extent)
                return static_cast<int>(i);
        }
        return -1;
    }

    void free_types() {
        for (auto& type : types) type.free();
    }

  private:
    static MPI_Aint line_up(random_numbers& random, placement how,
                            const std::vector<MPI_Aint>& widths, MPI_Aint step,
                            std::vector<MPI_Aint>& first) {
        std::vector<std::size_t> order(widths.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const bool is_scattered = how == placement::scattered;
        if (is_scattered && random.chance(50)) random.shuffle(order);
        MPI_Aint end = 0;
        for (const auto i : order) {
            if (is_scattered) end += random.below(3) * step;
            first[i] = end;
            end += widths[i];
        }
        return end;
    }

    static MPI_Aint overlap(random_numbers& random, const std::vector<MPI_Aint>& widths,
                            MPI_Aint step, std::vector<MPI_Aint>& first) {
        MPI_Aint end = 0;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            first[i] = random.below(4) * step;
            end = std::max(end, first[i] + widths[i]);
        }
        return end;
    }

    std::vector<std::size_t> first_bytes_;  // in storage
};

class exchange {
  public:
    exchange(const exchange_choice& choice, const topology& where, MPI_Comm comm,
             const functions& mpi)
        : choice_(choice), where_(&where), comm_(comm), mpi_(&mpi) {
        make_types();
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
            if (has_freed_types_) make_types();
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

    /// Instead of start and wait: what the standard says the collective does, by sends and receives.
    void exchange_by_hand() {
        if (comm_ == MPI_COMM_NULL) return;
        std::vector<MPI_Request> requests;
        const auto& sources = where_->sources();
        const auto& destinations = where_->destinations();
        for (std::size_t i = 0; i < sources.size(); ++i)
            PMPI_Irecv(recv_.address_of(i), recv_count(i), recv_.type_of(i).handle, sources[i],
                       tag(i, sources, true), comm_, &requests.emplace_back());
        for (std::size_t i = 0; i < destinations.size(); ++i) {
            const auto block = is_allgather() ? 0 : i;
            PMPI_Isend(send_.address_of(block), std::get<0>(send_.counts)[block],
                       send_.type_of(block).handle, destinations[i], tag(i, destinations, false),
                       comm_, &requests.emplace_back());
        }
        PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }

  private:
    bool is_allgather() const {
        return choice_.which == call::allgather || choice_.which == call::allgatherv;
    }
    // Open MPI does not where a rank has no neighbor: 4.1 and 5.0 in all allgatherv, 4.1 in all persistent calls.
    bool takes_null_arrays() const {
#ifdef OPEN_MPI
        return choice_.which != call::allgatherv && choice_.how != form::persistent;
#else
        return true;
#endif
    }
    int recv_count(std::size_t block) const { return std::get<0>(recv_.counts)[block]; }

    // The k-th edge between two ranks on both sides. A message that leaves a grid's rank upwards arrives from below.
    int tag(std::size_t neighbor, const std::vector<int>& neighbors, bool is_receive) const {
        if (where_->is_cartesian()) return static_cast<int>(is_receive ? neighbor ^ 1U : neighbor);
        return occurrence(neighbor, neighbors);
    }

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

    int num_units(std::uint64_t key, int round) const {
        const bool is_changed =
            choice_.changes == change::all ||
            (choice_.changes == change::some_edges && hash_of(choice_.seed, key, 3) % 4 == 0);
        random_numbers random(hash_of(choice_.seed, key, is_changed ? round : 0));
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
        for (std::size_t i = 0; i < num_blocks; ++i) {
            units[i] = is_allgather() && !is_receive ? sent_units_
                                                     : num_units(edge_key(i, is_receive), round);
        }
        return units;
    }

    void make_types() {
        has_freed_types_ = false;
        random_numbers own(hash_of(choice_.seed, where_->rank()));
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
        random_numbers own(hash_of(choice_.seed, where_->rank(), 5));
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
    bool has_freed_types_ = false;
};

}  // namespace conformance

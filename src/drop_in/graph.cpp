#include "graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace crossdock::drop_in {

namespace {

constexpr int repeats_until_planned = 1;
constexpr std::size_t most_plans = 16;
constexpr std::size_t most_under_way = 2;  // of calls with one layout

int delete_graph(MPI_Comm, int, void* kept, void*) {
    delete static_cast<std::shared_ptr<graph>*>(kept);
    return MPI_SUCCESS;
}

int key() {
    static const int created = [] {
        int made = MPI_KEYVAL_INVALID;
        CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_graph, &made, nullptr));
        return made;
    }();
    return created;
}

neighbors all_of(std::vector<rank_t> ranks) {
    neighbors made;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] == MPI_PROC_NULL) continue;
        made.ranks.push_back(ranks[i]);
        made.entries.push_back(static_cast<int>(i));
    }
    return made;
}

struct both_sides {
    neighbors sources;
    neighbors destinations;
};

both_sides of_dist_graph(MPI_Comm comm) {
    int num_sources = 0, num_destinations = 0, is_weighted = 0;
    CROSSDOCK_MPI(
        MPI_Dist_graph_neighbors_count(comm, &num_sources, &num_destinations, &is_weighted));
    // MPI writes weights even where it is told that nobody wants them, if there are some.
    std::vector<int> sources(static_cast<std::size_t>(num_sources)), source_weights(sources);
    std::vector<int> destinations(static_cast<std::size_t>(num_destinations)),
        destination_weights(destinations);
    CROSSDOCK_MPI(MPI_Dist_graph_neighbors(
        comm, num_sources, sources.data(), is_weighted ? source_weights.data() : MPI_UNWEIGHTED,
        num_destinations, destinations.data(),
        is_weighted ? destination_weights.data() : MPI_UNWEIGHTED));
    return {all_of(std::move(sources)), all_of(std::move(destinations))};
}

both_sides of_graph(MPI_Comm comm, int rank) {
    int num_neighbors = 0;
    CROSSDOCK_MPI(MPI_Graph_neighbors_count(comm, rank, &num_neighbors));
    std::vector<int> ranks(static_cast<std::size_t>(num_neighbors));
    CROSSDOCK_MPI(MPI_Graph_neighbors(comm, rank, num_neighbors, ranks.data()));
    auto made = all_of(std::move(ranks));
    return {made, made};
}

// None where a dimension wraps around after one or two ranks: which of the two blocks for one neighbor then goes where
// differs between MPIs.
std::optional<both_sides> of_cartesian(MPI_Comm comm) {
    int num_dimensions = 0;
    CROSSDOCK_MPI(MPI_Cartdim_get(comm, &num_dimensions));
    const auto size = static_cast<std::size_t>(num_dimensions);
    std::vector<int> extents(size), are_periodic(size), coordinates(size), ranks;
    CROSSDOCK_MPI(MPI_Cart_get(comm, num_dimensions, extents.data(), are_periodic.data(),
                               coordinates.data()));
    for (std::size_t d = 0; d < size; ++d) {
        if (are_periodic[d] && extents[d] <= 2) return std::nullopt;
        int below = 0, above = 0;
        CROSSDOCK_MPI(MPI_Cart_shift(comm, static_cast<int>(d), 1, &below, &above));
        ranks.insert(ranks.end(), {below, above});
    }
    auto made = all_of(std::move(ranks));
    return both_sides{made, made};
}

std::optional<both_sides> neighbors_of(MPI_Comm comm) {
    int is_inter = 0;
    CROSSDOCK_MPI(MPI_Comm_test_inter(comm, &is_inter));
    if (is_inter) return std::nullopt;
    int kind = MPI_UNDEFINED, rank = 0;
    CROSSDOCK_MPI(MPI_Topo_test(comm, &kind));
    CROSSDOCK_MPI(MPI_Comm_rank(comm, &rank));
    if (kind == MPI_DIST_GRAPH) return of_dist_graph(comm);
    if (kind == MPI_GRAPH) return of_graph(comm, rank);
    if (kind == MPI_CART) return of_cartesian(comm);
    return std::nullopt;
}

// With the regions that the environment names, if they are of so many ranks: it names one topology for communicators of
// all sizes.
context context_of(MPI_Comm comm) {
    try {
        return context(comm);
    } catch (const error& fault) {
        if (fault.code() != errc::invalid_topology) throw;
    }
    context_options by_node;
    by_node.topology = "node";
    return context(comm, by_node);
}

int alignment_of(const call_layout& layout) {
    return std::min(layout.sends.alignment(), layout.receives.alignment());
}

}  // namespace

void graph::attach(MPI_Comm user) {
    if (user == MPI_COMM_NULL || !progress_engine::is_available()) return;
    auto found = neighbors_of(user);
    if (!found) return;
    int level = MPI_THREAD_SINGLE;
    CROSSDOCK_MPI(MPI_Query_thread(&level));
    int is_possible = level < MPI_THREAD_MULTIPLE;
    CROSSDOCK_MPI(PMPI_Allreduce(MPI_IN_PLACE, &is_possible, 1, MPI_INT, MPI_MIN, user));
    if (!is_possible) return;
    auto made =
        std::make_shared<graph>(user, std::move(found->sources), std::move(found->destinations));
    CROSSDOCK_MPI(MPI_Comm_set_attr(user, key(), new std::shared_ptr<graph>(std::move(made))));
}

std::shared_ptr<graph> graph::of(MPI_Comm user) {
    if (user == MPI_COMM_NULL) return nullptr;
    void* kept = nullptr;
    int is_set = 0;
    if (MPI_Comm_get_attr(user, key(), static_cast<void*>(&kept), &is_set) != MPI_SUCCESS ||
        !is_set)
        return nullptr;
    return *static_cast<std::shared_ptr<graph>*>(kept);
}

graph::graph(MPI_Comm user, neighbors sources, neighbors destinations)
    : sources_(std::move(sources)), destinations_(std::move(destinations)) {
    // A split, since a duplicate would call the user's functions that copy attributes.
    MPI_Comm bare = MPI_COMM_NULL;
    int rank = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(user, &rank));
    CROSSDOCK_MPI(MPI_Comm_split(user, 0, rank, &bare));
    CROSSDOCK_MPI(PMPI_Dist_graph_create_adjacent(
        bare, checked_cast<int>(sources_.ranks.size()), sources_.ranks.data(), MPI_UNWEIGHTED,
        checked_cast<int>(destinations_.ranks.size()), destinations_.ranks.data(), MPI_UNWEIGHTED,
        MPI_INFO_NULL, 0, &twin_));
    CROSSDOCK_MPI(MPI_Comm_set_errhandler(twin_, MPI_ERRORS_RETURN));
    where_.emplace(context_of(bare));
    is_forced_ = asked_untried_route(*where_, automatic_route) != automatic_route;
    CROSSDOCK_MPI(MPI_Comm_free(&bare));
}

graph::turn::turn(graph& of) : of_(&of), number_(of.next_turn_++) {}

void graph::turn::wait() const {
    progress_engine::of_process().wait_until([&] { return of_->present_turn_ == number_; });
}

void graph::turn::end() {
    if (auto* const left = std::exchange(of_, nullptr)) ++left->present_turn_;
}

planned_exchange* graph::find_plan(const call_layout& layout) {
    num_repeats_ = layout == last_ ? num_repeats_ + 1 : 0;
    if (num_repeats_ == 0) last_ = layout;
    const auto found =
        std::ranges::find_if(plans_, [&](const auto& one) { return one->layout() == layout; });
    const int index = found == plans_.end() ? -1 : static_cast<int>(found - plans_.begin());
    std::array<int, 4> least{index, -index, is_forced_ ? repeats_until_planned : num_repeats_,
                             alignment_of(layout)};
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, least.data(), 4, MPI_INT, MPI_MIN,
                                 where_->comm().get(), &reduction));
    where_->comm().wait(reduction);
    planned_exchange* plan = nullptr;
    if (index >= 0 && least[0] == index && -least[1] == index) {
        plan = plans_[static_cast<std::size_t>(index)].get();
    } else if (least[2] >= repeats_until_planned && plans_.size() < most_plans) {
        plans_.push_back(make_plan(layout, least[3], most_under_way));
        plan = plans_.back().get();
    }
    return plan != nullptr && plan->is_faster() ? plan : nullptr;
}

std::unique_ptr<planned_exchange> graph::make_plan(const call_layout& layout, int alignment,
                                                   std::size_t depth) const {
    const auto p = pattern_of(where_->rank(), where_->num_ranks(), destinations_.ranks,
                              layout.sends, sources_.ranks, layout.receives, alignment);
    auto made = std::make_unique<planned_exchange>(*where_, p, layout, alignment, depth);
    if (!is_forced_) made->compare_with_mpi(twin_);
    return made;
}

int graph::agree_on_alignment(const call_layout& layout) const {
    int alignment = alignment_of(layout);
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, &alignment, 1, MPI_INT, MPI_MIN,
                                 where_->comm().get(), &reduction));
    where_->comm().wait(reduction);
    return alignment;
}

}  // namespace crossdock::drop_in

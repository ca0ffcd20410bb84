#include "graph.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <list>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "basics.hpp"
#include "call_without_plan.hpp"
#include "crossdock/detail/base/word_hash.hpp"
#include "crossdock/extend.hpp"
#include "planned_call.hpp"
#include "polling.hpp"
#include "record.hpp"
#include "trial.hpp"

namespace crossdock::drop_in {

namespace {

constexpr std::size_t most_under_way = 2;  // of calls with one layout
constexpr count_t most_trial_bytes = count_t{1} << 30;
constexpr std::size_t most_known_trials = 64;
constexpr int too_long = -1;  // in place of an alignment
constexpr int for_mpi = -2;
constexpr const char* not_on_host = "not host memory";
std::atomic<int> num_graphs = 0;

// Those that are not freed.
std::list<std::shared_ptr<graph>>& all_graphs() {
    static auto& all = *new std::list<std::shared_ptr<graph>>;
    return all;
}

// How many graphs are no longer kept with their communicators, whose handles may be those of others now.
constinit std::atomic<std::uint64_t> num_deleted = 0;

int delete_graph(MPI_Comm, int, void* kept, void*) {
    ++num_deleted;
    const std::unique_ptr<std::shared_ptr<graph>> one(static_cast<std::shared_ptr<graph>*>(kept));
    (*one)->forget_user();
    return MPI_SUCCESS;
}

int new_key() {
    int made = MPI_KEYVAL_INVALID;
    CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_graph, &made, nullptr));
    return made;
}

// Of what is kept for the neighbors of a topology, and for all ranks.
int topology_key() {
    static const int created = new_key();
    return created;
}
int all_ranks_key() {
    static const int created = new_key();
    return created;
}

int wanted_key() {
    static const int created = [] {
        int made = MPI_KEYVAL_INVALID;
        const auto forget = [](MPI_Comm, int, void*, void*) -> int {
            --graph::num_wanted;
            return MPI_SUCCESS;
        };
        CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr));
        return made;
    }();
    return created;
}

bool is_wanted(MPI_Comm user) {
    void* kept = nullptr;
    int is_set = 0;
    CROSSDOCK_MPI(MPI_Comm_get_attr(user, wanted_key(), static_cast<void*>(&kept), &is_set));
    return is_set != 0;
}

void want(MPI_Comm user) {
    if (is_wanted(user)) return;
    CROSSDOCK_MPI(MPI_Comm_set_attr(user, wanted_key(), nullptr));
    ++graph::num_wanted;
    begin_watching_collectives();
}

const std::shared_ptr<graph>* kept_with(MPI_Comm user, int key) {
    // Looking an attribute up costs more than all else that a call needs that is left to MPI.
    struct last_found {
        MPI_Comm comm;
        int key;
        std::uint64_t num_deleted;
        const std::shared_ptr<graph>* kept;
    };
    static constinit thread_local last_found last
        [[gnu::tls_model("initial-exec")]]{MPI_COMM_NULL, MPI_KEYVAL_INVALID, 0, nullptr};
    if (user == MPI_COMM_NULL || progress_engine::is_finalizing()) return nullptr;
    const auto present = num_deleted.load(std::memory_order_relaxed);
    if (last.comm == user && last.key == key && last.num_deleted == present) return last.kept;
    void* kept = nullptr;
    int is_set = 0;
    if (MPI_Comm_get_attr(user, key, static_cast<void*>(&kept), &is_set) != MPI_SUCCESS || !is_set)
        return nullptr;
    last = {user, key, present, static_cast<std::shared_ptr<graph>*>(kept)};
    return last.kept;
}

std::size_t size_of(MPI_Comm comm) {
    int size = 0;
    CROSSDOCK_MPI(MPI_Comm_size(comm, &size));
    return static_cast<std::size_t>(size);
}

bool has_all_of_world(MPI_Comm comm) {
    MPI_Group members = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int order = MPI_UNEQUAL;
    CROSSDOCK_MPI(MPI_Comm_group(comm, &members));
    CROSSDOCK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CROSSDOCK_MPI(MPI_Group_compare(members, world, &order));
    CROSSDOCK_MPI(MPI_Group_free(&members));
    CROSSDOCK_MPI(MPI_Group_free(&world));
    return order != MPI_UNEQUAL;
}

std::int64_t random_key() {
    std::random_device random;
    return static_cast<std::int64_t>((std::uint64_t{random()} << 31) ^ random());
}

// What all ranks can do. Collectives among ranks of which only some poll would be different functions.
graph_terms agree_on_graph(MPI_Comm comm, bool has_neighbors) {
    constexpr auto others_key = std::numeric_limits<std::int64_t>::max();
    int rank = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(comm, &rank));
    std::array<std::int64_t, 4> least{static_cast<int>(progress_engine::place_here()),
                                      has_neighbors, rank == 0 ? random_key() : others_key,
                                      report::of_process() != nullptr};
    CROSSDOCK_MPI(PMPI_Allreduce(MPI_IN_PLACE, least.data(), 4, MPI_INT64_T, MPI_MIN, comm));
    graph_terms agreed{static_cast<progress_place>(least[0]), least[1] != 0, least[2],
                       least[3] != 0};
    if (agreed.progress != progress_place::intercepted) return agreed;
    if (has_all_of_world(comm))
        begin_polling();
    else
        agreed.progress = progress_place::exchanges;
    return agreed;
}

std::vector<rank_t> ranks_with_neighbors(MPI_Comm comm, bool all_have, bool this_has) {
    auto ranks = with_reserve([&] { return std::vector<rank_t>(size_of(comm)); });
    std::iota(ranks.begin(), ranks.end(), 0);
    if (all_have) return ranks;
    auto have = with_reserve([&] { return std::vector<char>(ranks.size()); });
    const char own = this_has;
    CROSSDOCK_MPI(PMPI_Allgather(&own, 1, MPI_CHAR, have.data(), 1, MPI_CHAR, comm));
    std::erase_if(ranks, [&](rank_t one) { return !have[static_cast<std::size_t>(one)]; });
    return ranks;
}

}  // namespace

void graph::attach(MPI_Comm user) {
    if (user == MPI_COMM_NULL || progress_engine::is_finalizing()) return;
    auto found = with_reserve([&] { return neighbors_of(user); });
    if (!found) return;
    const auto agreed = agree_on_graph(user, found->has_any());
    if (agreed.progress == progress_place::nowhere) return;
    keep(user, topology_key(), std::move(*found), true, agreed);
}

const std::shared_ptr<graph>* graph::of_all_ranks(MPI_Comm user, bool may_make) {
    const auto* const known = kept_with(user, all_ranks_key());
    if (known || progress_engine::is_finalizing()) return known;
    if (!may_make) {
        want(user);
        return nullptr;
    }
    int is_inter = 0;
    CROSSDOCK_MPI(MPI_Comm_test_inter(user, &is_inter));
    if (is_inter) return nullptr;
    const meeting all_are_here(user);
    const auto agreed = agree_on_graph(user, true);
    if (agreed.progress == progress_place::nowhere) return nullptr;
    auto sides = with_reserve([&] {
        std::vector<rank_t> ranks(size_of(user));
        std::iota(ranks.begin(), ranks.end(), 0);
        const neighbors all(std::move(ranks));
        return both_sides{all, all};
    });
    keep(user, all_ranks_key(), std::move(sides), false, agreed);
    return kept_with(user, all_ranks_key());
}

void graph::make_wanted(MPI_Comm user) noexcept try {
    if (user == MPI_COMM_NULL || progress_engine::is_inside() || !is_wanted(user)) return;
    CROSSDOCK_MPI(MPI_Comm_delete_attr(user, wanted_key()));
    of_all_ranks(user, true);
} catch (...) {
    // Exchanges remain MPI's.
}

void graph::keep(MPI_Comm user, int key, both_sides sides, bool has_topology,
                 const graph_terms& agreed) {
    const auto members = ranks_with_neighbors(user, agreed.has_all_ranks, sides.has_any());
    auto seat = place::take_seat(user, members, sides.has_any(), agreed.key);
    if (!seat) return;
    if (!agreed.has_all_ranks) {
        sides.sources.number_among(members);
        sides.destinations.number_among(members);
    }
    const auto made = with_reserve([&, &sides = sides] {
        return std::make_shared<graph>(user, std::move(sides), has_topology, agreed,
                                       std::move(*seat));
    });
    // After the context is there, which MPI_Finalize would otherwise close first.
    if (!made->is_left_out()) close_before_finalize();
    const progress_engine::access alone;
    with_reserve([&] { all_graphs().push_front(made); });
    made->among_all_ = all_graphs().begin();
    CROSSDOCK_MPI(MPI_Comm_set_attr(
        user, key, with_reserve([&] { return new std::shared_ptr<graph>(made); })));
}

const std::shared_ptr<graph>* graph::of(MPI_Comm user) { return kept_with(user, topology_key()); }

graph::graph(MPI_Comm user, both_sides sides, bool has_topology, const graph_terms& agreed,
             place::seat seat)
    : user_(user),
      number_(num_graphs++),
      has_topology_(has_topology),
      terms_(agreed),
      seat_(std::move(seat)),
      sources_(std::move(sides.sources)),
      destinations_(std::move(sides.destinations)) {
    if (is_left_out()) return;
    for (auto& kind : kinds_) kind.calls = repetition(seat_.at()->is_forced());
}

MPI_Comm graph::make_twin() const {
    MPI_Comm made = MPI_COMM_NULL;
    CROSSDOCK_MPI(PMPI_Dist_graph_create_adjacent(
        seat_.at()->messages(), checked_cast<int>(sources_.ranks.size()), sources_.ranks.data(),
        MPI_UNWEIGHTED, checked_cast<int>(destinations_.ranks.size()), destinations_.ranks.data(),
        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    CROSSDOCK_MPI(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    return made;
}

MPI_Comm graph::twin() {
    if (twin_ == MPI_COMM_NULL) {
        begin_set_up();
        twin_ = make_twin();
        seat_.at()->free_at_end(twin_);
    }
    return twin_;
}

graph::turn::turn(graph& of) : of_(&of), number_(of.next_turn_++) {}

void graph::turn::wait() const {
    progress_engine::of_process().wait_until([&] { return is_there(); });
}

void graph::turn::end() {
    if (auto* const left = std::exchange(of_, nullptr)) ++left->present_turn_;
}

bool graph::leaves(block_kind kind, call_facts* facts) {
    auto& state = state_of(kind);
    if (!state.calls.leaves_next()) return false;
    state.calls.leave();
    if (facts != nullptr && !facts->plan) facts->plan = state.not_faster;
    return true;
}

planned_exchange::instance* graph::find_ready(const layouts_seen& layout, block_kind kind,
                                              call_form form) {
    auto& state = state_of(kind);
    if (!has_turn() || !state.calls.goes_on(state.round, state.plans.size())) return nullptr;
    const auto& plan = state.plans[state.calls.next_slot()];
    if (!plan || !plan->find_ready(form)) return nullptr;
    return &decide(layout, kind, form).plan->next_instance(form);
}

graph::decision graph::decide(const layouts_seen& layout, block_kind kind, call_form form,
                              call_facts* facts) {
    auto& state = state_of(kind);
    if (leaves(kind, facts)) return {};
    const auto step = state.calls.next(layout.sends.lengths, layout.receives.lengths);
    if (layout.is_for_mpi) {
        state.calls.differed();
        if (facts != nullptr) facts->why_none = not_on_host;
    }
    if (step.slot == repetition::no_slot) return {nullptr, step.is_asked};
    if (std::exchange(state.round, step.round) != step.round) {
        with_reserve([&] { state.old.reserve(state.old.size() + state.plans.size()); });
        std::ranges::move(std::exchange(state.plans, {}), std::back_inserter(state.old));
    }
    const auto slot = static_cast<std::size_t>(step.slot);
    if (slot == state.plans.size()) {
        with_reserve([&] { state.plans.emplace_back(); });
        try {
            state.plans.back() = make_plan(layout, kind, form, most_under_way, facts);
        } catch (...) {
            state.calls.lost();
            throw;
        }
        if (!state.plans.back()) state.calls.lost();
    }
    auto* const plan = state.plans[slot].get();
    if (plan != nullptr && !layout.is_for_mpi &&
        (plan->layout().sends.lengths != layout.sends.lengths ||
         plan->layout().receives.lengths != layout.receives.lengths))
        state.calls.differed();
    return {plan, step.is_asked};
}

graph::question::question(graph& of, block_kind kind)
    : calls_(of.state_of(kind).calls), of_(of), votes_(calls_.vote()) {}

void graph::question::conclude() {
    of_.seat_.at()->reduce({&votes_, 1}, of_.seat_.tag_of(place::message::questions),
                           place::common_bits);
    calls_.conclude(static_cast<std::uint32_t>(votes_));
}

tagged_comm graph::next_messages() {
    const auto i = num_without_plan_++ % are_under_way_.size();
    progress_engine::of_process().wait_until([&] { return !are_under_way_[i]; });
    are_under_way_[i] = true;
    return {seat_.at()->messages(), seat_.tag_of(place::message::blocks) + static_cast<int>(i)};
}

bool graph::may_all(bool may_this) const {
    std::int64_t may = may_this;
    seat_.at()->reduce({&may, 1}, seat_.tag_of(place::message::votes), place::least);
    return may != 0;
}

void graph::wait_for_all() const { may_all(true); }

void graph::begin_set_up() const {
    progress_engine::of_process().begin_blocking(
        terms_.key, [this](bool may_this) { return may_all(may_this); });
}

std::unique_ptr<planned_exchange> graph::make_plan(const layouts_seen& layout, block_kind kind,
                                                   call_form form, std::size_t depth,
                                                   call_facts* facts) {
    const auto begin = std::chrono::steady_clock::now();
    const auto leave = [&](const char* why) {
        if (facts != nullptr) facts->why_none = why;
        return nullptr;
    };
    const auto hash = hash_of(layout, kind, form);
    const auto [alignment, number] = agree_on_plan(layout, hash);
    if (alignment < 0) return leave(alignment == too_long ? "too long to try" : not_on_host);
    std::optional<known_trial> before;
    auto& trials = seat_.at()->trials();
    // Of a graph without a report the facts were not kept.
    if (number >= 0 && (facts == nullptr || trials[static_cast<std::size_t>(number)].facts))
        before = trials[static_cast<std::size_t>(number)];
    // Of persistent requests of MPI's own those ranks would have to be told that have no neighbors.
    const bool is_forced = seat_.at()->is_forced();
    const bool is_given = is_forced || (form == call_form::persistent && !has_all_ranks());
    const auto is_to_be_used = [&](const trial_seconds& trial) { return is_given || wins(trial); };
    std::unique_ptr<planned_exchange> made;
    if (!before || is_to_be_used(before->seconds)) {
        // What is set up blocks at times, and may be shared with other graphs.
        begin_set_up();
        try {
            const auto p = with_reserve([&] {
                return pattern_of(where().rank(), where().num_ranks(), destinations_.ranks,
                                  layout.sends, sources_.ranks, layout.receives, alignment);
            });
            record_pattern(where(), p, number_, num_plans_++, 1 << alignment);
            const auto marked = form == call_form::persistent ? marked_edges::none
                                : has_topology_               ? marked_edges::every
                                                              : marked_edges::full;
            // Once: without memory the plan is begun again on one rank alone.
            tag_block tags;
            if (marked != marked_edges::none || planned_call::verifies())
                tags = where().comm().reserve_tags(planned_exchange::num_tags_each *
                                                   static_cast<int>(depth));
            made = with_reserve([&] {
                return std::make_unique<planned_exchange>(
                    where(), destinations_.ranks, sources_.ranks,
                    call_layout{layout.sends, layout.receives}, kind == block_kind::shared,
                    alignment, marked, depth);
            });
            made->set_tags(std::move(tags));
        } catch (const error& fault) {
            // What MPI is to say of counts that do not match, MPI says.
            if (fault.code() == errc::count_mismatch) return leave("counts do not match");
            // A nonblocking call makes no window, and the executor that was asked for may need one.
            if (fault.code() == errc::out_of_memory && form == call_form::nonblocking)
                return leave("too little memory");
            if (fault.code() == errc::count_overflow) return leave("too few tags");
            throw;
        }
        if (is_given && facts == nullptr) return made;
    }
    if (!before) {
        before = {hash, compare_with_mpi(*made, layout, kind, form), nullptr};
        const bool is_used = is_to_be_used(before->seconds);
        if (facts != nullptr) {
            auto found = with_reserve([&] {
                return std::make_shared<plan_facts>(
                    facts_of(where(), made->plan(), destinations_.ranks, layout.sends.lengths,
                             before->seconds));
            });
            found->is_used = is_used;
            found->why = is_forced               ? "asked for"
                         : wins(before->seconds) ? "faster than MPI"
                         : is_used               ? "ranks without neighbors"
                                                 : "not faster than MPI";
            before->facts = std::move(found);
        }
        if (trials.size() < most_known_trials) append_with_reserve(trials, *before);
    }
    if (facts != nullptr) {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        facts->set_up_seconds += taken.count();
        facts->plan = before->facts;
        if (made) made->set_facts(before->facts);
        if (!is_to_be_used(before->seconds)) state_of(kind).not_faster = before->facts;
    }
    if (!is_to_be_used(before->seconds)) made.reset();
    return made;
}

std::uint64_t graph::hash_of(const layouts_seen& layout, block_kind kind, call_form form) const {
    word_hash words;
    for (const auto* const side : {&layout.sends, &layout.receives}) {
        words.add(std::span(side->lengths));
        words.add(std::span(side->offsets));
    }
    words.add(std::span(destinations_.ranks));
    words.add(std::span(sources_.ranks));
    const std::array terms{static_cast<int>(kind),
                           static_cast<int>(form),
                           static_cast<int>(has_topology_),
                           static_cast<int>(exchanges_by_messages(form)),
                           int{layout.send_copies != nullptr},
                           int{layout.receive_copies != nullptr}};
    words.add(std::span<const int>(terms));
    return words.value();
}

// Calls that are left to MPI go by its function on the user's communicator, or as single messages.
trial_seconds graph::compare_with_mpi(planned_exchange& made, const layouts_seen& layout,
                                      block_kind kind, call_form form) {
    opponent mpi{seat_.at()->messages(), has_topology_,         kind == block_kind::equal,
                 layout.send_copies,     layout.receive_copies, {}};
    const auto self = shared_from_this();
    where().comm().wait_for_all();
    if (exchanges_by_messages(form)) {
        mpi.by_messages = [&](call_side sends, call_side receives) {
            const neighbor_call call{self, std::move(sends), std::move(receives), kind};
            call_without_plan one(call);
            while (!one.test()) pause_wait();
        };
        return made.compare_with_mpi(mpi, form);
    }
    if (has_topology_) mpi.comm = make_twin();
    const auto seconds = made.compare_with_mpi(mpi, form);
    if (has_topology_) CROSSDOCK_MPI(PMPI_Comm_free(&mpi.comm));
    return seconds;
}

graph::plan_terms graph::agree_on_plan(const layouts_seen& layout, std::uint64_t hash) {
    const bool is_too_much =
        std::max(layout.sends.num_bytes(), layout.receives.num_bytes()) > most_trial_bytes;
    const int alignment = layout.is_for_mpi ? for_mpi
                          : is_too_much
                              ? too_long
                              : std::min(layout.sends.alignment(), layout.receives.alignment());
    const auto& trials = seat_.at()->trials();
    const auto found = std::ranges::find(trials, hash, &known_trial::hash);
    const auto number = found == trials.end() ? -1 : found - trials.begin();
    std::array<std::int64_t, 3> least{alignment, number, -number};
    seat_.at()->reduce(least, seat_.tag_of(place::message::votes), place::least);
    return {static_cast<int>(least[0]), least[1] == -least[2] ? least[1] : -1};
}

bool graph::is_idle() const {
    const auto are_idle = [](const auto& plans) {
        return std::ranges::all_of(plans, [](const auto& one) { return !one || one->is_idle(); });
    };
    return std::ranges::all_of(
        kinds_, [&](const auto& kind) { return are_idle(kind.plans) && are_idle(kind.old); });
}

void graph::close() {
    turn last(*this);
    last.wait();
    progress_engine::of_process().wait_until(
        [this] { return progress_engine::is_finalizing() || num_persistent == 0; });
    progress_engine::of_process().wait_until([this] { return is_idle(); });
    kinds_ = {};
}

int graph::free_with(MPI_Comm* user, int (*own)(MPI_Comm*)) {
    if (progress_engine::is_inside()) return own(user);
    std::array<std::shared_ptr<graph>, 2> kept;
    try {
        if (const auto* const one = kept_with(*user, topology_key())) kept[0] = *one;
        if (const auto* const one = kept_with(*user, all_ranks_key())) kept[1] = *one;
    } catch (...) {
        // MPI_Finalize frees it.
    }
    const int code = own(user);
    if (code != MPI_SUCCESS) return code;
    for (const auto& one : kept) {
        if (!one) continue;
        try {
            const progress_engine::access alone;
            close_later(one);
        } catch (...) {
            // MPI_Finalize frees it.
        }
    }
    return code;
}

void graph::close_later(const std::shared_ptr<graph>& one) {
    if (one->has_turn() && one->num_persistent == 0 && one->is_idle()) {
        one->kinds_ = {};
        all_graphs().erase(one->among_all_);
        return;
    }
    const auto close = [one] {
        try {
            one->close();
        } catch (...) {
            // MPI_Finalize frees the rest.
        }
        all_graphs().erase(one->among_all_);
    };
    progress_engine::of_process().start(close, true);
    one->is_closing_ = true;
}

// What is left is freed here, whatever persistent requests there are.
void graph::close_all() noexcept try {
    if (progress_engine::is_finalizing() || num_graphs == 0) return;
    {
        const progress_engine::access alone;
        progress_engine::begin_finalizing();
        const auto left = all_graphs();
        for (const auto& one : left)
            if (!one->is_closing_) close_later(one);
    }
    progress_engine::of_process().run_until([] { return all_graphs().empty(); });
    place::close_all();
    if (const auto* const facts = report::of_process()) facts->tell();
} catch (...) {
    // MPI_Finalize frees the rest.
}

void graph::close_before_finalize() {
    static const bool is_asked_for = [] {
        int made = MPI_KEYVAL_INVALID;
        const auto close = [](MPI_Comm, int, void*, void*) -> int {
            close_all();
            return MPI_SUCCESS;
        };
        CROSSDOCK_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close, &made, nullptr));
        CROSSDOCK_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, made, nullptr));
        return true;
    }();
    static_cast<void>(is_asked_for);
}

}  // namespace crossdock::drop_in

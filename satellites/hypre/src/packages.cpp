#include "packages.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "crossdock/detail/base/word_hash.hpp"
#include "crossdock/extend.hpp"
#include "satellites/drop_in/src/basics.hpp"
#include "satellites/drop_in/src/trial.hpp"

namespace crossdock::hypre_drop_in {

namespace {

using drop_in::current_code;
using drop_in::progress_engine;

constexpr int use_of_vote = 2;
constexpr const char* changed_in_place =
    "the lists of a hypre_ParCSRCommPkg were changed in place after its second use; free it by "
    "hypre_MatvecCommPkgDestroy and make another one, or set CROSSDOCK_OFF=1";
int num_reported = 0;
constexpr std::size_t most_under_way = 4;  // of one package in one direction
constexpr std::size_t most_known_trials = 256;
constexpr std::size_t num_values_between = std::size_t{1} << 10;  // 8 KiB
// hypre's handles and what is computed in between are in both times of a trial, which the drop-in's are not.
constexpr double least_gain = 1.05;
constexpr count_t most_trial_values = count_t{1} << 27;

// hypre's packages are never all freed.
auto& all_packages() {
    static auto& all = *new std::unordered_map<const comm_package*, std::shared_ptr<package>>;
    return all;
}

void tell_report() {
    if (auto* const all = drop_in::report::of_process()) all->tell();
}

// Among `all_jobs`; behind its end if there is no such job.
std::size_t place_of(int job) {
    return static_cast<std::size_t>(std::ranges::find(all_jobs, job) - all_jobs.begin());
}

bool is_transposed(int job) { return job % 10 == 2; }

// A solver computes between exchanges. Compiled once: inlined, it took twice as long in one of two ways that are
// compared.
[[gnu::noinline]] void compute_between(std::vector<double>& values) {
    for (auto& one : values) one *= 1.0000001;
}

}  // namespace

void package_exchange::start(const void* send, void* receive, std::size_t value_bytes) {
    auto& engine = progress_engine::of_process();
    const progress_engine::access alone;
    const auto& plan = exchange_.plan();
    const auto bytes_of = [value_bytes](count_t num_values) {
        return static_cast<std::size_t>(num_values) * value_bytes;
    };
    is_open_ = true;
    is_complete_ = false;
    code_ = MPI_SUCCESS;
    try {
        exchange_.start_bytes({static_cast<const std::byte*>(send), bytes_of(plan.num_items())},
                              {static_cast<std::byte*>(receive), bytes_of(plan.num_slots())},
                              value_bytes);
        if (progress_engine::has_callback()) return engine.watch(*this);
        exchange_.wait();
    } catch (...) {
        code_ = current_code();
    }
    is_complete_ = true;
}

bool package_exchange::advance() {
    try {
        if (!exchange_.test()) return false;
    } catch (...) {
        code_ = current_code();
    }
    return is_complete_ = true;
}

int package_exchange::finish() {
    auto& engine = progress_engine::of_process();
    if (!is_complete_ && engine.may_block(1)) {
        const progress_engine::access alone;
        engine.forget(*this);
        try {
            exchange_.wait();
        } catch (...) {
            code_ = current_code();
        }
        is_complete_ = true;
    }
    if (!is_complete_) engine.run_until([this] { return is_complete_; });
    is_open_ = false;
    return code_;
}

std::shared_ptr<package> package::of(const comm_package* theirs) {
    const auto found = all_packages().find(theirs);
    return found == all_packages().end() ? nullptr : found->second;
}

void package::add(const comm_package& theirs, const package_view& made_of) {
    auto* const ranks = ballot::of(made_of.comm);
    if (ranks == nullptr || is_finalizing()) return;
    watch_finalize(tell_report);
    all_packages()[&theirs] = std::make_shared<package>(theirs, made_of, *ranks);
}

void package::forget(const comm_package* theirs) {
    auto ended = all_packages().extract(theirs);
    // What is left behind MPI is told nothing of.
    if (!ended.empty() && is_finalizing()) new std::shared_ptr<package>(std::move(ended.mapped()));
}

package::package(const comm_package& theirs, const package_view& made_of, ballot& ranks)
    : ranks_(&ranks),
      comm_(made_of.comm),
      number_(ranks.next_number()),
      term_(ranks.term()),
      report_number_(num_reported++),
      has_known_layout_(loaded_hypre::of_process().has_arrays(theirs, made_of)),
      made_(loaded_hypre::of_process().view(theirs)),
      num_components_(1) {
    if (!has_known_layout_) return;
    sends_ = side_of(made_.sends);
    receives_ = side_of(made_.receives);
}

package::side package::side_of(const package_side& theirs) {
    const auto& hypre = loaded_hypre::of_process();
    side made;
    for (std::size_t i = 0; i < theirs.num_neighbors; ++i) {
        made.ranks.push_back(checked_cast<rank_t>(hypre.number(theirs.ranks, i)));
        made.lengths.push_back(hypre.number(theirs.starts, i + 1) - hypre.number(theirs.starts, i));
    }
    return made;
}

bool package::has_arrays_as_made(const package_view& now) const {
    return now.comm == made_.comm && now.num_components == num_components_ &&
           now.sends == made_.sends && now.receives == made_.receives;
}

bool package::has_lists_as_made(const package_view& now) const {
    const auto& hypre = loaded_hypre::of_process();
    const auto is_same = [&](const side& made, const package_side& theirs) {
        if (made.ranks.empty()) return true;  // nobody looks at the lists then
        count_t start = hypre.number(theirs.starts, 0);
        for (std::size_t i = 0; i < made.ranks.size(); ++i) {
            const auto next = hypre.number(theirs.starts, i + 1);
            if (hypre.number(theirs.ranks, i) != made.ranks[i] || next - start != made.lengths[i])
                return false;
            start = next;
        }
        return true;
    };
    return is_same(sends_, now.sends) && is_same(receives_, now.receives);
}

drop_in::call_facts* package::facts_of(const call& what) const {
    auto* const all = drop_in::report::of_process();
    if (all == nullptr || !ranks_->is_reported()) return nullptr;
    constexpr std::array names{"hypre job 1",  "hypre job 2",  "hypre job 11",
                               "hypre job 12", "hypre job 21", "hypre job 22"};
    auto& facts = all->of_call(report_number_, names[place_of(what.job)], what.caller);
    CROSSDOCK_MPI(MPI_Comm_rank(comm_, &facts.rank));
    CROSSDOCK_MPI(MPI_Comm_size(comm_, &facts.num_ranks));
    facts.why_none = "cannot be followed";
    return &facts;
}

package_exchange* package::start(comm_package& theirs, const call& what, const own_functions& own) {
    const auto place = place_of(what.job);
    if (place == all_jobs.size()) return nullptr;
    auto& one = jobs_[place];
    auto& way = ways_[is_transposed(what.job)];
    if (one.facts != nullptr) ++one.facts->num_calls;
    if (one.now == state::hypres || is_finalizing()) return nullptr;
    const auto& hypre = loaded_hypre::of_process();
    if (one.now == state::watched) {
        // Ranks find out in different calls: what they have agreed on goes on.
        if (one.planned_from < 0 && ranks_->is_spoiled(term_)) return nullptr;
        // Others of this package, on all ranks alike, see to it.
        if (std::ranges::any_of(way.exchanges, &package_exchange::is_open)) return nullptr;
        const auto now = hypre.view(theirs);
        if (has_known_layout_ && !(has_arrays_as_made(now) && has_lists_as_made(now)))
            has_changed_ = true;
        const auto subject = 2 * (number_ * static_cast<std::int64_t>(all_jobs.size()) +
                                  static_cast<std::int64_t>(place));
        if (++one.num_uses == use_of_vote) {
            const bool is_for_vectors = now.sends.num_neighbors == 0 || now.has_elements;
            const auto num_values = std::max(
                std::accumulate(sends_.lengths.begin(), sends_.lengths.end(), count_t{0}),
                std::accumulate(receives_.lengths.begin(), receives_.lengths.end(), count_t{0}));
            one.voted = ranks_->begin(
                subject, has_known_layout_ && !has_changed_ && is_for_vectors &&
                             num_values <= most_trial_values && hypre.value_bytes(what.job) > 0 &&
                             progress_engine::place_here() != drop_in::progress_place::nowhere);
        }
        if (one.num_uses <= use_of_vote || !has_its_turn(one)) return nullptr;
        one.facts = facts_of(what);
        if (one.facts != nullptr) one.facts->num_calls = one.num_uses;
        if (!one.voted->all_agree()) {
            one.now = state::hypres;
            return nullptr;
        }
        if (one.planned_from < 0) {
            const auto agreed = ranks_->agree(subject + 1, one.num_uses, trial_of(what.job));
            one.planned_from = agreed.use;
            one.trial = agreed.trial;
        }
        if (one.num_uses != one.planned_from) return nullptr;
        one.now = set_up(theirs, what, way, own) ? state::planned : state::hypres;
        if (one.facts != nullptr) one.facts->plan = way.facts;
        if (one.now == state::hypres) return nullptr;
    }
    // hypre changes packages of matrices for several vectors, or uses their memory for others, on all ranks alike.
    const auto now = hypre.view(theirs);
    if (!has_arrays_as_made(now)) return nullptr;
    // Not so lists in place, which ranks without neighbors would not see.
    if (!has_lists_as_made(now)) throw error(errc::invalid_argument, changed_in_place);
    auto free = std::ranges::find_if(way.exchanges, [](const auto& e) { return !e->is_open(); });
    if (free == way.exchanges.end()) {
        if (way.exchanges.size() == most_under_way) return nullptr;
        const progress_engine::access alone;
        way.exchanges.push_back(
            std::make_unique<package_exchange>(way.exchanges.front()->exchange().duplicate()));
        free = std::prev(way.exchanges.end());
    }
    if (one.facts != nullptr) one.facts->add(way.facts);
    (*free)->start(what.send, what.receive, hypre.value_bytes(what.job));
    return free->get();
}

bool package::has_its_turn(const job_state& one) {
    // Once the ranks have agreed on a use, they are there together.
    if (one.planned_from >= 0) return true;
    return ranks_->are_complete() && !ranks_->is_spoiled(term_);
}

pattern package::pattern_of(bool is_transposed) const {
    const auto& sends = is_transposed ? receives_ : sends_;
    const auto& receives = is_transposed ? sends_ : receives_;
    pattern made;
    made.rank = ranks_->where().rank();
    made.num_ranks = ranks_->where().num_ranks();
    const auto append = [](neighbor_list& list, const side& from) {
        count_t next = 0;
        for (std::size_t i = 0; i < from.ranks.size(); ++i) {
            std::vector<count_t> places(static_cast<std::size_t>(from.lengths[i]));
            std::iota(places.begin(), places.end(), next);
            next += from.lengths[i];
            if (!places.empty()) list.append(from.ranks[i], places);
        }
        return next;
    };
    made.num_items = append(made.sends, sends);
    made.num_slots = append(made.receives, receives);
    return made;
}

bool package::set_up(comm_package& theirs, const call& what, direction_state& way,
                     const own_functions& own) {
    if (!std::exchange(way.is_tried, true)) {
        const auto begin = std::chrono::steady_clock::now();
        try {
            const progress_engine::access alone;
            try_out(theirs, what, way, own);
        } catch (const mpi_error&) {
            throw;
        } catch (const error& fault) {
            const bool is_of_name =
                fault.code() == errc::unknown_route || fault.code() == errc::invalid_route;
            if (is_of_name) throw;
            way.exchanges.clear();  // on all ranks
        }
        if (auto* const facts = jobs_[place_of(what.job)].facts) {
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            facts->set_up_seconds += taken.count();
        }
    }
    const progress_engine::access alone;
    for (const auto& one : way.exchanges)
        one->exchange().prepare(loaded_hypre::of_process().value_bytes(what.job));
    return !way.exchanges.empty();
}

void package::try_out(comm_package& theirs, const call& what, direction_state& way,
                      const own_functions& own) {
    const auto& where = ranks_->where();
    const auto value_bytes = loaded_hypre::of_process().value_bytes(what.job);
    const bool is_forced = asked_untried_route(where, automatic_route) != automatic_route;
    const bool is_reported = ranks_->is_reported();
    auto& trials = ranks_->trials();
    const int number = jobs_[place_of(what.job)].trial;
    const auto* const before = number < 0 ? nullptr : &trials[static_cast<std::size_t>(number)];
    if (before != nullptr) way.facts = before->facts;
    if (before != nullptr && !before->has_won) return;
    neighbor_options options;
    options.item_bytes = value_bytes;
    options.prepare = preparation::forward;
    pattern made_of;
    std::vector<std::byte> send, receive;
    std::vector<double> others;
    on_all_or_none(where.comm(), [&] {
        made_of = pattern_of(is_transposed(what.job));
        if (before != nullptr) return;
        send.resize(static_cast<std::size_t>(made_of.num_items) * value_bytes);
        receive.resize(static_cast<std::size_t>(made_of.num_slots) * value_bytes);
        others.resize(num_values_between, 1);
    });
    neighbor_exchange exchange(where, made_of, options);
    const auto keep = [&] {
        way.exchanges.push_back(std::make_unique<package_exchange>(std::move(exchange)));
    };
    if (before != nullptr) return keep();
    constexpr int host = 0;
    const auto by_plan = [&] {
        compute_between(others);
        auto* const handle = loaded_hypre::of_process().create_without_messages(
            own.create, what.job, theirs, host, send.data(), host, receive.data());
        exchange.start_bytes(send, receive, value_bytes);
        exchange.wait();
        own.destroy(handle);
    };
    while (exchange.is_trying()) by_plan();
    drop_in::trial_seconds trial;
    if (!is_forced || is_reported)
        trial = drop_in::compare(where.comm(), by_plan, [&] {
            compute_between(others);
            own.destroy(own.create(what.job, &theirs, host, send.data(), host, receive.data()));
        });
    const bool is_used = is_forced || least_gain * trial.by_plan < trial.by_mpi;
    if (is_reported) {
        const auto& along = is_transposed(what.job) ? receives_ : sends_;
        auto lengths = along.lengths;
        for (auto& length : lengths) length *= static_cast<count_t>(value_bytes);
        auto found = std::make_shared<drop_in::plan_facts>(
            drop_in::facts_of(where, exchange.plan(), along.ranks, lengths, trial));
        found->is_used = is_used;
        found->why = is_forced ? "asked for" : is_used ? "faster than hypre" : "not faster";
        way.facts = std::move(found);
    }
    if (trials.size() < most_known_trials)
        trials.push_back({hash_of(what.job), is_used, way.facts});
    if (is_used) keep();
}

std::uint64_t package::hash_of(int job) const {
    word_hash words;
    for (const auto* const one : {&sends_, &receives_}) {
        words.add(std::span(one->ranks));
        words.add(std::span(one->lengths));
    }
    const std::array terms{is_transposed(job) ? std::size_t{1} : std::size_t{0},
                           loaded_hypre::of_process().value_bytes(job)};
    words.add(std::span<const std::size_t>(terms));
    return words.value();
}

int package::trial_of(int job) const {
    const auto& all = ranks_->trials();
    const auto found = std::ranges::find(all, hash_of(job), &ballot::known_trial::hash);
    return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

}  // namespace crossdock::hypre_drop_in

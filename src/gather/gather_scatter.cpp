#include "crossdock/gather_scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "../base/rank_fault_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"
#include "../context/named_context_mpi.hpp"
#include "../context/object_records_mpi.hpp"
#include "../neighbor/automatic_route.hpp"
#include "../neighbor/compile_mpi.hpp"
#include "../neighbor/trial_runs.hpp"
#include "../select/route_gains.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "gathering.hpp"

namespace crossdock {

namespace {

const std::string by_owners = "owners";
const std::string by_holders = "holders";
const std::string automatic_method = "auto";

constexpr const char* gather_kind_name = "gather-scatter";
constexpr const char* no_operation = "no operation is active: start one before test or wait";

// 0 stands for the default, so that options filled with zeros are usable.
gather_options with_defaults(gather_options options) {
    const gather_options defaults;
    if (options.max_message_bytes == 0) options.max_message_bytes = defaults.max_message_bytes;
    if (options.item_bytes == 0) options.item_bytes = defaults.item_bytes;
    if (options.reproducible) options.deduplicate = false;
    return options;
}

neighbor_options exchange_options_of(const gather_options& all) {
    return {.route = all.route,
            .deduplicate = all.deduplicate,
            .max_message_bytes = all.max_message_bytes,
            .executor = all.executor,
            .item_bytes = all.item_bytes,
            .prepare = preparation::both,
            .measure = all.measure};
}

void list_options(named_values& values, const context& where, const gather_options& all) {
    values.add("method", all.method)
        .add("route", all.route)
        .add("unique", all.unique)
        .add("deduplicate", all.deduplicate)
        .add("reproducible", all.reproducible)
        .add("executor", all.executor)
        .add("item_bytes", all.item_bytes)
        .add("max_message_bytes", all.max_message_bytes)
        .add("measure.max_candidates", all.measure.max_candidates)
        .add("measure.exchanges_each", all.measure.exchanges_each)
        .add("measure.max_lost_seconds", all.measure.max_lost_seconds);
    add_context(values, where);
}

void check_method(const std::string& method) {
    for (const auto& known : {automatic_method, by_owners, by_holders})
        if (method == known) return;
    throw_error(errc::invalid_argument,
                "there is no method \"{}\"; there are \"auto\", \"owners\" and "
                "\"holders\"",
                method);
}

// The ids of all ranks, as this one sees them.
struct found_ids {
    id_groups groups;
    shared_ids shared;
};

found_ids find_ids(const context& where, std::span<const count_t> ids,
                   const gather_options& options) {
    std::optional<id_groups> groups;
    std::optional<error> fault;
    attempt(where.rank(), fault, [&] {
        check_method(options.method);
        check_sizes(where);
        groups.emplace(where.rank(), ids);
    });
    const auto list = [&](named_values& values) { list_options(values, where, options); };
    auto shared = find_shared_ids(where, groups, options.unique, fault,
                                  equal_arguments("a gather-scatter", list));
    return {std::move(*groups), std::move(shared)};
}

// A flagged copy gives or gets, not both; and values of all holders are for few holders.
bool allows_holders(const shared_ids& shared) {
    return !shared.has_flagged && shared.most_holders <= shared_ids::most_listed;
}

// The next round of all ranks hears of a fault.
std::shared_ptr<const gather_lists> make_lists(const context& where, count_t num_ids,
                                               const found_ids& found, bool with_holders) {
    std::shared_ptr<const gather_lists> made;
    std::optional<error> fault;
    attempt(where.rank(), fault, [&] {
        made = std::make_shared<const gather_lists>(where.rank(), where.num_ranks(), num_ids,
                                                    found.groups, found.shared, with_holders);
    });
    return fault ? with_reserve([&] { return std::make_shared<const gather_lists>(*fault); })
                 : made;
}

// What may be tried, as a choice of routes: "owners three_step".
struct method_choice {
    route_choice candidates;
    bool is_given = false;
    bool is_measured = false;
};

std::string name_of(const std::string& method, const std::string& route) {
    return method + " " + route;
}

// The methods of a gather-scatter: what they are estimated to cost, and their plans.
class method_maker {
  public:
    method_maker(const context& where, const gather_lists& lists, const shared_ids& shared,
                 const gather_options& options)
        : where_(where), lists_(lists), shared_(shared), options_(options) {}

    method_choice choose() const {
        const auto down = resolve(lists_.to_holders);
        if (!down.choice) {
            return with_reserve([&] {
                return method_choice{{{{name_of(method_on_given_route(), down.name), 0, ""}}},
                                     true};
            });
        }
        route_choice all;
        if (options_.method != by_holders) add_owners(all, *down.choice);
        if (options_.method != by_owners && allows_holders(shared_))
            add(all, by_holders, resolve(lists_.between_holders, 2).choice->candidates);
        std::ranges::stable_sort(all.candidates, {}, &candidate_price::seconds);
        return {std::move(all), false, down.is_measured};
    }

    gather_plans compile_named(const std::string& method_and_route) const {
        const auto blank = method_and_route.find(' ');
        auto plans = with_reserve([&] {
            return gather_plans{.by_owners = method_and_route.substr(0, blank) == by_owners,
                                .route = method_and_route.substr(blank + 1)};
        });
        // A route that does not exist is an error even if nothing travels.
        plans.to_holders =
            along(plans.route, plans.by_owners ? lists_.to_holders : lists_.between_holders);
        if (shared_.most_holders == 0) {
            plans.to_holders = nullptr;
        } else if (plans.by_owners && shared_.has_givers) {
            plans.to_unflagged = shared_.has_flagged_holders
                                     ? along(plans.route, lists_.to_unflagged)
                                     : plans.to_holders;
        }
        return plans;
    }

  private:
    // Holders combine what they get when all of it is there.
    resolved_route resolve(const pattern& p, count_t passes_over_slots = 1) const {
        return resolve_route(where_, {p, lists_.fault}, exchange_options_of(options_),
                             equal_arguments("a gather-scatter"), passes_over_slots);
    }

    std::shared_ptr<const plan> along(const std::string& route, const pattern& p) const {
        return find_or_compile(where_, {p, lists_.fault}, route, {options_.deduplicate});
    }

    const std::string& method_on_given_route() const {
        if (options_.method != automatic_method) return options_.method;
        return allows_holders(shared_) && shared_.most_holders <= 2 ? by_holders : by_owners;
    }

    static void add(route_choice& all, const std::string& method,
                    const std::vector<candidate_price>& prices) {
        for (const auto& [route, seconds, term] : prices)
            with_reserve([&] {
                all.candidates.push_back({name_of(method, route), seconds, term});
            });
    }

    // Up costs what down does, if the same ranks take part.
    void add_owners(route_choice& all, const route_choice& down) const {
        auto prices = with_reserve([&] { return down.candidates; });
        if (shared_.has_givers) {
            std::optional<route_choice> apart;
            if (shared_.has_flagged_holders) apart = resolve(lists_.to_unflagged).choice;
            const auto& up = apart ? *apart : down;
            for (auto& price : prices)
                price.seconds +=
                    std::ranges::find(up.candidates, price.route, &candidate_price::route)->seconds;
        }
        add(all, by_owners, prices);
    }

    const context& where_;
    const gather_lists& lists_;
    const shared_ids& shared_;
    const gather_options& options_;
};

using gatherings = trial_runs<gathering>;

// One method that is kept, or several to try. What this rank alone has failed with waits for the agreement at the end.
gatherings prepare_methods(const context& where, std::span<const count_t> ids,
                           const gather_options& options, const exchange_watch* watch,
                           std::optional<error>& fault) {
    auto found = find_ids(where, ids, options);
    const bool may_ask_holders = options.method != by_owners && allows_holders(found.shared);
    if (options.method == by_holders && !may_ask_holders)
        throw error(
            errc::invalid_argument,
            found.shared.has_flagged
                ? "the method \"holders\" is not for flagged ids; name \"owners\" or \"auto\""
                : fmt::format("the method \"holders\" is for ids with up to {} holders, but one "
                              "has {}; name \"owners\" or \"auto\"",
                              shared_ids::most_listed, found.shared.most_holders));
    const auto lists = make_lists(where, static_cast<count_t>(ids.size()), found, may_ask_holders);
    const method_maker methods(where, *lists, found.shared, options);
    const auto choice = methods.choose();
    const auto make = [&](const std::string& name) {
        const auto plans = methods.compile_named(name);
        return with_reserve([&] {
            return std::make_unique<gathering>(where, lists, plans, exchange_options_of(options),
                                               watch ? watch->shared() : nullptr);
        });
    };
    auto best = make(choice.candidates.route());
    attempt(where.rank(), fault, [&] { best->prepare(options.item_bytes); });
    if (choice.is_given) return gatherings(std::move(best));
    const auto shared_choice =
        with_reserve([&] { return std::make_shared<const route_choice>(choice.candidates); });
    auto trials = with_reserve([&] { return route_trials(*shared_choice, options.measure); });
    if (!choice.is_measured || trials.winner()) return gatherings(std::move(best), shared_choice);
    std::vector<std::unique_ptr<gathering>> all;
    with_reserve([&] { all.reserve(trials.candidates().size()); });
    all.push_back(std::move(best));
    for (std::size_t c = 1; c < trials.candidates().size(); ++c)
        all.push_back(make(trials.candidates()[c].route));
    return {where.comm(), std::move(trials), std::move(all), options.measure, shared_choice};
}

// Goes on with operations whose first half is under way, while a rank waits elsewhere.
//
// One at a time: what an operation waits for makes progress on all work, and so would come here
// again for every other one.
class started_gathers final : public communicator_resource, private background_work {
  public:
    explicit started_gathers(const communicator&) {}

    void add(const communicator& comm, background_work& one) {
        if (all_.empty()) comm.add_work(this);
        append_with_reserve(all_, &one);
    }

    void remove(const communicator& comm, background_work& one) noexcept {
        std::erase(all_, &one);
        if (all_.empty()) comm.remove_work(this);
    }

  private:
    void progress() override {
        if (is_in_progress_) return;
        is_in_progress_ = true;
        const auto present = with_reserve([&] { return all_; });
        for (auto* const one : present) one->progress();
        is_in_progress_ = false;
    }

    std::vector<background_work*> all_;
    bool is_in_progress_ = false;
};

}  // namespace

struct gather_scatter::implementation final : background_work,
                                              communicator_user,
                                              unfinished_exchange {
    implementation(const communicator& ranks, count_t number_of_ids, std::size_t last_bytes,
                   gatherings made, std::unique_ptr<exchange_watch> stopwatch, std::string called)
        : communicator_user(ranks),
          name(std::move(called)),
          comm(ranks),
          started(comm.resource<started_gathers>()),
          num_ids(number_of_ids),
          item_bytes(last_bytes),
          methods(std::move(made)),
          watch(std::move(stopwatch)) {
        if (watch) describe();
    }
    ~implementation() override {
        unregister();
        if (is_unfinished()) comm.note_lost(gather_kind_name, name, "wait", num_ids);
    }

    // Whether its end loses anything that has not failed.
    bool is_unfinished() const noexcept { return is_active && !has_failed && comm.is_open(); }

    // The end of the object. An operation that was started empty goes on for the others.
    static void end(std::unique_ptr<implementation> one) noexcept {
        if (!one || !one->is_empty) return;
        const communicator all = one->comm;
        all.take_over(std::move(one));
    }

    void describe() {
        is_described_trying = methods.is_trying();
        describe(watch->object());
    }
    void describe(watched_object& object) const {
        const auto& plans = present().plans();
        note_route(object, name_of(plans.by_owners ? by_owners : by_holders, plans.route),
                   methods.choice().get(), methods.is_trying(), methods.results());
    }

    void note_closed() noexcept override { unregister(); }

    std::string activity() const override {
        return is_active ? "an active gather-scatter, " + name + "; wait for it first" : "";
    }

    gathering& present() const { return methods.current(); }

    void require_idle() const {
        comm.require_open();
        require_state(!is_active,
                      "an operation is active already: wait for it before the next start");
    }

    void check(const value_arrays& values, const gather_call& how) const {
        if (how.values_per_id <= 0)
            throw_error(errc::invalid_argument, "values_per_id is {}, but has to be at least 1",
                        how.values_per_id);
        if (values.value_bytes == 0)
            throw error(errc::invalid_argument, "values of 0 bytes: a value has at least 1 byte");
        if (values.arrays.empty())
            throw error(errc::invalid_argument, "there is no array to combine: give at least one");
        if (std::cmp_less_equal(num_ids * how.values_per_id, values.shortest)) return;
        throw_error_of(comm.rank(), errc::size_mismatch,
                       "rank {} has {} values, but its {} ids need {}, {} for each", comm.rank(),
                       values.shortest, num_ids, num_ids * how.values_per_id, how.values_per_id);
    }

    // If this rank cannot start, it takes part with nothing, so that nobody waits for ever.
    void start(value_arrays values, const gather_call& how) {
        require_idle();
        std::exception_ptr fault;
        try {
            check(values, how);
        } catch (...) {
            fault = std::current_exception();
        }
        const std::size_t new_bytes = how.values_per_id > 0 ? values.item_bytes() : 0;
        start(std::move(values), new_bytes, how.transposed, std::move(fault));
    }

    // `new_bytes` is 0 where a fault leaves the size unknown: then it is that of ranks that share memory, or else taken
    // to be the last one.
    void start(value_arrays values, std::size_t new_bytes, bool transposed,
               std::exception_ptr fault) {
        finish_empty();
        new_bytes = present().find_size(new_bytes);
        if (new_bytes > 0) item_bytes = new_bytes;
        begin(std::move(values), new_bytes > 0, transposed, std::move(fault));
        if (!present().fault()) {
            if (watch) watch->note_started();
            return;
        }
        is_active = false;
        is_empty = true;
        try {
            std::rethrow_exception(present().fault());
        } catch (...) {
            comm.tell_later(current_error_of(comm.rank()));
            throw;
        }
    }

    void begin(value_arrays values, bool knows_size, bool transposed, std::exception_ptr fault) {
        methods.decide();
        present().prepare(item_bytes);
        methods.begin(transposed ? direction::reverse : direction::forward, item_bytes);
        is_registered = methods.timed([&] {
            return present().start(std::move(values), item_bytes, knows_size, transposed,
                                   std::move(fault));
        });
        is_active = true;
        if (is_registered) started.add(comm, *this);
    }

    void progress() override {
        if (present().advance()) unregister();
    }

    // Goes on with the operation. If it is over and has failed, so is ours.
    template <class Part>
    auto look(Part&& part) {
        try {
            return methods.timed(part);
        } catch (...) {
            if (present().is_over()) complete();
            has_failed = is_active;
            throw;
        }
    }

    // Completes an operation that was started empty. Whose fault that was has been said.
    void finish_empty() {
        if (!is_empty) return;
        try {
            wait();
        } catch (...) {
            if (is_empty) throw;
        }
    }

    // Of an empty operation, whose object is gone.
    bool is_over() noexcept override {
        try {
            return test();
        } catch (...) {
            return true;
        }
    }

    bool test() {
        const bool is_complete = look([&] {
            // Goes on with the first half as well: nobody else may at the same time.
            if (is_registered) comm.progress();
            return !is_registered && present().test();
        });
        if (is_complete) complete();
        return is_complete;
    }

    void wait() {
        // Nobody else needs to go on with what this rank waits for.
        unregister();
        look([&] { present().wait(); });
        complete();
    }

    void complete() {
        unregister();
        is_active = is_empty = has_failed = false;
        methods.end();
        if (!watch) return;
        watch->finish({});
        if (is_described_trying) describe();
    }

    void unregister() noexcept {
        if (std::exchange(is_registered, false)) started.remove(comm, *this);
    }

    std::string name;
    communicator comm;
    started_gathers& started;
    count_t num_ids;
    std::size_t item_bytes;  // of the last operation
    gatherings methods;
    bool is_active = false;
    bool has_failed = false;  // the active operation, which goes on
    bool is_empty = false;    // an operation is under way that could not be started as it should
    bool is_registered = false;
    std::unique_ptr<exchange_watch> watch;  // null: nothing is measured
    bool is_described_trying = false;
};

gather_scatter::gather_scatter(const context& where, std::span<const count_t> ids,
                               const gather_options& options, const std::source_location& place) {
    const collective_call now("making a gather-scatter", where.comm());
    std::optional<error> fault;
    const auto all = with_defaults(options);
    auto watch = where.comm().resource<object_records>().new_watch(gather_kind_name, options.name,
                                                                   place, watched_role::outside);
    auto made = prepare_methods(where, ids, all, watch.get(), fault);
    attempt(where.rank(), fault, [&] {
        state_ = std::make_unique<implementation>(where, static_cast<count_t>(ids.size()),
                                                  all.item_bytes, std::move(made), std::move(watch),
                                                  object_name(options.name, place));
    });
    agree(where.comm(), fault);
}

gather_scatter::gather_scatter(std::unique_ptr<implementation> state) : state_(std::move(state)) {}
gather_scatter::implementation& gather_scatter::state() const {
    if (!state_) [[unlikely]]
        throw error(errc::invalid_state, "the gather-scatter is closed, or was moved from");
    return *state_;
}

gather_scatter::~gather_scatter() { close(); }
gather_scatter::gather_scatter(gather_scatter&&) noexcept = default;
gather_scatter& gather_scatter::operator=(gather_scatter&& other) noexcept {
    auto taken = std::move(other.state_);
    close();
    state_ = std::move(taken);
    return *this;
}

gather_scatter gather_scatter::duplicate() const {
    const auto& own = state();
    const collective_call now("duplicating a gather-scatter", own.comm);
    auto leader = own.methods.leader().twin();
    std::optional<error> fault;
    std::unique_ptr<implementation> twin;
    attempt(own.comm.rank(), fault, [&] {
        twin = std::make_unique<implementation>(
            own.comm, own.num_ids, own.item_bytes,
            gatherings(std::move(leader), own.methods.choice(), tried_routes()),
            own.watch ? own.watch->twin() : nullptr, own.name);
    });
    agree(own.comm, fault);
    return gather_scatter(std::move(twin));
}

count_t gather_scatter::num_ids() const { return state().num_ids; }

void gather_scatter::start_bytes(std::span<const std::span<std::byte>> fields,
                                 std::size_t value_bytes, combine_values combine,
                                 const gather_call& how) {
    value_arrays arrays{{}, how.values_per_id, value_bytes, std::move(combine)};
    with_reserve([&] { arrays.arrays.reserve(fields.size()); });
    for (const auto field : fields)
        arrays.add(field.data(), field.size() / std::max<std::size_t>(value_bytes, 1));
    start_arrays(std::move(arrays), how);
}

void gather_scatter::fail_start(bool transposed, std::size_t value_bytes, const error& why) {
    state().require_idle();
    try {
        state().start({}, value_bytes, transposed, std::make_exception_ptr(why));
    } catch (...) {  // the caller knows why
    }
}

bool gather_scatter::test() {
    require_state(is_active(), no_operation);
    const watched_call now(state().watch.get(), rank_act::tests);
    return state().test();
}

void gather_scatter::wait() {
    require_state(is_active(), no_operation);
    const watched_call now(state().watch.get());
    state().wait();
}

bool gather_scatter::is_active() const noexcept { return state_ && state_->is_active; }

bool gather_scatter::is_unfinished() const noexcept { return state_ && state_->is_unfinished(); }

const std::string& gather_scatter::method() const {
    return state().present().plans().by_owners ? by_owners : by_holders;
}

const std::string& gather_scatter::route() const { return state().present().plans().route; }

bool gather_scatter::is_trying() const { return state().methods.is_trying(); }

std::vector<tried_route> gather_scatter::tried_routes() const { return state().methods.results(); }

traffic gather_scatter::statistics() const { return state().present().statistics(); }

std::string gather_scatter::explain() const {
    const auto& choice = state().methods.choice();
    return choice ? to_string(*choice) : name_of(method(), route()) + "  given\n";
}

object_report gather_scatter::report() const {
    if (state().watch) return report_of(state().watch->object());
    watched_object nothing{.kind = gather_kind_name};
    state().describe(nothing);
    return report_of(nothing);
}

void gather_scatter::close() noexcept { implementation::end(std::move(state_)); }

void gather_scatter::start_arrays(value_arrays arrays, const gather_call& how) {
    const watched_start now(state().watch.get());
    state().start(std::move(arrays), how);
}

void flag_duplicates(const context& where, std::span<count_t> ids) {
    const collective_call now("flagging duplicates", where.comm());
    const auto found = find_ids(where, ids, {.unique = true});
    for (std::size_t i = 0; i < found.groups.size(); ++i) {
        const auto group = found.groups[i];
        for (const count_t place : group.copies) ids[static_cast<std::size_t>(place)] = -group.id;
        for (const count_t place : group.unflagged())
            ids[static_cast<std::size_t>(place)] = group.id;
    }
}

}  // namespace crossdock

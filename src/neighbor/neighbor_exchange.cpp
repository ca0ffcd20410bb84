#include "crossdock/neighbor_exchange.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <utility>

#include "../base/environment_mpi.hpp"
#include "../base/exchange_watch.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"
#include "../context/named_context_mpi.hpp"
#include "../context/object_records_mpi.hpp"
#include "../select/route_gains.hpp"
#include "automatic_route.hpp"
#include "compile_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "datatype_exchange.hpp"
#include "plan_runner.hpp"
#include "report_part.hpp"
#include "trial_runs.hpp"

namespace crossdock {

namespace {

using look_clock = std::chrono::steady_clock;
constexpr auto pause_between_looks = std::chrono::microseconds(1);

// 0 stands for the default, so that options filled with zeros are usable.
neighbor_options with_defaults(const neighbor_options& given) {
    auto options = with_reserve([&] { return given; });
    const neighbor_options defaults;
    if (options.max_message_bytes == 0) options.max_message_bytes = defaults.max_message_bytes;
    if (options.item_bytes == 0) options.item_bytes = defaults.item_bytes;
    if (options.reproducible) options.deduplicate = false;
    return options;
}

// As many as ranks that share memory can set up together; no route has more.
void check_stages(const plan& p) {
    if (p.stages().size() <= std::size_t{setup_rounds::max_rounds}) return;
    throw_error(errc::invalid_plan, "a plan of {} stages, at most {} can be exchanged",
                p.stages().size(), setup_rounds::max_rounds);
}

void check_rank(const communicator& comm, const plan& p) {
    if (p.rank() == comm.rank() && p.num_ranks() == comm.num_ranks()) return;
    throw_error_of(
        comm.rank(), errc::size_mismatch,
        "the plan is of rank {} of {}, but this is rank {} of {}; give each rank its own plan",
        p.rank(), p.num_ranks(), comm.rank(), comm.num_ranks());
}

constexpr const char* made_here = "a neighbor exchange";
constexpr const char* making = "making a neighbor exchange";
constexpr const char* exchange_kind_name = "neighbor exchange";

const char* name_of(preparation p) {
    switch (p) {
        case preparation::forward: return "forward";
        case preparation::both: return "both";
        case preparation::lazy: break;
    }
    return "lazy";
}

// Of routes those are compared that are made of their names, and these are shown.
void list_options(named_values& values, const context& where, const neighbor_options& all) {
    if (values.keeps_text()) {
        const auto& forced = where.comm().resource<environment>().forced_route();
        values.add("route", forced.empty() ? all.route : forced);
    }
    values.add("executor", all.executor)
        .add("item_bytes", all.item_bytes)
        .add("max_message_bytes", all.max_message_bytes)
        .add("prepare", name_of(all.prepare))
        .add("reproducible", all.reproducible)
        .add("measure.max_candidates", all.measure.max_candidates)
        .add("measure.exchanges_each", all.measure.exchanges_each)
        .add("measure.max_lost_seconds", all.measure.max_lost_seconds);
    add_context(values, where);
}

constexpr const char* not_active = "no exchange is active: start one before test or wait";

void require_item_bytes(std::size_t item_bytes) {
    if (item_bytes == 0)
        throw error(errc::invalid_argument, "items of 0 bytes: an item has at least 1 byte");
}

void check_lengths(const plan& p, std::size_t items_bytes, std::size_t slots_bytes,
                   std::size_t item_bytes) {
    require_item_bytes(item_bytes);
    if (items_bytes >= static_cast<std::size_t>(p.num_items()) * item_bytes &&
        slots_bytes >= static_cast<std::size_t>(p.num_slots()) * item_bytes) {
        return;
    }
    throw_error_of(p.rank(), errc::size_mismatch,
                   "rank {} has arrays of {} items and {} slots, but its pattern needs {} "
                   "and {}; give arrays of these lengths",
                   p.rank(), items_bytes / item_bytes, slots_bytes / item_bytes, p.num_items(),
                   p.num_slots());
}

template <class ItemFields, class SlotFields>
void check_fields(const plan& p, ItemFields items, SlotFields slots, std::size_t value_bytes) {
    if (items.empty() && slots.empty())
        throw_error_of(p.rank(), errc::invalid_argument, "there is no array; give at least one");
    if (items.size() != slots.size()) {
        throw_error_of(p.rank(), errc::size_mismatch,
                       "there are {} arrays of items and {} of slots; give as many of each",
                       items.size(), slots.size());
    }
    for (std::size_t f = 0; f < items.size(); ++f)
        check_lengths(p, items[f].size(), slots[f].size(), value_bytes);
}

using plan_runs = trial_runs<plan_runner>;

// A plan that this rank has, or has not because some rank has failed.
std::unique_ptr<plan_runner> open_runner(const context& where, compilation& found,
                                         const neighbor_options& options) {
    attempt(where.rank(), found.rounds->fault(), [&] {
        if (found.compiled) check_rank(where.comm(), *found.compiled);
        check_sizes(where);
    });
    auto runner =
        with_reserve([&] { return std::make_unique<plan_runner>(where, found.compiled, options); });
    runner->open(found.num_stages);
    return runner;
}

// The end of every set-up: all ranks have what they need, or all throw.
void prepare_all(plan_runner& runner, compilation& found, const neighbor_options& options) {
    // A rank that has no plan because others have failed says so to its node, but brings no fault.
    const auto has_no_plan =
        with_reserve([] { return error(errc::success, "another rank has failed"); });
    auto& fault = found.rounds->fault();
    if (!fault && !found.compiled) fault = has_no_plan;
    fault = runner.prepare(options.prepare, options.item_bytes, std::move(fault));
    if (fault && fault->code() == errc::success) fault.reset();
    found.finish();
}

plan_runs keep_one(const context& where, compilation found, const neighbor_options& options,
                   std::shared_ptr<const route_choice> choice = nullptr) {
    auto runner = open_runner(where, found, options);
    prepare_all(*runner, found, options);
    return plan_runs(std::move(runner), std::move(choice));
}

plan_runs keep_given(const context& where, std::shared_ptr<const plan> given,
                     const neighbor_options& options) {
    const collective_call now(making, where.comm());
    check_stages(*given);
    if (options.reproducible && given->is_deduplicated())
        throw error(errc::invalid_plan,
                    "a plan that combines values on the way is not reproducible: compile it with "
                    "deduplicate = false");
    return keep_one(where, compilation(where, std::move(given)), options);
}

plan_runs compile_plans(const context& where, const pattern& p, const neighbor_options& options) {
    const collective_call now(making, where.comm());
    const auto list = [&](named_values& values) { list_options(values, where, options); };
    const equal_arguments same(made_here, list);
    const checked_pattern checked(p);
    auto& cache = plan_cache::of(where.comm());
    plan_lookup chosen{&cache};
    auto resolved = resolve_route(where, checked, options, same, 1, &chosen);
    const auto list_all = [&](named_values& values) {
        values.add(same).add("tries routes", resolved.is_measured);
    };
    const equal_arguments all_same(made_here, list_all);
    const auto compile_along = [&](const std::string& name, plan_cache* found_in) {
        return begin_compilation(where, checked, name, all_same, {options.deduplicate}, found_in);
    };
    auto best = chosen.found.compiled ? compilation(where, chosen.found.compiled)
                                      : compile_along(resolved.name, &cache);
    if (!resolved.choice) return keep_one(where, std::move(best), options);
    // What this rank keeps beside its plan; without memory for it, it takes part with a fault.
    std::shared_ptr<const route_choice> choice;
    std::optional<route_trials> trials;
    with_reserve([&] {
        choice = chosen.found.choice ? chosen.found.choice
                                     : std::make_shared<const route_choice>(*resolved.choice);
        trials.emplace(*choice, options.measure);
    });
    if (!resolved.is_measured || trials->winner()) {
        auto one = keep_one(where, std::move(best), options, choice);
        chosen.keep({one.current().compiled(), choice});
        return one;
    }
    std::vector<std::unique_ptr<plan_runner>> runners;
    with_reserve([&] { runners.reserve(trials->candidates().size()); });
    std::optional<compilation> first;
    for (const auto& candidate : trials->candidates()) {
        auto found = runners.empty() ? std::move(best) : compile_along(candidate.route, nullptr);
        runners.push_back(open_runner(where, found, options));
        // Before the next one is compiled: messages of this one may still be under way till then.
        found.finish();
        if (runners.size() > 1) continue;
        chosen.keep({found.compiled, choice});
        first.emplace(where, found.compiled);
    }
    plan_runs tried(where.comm(), std::move(*trials), std::move(runners), options.measure, choice);
    prepare_all(tried.current(), *first, options);
    return tried;
}

}  // namespace

struct neighbor_exchange::implementation final : communicator_user, unfinished_exchange {
    implementation(const communicator& comm, plan_runs&& made, const neighbor_options& options,
                   std::unique_ptr<exchange_watch> stopwatch, std::optional<std::string> called)
        : communicator_user(comm),
          name(std::move(called)),
          watch(std::move(stopwatch)),
          plans(std::move(made)),
          prepared(options.prepare),
          item_bytes(options.item_bytes),
          last_bytes(options.item_bytes) {
        if (watch) describe();
    }

    // All ranks have agreed that they have it.
    static std::unique_ptr<implementation> make(const communicator& comm, plan_runs&& made,
                                                const neighbor_options& options,
                                                std::unique_ptr<exchange_watch>&& watch,
                                                const std::optional<std::string>& name) {
        return with_reserve([&] {
            auto called = name;
            return std::make_unique<implementation>(comm, std::move(made), options,
                                                    std::move(watch), std::move(called));
        });
    }

    // As its users make it.
    static std::unique_ptr<implementation> make(const communicator& comm, plan_runs&& made,
                                                const neighbor_options& options,
                                                const std::source_location& place) {
        return make(
            comm, std::move(made), options,
            comm.resource<object_records>().new_watch(exchange_kind_name, options.name, place),
            with_reserve([&] { return object_name(options.name, place); }));
    }

    void describe() {
        is_described_trying = plans.is_trying();
        describe(watch->object());
    }
    void describe(watched_object& object) const {
        note_route(object, compiled().route(), plans.choice().get(), plans.is_trying(),
                   plans.results());
    }

    ~implementation() override {
        if (!active) return;
        packed.abandon();  // as the executor does with its own buffers
        if (is_unfinished())
            present().comm().note_lost(exchange_kind_name, *name, "wait", compiled().num_slots());
    }

    // Whether its end loses anything that has not failed.
    bool is_unfinished() const noexcept {
        return active && !is_of_other && name && !has_failed && present().comm().is_open();
    }

    // The end of the object. An exchange that was started empty goes on for the others.
    static void end(std::unique_ptr<implementation> one) noexcept {
        if (!one || !one->empty) return;
        const communicator comm = one->present().comm();
        comm.take_over(std::move(one));
    }

    // Before an exchange is started: makes sure of what only this rank knows of its arguments. If
    // `check` throws, the others shall not wait for ever, so this rank takes part with nothing. `new_bytes` is what
    // `check` knows of the size then.
    template <class Check>
    void require(direction to, const std::size_t& new_bytes, Check&& check) {
        require_idle();
        try {
            check();
        } catch (const error&) {
            fail_start(to, new_bytes, current_error_of(compiled().rank()));
            throw;
        } catch (...) {
            const error why = current_error_of(compiled().rank());
            fail_start(to, new_bytes, why);
            throw why;
        }
    }

    void fail_start(direction to, std::size_t new_bytes, const error& why) {
        present().comm().tell_later(why);
        try {
            empty = &start_empty(to, new_bytes, compiled().rank());
        } catch (...) {  // the first error says more
            present().keep_tags();
        }
    }

    // `new_bytes` is 0 where a fault leaves the size unknown: then it is that of ranks that share memory, or else taken
    // to be the last one.
    executor& start_empty(direction to, std::size_t new_bytes, rank_t failed) {
        check_guess(new_bytes);
        finish_empty();
        plans.decide();
        new_bytes = find_size(new_bytes);
        const bool knows_size = new_bytes != 0;
        if (!knows_size) new_bytes = guessed_bytes = last_bytes;
        make_ready_if_need_be(to, new_bytes);
        plans.begin(to, new_bytes);
        return present().start_empty(to, failed, knows_size);
    }

    // After an exchange whose size nobody knew: items of another size show that the guess may have been wrong. If they
    // cut messages otherwise, parts of that exchange may be left over, and would be taken for parts of the next one.
    void check_guess(std::size_t new_bytes) {
        if (guessed_bytes == 0 || new_bytes == 0) return;
        if (!present().has_equal_parts(guessed_bytes, new_bytes)) {
            throw_error_of(compiled().rank(), errc::invalid_state,
                           "rank {} did not know the size of items in an earlier exchange, and "
                           "assumed {} bytes; items of {} bytes cut messages otherwise, so this "
                           "object cannot go on: make a new one",
                           compiled().rank(), guessed_bytes, new_bytes);
        }
        guessed_bytes = 0;
    }

    std::size_t find_size(std::size_t new_bytes) const {
        present().post_size(new_bytes);
        return new_bytes != 0 ? new_bytes : present().find_size();
    }

    // Returns why this rank can start an empty exchange only, if so.
    std::optional<error> make_ready(direction to, std::size_t new_bytes) {
        auto why = present().prepare_at_start(to, prepared, new_bytes);
        item_bytes = new_bytes;
        return why;
    }

    void make_ready_if_need_be(direction to, std::size_t new_bytes) {
        last_bytes = new_bytes;
        if (!present().is_ready(to, new_bytes)) make_ready(to, new_bytes);
    }

    void prepare_at_start(std::size_t new_bytes) {
        try {
            check_guess(new_bytes);
            finish_empty();
            make_ready_if_need_be(direction::forward, new_bytes);
            if (prepared == preparation::both) make_ready_if_need_be(direction::reverse, new_bytes);
        } catch (const error&) {  // the start says so
        }
    }

    // Completes an exchange that was started empty. Whose fault that was has been said.
    void finish_empty() {
        if (!empty) return;
        try {
            empty->wait();
        } catch (const error&) {
            if (empty->is_active()) throw;
        }
        empty = nullptr;
        plans.end();
    }

    // Of the empty exchange, whose object is gone.
    bool is_over() noexcept override {
        try {
            return empty->test();
        } catch (...) {
            return true;
        }
    }

    plan_runner& present() const { return plans.current(); }
    const crossdock::plan& compiled() const { return *present().compiled(); }

    std::string activity() const override {
        if (!active || is_of_other || !name) return "";
        return "an active neighbor exchange, " + *name + "; wait for it first";
    }

    void require_idle() const {
        present().comm().require_open();
        require_state(active == nullptr,
                      "an exchange is active already: wait for it before the next start");
    }

    void require_apart(direction to, const void* input, const void* output,
                       std::size_t asked_bytes) {
        const bool is_forward = to == direction::forward;
        require(to, asked_bytes, [&] {
            overlap.check(compiled(), is_forward ? input : output, is_forward ? output : input,
                          asked_bytes);
        });
    }

    // All ranks are prepared, or none is.
    void agree_on(const std::optional<error>& fault) {
        try {
            agree(present().comm(), fault);
        } catch (...) {
            present().forget_prepared();
            throw;
        }
    }

    void prepare(std::size_t new_bytes) {
        require_idle();
        const collective_call now("preparing a neighbor exchange", present().comm());
        require_item_bytes(new_bytes);
        check_guess(new_bytes);
        finish_empty();
        agree_on(prepared == preparation::forward ? present().prepare(prepared, new_bytes)
                                                  : present().prepare_both(new_bytes));
        item_bytes = new_bytes;
    }

    void start(direction to, const void* input, void* output, std::size_t asked_bytes,
               combine_function&& combine = {}) {
        require_apart(to, input, output, asked_bytes);
        check_guess(asked_bytes);
        finish_empty();
        plans.decide();
        auto& runner = present();
        runner.post_size(asked_bytes);
        last_bytes = asked_bytes;
        if (!runner.is_ready(to, asked_bytes)) {
            if (const auto why = make_ready(to, asked_bytes)) {
                const bool is_of_peer = why->code() == errc::peer_failed;
                if (!is_of_peer) present().comm().tell_later(*why);
                plans.begin(to, asked_bytes);
                empty = &runner.start_empty(to, is_of_peer ? why->rank() : compiled().rank(), true);
                throw *why;
            }
        }
        plans.begin(to, asked_bytes);
        if (watch) [[unlikely]]
            runner.watch(to, watch->details());
        active = &plans.timed(
            [&]() -> executor& { return runner.start(to, input, output, std::move(combine)); });
        if (watch) [[unlikely]]
            watch->note_started();
    }

    // What was packed.
    void start_packed(direction to, std::size_t bytes, combine_function&& combine = {}) {
        const bool is_forward = to == direction::forward;
        try {
            start(to, is_forward ? packed.items() : packed.slots(),
                  is_forward ? packed.slots() : packed.items(), bytes, std::move(combine));
        } catch (...) {
            packed.forget();
            throw;
        }
    }

    // Calls the executor. If its exchange is over and has failed, so is ours.
    template <class Part>
    auto look(Part&& part) {
        try {
            return plans.timed(part);
        } catch (...) {
            if (!active->is_active()) {
                const error fault = current_error_of(compiled().rank());
                if (fault.code() != errc::peer_failed) present().comm().tell_later(fault);
                packed.forget();
                complete();
            }
            has_failed = active != nullptr;
            throw;
        }
    }

    // A look at MPI costs more than a program that tests in its loop should pay each time.
    bool test() {
        if (look_clock::now() < next_look) return false;
        const watched_call now(watch.get(), rank_act::tests);
        const bool is_complete = look([&] { return active->test(); });
        if (is_complete) {
            complete();
        } else {
            next_look = look_clock::now() + pause_between_looks;
            const watched_wait here(nullptr, active);
            watchdog::look();
        }
        return is_complete;
    }

    void wait() {
        const watched_call now(watch.get());
        look([&] { active->wait(); });
        complete();
    }

    void complete() {
        if (watch) [[unlikely]]
            return complete_watched();
        end_exchange();
        packed.unpack();
    }

    void complete_watched() {
        watch->finish(active->sent(present().regions()));
        end_exchange();
        if (is_described_trying) describe();
        const watched_part packing(details(), activity::packing);
        packed.unpack();
    }

    void end_exchange() {
        active = nullptr;
        next_look = {};
        is_of_other = has_failed = false;
        plans.end();
    }

    exchange_watch* details() const noexcept { return watch ? watch->details() : nullptr; }

    std::optional<std::string> name;        // none: of a part of an object, which speaks for it
    std::unique_ptr<exchange_watch> watch;  // null: nothing is measured
    bool is_described_trying = false;
    plan_runs plans;
    preparation prepared;    // with the direction that starts
    std::size_t item_bytes;  // what was made ready last
    std::size_t last_bytes;  // of the last exchange
    // Of an exchange whose size nobody knew, until it is checked; 0: of none.
    std::size_t guessed_bytes = 0;
    array_overlap overlap;
    executor* active = nullptr;
    look_clock::time_point next_look;  // of a test
    bool is_of_other = false;   // the active one is empty, and part of an operation that says so
    bool has_failed = false;    // the active one, which goes on
    executor* empty = nullptr;  // an exchange that could not be started as it should
    packed_arrays packed;
};

neighbor_exchange::neighbor_exchange(const context& where, const pattern& p,
                                     const neighbor_options& options,
                                     const std::source_location& place) {
    const auto all = with_defaults(options);
    state_ = implementation::make(where.comm(), compile_plans(where, p, all), all, place);
}

neighbor_exchange::neighbor_exchange(const context& where, crossdock::plan compiled,
                                     const neighbor_options& options,
                                     const std::source_location& place)
    : neighbor_exchange(where, with_reserve([&] {
                            return std::make_shared<const crossdock::plan>(std::move(compiled));
                        }),
                        options, place) {}

neighbor_exchange::neighbor_exchange(const context& where,
                                     std::shared_ptr<const crossdock::plan> compiled,
                                     const neighbor_options& options,
                                     const std::source_location& place) {
    const auto all = with_defaults(options);
    state_ =
        implementation::make(where.comm(), keep_given(where, std::move(compiled), all), all, place);
}

neighbor_exchange::neighbor_exchange(const context& where,
                                     std::shared_ptr<const crossdock::plan> compiled,
                                     const neighbor_options& options, const report_part& part) {
    const auto all = with_defaults(options);
    auto plans = keep_given(where, std::move(compiled), all);
    std::unique_ptr<exchange_watch> watch;
    if (part.whole)
        watch = with_reserve(
            [&] { return std::make_unique<exchange_watch>(part.whole, watched_role::part); });
    state_ = implementation::make(where.comm(), std::move(plans), all, std::move(watch), {});
}

neighbor_exchange::neighbor_exchange(std::unique_ptr<implementation> state)
    : state_(std::move(state)) {}
neighbor_exchange::implementation& neighbor_exchange::state() const {
    if (!state_) [[unlikely]]
        throw error(errc::invalid_state, "the neighbor exchange is closed, or was moved from");
    return *state_;
}

neighbor_exchange::~neighbor_exchange() { close(); }
neighbor_exchange::neighbor_exchange(neighbor_exchange&&) noexcept = default;
neighbor_exchange& neighbor_exchange::operator=(neighbor_exchange&& other) noexcept {
    auto taken = std::move(other.state_);
    close();
    state_ = std::move(taken);
    return *this;
}

neighbor_exchange neighbor_exchange::duplicate() const {
    neighbor_options options;
    options.prepare = state().prepared;
    options.item_bytes = state().item_bytes;
    const communicator comm = state().present().comm();
    const collective_call now("duplicating a neighbor exchange", comm);
    auto runner = state().plans.leader().twin();
    auto fault = runner->prepare(options.prepare, options.item_bytes);
    std::unique_ptr<implementation> twin;
    attempt(comm.rank(), fault, [&] {
        auto watch = state().watch ? state().watch->twin() : nullptr;
        twin = std::make_unique<implementation>(
            comm, plan_runs(std::move(runner), state().plans.choice(), tried_routes()), options,
            std::move(watch), state().name);
    });
    agree(comm, fault);
    return neighbor_exchange(std::move(twin));
}

const crossdock::plan& neighbor_exchange::plan() const { return state().compiled(); }

bool neighbor_exchange::is_trying() const { return state().plans.is_trying(); }

std::vector<tried_route> neighbor_exchange::tried_routes() const { return state().plans.results(); }

const route_choice* neighbor_exchange::choice() const { return state().plans.choice().get(); }

traffic neighbor_exchange::statistics() const {
    return total_traffic(state().present().regions(), plan());
}

std::string neighbor_exchange::explain() const {
    return choice() ? to_string(*choice()) : plan().route() + "  given\n";
}

object_report neighbor_exchange::report() const {
    if (state().watch) return report_of(state().watch->object());
    watched_object nothing{.kind = exchange_kind_name};
    state().describe(nothing);
    return report_of(nothing);
}

void neighbor_exchange::close() noexcept { implementation::end(std::move(state_)); }

void neighbor_exchange::prepare(std::size_t item_bytes) { state().prepare(item_bytes); }

void neighbor_exchange::start_bytes(std::span<const std::byte> items, std::span<std::byte> slots,
                                    std::size_t item_bytes) {
    auto& all = state();
    const watched_start now(all.watch.get());
    all.require(direction::forward, item_bytes,
                [&] { check_lengths(all.compiled(), items.size(), slots.size(), item_bytes); });
    all.start(direction::forward, items.data(), slots.data(), item_bytes);
}

void neighbor_exchange::start_reverse_bytes(std::span<const std::byte> slots,
                                            std::span<std::byte> items, std::size_t item_bytes,
                                            combine_function combine) {
    auto& all = state();
    const watched_start now(all.watch.get());
    all.require(direction::reverse, item_bytes,
                [&] { check_lengths(all.compiled(), items.size(), slots.size(), item_bytes); });
    all.start(direction::reverse, slots.data(), items.data(), item_bytes, std::move(combine));
}

void neighbor_exchange::start_fields_bytes(std::span<const std::span<const std::byte>> items,
                                           std::span<const std::span<std::byte>> slots,
                                           std::size_t value_bytes) {
    const watched_start now(state().watch.get());
    const std::size_t item_bytes = items.size() * value_bytes;
    state().require(direction::forward, item_bytes, [&] {
        const watched_part packing(state().details(), activity::packing);
        check_fields(plan(), items, slots, value_bytes);
        state().packed.pack(plan(), item_bytes, pack_fields(items, value_bytes),
                            unpack_fields(slots, value_bytes));
    });
    state().start_packed(direction::forward, item_bytes);
}

void neighbor_exchange::start_reverse_fields_bytes(
    std::span<const std::span<const std::byte>> slots, std::span<const std::span<std::byte>> items,
    std::size_t value_bytes, combine_function combine) {
    const watched_start now(state().watch.get());
    const std::size_t item_bytes = slots.size() * value_bytes;
    state().require(direction::reverse, item_bytes, [&] {
        const watched_part packing(state().details(), activity::packing);
        check_fields(plan(), items, slots, value_bytes);
        const std::vector<std::span<const std::byte>> before(items.begin(), items.end());
        state().packed.pack_reverse(plan(), item_bytes, pack_fields(slots, value_bytes),
                                    pack_fields(before, value_bytes),
                                    unpack_fields(items, value_bytes));
    });
    state().start_packed(direction::reverse, item_bytes, std::move(combine));
}

std::vector<std::byte> neighbor_exchange::forward_packed(std::span<const count_t> offsets,
                                                         std::span<const std::byte> values,
                                                         std::size_t value_bytes,
                                                         std::ptrdiff_t& width) {
    const auto& comm = state().present().comm();
    const collective_call now("exchanging records", comm);
    const auto num_items = static_cast<std::size_t>(plan().num_items());
    std::optional<error> fault;
    count_t longest = 0;
    attempt(comm.rank(), fault, [&] {
        state().require_idle();
        if (offsets.size() != num_items + 1 || offsets.front() != 0 ||
            !std::ranges::is_sorted(offsets) ||
            static_cast<std::size_t>(offsets.back()) * value_bytes != values.size())
            throw_error_of(comm.rank(), errc::size_mismatch,
                           "rank {} gives {} offsets of records; give {} for its {} items, which "
                           "ascend from 0 to the number of values",
                           comm.rank(), offsets.size(), num_items + 1, num_items);
        for (std::size_t i = 0; i < num_items; ++i)
            longest = std::max(longest, offsets[i + 1] - offsets[i]);
    });
    allreduce(comm, &longest, 1, MPI_INT64_T, MPI_MAX);
    const auto item_bytes =
        std::bit_ceil(sizeof(count_t) + static_cast<std::size_t>(longest) * value_bytes);
    std::vector<std::byte> items, slots;
    attempt(comm.rank(), fault, [&] {
        items.resize(num_items * item_bytes);
        slots.resize(static_cast<std::size_t>(plan().num_slots()) * item_bytes);
        auto from = values.begin();
        for (std::size_t i = 0; i < num_items; ++i) {
            const count_t length = offsets[i + 1] - offsets[i];
            auto* const to = items.data() + i * item_bytes;
            std::memcpy(to, &length, sizeof length);
            from = std::ranges::copy_n(from, length * static_cast<count_t>(value_bytes),
                                       to + sizeof length)
                       .in;
        }
    });
    agree(comm, fault);
    start_bytes(items, slots, item_bytes);
    wait();
    width = static_cast<std::ptrdiff_t>(item_bytes);
    return slots;
}

void neighbor_exchange::start_empty(bool is_reverse, std::size_t item_bytes, rank_t failed) {
    auto& all = state();
    all.require_idle();
    all.active =
        &all.start_empty(is_reverse ? direction::reverse : direction::forward, item_bytes, failed);
    all.is_of_other = true;
}

std::size_t neighbor_exchange::find_size(std::size_t item_bytes) {
    return state().find_size(item_bytes);
}

void neighbor_exchange::prepare_at_start(std::size_t item_bytes) {
    state().prepare_at_start(item_bytes);
}

void neighbor_exchange::fail_start(bool is_reverse, std::size_t item_bytes, const error& why) {
    auto& all = state();
    all.require_idle();
    all.fail_start(is_reverse ? direction::reverse : direction::forward, item_bytes, why);
}

void neighbor_exchange::start(const void* items, void* slots, MPI_Datatype datatype) {
    start(items, datatype, slots, datatype);
}

void neighbor_exchange::start(const void* items, MPI_Datatype item_type, void* slots,
                              MPI_Datatype slot_type) {
    const watched_start now(state().watch.get());
    std::size_t item_bytes = 0;
    bool is_packed = false;
    state().require(direction::forward, item_bytes, [&] {
        MPI_Comm comm = state().present().comm().get();
        const datatype_packer from(comm, item_type);
        item_bytes = static_cast<std::size_t>(from.item_bytes());
        check_arrays(plan(), items, slots);
        const datatype_packer to = slot_type == item_type ? from : datatype_packer(comm, slot_type);
        if (from.item_bytes() != to.item_bytes()) {
            throw_error_of(plan().rank(), errc::size_mismatch,
                           "an item has {} bytes, but a slot {}: give datatypes of equal size",
                           from.item_bytes(), to.item_bytes());
        }
        is_packed = !from.is_contiguous() || !to.is_contiguous();
        if (!is_packed) return;
        const watched_part packing(state().details(), activity::packing);
        const auto place = [=](std::byte* packed, count_t index) {
            return packed + static_cast<std::size_t>(index) * item_bytes;
        };
        state().packed.pack(
            plan(), item_bytes,
            [&](std::span<const count_t> indices, std::byte* packed) {
                for (const count_t item : indices) from.pack(items, item, place(packed, item));
            },
            [=](std::span<const count_t> indices, std::byte* packed) {
                for (const count_t slot : indices) to.unpack(place(packed, slot), slots, slot);
            });
    });
    if (is_packed) return state().start_packed(direction::forward, item_bytes);
    state().start(direction::forward, items, slots, item_bytes);
}

void neighbor_exchange::start_reverse(const void* slots, void* items, MPI_Datatype datatype,
                                      MPI_Op operation) {
    const watched_start now(state().watch.get());
    std::size_t extent = 0;
    combine_function combine;
    state().require(direction::reverse, extent, [&] {
        extent = static_cast<std::size_t>(datatype_layout(datatype).extent);
        check_arrays(plan(), items, slots);
        combine = combination_of(datatype, operation).items();
    });
    state().start(direction::reverse, slots, items, extent, std::move(combine));
}

bool neighbor_exchange::is_active() const noexcept { return state_ && state_->active; }

bool neighbor_exchange::is_unfinished() const noexcept { return state_ && state_->is_unfinished(); }

bool neighbor_exchange::test() {
    require_state(is_active(), not_active);
    return state_->test();
}

void neighbor_exchange::wait() {
    require_state(is_active(), not_active);
    state_->wait();
}

}  // namespace crossdock

#include "crossdock/neighbor/neighbor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "crossdock/base/datatype_mpi.hpp"
#include "crossdock/exchange/peer_exchange_mpi.hpp"
#include "crossdock/neighbor/automatic_route.hpp"
#include "crossdock/neighbor/compile_mpi.hpp"
#include "plan_runner.hpp"
#include "trial_runs.hpp"

namespace crossdock {

namespace {

// Calls `use(from, to, length)` for every stretch in which both indices count up together.
template <class Use>
void for_each_run(const copy_list& list, Use&& use) {
    list.from.with_lookup([&](auto from) {
        list.to.with_lookup([&](auto to) {
            for (count_t k = 0; k < list.size();) {
                int length = 1;
                while (k + length < list.size() && from(k + length) == from(k) + length &&
                       to(k + length) == to(k) + length &&
                       length < std::numeric_limits<int>::max()) {
                    ++length;
                }
                use(from(k), to(k), length);
                k += length;
            }
        });
    });
}

std::vector<count_t> sorted_unique(std::vector<count_t> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

// The items that leave their place, and the slots that are filled.
std::vector<count_t> used_items(const plan& p) {
    std::vector<count_t> items;
    const auto add = [&](count_t position) {
        if (position < p.num_items()) items.push_back(position);
    };
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends)
            std::for_each(message.positions.begin(), message.positions.end(), add);
    }
    for (const auto& d : p.deliveries()) add(d.position);
    return sorted_unique(std::move(items));
}

std::vector<count_t> filled_slots(const plan& p) {
    std::vector<count_t> slots;
    for (const auto& d : p.deliveries()) slots.push_back(d.slot);
    return sorted_unique(std::move(slots));
}

void check_arrays(const plan& p, const void* items, const void* slots) {
    if ((p.num_items() == 0 || items) && (p.num_slots() == 0 || slots)) return;
    throw error(
        errc::invalid_argument,
        fmt::format("{} is a null pointer", p.num_items() > 0 && !items ? "items" : "slots"),
        p.rank());
}

// 0 stands for the default, so that options filled with zeros are usable.
neighbor_options with_defaults(neighbor_options options) {
    const neighbor_options defaults;
    if (options.max_message_bytes == 0) options.max_message_bytes = defaults.max_message_bytes;
    if (options.item_bytes == 0) options.item_bytes = defaults.item_bytes;
    return options;
}

void check_nodes(const communicator& comm, const neighbor_options& options) {
    if (!options.nodes || options.nodes->num_ranks() == comm.num_ranks()) return;
    throw error(
        errc::size_mismatch,
        fmt::format("the nodes \"{}\" have {} ranks, but the communicator {}",
                    options.nodes->to_string(), options.nodes->num_ranks(), comm.num_ranks()));
}

// As many as ranks that share memory can set up together; no route has more.
void check_stages(const plan& p) {
    if (p.stages().size() <= std::size_t{peer_exchange::max_rounds}) return;
    throw error(errc::invalid_plan, fmt::format("a plan of {} stages, at most {} can be exchanged",
                                                p.stages().size(), peer_exchange::max_rounds));
}

std::int64_t hash_of(const neighbor_options& all) {
    return agreement_hash(fmt::format(
        "{} {} {} {} {} {} {} {} {} {}", all.max_message_bytes, to_string(all.executor),
        all.item_bytes, all.stripe_bytes, all.prepare_reverse,
        all.nodes ? all.nodes->to_string() : "", all.machine ? to_json(*all.machine) : "",
        all.measure.max_candidates, all.measure.exchanges_each, all.measure.max_lost_seconds));
}

constexpr std::array executor_kinds{executor_kind::automatic, executor_kind::persistent,
                                    executor_kind::shared_memory};

}  // namespace

const char* to_string(executor_kind kind) noexcept {
    switch (kind) {
        case executor_kind::persistent: return "persistent";
        case executor_kind::shared_memory: return "shared_memory";
        default: return "auto";
    }
}

executor_kind parse_executor(std::string_view name) {
    for (const auto kind : executor_kinds) {
        if (name == to_string(kind)) return kind;
    }
    throw error(errc::invalid_argument,
                fmt::format("there is no executor \"{}\": auto, persistent, shared_memory", name));
}

struct neighbor::implementation {
    // Room for values of a datatype that is not contiguous, packed; kept for the next exchange.
    struct packed_values {
        count_t item_bytes = 0;
        std::vector<count_t> used_items;
        std::vector<count_t> filled_slots;
        std::unique_ptr<std::byte[]> items;
        std::unique_ptr<std::byte[]> slots;
    };
    // Where the packed slots go in the end.
    struct unpack_target {
        datatype_packer packer;
        void* slots;
    };

    implementation(const communicator& c, std::unique_ptr<plan_runner> prepared)
        : comm(c), runner(std::move(prepared)) {}

    ~implementation() {
        if (active && packed) {  // as the executor does with its own buffers
            static_cast<void>(packed->items.release());
            static_cast<void>(packed->slots.release());
        }
    }

    // During trials it may be another one after every start.
    const plan_runner& present() const { return trials ? trials->current() : *runner; }
    const plan& compiled() const { return *present().compiled(); }

    void require_idle() const {
        CROSSDOCK_ASSERT(light, active == nullptr, "an exchange is active already");
    }

    void start(direction way, const void* input, void* output, std::size_t item_bytes,
               combine_function&& combine = {}) {
        require_idle();
        if (trials) return start_trial(way, input, output, item_bytes, std::move(combine));
        runner->prepare(way, item_bytes);
        active = &runner->start(way, input, output, std::move(combine));
    }

    void start_trial(direction way, const void* input, void* output, std::size_t item_bytes,
                     combine_function&& combine) {
        if (auto kept = trials->decide()) {
            runner = std::move(kept);
            results = trials->trials().results();
            trials.reset();
            return start(way, input, output, item_bytes, std::move(combine));
        }
        auto& tried = trials->current();
        tried.prepare(way, item_bytes);
        trials->begin(way, item_bytes);
        active = &trials->timed(
            [&]() -> executor& { return tried.start(way, input, output, std::move(combine)); });
    }

    bool test() {
        const auto ask = [&] { return active->test(); };
        const bool is_complete = trials ? trials->timed(ask) : ask();
        if (is_complete) complete();
        return is_complete;
    }

    void wait() {
        const auto finish = [&] { active->wait(); };
        trials ? trials->timed(finish) : finish();
        complete();
    }

    packed_values& room_for(count_t item_bytes) {
        if (packed && packed->item_bytes == item_bytes) return *packed;
        const plan& p = compiled();
        const auto allocate = [&](count_t num_values) {
            return std::make_unique_for_overwrite<std::byte[]>(
                static_cast<std::size_t>(num_values) * static_cast<std::size_t>(item_bytes));
        };
        return packed.emplace(packed_values{item_bytes, used_items(p), filled_slots(p),
                                            allocate(p.num_items()), allocate(p.num_slots())});
    }

    void start_packed(const void* items, void* slots, const datatype_packer& packer) {
        require_idle();
        const count_t item_bytes = packer.item_bytes();
        auto& room = room_for(item_bytes);
        for (const count_t item : room.used_items)
            packer.pack(items, item, room.items.get() + item * item_bytes);
        start(direction::forward, room.items.get(), room.slots.get(),
              static_cast<std::size_t>(item_bytes));
        to_unpack.emplace(unpack_target{packer, slots});
    }

    void unpack(const unpack_target& target) {
        for (const count_t slot : packed->filled_slots)
            target.packer.unpack(packed->slots.get() + slot * packed->item_bytes, target.slots,
                                 slot);
    }

    void complete() {
        active = nullptr;
        if (trials) trials->end();
        if (to_unpack) unpack(*std::exchange(to_unpack, std::nullopt));
    }

    communicator comm;
    std::unique_ptr<plan_runner> runner;  // null during trials
    std::unique_ptr<trial_runs> trials;   // null before and after
    std::vector<tried_route> results;
    executor* active = nullptr;
    std::optional<packed_values> packed;
    std::optional<unpack_target> to_unpack;
    std::shared_ptr<const route_choice> choice;
};

neighbor::neighbor(const communicator& comm, const topology& regions, const pattern& p,
                   std::string_view route, const neighbor_options& options) {
    const auto all = with_defaults(options);
    const auto same = hash_of(all);
    auto resolved = resolve_route(comm, regions, p, route, all, same);
    const auto compile_along = [&](const std::string& name) {
        return std::make_shared<const plan>(
            compile_mpi(comm, regions, p, name, {options.deduplicate},
                        agreement_hash(fmt::format("{} {}", same, resolved.is_measured))));
    };
    auto best = compile_along(resolved.name);
    if (!resolved.is_measured) {
        *this = neighbor(comm, std::move(best), options);
    } else if (route_trials trials(*resolved.choice, all.measure); trials.winner()) {
        *this = neighbor(comm, std::move(best), options);
    } else {
        check_nodes(comm, all);
        std::vector<std::unique_ptr<plan_runner>> runners;
        for (const auto& candidate : trials.candidates()) {
            auto compiled = runners.empty() ? std::move(best) : compile_along(candidate.route);
            check_stages(*compiled);
            runners.push_back(std::make_unique<plan_runner>(comm, std::move(compiled), all));
        }
        state_ = std::make_unique<implementation>(comm, nullptr);
        state_->trials =
            std::make_unique<trial_runs>(comm, std::move(trials), std::move(runners), all.measure);
        state_->trials->current().prepare();
    }
    if (resolved.choice)
        state_->choice = std::make_shared<const route_choice>(std::move(*resolved.choice));
}

neighbor::neighbor(const communicator& comm, plan compiled, const neighbor_options& options)
    : neighbor(comm, std::make_shared<const plan>(std::move(compiled)), options) {}

neighbor::neighbor(const communicator& comm, std::shared_ptr<const plan> compiled,
                   const neighbor_options& options) {
    if (compiled->rank() != comm.rank() || compiled->num_ranks() != comm.num_ranks()) {
        throw error(
            errc::size_mismatch,
            fmt::format("the plan is of rank {} of {}, but this is rank {} of {}", compiled->rank(),
                        compiled->num_ranks(), comm.rank(), comm.num_ranks()),
            comm.rank());
    }
    check_nodes(comm, options);
    check_stages(*compiled);
    auto runner = std::make_unique<plan_runner>(comm, std::move(compiled), with_defaults(options));
    runner->prepare();
    state_ = std::make_unique<implementation>(comm, std::move(runner));
}

neighbor::neighbor(std::unique_ptr<implementation> state) : state_(std::move(state)) {}
neighbor::~neighbor() = default;
neighbor::neighbor(neighbor&&) noexcept = default;
neighbor& neighbor::operator=(neighbor&&) noexcept = default;

neighbor neighbor::duplicate() const {
    auto runner = (state_->trials ? state_->trials->leader() : *state_->runner).twin();
    runner->prepare();
    auto twin = std::make_unique<implementation>(state_->comm, std::move(runner));
    twin->choice = state_->choice;
    twin->results = tried_routes();
    return neighbor(std::move(twin));
}

const plan& neighbor::compiled_plan() const noexcept { return state_->compiled(); }

bool neighbor::is_trying() const noexcept { return state_->trials != nullptr; }

std::vector<tried_route> neighbor::tried_routes() const {
    return state_->trials ? state_->trials->trials().results() : state_->results;
}

const route_choice* neighbor::choice() const noexcept { return state_->choice.get(); }

void neighbor::start(const void* items, void* slots, MPI_Datatype datatype) {
    check_arrays(compiled_plan(), items, slots);
    const datatype_packer packer(state_->comm.get(), datatype);
    if (packer.is_contiguous()) {
        state_->start(direction::forward, items, slots,
                      static_cast<std::size_t>(packer.item_bytes()));
    } else {
        state_->start_packed(items, slots, packer);
    }
}

void neighbor::start_reverse(const void* slots, void* items, MPI_Datatype datatype,
                             MPI_Op operation) {
    check_arrays(compiled_plan(), items, slots);
    if (operation == MPI_OP_NULL) throw error(errc::invalid_argument, "operation is MPI_OP_NULL");
    const datatype_layout layout(datatype);
    if (layout.lower_bound != 0 || layout.true_lower_bound < 0 ||
        layout.true_lower_bound + layout.true_extent > layout.extent) {
        throw error(
            errc::invalid_argument,
            fmt::format("a value of the datatype lies in [{}, {}), outside its extent [{}, {})",
                        layout.true_lower_bound, layout.true_lower_bound + layout.true_extent,
                        layout.lower_bound, layout.lower_bound + layout.extent));
    }
    int is_commutative = 0;
    CROSSDOCK_MPI(MPI_Op_commutative(operation, &is_commutative));
    if (!is_commutative) throw error(errc::invalid_argument, "the operation is not commutative");
    const auto extent = layout.extent;
    const auto combine = [=](std::byte* to, const std::byte* from, const copy_list& list) {
        for_each_run(list, [&](count_t from_index, count_t to_index, int length) {
            CROSSDOCK_MPI(MPI_Reduce_local(from + from_index * extent, to + to_index * extent,
                                           length, datatype, operation));
        });
    };
    state_->start(direction::reverse, slots, items, static_cast<std::size_t>(extent), combine);
}

bool neighbor::test() {
    CROSSDOCK_ASSERT(light, is_active(), "no exchange is active");
    return state_->test();
}

void neighbor::wait() {
    CROSSDOCK_ASSERT(light, is_active(), "no exchange is active");
    state_->wait();
}

bool neighbor::is_active() const noexcept { return state_->active != nullptr; }

void neighbor::check_lengths(std::size_t num_items, std::size_t num_slots) const {
    const plan& p = compiled_plan();
    if (num_items >= static_cast<std::size_t>(p.num_items()) &&
        num_slots >= static_cast<std::size_t>(p.num_slots())) {
        return;
    }
    throw error(errc::size_mismatch,
                fmt::format("rank {} has arrays of {} items and {} slots, the plan {} and {}",
                            p.rank(), num_items, num_slots, p.num_items(), p.num_slots()),
                p.rank());
}

void neighbor::start_forward(const void* items, void* slots, std::size_t item_bytes) {
    state_->start(direction::forward, items, slots, item_bytes);
}

void neighbor::start_backward(const void* slots, void* items, std::size_t item_bytes,
                              combine_function combine) {
    state_->start(direction::reverse, slots, items, item_bytes, std::move(combine));
}

}  // namespace crossdock

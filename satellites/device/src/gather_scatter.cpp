#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "crossdock/device_exchange.hpp"
#include "staging.hpp"

namespace crossdock::device {

namespace {

// The copies of one id on this rank. The first of them, of those that are not flagged before the others, stands for
// all.
struct copies_of_id {
    count_t id = 0;  // negative if all copies are flagged
    std::vector<count_t> places;
    std::size_t num_unflagged = 0;
    bool is_shared = false;

    count_t first() const { return places.front(); }
    std::span<const count_t> unflagged() const { return std::span(places).first(num_unflagged); }
};

// In the order of what stands for them. Copies of an id are ordered as `ids` flags them, and are flagged as `flagged`
// has it, which may flag more of them.
std::vector<copies_of_id> find_copies(std::span<const count_t> ids,
                                      std::span<const count_t> flagged) {
    std::map<count_t, copies_of_id> groups;
    for (const bool is_flagged : {false, true}) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (ids[i] == std::numeric_limits<count_t>::min()) {
                throw error(errc::index_out_of_range,
                            "the id at place " + std::to_string(i) + " is -2^63; give another one");
            }
            if (ids[i] == 0 || (ids[i] < 0) != is_flagged) continue;
            auto& group = groups[std::abs(ids[i])];
            if (group.places.empty()) group.id = flagged[i];
            group.places.push_back(static_cast<count_t>(i));
            if (flagged[i] > 0) ++group.num_unflagged;
        }
    }
    std::vector<copies_of_id> found;
    for (auto& [id, group] : groups) found.push_back(std::move(group));
    std::ranges::sort(found, {}, &copies_of_id::first);
    return found;
}

std::vector<count_t> ids_of(std::span<const copies_of_id> groups) {
    std::vector<count_t> ids;
    for (const auto& group : groups) ids.push_back(group.id);
    return ids;
}

// Finds which ids other ranks have, and leaves out those that nothing is done for.
// Collective.
void find_shared(const context& where, std::vector<copies_of_id>& groups) {
    crossdock::gather_scatter all(where, ids_of(groups), {.method = "owners", .route = "direct"});
    std::vector<count_t> holders(groups.size(), 1);
    std::vector<count_t> givers;
    for (const auto& group : groups) givers.push_back(group.id > 0);
    all.combine(givers, sum{});                         // of flagged ones those of others
    all.combine(holders, sum{}, {.transposed = true});  // of others all
    for (std::size_t i = 0; i < groups.size(); ++i)
        groups[i].is_shared = groups[i].id > 0 ? holders[i] > 1 : givers[i] > 0;
    std::erase_if(groups, [](const copies_of_id& group) {
        return !group.is_shared && (group.id < 0 || group.places.size() == 1);
    });
    std::ranges::stable_partition(groups, &copies_of_id::is_shared);
}

// What the device combines, and where results go.
struct device_lists {
    device_lists(driver& on, std::span<const copies_of_id> groups, bool transposed) {
        std::vector<count_t> offsets{0}, inputs, from, to;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const auto& group = groups[g];
            // If nothing is given, something is there all the same.
            const auto given = transposed     ? std::span(group.places)
                               : group.id > 0 ? group.unflagged()
                                              : std::span(group.places).first(1);
            inputs.insert(inputs.end(), given.begin(), given.end());
            offsets.push_back(static_cast<count_t>(inputs.size()));
            for (const count_t place : transposed ? group.unflagged() : group.places) {
                from.push_back(static_cast<count_t>(g));
                to.push_back(place);
            }
        }
        num_results = static_cast<count_t>(to.size());
        for (const auto* const list : {&offsets, &inputs, &from, &to})
            lists.emplace_back(on, *list);
    }

    const count_t* offsets() const { return lists[0].get(); }
    const count_t* inputs() const { return lists[1].get(); }
    const count_t* results_from() const { return lists[2].get(); }
    const count_t* results_to() const { return lists[3].get(); }

    std::vector<device_list> lists;
    count_t num_results = 0;
};

struct local_copies {
    local_copies(std::shared_ptr<driver> given, std::span<const copies_of_id> groups, count_t ids)
        : on(std::move(given)),
          normal(*on, groups, false),
          work(*on),
          pinned(*on),
          num_ids(ids),
          num_groups(static_cast<count_t>(groups.size())),
          num_shared(std::ranges::count_if(groups, &copies_of_id::is_shared)) {
        for (const auto& group : groups) {
            if (group.num_unflagged == group.places.size()) continue;
            transposed.emplace(*on, groups, true);
            break;
        }
    }

    std::shared_ptr<driver> on;
    device_lists normal;
    std::optional<device_lists> transposed;  // unset where nothing is flagged
    device_memory work;                      // of all groups; those that are shared come first
    pinned_memory pinned;
    count_t num_ids, num_groups, num_shared;
};

}  // namespace

struct gather_scatter::implementation final : staging {
    implementation(const context& where, local_copies&& made, std::span<const count_t> shared_ids,
                   const gather_options& options)
        : staging(where.comm(), made.on, preparation::both, options.item_bytes),
          local(std::move(made)),
          host(where, shared_ids, options) {}
    ~implementation() {
        settle();
        if (host.is_active()) local.pinned.abandon();
    }

    void start(std::span<std::byte> values, fold_call fold, std::size_t bytes_of_value,
               combine_values&& combine, stream on, const gather_call& asked) {
        const auto bytes = bytes_of_item(asked, bytes_of_value);
        const bool may_block = !is_ready(asked.transposed, bytes) || host.is_trying();
        begin(on, may_block, [&] {
            how = asked;
            value_bytes = bytes_of_value;
            output = values.data();
            combined_by = std::move(combine);
            let_wait_for_last(on);
            if (how.values_per_id <= 0)
                throw error(
                    errc::invalid_argument,
                    "values_per_id is " + std::to_string(how.values_per_id) + "; the minimum is 1");
            require_array(*local.on, values, local.num_ids * how.values_per_id, value_bytes,
                          local.num_groups > 0, "values");
            make_room();
            fold.to = local.work.get();
            fold.from = values.data();
            fold.offsets = lists().offsets();
            fold.list = lists().inputs();
            fold.num_groups = local.num_groups;
            fold.width = how.values_per_id;
            local.on->fold(fold, on);
            if (local.num_shared > 0)
                local.on->copy_down(local.pinned.get(), local.work.get(), shared_bytes(), on);
        });
    }

    static std::size_t bytes_of_item(const gather_call& how, std::size_t value_bytes) {
        return how.values_per_id > 0 ? static_cast<std::size_t>(how.values_per_id) * value_bytes
                                     : 0;
    }
    std::size_t item_bytes() const { return bytes_of_item(how, value_bytes); }
    std::size_t shared_bytes() const {
        return static_cast<std::size_t>(local.num_shared) * item_bytes();
    }
    const device_lists& lists() const {
        return how.transposed && local.transposed ? *local.transposed : local.normal;
    }

    void make_room() {
        const auto work_bytes = static_cast<std::size_t>(local.num_groups) * item_bytes();
        if (local.work.holds(work_bytes) && local.pinned.holds(shared_bytes())) return;
        wait_until_unused();
        local.work.grow(work_bytes);
        local.pinned.grow(shared_bytes());
    }

    void start_messages() override {
        const std::span<std::byte> values(local.pinned.get(), shared_bytes());
        host.start_bytes({&values, 1}, value_bytes, std::move(combined_by), how);
    }
    void fail_messages(const error& why) override {
        host.fail_start(how.transposed, item_bytes(), why);
    }
    bool test_messages() override { return host.test(); }
    void wait_for_messages() override { host.wait(); }
    bool are_messages_active() const override { return host.is_active(); }
    void unpack(stream on) override {
        if (local.num_shared > 0)
            local.on->copy_up(local.work.get(), local.pinned.get(), shared_bytes(), on);
        local.on->copy({output, local.work.get(), lists().results_to(), lists().results_from(),
                        lists().num_results, item_bytes()},
                       on);
    }

    local_copies local;
    crossdock::gather_scatter host;
    // Of the last start.
    gather_call how;
    std::size_t value_bytes = 0;
    std::byte* output = nullptr;
    combine_values combined_by;
};

gather_scatter::gather_scatter(const context& where, std::span<const count_t> ids,
                               const gather_options& options, std::shared_ptr<driver> on) {
    std::vector<count_t> flagged(ids.begin(), ids.end());
    if (options.unique) flag_duplicates(where, flagged);
    auto groups = on_all_or_none(where.comm(), [&] { return find_copies(ids, flagged); });
    find_shared(where, groups);
    auto local = on_all_or_none(where.comm(), [&] {
        return local_copies(on ? on : open(), groups, static_cast<count_t>(ids.size()));
    });
    auto on_host = options;
    on_host.unique = false;
    const auto shared = std::span(groups).first(static_cast<std::size_t>(local.num_shared));
    state_ = std::make_unique<implementation>(where, std::move(local), ids_of(shared), on_host);
}
gather_scatter::~gather_scatter() = default;
gather_scatter::gather_scatter(gather_scatter&&) noexcept = default;
gather_scatter& gather_scatter::operator=(gather_scatter&&) noexcept = default;

void gather_scatter::start_bytes(std::span<std::byte> values, const fold_call& fold,
                                 std::size_t value_bytes, combine_values combine, stream on,
                                 const gather_call& how) {
    state_->start(values, fold, value_bytes, std::move(combine), on, how);
}

void gather_scatter::fail_start(bool transposed, std::size_t item_bytes, const error& why) {
    state_->require_idle();
    state_->host.fail_start(transposed, item_bytes, why);
}

bool gather_scatter::test(stream on) { return state_->test(on); }
void gather_scatter::wait(stream on) { state_->wait(on); }
bool gather_scatter::is_active() const noexcept { return state_ && state_->is_active(); }
const crossdock::gather_scatter& gather_scatter::on_host() const { return state_->host; }

std::string gather_scatter::explain() const {
    return explain_path(*state_->local.on, "staged",
                        "values of shared ids are combined on the host") +
           state_->host.explain();
}

}  // namespace crossdock::device

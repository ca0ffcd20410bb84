#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "crossdock/device_exchange.hpp"
#include "direct.hpp"

namespace crossdock::device {

namespace {

// Numbers the places of a side of a pattern that travel, and gives them. They are in the order of the messages, so that
// the exchange on the host finds what it sends and receives in one piece.
std::vector<count_t> pack(neighbor_list& side, count_t& num_places) {
    std::vector<count_t> places;
    std::unordered_map<count_t, count_t> number_of;
    for (auto& index : side.indices) {
        const auto [found, is_new] = number_of.try_emplace(index, number_of.size());
        if (is_new) places.push_back(index);
        index = found->second;
    }
    num_places = static_cast<count_t>(places.size());
    return places;
}

// What a rank makes before all ranks make the exchange of packed items.
struct local_part {
    local_part(const context& where, const pattern& p, const neighbor_options& options,
               std::shared_ptr<driver> given, const std::string& path)
        : on(std::move(given)),
          num_items(p.num_items),
          num_slots(p.num_slots),
          packed(p),
          items(*on, pack(packed.sends, packed.num_items)),
          slots(*on, pack(packed.receives, packed.num_slots)) {
        if (path != "staged") {
            sends = one_entry_for_each(p.sends);
            receives = one_entry_for_each(p.receives);
        }
        terms = terms_of_path(where, *on, path, sends, receives, options.item_bytes);
    }

    std::shared_ptr<driver> on;
    count_t num_items, num_slots;
    pattern packed;
    travelling_places items, slots;
    neighbor_list sends, receives;  // of the path `direct`, until it is chosen or not
    path_terms terms;
};

}  // namespace

struct neighbor_exchange::implementation final : staging {
    implementation(const context& where, local_part&& made, const neighbor_options& options)
        : staging(where.comm(), made.on, options.prepare, options.item_bytes),
          local(std::move(made)),
          host(where, std::exchange(local.packed, {}), options) {}
    ~implementation() {
        settle();
        if (!are_messages_active()) return;
        local.items.abandon();
        local.slots.abandon();
        if (memory) memory->abandon();
    }

    // Collective.
    void choose(const context& where, const neighbor_options& options) {
        auto& terms = local.terms;
        if (terms.said == "staged") return;
        if (terms.said == "auto") agree_on_terms(where.comm(), terms);
        on_all_or_none(where.comm(), [&] {
            choice = choose_path(where.machine(), terms, host);
            const auto sends = std::exchange(local.sends, {});
            const auto receives = std::exchange(local.receives, {});
            if (!choice.is_direct) return;
            memory.emplace(*local.on, where.rank(), sends, receives);
            messages.emplace(where.comm(), sends, receives, options);
        });
        if (messages) messages->reserve_tag();
    }

    // To a side that gets values from the one that gives them.
    void start(bool is_reverse, std::span<const std::byte> items, std::span<const std::byte> slots,
               std::byte* target, std::size_t bytes, combine_function&& combine,
               const std::optional<fold_call>& on_device, stream on) {
        const bool by_mpi = messages && (!is_reverse || on_device);
        const bool may_block = !by_mpi && (!is_ready(is_reverse, bytes) || host.is_trying());
        begin(on, may_block, [&] {
            is_direct = by_mpi;
            reverse = is_reverse;
            item_bytes = bytes;
            output = target;
            combined_by = std::move(combine);
            fold = on_device.value_or(fold_call{});
            let_wait_for_last(on);
            require_array(*local.on, items, local.num_items, bytes, local.items.size() > 0,
                          "items");
            require_array(*local.on, slots, local.num_slots, bytes, local.slots.size() > 0,
                          "slots");
            if (is_direct) messages->require_countable(bytes);
            make_room();
            if (is_direct) return memory->pack(is_reverse, items.data(), slots.data(), bytes, on);
            if (is_reverse) local.slots.bring_down(slots.data(), bytes, on);
            local.items.bring_down(items.data(), bytes, on);
        });
    }

    void fail(bool is_reverse, std::size_t bytes, const error& why, bool is_on_device) {
        require_idle();
        is_direct = messages && (!is_reverse || is_on_device);
        reverse = is_reverse;
        item_bytes = bytes;
        fail_messages(why);
    }

    void make_room() {
        const auto grow_both = [&](auto& one, auto& other) {
            if (one.has_room(item_bytes) && other.has_room(item_bytes)) return;
            wait_until_unused();
            one.grow(item_bytes);
            other.grow(item_bytes);
        };
        is_direct ? grow_both(*memory, *memory) : grow_both(local.items, local.slots);
    }

    void start_messages() override {
        if (is_direct) {
            return messages->start(reverse, memory->packed(), memory->received(reverse, item_bytes),
                                   item_bytes);
        }
        const auto items = local.items.on_host(item_bytes);
        const auto slots = local.slots.on_host(item_bytes);
        if (reverse) {
            host.start_reverse_bytes(slots, items, item_bytes, std::move(combined_by));
        } else {
            host.start_bytes(items, slots, item_bytes);
        }
    }
    void fail_messages(const error& why) override {
        is_direct ? messages->fail(reverse, why) : host.fail_start(reverse, item_bytes, why);
    }
    bool test_messages() override { return is_direct ? messages->test() : host.test(); }
    void wait_for_messages() override { is_direct ? messages->wait() : host.wait(); }
    bool are_messages_active() const override {
        return is_direct ? messages->is_active() : host.is_active();
    }
    void unpack(stream on) override {
        if (is_direct) return memory->unpack(reverse, output, fold, item_bytes, on);
        (reverse ? local.items : local.slots).bring_up(output, item_bytes, on);
    }

    local_part local;
    crossdock::neighbor_exchange host;
    path_choice choice;
    // Of the path `direct`, where it is chosen.
    std::optional<direct_memory> memory;
    std::optional<direct_messages> messages;
    // Of the last start.
    bool is_direct = false;
    bool reverse = false;
    std::size_t item_bytes = 0;
    std::byte* output = nullptr;
    combine_function combined_by;
    fold_call fold;
};

neighbor_exchange::neighbor_exchange(const context& where, const pattern& p,
                                     const neighbor_options& options, std::shared_ptr<driver> on,
                                     const std::string& path) {
    const char* const said = path == "auto" ? std::getenv("CROSSDOCK_DEVICE_PATH") : nullptr;
    const std::string asked = said && *said ? said : path;
    auto local = on_all_or_none(
        where.comm(),
        [&] {
            if (asked != "auto" && asked != "staged" && asked != "direct") {
                throw error(errc::invalid_argument,
                            "there is no path '" + asked + "': say auto, staged or direct");
            }
            validate(p);
            return local_part(where, p, options, on ? on : open(), asked);
        },
        agreement_hash(asked), "the path");
    state_ = std::make_unique<implementation>(where, std::move(local), options);
    state_->choose(where, options);
}
neighbor_exchange::~neighbor_exchange() = default;
neighbor_exchange::neighbor_exchange(neighbor_exchange&&) noexcept = default;
neighbor_exchange& neighbor_exchange::operator=(neighbor_exchange&&) noexcept = default;

void neighbor_exchange::start_bytes(std::span<const std::byte> items, std::span<std::byte> slots,
                                    std::size_t item_bytes, stream on) {
    state_->start(false, items, slots, slots.data(), item_bytes, {}, {}, on);
}

void neighbor_exchange::start_reverse_bytes(std::span<const std::byte> slots,
                                            std::span<std::byte> items, std::size_t item_bytes,
                                            combine_function combine, stream on,
                                            const std::optional<fold_call>& on_device) {
    state_->start(true, items, slots, items.data(), item_bytes, std::move(combine), on_device, on);
}

void neighbor_exchange::fail_start(bool is_reverse, std::size_t item_bytes, const error& why,
                                   const std::optional<fold_call>& on_device) {
    state_->fail(is_reverse, item_bytes, why, on_device.has_value());
}

bool neighbor_exchange::test(stream on) { return state_->test(on); }
void neighbor_exchange::wait(stream on) { state_->wait(on); }
bool neighbor_exchange::is_active() const noexcept { return state_ && state_->is_active(); }
const crossdock::neighbor_exchange& neighbor_exchange::on_host() const { return state_->host; }

std::string neighbor_exchange::explain() const {
    const auto& [is_direct, why] = state_->choice;
    return explain_path(*state_->local.on, is_direct ? "direct" : "staged", why) +
           state_->host.explain();
}

}  // namespace crossdock::device

#include <unordered_map>
#include <utility>

#include "crossdock/device_exchange.hpp"
#include "staging.hpp"

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
    local_part(const pattern& p, std::shared_ptr<driver> given)
        : on(std::move(given)),
          num_items(p.num_items),
          num_slots(p.num_slots),
          packed(p),
          items(*on, pack(packed.sends, packed.num_items)),
          slots(*on, pack(packed.receives, packed.num_slots)) {}

    std::shared_ptr<driver> on;
    count_t num_items, num_slots;
    pattern packed;
    travelling_places items, slots;
};

}  // namespace

struct neighbor_exchange::implementation final : staging {
    implementation(const context& where, local_part&& made, const neighbor_options& options)
        : staging(where.comm(), made.on, options.prepare, options.item_bytes),
          local(std::move(made)),
          host(where, std::exchange(local.packed, {}), options) {}
    ~implementation() {
        settle();
        if (!host.is_active()) return;
        local.items.abandon();
        local.slots.abandon();
    }

    // To a side that gets values from the one that gives them.
    void start(bool is_reverse, std::span<const std::byte> items, std::span<const std::byte> slots,
               std::byte* target, std::size_t bytes, combine_function&& combine, stream on) {
        begin(on, host.is_trying(), is_reverse, bytes, [&] {
            reverse = is_reverse;
            item_bytes = bytes;
            output = target;
            combined_by = std::move(combine);
            require_array(*local.on, items, local.num_items, bytes, local.items.size() > 0,
                          "items");
            require_array(*local.on, slots, local.num_slots, bytes, local.slots.size() > 0,
                          "slots");
            make_room();
            if (is_reverse) local.slots.bring_down(slots.data(), bytes, on);
            local.items.bring_down(items.data(), bytes, on);
        });
    }

    void make_room() {
        if (local.items.has_room(item_bytes) && local.slots.has_room(item_bytes)) return;
        wait_until_unused();
        local.items.grow(item_bytes);
        local.slots.grow(item_bytes);
    }

    void start_on_host() override {
        const auto items = local.items.on_host(item_bytes);
        const auto slots = local.slots.on_host(item_bytes);
        if (reverse) {
            host.start_reverse_bytes(slots, items, item_bytes, std::move(combined_by));
        } else {
            host.start_bytes(items, slots, item_bytes);
        }
    }
    void fail_on_host(const error& why) override { host.fail_start(reverse, item_bytes, why); }
    bool test_on_host() override { return host.test(); }
    void wait_on_host() override { host.wait(); }
    bool is_active_on_host() const override { return host.is_active(); }
    void unpack(stream on) override {
        (reverse ? local.items : local.slots).bring_up(output, item_bytes, on);
    }

    local_part local;
    crossdock::neighbor_exchange host;
    // Of the last start.
    bool reverse = false;
    std::size_t item_bytes = 0;
    std::byte* output = nullptr;
    combine_function combined_by;
};

neighbor_exchange::neighbor_exchange(const context& where, const pattern& p,
                                     const neighbor_options& options, std::shared_ptr<driver> on) {
    auto local = on_all_or_none(where.comm(), [&] {
        validate(p);
        return local_part(p, on ? on : open());
    });
    state_ = std::make_unique<implementation>(where, std::move(local), options);
}
neighbor_exchange::~neighbor_exchange() = default;
neighbor_exchange::neighbor_exchange(neighbor_exchange&&) noexcept = default;
neighbor_exchange& neighbor_exchange::operator=(neighbor_exchange&&) noexcept = default;

void neighbor_exchange::start_bytes(std::span<const std::byte> items, std::span<std::byte> slots,
                                    std::size_t item_bytes, stream on) {
    state_->start(false, items, slots, slots.data(), item_bytes, {}, on);
}

void neighbor_exchange::start_reverse_bytes(std::span<const std::byte> slots,
                                            std::span<std::byte> items, std::size_t item_bytes,
                                            combine_function combine, stream on) {
    state_->start(true, items, slots, items.data(), item_bytes, std::move(combine), on);
}

bool neighbor_exchange::test(stream on) { return state_->test(on); }
void neighbor_exchange::wait(stream on) { state_->wait(on); }
bool neighbor_exchange::is_active() const noexcept { return state_ && state_->is_active(); }
const crossdock::neighbor_exchange& neighbor_exchange::on_host() const { return state_->host; }

std::string neighbor_exchange::explain() const {
    return explain_path(*state_->local.on) + state_->host.explain();
}

}  // namespace crossdock::device

#include "staging.hpp"

#include <algorithm>

#include "crossdock/detail/base/suspension.hpp"

namespace crossdock::device {

travelling_places::travelling_places(driver& on, std::vector<count_t> places)
    : on_(&on), size_(static_cast<count_t>(places.size())), packed_(on), pinned_(on) {
    if (!places.empty()) first_ = places.front();
    const auto has_gap = [](count_t a, count_t b) { return b != a + 1; };
    if (std::ranges::adjacent_find(places, has_gap) != places.end()) list_.emplace(on, places);
}

void travelling_places::grow(std::size_t item_bytes) {
    if (list_) packed_.grow(bytes_of(item_bytes));
    pinned_.grow(bytes_of(item_bytes));
}

void travelling_places::bring_down(const std::byte* array, std::size_t item_bytes, stream on) {
    if (size_ == 0) return;
    const std::byte* source = array + static_cast<std::size_t>(first_) * item_bytes;
    if (list_) {
        on_->copy({packed_.get(), array, nullptr, list_->get(), size_, item_bytes}, on);
        source = packed_.get();
    }
    on_->copy_down(pinned_.get(), source, bytes_of(item_bytes), on);
}

void travelling_places::bring_up(std::byte* array, std::size_t item_bytes, stream on) {
    if (size_ == 0) return;
    std::byte* const target =
        list_ ? packed_.get() : array + static_cast<std::size_t>(first_) * item_bytes;
    on_->copy_up(target, pinned_.get(), bytes_of(item_bytes), on);
    if (list_) on_->copy({array, packed_.get(), list_->get(), nullptr, size_, item_bytes}, on);
}

void require_array(driver& on, std::span<const std::byte> array, count_t num_values,
                   std::size_t value_bytes, bool is_used, const char* what) {
    if (value_bytes == 0) throw error(errc::invalid_argument, "values have 0 bytes; give a size");
    if (array.size() / value_bytes < static_cast<std::size_t>(num_values)) {
        throw error(errc::size_mismatch, "there are " + std::to_string(array.size() / value_bytes) +
                                             " " + what + ", but " + std::to_string(num_values) +
                                             " are needed; give a longer array");
    }
    if (is_used && !on.can_use(array.data())) {
        throw error(errc::invalid_argument, std::string("the array of ") + what +
                                                " is not in memory that the device (" + on.name() +
                                                ") can use; for memory of the host there are the "
                                                "exchanges without a device");
    }
}

std::string explain_path(const driver& on, const char* path, const std::string& why) {
    return "device  " + on.description() + "\npath    " + path + ": " + why + "\n";
}

staging::staging(const communicator& comm, std::shared_ptr<driver> on, preparation prepared,
                 std::size_t item_bytes)
    : communicator_user(comm), comm_(comm), on_(std::move(on)), down_(*on_), up_(*on_) {
    if (item_bytes == 0) item_bytes = neighbor_options{}.item_bytes;
    if (prepared != preparation::lazy) ready_.emplace_back(false, item_bytes);
    if (prepared == preparation::both) ready_.emplace_back(true, item_bytes);
}

// The next start of this kind is ready.
bool staging::is_ready(bool is_reverse, std::size_t item_bytes) {
    const std::pair kind(is_reverse, item_bytes);
    const bool is_known = std::erase(ready_, kind) > 0;
    if (ready_.size() == 8) ready_.erase(ready_.begin());
    ready_.push_back(kind);
    return is_known;
}

void staging::settle() noexcept {
    // What is exchanged on the host counts its items itself.
    if (is_active()) comm_.note_lost("device exchange", "unnamed", "wait", 0);
    if (phase_ == phase::packing) leave_packing();
    try {
        on_->wait(down_);
        on_->wait(up_);
    } catch (const error&) {  // the device has failed, so nothing is under way
    }
}

void staging::leave_packing() noexcept {
    comm_.remove_work(this);
    phase_ = phase::exchanging;
}

// What fails here, `test` and `wait` say.
void staging::progress() {
    if (phase_ != phase::packing) return;
    try {
        if (!on_->is_complete(down_)) return;
    } catch (...) {
        fault_ = current_error();
    }
    leave_packing();
    try {
        fault_ ? fail_messages(*fault_) : start_messages();
    } catch (...) {
        if (!fault_) fault_ = current_error();
    }
}

std::string staging::activity() const {
    return is_active() ? "an active exchange of a device's arrays; wait for it first" : "";
}

// Makes progress. When the messages are over, so is the exchange.
template <class Part>
auto staging::look(Part&& part) {
    require_state(is_active(), "no exchange is active: start one first");
    try {
        if (phase_ == phase::packing) comm_.progress();
        if (fault_) throw error(*std::exchange(fault_, std::nullopt));
        return part();
    } catch (...) {
        if (phase_ == phase::exchanging && !are_messages_active()) phase_ = phase::idle;
        throw;
    }
}

void staging::finish(stream on) {
    phase_ = phase::idle;
    unpack(on);
    on_->record(up_, on);
}

bool staging::test(stream on) {
    if (!look([&] { return phase_ == phase::exchanging && test_messages(); })) return false;
    finish(on);
    return true;
}

void staging::wait(stream on) {
    while (look([&] { return phase_ == phase::packing; })) pause_wait();
    look([&] { wait_for_messages(); });
    finish(on);
}

}  // namespace crossdock::device

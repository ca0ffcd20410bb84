#include "device_arrays.hpp"

#include <algorithm>
#include <utility>

namespace crossdock {

namespace {

std::vector<count_t> ascending(std::vector<count_t> places) {
    std::ranges::sort(places);
    const auto repeated = std::ranges::unique(places);
    places.erase(repeated.begin(), repeated.end());
    return places;
}

}  // namespace

array_places::array_places(device::driver& on, std::vector<count_t> places)
    : on_(&on),
      first_(places.empty() ? 0 : places.front()),
      num_values_(places.empty() ? 0 : places.back() + 1),
      values_(on, places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        to_host_.append(static_cast<count_t>(i), places[i]);
        to_device_.append(places[i], static_cast<count_t>(i));
    }
}

void array_places::make_room(const void* there, std::vector<std::byte>& here,
                             std::size_t item_bytes) const {
    here.resize(static_cast<std::size_t>(num_values_) * item_bytes);
    const auto* const first =
        static_cast<const std::byte*>(there) + static_cast<std::size_t>(first_) * item_bytes;
    device::require_array(*on_, {first, item_bytes}, 1, item_bytes, num_values_ > 0, "values");
}

void array_places::bring_down(const void* there, std::vector<std::byte>& here,
                              std::size_t item_bytes) {
    if (values_.size() == 0) return;
    values_.grow(item_bytes);
    values_.bring_down(static_cast<const std::byte*>(there), item_bytes, nullptr);
    on_->wait_for(nullptr);
    copy_items(here.data(), values_.on_host(item_bytes).data(), to_host_, item_bytes);
}

void array_places::bring_up(void* there, const std::vector<std::byte>& here,
                            std::size_t item_bytes) {
    if (values_.size() == 0) return;
    values_.grow(item_bytes);
    copy_items(values_.on_host(item_bytes).data(), here.data(), to_device_, item_bytes);
    values_.bring_up(static_cast<std::byte*>(there), item_bytes, nullptr);
    on_->wait_for(nullptr);
}

device_arrays::device_arrays(std::shared_ptr<device::driver> on, std::vector<count_t> roots,
                             std::vector<count_t> leaves)
    : on_(std::move(on)),
      roots_(*on_, ascending(std::move(roots))),
      leaves_(*on_, ascending(std::move(leaves))) {}

template <class Use>
void device_arrays::for_each_on_device(operation& one, Use&& use) {
    if (one.roots.is_on_device) use(one.roots, roots_);
    if (one.leaves.is_on_device) use(one.leaves, leaves_);
    if (one.fetched.is_on_device) use(one.fetched, leaves_);
}

auto device_arrays::bring_down(operation&& one) -> operation& {
    const auto is_idle = [&](const operation& known) {
        return std::ranges::find(started_, &known) == started_.end();
    };
    const auto idle = std::ranges::find_if(known_, is_idle);
    auto& kept = idle != known_.end() ? *idle : known_.emplace_back();
    one.roots.here.swap(kept.roots.here);
    one.leaves.here.swap(kept.leaves.here);
    one.fetched.here.swap(kept.fetched.here);
    kept = std::move(one);
    for_each_on_device(kept, [&](array& values, array_places& places) {
        places.make_room(values.there, values.here, kept.item_bytes);
        if (values.is_read) places.bring_down(values.there, values.here, kept.item_bytes);
    });
    started_.reserve(known_.size());
    return kept;
}

auto device_arrays::take(kind what, const void* roots, const void* leaves) -> operation* {
    const auto found = std::ranges::find_if(started_, [&](const operation* one) {
        return one->what == what && one->roots.there == roots && one->leaves.there == leaves;
    });
    if (found == started_.end()) return nullptr;
    operation* const one = *found;
    started_.erase(found);
    return one;
}

void device_arrays::bring_up(operation& one) {
    for_each_on_device(one, [&](array& values, array_places& places) {
        if (values.is_written) places.bring_up(values.there, values.here, one.item_bytes);
    });
}

}  // namespace crossdock

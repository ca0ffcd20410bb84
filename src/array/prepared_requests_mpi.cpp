#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "crossdock/detail/array/array_engine_mpi.hpp"
#include "crossdock/sparse_exchange.hpp"

namespace crossdock {

namespace {

// What a rank tells the owners: how many entries it wants of each, and which.
struct wishes {
    std::vector<count_t> counts;
    std::vector<count_t> wanted;
};

wishes wishes_of(const neighbor_list& by_owner, std::span<const count_t> indices) {
    wishes result;
    for (std::size_t e = 0; e < by_owner.size(); ++e) {
        result.counts.push_back(static_cast<count_t>(by_owner[e].size()));
        for (const count_t request : by_owner[e])
            result.wanted.push_back(indices[static_cast<std::size_t>(request)]);
    }
    return result;
}

neighbor_list group_by_owner(const block_partition& owners, std::span<const count_t> indices) {
    std::vector<count_t> requests(indices.size());
    std::iota(requests.begin(), requests.end(), count_t{0});
    const auto owner_of = [&](count_t request) {
        return owners.owner(indices[static_cast<std::size_t>(request)]);
    };
    std::stable_sort(requests.begin(), requests.end(),
                     [&](count_t a, count_t b) { return owner_of(a) < owner_of(b); });
    neighbor_list result;
    for (auto first = requests.begin(); first != requests.end();) {
        const rank_t owner = owner_of(*first);
        const auto last = std::find_if(first, requests.end(),
                                       [&](count_t request) { return owner_of(request) != owner; });
        result.append(owner, std::span(first, last));
        first = last;
    }
    return result;
}

// By entry, where the positions of its requests begin.
std::vector<count_t> count_by_entry(const std::vector<count_t>& wanted, count_t first_entry,
                                    count_t num_entries) {
    std::vector<count_t> offsets(static_cast<std::size_t>(num_entries) + 1);
    for (const count_t index : wanted) ++offsets[static_cast<std::size_t>(index - first_entry) + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    return offsets;
}

// What came from every source in its order takes the next positions of its entries.
pattern make_pattern(const array_engine& array, neighbor_list&& by_owner,
                     const received<count_t>& came, std::vector<count_t> next_position) {
    const rank_t rank = array.comm().rank();
    pattern result;
    result.rank = rank;
    result.num_ranks = array.comm().num_ranks();
    result.num_items = by_owner.offsets.back();
    result.num_slots = static_cast<count_t>(came.values.size());
    result.sends = std::move(by_owner);
    const count_t first_entry = array.owners().first(rank);
    std::size_t k = 0;
    for (std::size_t m = 0; m < came.sources.size(); ++m) {
        std::vector<count_t> positions;
        for (count_t i = 0; i < came.counts[m]; ++i, ++k)
            positions.push_back(
                next_position[static_cast<std::size_t>(came.values[k] - first_entry)]++);
        result.receives.append(came.sources[m], positions);
    }
    return result;
}

// Notes at the end of a call, by an exception too, whether the batch is over.
class end_note {
  public:
    explicit end_note(const prepared_requests& batch)
        : batch_(batch), was_active_(batch.is_active()) {}
    ~end_note() {
        if (was_active_ && !batch_.is_active()) batch_.engine().add_active(-1);
    }
    end_note(const end_note&) = delete;
    end_note& operator=(const end_note&) = delete;

  private:
    const prepared_requests& batch_;
    bool was_active_;
};

}  // namespace

prepared_requests::prepared_requests(std::shared_ptr<array_engine> engine,
                                     std::span<const count_t> indices)
    : engine_(std::move(engine)), exchange_(engine_->prepare(indices, &indices_)) {}

array_engine& prepared_requests::engine() const {
    if (!engine_) [[unlikely]]
        throw error(errc::invalid_state, "the prepared batch was moved from");
    return *engine_;
}

std::span<std::byte> prepared_requests::entries() const {
    return {engine().entries(),
            static_cast<std::size_t>(plan().num_items()) * engine().item_bytes()};
}

bool prepared_requests::test() {
    const end_note note(*this);
    return exchange_.test();
}

void prepared_requests::wait() {
    const end_note note(*this);
    exchange_.wait();
}

prepared_requests::multi_sf& prepared_requests::to_owners() {
    engine().require_no_batch();
    if (to_owners_) return *to_owners_;
    const auto& comm = engine().comm();
    const auto& owners = engine().owners();
    auto [by_owner, told] = on_all_or_none(comm, [&] {
        auto grouped = group_by_owner(owners, indices_);
        auto told_of = wishes_of(grouped, indices_);
        return std::pair(std::move(grouped), std::move(told_of));
    });
    const auto came = sparse_exchange(
        engine().where(), variable_messages<count_t>{by_owner.ranks, told.counts, {}, told.wanted});
    auto [offsets, p, options] = on_all_or_none(comm, [&] {
        auto ends =
            count_by_entry(came.values, owners.first(comm.rank()), owners.size(comm.rank()));
        auto made = make_pattern(engine(), std::move(by_owner), came, ends);
        return std::tuple(std::move(ends), std::move(made), engine().exchange_options());
    });
    return to_owners_.emplace(
        multi_sf{std::move(offsets), neighbor_exchange(engine().where(), p, options)});
}

const std::vector<count_t>& prepared_requests::offsets() { return to_owners().offsets; }

void prepared_requests::gather(std::span<const std::byte> values, std::span<std::byte> gathered) {
    auto& requests = to_owners().requests;
    requests.start_bytes(values, gathered, engine().item_bytes());
    requests.wait();
}

void prepared_requests::scatter(std::span<const std::byte> gathered, std::span<std::byte> out) {
    auto& requests = to_owners().requests;
    const std::size_t item_bytes = engine().item_bytes();
    requests.start_reverse_bytes(
        gathered, out, item_bytes,
        [item_bytes](std::byte* to, const std::byte* from, const copy_list& list) {
            copy_items(to, from, list, item_bytes);
        });
    requests.wait();
}

void prepared_requests::fetch_and_update(std::span<const std::byte> values,
                                         std::span<std::byte> out, const value_operation& update) {
    const auto all = entries();
    const std::size_t item_bytes = engine().item_bytes();
    auto before = with_reserve([&] { return std::vector<std::byte>(item_bytes); });
    exchange_each(values, out, [&](std::size_t e, std::byte* value) {
        const auto offset = static_cast<count_t>(e);
        std::size_t failed_at = 0;
        std::memcpy(before.data(), all.data() + e * item_bytes, item_bytes);
        update.apply(all.data(), value, {&offset, 1}, failed_at);
        std::memcpy(value, before.data(), item_bytes);
    });
}

}  // namespace crossdock

#include "place.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "basics.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/topology.hpp"

namespace crossdock::drop_in {

namespace {

constexpr std::size_t most_places = 64;
constexpr int num_tags_of_seat = 2 + place::num_tags_of_blocks;
// They are as large as what ranks of a node share at first.
constexpr count_t num_ring_items = 64;
constexpr std::size_t ring_item_bytes = 4096;
// Several may make and free graphs.
std::mutex one_thread;

// How many graphs of a place have tags of their own. Open MPI has the bound with MPI_COMM_WORLD, and not with what is
// split from it.
std::int64_t most_seats() {
    static const std::int64_t number = [] {
        const int* bound = nullptr;
        int is_set = 0;
        CROSSDOCK_MPI(
            MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &is_set));
        return (std::int64_t{is_set ? *bound : 32767} + 1) / num_tags_of_seat;
    }();
    return number;
}

std::vector<rank_t> in_world(MPI_Comm comm, std::span<const rank_t> members) {
    std::vector<rank_t> found(members.size());
    MPI_Group ranks = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    CROSSDOCK_MPI(MPI_Comm_group(comm, &ranks));
    CROSSDOCK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CROSSDOCK_MPI(MPI_Group_translate_ranks(ranks, static_cast<int>(members.size()), members.data(),
                                            world, found.data()));
    CROSSDOCK_MPI(MPI_Group_free(&ranks));
    CROSSDOCK_MPI(MPI_Group_free(&world));
    return found;
}

// The regions of some of the ranks, if the environment names those of all; else nothing.
std::string named_regions(std::span<const rank_t> members, rank_t num_all) try {
    const char* const named = std::getenv("CROSSDOCK_TOPOLOGY");
    if (named == nullptr || std::ssize(members) == num_all) return "";
    const auto of_all = topology::from_string(named, num_all);
    std::vector<region_t> regions;
    for (const auto rank : members) regions.push_back(of_all.region_of(rank));
    return topology::from_regions(regions).to_string();
} catch (const error&) {
    return "";
}

// A split, since a duplicate would call the user's functions that copy attributes.
MPI_Comm split(MPI_Comm user, rank_t rank, bool is_member) {
    MPI_Comm made = MPI_COMM_NULL;
    CROSSDOCK_MPI(MPI_Comm_split(user, is_member ? 0 : MPI_UNDEFINED, rank, &made));
    if (is_member) CROSSDOCK_MPI(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    return made;
}

// All that set-ups need, by one of items to the next rank; nonblocking calls must not make any.
void make_communicators(const context& where) {
    const auto ring = with_reserve([&] {
        pattern made;
        made.rank = where.rank();
        made.num_ranks = where.num_ranks();
        made.num_items = made.num_slots = num_ring_items;
        std::vector<count_t> all(num_ring_items);
        std::iota(all.begin(), all.end(), count_t{0});
        made.sends.append((made.rank + 1) % made.num_ranks, all);
        made.receives.append((made.rank + made.num_ranks - 1) % made.num_ranks, all);
        return made;
    });
    neighbor_options options;
    options.item_bytes = ring_item_bytes;
    options.prepare = preparation::forward;
    try {
        neighbor_exchange(where, ring, options);
    } catch (const error&) {
        // As of a route that there is not, which the first call tells.
    }
}

}  // namespace

place::seat::seat(place& at, std::int64_t number) : at_(&at), number_(number) {
    const std::lock_guard alone(one_thread);
    with_reserve([&] { at.taken_numbers_.insert(number); });
}

place::seat::~seat() {
    if (at_ == nullptr) return;
    const std::lock_guard alone(one_thread);
    at_->taken_numbers_.erase(number_);
}

int place::seat::tag_of(message kind) const noexcept {
    return static_cast<int>(number_ % most_seats() * num_tags_of_seat) + static_cast<int>(kind);
}

std::vector<std::unique_ptr<place>>& place::all() {
    static auto& places = *with_reserve([] { return new std::vector<std::unique_ptr<place>>; });
    return places;
}

std::optional<place::seat> place::take_seat(MPI_Comm user, std::span<const rank_t> members,
                                            bool has_neighbors, std::int64_t key) {
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t unknown = -1;
    rank_t rank = 0, num_ranks = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(user, &rank));
    CROSSDOCK_MPI(MPI_Comm_size(user, &num_ranks));
    identity who;
    place* known = nullptr;
    std::array words{none, none, none, none, none};
    auto& [known_key, minus_known_key, number, oldest, may_make] = words;
    if (has_neighbors) {
        who = with_reserve([&] {
            return identity{in_world(user, members), named_regions(members, num_ranks)};
        });
        const std::lock_guard alone(one_thread);
        const auto found =
            std::ranges::find_if(all(), [&](const auto& one) { return one->who_ == who; });
        known_key = unknown;
        if (found != all().end()) {
            known = found->get();
            known_key = known->key_;
            minus_known_key = -known->key_;
            if (!known->taken_numbers_.empty()) oldest = *known->taken_numbers_.begin();
            if (rank == members.front()) number = known->next_number_++;
        }
        // Processes of another MPI_COMM_WORLD would be tied to this one until MPI_Finalize.
        may_make = all().size() < most_places && std::ranges::count(who.ranks, MPI_UNDEFINED) == 0;
    }
    CROSSDOCK_MPI(PMPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()),
                                 MPI_INT64_T, MPI_MIN, user));
    if (known_key != unknown && known_key == -minus_known_key) {
        if (number - std::min(number, oldest) >= most_seats()) return std::nullopt;
        return has_neighbors ? std::optional<seat>(std::in_place, *known, number) : seat();
    }
    // Nobody has neighbors, or there is to be another place.
    if (known_key == none) return seat();
    if (!may_make) return std::nullopt;
    MPI_Comm messages = split(user, rank, has_neighbors);
    if (!has_neighbors) return seat();
    std::unique_ptr<place> made;
    try {
        made.reset(with_reserve([&] { return new place(messages, who, key); }));
    } catch (...) {
        PMPI_Comm_free(&messages);
        throw;
    }
    {
        const std::lock_guard alone(one_thread);
        known = made.get();
        // Where several threads have made a place of the same ranks, the newest is found.
        with_reserve([&] { all().emplace(all().begin()); });
        all().front() = std::move(made);
    }
    return seat(*known, 0);
}

place::place(MPI_Comm messages, identity who, std::int64_t key)
    : messages_(messages),
      who_(std::move(who)),
      key_(key),
      where_(context_for(messages, who_.regions)) {
    make_communicators(where_);
    is_forced_ = with_reserve(
        [&] { return asked_untried_route(where_, automatic_route) != automatic_route; });
}

// Graphs that the program has not freed still know them.
void place::close_all() {
    // In one order on all ranks, whichever threads made them.
    std::ranges::sort(all(), {}, [](const auto& one) { return one->key_; });
    for (auto& one : all()) {
        one->where_.close();
        for (auto& comm : one->kept_) CROSSDOCK_MPI(PMPI_Comm_free(&comm));
        CROSSDOCK_MPI(PMPI_Comm_free(&one->messages_));
    }
}

void place::reduce(std::span<std::int64_t> words, int tag, combination& combine) const {
    std::array<std::int64_t, 3> theirs{};
    const auto num_words = static_cast<int>(words.size());
    const rank_t rank = where_.rank(), num_ranks = where_.num_ranks();
    for (rank_t distance = 1; distance < num_ranks; distance *= 2) {
        MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
        CROSSDOCK_MPI(PMPI_Irecv(theirs.data(), num_words, MPI_INT64_T,
                                 (rank + num_ranks - distance) % num_ranks, tag, messages_,
                                 &receive));
        CROSSDOCK_MPI(PMPI_Isend(words.data(), num_words, MPI_INT64_T,
                                 (rank + distance) % num_ranks, tag, messages_, &send));
        where_.comm().wait(receive);
        where_.comm().wait(send);
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = combine(words[i], theirs[i]);
    }
}

}  // namespace crossdock::drop_in

#include "schedule_builder.hpp"

#include <bit>
#include <numeric>
#include <utility>

namespace crossdock {

namespace {

constexpr count_t word_bytes = 8;
constexpr count_t most_short_bytes = 2048;  // of an allreduce that sends all of it in every round

// The ranks of a collective. Of the first 2 r ranks, which are too many for a power of two, the odd
// ones take part for the even ones before them.
//
//     6 ranks, r = 2:     0 -> 1, 2 -> 3     places 0 1 2 3 are ranks 1 3 4 5
class collective {
  public:
    collective(schedule_builder& into, std::span<const rank_t> ranks, int first_tag)
        : into_(into),
          ranks_(ranks),
          num_places_(static_cast<rank_t>(std::bit_floor(ranks.size()))),
          num_helped_(static_cast<rank_t>(ranks.size()) - num_places_),
          next_tag_(first_tag) {}

    rank_t num_places() const { return num_places_; }

    void fold(count_t num_words) {
        for (rank_t k = 0; k < num_helped_; ++k)
            hand(member(2 * k), member(2 * k + 1), num_words, is_added);
        ++next_tag_;
    }

    void unfold(count_t num_words) {
        for (rank_t k = 0; k < num_helped_; ++k)
            hand(member(2 * k + 1), member(2 * k), num_words, !is_added);
        ++next_tag_;
    }

    // Every place and the one whose number differs in one bit send each other as much.
    void exchange(rank_t bit, count_t num_words, bool adds) {
        for (rank_t place = 0; place < num_places_; ++place) {
            const rank_t other = place ^ bit;
            if (place > other) continue;
            const rank_t a = rank_at(place);
            const rank_t b = rank_at(other);
            const auto there = send(a, b, num_words, adds);
            const auto back = send(b, a, num_words, adds);
            into_.set_ready(a, {back.received});
            into_.set_ready(b, {there.received});
        }
        ++next_tag_;
    }

    static constexpr bool is_added = true;

  private:
    rank_t member(rank_t k) const { return ranks_[static_cast<std::size_t>(k)]; }

    rank_t rank_at(rank_t place) const {
        return member(place < num_helped_ ? 2 * place + 1 : place + num_helped_);
    }

    schedule_builder::ends send(rank_t source, rank_t destination, count_t num_words, bool adds) {
        const count_t bytes = num_words * word_bytes;
        return into_.send(source, destination, bytes, next_tag_, into_.ready(source),
                          into_.ready(destination), {0, 0, adds ? bytes : 0});
    }

    void hand(rank_t source, rank_t destination, count_t num_words, bool adds) {
        const auto ends = send(source, destination, num_words, adds);
        into_.set_ready(source, {ends.sent});
        into_.set_ready(destination, {ends.received});
    }

    schedule_builder& into_;
    std::span<const rank_t> ranks_;
    rank_t num_places_;
    rank_t num_helped_;
    int next_tag_;
};

// Of a vector that is halved as often as `parts` says; the last parts may be shorter.
count_t part_of(count_t num_words, rank_t parts) { return (num_words + parts - 1) / parts; }

// Each place ends with the sum of its own part.
void halve(collective& all, count_t num_words) {
    rank_t parts = 2;
    for (rank_t bit = all.num_places() / 2; bit > 0; bit /= 2, parts *= 2)
        all.exchange(bit, part_of(num_words, parts), collective::is_added);
}

std::vector<rank_t> all_ranks(const schedule_builder& of) {
    std::vector<rank_t> ranks(static_cast<std::size_t>(of.num_ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

}  // namespace

std::uint32_t schedule_builder::add_send(rank_t source, rank_t destination, count_t bytes, int tag,
                                         std::span<const std::uint32_t> required,
                                         const message_copies& copied) {
    operation what;
    what.kind = operation_kind::send;
    what.peer = destination;
    what.tag = tag;
    what.message_bytes = bytes;
    what.copied_bytes = copied.bytes_before;
    what.copied_items = copied.items_before;
    return at(source).own.add(what, required);
}

std::uint32_t schedule_builder::add_receive(rank_t source, rank_t destination, count_t bytes,
                                            int tag, std::span<const std::uint32_t> required,
                                            const message_copies& copied, matching_kind matching) {
    operation what;
    what.kind = operation_kind::receive;
    what.matching = matching;
    what.peer = source;
    what.tag = tag;
    what.message_bytes = bytes;
    what.copied_bytes = copied.bytes_after;
    what.copied_items = copied.bytes_after > 0 ? 1 : 0;
    return at(destination).own.add(what, required);
}

void schedule_builder::copy(rank_t rank, count_t bytes) {
    operation what;
    what.copied_bytes = bytes;
    what.copied_items = 1;
    auto& here = at(rank);
    here.ready = {here.own.add(what, here.ready)};
}

void schedule_builder::set_ready(rank_t rank, numbers&& last) {
    auto& here = at(rank);
    if (last.empty()) return;
    // One operation that copies nothing stands for several, so that others need not require each.
    if (last.size() > 1) last = {here.own.add(operation{}, last)};
    here.ready = std::move(last);
}

schedule schedule_builder::take() && {
    schedule result;
    for (auto& from : programs_) {
        result.begin_rank();
        const auto operations = from.own.operations();
        for (std::size_t k = 0; k < operations.size(); ++k)
            result.add(operations[k], from.own.required_by(0, k));
        from = program();
    }
    return result;
}

void add_allreduce(schedule_builder& into, count_t num_words, int first_tag) {
    add_allreduce(into, all_ranks(into), num_words, first_tag);
}

void add_allreduce(schedule_builder& into, std::span<const rank_t> ranks, count_t num_words,
                   int first_tag) {
    collective all(into, ranks, first_tag);
    all.fold(num_words);
    if (num_words * word_bytes <= most_short_bytes) {
        for (rank_t bit = 1; bit < all.num_places(); bit *= 2)
            all.exchange(bit, num_words, collective::is_added);
    } else {
        halve(all, num_words);
        rank_t parts = all.num_places();
        for (rank_t bit = 1; bit < all.num_places(); bit *= 2, parts /= 2)
            all.exchange(bit, part_of(num_words, parts), !collective::is_added);
    }
    all.unfold(num_words);
}

void add_reduce_scatter(schedule_builder& into, count_t num_words, int first_tag) {
    const auto ranks = all_ranks(into);
    collective all(into, ranks, first_tag);
    all.fold(num_words);
    halve(all, num_words);
    all.unfold(part_of(num_words, into.num_ranks()));
}

}  // namespace crossdock

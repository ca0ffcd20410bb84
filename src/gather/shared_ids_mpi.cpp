#include "shared_ids_mpi.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "../base/throw_error.hpp"
#include "../exchange/setup_rounds_mpi.hpp"
#include "../plan/sort_by_digits.hpp"

namespace crossdock {

namespace {

// Consecutive ids are spread, whatever their steps (the finalizer of splitmix64).
rank_t home_of(count_t id, rank_t num_ranks) {
    auto bits = static_cast<std::uint64_t>(id);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<rank_t>((bits ^ (bits >> 31)) % static_cast<std::uint64_t>(num_ranks));
}

// The groups by home, in their order.
std::vector<std::pair<rank_t, std::size_t>> groups_by_home(const id_groups& groups,
                                                           rank_t num_ranks) {
    std::vector<std::pair<rank_t, std::size_t>> all;
    all.reserve(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i)
        all.emplace_back(home_of(groups[i].id, num_ranks), i);
    sort_by_digits(all, [](const auto& one) { return count_t{one.first}; });
    return all;
}

// An entry of the directory: a rank has an id.
struct entry {
    count_t id;
    id_holder holder;
    count_t question;     // which one of the rank's
    std::size_t message;  // that it came with
};

// The answer to each holder of a shared id: its question, the owner, and the holders, ranks
// complemented where they are flagged.
void answer(std::span<const entry> holders, std::vector<word_message>& answers) {
    const auto owner = std::find_if(holders.begin(), holders.end(),
                                    [](const entry& e) { return !e.holder.is_flagged; });
    if (holders.size() < 2 || owner == holders.end()) return;
    for (const entry& one : holders) {
        auto& words = answers[one.message].words;
        const bool is_listed = &one == &*owner || holders.size() <= shared_ids::most_listed;
        words.insert(words.end(), {one.question, owner->holder.rank,
                                   is_listed ? static_cast<std::int64_t>(holders.size()) : 0});
        if (!is_listed) continue;
        for (const auto& other : holders)
            words.push_back(other.holder.is_flagged ? ~std::int64_t{other.holder.rank}
                                                    : other.holder.rank);
    }
}

std::vector<word_message> answers_to(const std::vector<word_message>& inbox) {
    std::vector<entry> directory;
    std::vector<word_message> answers;
    for (const auto& [peer, words] : inbox) {
        count_t question = 0;
        for (const auto id : words)
            directory.push_back({std::abs(id), {peer, id < 0}, question++, answers.size()});
        answers.push_back({peer, {}});
    }
    // Those of one id stay in the order of ranks.
    sort_by_digits(directory, [](const entry& e) { return e.id; });
    for (std::span<const entry> rest(directory); !rest.empty();) {
        const auto end = std::ranges::find_if(
            rest, [id = rest.front().id](const entry& e) { return e.id != id; });
        const auto num = static_cast<std::size_t>(end - rest.begin());
        answer(rest.first(num), answers);
        rest = rest.subspan(num);
    }
    std::erase_if(answers, [](const word_message& one) { return one.words.empty(); });
    return answers;
}

// The shared ids among the answers of the homes.
void read_answers(const std::vector<std::pair<rank_t, std::size_t>>& asked,
                  const std::vector<word_message>& inbox, shared_ids& result) {
    auto& ids = result.ids;
    auto& holders = result.holders;
    for (const auto& [home, words] : inbox) {
        const auto first =
            std::lower_bound(asked.begin(), asked.end(), std::pair(home, std::size_t{0}));
        for (std::size_t i = 0; i < words.size();) {
            const auto num_listed = static_cast<std::size_t>(words[i + 2]);
            ids.push_back({first[words[i]].second, static_cast<rank_t>(words[i + 1]),
                           holders.size(), num_listed});
            i += 3;
            for (const std::size_t end = i + num_listed; i < end; ++i)
                holders.push_back(
                    {static_cast<rank_t>(words[i] < 0 ? ~words[i] : words[i]), words[i] < 0});
        }
    }
    sort_by_digits(ids, [](const shared_id& id) { return static_cast<count_t>(id.group); });
}

// One copy of each id stays unflagged: the first of its owner.
void flag_others(rank_t rank, id_groups& groups, shared_ids& shared) {
    for (std::size_t i = 0; i < groups.size(); ++i) groups.keep_unflagged(i, 1);
    for (const auto& id : shared.ids) {
        if (id.owner != rank) groups.keep_unflagged(id.group, 0);
        for (std::size_t k = 0; k < id.num_holders; ++k) {
            auto& holder = shared.holders[id.first_holder + k];
            holder.is_flagged = holder.rank != id.owner;
        }
    }
}

}  // namespace

id_groups::id_groups(rank_t rank, std::span<const count_t> ids) {
    struct copy {
        count_t id;
        bool is_flagged;
        count_t place;
    };
    std::vector<copy> copies;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == std::numeric_limits<count_t>::min()) {
            throw_error_of(rank, errc::index_out_of_range,
                           "id {} of rank {} is {}, which has no negation", i, rank, ids[i]);
        }
        if (ids[i] != 0) copies.push_back({std::abs(ids[i]), ids[i] < 0, static_cast<count_t>(i)});
    }
    std::ranges::stable_partition(copies, [](const copy& c) { return !c.is_flagged; });
    sort_by_digits(copies, [](const copy& c) { return c.id; });
    for (const copy& c : copies) {
        if (groups_.empty() || groups_.back().id != c.id)
            groups_.push_back({c.id, 0, places_.size()});
        if (!c.is_flagged) ++groups_.back().num_unflagged;
        places_.push_back(c.place);
    }
}

void id_groups::keep_unflagged(std::size_t i, count_t num) {
    groups_[i].num_unflagged = std::min(groups_[i].num_unflagged, num);
}

bool id_groups::has_flags() const noexcept {
    count_t num_unflagged = 0;
    for (const auto& g : groups_) num_unflagged += g.num_unflagged;
    return num_unflagged < static_cast<count_t>(places_.size());
}

shared_ids find_shared_ids(const context& where, std::optional<id_groups>& groups, bool unique,
                           const std::optional<error>& fault, const equal_arguments& same) {
    const auto& comm = where.comm();
    std::vector<std::pair<rank_t, std::size_t>> asked;
    std::vector<word_message> questions;
    setup_rounds rounds(comm, where.topology(), fault);
    rounds.attempt([&] {
        asked = groups_by_home(*groups, comm.num_ranks());
        for (const auto& [home, i] : asked) {
            const auto group = (*groups)[i];
            if (questions.empty() || questions.back().peer != home) questions.push_back({home, {}});
            questions.back().words.push_back(group.num_unflagged > 0 ? group.id : -group.id);
        }
    });
    const auto received = rounds.open(questions, same);
    std::vector<word_message> to_send;
    rounds.attempt([&] { to_send = answers_to(received); });
    const auto answers = rounds.hear_anybody(to_send);

    shared_ids result;
    std::array<std::int64_t, 5> most{};
    rounds.attempt([&] {
        read_answers(asked, answers, result);
        if (unique) flag_others(comm.rank(), *groups, result);
        most[3] = groups->has_flags() ? 1 : 0;
        for (const auto& id : result.ids) {
            if (id.owner != comm.rank()) continue;
            most[0] = std::max(most[0], static_cast<std::int64_t>(id.num_holders));
            for (const auto& holder : result.holders_of(id))
                if (holder.rank != id.owner) most[holder.is_flagged ? 1 : 2] = 1;
        }
    });
    most[4] = rounds.fault() ? 1 : 0;
    rounds.run(
        [&](MPI_Request* reduction) {
            return MPI_Iallreduce(MPI_IN_PLACE, most.data(), static_cast<int>(most.size()),
                                  MPI_INT64_T, MPI_MAX, comm.get(), reduction);
        },
        [&] { return most[4] != 0; });
    result.most_holders = most[0];
    result.has_flagged = most[3] != 0;
    result.has_flagged_holders = most[1] != 0;
    result.has_givers = most[2] != 0;
    return result;
}

}  // namespace crossdock

#include "choose_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "../base/collective_mpi.hpp"
#include "../exchange/setup_rounds_mpi.hpp"
#include "../topology/nodes_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "route_estimate.hpp"

namespace crossdock {

namespace {

void reduce_words(void* from, void* to, int* length, MPI_Datatype*) {
    const auto* const others = static_cast<const reduced_word*>(from);
    auto* const words = static_cast<reduced_word*>(to);
    for (int w = 0; w < *length; ++w) {
        words[w].max = std::max(words[w].max, others[w].max);
        words[w].sum += others[w].sum;
    }
}

// What is made once for all choices of a communicator.
class choice_state final : public communicator_resource {
  public:
    explicit choice_state(const communicator&) {
        static_assert(sizeof(reduced_word) == 2 * sizeof(std::int64_t));
        insist([this] { return MPI_Type_contiguous(2, MPI_INT64_T, &word_); });
        insist([this] { return MPI_Type_commit(&word_); });
        insist([this] { return MPI_Op_create(&reduce_words, 1, &operation_); });
    }

    void close() override {
        insist_quietly([this] { return MPI_Op_free(&operation_); });
        insist_quietly([this] { return MPI_Type_free(&word_); });
    }

    int begin_reduction(const communicator& comm, std::span<reduced_word> words,
                        MPI_Request* reduction) const {
        return MPI_Iallreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), word_,
                              operation_, comm.get(), reduction);
    }

    // The machine's text, which takes longer to write than a machine to compare.
    std::int64_t hash_of(const machine& m) {
        if (!hashed_ || *hashed_ != m) {
            validate(m);
            hash_ = agreement_hash(to_json(m));
            hashed_ = m;
        }
        return hash_;
    }

  private:
    MPI_Datatype word_ = MPI_DATATYPE_NULL;
    MPI_Op operation_ = MPI_OP_NULL;
    std::optional<machine> hashed_;
    std::int64_t hash_ = 0;
};

// What a rank that comes to have no prices takes part in the reduction with.
std::vector<estimated_route> unknown_prices(const std::vector<std::unique_ptr<route>>& candidates) {
    std::vector<estimated_route> prices;
    for (const auto& one : candidates) {
        const std::vector<stage_price> stages(static_cast<std::size_t>(one->num_stages()));
        prices.push_back({stages, stages});
    }
    return prices;
}

}  // namespace

route_choice choose_route(const communicator& comm, const rank_layout& layout,
                          const checked_pattern& p, const machine& m,
                          const estimate_options& options, const equal_arguments& also_equal,
                          plan_lookup* kept) {
    choice_state* state = nullptr;
    std::vector<std::string> names;
    std::vector<std::unique_ptr<route>> candidates;
    std::optional<route_estimator> part;
    std::optional<route_vote> vote;
    std::vector<word_message> to_send;
    setup_rounds rounds(comm, layout.regions());
    const auto list_own = [&](named_values& values) {
        values.add("item_bytes", options.travel.item_bytes)
            .add("shares_memory", options.travel.shares_memory)
            .add("deduplicate", options.deduplicate)
            .add("passes_over_slots", options.passes_over_slots);
        add_topology(values, "topology", layout.regions());
        add_topology(values, "nodes", layout.nodes());
        values.add("machine", fmt::format("{} ({:x})", m.name, state->hash_of(m)));
    };
    equal_arguments own, same;
    const auto list = [&](named_values& values) { values.add(also_equal).add(own); };
    std::uint32_t slots = 0;
    rounds.attempt([&] {
        state = &comm.resource<choice_state>();
        own = equal_arguments("a choice of routes", list_own);
        same = equal_arguments(also_equal.object(), list);
        check_sizes(comm, layout.regions(), p);
        names = candidate_routes(layout.regions(), m);
        for (const auto& name : names) candidates.push_back(make_route(name, layout.regions()));
        part.emplace(layout, p, candidates, m, options);
        to_send = part->send();
        vote.emplace(names, unknown_prices(candidates), m);
        if (kept != nullptr) slots = kept->ask(p.hash(), own.hash());
    });
    // Throws where any rank has a fault; only then is `part` empty.
    const auto inbox = rounds.open(to_send, same, &slots);
    if (kept != nullptr && kept->take(slots))
        return with_reserve([&] { return *kept->found.choice; });
    rounds.attempt([&] {
        part->receive(inbox);
        *vote = route_vote(names, part->prices(), m);
    });
    if (rounds.fault()) vote->spoil();
    rounds.run([&](MPI_Request* one) { return state->begin_reduction(comm, vote->words(), one); },
               [&] { return vote->is_spoiled(); });
    return with_reserve([&] { return vote->decide(m); });
}

}  // namespace crossdock

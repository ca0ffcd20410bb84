#include "tools/inputs/array/lockstep.hpp"

#include <algorithm>

#include "crossdock/operation.hpp"

namespace crossdock::bench::array {

namespace {

class lockstep {
  public:
    explicit lockstep(const std::vector<rank_work>& work)
        : work_(work),
          entries_(static_cast<std::size_t>(work.front().owners.num_entries())),
          replies_(work.size()) {
        for (const auto& one : work) programs_.push_back(make_program(one));
    }

    lockstep_run run() {
        for (std::size_t rank = 0; rank < work_.size(); ++rank) programs_[rank]->fill(part(rank));
        lockstep_run result;
        for (auto all = next(); !is_over(all); all = next()) {
            result.batches.push_back({all.front()->kind, {}});
            for (std::size_t rank = 0; rank < all.size(); ++rank) {
                execute(*all[rank], replies_[rank]);
                result.batches.back().indices.push_back(std::move(all[rank]->indices));
            }
        }
        result.is_verified = is_right();
        return result;
    }

  private:
    using all_batches = std::vector<std::optional<request_batch>>;

    std::span<value_t> part(std::size_t rank) {
        const auto& owners = work_[rank].owners;
        const auto here = static_cast<rank_t>(rank);
        return std::span(entries_).subspan(static_cast<std::size_t>(owners.first(here)),
                                           static_cast<std::size_t>(owners.size(here)));
    }

    all_batches next() {
        all_batches all;
        for (std::size_t rank = 0; rank < work_.size(); ++rank)
            all.push_back(programs_[rank]->next(part(rank), replies_[rank]));
        return all;
    }

    static bool is_over(const all_batches& all) {
        if (!all.front()) return true;
        return all.front()->may_end && std::all_of(all.begin(), all.end(), [](const auto& batch) {
                   return batch->indices.empty();
               });
    }

    void execute(const request_batch& batch, std::vector<value_t>& replies) {
        replies.clear();
        for (std::size_t k = 0; k < batch.indices.size(); ++k) {
            value_t& entry = entries_[static_cast<std::size_t>(batch.indices[k])];
            switch (batch.kind) {
                case request_traits::read: replies.push_back(entry); break;
                case request_traits::sum: entry = sum()(entry, batch.values[k]); break;
                case request_traits::minimum: entry = minimum()(entry, batch.values[k]); break;
            }
        }
    }

    bool is_right() {
        for (std::size_t rank = 0; rank < work_.size(); ++rank) {
            if (programs_[rank]->outcome(part(rank)) != work_[rank].expected) return false;
        }
        return true;
    }

    const std::vector<rank_work>& work_;
    std::vector<std::unique_ptr<rank_program>> programs_;
    std::vector<value_t> entries_;
    std::vector<std::vector<value_t>> replies_;
};

}  // namespace

lockstep_run run_in_lockstep(const std::vector<rank_work>& work) { return lockstep(work).run(); }

}  // namespace crossdock::bench::array

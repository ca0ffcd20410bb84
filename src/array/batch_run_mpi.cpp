#include "batch_run_mpi.hpp"

#include <array>
#include <chrono>
#include <string>

#include "../exchange/agreement.hpp"
#include "array_index.hpp"
#include "batch_transport_mpi.hpp"
#include "combining_router.hpp"

namespace crossdock {

namespace {

constexpr std::size_t num_kinds = 3;  // writes, updates, reads

// What every message of requests begins with.
struct alignas(std::max_align_t) message_head {
    agreement agreed;
    count_t most_requests = 0;  // of the ranks that the agreement is of
    std::array<count_t, num_kinds> num_requests{};
};

// Charges the time that has passed to one phase after the other.
class phase_clock {
  public:
    void charge(double& phase) {
        const auto now = clock::now();
        phase += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }

  private:
    using clock = std::chrono::steady_clock;
    clock::time_point last_ = clock::now();
};

// Entries as they were, for the case that an operation throws.
class saved_entries {
  public:
    saved_entries(std::byte* entries, std::vector<count_t> offsets, std::size_t item_bytes)
        : entries_(entries),
          offsets_(std::move(offsets)),
          item_bytes_(item_bytes),
          values_(offsets_.size() * item_bytes) {
        for_each([](std::byte* entry, std::byte* saved, std::size_t bytes) {
            std::memcpy(saved, entry, bytes);
        });
    }

    void restore() {
        for_each([](std::byte* entry, std::byte* saved, std::size_t bytes) {
            std::memcpy(entry, saved, bytes);
        });
    }

  private:
    template <class Copy>
    void for_each(Copy&& copy) {
        for (std::size_t k = 0; k < offsets_.size(); ++k) {
            copy(entries_ + static_cast<std::size_t>(offsets_[k]) * item_bytes_,
                 values_.data() + k * item_bytes_, item_bytes_);
        }
    }

    std::byte* entries_;
    std::vector<count_t> offsets_;
    std::size_t item_bytes_;
    raw_buffer values_;
};

template <class Index>
class batch_run {
  public:
    batch_run(const batch_setup& setup, const array_batch& batch, batch_transport& transport)
        : setup_(setup), batch_(batch), transport_(transport), fault_(batch.fault) {}

    void carry_requests() {
        start();
        for (std::size_t stage = 0; stage < setup_.routing.num_stages(); ++stage) pass(stage);
        settle();
    }

    void change() {
        if (late_fault_) throw error(*late_fault_);
        for (const auto* router : changing_routers()) router->apply(setup_.entries);
        clock_.charge(statistics_.seconds.write);
    }

    // As `change`, but on all ranks or on none.
    void change_or_restore() {
        std::optional<saved_entries> saved;
        try {
            on_all_or_none(setup_.comm, [&] {
                saved.emplace(setup_.entries, changing_offsets(), setup_.item_bytes);
                change();
            });
        } catch (...) {
            if (saved) saved->restore();
            throw;
        }
    }

    void carry_replies() {
        auto& reads = *routers_.back();
        reads.read(setup_.entries);
        for (std::size_t stage = setup_.routing.num_stages(); stage-- > 0;) reply(stage);
        reads.deliver(batch_.out);
        clock_.charge(statistics_.seconds.split);
    }

    bool may_throw() const {
        const auto may = [](const array_changes& changes) {
            return changes.operation != nullptr && changes.operation->may_throw();
        };
        return may(batch_.writes) || may(batch_.updates);
    }

    batch_result result() {
        for (const auto& router : routers_) {
            if (router) router->count(statistics_);
        }
        for (std::size_t stage = 0; stage < setup_.routing.num_stages(); ++stage) {
            for (std::size_t d = 0; d < setup_.routing.stages[stage].destinations.size(); ++d)
                count_message(setup_.routing, stage, d, num_requests(stage, d), statistics_);
        }
        return {std::move(statistics_), most_requests_};
    }

    plan make_plan() const {
        return on_all_or_none(setup_.comm, [&] {
            if (late_fault_) throw error(*late_fault_);
            return routers_.back()->make_plan();
        });
    }

  private:
    using optional_router = std::optional<combining_router<Index>>;

    std::vector<const combining_router<Index>*> changing_routers() const {
        std::vector<const combining_router<Index>*> result;
        for (std::size_t kind = 0; kind + 1 < num_kinds; ++kind) {
            if (routers_[kind]) result.push_back(&*routers_[kind]);
        }
        return result;
    }

    std::vector<count_t> changing_offsets() const {
        std::vector<count_t> result;
        for (const auto* router : changing_routers()) {
            const auto more = router->offsets();
            result.insert(result.end(), more.begin(), more.end());
        }
        return result;
    }

    // Of all kinds.
    count_t num_requests(std::size_t stage, std::size_t d) const {
        count_t result = 0;
        for (const auto& router : routers_) result += router ? router->num_requests(stage, d) : 0;
        return result;
    }

    // A fault leaves a rank without requests, but it goes on, so that all hear of it.
    void start() {
        try {
            start_routers(fault_.has_value());
        } catch (...) {
            fault_ = current_error();
            start_routers(true);
        }
        agreed_ = agreement({fault_.has_value(), {vote_of(batch_), 0}});
        for (const auto& router : routers_) most_requests_ += router ? router->num_held() : 0;
        clock_.charge(statistics_.seconds.combine_locally);
    }

    void start_routers(bool without_requests) {
        const auto start_one = [&](std::size_t kind, std::span<const count_t> indices,
                                   const std::byte* values, const request_kind& what) {
            routers_[kind].emplace(setup_.routing, what, setup_.memory);
            routers_[kind]->start(
                to_indices<Index>(without_requests ? std::span<const count_t>() : indices,
                                  setup_.routing.owners.num_entries(), setup_.routing.here,
                                  setup_.memory),
                values);
        };
        const std::array changes{&batch_.writes, &batch_.updates};
        for (std::size_t kind = 0; kind < changes.size(); ++kind) {
            const auto& [indices, values, operation, predefined] = *changes[kind];
            if (operation) start_one(kind, indices, values, {setup_.combine, operation, 0});
        }
        if (batch_.has_reads)
            start_one(num_kinds - 1, batch_.reads, nullptr,
                      {setup_.combine, nullptr, setup_.item_bytes});
    }

    // An operation that threw on the way leaves nothing to be sent.
    bool is_silent() const { return late_fault_.has_value() || !agreed_.is_good(); }

    void pass(std::size_t stage) {
        send_requests(stage);
        const auto came = transport_.exchange_requests(stage);
        std::vector<message_head> heads(came.size());
        for (std::size_t i = 0; i < came.size(); ++i) {
            std::memcpy(&heads[i], came[i], sizeof(message_head));
            agreed_.merge(heads[i].agreed);
            most_requests_ = std::max(most_requests_, heads[i].most_requests);
        }
        clock_.charge(statistics_.seconds.communicate);
        take(stage, came, heads);
        const bool is_on_the_way = stage + 1 < setup_.routing.num_stages();
        clock_.charge(is_on_the_way ? statistics_.seconds.combine_on_the_way
                                    : statistics_.seconds.write);
    }

    void send_requests(std::size_t stage) {
        const auto& destinations = setup_.routing.stages[stage].destinations;
        std::vector<message_head> heads(destinations.size());
        std::vector<count_t> bytes(destinations.size(), sizeof(message_head));
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            heads[d].agreed = agreed_;
            heads[d].most_requests = most_requests_;
            for (std::size_t kind = 0; kind < num_kinds && !is_silent(); ++kind) {
                if (!routers_[kind]) continue;
                const count_t count = routers_[kind]->num_requests(stage, d);
                heads[d].num_requests[kind] = count;
                bytes[d] += routers_[kind]->packed_bytes(count);
            }
        }
        const auto rooms = transport_.make_room(bytes);
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            std::byte* to = rooms[d];
            std::memcpy(to, &heads[d], sizeof(message_head));
            to += sizeof(message_head);
            for (std::size_t kind = 0; kind < num_kinds; ++kind) {
                const count_t count = heads[d].num_requests[kind];
                if (count == 0) continue;
                routers_[kind]->pack(stage, d, to);
                to += routers_[kind]->packed_bytes(count);
            }
        }
    }

    void take(std::size_t stage, std::span<const std::byte* const> came,
              std::span<const message_head> heads) {
        std::array<std::vector<packed_requests>, num_kinds> packed;
        for (std::size_t i = 0; i < came.size(); ++i) {
            const std::byte* from = came[i] + sizeof(message_head);
            for (std::size_t kind = 0; kind < num_kinds; ++kind) {
                // Ranks that ask for different things do not understand each other's requests.
                const count_t count = agreed_.is_good() ? heads[i].num_requests[kind] : 0;
                packed[kind].push_back({count, from});
                if (count > 0) from += routers_[kind]->packed_bytes(count);
            }
        }
        try {
            for (std::size_t kind = 0; kind < num_kinds; ++kind) {
                if (routers_[kind] && !late_fault_) routers_[kind]->take(stage, packed[kind]);
            }
        } catch (...) {
            late_fault_ = current_error();
        }
    }

    // By now the agreement is of all ranks.
    void settle() {
        if (agreed_.is_good()) return;
        agree(setup_.comm, fault_);
        throw error(errc::invalid_argument, std::string(what_differs) + " differ between ranks");
    }

    void reply(std::size_t stage) {
        auto& reads = *routers_.back();
        const auto& [destinations, sources] = setup_.routing.stages[stage];
        std::vector<count_t> bytes;
        for (std::size_t i = 0; i < sources.size(); ++i)
            bytes.push_back(reads.reply_bytes(reads.num_arrived(stage, i)));
        const auto rooms = transport_.make_room(bytes);
        clock_.charge(statistics_.seconds.communicate);
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (bytes[i] > 0) reads.pack_replies(stage, i, rooms[i]);
        }
        const bool is_owner = stage + 1 == setup_.routing.num_stages();
        double& packing = is_owner ? statistics_.seconds.read : statistics_.seconds.split;
        clock_.charge(packing);

        std::vector<count_t> expected;
        for (std::size_t d = 0; d < destinations.size(); ++d)
            expected.push_back(reads.reply_bytes(reads.num_requests(stage, d)));
        transport_.start_replies(stage, expected);
        clock_.charge(statistics_.seconds.communicate);
        reads.split(stage);
        clock_.charge(packing);
        const auto came = transport_.finish_replies();
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            if (expected[d] > 0) reads.take_replies(stage, d, came[d]);
        }
        clock_.charge(statistics_.seconds.communicate);
    }

    const batch_setup& setup_;
    const array_batch& batch_;
    batch_transport& transport_;
    std::optional<error> fault_;       // known before anything was sent; the agreement tells all
    std::optional<error> late_fault_;  // of combining on the way; only this rank knows
    agreement agreed_;
    count_t most_requests_ = 0;
    std::array<optional_router, num_kinds> routers_;
    batch_statistics statistics_;
    phase_clock clock_;
};

// What is under way must be received before its memory goes.
template <class Work>
auto finish_in_any_case(batch_transport& transport, Work&& work) {
    try {
        auto result = work();
        transport.finish();
        return result;
    } catch (const mpi_error&) {
        throw;
    } catch (...) {
        transport.finish();
        throw;
    }
}

template <class Index>
batch_result run_batch_as(const batch_setup& setup, const array_batch& batch,
                          batch_transport& transport) {
    batch_run<Index> run(setup, batch, transport);
    return finish_in_any_case(transport, [&] {
        run.carry_requests();
        if (run.may_throw()) {
            run.change_or_restore();
        } else {
            run.change();
        }
        if (batch.has_reads) run.carry_replies();
        return run.result();
    });
}

}  // namespace

std::int64_t vote_of(const array_batch& batch) {
    std::string text = batch.has_reads ? "reads" : "";
    for (const auto* changes : {&batch.writes, &batch.updates})
        text += std::string(" ") + (changes->operation ? changes->operation->name() : "");
    return agreement_hash(text);
}

batch_result run_batch(const batch_setup& setup, const array_batch& batch,
                       batch_transport& transport) {
    return with_index_type(setup.routing.owners.num_entries(), [&](auto index) {
        return run_batch_as<decltype(index)>(setup, batch, transport);
    });
}

plan plan_requests(const batch_setup& setup, std::span<const count_t> indices,
                   batch_transport& transport) {
    array_batch batch;
    batch.reads = indices;
    batch.has_reads = true;
    return with_index_type(setup.routing.owners.num_entries(), [&](auto index) {
        batch_run<decltype(index)> run(setup, batch, transport);
        return finish_in_any_case(transport, [&] {
            run.carry_requests();
            return run.make_plan();
        });
    });
}

}  // namespace crossdock

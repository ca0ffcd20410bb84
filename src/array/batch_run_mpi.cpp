#include "batch_run_mpi.hpp"

#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "../exchange/agreement.hpp"
#include "array_index.hpp"
#include "batch_router.hpp"
#include "batch_transport_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/raw_buffer.hpp"

namespace crossdock {

namespace {

// What every message of requests begins with.
struct alignas(std::max_align_t) message_head {
    agreement agreed;
    count_t most_requests = 0;  // of the ranks that the agreement is of
    request_counts num_requests{};
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

// Copies of some entries. Invariant: one for each offset, as it was when the object was
// made.
class saved_entries {
  public:
    // offsets: of entries; may name one repeatedly
    saved_entries(std::byte* entries, std::vector<count_t> offsets, std::size_t item_bytes)
        : entries_(entries),
          offsets_(std::move(offsets)),
          item_bytes_(item_bytes),
          copies_(offsets_.size() * item_bytes) {
        for (std::size_t k = 0; k < offsets_.size(); ++k)
            std::memcpy(copy(k), entry(k), item_bytes_);
    }

    void restore() const {
        for (std::size_t k = 0; k < offsets_.size(); ++k)
            std::memcpy(entry(k), copy(k), item_bytes_);
    }

  private:
    std::byte* entry(std::size_t k) const {
        return entries_ + static_cast<std::size_t>(offsets_[k]) * item_bytes_;
    }
    std::byte* copy(std::size_t k) const { return copies_.data() + k * item_bytes_; }

    std::byte* entries_;
    std::vector<count_t> offsets_;
    std::size_t item_bytes_;
    raw_buffer copies_;
};

template <class Index>
class batch_run {
  public:
    batch_run(const batch_setup& setup, const array_batch& batch, batch_transport& transport)
        : setup_(setup),
          batch_(batch),
          transport_(transport),
          fault_(batch.fault),
          requests_(setup.routing, setup.memory) {}

    void carry_requests() {
        start();
        for (std::size_t stage = 0; stage < num_stages(); ++stage) pass(stage);
        settle();
    }

    void change() {
        if (late_fault_) throw error(*late_fault_);
        requests_.apply(setup_.entries);
        clock_.charge(statistics_.seconds.write);
    }

    // As `change`, but on all ranks or on none.
    void change_or_restore() {
        std::optional<saved_entries> saved;
        try {
            on_all_or_none(setup_.comm, [&] {
                saved.emplace(setup_.entries, requests_.changing_offsets(), setup_.item_bytes);
                change();
            });
        } catch (...) {
            if (saved) saved->restore();
            throw;
        }
    }

    void carry_replies() {
        auto& reads = requests_.reads();
        reads.read(setup_.entries);
        for (std::size_t stage = num_stages(); stage-- > 0;) reply(stage);
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
        return with_reserve([&] {
            auto all = statistics_;
            requests_.count(all);
            return batch_result{std::move(all), most_requests_};
        });
    }

    plan make_plan() {
        return on_all_or_none(setup_.comm, [&] {
            if (late_fault_) throw error(*late_fault_);
            return requests_.reads().make_plan();
        });
    }

  private:
    std::size_t num_stages() const { return setup_.routing.num_stages(); }

    // A fault leaves a rank without requests, but it goes on, so that all hear of it.
    void start() {
        try {
            start_requests(fault_.has_value());
        } catch (...) {
            fault_ = current_error();
            with_reserve([&] { start_requests(true); });
        }
        const auto vote = with_reserve([&] { return vote_of(batch_); });
        agreed_ = agreement({fault_.has_value(), {vote, 0}});
        most_requests_ = requests_.num_held();
        clock_.charge(statistics_.seconds.combine_locally);
    }

    void start_requests(bool without_any) {
        const auto start_one = [&](request_type type, std::span<const count_t> indices,
                                   const std::byte* values, const request_traits& kind) {
            requests_.start(type, kind, without_any ? std::span<const count_t>() : indices, values);
        };
        const auto start_changes = [&](request_type type, const array_changes& changes) {
            const auto& [indices, values, operation, predefined] = changes;
            if (operation) start_one(type, indices, values, {setup_.combine, operation, 0});
        };
        start_changes(request_type::write, batch_.writes);
        start_changes(request_type::update, batch_.updates);
        if (batch_.has_reads)
            start_one(request_type::read, batch_.reads, nullptr,
                      {setup_.combine, nullptr, setup_.item_bytes});
    }

    // An operation that threw on the way leaves nothing to be sent.
    bool is_silent() const { return late_fault_.has_value() || !agreed_.is_good(); }

    void pass(std::size_t stage) {
        with_reserve([&] { write_requests(stage); });
        auto came = transport_.exchange_requests(stage);
        auto counts = with_reserve([&] {
            std::vector<request_counts> room;
            room.reserve(came.size());
            return room;
        });
        for (const std::byte*& message : came) {
            message_head head;
            std::memcpy(&head, message, sizeof(message_head));
            agreed_.merge(head.agreed);
            most_requests_ = std::max(most_requests_, head.most_requests);
            counts.push_back(head.num_requests);
            message += sizeof(message_head);
        }
        clock_.charge(statistics_.seconds.communicate);
        take(stage, std::move(counts), came);
        const bool is_on_the_way = stage + 1 < num_stages();
        clock_.charge(is_on_the_way ? statistics_.seconds.combine_on_the_way
                                    : statistics_.seconds.write);
    }

    void write_requests(std::size_t stage) {
        const auto& destinations = setup_.routing.stages[stage].destinations;
        message_head head{agreed_, most_requests_, {}};
        std::vector<request_counts> counts(destinations.size());
        std::vector<count_t> bytes;
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            if (!is_silent()) counts[d] = requests_.num_requests(stage, d);
            bytes.push_back(static_cast<count_t>(sizeof(message_head)) +
                            requests_.packed_bytes(counts[d]));
        }
        const auto rooms = transport_.make_room(bytes);
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            head.num_requests = counts[d];
            std::memcpy(rooms[d], &head, sizeof(message_head));
            requests_.pack(stage, d, counts[d], rooms[d] + sizeof(message_head));
        }
    }

    void take(std::size_t stage, std::vector<request_counts>&& counts,
              std::span<const std::byte* const> came) {
        if (late_fault_) return;
        // Ranks that ask for different things do not understand each other's requests.
        if (!agreed_.is_good()) counts.assign(counts.size(), {});
        try {
            with_reserve([&] { requests_.take(stage, counts, came); });
        } catch (...) {
            late_fault_ = current_error();
        }
    }

    // By now the agreement is of all ranks.
    void settle() {
        if (agreed_.is_good()) return;
        agree(setup_.comm, fault_, with_reserve([&] { return vote_of(batch_); }), what_differs);
    }

    void reply(std::size_t stage) {
        auto& reads = requests_.reads();
        const auto& [destinations, sources] = setup_.routing.stages[stage];
        std::vector<count_t> bytes, expected;
        std::vector<std::byte*> rooms;
        with_reserve([&] {
            bytes.clear();
            for (std::size_t i = 0; i < sources.size(); ++i)
                bytes.push_back(reads.reply_bytes(reads.num_arrived(stage, i)));
            rooms = transport_.make_room(bytes);
            expected.clear();
            for (std::size_t d = 0; d < destinations.size(); ++d)
                expected.push_back(reads.reply_bytes(reads.num_requests(stage, d)));
        });
        clock_.charge(statistics_.seconds.communicate);
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (bytes[i] > 0) reads.pack_replies(stage, i, rooms[i]);
        }
        const bool is_owner = stage + 1 == num_stages();
        double& packing = is_owner ? statistics_.seconds.read : statistics_.seconds.split;
        clock_.charge(packing);

        transport_.start_replies(stage, expected);
        clock_.charge(statistics_.seconds.communicate);
        with_reserve([&] { reads.split(stage); });
        clock_.charge(packing);
        const auto came = with_reserve([&] { return transport_.finish_replies(); });
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
    batch_router<Index> requests_;
    array_statistics statistics_;
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
                   const std::optional<error>& fault, batch_transport& transport) {
    array_batch batch;
    batch.reads = indices;
    batch.has_reads = true;
    batch.fault = fault;
    return with_index_type(setup.routing.owners.num_entries(), [&](auto index) {
        batch_run<decltype(index)> run(setup, batch, transport);
        return finish_in_any_case(transport, [&] {
            run.carry_requests();
            return run.make_plan();
        });
    });
}

}  // namespace crossdock

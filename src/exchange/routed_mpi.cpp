// The algorithms in which messages travel together and describe themselves.
#include <unordered_map>

#include "../route/members.hpp"
#include "algorithms_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

// Takes all messages of a forwarder home. Partners are known, and every one is heard from, also by a
// rank that has failed. What was sent need not be complete. Votes reach all from the first stage on.
void carry(const exchange_task& task, const kept_route& way, forwarder& envelopes, bool may_vote) {
    for (std::size_t s = 0; s < way.stages.size(); ++s) {
        const auto& [destinations, destination_ranks, num_sources] = way.stages[s];
        const int tag = task.tags.stage(static_cast<int>(s));
        const bool votes = may_vote && s == 0;
        // Whatever fails, others wait for a bundle, and messages on their way are to be forwarded.
        const auto note_fault_of = [&](auto&& part) {
            const bool has_failed = task.fault.has_value();
            task.note_fault_of(part);
            if (task.fault && votes) {
                envelopes.vote_fault();
            } else if (task.fault && !has_failed) {
                envelopes.note_loss();
            }
        };
        std::vector<bundle> bundles;
        note_fault_of([&, &places = destinations] {
            const auto pack = [&] { bundles = envelopes.pack(static_cast<int>(s), places); };
            votes ? pack() : with_reserve(pack);
        });
        const auto bare = envelopes.bare_bundle();
        for (std::size_t i = 0; i < destination_ranks.size(); ++i) {
            const rank_t to = destination_ranks[i];
            task.note_fault_of([&, at = i] {
                at < bundles.size() ? task.mail.send(std::move(bundles[at]), to, tag)
                                    : task.mail.send({to, std::ssize(bare), bare.data()}, tag);
            });
        }
        for (std::size_t num_heard = 0; num_heard < num_sources; ++num_heard) {
            const bool has_failed = task.fault.has_value();
            task.note_fault_of([&] { envelopes.take(task.mail.wait_for_message(tag).data); });
            if (task.fault && !has_failed) envelopes.note_loss();
        }
    }
    if (!envelopes.has_lost()) return;
    task.note_fault_of(
        [] { throw error(errc::out_of_memory, "another rank has failed to forward messages"); });
}

}  // namespace

void take_arrived(const exchange_task& task, std::span<const envelope> arrived) {
    mailbox& mail = task.mail;
    for (const auto& message : arrived) {
        task.note_fault_of([&] {
            const auto taken =
                message.is_announced
                    ? mail.start_receive(message.source, message.bytes, task.tags.announced())
                    : byte_message{message.source, message.bytes, message.data};
            with_reserve([&] { task.found.push_back(taken); });
        });
    }
    task.note_fault_of(
        [&] { mail.wait_until([&] { return mail.are_received() && mail.are_sent(); }); });
}

bool exchange_routed(const exchange_task& task, const kept_route& way,
                     count_t max_forwarded_bytes) {
    mailbox& mail = task.mail;
    forwarder envelopes(*way.r, way.here, task.own);
    for (const auto& message : task.messages) {
        task.note_fault_of([&] {
            const bool is_announced = message.bytes > max_forwarded_bytes;
            if (is_announced) mail.send_announced(message, task.tags.announced());
            with_reserve([&] {
                envelopes.hold(
                    {mail.comm().rank(), message.peer, message.bytes, message.data, is_announced});
            });
        });
    }
    carry(task, way, envelopes, true);
    take_arrived(task, envelopes.arrived());
    return task.take(envelopes.agreed());
}

bool exchange_by_region(const exchange_task& task, const kept_route& inside,
                        const exchange_function& across) {
    mailbox& mail = task.mail;
    const topology& regions = mail.regions();
    const rank_t here = mail.comm().rank();
    forwarder envelopes(*inside.r, inside.here, task.own);
    const auto hold_for_member = [&](envelope message) {
        message.destination = regions.local_rank(message.destination);
        envelopes.hold(message);
    };

    std::vector<bundle> bundles;
    std::vector<byte_message> arrived;
    exchange_task crossing{mail,       task.tags,        {},     task.own, std::nullopt,
                           task.fault, task.common_bits, arrived};
    attempt(here, task.fault, [&] {
        std::vector<placed_envelope> leaving;
        std::unordered_map<region_t, std::size_t> place_of;
        std::vector<rank_t> counterparts;
        for (const auto& [destination, bytes, data] : task.messages) {
            const envelope message{here, destination, bytes, data};
            const region_t region = regions.region_of(destination);
            if (region == regions.region_of(here)) {
                hold_for_member(message);
                continue;
            }
            const auto [entry, is_new] = place_of.try_emplace(region, counterparts.size());
            if (is_new) counterparts.push_back(counterpart(regions, here, region));
            leaving.push_back({message, entry->second});
        }
        bundles = make_bundles(agreement(task.own), leaving, counterparts.size());
        crossing.messages.reserve(bundles.size());
        for (std::size_t i = 0; i < bundles.size(); ++i)
            crossing.messages.push_back(
                {counterparts[i], bundles[i].bytes, bundles[i].data.data()});
    });

    if (!across(crossing)) return false;
    for (const auto& one : arrived) {
        task.note_fault_of([&] {
            const auto opened = with_reserve([&] { return open_bundle(one.data); });
            for (const auto& message : opened.messages)
                with_reserve([&] { hold_for_member(message); });
        });
    }
    if (task.fault) envelopes.note_loss();
    carry(task, inside, envelopes, false);
    task.note_fault_of([&] { mail.wait_until([&] { return mail.are_sent(); }); });
    task.note_fault_of([&] {
        for (const auto& message : envelopes.arrived())
            with_reserve([&] {
                task.found.push_back({message.source, message.bytes, message.data});
            });
    });
    return true;
}

}  // namespace crossdock

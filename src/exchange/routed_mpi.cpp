// The algorithms in which messages travel together and describe themselves.
#include <unordered_map>

#include "../route/members.hpp"
#include "algorithms_mpi.hpp"

namespace crossdock {

namespace {

// Takes all messages of a forwarder home. Partners are known, and every one is heard from. What was
// sent need not be complete.
void carry(const exchange_task& task, const kept_route& way, forwarder& envelopes) {
    for (std::size_t s = 0; s < way.stages.size(); ++s) {
        const auto& [destinations, destination_ranks, num_sources] = way.stages[s];
        const int tag = task.tags.stage(static_cast<int>(s));
        auto bundles = envelopes.pack(static_cast<int>(s), destinations);
        for (std::size_t i = 0; i < bundles.size(); ++i)
            task.mail.send(std::move(bundles[i]), destination_ranks[i], tag);
        for (std::size_t num_heard = 0; num_heard < num_sources; ++num_heard)
            envelopes.take(task.mail.wait_for_message(tag).data);
    }
}

}  // namespace

void take_arrived(const exchange_task& task, std::span<const envelope> arrived,
                  std::vector<byte_message>& found) {
    mailbox& mail = task.mail;
    found.reserve(found.size() + arrived.size());
    for (const auto& message : arrived) {
        found.push_back(
            message.is_announced
                ? mail.start_receive(message.source, message.bytes, task.tags.announced())
                : byte_message{message.source, message.bytes, message.data});
    }
    mail.wait_until([&] { return mail.are_received() && mail.are_sent(); });
}

bool exchange_routed(const exchange_task& task, const kept_route& way, count_t max_forwarded_bytes,
                     std::vector<byte_message>& found) {
    mailbox& mail = task.mail;
    forwarder envelopes(*way.r, way.here, task.own);
    for (const auto& message : task.messages) {
        const bool is_announced = message.bytes > max_forwarded_bytes;
        if (is_announced) mail.send_announced(message, task.tags.announced());
        envelopes.hold(
            {mail.comm().rank(), message.peer, message.bytes, message.data, is_announced});
    }
    carry(task, way, envelopes);
    take_arrived(task, envelopes.arrived(), found);
    return envelopes.agreed().is_good();
}

bool exchange_by_region(const exchange_task& task, const kept_route& inside,
                        const exchange_function& across, std::vector<byte_message>& found) {
    mailbox& mail = task.mail;
    const topology& regions = mail.regions();
    const rank_t here = mail.comm().rank();
    forwarder envelopes(*inside.r, inside.here, task.own);
    const auto hold_for_member = [&](envelope message) {
        message.destination = regions.local_rank(message.destination);
        envelopes.hold(message);
    };

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
    const auto bundles = make_bundles(agreement(task.own), leaving, counterparts.size());
    exchange_task crossing{mail, task.tags, {}, task.own};
    for (std::size_t i = 0; i < bundles.size(); ++i)
        crossing.messages.push_back({counterparts[i], bundles[i].bytes, bundles[i].data.data()});

    std::vector<byte_message> arrived;
    if (!across(crossing, arrived)) return false;
    for (const auto& one : arrived) {
        for (const auto& message : open_bundle(one.data).messages) hold_for_member(message);
    }
    carry(task, inside, envelopes);
    mail.wait_until([&] { return mail.are_sent(); });
    for (const auto& message : envelopes.arrived())
        found.push_back({message.source, message.bytes, message.data});
    return true;
}

}  // namespace crossdock

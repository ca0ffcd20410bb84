// The algorithm in which ranks of a node hand messages over in memory, and nodes send each other one message.
#include "algorithms_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/suspension.hpp"
#include "crossdock/detail/exchange/exchange_rules.hpp"
#include "shared_send_buffers.hpp"

namespace crossdock {

namespace {

// One rank of an exchange by nodes.
class node_exchange {
  public:
    node_exchange(const exchange_task& task, const topology& nodes,
                  shared_send_buffers& send_buffers)
        : mail_(task.mail),
          nodes_(nodes),
          send_buffers_(send_buffers),
          tag_(task.tags.stage(0)),
          here_(mail_.comm().rank()),
          node_(nodes.region_of(here_)),
          agreed_(task.vote()) {}

    // Takes charge of a message of this rank.
    void hold(const envelope& message) {
        const region_t to = nodes_.region_of(message.destination);
        hand(message,
             to == node_ ? message.destination : leaders_between(nodes_, node_, to).sender);
    }

    void carry() {
        exchange_inside();
        if (nodes_.num_regions() == 1) return;
        exchange_between();
        exchange_inside();
    }

    const agreement& agreed() const noexcept { return agreed_; }
    const std::vector<envelope>& arrived() const noexcept { return arrived_; }

  private:
    void take(const envelope& message) {
        with_reserve(
            [&] { (message.destination == here_ ? arrived_ : leaving_).push_back(message); });
    }

    void hand(const envelope& message, rank_t member) {
        if (member == here_) return take(message);
        with_reserve([&] {
            handed_.push_back({message, static_cast<std::size_t>(nodes_.local_rank(member))});
        });
    }

    // In memory, to members of the node.
    void exchange_inside() {
        std::vector<envelope> came;
        agreed_ = send_buffers_.exchange(
            agreed_, std::exchange(handed_, {}),
            [&](count_t bytes) {
                return with_reserve([&] { return mail_.arrivals().make_room(bytes); });
            },
            [&] { pause(); }, came);
        for (const auto& message : came) take(message);
    }

    // One message from every node to every other, which carries the agreement of the sender's.
    void exchange_between() {
        std::vector<rank_t> destinations;
        std::size_t num_sources = 0;
        auto bundles = with_reserve([&] { return pack(destinations, num_sources); });
        for (std::size_t i = 0; i < bundles.size(); ++i)
            mail_.send(std::move(bundles[i]), destinations[i], tag_);
        for (std::size_t num_heard = 0; num_heard < num_sources; ++num_heard) {
            const auto message = mail_.wait_for_message(tag_);
            const auto opened = with_reserve([&] { return open_bundle(message.data); });
            agreed_.merge(opened.agreed);
            for (const auto& one : opened.messages) hand(one, one.destination);
        }
    }

    // What this rank sends to other nodes.
    std::vector<bundle> pack(std::vector<rank_t>& destinations, std::size_t& num_sources) const {
        destinations.clear();
        num_sources = 0;
        std::vector<std::size_t> place_of(static_cast<std::size_t>(nodes_.num_regions()));
        for (region_t other = 0; other < nodes_.num_regions(); ++other) {
            if (other == node_) continue;
            place_of[static_cast<std::size_t>(other)] = destinations.size();
            const auto out = leaders_between(nodes_, node_, other);
            if (out.sender == here_) destinations.push_back(out.receiver);
            if (leaders_between(nodes_, other, node_).receiver == here_) ++num_sources;
        }
        std::vector<placed_envelope> placed;
        for (const auto& message : leaving_) {
            const region_t to = nodes_.region_of(message.destination);
            placed.push_back({message, place_of[static_cast<std::size_t>(to)]});
        }
        return make_bundles(agreed_, placed, destinations.size());
    }

    void pause() {
        const bool may_only_look = mail_.are_sent() && !mail_.comm().has_work();
        if (may_only_look && ++num_looks_ % looks_at_memory != 0) return pause_wait();
        mail_.comm().progress();
        pause_wait();
    }

    mailbox& mail_;
    const topology& nodes_;
    shared_send_buffers& send_buffers_;
    int tag_;
    rank_t here_;
    region_t node_;
    agreement agreed_;
    std::vector<placed_envelope> handed_;  // to members of this node, next
    std::vector<envelope> leaving_;        // that this rank sends to other nodes
    std::vector<envelope> arrived_;
    int num_looks_ = 0;
};

}  // namespace

bool exchange_by_node(const exchange_task& task, const topology& nodes,
                      shared_send_buffers& send_buffers, count_t max_forwarded_bytes) {
    mailbox& mail = task.mail;
    const rank_t here = mail.comm().rank();
    node_exchange exchange(task, nodes, send_buffers);
    for (const auto& message : task.messages) {
        const bool is_announced = message.bytes > max_forwarded_bytes &&
                                  nodes.region_of(message.peer) != nodes.region_of(here);
        if (is_announced) mail.send_announced(message, task.tags.announced());
        exchange.hold({here, message.peer, message.bytes, message.data, is_announced});
    }
    exchange.carry();
    take_arrived(task, exchange.arrived());
    return task.take(exchange.agreed());
}

}  // namespace crossdock

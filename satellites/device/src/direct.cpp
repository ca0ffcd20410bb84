#include "direct.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

#include "crossdock/detail/base/suspension.hpp"
#include "crossdock/price.hpp"

namespace crossdock::device {

std::string why_mpi_refuses(const driver& on) {
    std::vector<std::string> names{"MPIX_Query_" + on.name() + "_support"};
    if (on.name() == "hip") names.push_back("MPIX_Query_rocm_support");
    for (const auto& name : names) {
        using query = int (*)();
        if (const auto ask = reinterpret_cast<query>(dlsym(RTLD_DEFAULT, name.c_str())))
            return ask() == 1 ? "" : name + " of this MPI says no";
    }
    return "this MPI has no " + names.back();
}

neighbor_list one_entry_for_each(const neighbor_list& side) {
    std::map<rank_t, std::vector<count_t>> lists;
    for (std::size_t e = 0; e < side.size(); ++e) {
        auto& list = lists[side.ranks[e]];
        list.insert(list.end(), side[e].begin(), side[e].end());
    }
    neighbor_list merged;
    for (const auto& [rank, list] : lists)
        if (!list.empty()) merged.append(rank, list);
    return merged;
}

// Takes what others send to a start that has failed here, and keeps nothing of it.
struct direct_messages::late_messages final : unfinished_exchange {
    late_messages(MPI_Comm given, int of, std::shared_ptr<std::vector<rank_t>> senders)
        : comm(given), tag(of), left(std::move(senders)) {}

    bool is_over() noexcept override {
        try {
            std::erase_if(*left, [&](rank_t sender) { return take(sender); });
        } catch (...) {  // MPI does not work any more
            left->clear();
        }
        return left->empty();
    }

    bool take(rank_t sender) const {
        int is_there = 0, num_bytes = 0;
        MPI_Message one = MPI_MESSAGE_NULL;
        MPI_Status status;
        CROSSDOCK_MPI(MPI_Improbe(sender, tag, comm, &is_there, &one, &status));
        if (!is_there) return false;
        CROSSDOCK_MPI(MPI_Get_count(&status, MPI_BYTE, &num_bytes));
        std::vector<std::byte> unused(static_cast<std::size_t>(num_bytes));
        CROSSDOCK_MPI(MPI_Mrecv(unused.data(), num_bytes, MPI_BYTE, &one, MPI_STATUS_IGNORE));
        return true;
    }

    MPI_Comm comm;
    int tag;
    std::shared_ptr<std::vector<rank_t>> left;
};

direct_messages::direct_messages(const communicator& comm, const neighbor_list& sends,
                                 const neighbor_list& receives, const neighbor_options& options)
    : comm_(comm), untaken_(std::make_shared<std::vector<rank_t>>()) {
    const neighbor_options defaults;
    const auto or_default = [](std::size_t given, std::size_t otherwise) {
        return given > 0 ? given : otherwise;
    };
    const auto most = std::max(or_default(options.max_message_bytes, defaults.max_message_bytes) /
                                   or_default(options.item_bytes, defaults.item_bytes),
                               std::size_t{1});
    for (const bool of_sends : {false, true}) {
        const auto& side = of_sends ? sends : receives;
        std::size_t first = 0;
        for (std::size_t e = 0; e < side.size(); ++e) {
            for (std::size_t left = side[e].size(); left > 0;) {
                const auto size = std::min(left, most);
                parts_[of_sends].push_back({side.ranks[e], first, size});
                first += size;
                left -= size;
            }
        }
    }
}

direct_messages::~direct_messages() {
    if (is_active_ || !untaken_->empty()) tag_.keep();
}

void direct_messages::require_countable(std::size_t item_bytes) const {
    for (const auto& parts : parts_) {
        for (const auto& one : parts) {
            if (one.num_items <= std::numeric_limits<int>::max() / item_bytes) continue;
            throw error(
                errc::count_overflow,
                "a message has " + std::to_string(one.num_items) + " items of " +
                    std::to_string(item_bytes) +
                    " bytes, which MPI cannot count; give that size as the option item_bytes");
        }
    }
}

void direct_messages::start(bool is_reverse, const std::byte* from, std::byte* to,
                            std::size_t item_bytes) {
    while (!untaken_->empty()) {
        comm_.progress();
        pause_wait();
    }
    is_reverse_ = is_reverse;
    item_bytes_ = item_bytes;
    const auto& received = parts_[is_reverse];
    const auto& sent = parts_[!is_reverse];
    requests_.assign(received.size() + sent.size(), MPI_REQUEST_NULL);
    statuses_.resize(requests_.size());
    is_active_ = true;
    auto request = requests_.begin();
    const auto bytes_of = [&](const part& one) {
        return static_cast<int>(one.num_items * item_bytes);
    };
    for (const auto& one : received)
        CROSSDOCK_MPI(MPI_Irecv(to + one.first_item * item_bytes, bytes_of(one), MPI_BYTE, one.peer,
                                tag_.first(), comm_.get(), &*request++));
    for (const auto& one : sent)
        CROSSDOCK_MPI(MPI_Isend(from + one.first_item * item_bytes, bytes_of(one), MPI_BYTE,
                                one.peer, tag_.first(), comm_.get(), &*request++));
}

void direct_messages::fail(bool is_reverse, const error& why) {
    comm_.tell_later(why);
    for (const auto& one : parts_[!is_reverse]) {
        MPI_Request request = MPI_REQUEST_NULL;
        CROSSDOCK_MPI(
            MPI_Isend(nullptr, 0, MPI_BYTE, one.peer, tag_.first(), comm_.get(), &request));
        CROSSDOCK_MPI(MPI_Request_free(&request));
    }
    const bool is_looked_for = !untaken_->empty();
    for (const auto& one : parts_[is_reverse]) untaken_->push_back(one.peer);
    if (!is_looked_for)
        comm_.take_over(std::make_unique<late_messages>(comm_.get(), tag_.first(), untaken_));
}

bool direct_messages::test() {
    int is_complete = 0;
    CROSSDOCK_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_complete,
                              statuses_.data()));
    if (!is_complete) return false;
    is_active_ = false;
    const auto& received = parts_[is_reverse_];
    for (std::size_t i = 0; i < received.size(); ++i) {
        int num_bytes = 0;
        CROSSDOCK_MPI(MPI_Get_count(&statuses_[i], MPI_BYTE, &num_bytes));
        if (num_bytes == static_cast<int>(received[i].num_items * item_bytes_)) continue;
        throw error(errc::peer_failed,
                    "rank " + std::to_string(received[i].peer) +
                        " could not start its exchange; context::last_peer_error says why later",
                    received[i].peer);
    }
    return true;
}

void direct_messages::wait() {
    while (!test()) {
        comm_.progress();
        pause_wait();
    }
}

direct_memory::direct_memory(driver& on, rank_t here, const neighbor_list& sends,
                             const neighbor_list& receives)
    : on_(&on),
      num_sends_(static_cast<count_t>(sends.indices.size())),
      num_receives_(static_cast<count_t>(receives.indices.size())),
      sends_(on, sends.indices),
      receives_(on, receives.indices),
      packed_(on),
      received_(on) {
    // As `reproducible` combines: what this rank sends itself, then what others send, by rank.
    std::map<count_t, std::vector<count_t>> groups;
    for (const bool is_own : {true, false}) {
        for (std::size_t e = 0; e < sends.size(); ++e) {
            if ((sends.ranks[e] == here) != is_own) continue;
            for (count_t k = sends.offsets[e]; k < sends.offsets[e + 1]; ++k)
                groups[sends.indices[static_cast<std::size_t>(k)]].push_back(k);
        }
    }
    num_groups_ = static_cast<count_t>(groups.size());
    std::vector<count_t> items, offsets{0}, values;
    for (const auto& [item, group] : groups) {
        values.push_back(static_cast<count_t>(items.size()));
        for (const count_t k : group) values.push_back(num_groups_ + k);
        offsets.push_back(static_cast<count_t>(values.size()));
        items.push_back(item);
    }
    items_.emplace(on, items);
    offsets_.emplace(on, offsets);
    values_.emplace(on, values);
}

bool direct_memory::has_room(std::size_t item_bytes) const {
    return packed_.holds(bytes(std::max(num_sends_, num_receives_), item_bytes)) &&
           received_.holds(bytes(std::max(num_receives_, num_groups_ + num_sends_), item_bytes));
}

void direct_memory::grow(std::size_t item_bytes) {
    packed_.grow(bytes(std::max(num_sends_, num_receives_), item_bytes));
    received_.grow(bytes(std::max(num_receives_, num_groups_ + num_sends_), item_bytes));
}

void direct_memory::pack(bool is_reverse, const std::byte* items, const std::byte* slots,
                         std::size_t item_bytes, stream on) {
    if (!is_reverse)
        return on_->copy({packed_.get(), items, nullptr, sends_.get(), num_sends_, item_bytes}, on);
    on_->copy({packed_.get(), slots, nullptr, receives_.get(), num_receives_, item_bytes}, on);
    on_->copy({received_.get(), items, nullptr, items_->get(), num_groups_, item_bytes}, on);
}

void direct_memory::unpack(bool is_reverse, std::byte* target, fold_call fold,
                           std::size_t item_bytes, stream on) {
    if (!is_reverse)
        return on_->copy(
            {target, received_.get(), receives_.get(), nullptr, num_receives_, item_bytes}, on);
    // In place: a group begins with its own result's place, and no other group reads that.
    fold.to = received_.get();
    fold.from = received_.get();
    fold.offsets = offsets_->get();
    fold.list = values_->get();
    fold.num_groups = num_groups_;
    on_->fold(fold, on);
    on_->copy({target, received_.get(), items_->get(), nullptr, num_groups_, item_bytes}, on);
}

void direct_memory::abandon() noexcept {
    packed_.abandon();
    received_.abandon();
}

namespace {

// The seconds of this rank's messages between devices.
double price_of_messages(const context& where, const neighbor_list& sends,
                         const neighbor_list& receives, std::size_t item_bytes) {
    const auto m = machine_of_devices(where.machine());
    const rank_layout layout = where.nodes() ? rank_layout(where.topology(), *where.nodes())
                                             : rank_layout(where.topology());
    stage_pricer pricer(m);
    const auto for_each = [&](const neighbor_list& side, auto&& add) {
        for (std::size_t e = 0; e < side.size(); ++e)
            add(layout.level_of(where.rank(), side.ranks[e]),
                static_cast<count_t>(side[e].size() * item_bytes));
    };
    for_each(sends, [&](locality_level level, count_t size) { pricer.send(level, size, 0); });
    for_each(receives, [&](locality_level level, count_t size) { pricer.receive(level, size); });
    // The other ranks of the node are taken to send as much.
    const auto& nodes = layout.nodes();
    const auto on_node = nodes.region_size(nodes.region_of(where.rank()));
    return stage_seconds(pricer.price(
        on_node * std::max(pricer.network_bytes_sent(), pricer.network_bytes_received())));
}

// The seconds of this rank's two copies.
double price_of_copies(const machine& m, const neighbor_list& sends, const neighbor_list& receives,
                       std::size_t item_bytes) {
    const auto seconds = [&](const neighbor_list& side) {
        return side.indices.empty() ? 0
                                    : m.device->copy.latency_seconds +
                                          m.device->copy.seconds_per_byte *
                                              static_cast<double>(side.indices.size() * item_bytes);
    };
    return seconds(sends) + seconds(receives);
}

std::string microseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", seconds * 1e6);
    return text;
}

}  // namespace

path_terms terms_of_path(const context& where, const driver& on, const std::string& said,
                         const neighbor_list& sends, const neighbor_list& receives,
                         std::size_t item_bytes) {
    path_terms terms{said, why_mpi_refuses(on)};
    if (said == "direct" && !terms.refusal.empty())
        throw error(errc::invalid_state, "the path direct: " + terms.refusal);
    if (said != "auto" || !where.machine().device) return terms;
    if (item_bytes == 0) item_bytes = neighbor_options{}.item_bytes;
    terms.copy_seconds = price_of_copies(where.machine(), sends, receives, item_bytes);
    terms.message_seconds = price_of_messages(where, sends, receives, item_bytes);
    return terms;
}

void agree_on_terms(const communicator& comm, path_terms& terms) {
    double greatest[] = {terms.refusal.empty() ? 0. : 1., terms.copy_seconds,
                         terms.message_seconds};
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(
        MPI_Iallreduce(MPI_IN_PLACE, greatest, 3, MPI_DOUBLE, MPI_MAX, comm.get(), &request));
    comm.wait(request);
    terms.is_refused = greatest[0] > 0;
    terms.copy_seconds = greatest[1];
    terms.message_seconds = greatest[2];
}

path_choice choose_path(const machine& m, const path_terms& terms,
                        const crossdock::neighbor_exchange& host) {
    if (terms.said == "direct") return {.is_direct = true};
    if (terms.is_refused) {
        return {false, terms.refusal.empty() ? "MPI of another rank refuses memory of devices"
                                             : terms.refusal};
    }
    if (!m.device) return {false, "the machine " + m.name + " has no costs of devices"};
    if (!host.choice() || host.is_trying())
        return {false, "a route was given, or routes are tried"};
    const double staged = host.choice()->candidates.front().seconds + terms.copy_seconds;
    return {terms.message_seconds < staged,
            "estimated: direct " + microseconds(terms.message_seconds) + " us, staged " +
                microseconds(staged) + " us, of which copies " + microseconds(terms.copy_seconds) +
                " us"};
}

}  // namespace crossdock::device

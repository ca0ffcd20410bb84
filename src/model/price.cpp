#include "crossdock/price.hpp"

namespace crossdock {

namespace {

constexpr double search_share = 0.25;  // of n^2, for n messages that come in any order
constexpr double slice_share_of_hand_over = 0.5;

double way_seconds(const protocol_parameters& protocol, count_t message_bytes) {
    return static_cast<double>(message_bytes) * protocol.seconds_per_byte;
}

double from_end_to_end(const level_parameters& level, const protocol_parameters& protocol) {
    return level.send_overhead_seconds + protocol.latency_seconds + level.receive_overhead_seconds;
}

}  // namespace

const char* dominating_term(const stage_price& price) noexcept {
    return std::max_element(price_terms.begin(), price_terms.end(),
                            [&](const price_term& a, const price_term& b) {
                                return price.*a.seconds < price.*b.seconds;
                            })
        ->name;
}

double stage_price::path() const noexcept {
    const double num_out = std::max(num_sent, 1.0);
    const double num_in = std::max(num_received, 1.0);
    const double num_on_link = std::max(num_out, num_in);
    const double scattering = copying - gathering;
    const double transfer_of_one = transfer / num_on_link;
    const double of_one = gathering / num_out + transfer_of_one + scattering / num_in;
    const double of_others = std::max({(sending + gathering) * (1 - 1 / num_out),
                                       (receiving + scattering) * (1 - 1 / num_in) + matching,
                                       transfer - transfer_of_one, injection - transfer_of_one});
    return latency + of_one + of_others;
}

stage_price& stage_price::operator+=(const stage_price& other) noexcept {
    for (const auto& term : price_terms) this->*term.seconds += other.*term.seconds;
    gathering += other.gathering;
    num_sent += other.num_sent;
    num_received += other.num_received;
    return *this;
}

void stage_pricer::send(locality_level level, count_t message_bytes, count_t num_items,
                        double num_messages) {
    const auto& here = machine_.at(level);
    const auto& protocol = here.protocol_of(message_bytes);
    take_slice(1);
    sum_.sending += num_messages * here.send_overhead_seconds;
    await(level, message_bytes);
    sent_seconds_ += num_messages * way_seconds(protocol, message_bytes);
    const auto all_bytes = static_cast<count_t>(num_messages * static_cast<double>(message_bytes));
    if (level == locality_level::network) network_bytes_sent_ += all_bytes;
    sum_.num_sent += num_messages;
    gather(all_bytes, num_items);
}

void stage_pricer::receive(locality_level level, count_t message_bytes, double num_messages) {
    const auto& here = machine_.at(level);
    const auto& protocol = here.protocol_of(message_bytes);
    take_slice(1);
    sum_.receiving += num_messages * here.receive_overhead_seconds;
    await(level, message_bytes);
    num_matched_ += num_messages;
    sum_.num_received += num_messages;
    received_seconds_ += num_messages * way_seconds(protocol, message_bytes);
    const auto all_bytes = static_cast<count_t>(num_messages * static_cast<double>(message_bytes));
    if (level == locality_level::network) network_bytes_received_ += all_bytes;
}

void stage_pricer::await(locality_level level, count_t message_bytes) {
    const auto& here = machine_.at(level);
    sum_.latency = std::max(sum_.latency, from_end_to_end(here, here.protocol_of(message_bytes)));
}

void stage_pricer::take_slice(double share) {
    if (machine_.num_cores > 0)
        sum_.time_slices = std::max(sum_.time_slices, share * machine_.time_slice_seconds);
}

void stage_pricer::take_over() {
    take_slice(slice_share_of_hand_over);
    sum_.num_received += 1;
}

void stage_pricer::hand_over(count_t num_bytes, count_t num_items) {
    take_slice(slice_share_of_hand_over);
    sum_.latency = std::max(sum_.latency, machine_.hand_over_seconds);
    sum_.num_sent += 1;
    gather(num_bytes, num_items);
}

void stage_pricer::gather(count_t num_bytes, count_t num_items) {
    const double before = sum_.copying;
    copy(num_bytes, num_items);
    sum_.gathering += sum_.copying - before;
}

void stage_pricer::copy(count_t num_bytes, count_t num_items) {
    sum_.copying += static_cast<double>(num_bytes) * machine_.copy_seconds_per_byte +
                    static_cast<double>(num_items) * machine_.copy_seconds_per_item;
}

stage_price stage_pricer::price(count_t node_bytes) const {
    stage_price result = sum_;
    result.matching = machine_.matching_seconds * search_share * num_matched_ * num_matched_;
    result.transfer = std::max(sent_seconds_, received_seconds_);
    result.injection = static_cast<double>(node_bytes) * machine_.injection_seconds_per_byte;
    return result;
}

namespace {

// Of each stage, the shortest of all ranks that have messages in it.
std::vector<double> least_latencies(std::span<const std::vector<stage_price>> stages_of_ranks) {
    std::vector<double> least(stages_of_ranks.front().size(), 0);
    for (const auto& stages : stages_of_ranks) {
        for (std::size_t t = 0; t < stages.size(); ++t) {
            const double latency = stages[t].latency;
            if (latency > 0 && (least[t] == 0 || latency < least[t])) least[t] = latency;
        }
    }
    return least;
}

// What a rank gets in a stage had its way in the stages before, even if not by this rank.
std::vector<stage_price> with_others_latencies(std::vector<stage_price> stages,
                                               const std::vector<double>& latencies) {
    bool has_later = false;
    for (std::size_t t = stages.size(); t-- > 0;) {
        if (stages[t].latency > 0) {
            has_later = true;
        } else if (has_later) {
            stages[t].latency = latencies[t];
        }
    }
    return stages;
}

}  // namespace

double rank_seconds(std::span<const stage_price> stages) noexcept {
    double seconds = 0;
    for (const auto& stage : stages) seconds += stage_seconds(stage);
    return seconds;
}

double core_seconds(std::span<const stage_price> stages, const machine& m) noexcept {
    double work = 0;
    double time_slices = 0;
    for (const auto& stage : stages) {
        work += stage.work();
        time_slices += stage.time_slices;
    }
    const double last_slice = time_slices > 0 ? m.time_slice_seconds : 0;
    return work + time_slices + last_slice;
}

plan_price summarize(std::span<const std::vector<stage_price>> stages_of_ranks, const machine& m) {
    plan_price result;
    if (stages_of_ranks.empty()) return result;
    result.stages.resize(stages_of_ranks.front().size());
    const auto latencies = least_latencies(stages_of_ranks);
    double all_seconds = 0;
    double slowest_rank = 0;
    for (std::size_t p = 0; p < stages_of_ranks.size(); ++p) {
        const auto& stages = stages_of_ranks[p];
        slowest_rank =
            std::max(slowest_rank, rank_seconds(with_others_latencies(stages, latencies)));
        all_seconds += core_seconds(stages, m);
        for (std::size_t t = 0; t < stages.size(); ++t) {
            auto& stage = result.stages[t];
            stage.mean_work += stages[t].work() / static_cast<double>(stages_of_ranks.size());
            if (p > 0 && stage_seconds(stages[t]) <= stage_seconds(stage.slowest)) continue;
            stage.slowest = stages[t];
            stage.slowest_rank = static_cast<rank_t>(p);
        }
    }
    double slowest_stages = 0;
    for (const auto& stage : result.stages) slowest_stages += stage_seconds(stage.slowest);
    result.seconds = exchange_seconds(slowest_rank, slowest_stages);
    if (m.num_cores > 0)
        result.seconds = std::max(result.seconds, all_seconds / static_cast<double>(m.num_cores));
    return result;
}

}  // namespace crossdock

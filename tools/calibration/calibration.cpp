#include "calibration.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace crossdock {

namespace {

constexpr double item_bytes = 8;  // of what is gathered
constexpr std::size_t nearest_level = static_cast<std::size_t>(locality_level::region);
constexpr std::size_t farthest_level = num_locality_levels - 1;

class machine_fitter {
  public:
    explicit machine_fitter(const machine_samples& samples) : samples_(samples) {
        result_.found.name = samples.name;
        result_.found.description = samples.description;
    }

    calibration run() {
        fit_copying();
        for (std::size_t level = nearest_level; level <= farthest_level; ++level) {
            if (samples_.levels[level]) fit_level(level, *samples_.levels[level]);
        }
        for (std::size_t level = nearest_level; level <= farthest_level; ++level) {
            if (!samples_.levels[level]) assume_level(level);
        }
        note_what_is_missing();
        order_latencies();
        fit_injection();
        fit_matching();
        take_hand_over();
        take_cores();
        fit_device();
        validate(result_.found);
        return std::move(result_);
    }

  private:
    machine& found() noexcept { return result_.found; }

    // Notes the error of a fit, and returns what it says about its parameters.
    std::string measured(const std::string& group, std::size_t num_samples, double error) {
        result_.errors.push_back({group, num_samples, error});
        return fmt::format("measured: {}, median error {:.1f} %", group, 100 * error);
    }

    void fit_copying() {
        const auto bytes = fit_line(samples_.copying);
        const auto items = fit_line(samples_.gathering);
        found().copy_seconds_per_byte = bytes.line.slope_seconds;
        found().copy_seconds_per_item =
            std::max(0.0, items.line.slope_seconds - item_bytes * bytes.line.slope_seconds);
        found().sources["copy_seconds_per_byte"] =
            measured("copies of one run", samples_.copying.size(), bytes.relative_error);
        found().sources["copy_seconds_per_item"] =
            measured("gathers of 8 bytes", samples_.gathering.size(), items.relative_error);
        auto& self = found().levels[0];
        self.eager = self.rendezvous = {0, bytes.line.slope_seconds};
        found().sources["levels.self"] = "assumed: a copy";
    }

    void fit_device() {
        if (samples_.device_copies.empty()) return;
        const auto fit = fit_line(samples_.device_copies);
        auto& device = found().device.emplace();
        device.copy = {fit.line.start_seconds, fit.line.slope_seconds};
        device.levels = found().levels;
        for (auto& level : device.levels) {
            for (auto* const protocol : {&level.eager, &level.rendezvous}) {
                protocol->latency_seconds += 2 * device.copy.latency_seconds;
                protocol->seconds_per_byte += 2 * device.copy.seconds_per_byte;
            }
        }
        found().sources["device.copy"] =
            measured("copies of a device", samples_.device_copies.size(), fit.relative_error);
        found().sources["device.levels"] = "assumed: messages of the host and two copies";
    }

    // The share of a core that a rank of a level has while all of them work.
    double core_share(const level_samples& level) const {
        if (samples_.num_cores == 0) return 1;
        return static_cast<double>(samples_.num_cores) / level.num_ranks;
    }

    void fit_overheads(std::size_t level, const level_samples& samples) {
        const std::string name = locality_level_names[level];
        const auto both = fit_line(samples.bursts);
        const auto sends = fit_line(samples.sends);
        auto& here = found().levels[level];
        const double overheads = core_share(samples) * both.line.slope_seconds;
        here.send_overhead_seconds = std::min(sends.line.slope_seconds, overheads);
        here.receive_overhead_seconds = overheads - here.send_overhead_seconds;
        found().sources["levels." + name + ".send_overhead_seconds"] =
            measured(name + " sends", samples.sends.size(), sends.relative_error);
        found().sources["levels." + name + ".receive_overhead_seconds"] =
            measured(name + " bursts", samples.bursts.size(), both.relative_error);
    }

    void fit_level(std::size_t level, const level_samples& samples) {
        fit_overheads(level, samples);
        const auto postal = fit_protocols(samples.one_way);
        auto& here = found().levels[level];
        const double overheads = here.send_overhead_seconds + here.receive_overhead_seconds;
        const auto protocol = [&](const cost_line& line) {
            return protocol_parameters{std::max(0.0, line.start_seconds - overheads),
                                       line.slope_seconds};
        };
        here.eager = protocol(postal.eager);
        here.rendezvous = protocol(postal.rendezvous);
        here.rendezvous_bytes = static_cast<count_t>(postal.last_eager_amount);
        const std::string name = locality_level_names[level];
        found().sources["levels." + name] =
            measured(name + " ping-pong", samples.one_way.size(), postal.relative_error);
        if (!samples.loads.empty()) fit_byte_work(level, samples);
    }

    // Two ranks of a ping-pong copy at once, and have all cores: busy cores tell what bytes cost.
    void fit_byte_work(std::size_t level, const level_samples& samples) {
        const auto fit = fit_line(samples.loads);
        const std::string name = locality_level_names[level];
        const auto source = measured(name + " loads", samples.loads.size(), fit.relative_error);
        auto& here = found().levels[level];
        for (auto* protocol : {&here.eager, &here.rendezvous})
            protocol->seconds_per_byte = core_share(samples) * fit.line.slope_seconds;
        for (const char* protocol : {"eager", "rendezvous"})
            found().sources[fmt::format("levels.{}.{}.seconds_per_byte", name, protocol)] = source;
    }

    // Of the nearest level that was measured, of two the nearer.
    void assume_level(std::size_t level) {
        std::size_t taken = 0;
        for (std::size_t distance = farthest_level; distance > 0; --distance) {
            if (level + distance <= farthest_level && samples_.levels[level + distance])
                taken = level + distance;
            if (level >= nearest_level + distance && samples_.levels[level - distance])
                taken = level - distance;
        }
        found().levels[level] = found().levels[taken];
        found().sources[fmt::format("levels.{}", locality_level_names[level])] =
            fmt::format("assumed: no pair of ranks at this level; as {}",
                        taken == 0 ? "a copy" : locality_level_names[taken]);
    }

    void note_what_is_missing() {
        if (samples_.levels[farthest_level]) return;
        found().description += samples_.num_ranks > 1 ? "; messages between nodes not measured"
                                                      : "; messages not measured";
    }

    void order_latencies() {
        for (std::size_t level = nearest_level + 1; level <= farthest_level; ++level) {
            const double nearer = found().levels[level - 1].eager.latency_seconds;
            auto& here = found().levels[level];
            if (here.eager.latency_seconds >= nearer) continue;
            here.eager.latency_seconds = nearer;
            here.rendezvous.latency_seconds = std::max(nearer, here.rendezvous.latency_seconds);
            found().sources[fmt::format("levels.{}", locality_level_names[level])] +=
                fmt::format("; latency raised to that of {}", locality_level_names[level - 1]);
        }
    }

    void fit_injection() {
        auto& source = found().sources["injection_seconds_per_byte"];
        if (samples_.injection.empty()) {
            found().injection_seconds_per_byte =
                found().at(locality_level::network).rendezvous.seconds_per_byte;
            source = "assumed: one node; as its ranks' own ways";
            return;
        }
        const auto fit = fit_line(samples_.injection);
        found().injection_seconds_per_byte = fit.line.slope_seconds;
        source = measured("injection", samples_.injection.size(), fit.relative_error);
    }

    void fit_matching() {
        auto& source = found().sources["matching_seconds"];
        source = "assumed: no pair of ranks";
        if (samples_.matching.empty()) return;
        const auto fit = fit_line(samples_.matching);
        found().matching_seconds = fit.line.slope_seconds;
        source = measured("matching", samples_.matching.size(), fit.relative_error);
    }

    void take_hand_over() {
        auto& source = found().sources["hand_over_seconds"];
        found().hand_over_seconds = samples_.hand_over_seconds.value_or(
            found().at(locality_level::region).eager.latency_seconds);
        source = samples_.hand_over_seconds ? "measured: flags in shared memory"
                                            : "assumed: no ranks share memory; as a message";
    }

    void take_cores() {
        found().num_cores = samples_.num_cores;
        found().time_slice_seconds = samples_.time_slice_seconds;
        found().sources["num_cores"] = fmt::format("measured: {} ranks", samples_.num_ranks);
        found().sources["time_slice_seconds"] = samples_.num_cores > 0
                                                    ? "measured: exchanges of few messages"
                                                    : "measured: every rank has a core";
    }

    const machine_samples& samples_;
    calibration result_;
};

}  // namespace

calibration fit_machine(const machine_samples& samples) { return machine_fitter(samples).run(); }

}  // namespace crossdock

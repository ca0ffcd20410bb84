// A histogram of random numbers whose bins are spread over the workers of all ranks.
//
// Each worker draws numbers and pushes each to the worker that has its bin, which adds one. Nobody waits:
// while a worker pushes, what came to it is handled now and then. A bin belongs to one worker, so it needs
// no lock.
#include <fmt/format.h>

#include <random>

#include "common/program.hpp"
#include "crossdock/block_partition.hpp"
#include "crossdock/stream.hpp"

using namespace examples;
using crossdock::block_partition;
using crossdock::worker_id;

constexpr count_t draws_between_progress = 512;

struct problem {
    count_t num_draws = 20000;  // of each worker
    count_t num_bins = 4096;
    crossdock::stream_options options;
};

// The bins that a worker draws, one after the other. Squares make the first bins more likely.
class draws {
  public:
    draws(count_t worker, count_t num_bins)
        : random_(static_cast<std::uint64_t>(worker + 1)), num_bins_(num_bins) {}

    count_t next() {
        const double x = std::generate_canonical<double, 53>(random_);
        return static_cast<count_t>(x * x * static_cast<double>(num_bins_));
    }

  private:
    std::mt19937_64 random_;
    count_t num_bins_;
};

static std::vector<count_t> serial_histogram(const problem& given, count_t num_workers) {
    std::vector<count_t> counts(static_cast<std::size_t>(given.num_bins));
    for (count_t worker = 0; worker < num_workers; ++worker) {
        draws numbers(worker, given.num_bins);
        for (count_t i = 0; i < given.num_draws; ++i) {
            ++counts[static_cast<std::size_t>(numbers.next())];
        }
    }
    return counts;
}

static bool histogram(const crossdock::context& world, const problem& given) {
    const int workers = given.options.workers;
    const rank_t num_all = world.num_ranks() * workers;
    const auto parts = block_partition::blocks(given.num_bins, num_all);
    const count_t first = parts.first(world.rank() * workers);
    std::vector<count_t> counts(
        static_cast<std::size_t>(parts.first((world.rank() + 1) * workers) - first));

    crossdock::stream<std::int64_t> bins(
        world,
        [&](auto&, const auto& batch) {
            for (const count_t bin : batch) ++counts[static_cast<std::size_t>(bin - first)];
        },
        given.options);
    run_workers(workers, [&](int w) {
        auto& port = bins.port(w);
        draws numbers(world.rank() * workers + w, given.num_bins);
        for (count_t i = 0; i < given.num_draws; ++i) {
            const count_t bin = numbers.next();
            const rank_t owner = parts.owner(bin);
            port.push(worker_id{owner / workers, owner % workers}, bin);
            if (i % draws_between_progress == 0) port.progress();
        }
        port.drain().wait();  // every number of every worker is in its bin
    });
    bins.close();

    const auto expected = serial_histogram(given, num_all);
    const bool is_right = std::equal(counts.begin(), counts.end(), expected.begin() + first);
    return report(world,
                  fmt::format("{} numbers in {} bins by {} workers, {}", num_all * given.num_draws,
                              given.num_bins, num_all, to_string(bins.scheme())),
                  !on_any_rank(!is_right));
}

int main(int argc, char** argv) {
    CLI::App app("Counts random numbers in bins that are spread over all ranks");
    problem given;
    std::string scheme = "auto";
    given.options.workers = 2;
    app.add_option("--draws", given.num_draws, "numbers of each worker")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--bins", given.num_bins, "bins")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--workers", given.options.workers, "threads of a rank")->capture_default_str();
    app.add_option("--scheme", scheme, "auto, ww, wps, wsp, pp or node")->capture_default_str();
    app.add_option("--route", given.options.route, "between ranks")->capture_default_str();
    app.add_option("--buffer-items", given.options.buffer_items, "numbers in a full buffer")
        ->capture_default_str();
    const auto body = [&](const auto& world) {
        given.options.scheme = crossdock::stream_scheme_from_string(scheme);
        return histogram(world, given);
    };
    return run(app, argc, argv, body, MPI_THREAD_SERIALIZED);
}

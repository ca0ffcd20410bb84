#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "crossdock/distributed_array.hpp"
#include "crossdock/gather_scatter.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/sparse_exchange.hpp"
#include "crossdock/stream.hpp"
#include "src/context/report_text_mpi.hpp"
#include "support/patterns.hpp"
#include "support/thrown_by.hpp"

namespace crossdock::report_test {
namespace {

using nlohmann::json;
using test::thrown_by;

double seconds_by_rank() {
    static double now = 0;
    return now += 1;
}

class Report : public testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
        auto process = static_cast<int>(getpid());
        MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
        file = std::filesystem::temp_directory_path() /
               ("crossdock-report-" + std::to_string(process) + ".jsonl");
    }
    void TearDown() override {
        unsetenv("CROSSDOCK_REPORT");
        unsetenv("CROSSDOCK_TRACE");
        if (rank == 0) std::filesystem::remove(file);
    }

    // Regions of one rank each, so that every message leaves one.
    context measured(const std::string& report = "objects") const {
        return context(MPI_COMM_WORLD,
                       {.topology = std::to_string(num_ranks) + "x1", .report = report});
    }
    pattern all_to_all() const {
        return test::all_to_all_pattern(num_ranks)[static_cast<std::size_t>(rank)];
    }
    static void forward(neighbor_exchange& halo) {
        const std::vector<double> items(static_cast<std::size_t>(halo.plan().num_items()), 1.0);
        std::vector<double> slots(static_cast<std::size_t>(halo.plan().num_slots()));
        halo.forward(items, slots);
    }
    static void reverse(neighbor_exchange& halo) {
        std::vector<double> items(static_cast<std::size_t>(halo.plan().num_items()));
        const std::vector<double> slots(static_cast<std::size_t>(halo.plan().num_slots()), 1.0);
        halo.reverse(slots, items, sum{});
    }
    std::vector<json> lines() const {
        std::vector<json> all;
        std::ifstream stream(file);
        for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
        return all;
    }

    rank_t rank = 0;
    rank_t num_ranks = 1;
    std::string file;
};

// As those of a name that nobody gives.
std::string this_file_at(int line) { return "report_test.cpp:" + std::to_string(line); }

TEST_F(Report, AnExchangeCountsWhatItSends) {
    auto world = measured();
    neighbor_exchange halo(world, all_to_all(),
                           {.route = "direct", .executor = "persistent", .name = "halo of p"});
    for (int i = 0; i < 3; ++i) forward(halo);
    reverse(halo);

    const auto told = halo.report();
    const auto sent = halo.statistics();
    EXPECT_EQ(told.name, "halo of p");
    EXPECT_EQ(told.kind, "neighbor exchange");
    EXPECT_EQ(told.route, "direct");
    EXPECT_EQ(told.why, "given");
    EXPECT_EQ(told.objects, 1);
    EXPECT_EQ(told.starts, 4);
    EXPECT_EQ(told.messages, 4 * (num_ranks - 1));
    EXPECT_EQ(told.inter_region_messages, told.messages);
    EXPECT_EQ(told.bytes, 4 * 8 * sent.items);
    EXPECT_EQ(told.inter_region_bytes, told.bytes);
    EXPECT_EQ(told.estimated_gain, 0);
    EXPECT_EQ(told.measured_gain, 0);
    EXPECT_EQ(told.longest_awaited >= 0, num_ranks > 1);
    const double inside = told.packing_seconds + told.sending_seconds + told.waiting_seconds;
    EXPECT_DOUBLE_EQ(told.exchange_seconds, inside + told.overlap_seconds);
    world.close();
}

TEST_F(Report, RanksThatShareMemorySendNoMessages) {
    auto world = measured();
    neighbor_exchange halo(world, all_to_all(), {.route = "direct", .executor = "shared_memory"});
    for (int i = 0; i < 3; ++i) forward(halo);

    const auto told = halo.report();
    EXPECT_EQ(told.starts, 3);
    EXPECT_EQ(told.messages, 0);
    EXPECT_EQ(told.bytes, 0);
    world.close();
}

// The first rank's entry, with an index of 4 bytes.
TEST_F(Report, AnArrayCountsTheRequestsOfItsBatches) {
    auto world = measured();
    distributed_array<std::int64_t> counts(world, num_ranks, {.route = "direct", .name = "counts"});
    for (int i = 0; i < 3; ++i)
        counts.update(std::vector<count_t>{0}, std::vector<std::int64_t>{1}, sum{});
    const auto prepared = counts.prepare(std::vector<count_t>{0});

    const auto all = world.reports();
    ASSERT_EQ(all.size(), 2);
    EXPECT_EQ(all[0].kind, "distributed array");
    EXPECT_EQ(all[1].kind, "neighbor exchange");
    EXPECT_EQ(all[1].name, "counts");
    EXPECT_EQ(all[0].name, "counts");
    EXPECT_EQ(all[0].route, "direct");
    EXPECT_EQ(all[0].why, "given");
    EXPECT_EQ(all[0].starts, 3);
    EXPECT_EQ(all[0].bytes, rank == 0 ? 0 : 3 * (4 + 8));
    EXPECT_EQ(all[0].inter_region_bytes, all[0].bytes);
    EXPECT_GE(all[0].messages, rank == 0 ? 0 : 3);
    world.close();
}

TEST_F(Report, AStreamIsOneExchange) {
    auto world = measured();
    {
        const auto ignore = [](auto&, const stream_batch<std::int64_t>&) {};
        stream<std::int64_t> items(world, ignore, {.shared_memory = false, .name = "items"});
        for (int i = 0; i < 10; ++i) items.port().push((rank + 1) % num_ranks, i);
        items.port().drain().wait();
        const auto sent = items.statistics();
        items.close();

        const auto all = world.reports();
        ASSERT_EQ(all.size(), 1);
        EXPECT_EQ(all[0].kind, "stream");
        EXPECT_EQ(all[0].name, "items");
        EXPECT_EQ(all[0].route, "direct");
        EXPECT_EQ(all[0].starts, 1);
        EXPECT_EQ(all[0].messages, sent.mpi_messages);
        EXPECT_EQ(all[0].bytes, sent.mpi_bytes);
        EXPECT_GT(all[0].exchange_seconds, 0);
    }
    const int line = __LINE__ + 1;
    stream<std::int64_t> unnamed(world, [](auto&, const stream_batch<std::int64_t>&) {});
    EXPECT_EQ(world.reports().back().name, this_file_at(line));
    world.close();
    EXPECT_EQ(world.is_open(), false);
}

TEST_F(Report, WithoutANameThePlaceIsIt) {
    auto world = measured();
    const int line = __LINE__ + 1;
    neighbor_exchange halo(world, all_to_all());
    gather_scatter shared(world, std::vector<count_t>{1, 2});

    EXPECT_EQ(halo.report().name, this_file_at(line));
    EXPECT_EQ(shared.report().name, this_file_at(line + 1));
    world.close();
}

TEST_F(Report, ObjectsOfOneNameAreCountedTogether) {
    auto world = measured();
    std::vector<neighbor_exchange> levels;
    for (int level = 0; level < 3; ++level)
        levels.emplace_back(world, all_to_all(), neighbor_options{.name = "level"});
    auto twin = levels[0].duplicate();
    for (auto& one : levels) forward(one);
    forward(twin);
    levels.clear();

    EXPECT_EQ(twin.report().objects, 4);
    EXPECT_EQ(twin.report().starts, 4);
    ASSERT_EQ(world.reports().size(), 1U);
    EXPECT_EQ(world.reports()[0].starts, 4);
    world.close();
}

TEST_F(Report, NothingIsMeasuredUnlessAskedFor) {
    context world(MPI_COMM_WORLD);
    neighbor_exchange halo(world, all_to_all());
    forward(halo);

    const auto told = halo.report();
    EXPECT_EQ(told.route, halo.route());
    EXPECT_EQ(told.why, "estimated");
    EXPECT_EQ(told.starts, 0);
    EXPECT_EQ(told.exchange_seconds, 0);
    EXPECT_TRUE(world.reports().empty());
    world.close();
}

TEST_F(Report, SeveralFieldsAreOneStart) {
    auto world = measured();
    neighbor_exchange halo(world, all_to_all(), {.route = "direct", .executor = "persistent"});
    const std::vector<double> a(static_cast<std::size_t>(halo.plan().num_items()), 1.0);
    std::vector<double> b(static_cast<std::size_t>(halo.plan().num_slots())), c = b;
    halo.forward_fields(std::vector{std::span(a), std::span(a)},
                        std::vector{std::span(b), std::span(c)});

    EXPECT_EQ(halo.report().starts, 1);
    EXPECT_EQ(halo.report().bytes, 2 * 8 * halo.statistics().items);
    world.close();
}

TEST_F(Report, AStartThatFailsIsNotCounted) {
    auto world = measured();
    neighbor_exchange halo(world, all_to_all(), {.route = "direct"});
    const std::vector<double> items(static_cast<std::size_t>(halo.plan().num_items()), 1.0);
    std::vector<double> slots(static_cast<std::size_t>(halo.plan().num_slots()));
    if (rank == 0 && num_ranks > 1) {
        EXPECT_EQ(thrown_by([&] { halo.start(std::span(items).first(0), slots); }).code(),
                  errc::size_mismatch);
    } else {
        halo.start(items, slots);
        try {
            halo.wait();
        } catch (const error& fault) {
            EXPECT_EQ(fault.code(), errc::peer_failed);
        }
    }
    forward(halo);

    EXPECT_EQ(halo.report().starts, rank == 0 && num_ranks > 1 ? 1 : 2);
    world.close();
}

TEST_F(Report, AGatherScatterCountsTheMessagesOfItsExchanges) {
    for (const char* const method : {"owners", "holders"}) {
        auto world = measured();
        const std::vector<count_t> ids{1, 2 + rank, 3 + rank};
        gather_scatter shared(
            world, ids,
            {.method = method, .route = "direct", .executor = "persistent", .name = "dofs"});
        std::vector<double> values(3, 1.0);
        for (int i = 0; i < 2; ++i) shared.combine(values, sum{});

        const auto told = shared.report();
        EXPECT_EQ(told.kind, "gather-scatter");
        EXPECT_EQ(told.route, std::string(method) + " direct");
        EXPECT_EQ(told.starts, 2);
        EXPECT_EQ(told.messages, 2 * shared.statistics().messages);
        EXPECT_EQ(told.bytes, 2 * 8 * shared.statistics().items);
        ASSERT_EQ(world.reports().size(), 1U);
        world.close();
    }
}

TEST_F(Report, ASparseExchangeCountsWhatItSends) {
    auto world = measured();
    const rank_t next = (rank + 1) % num_ranks;
    exchange_traffic sent;
    const exchange_options how{.algorithm = "nonblocking", .sent = &sent, .name = "who asks"};
    const auto came = sparse_exchange(world, {next}, {2}, std::vector<double>{1, 2}, how);

    ASSERT_EQ(came.num_messages(), 1U);
    const auto all = world.reports();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name, "who asks");
    EXPECT_EQ(all[0].kind, "sparse exchange");
    EXPECT_EQ(all[0].route, "nonblocking");
    EXPECT_EQ(all[0].starts, 1);
    EXPECT_EQ(all[0].messages, sent.messages);
    EXPECT_EQ(all[0].bytes, sent.message_bytes);
    world.close();
}

TEST_F(Report, GainsAreThoseOfTheEstimatesAndTheTrials) {
    auto world = measured();
    neighbor_exchange halo(
        world, all_to_all(),
        {.route = "auto:measure",
         .measure = {.exchanges_each = 1, .max_lost_seconds = 1e9, .clock = seconds_by_rank}});
    EXPECT_EQ(halo.report().why, halo.is_trying() ? "trying" : "estimated");
    for (int i = 0; i < 20; ++i) forward(halo);

    const auto told = halo.report();
    const auto tried = halo.tried_routes();
    ASSERT_FALSE(halo.is_trying());
    EXPECT_EQ(told.route, halo.route());
    EXPECT_EQ(told.why, tried.empty() ? "estimated" : "measured");
    double direct = 0, own = 0, estimated_direct = 0, estimated_own = 0;
    for (const auto& one : tried) {
        if (one.route == "direct") direct = one.seconds;
        if (one.route == halo.route()) own = one.seconds;
    }
    for (const auto& one : halo.choice()->candidates) {
        if (one.route == "direct") estimated_direct = one.seconds;
        if (one.route == halo.route()) estimated_own = one.seconds;
    }
    EXPECT_EQ(told.estimated_gain, estimated_own > 0 ? estimated_direct / estimated_own : 0);
    EXPECT_EQ(told.measured_gain, own > 0 ? direct / own : 0);
    world.close();
}

TEST_F(Report, TheContextWritesTheSumsOfAllRanksWhenItIsClosed) {
    // Other ranks have another value, which nobody reads.
    setenv("CROSSDOCK_REPORT", rank == 0 ? file.c_str() : "no such thing", 1);
    {
        context world(MPI_COMM_WORLD, {.topology = std::to_string(num_ranks) + "x1"});
        neighbor_exchange halo(world, all_to_all(),
                               {.route = "direct", .executor = "persistent", .name = "halo"});
        neighbor_exchange unused(world, all_to_all(), {.route = "direct", .name = "unused"});
        for (int i = 0; i < 3; ++i) forward(halo);
        halo.close();
        world.close();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) return;

    const auto all = lines();
    ASSERT_EQ(all.size(), 2U);
    const auto& told = all[0];
    EXPECT_EQ(told["schema"], "crossdock.report/1");
    EXPECT_EQ(told["name"], "halo");
    EXPECT_EQ(told["ranks"], num_ranks);
    EXPECT_EQ(told["starts"], 3);
    EXPECT_EQ(told["messages"], 3 * num_ranks * (num_ranks - 1));
    EXPECT_EQ(told["inter_region_messages"], told["messages"]);
    EXPECT_TRUE(told["gain"]["measured"].is_null());
    EXPECT_LE(told["seconds"]["exchange"]["mean"], told["seconds"]["exchange"]["max"]);
    EXPECT_EQ(told["longest_awaited"].is_null(), num_ranks == 1);
    EXPECT_EQ(all[1]["name"], "unused");
    EXPECT_EQ(all[1]["starts"], 0);
}

TEST_F(Report, ARankThatMadeAnObjectElsewhereIsLeftOut) {
    auto world = measured(file);
    neighbor_exchange halo(
        world, all_to_all(),
        {.route = "direct", .executor = "persistent", .name = rank == 0 ? "here" : "there"});
    forward(halo);
    world.close();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) return;

    ASSERT_EQ(lines().size(), 1U);
    EXPECT_EQ(lines()[0]["name"], "here");
    EXPECT_EQ(lines()[0]["messages"], num_ranks - 1);
}

TEST_F(Report, RanksAgreeWhereItGoes) {
    if (num_ranks == 1) GTEST_SKIP();
    const auto fault =
        thrown_by([&] { context(MPI_COMM_WORLD, {.report = rank == 1 ? "objects" : "0"}); });
    EXPECT_EQ(fault.code(), errc::invalid_argument);
    EXPECT_EQ(fault.rank(), 1);
}

TEST_F(Report, TheTableHasARowForEachName) {
    object_report sum{
        .name = "halo", .kind = "neighbor exchange", .route = "three_step", .why = "measured"};
    sum.objects = 1;
    sum.starts = 100;
    sum.messages = 1200;
    sum.inter_region_messages = 400;
    sum.bytes = 51200;
    sum.exchange_seconds = 0.02;
    sum.overlap_seconds = 0.005;
    sum.packing_seconds = 0.001;
    sum.sending_seconds = 0.002;
    sum.waiting_seconds = 0.012;
    sum.estimated_gain = 2.5;
    auto max = sum;
    max.exchange_seconds = 0.006;
    max.longest_awaited = 3;
    max.longest_awaited_seconds = 0.004;
    const std::vector<reported_object> all{{4, sum, max}};

    const auto text = to_table(all);
    std::vector<std::string> words;
    std::istringstream row(text.substr(text.find('\n') + 1));
    for (std::string word; row >> word;) words.push_back(word);
    EXPECT_EQ(words,
              (std::vector<std::string>{
                  "halo", "neighbor", "exchange", "1",    "100",  "three_step", "measured", "2.50",
                  "-",    "12",       "4",        "512",  "50.0", "60.0",       "25",       "%",
                  "2.5",  "5.0",      "30.0",     "rank", "3,",   "0.004",      "s"}));
}

// A timeline in the trace event format: spans of a rank on one track, exchanges beside them.
TEST_F(Report, TimelineHasAllSpansOfAllRanks) {
    setenv("CROSSDOCK_TRACE", file.c_str(), 1);
    for (const char* const name : {"first", "second"}) {
        context world(MPI_COMM_WORLD);
        neighbor_exchange halo(world, all_to_all(), {.name = name});
        for (int i = 0; i < 20; ++i) forward(halo);
        world.close();
    }
    if (rank != 0) return;

    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    auto all = text.str();
    ASSERT_TRUE(all.ends_with("},\n"));
    const json events = json::parse(all.replace(all.size() - 2, 2, "]"));
    std::map<std::pair<int, std::string>, int> counts;  // by rank, and phase with name
    std::map<int, double> last_ends;
    for (const auto& event : events) {
        const std::string phase = event["ph"];
        ++counts[{event["pid"], phase + ' ' + std::string(event["name"])}];
        if (phase == "X") {
            EXPECT_GE(event["dur"], 0.0);
        }
        if (phase != "b" || event["name"] != "first") continue;
        EXPECT_GE(event["ts"], last_ends[event["pid"]]);
        last_ends[event["pid"]] = event["ts"];
    }
    for (int other = 0; other < num_ranks; ++other) {
        EXPECT_EQ((counts[{other, "M process_name"}]), 2);
        for (const std::string name : {"first", "second"}) {
            EXPECT_EQ((counts[{other, "b " + name}]), 20);
            EXPECT_EQ((counts[{other, "e " + name}]), 20);
            EXPECT_EQ((counts[{other, "X " + name}]), 40);  // starts and waits
        }
        EXPECT_GE((counts[{other, "X sending"}]), 40);
        EXPECT_GE((counts[{other, "X waiting"}]), 40);
    }
}

}  // namespace
}  // namespace crossdock::report_test

#include "report.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

namespace crossdock::drop_in {

namespace {

const char* destination() {
    static const char* const named = std::getenv("CROSSDOCK_REPORT");
    return named;
}

// As the linker knows it: program or library, function, and offset in it.
std::string place_of(const void* address) {
    Dl_info found{};
    if (dladdr(address, &found) == 0) return "unknown";
    const auto file = std::filesystem::path(found.dli_fname).filename().string();
    const auto* const begin =
        static_cast<const char*>(found.dli_sname != nullptr ? found.dli_saddr : found.dli_fbase);
    return fmt::format("{}:{}+{:#x}", file, found.dli_sname != nullptr ? found.dli_sname : "",
                       static_cast<const char*>(address) - begin);
}

std::string json_of(int communicator, const std::string& function, const std::string& place,
                    const call_facts& one) {
    using json = nlohmann::ordered_json;
    json plan;
    if (one.plan)
        plan = {{"route", one.plan->route},
                {"is_used", one.plan->is_used},
                {"most_neighbors", one.plan->most_neighbors},
                {"bytes", one.plan->bytes},
                {"messages_between_regions",
                 {{"direct", one.plan->messages_before}, {"route", one.plan->messages_after}}},
                {"trial_seconds",
                 {{"mpi", one.plan->trial.by_mpi}, {"route", one.plan->trial.by_plan}}}};
    const json line{{"schema", "crossdock.drop_in/1"},
                    {"communicator", communicator},
                    {"function", function},
                    {"place", place},
                    {"ranks", one.num_ranks},
                    {"calls", one.num_calls},
                    {"along_plan", one.num_planned},
                    {"why", one.why()},
                    {"set_up_seconds", one.set_up_seconds},
                    {"mpi_seconds", one.planned.by_mpi},
                    {"saved_seconds", one.seconds_saved()},
                    {"plan", plan}};
    return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Lines of several processes do not mix.
void append(const char* file, const std::string& lines) {
    const int opened = open(file, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (opened < 0) return;
    [[maybe_unused]] const auto written = write(opened, lines.data(), lines.size());
    close(opened);
}

constexpr const char* row_format =
    "{:<30} {:>4} {:>6} {:>9} {:>9} {:>9}  {:<12} {:<22} {:>9} {:>8} {:>8} {:>9} {:>9} {:>10}  "
    "{}\n";

std::string row_of(int communicator, const std::string& function, const std::string& place,
                   const call_facts& one) {
    const auto of_plan = [&](auto fact) {
        return one.plan ? fmt::format("{}", std::invoke(fact, *one.plan)) : "-";
    };
    const auto number = [](double value) { return fmt::format("{:.1f}", value); };
    return fmt::format(
        fmt::runtime(row_format), function, communicator, one.num_ranks,
        of_plan(&plan_facts::most_neighbors), one.num_calls, one.num_planned,
        of_plan(&plan_facts::route), one.why(), of_plan(&plan_facts::bytes),
        of_plan(&plan_facts::messages_before), of_plan(&plan_facts::messages_after),
        of_plan([&](const plan_facts& plan) { return number(plan.trial.by_mpi * 1e6); }),
        of_plan([&](const plan_facts& plan) { return number(plan.trial.by_plan * 1e6); }),
        number(one.set_up_seconds * 1e3), place);
}

std::string sentence_of(double saved, double by_mpi, count_t num_planned) {
    if (num_planned == 0)
        return fmt::format("crossdock: no exchange followed a plan; set-ups took about {:.3g} s\n",
                           std::abs(saved));
    const auto exchanges = fmt::format("{} exchange{}", num_planned, num_planned == 1 ? "" : "s");
    if (saved < 0)
        return fmt::format("crossdock: lost about {:.3g} s in set-ups and {}\n", -saved, exchanges);
    return fmt::format("crossdock: saved about {:.3g} s of {:.3g} s in {}\n", saved, by_mpi,
                       exchanges);
}

}  // namespace

void call_facts::add(const std::shared_ptr<const plan_facts>& along) {
    ++num_planned;
    planned.by_plan += along->trial.by_plan;
    planned.by_mpi += along->trial.by_mpi;
    if (plan != along) plan = along;
}

report* report::of_process() {
    static auto* const one = destination() != nullptr ? new report : nullptr;
    return one;
}

void report::tell() const {
    if (!is_told_) return;
    const bool is_table = std::string(destination()) == "1";
    std::string text;
    double saved = 0, by_mpi = 0;
    count_t num_planned = 0;
    for (const auto& [site, one] : calls_) {
        if (one.rank != 0) continue;
        const auto& [communicator, function, address] = site;
        text += (is_table ? row_of : json_of)(communicator, function, place_of(address), one);
        saved += one.seconds_saved();
        num_planned += one.num_planned;
        by_mpi += one.planned.by_mpi;
    }
    if (text.empty()) return;
    if (!is_table) return append(destination(), text);
    text = fmt::format(fmt::runtime(row_format), "call", "comm", "ranks", "neighbors", "calls",
                       "by plan", "route", "why", "bytes", "messages", "by route", "MPI, us",
                       "route, us", "set-up, ms", "place") +
           text + sentence_of(saved, by_mpi, num_planned);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace crossdock::drop_in

#include "report.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

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

std::string json_of(const std::string& function, const std::string& place, const call_facts& one) {
    auto text = fmt::format(
        R"({{"function": "{}", "place": "{}", "ranks": {}, "calls": {}, "along_plan": {})",
        function, place, one.num_ranks, one.num_calls, one.num_planned);
    if (one.plan)
        text += fmt::format(R"(, "route": "{}", "is_used": {}, "most_neighbors": {}, "bytes": {}, )"
                            R"("messages_between_regions": {{"direct": {}, "route": {}}}, )"
                            R"("seconds": {{"mpi": {}, "route": {}, "set_up": {}, "saved": {}}})",
                            one.plan->route, one.plan->is_used, one.plan->most_neighbors,
                            one.plan->bytes, one.plan->messages_before, one.plan->messages_after,
                            one.plan->trial.by_mpi, one.plan->trial.by_plan,
                            one.plan->set_up_seconds, one.seconds_saved());
    return text + "}\n";
}

// Lines of several processes do not mix.
void append(const char* file, const std::string& lines) {
    const int opened = open(file, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (opened < 0) return;
    [[maybe_unused]] const auto written = write(opened, lines.data(), lines.size());
    close(opened);
}

constexpr const char* row_format =
    "{:<26} {:>6} {:>9} {:>9}  {:<16} {:>9} {:>10} {:>8} {:>8} {:>9} {:>9}  {}\n";

std::string row_of(const std::string& function, const std::string& place, const call_facts& one) {
    if (!one.plan)
        return fmt::format(fmt::runtime(row_format), function, one.num_ranks, one.num_calls,
                           one.num_planned, "-", "-", "-", "-", "-", "-", "-", place);
    const auto& plan = *one.plan;
    return fmt::format(fmt::runtime(row_format), function, one.num_ranks, one.num_calls,
                       one.num_planned, plan.route + (plan.is_used ? "" : ": slower"), plan.bytes,
                       plan.messages_before, plan.messages_after,
                       fmt::format("{:.1f}", plan.trial.by_mpi * 1e6),
                       fmt::format("{:.1f}", plan.trial.by_plan * 1e6),
                       fmt::format("{:.1f}", plan.set_up_seconds * 1e3), place);
}

}  // namespace

double call_facts::seconds_saved() const {
    if (!plan) return 0;
    return static_cast<double>(num_planned) * (plan->trial.by_mpi - plan->trial.by_plan) -
           plan->set_up_seconds;
}

report* report::of_process() {
    static auto* const one = destination() != nullptr ? new report : nullptr;
    return one;
}

void report::tell() const {
    const bool is_table = std::string(destination()) == "1";
    std::string text;
    double saved = 0, by_mpi = 0;
    count_t num_planned = 0;
    for (const auto& [site, one] : calls_) {
        if (one.rank != 0) continue;
        const auto& function = std::get<1>(site);
        const auto place = place_of(std::get<2>(site));
        text += is_table ? row_of(function, place, one) : json_of(function, place, one);
        saved += one.seconds_saved();
        num_planned += one.num_planned;
        if (one.plan) by_mpi += static_cast<double>(one.num_planned) * one.plan->trial.by_mpi;
    }
    if (text.empty()) return;
    if (!is_table) return append(destination(), text);
    text =
        fmt::format(fmt::runtime(row_format), "call", "ranks", "calls", "by plan", "route", "bytes",
                    "messages", "by route", "MPI, us", "route, us", "set-up, ms", "place") +
        text +
        fmt::format("crossdock: saved about {:.3g} s of {:.3g} s in {} exchanges\n", saved, by_mpi,
                    num_planned);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace crossdock::drop_in

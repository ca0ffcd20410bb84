#include "trace_writer_mpi.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "../base/collective_mpi.hpp"
#include "../base/exchange_watch.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr std::array<const char*, 5> span_names{"packing", "sending", "waiting", "call",
                                                "exchange"};

// Goes on where a file of this kind ends.
void append_events(const std::string& file, std::string_view events) {
    if (events.empty()) return;
    constexpr std::string_view end = "\n]\n";
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(std::fopen(file.c_str(), "r+"),
                                                           std::fclose);
    const bool goes_on =
        opened && std::fseek(opened.get(), -static_cast<long>(end.size()), SEEK_END) == 0;
    if (!goes_on) opened.reset(std::fopen(file.c_str(), "w"));
    if (!opened) return;
    for (const std::string_view part : {std::string_view(goes_on ? ",\n" : "[\n"), events, end})
        std::fwrite(part.data(), 1, part.size(), opened.get());
}

}  // namespace

trace_writer::trace_writer(const communicator& comm, std::string file)
    : comm_(comm.get()),
      rank_(comm.rank()),
      num_ranks_(comm.num_ranks()),
      file_(std::move(file)),
      tags_(comm.reserve_tags(1)) {
    comm.wait_for_all();
    const double now = steady_seconds();
    double first = now;
    insist([&] { return MPI_Bcast(&first, 1, MPI_DOUBLE, 0, comm.get()); });
    offset_ = first - now;
}

std::string trace_writer::events() const {
    if (log_.spans().empty()) return {};
    fmt::memory_buffer text;
    const auto to = std::back_inserter(text);
    fmt::format_to(
        to, R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}})", rank_);
    for (const auto& span : log_.spans()) {
        using json = nlohmann::json;
        const auto name = json(span.of->name).dump(-1, ' ', false, json::error_handler_t::replace);
        const double begin = (span.begin + offset_) * 1e6, end = (span.end + offset_) * 1e6;
        if (span.kind == span_kind::exchange) {  // several may be under way
            const auto add = [&](char phase, double at) {
                fmt::format_to(to, R"(,
{{"ph":"{}","cat":"exchange","id2":{{"local":"{:.3f}"}},"name":{},"pid":{},"tid":0,"ts":{:.3f}}})",
                               phase, begin, name, rank_, at);
            };
            add('b', begin);
            add('e', end);
            continue;
        }
        const std::string kind = span_names[static_cast<std::size_t>(span.kind)];
        fmt::format_to(to, R"(,
{{"ph":"X","cat":"{}","name":{},"pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f}}})",
                       kind, span.kind == span_kind::call ? name : '"' + kind + '"', rank_, begin,
                       end - begin);
    }
    return {text.data(), text.size()};
}

void trace_writer::write() const {
    std::string text;
    try {
        text = events();
    } catch (const std::bad_alloc&) {  // nothing of this rank then
    }
    const auto tag = tags_.first();
    if (rank_ != 0) {
        insist([&] {
            return MPI_Send(text.data(), checked_cast<int>(text.size()), MPI_CHAR, 0, tag, comm_);
        });
        return;
    }
    append_events(file_, text);
    for (rank_t other = 1; other < num_ranks_; ++other) {
        MPI_Status status;
        int length = 0;
        insist([&] { return MPI_Probe(other, tag, comm_, &status); });
        insist([&] { return MPI_Get_count(&status, MPI_CHAR, &length); });
        resize_with_reserve(text, static_cast<std::size_t>(length));
        insist([&] {
            return MPI_Recv(text.data(), length, MPI_CHAR, other, tag, comm_, MPI_STATUS_IGNORE);
        });
        append_events(file_, text);
    }
}

}  // namespace crossdock

#include "trace_writer_mpi.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>

#include "../base/collective_mpi.hpp"
#include "../base/exchange_watch.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr std::array<const char*, 5> span_names{"packing", "sending", "waiting", "call",
                                                "exchange"};

// The format lets the last bracket be missing, so that several programs may add to a file, one at a time.
void append_events(const std::string& file, const std::string& events) {
    if (events.empty()) return;
    const int opened = open(file.c_str(), O_RDWR | O_CREAT | O_APPEND, 0666);
    if (opened < 0) return;
    flock(opened, LOCK_EX);
    struct stat found {};
    const bool is_new = fstat(opened, &found) == 0 && found.st_size == 0;
    const auto text = with_reserve([&] { return (is_new ? "[\n" : "") + events; });
    [[maybe_unused]] const auto written = ::write(opened, text.data(), text.size());
    close(opened);
}

int rank_of_process() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
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
    if (log_->spans().empty()) return {};
    fmt::memory_buffer text;
    const auto to = std::back_inserter(text);
    const int process = rank_of_process();
    fmt::format_to(to, R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}},
)",
                   process);
    for (const auto& span : log_->spans()) {
        using json = nlohmann::json;
        const auto name = json(span.of->name).dump(-1, ' ', false, json::error_handler_t::replace);
        const double begin = (span.begin + offset_) * 1e6, end = (span.end + offset_) * 1e6;
        if (span.kind == span_kind::exchange) {  // several may be under way
            const auto add = [&](char phase, double at) {
                fmt::format_to(
                    to,
                    R"({{"ph":"{}","cat":"exchange","id2":{{"local":"{:.3f}"}},"name":{},"pid":{},"tid":0,"ts":{:.3f}}},
)",
                    phase, begin, name, process, at);
            };
            add('b', begin);
            add('e', end);
            continue;
        }
        const std::string kind = span_names[static_cast<std::size_t>(span.kind)];
        fmt::format_to(
            to, R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f}}},
)",
            kind, span.kind == span_kind::call ? name : '"' + kind + '"', process, begin,
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

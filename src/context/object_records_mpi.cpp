#include "object_records_mpi.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "../base/collective_mpi.hpp"
#include "../base/environment_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "report_text_mpi.hpp"

namespace crossdock {

namespace {

// The numbers of a report that are added up, and whose maximum is taken.
constexpr double object_report::*reported_seconds[] = {
    &object_report::exchange_seconds, &object_report::overlap_seconds,
    &object_report::packing_seconds, &object_report::sending_seconds,
    &object_report::waiting_seconds};
constexpr count_t object_report::*reported_counts[] = {
    &object_report::messages, &object_report::bytes, &object_report::inter_region_messages,
    &object_report::inter_region_bytes};

// As one write, so that lines of several programs do not mix.
void append_to(const std::string& file, const std::string& lines) {
    const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (opened < 0) return;
    [[maybe_unused]] const auto written = write(opened, lines.data(), lines.size());
    close(opened);
}

}  // namespace

std::string object_name(const std::string& name, const std::source_location& place) {
    if (!name.empty()) return name;
    const std::string_view file = place.file_name();
    if (place.line() == 0) return "unnamed";
    return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(place.line());
}

object_report report_of(const watched_object& one) {
    object_report all{.name = one.name, .kind = one.kind, .route = one.route, .why = one.why};
    all.objects = one.objects;
    all.starts = one.starts;
    all.messages = one.sent.messages;
    all.bytes = one.sent.bytes;
    all.inter_region_messages = one.sent.inter_region_messages;
    all.inter_region_bytes = one.sent.inter_region_bytes;
    all.exchange_seconds = one.exchange_seconds;
    all.overlap_seconds = one.exchange_seconds - one.inside_seconds;
    const auto& [packing, sending, waiting] = one.sampled_seconds;
    const double sampled = packing + sending + waiting;
    const double scale = sampled > 0 ? one.inside_seconds / sampled : 0;
    all.packing_seconds = scale * packing;
    all.sending_seconds = scale * sending;
    all.waiting_seconds = scale * waiting;
    for (const auto& [rank, seconds] : one.awaited_seconds) {
        if (scale * seconds <= all.longest_awaited_seconds) continue;
        all.longest_awaited = rank;
        all.longest_awaited_seconds = scale * seconds;
    }
    all.estimated_gain = one.estimated_gain;
    all.measured_gain = one.measured_gain;
    return all;
}

object_records::object_records(const communicator& comm)
    : comm_(comm.get()), rank_(comm.rank()), num_ranks_(comm.num_ranks()) {
    const auto& asked = comm.resource<environment>();
    set_destination(asked.report());
    if (!asked.trace().empty())
        trace_ = with_reserve([&] { return std::make_unique<trace_writer>(comm, asked.trace()); });
}

void object_records::set_destination(const std::string& report) {
    if (report.empty()) return;
    with_reserve([&] { destination_ = report == "0" ? "" : report; });
}

const watched_object* object_records::find(const std::string& kind,
                                           const std::string& name) const noexcept {
    for (const auto& one : objects_)
        if (one->name == name && one->kind == kind) return one.get();
    return nullptr;
}

std::shared_ptr<watched_object> object_records::add(const char* kind, const std::string& name) {
    const auto found = std::ranges::find_if(
        objects_, [&](const auto& one) { return one->name == name && one->kind == kind; });
    if (found != objects_.end()) return *found;
    auto made = std::make_shared<watched_object>();
    made->kind = kind;
    made->name = name;
    made->trace = trace_ ? trace_->log() : nullptr;
    if (watchdog::is_on) {
        static auto& all = *new std::vector<std::shared_ptr<watched_object>>;
        static std::mutex of_all;
        const std::scoped_lock lock(of_all);
        all.push_back(made);
        made->is_lasting = true;
    }
    return objects_.emplace_back(std::move(made));
}

std::unique_ptr<exchange_watch> object_records::new_watch(const char* kind, const std::string& name,
                                                          const std::source_location& place,
                                                          watched_role role) {
    if (!is_measured() && !watchdog::is_on) return nullptr;
    const auto clock = is_measured() ? steady_seconds : +[]() noexcept { return 0.0; };
    return with_reserve([&] {
        auto of = add(kind, object_name(name, place));
        ++of->objects;
        return std::make_unique<exchange_watch>(std::move(of), role, clock);
    });
}

std::vector<object_report> object_records::reports() const {
    std::vector<object_report> all;
    for (const auto& one : objects_) all.push_back(report_of(*one));
    return all;
}

// Each with a null character.
std::string object_records::names() const {
    std::string all;
    for (const auto& one : objects_) all += one->kind + '\0' + one->name + '\0';
    return all;
}

void object_records::close() {
    if (!destination_.empty() && destination_ != "objects") write_report();
    if (trace_) trace_->write();
}

// Names are those of rank 0. Another rank may have made the same objects in another place.
void object_records::write_report() {
    std::string all_names = rank_ == 0 ? with_reserve([&] { return names(); }) : "";
    auto length = static_cast<int>(all_names.size());
    insist([&] { return MPI_Bcast(&length, 1, MPI_INT, 0, comm_); });
    resize_with_reserve(all_names, static_cast<std::size_t>(length));
    insist([&] { return MPI_Bcast(all_names.data(), length, MPI_CHAR, 0, comm_); });

    std::vector<double> sums, maxima;
    struct awaited_rank {
        double seconds;
        int rank;
    };
    std::vector<awaited_rank> longest;
    std::vector<object_report> own;
    with_reserve([&] {
        own.clear(), sums.clear(), longest.clear();
        for (std::size_t at = 0; at < all_names.size();) {
            const std::string kind = all_names.c_str() + at;
            const std::string name = all_names.c_str() + at + kind.size() + 1;
            at += kind.size() + name.size() + 2;
            const auto* const known = find(kind, name);
            own.push_back(known ? report_of(*known) : object_report{.name = name, .kind = kind});
            for (const auto field : reported_seconds) sums.push_back(own.back().*field);
            for (const auto field : reported_counts)
                sums.push_back(static_cast<double>(own.back().*field));
            longest.push_back({own.back().longest_awaited_seconds, own.back().longest_awaited});
        }
        maxima = sums;
    });
    const auto reduce = [&](auto& values, MPI_Datatype type, MPI_Op op) {
        const void* const from = rank_ == 0 ? MPI_IN_PLACE : values.data();
        insist([&] {
            return MPI_Reduce(from, values.data(), static_cast<int>(values.size()), type, op, 0,
                              comm_);
        });
    };
    reduce(sums, MPI_DOUBLE, MPI_SUM);
    reduce(maxima, MPI_DOUBLE, MPI_MAX);
    reduce(longest, MPI_DOUBLE_INT, MPI_MAXLOC);
    if (rank_ != 0 || own.empty()) return;
    try {
        std::vector<reported_object> all;
        auto sum = sums.begin(), max = maxima.begin();
        for (std::size_t k = 0; k < own.size(); ++k) {
            auto& one = all.emplace_back(reported_object{num_ranks_, own[k], own[k]});
            for (const auto field : reported_seconds) {
                one.sum.*field = *sum++;
                one.max.*field = *max++;
            }
            for (const auto field : reported_counts) {
                one.sum.*field = static_cast<count_t>(*sum++);
                one.max.*field = static_cast<count_t>(*max++);
            }
            one.max.longest_awaited = longest[k].rank;
            one.max.longest_awaited_seconds = longest[k].seconds;
        }
        if (destination_ == "1") {
            const auto text = to_table(all);
            std::fwrite(text.data(), 1, text.size(), stderr);
        } else {
            std::string lines;
            for (const auto& one : all) lines += to_json(one);
            append_to(destination_, lines);
        }
    } catch (const std::bad_alloc&) {  // no report then
    }
}

}  // namespace crossdock

/// @file
/// @brief Where the time of an object's exchanges goes.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include "crossdock/types.hpp"
#include "trace_log.hpp"
#include "watchdog.hpp"

namespace crossdock {

/// @brief What a rank does inside of an object's calls.
enum class activity : unsigned char {
    packing,  ///< copies and combines values
    sending,  ///< begins to send or receive, and all else in a start
    waiting,  ///< all else in a test or wait
};

/// @brief What a rank sends by MPI, and what of it leaves its region.
struct mpi_traffic {
    count_t messages = 0;
    count_t bytes = 0;
    count_t inter_region_messages = 0;
    count_t inter_region_bytes = 0;
};

/// @brief What all objects of one name have done on this rank.
struct watched_object {
    std::string kind = "";
    std::string name = "";
    std::string route = "";
    std::string why = "";
    double estimated_gain = 0;
    double measured_gain = 0;
    count_t objects = 0;
    count_t starts = 0;
    mpi_traffic sent = {};
    double exchange_seconds = 0;
    double inside_seconds = 0;                   ///< of these, in the object's calls
    std::array<double, 3> sampled_seconds{};     ///< of these, by activity; of some exchanges
    std::map<rank_t, double> awaited_seconds{};  ///< of what was waited then: until who came
    std::shared_ptr<trace_log> trace = nullptr;  ///< its timeline, if that is asked for
    bool is_lasting = false;                     ///< as long as the process, as lines may name it
};

/// @brief Whether Caliper is in this process, so that calls are regions of its profile.
bool has_caliper() noexcept;

/// @brief Seconds of a steady clock.
double steady_seconds() noexcept;

/// @brief What part of an object is watched.
enum class watched_role : unsigned char {
    whole,    ///< all of it
    outside,  ///< its calls, but not what its exchanges do
    part,     ///< one of these exchanges
};

/// @brief The stopwatch of one object.
///
///     calls       |start|             |test|    | wait     |
///     begin, leave ^   ^     enter, leave^ ^    ^  finish  ^ leave
///     exchange    |--------------------------------------- |
///     overlap           |-------------|    |----|
///
/// What happens inside of calls is measured in the first eight exchanges and in every 16th: a clock costs 20 ns a look.
/// It is measured always for a timeline.
class exchange_watch {
  public:
    /// @param clock  seconds since any moment
    explicit exchange_watch(std::shared_ptr<watched_object> of,
                            watched_role role = watched_role::whole,
                            double (*clock)() noexcept = steady_seconds)
        : of_(std::move(of)), role_(role), clock_(clock), number_(of_->objects) {
        note(rank_act::made);
    }

    watched_object& object() const noexcept { return *of_; }
    const std::shared_ptr<watched_object>& shared() const noexcept { return of_; }
    /// @brief Of one more object of the same name.
    std::unique_ptr<exchange_watch> twin() const {
        if (role_ != watched_role::part) ++of_->objects;
        return std::make_unique<exchange_watch>(of_, role_, clock_);
    }

    /// @brief A start begins. If `note_started` does not follow, it has failed.
    void begin() noexcept;
    void note_started() noexcept {
        is_started_ = true;
        is_over_ = false;
    }
    /// @brief A test or wait begins.
    void enter(rank_act as = rank_act::waits) noexcept;
    /// @brief A call ends.
    void leave() noexcept;
    /// @brief The exchange will be over with the present call.
    void finish(const mpi_traffic& sent) noexcept {
        sent_ = sent;
        is_over_ = has_begun_;
    }

    /// @brief Null where what happens inside of the present exchange is not measured, and no wait is watched.
    exchange_watch* details() noexcept { return is_sampled_ || watchdog::is_on ? this : nullptr; }
    /// @brief Which object of its name this is, from 1.
    count_t number() const noexcept { return number_; }
    /// @brief The number of exchanges that were started, with the present one.
    count_t exchange() const noexcept { return exchange_; }
    /// @brief The rank does something else from now on; does nothing outside of calls.
    /// @return what it did
    activity change(activity next) noexcept;
    /// @brief It still does what it did before the last `change`.
    void go_back(activity before) noexcept { activity_ = before; }
    /// @brief What was waited since the last arrival, was waited for this one.
    void note_arrival(rank_t from) noexcept;

  private:
    void go_in(activity first) noexcept;
    void note(rank_act what) const noexcept {
        if (role_ == watched_role::part) return;
        watchdog::note(what, of_->is_lasting ? of_.get() : nullptr, number_, exchange_);
    }
    // Those of a part take place in calls of the whole.
    bool has_region() const noexcept { return role_ != watched_role::part && has_caliper(); }
    void note_exchange(double now) noexcept;
    void note_activity(double now) noexcept;
    void trace(span_kind kind, double from, double to) const noexcept {
        if (of_->trace) of_->trace->add({of_.get(), kind, from, to});
    }
    double& seconds(activity a) noexcept { return seconds_[static_cast<std::size_t>(a)]; }

    std::shared_ptr<watched_object> of_;
    watched_role role_;
    double (*clock_)() noexcept;
    count_t number_;
    count_t exchange_ = 0;
    bool is_tested_ = false;  // and nothing else since
    bool has_begun_ = false;
    bool is_started_ = false;
    bool is_inside_ = false;
    bool is_over_ = false;
    bool is_sampled_ = false;
    const exchange_watch* outer_ = nullptr;  // in whose call the present one takes place
    activity activity_ = activity::waiting;
    double begin_ = 0;
    double entered_ = 0;
    double inside_ = 0;
    double since_ = 0;  // the present activity
    double noted_ = 0;  // of the seconds waited: until the last arrival
    std::array<double, 3> seconds_{};
    mpi_traffic sent_;
};

/// @brief A test or wait of an object that is watched, or is not.
class watched_call {
  public:
    explicit watched_call(exchange_watch* watch, rank_act as = rank_act::waits) noexcept
        : watch_(watch) {
        if (watch_) [[unlikely]]
            watch_->enter(as);
    }
    ~watched_call() {
        if (watch_) [[unlikely]]
            watch_->leave();
    }
    watched_call(const watched_call&) = delete;
    watched_call& operator=(const watched_call&) = delete;

  protected:
    struct start {};
    watched_call(exchange_watch* watch, start) noexcept : watch_(watch) {
        if (watch_) [[unlikely]]
            watch_->begin();
    }

  private:
    exchange_watch* watch_;
};

/// @brief A start of one.
class watched_start : watched_call {
  public:
    explicit watched_start(exchange_watch* watch) noexcept : watched_call(watch, start{}) {}
};

/// @brief What takes place in such a call.
class watched_part {
  public:
    watched_part(exchange_watch* details, activity what) noexcept : details_(details) {
        if (details_) [[unlikely]]
            before_ = details_->change(what);
    }
    ~watched_part() {
        if (details_) [[unlikely]]
            details_->change(before_);
    }
    watched_part(const watched_part&) = delete;
    watched_part& operator=(const watched_part&) = delete;

  private:
    exchange_watch* details_;
    activity before_ = activity::waiting;
};

}  // namespace crossdock

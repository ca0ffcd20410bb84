/// @file
/// @brief Long work: how far it is, and that it can be ended.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

namespace crossdock::tool {

/// @brief The exit code of work that Ctrl-C ended, as shells have it.
inline constexpr int interrupted = 130;

/// @brief While it lives, Ctrl-C ends the process, and a terminal shows how far the work is.
///
/// On SIGINT the process says so on standard error, with what was told last, and exits with
/// `interrupted`. It does so at once, also inside of calls that know nothing of it; results that are
/// printed when all is done are then not printed at all.
class progress {
  public:
    /// @param verb  what is interrupted, "simulate"
    explicit progress(const std::string& verb);
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    /// @brief Replaces the line on standard error if that is a terminal, ten times a second at most.
    /// @param where  "route 2 of 14, 30 percent"
    void tell(const std::string& where);

  private:
    std::string verb_;
    bool is_shown_;
    std::chrono::steady_clock::time_point next_;
    struct sigaction previous_ {};
};

}  // namespace crossdock::tool

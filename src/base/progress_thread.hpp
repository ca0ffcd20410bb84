/// @file
/// @brief A thread that looks for work again and again.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace crossdock {

/// @brief Calls a function again and again while there is work.
///
/// It pauses ten times as long as it takes to wake up, since a rank without a core to spare loses that time: some 20 us
/// on a machine of one's own, and some 200 us on a virtual one.
class progress_thread {
  public:
    /// @param look  returns whether there is work; does not throw
    explicit progress_thread(std::function<bool()> look);
    ~progress_thread() { stop(); }
    progress_thread(const progress_thread&) = delete;
    progress_thread& operator=(const progress_thread&) = delete;

    /// @brief Keeps the thread from looking; it does not wait for this, but comes again.
    void hold() { mutex_.lock(); }
    void release() noexcept { mutex_.unlock(); }

    /// @brief Says that there is work. To be called by who holds it.
    void wake() noexcept {
        if (!is_asleep_) return;
        is_asleep_ = false;
        work_came_.notify_one();
    }

    void stop() noexcept;

  private:
    void run();

    std::recursive_mutex mutex_;
    std::condition_variable_any work_came_;
    bool is_asleep_ = false;
    bool is_stopped_ = false;
    std::function<bool()> look_;
    std::thread thread_;
};

}  // namespace crossdock

/// @file
/// @brief The gather-scatters of a communicator that owe a second half to others.
#pragma once

#include <algorithm>
#include <vector>

#include "crossdock/communicator.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

/// @brief Goes on with operations whose first half is under way, while a rank waits elsewhere.
///
/// One at a time: what an operation waits for makes progress on all work, and so would come here
/// again for every other one.
class started_gathers final : public communicator_resource, private background_work {
  public:
    explicit started_gathers(const communicator&) {}

    void add(const communicator& comm, background_work& one) {
        if (all_.empty()) comm.add_work(this);
        append_with_reserve(all_, &one);
    }

    void remove(const communicator& comm, background_work& one) noexcept {
        std::erase(all_, &one);
        if (all_.empty()) comm.remove_work(this);
    }

  private:
    void progress() override {
        if (is_in_progress_) return;
        is_in_progress_ = true;
        const auto present = with_reserve([&] { return all_; });
        for (auto* const one : present) one->progress();
        is_in_progress_ = false;
    }

    std::vector<background_work*> all_;
    bool is_in_progress_ = false;
};

}  // namespace crossdock

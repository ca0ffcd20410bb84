/// @file
/// @brief Exchanges of a device's arrays through memory of the host: what is copied when, and what waits for what.
///
///     start   on the stream: pack, copy down, event `down`
///     later   once `down` is complete: the exchange on the host starts
///     wait    until that is complete; on the stream: copy up, unpack, event `up`
///
/// The next start lets its stream wait for `up`. So once its own `down` is complete, nothing uses the memory of the
/// exchange before any more.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "crossdock/communicator.hpp"
#include "crossdock/error.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "owned.hpp"

namespace crossdock::device {

/// @brief A list in memory of a device.
class device_list {
  public:
    /// @brief Blocks until it is there.
    device_list(driver& on, std::span<const count_t> values);

    const count_t* get() const { return reinterpret_cast<const count_t*>(memory_.get()); }

  private:
    device_memory memory_;
};

/// @brief The places of an array that travel, and memory for what is there. Places that follow each other are copied
/// without a kernel.
class travelling_places {
  public:
    travelling_places(driver& on, std::vector<count_t> places);

    /// @brief Makes room for items of a size.
    void grow(std::size_t item_bytes);
    bool has_room(std::size_t item_bytes) const { return pinned_.holds(bytes_of(item_bytes)); }
    /// @brief Enqueues to bring the items down from an array of a device.
    void bring_down(const std::byte* array, std::size_t item_bytes, stream on);
    /// @brief Enqueues to bring the items up to an array of a device.
    void bring_up(std::byte* array, std::size_t item_bytes, stream on);

    count_t size() const { return size_; }
    /// @brief What is on the host.
    std::span<std::byte> on_host(std::size_t item_bytes) const {
        return {pinned_.get(), bytes_of(item_bytes)};
    }
    void abandon() noexcept { pinned_.abandon(); }

  private:
    std::size_t bytes_of(std::size_t item_bytes) const {
        return static_cast<std::size_t>(size_) * item_bytes;
    }

    driver* on_;
    count_t size_;
    count_t first_ = 0;
    std::optional<device_list> list_;  // unset where places are consecutive
    device_memory packed_;
    pinned_memory pinned_;
};

/// @brief Throws unless a device can use an array of `num_values` values or more.
/// @param is_used  whether there is a value that it will use
/// @param what     of the values, such as "items"
void require_array(driver& on, std::span<const std::byte> array, count_t num_values,
                   std::size_t value_bytes, bool is_used, const char* what);

/// @brief The path that values take, and why.
std::string explain_path(const driver& on);

/// @brief One exchange through memory of the host, and its progress.
///
/// While the copy down is under way it is background work of its communicator: any wait of the library starts the
/// exchange on the host once the copy is done.
class staging : public background_work, public communicator_user {
  public:
    /// @param prepared, item_bytes  what starts on the host are ready for; 0 is the default
    staging(const communicator& comm, std::shared_ptr<driver> on, preparation prepared,
            std::size_t item_bytes);
    staging(const staging&) = delete;
    staging& operator=(const staging&) = delete;

    bool is_active() const noexcept { return phase_ != phase::idle; }
    bool test(stream on);
    void wait(stream on);
    void progress() final;
    const char* activity() const final;

  protected:
    ~staging() = default;

    /// @brief Starts: `pack` checks its arguments, and enqueues what brings them down. If the exchange on the host may
    /// wait for others when it starts, this call starts it.
    template <class Pack>
    void begin(stream on, bool is_trying, bool is_reverse, std::size_t item_bytes, Pack&& pack) {
        const bool may_block = !is_ready(is_reverse, item_bytes) || is_trying;
        require_state(!is_active(),
                      "an exchange is active already: wait for it before the next start");
        try {
            on_->let_wait(on, up_);
            pack();
            on_->record(down_, on);
            may_block ? on_->wait(down_) : comm_.add_work(this);
        } catch (...) {
            const error why = current_error();
            fail_on_host(why);
            throw why;
        }
        if (may_block) start_on_host();
        phase_ = may_block ? phase::exchanging : phase::packing;
    }

    /// @brief Until the device uses nothing of an exchange before; to be called before memory is given back.
    void wait_until_unused() { on_->wait(up_); }
    /// @brief As above, and ends an exchange that was not waited for; what derives from this calls it in its
    /// destructor.
    void settle() noexcept;

    virtual void start_on_host() = 0;
    virtual void fail_on_host(const error& why) = 0;
    virtual bool test_on_host() = 0;
    virtual void wait_on_host() = 0;
    virtual bool is_active_on_host() const = 0;
    /// @brief Enqueues what brings the result up.
    virtual void unpack(stream on) = 0;

  private:
    enum class phase { idle, packing, exchanging };

    bool is_ready(bool is_reverse, std::size_t item_bytes);
    void leave_packing() noexcept;
    template <class Part>
    auto look(Part&& part);
    void finish(stream on);

    communicator comm_;
    std::shared_ptr<driver> on_;
    owned_event down_, up_;
    phase phase_ = phase::idle;
    // Directions and sizes of items that the host is ready for, the last used at the end. It keeps eight.
    std::vector<std::pair<bool, std::size_t>> ready_;
    std::optional<error> fault_;
};

}  // namespace crossdock::device

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
    device_list(driver& on, std::span<const count_t> values) : memory_(on, values.size_bytes()) {
        copy_in(on, memory_.get(), values.data(), values.size_bytes(), nullptr);
    }

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

/// @brief The device, the path that values take, and why.
std::string explain_path(const driver& on, const char* path, const std::string& why);

/// @brief One exchange, by messages from the host's memory or a device's, and its progress.
///
/// While a device packs it is background work of its communicator: any wait of the library starts the messages once
/// that is done.
class staging : public background_work, public communicator_user {
  public:
    /// @param prepared, item_bytes  what starts on the host are ready for; 0 is the default
    staging(const communicator& comm, std::shared_ptr<driver> on, preparation prepared,
            std::size_t item_bytes);
    staging(const staging&) = delete;
    staging& operator=(const staging&) = delete;

    bool is_active() const noexcept { return phase_ != phase::idle; }
    void require_idle() const {
        require_state(!is_active(),
                      "an exchange is active already: wait for it before the next start");
    }
    bool test(stream on);
    void wait(stream on);
    void progress() final;
    std::string activity() const final;

  protected:
    ~staging() = default;

    /// @brief Starts: `pack` checks its arguments, and enqueues what packs them. If messages may wait for other ranks
    /// when they start, this call starts them.
    template <class Pack>
    void begin(stream on, bool may_block, Pack&& pack) {
        require_idle();
        try {
            pack();
            on_->record(down_, on);
            may_block ? on_->wait(down_) : comm_.add_work(this);
        } catch (...) {
            const error why = current_error();
            fail_messages(why);
            throw why;
        }
        if (may_block) start_messages();
        phase_ = may_block ? phase::exchanging : phase::packing;
    }

    /// @brief Whether messages through the host wait for nobody when they start next, with items of a size.
    bool is_ready(bool is_reverse, std::size_t item_bytes);
    /// @brief The stream waits until memory of the exchange before is unused; `pack` begins with it.
    void let_wait_for_last(stream on) { on_->let_wait(on, up_); }
    /// @brief Until the device uses nothing of an exchange before; to be called before memory is given back.
    void wait_until_unused() { on_->wait(up_); }
    /// @brief As above, and ends an exchange that was not waited for; what derives from this calls it in its
    /// destructor.
    void settle() noexcept;

    virtual void start_messages() = 0;
    virtual void fail_messages(const error& why) = 0;
    virtual bool test_messages() = 0;
    virtual void wait_for_messages() = 0;
    virtual bool are_messages_active() const = 0;
    /// @brief Enqueues what brings the result up.
    virtual void unpack(stream on) = 0;

  private:
    enum class phase { idle, packing, exchanging };

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

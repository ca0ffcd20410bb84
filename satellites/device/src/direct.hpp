/// @file
/// @brief Neighbor exchanges of a device's arrays by an MPI that reads and writes the device's memory: one hop, without
/// the host.
///
///     start   on the stream: pack, event `down`
///     later   once `down` is complete: MPI sends what is packed, and receives into other memory of the device
///     wait    until that is complete; on the stream: unpack, event `up`
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crossdock/context.hpp"
#include "crossdock/neighbor_exchange.hpp"
#include "crossdock/pattern.hpp"
#include "staging.hpp"

namespace crossdock::device {

/// @brief Why MPI does not take memory of a device, or nothing if it does: it says so in a function of its own.
std::string why_mpi_refuses(const driver& on);

/// @brief A side of a pattern with one entry for each rank, by rank, and none that is empty.
neighbor_list one_entry_for_each(const neighbor_list& side);

/// @brief Messages of packed items, for each neighbor as many as items of the size that the options name need. So a
/// rank that fails need not know a size: it sends its messages without items, and takes those of others later.
class direct_messages {
  public:
    /// @param sends, receives  of `one_entry_for_each`; receives in reverse what it sends forward
    direct_messages(const communicator& comm, const neighbor_list& sends,
                    const neighbor_list& receives, const neighbor_options& options);
    ~direct_messages();
    direct_messages(const direct_messages&) = delete;
    direct_messages& operator=(const direct_messages&) = delete;

    /// @brief Precedes the first start.
    /// @par Collective
    /// Yes.
    void reserve_tag() { tag_ = comm_.reserve_tags(1); }

    /// @throws error(errc::count_overflow)  a message would be longer than MPI counts
    void require_countable(std::size_t item_bytes) const;
    /// @brief Sends from packed items, and receives into others.
    void start(bool is_reverse, const std::byte* from, std::byte* to, std::size_t item_bytes);
    void fail(bool is_reverse, const error& why);
    /// @throws error(errc::peer_failed)  a message has come without its items
    bool test();
    void wait();
    bool is_active() const noexcept { return is_active_; }

  private:
    struct late_messages;
    struct part {
        rank_t peer;
        std::size_t first_item, num_items;
    };

    communicator comm_;
    tag_block tag_;
    std::vector<part> parts_[2];  // received forward, sent forward
    bool is_active_ = false;
    // Of this exchange.
    bool is_reverse_ = false;
    std::size_t item_bytes_ = 0;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    std::shared_ptr<std::vector<rank_t>>
        untaken_;  // senders to a start of this rank that has failed
};

/// @brief What a device packs, and where it puts what comes.
class direct_memory {
  public:
    /// @param sends, receives  of `one_entry_for_each`
    direct_memory(driver& on, rank_t here, const neighbor_list& sends,
                  const neighbor_list& receives);

    void grow(std::size_t item_bytes);
    bool has_room(std::size_t item_bytes) const;
    void pack(bool is_reverse, const std::byte* items, const std::byte* slots,
              std::size_t item_bytes, stream on);
    /// @param fold  in reverse: the operation, the type, and the values of an item
    void unpack(bool is_reverse, std::byte* target, fold_call fold, std::size_t item_bytes,
                stream on);

    const std::byte* packed() const { return packed_.get(); }
    /// @brief In reverse the values of the items themselves come first.
    std::byte* received(bool is_reverse, std::size_t item_bytes) const {
        return received_.get() + (is_reverse ? bytes(num_groups_, item_bytes) : 0);
    }
    void abandon() noexcept;

  private:
    static std::size_t bytes(count_t num_items, std::size_t item_bytes) {
        return static_cast<std::size_t>(num_items) * item_bytes;
    }

    driver* on_;
    count_t num_sends_, num_receives_;
    device_list sends_, receives_;  // items and slots in the order of the messages
    // In reverse: which items get values, which values, and how many of each.
    count_t num_groups_ = 0;
    std::optional<device_list> items_, offsets_, values_;
    device_memory packed_, received_;
};

/// @brief The path of an exchange, and why.
struct path_choice {
    bool is_direct = false;
    std::string why = "as given";
};

/// @brief What a rank knows before all choose a path.
struct path_terms {
    std::string said;         // "auto", "staged" or "direct"
    std::string refusal;      // why this rank's MPI does not take memory of the device, or nothing
    bool is_refused = false;  // by a rank
    double copy_seconds = 0, message_seconds = 0;
};

/// @param sends, receives  of `one_entry_for_each`
/// @throws error(errc::invalid_state)  `direct` is said, but MPI refuses
path_terms terms_of_path(const context& where, const driver& on, const std::string& said,
                         const neighbor_list& sends, const neighbor_list& receives,
                         std::size_t item_bytes);

/// @brief Gives all ranks the worst of their terms.
/// @par Collective
/// Yes; blocks. It allocates nothing.
void agree_on_terms(const communicator& comm, path_terms& terms);

/// @brief Chooses where "auto" or "direct" is said: by what MPI can, and prices.
/// @param host  the exchange that `staged` takes
path_choice choose_path(const machine& m, const path_terms& terms,
                        const crossdock::neighbor_exchange& host);

}  // namespace crossdock::device

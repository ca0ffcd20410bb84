#include <algorithm>

#include "batch_transport_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

constexpr count_t max_message_bytes = count_t{1} << 30;

class routed_transport final : public batch_transport {
  public:
    routed_transport(const communicator& comm, const batch_route& routing, int first_tag,
                     std::pmr::memory_resource* memory)
        : routing_(routing),
          first_tag_(first_tag),
          memory_(memory),
          arrivals_(memory),
          mail_(comm, routing.regions, max_message_bytes, arrivals_) {}

    std::vector<std::byte*> make_room(std::span<const count_t> bytes) override {
        std::vector<std::byte*> rooms;
        written_.clear();
        for (const count_t length : bytes) {
            written_.push_back({raw_buffer(static_cast<std::size_t>(length), memory_), length});
            rooms.push_back(written_.back().data.data());
        }
        return rooms;
    }

    std::vector<const std::byte*> exchange_requests(std::size_t stage) override {
        const auto& [destinations, sources] = routing_.stages[stage];
        const int tag = first_tag_ + static_cast<int>(stage);
        for (std::size_t d = 0; d < destinations.size(); ++d)
            mail_.send(std::move(written_[d]), destinations[d], tag);
        auto came = with_reserve([&] { return std::vector<const std::byte*>(sources.size()); });
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const auto message = mail_.wait_for_message(tag);
            const auto position = std::lower_bound(sources.begin(), sources.end(), message.peer);
            came[static_cast<std::size_t>(position - sources.begin())] = message.data;
        }
        return came;
    }

    void start_replies(std::size_t stage, std::span<const count_t> bytes) override {
        const auto& [destinations, sources] = routing_.stages[stage];
        const int tag = first_tag_ + static_cast<int>(routing_.num_stages() + stage);
        with_reserve([&] {
            replies_.assign(destinations.size(), nullptr);
            sent_replies_.reserve(sent_replies_.size() + sources.size());
        });
        for (std::size_t d = 0; d < destinations.size(); ++d) {
            if (bytes[d] > 0)
                replies_[d] = mail_.start_receive(destinations[d], bytes[d], tag).data;
        }
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const auto& [data, length] = written_[i];
            if (length > 0) mail_.send_announced({sources[i], length, data.data()}, tag);
            sent_replies_.push_back(std::move(written_[i]));
        }
    }

    std::vector<const std::byte*> finish_replies() override {
        mail_.wait_until([&] { return mail_.are_received(); });
        return replies_;
    }

    void finish() override {
        mail_.wait_until([&] { return mail_.are_sent(); });
    }

  private:
    const batch_route& routing_;
    int first_tag_;
    std::pmr::memory_resource* memory_;
    byte_inbox arrivals_;
    mailbox mail_;
    std::vector<bundle> written_;
    std::vector<bundle> sent_replies_;
    std::vector<const std::byte*> replies_;
};

}  // namespace

std::unique_ptr<batch_transport> make_routed_transport(const communicator& comm,
                                                       const batch_route& routing, int first_tag,
                                                       std::pmr::memory_resource* memory) {
    return std::make_unique<routed_transport>(comm, routing, first_tag, memory);
}

}  // namespace crossdock

// Sends chunks as MPI messages.
#pragma once

#include <vector>

#include "crossdock/communicator.hpp"
#include "stream_transport.hpp"

namespace crossdock {

// Messages travel under two tags, so that urgent ones find room when the others have used theirs
// up. Waves are collective calls in an order that only this stream knows: the communicator is its
// own.
class mpi_transport final : public stream_transport {
  public:
    static constexpr int num_tags = 2;

    // comm: kept, and used by nothing else as long as waves may be under way. first_tag: of
    // `num_tags` reserved ones.
    mpi_transport(const communicator& comm, int first_tag, bool has_urgent);
    ~mpi_transport() override;
    mpi_transport(const mpi_transport&) = delete;
    mpi_transport& operator=(const mpi_transport&) = delete;

    void send(chunk_ref ref, std::span<const std::byte> message, rank_t destination,
              bool is_urgent) override;
    // Of the rooms that wait, at least a quarter is for urgent messages if there are any.
    void receive(chunk_ref ref, std::span<std::byte> room) override;
    // Appends; the urgent ones first, and those of one tag in the order in which MPI matched them.
    void poll(events& into) override;
    void progress() override { comm_.progress(); }

    void start_wave(const wave_sums& own) override;
    std::optional<wave_sums> test_wave() override;

    // Cancels the receives that wait. Collective; all waves must have ended.
    void close();

    // For a stream that ends without `close()`: gives up what has not come or gone.
    // @return whether MPI may still use the memory of a chunk
    bool abandon() noexcept;

  private:
    // In the order in which they were begun.
    struct transfers {
        std::vector<MPI_Request> requests;
        std::vector<chunk_ref> refs;

        std::size_t size() const noexcept { return refs.size(); }
        // Begins one, which `begin` does as a call of MPI. There is room for it before MPI has it.
        template <class Begin>
        void add(chunk_ref ref, Begin&& begin);
    };

    void take_done(transfers& pending, std::vector<chunk_ref>& into);
    void finish_sends();
    void discard_arrival() const;

    // One message in so many to a rank is complete only when its receiver has begun to take it, and keeps its chunk
    // until then. So few messages wait inside MPI for a rank that takes none, even where MPI sends at once.
    static constexpr unsigned messages_of_one_synchronous = 16;

    communicator comm_;
    int tag_;
    int urgent_tag_;
    bool has_urgent_;
    std::vector<unsigned char> num_sent_to_;  // by rank and urgency, since the last synchronous one
    transfers sends_;
    transfers receives_;
    transfers urgent_receives_;
    std::vector<int> done_;

    MPI_Datatype sums_type_ = MPI_DATATYPE_NULL;
    MPI_Op add_sums_ = MPI_OP_NULL;
    MPI_Request wave_ = MPI_REQUEST_NULL;
    // Apart from this object: MPI may write to it after `abandon()`.
    struct wave_buffers {
        wave_sums own;
        wave_sums all;
    };
    std::unique_ptr<wave_buffers> sums_ = std::make_unique<wave_buffers>();
};

}  // namespace crossdock

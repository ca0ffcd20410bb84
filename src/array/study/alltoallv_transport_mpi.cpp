#include "../../base/collective_mpi.hpp"
#include "../batch_transport_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"

namespace crossdock {

namespace {

// MPI counts in these, so that more than 2^31 bytes can travel.
const MPI_Datatype unit = MPI_C_DOUBLE_COMPLEX;
constexpr count_t unit_bytes = 2 * sizeof(double);
static_assert(unit_bytes % alignof(std::max_align_t) == 0);

// Consecutive stretches of a buffer, one for each rank.
struct stretches {
    std::vector<int> counts;
    std::vector<int> displacements;
    raw_buffer data;

    stretches(std::vector<int> num_units, std::pmr::memory_resource* memory)
        : counts(std::move(num_units)), displacements(counts.size()) {
        count_t total = 0;
        for (std::size_t rank = 0; rank < counts.size(); ++rank) {
            displacements[rank] = checked_cast<int>(total);
            total += counts[rank];
        }
        data = raw_buffer(static_cast<std::size_t>(total * unit_bytes), memory);
    }
    std::byte* of(rank_t rank) const {
        return data.data() + displacements[static_cast<std::size_t>(rank)] * unit_bytes;
    }
};

class alltoallv_transport final : public batch_transport {
  public:
    alltoallv_transport(const communicator& comm, const batch_route& routing,
                        std::pmr::memory_resource* memory)
        : comm_(comm), routing_(routing), memory_(memory) {}

    std::vector<std::byte*> make_room(std::span<const count_t> bytes) override {
        sent_.emplace_back(units_by_rank(bytes), memory_);
        return by_partner<std::byte*>(sent_.back());
    }

    std::vector<const std::byte*> exchange_requests(std::size_t) override {
        auto counts = with_reserve([&] { return std::vector<int>(sent_.back().counts.size()); });
        // Others may wait for what this rank forwards until they come here; afterwards they are
        // here.
        run_collective(comm_, [&](MPI_Request* request) {
            return MPI_Ialltoall(sent_.back().counts.data(), 1, MPI_INT, counts.data(), 1, MPI_INT,
                                 comm_.get(), request);
        });
        return exchange(counts);
    }

    void start_replies(std::size_t, std::span<const count_t> bytes) override {
        replies_ = exchange(with_reserve([&] { return units_by_rank(bytes); }));
    }
    std::vector<const std::byte*> finish_replies() override { return replies_; }
    void finish() override {}

  private:
    template <class Pointer>
    std::vector<Pointer> by_partner(const stretches& buffer) const {
        std::vector<Pointer> result;
        for (const rank_t rank : routing_.stages[0].destinations) result.push_back(buffer.of(rank));
        return result;
    }

    std::vector<int> units_by_rank(std::span<const count_t> bytes_of_others) const {
        std::vector<int> counts(static_cast<std::size_t>(comm_.num_ranks()));
        const auto& others = routing_.stages[0].destinations;
        for (std::size_t i = 0; i < others.size(); ++i) {
            counts[static_cast<std::size_t>(others[i])] =
                checked_cast<int>((bytes_of_others[i] + unit_bytes - 1) / unit_bytes);
        }
        return counts;
    }

    std::vector<const std::byte*> exchange(const std::vector<int>& counts) {
        const stretches& out = sent_.back();
        const stretches& in =
            with_reserve([&]() -> stretches& { return received_.emplace_back(counts, memory_); });
        insist([&] {
            return MPI_Alltoallv(out.data.data(), out.counts.data(), out.displacements.data(), unit,
                                 in.data.data(), in.counts.data(), in.displacements.data(), unit,
                                 comm_.get());
        });
        return with_reserve([&] { return by_partner<const std::byte*>(in); });
    }

    const communicator& comm_;
    const batch_route& routing_;
    std::pmr::memory_resource* memory_;
    std::vector<stretches> sent_;
    std::vector<stretches> received_;
    std::vector<const std::byte*> replies_;
};

}  // namespace

std::unique_ptr<batch_transport> make_alltoallv_transport(const communicator& comm,
                                                          const batch_route& routing,
                                                          std::pmr::memory_resource* memory) {
    return std::make_unique<alltoallv_transport>(comm, routing, memory);
}

}  // namespace crossdock

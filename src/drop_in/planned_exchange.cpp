#include "planned_exchange.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include "crossdock/detail/base/suspension.hpp"

namespace crossdock::drop_in {

namespace {

constexpr int num_trials = 6;  // the first of them is not counted

neighbor_options options_of(int alignment) {
    neighbor_options options;
    options.item_bytes = std::size_t{1} << alignment;
    options.prepare = preparation::forward;
    return options;
}

template <std::size_t N>
void start_items(neighbor_exchange& one, const std::byte* items, std::byte* slots) {
    using item = std::array<std::byte, N>;
    const auto& p = one.compiled_plan();
    one.start(
        std::span(reinterpret_cast<const item*>(items), static_cast<std::size_t>(p.num_items())),
        std::span(reinterpret_cast<item*>(slots), static_cast<std::size_t>(p.num_slots())));
}

template <class Exchange>
double seconds_of(Exchange&& exchange) {
    const auto begin = std::chrono::steady_clock::now();
    exchange();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

// One side of MPI_Ineighbor_alltoallw, in bytes that begin where the layout does.
struct planned_exchange::bytes_side {
    explicit bytes_side(const side_layout& layout)
        : buffer(static_cast<std::size_t>(layout.num_bytes())),
          offsets(layout.offsets.begin(), layout.offsets.end()),
          types(offsets.size(), MPI_BYTE) {
        std::ranges::transform(layout.lengths, std::back_inserter(counts),
                               [](count_t length) { return checked_cast<int>(length); });
    }

    std::vector<std::byte> buffer;
    std::vector<int> counts;
    std::vector<MPI_Aint> offsets;
    std::vector<MPI_Datatype> types;
};

planned_exchange::planned_exchange(const context& where, const pattern& p, call_layout layout,
                                   int alignment, std::size_t depth)
    : layout_(std::move(layout)), alignment_(alignment), depth_(depth), comm_(&where.comm()) {
    instances_.reserve(depth);
    instances_.emplace_back(where, p, options_of(alignment));
    if (!instances_.front().is_trying()) return;
    // No later start may wait for other ranks.
    bytes_side sends(layout_.sends);
    bytes_side receives(layout_.receives);
    while (instances_.front().is_trying()) exchange_bytes(sends, receives);
}

void planned_exchange::exchange_bytes(bytes_side& sends, bytes_side& receives) {
    start(instances_.front(), sends.buffer.data(), receives.buffer.data());
    while (!instances_.front().test()) pause_wait();
}

void planned_exchange::compare_with_mpi(MPI_Comm twin) {
    bytes_side sends(layout_.sends);
    bytes_side receives(layout_.receives);
    const auto by_mpi = [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        CROSSDOCK_MPI(PMPI_Ineighbor_alltoallw(
            sends.buffer.data(), sends.counts.data(), sends.offsets.data(), sends.types.data(),
            receives.buffer.data(), receives.counts.data(), receives.offsets.data(),
            receives.types.data(), twin, &request));
        comm_->wait(request);
    };
    const auto by_plan = [&] { exchange_bytes(sends, receives); };
    std::array<double, 2> seconds{};
    for (int i = 0; i < num_trials; ++i) {
        const std::array taken{seconds_of(by_mpi), seconds_of(by_plan)};
        for (std::size_t who = 0; who < taken.size() && i > 0; ++who) seconds[who] += taken[who];
    }
    MPI_Request reduction = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(MPI_Iallreduce(MPI_IN_PLACE, seconds.data(), 2, MPI_DOUBLE, MPI_MAX, comm_->get(),
                                 &reduction));
    comm_->wait(reduction);
    is_faster_ = seconds[1] < seconds[0];
}

neighbor_exchange& planned_exchange::next_instance() {
    const auto number = num_exchanges_++ % depth_;
    if (number == instances_.size()) instances_.push_back(instances_.front().duplicate());
    return instances_[number];
}

void planned_exchange::start(neighbor_exchange& one, const std::byte* items,
                             std::byte* slots) const {
    switch (alignment_) {
        case 0: return start_items<1>(one, items, slots);
        case 1: return start_items<2>(one, items, slots);
        case 2: return start_items<4>(one, items, slots);
        case 3: return start_items<8>(one, items, slots);
        case 4: return start_items<16>(one, items, slots);
        case 5: return start_items<32>(one, items, slots);
        default: return start_items<64>(one, items, slots);
    }
}

}  // namespace crossdock::drop_in

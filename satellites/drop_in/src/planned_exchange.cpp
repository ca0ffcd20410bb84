#include "planned_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "crossdock/extend.hpp"
#include "own_functions.hpp"
#include "own_request.hpp"
#include "progress.hpp"
#include "trial.hpp"

namespace crossdock::drop_in {

namespace {

// What blocks rarely begin with. Short ones begin with a part of it.
constexpr std::uint64_t mark = 0xfbb6'c197'e3d9'5ba5;

std::size_t mark_bytes(count_t planned) {
    return std::min(sizeof mark, static_cast<std::size_t>(planned));
}

neighbor_options options_of(int alignment) {
    neighbor_options options;
    options.item_bytes = std::size_t{1} << alignment;
    options.prepare = preparation::forward;
    return options;
}

}  // namespace

// One side of a call of bytes that lie as planned, in memory of a device or of the host.
struct bytes_side {
    bytes_side(const side_layout& layout, const device_copies* copies) {
        const auto num_bytes = static_cast<std::size_t>(layout.num_bytes());
        if (copies != nullptr) on_device.emplace(copies->on, num_bytes);
        on_host.resize(copies != nullptr ? 0 : num_bytes);
        // Open MPI wants addresses even where there is no neighbor.
        counts.reserve(layout.lengths.size() + 1);
        offsets.reserve(layout.lengths.size() + 1);
        types.reserve(layout.lengths.size() + 1);
        for (std::size_t i = 0; i < layout.lengths.size(); ++i) {
            counts.push_back(checked_cast<int>(layout.lengths[i]));
            offsets.push_back(layout.offsets[i]);
            int_offsets.push_back(checked_cast<int>(layout.offsets[i]));
            types.push_back(MPI_BYTE);
        }
    }

    // As a call of the program describes it.
    call_side as_called(bool is_shared) {
        return with_reserve([&]() -> call_side {
            std::vector<block> blocks;
            blocks.reserve(offsets.size());
            for (std::size_t i = 0; i < offsets.size(); ++i)
                blocks.push_back({offsets[i], counts[i], MPI_BYTE});
            return {data(), std::move(blocks), is_shared};
        });
    }

    std::byte* data() { return on_device ? on_device->get() : on_host.data(); }

    std::vector<std::byte> on_host;
    std::optional<device::device_memory> on_device;
    std::vector<int> counts;
    std::vector<MPI_Aint> offsets;
    std::vector<int> int_offsets;
    std::vector<MPI_Datatype> types;
};

namespace {

// MPI's exchange of bytes, as a program would call it.
class exchange_of_bytes {
  public:
    exchange_of_bytes(bytes_side& sends, bytes_side& receives, const opponent& mpi, call_form form,
                      const communicator& comm)
        : comm_(&comm) {
        const auto use = [&](auto blocking, auto nonblocking, [[maybe_unused]] auto make) {
            if (form == call_form::blocking) {
                exchange_ = [blocking] { CROSSDOCK_MPI(blocking()); };
                return;
            }
#ifdef CROSSDOCK_OWN_INIT
            if (form == call_form::persistent) {
                CROSSDOCK_MPI(make(MPI_INFO_NULL, &persistent_));
                exchange_ = [this] {
                    MPI_Request request = persistent_;
                    CROSSDOCK_MPI(PMPI_Start(&request));
                    wait(request);
                };
                return;
            }
#endif
            exchange_ = [this, nonblocking] {
                MPI_Request request = MPI_REQUEST_NULL;
                CROSSDOCK_MPI(nonblocking(&request));
                wait(request);
            };
        };
#ifdef CROSSDOCK_OWN_INIT
#define CROSSDOCK_FUNCTIONS(name, nonblocking_name) \
    PMPI_##name, PMPI_##nonblocking_name, CROSSDOCK_OWN_INIT(name, )
#else
#define CROSSDOCK_FUNCTIONS(name, nonblocking_name) PMPI_##name, PMPI_##nonblocking_name, nullptr
#endif
        const auto with = [&use](auto blocking, auto nonblocking, auto make, auto... arguments) {
            use([=] { return blocking(arguments...); },
                [=](MPI_Request* request) { return nonblocking(arguments..., request); },
                [=](MPI_Info info, MPI_Request* request) {
                    return make(arguments..., info, request);
                });
        };
        if (mpi.has_topology)
            with(CROSSDOCK_FUNCTIONS(Neighbor_alltoallw, Ineighbor_alltoallw), sends.data(),
                 sends.counts.data(), sends.offsets.data(), sends.types.data(), receives.data(),
                 receives.counts.data(), receives.offsets.data(), receives.types.data(), mpi.comm);
        else if (mpi.has_equal_blocks)
            with(CROSSDOCK_FUNCTIONS(Alltoall, Ialltoall), sends.data(), sends.counts[0], MPI_BYTE,
                 receives.data(), receives.counts[0], MPI_BYTE, mpi.comm);
        else
            with(CROSSDOCK_FUNCTIONS(Alltoallv, Ialltoallv), sends.data(), sends.counts.data(),
                 sends.int_offsets.data(), MPI_BYTE, receives.data(), receives.counts.data(),
                 receives.int_offsets.data(), MPI_BYTE, mpi.comm);
    }
    ~exchange_of_bytes() {
        if (persistent_ != MPI_REQUEST_NULL) PMPI_Request_free(&persistent_);
    }
    exchange_of_bytes(const exchange_of_bytes&) = delete;
    exchange_of_bytes& operator=(const exchange_of_bytes&) = delete;

    void operator()() const { exchange_(); }

  private:
    // As a program waits, if nothing else has to be done meanwhile.
    void wait(MPI_Request& request) const {
        if (!progress_engine::of_process().may_block(1)) return comm_->wait(request);
        CROSSDOCK_MPI(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    }

    const communicator* comm_;
    MPI_Request persistent_ = MPI_REQUEST_NULL;
    std::function<void()> exchange_;
};

}  // namespace

planned_exchange::planned_exchange(const context& where, std::span<const rank_t> destinations,
                                   std::span<const rank_t> sources, call_layout layout,
                                   bool is_shared, int alignment, marked_edges marked,
                                   std::size_t depth)
    : marked_(marked),
      alignment_(alignment),
      least_bytes_(marked == marked_edges::every ? count_t{1} << alignment : 0),
      is_shared_(is_shared),
      layout_{placed(std::move(layout.sends), true), placed(std::move(layout.receives), false)},
      has_own_items_(least_bytes_ > 0 && std::ranges::count(layout_.sends.lengths, 0) > 0),
      depth_(depth),
      comm_(&where.comm()) {
    auto sends = layout_.sends, receives = layout_.receives;
    for (auto* const side : {&sends, &receives})
        for (auto& length : side->lengths) length = std::max(length, least_bytes_);
    const auto p = pattern_of(where.rank(), where.num_ranks(), destinations, sends, sources,
                              receives, alignment);
    instances_.reserve(depth);
    instances_.emplace_back(neighbor_exchange(where, p, options_of(alignment)), *this, 0);
    const bool is_trying = instances_.front().exchange_.is_trying();
    if (!is_trying && marked_ != marked_edges::every) return;
    auto [items, slots] = on_all_or_none(*comm_, [&] {
        return std::pair(std::vector<std::byte>(num_bytes(layout_.sends)),
                         std::vector<std::byte>(num_bytes(layout_.receives)));
    });
    for (std::size_t i = 0; i < sends.lengths.size(); ++i)
        if (sends.lengths[i] > 0)
            items[static_cast<std::size_t>(sends.offsets[i])] =
                std::byte{layout_.sends.lengths[i] > 0};
    // No later start may wait for other ranks.
    do {
        instances_.front().start(items.data(), slots.data());
        wait_for_trial();
    } while (instances_.front().exchange_.is_trying());
    if (marked_ == marked_edges::every)
        on_all_or_none(*comm_, [&] { check_empty(slots, sources); });
}

// To the pattern, a block of one item is like none.
void planned_exchange::check_empty(const std::vector<std::byte>& slots,
                                   std::span<const rank_t> sources) const {
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const bool is_full = layout_.receives.lengths[i] > 0;
        const auto at = static_cast<std::size_t>(layout_.receives.offsets[i]);
        if (slots[at] == std::byte{is_full}) continue;
        throw error(errc::count_mismatch,
                    fmt::format("rank {} {} in block {} to rank {}, which has room for {} bytes",
                                sources[i], is_full ? "sends nothing" : "sends something", i,
                                comm_->rank(), layout_.receives.lengths[i]));
    }
}

// To the end of what belongs to the last block.
std::size_t planned_exchange::num_bytes(const side_layout& side) const {
    count_t end = 0;
    for (std::size_t i = 0; i < side.lengths.size(); ++i)
        end = std::max(end, side.offsets[i] + planned_bytes(side, i));
    return static_cast<std::size_t>(end);
}

// Items that are no block's are behind the blocks. What comes lies in memory of the plan, one after the other.
side_layout planned_exchange::placed(side_layout side, bool is_given) const {
    if (marked_ == marked_edges::none) return side;
    count_t end = is_given ? side.num_bytes() : 0;
    for (std::size_t i = 0; i < side.lengths.size(); ++i) {
        if (is_given && (side.lengths[i] > 0 || least_bytes_ == 0)) continue;
        side.offsets[i] = end;
        if (!is_given || !is_shared_) end += planned_bytes(side, i);
    }
    return side;
}

// The blocks that begin with the mark, and those that have none in the plan.
void planned_exchange::find_alone(const side_layout& planned, const std::byte* bytes,
                                  const side_layout& called, block_numbers& found) const {
    found.clear();
    if (marked_ == marked_edges::none) return;
    for (std::size_t i = 0; i < planned.lengths.size(); ++i) {
        const auto length = mark_bytes(planned_bytes(planned, i));
        const bool is_alone = length > 0
                                  ? std::memcmp(bytes + planned.offsets[i], &mark, length) == 0
                                  : called.lengths[i] > 0;
        if (is_alone) append_with_reserve(found, i);
    }
}

std::pair<bytes_side, bytes_side> planned_exchange::trial_sides(
    const device_copies* sends, const device_copies* receives) const {
    return on_all_or_none(*comm_, [&] {
        return std::pair(bytes_side(layout_.sends, sends), bytes_side(layout_.receives, receives));
    });
}

void planned_exchange::exchange_bytes(bytes_side& sends, bytes_side& receives) {
    instances_.front().start(sends.data(), receives.data());
    wait_for_trial();
}

void planned_exchange::wait_for_trial() {
    // As calls of the program wait.
    if (progress_engine::of_process().may_block(1)) return instances_.front().wait();
    while (!instances_.front().test()) pause_wait();
}

trial_seconds planned_exchange::compare_with_mpi(const opponent& mpi, call_form form) {
    auto [sends, receives] = trial_sides(mpi.send_copies, mpi.receive_copies);
    std::optional<exchange_of_bytes> by_function;
    if (!mpi.by_messages) by_function.emplace(sends, receives, mpi, form, *comm_);
    // With what such a call takes besides: of a persistent request, nothing.
    const auto tell_of_request = [&] {
        own_request told;
        auto request = told.receive_by(MPI_Irecv);
        told.complete(false);
        comm_->wait(request);
    };
    const bool is_copied = mpi.send_copies != nullptr || mpi.receive_copies != nullptr;
    const auto by_plan = [&] {
        if (form == call_form::persistent && !is_copied) return exchange_bytes(sends, receives);
        const auto from = sends.as_called(is_shared_), to = receives.as_called(false);
        auto& one = instances_.front();
        const auto are = one.lies_as_planned(from, to);
        one.give(from, are.sends);
        one.start(to, are.receives);
        wait_for_trial();
        if (form == call_form::nonblocking) tell_of_request();
    };
    const auto by_mpi = [&] {
        if (by_function) return (*by_function)();
        mpi.by_messages(sends.as_called(is_shared_), receives.as_called(false));
        if (form == call_form::nonblocking) tell_of_request();
    };
    return compare(*comm_, by_plan, by_mpi);
}

planned_exchange::instance& planned_exchange::next_instance(call_form form) {
    present_ = number_of_next(form);
    if (present_ == instances_.size())
        instances_.emplace_back(instances_.front().exchange_.duplicate(), *this, present_);
    return instances_[present_];
}

planned_exchange::instance* planned_exchange::find_ready(call_form form) {
    const auto next = number_of_next(form);
    return next == instances_.size() || instances_[next].is_active() ? nullptr : &instances_[next];
}

std::size_t planned_exchange::number_of_next(call_form form) const {
    return form == call_form::blocking ? present_ : (present_ + 1) % depth_;
}

bool planned_exchange::is_idle() {
    return std::ranges::none_of(instances_, [](auto& one) { return one.is_active(); });
}

auto planned_exchange::instance::lies_as_planned(const call_side& sends,
                                                 const call_side& receives) const
    -> sides_as_planned {
    const auto& planned = of_->layout_;
    return {!of_->has_own_items_ && sends.lies_as(planned.sends),
            of_->marked_ == marked_edges::none && receives.lies_as(planned.receives)};
}

void planned_exchange::instance::give(const call_side& sends, bool lie_so) {
    strays_[++num_exchanges_ % num_kept].reset();
    const auto& planned = of_->layout_.sends;
    items_ = sends.bytes();
    if (!lie_so) {
        auto* const packed = packed_.make(of_->num_bytes(planned), sends.copies());
        items_ = packed;
        sends.pack(planned, packed);
        for (std::size_t i = 0; i < planned.lengths.size(); ++i) {
            const bool differs = sends.layout().lengths[i] != planned.lengths[i];
            const auto length = mark_bytes(of_->planned_bytes(planned, i));
            if (differs)
                std::memcpy(packed + planned.offsets[i], &mark, length);
            else if (planned.lengths[i] == 0)
                std::memset(packed + planned.offsets[i], 0, length);
        }
    }
    of_->find_alone(planned, items_, sends.layout(), sent_alone_);
}

void planned_exchange::instance::start(const call_side& receives, bool lie_so,
                                       const std::exception_ptr& failure) {
    const auto& planned = of_->layout_.receives;
    std::byte* slots = receives.bytes();
    unpacked_into_ = nullptr;
    try {
        if (failure) std::rethrow_exception(failure);
        if (!lie_so) {
            slots = slots_.make(of_->num_bytes(planned), receives.copies());
            unpacked_from_ = slots;
            unpacked_into_ = &receives;
        }
    } catch (...) {
        // The others do not wait for this rank for ever.
        exchange_.fail_start(false, std::size_t{1} << of_->alignment_, current_error());
        throw;
    }
    start(items_, slots);
}

tagged_comm planned_exchange::instance::beside() const {
    const auto first = 2 * (num_exchanges_ % num_turns) + num_tags * number_;
    return {of_->comm_->get(), of_->tags_.first() + static_cast<int>(first)};
}

bool planned_exchange::instance::is_active() noexcept {
    try {
        if (std::exchange(is_left_, false)) is_left_ = !exchange_.test();
    } catch (...) {  // its call, which has ended, had an error to tell of
        is_left_ = exchange_.is_active();
    }
    return exchange_.is_active();
}

template <class Ends>
bool planned_exchange::instance::end_by(Ends&& ends) {
    try {
        if (!ends()) return false;
    } catch (...) {
        is_left_ = true;
        throw;
    }
    unpack();
    return true;
}

bool planned_exchange::instance::test() {
    return end_by([this] { return exchange_.test(); });
}

void planned_exchange::instance::wait() {
    end_by([this] {
        exchange_.wait();
        return true;
    });
}

void planned_exchange::instance::unpack() {
    const auto& planned = of_->layout_.receives;
    has_truncated_ = false;
    if (unpacked_into_ == nullptr) return;
    const auto& called = unpacked_into_->layout();
    of_->find_alone(planned, unpacked_from_, called, received_alone_);
    if (received_alone_.empty() && called.lengths == planned.lengths)
        return unpacked_into_->unpack(planned, unpacked_from_);
    unpack_different();
}

void planned_exchange::instance::unpack_different() {
    const auto& planned = of_->layout_.receives;
    const auto& called = unpacked_into_->layout();
    auto equal = with_reserve([&] { return planned; });
    for (const auto i : received_alone_) equal.lengths[i] = -1;
    unpacked_into_->unpack(equal, unpacked_from_);
    for (std::size_t i = 0; i < planned.lengths.size(); ++i) {
        if (equal.lengths[i] <= 0 || equal.lengths[i] == called.lengths[i]) continue;
        has_truncated_ = has_truncated_ || called.lengths[i] < planned.lengths[i];
        unpacked_into_->write(i, unpacked_from_ + planned.offsets[i],
                              std::min(called.lengths[i], planned.lengths[i]));
    }
}

void planned_exchange::instance::start(const std::byte* items, std::byte* slots) {
    const auto& p = exchange_.plan();
    const std::size_t item_bytes = std::size_t{1} << of_->alignment_;
    const auto bytes_of = [item_bytes](count_t num_items) {
        return static_cast<std::size_t>(num_items) * item_bytes;
    };
    exchange_.start_bytes({items, bytes_of(p.num_items())}, {slots, bytes_of(p.num_slots())},
                          item_bytes);
}

}  // namespace crossdock::drop_in

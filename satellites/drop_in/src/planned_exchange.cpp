#include "planned_exchange.hpp"

#include <algorithm>
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
        std::vector<block> blocks;
        blocks.reserve(offsets.size());
        for (std::size_t i = 0; i < offsets.size(); ++i)
            blocks.push_back({offsets[i], counts[i], MPI_BYTE});
        return {data(), std::move(blocks), is_shared};
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
                 receives.counts.data(), receives.offsets.data(), receives.types.data(),
                 mpi.edges.comm);
        else if (mpi.has_equal_blocks)
            with(CROSSDOCK_FUNCTIONS(Alltoall, Ialltoall), sends.data(), sends.counts[0], MPI_BYTE,
                 receives.data(), receives.counts[0], MPI_BYTE, mpi.edges.comm);
        else
            with(CROSSDOCK_FUNCTIONS(Alltoallv, Ialltoallv), sends.data(), sends.counts.data(),
                 sends.int_offsets.data(), MPI_BYTE, receives.data(), receives.counts.data(),
                 receives.int_offsets.data(), MPI_BYTE, mpi.edges.comm);
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

planned_exchange::planned_exchange(const context& where, const pattern& p, call_layout layout,
                                   int alignment, std::size_t depth)
    : layout_(std::move(layout)),
      alignment_(alignment),
      depth_(depth),
      comm_(&where.comm()),
      tag_(comm_->reserve_tags(1)) {
    instances_.reserve(depth);
    instances_.emplace_back(neighbor_exchange(where, p, options_of(alignment)), *this);
    if (!instances_.front().exchange_.is_trying()) return;
    // No later start may wait for other ranks.
    auto [sends, receives] = trial_sides(nullptr, nullptr);
    while (instances_.front().exchange_.is_trying()) exchange_bytes(sends, receives);
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
    if (!mpi.is_by_messages) by_function.emplace(sends, receives, mpi, form, *comm_);
    // With what such a call takes besides: of a persistent request, nothing.
    const bool is_shared = layout_.sends.has_overlaps();
    const auto tell_of_request = [&] {
        own_request told;
        auto request = told.receive_by(MPI_Irecv);
        told.complete(false);
        comm_->wait(request);
    };
    const bool is_copied = mpi.send_copies != nullptr || mpi.receive_copies != nullptr;
    const auto by_plan = [&] {
        if (form == call_form::persistent && !is_copied) return exchange_bytes(sends, receives);
        const auto from = sends.as_called(is_shared), to = receives.as_called(false);
        instances_.front().start(from, to);
        wait_for_trial();
        if (form == call_form::nonblocking) tell_of_request();
    };
    const auto by_mpi = [&] {
        if (by_function) return (*by_function)();
        const auto from = sends.as_called(is_shared), to = receives.as_called(false);
        neighbor_messages one(from, to, mpi.edges);
        if (progress_engine::of_process().may_block(1)) one.wait();
        while (!one.test()) pause_wait();
        if (form == call_form::nonblocking) tell_of_request();
    };
    return compare(*comm_, by_plan, by_mpi);
}

planned_exchange::instance& planned_exchange::next_instance(call_form form) {
    present_ = number_of_next(form);
    if (present_ == instances_.size())
        instances_.emplace_back(instances_.front().exchange_.duplicate(), *this);
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
    return {sends.lies_as(planned.sends), receives.lies_as(planned.receives)};
}

void planned_exchange::instance::start(const call_side& sends, const call_side& receives,
                                       sides_as_planned are, const std::exception_ptr& failure) {
    const auto room_for = [](host_room& room, const side_layout& planned, const call_side& side) {
        return room.make(static_cast<std::size_t>(planned.num_bytes()), side.copies());
    };
    const auto& planned = of_->layout_;
    const std::byte* items = sends.bytes();
    std::byte* slots = receives.bytes();
    unpacked_into_ = nullptr;
    try {
        if (failure) std::rethrow_exception(failure);
        if (!are.sends) {
            auto* const packed = room_for(items_, planned.sends, sends);
            sends.pack(planned.sends, packed);
            items = packed;
        }
        if (!are.receives) {
            slots = room_for(slots_, planned.receives, receives);
            unpacked_from_ = slots;
            unpacked_into_ = &receives;
        }
    } catch (...) {
        // The others do not wait for this rank for ever.
        exchange_.fail_start(false, std::size_t{1} << of_->alignment_, current_error());
        throw;
    }
    start(items, slots);
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

void planned_exchange::instance::unpack() const {
    if (unpacked_into_ != nullptr) unpacked_into_->unpack(of_->layout_.receives, unpacked_from_);
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

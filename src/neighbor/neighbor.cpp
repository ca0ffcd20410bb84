#include "crossdock/neighbor/neighbor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "crossdock/executor/flow.hpp"
#include "crossdock/neighbor/compile_mpi.hpp"

namespace crossdock {

namespace {

// The layout of a datatype, as far as it decides how its values travel.
struct datatype_layout {
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower_bound = 0;
    MPI_Aint true_extent = 0;
    int size_bytes = 0;

    explicit datatype_layout(MPI_Datatype datatype) {
        CROSSDOCK_MPI(MPI_Type_get_extent(datatype, &lower_bound, &extent));
        CROSSDOCK_MPI(MPI_Type_get_true_extent(datatype, &true_lower_bound, &true_extent));
        CROSSDOCK_MPI(MPI_Type_size(datatype, &size_bytes));
        if (size_bytes <= 0) throw error(errc::invalid_argument, "the datatype is empty");
    }

    bool is_contiguous() const {
        return lower_bound == 0 && true_lower_bound == 0 && extent == size_bytes &&
               true_extent == size_bytes;
    }
};

std::vector<count_t> sorted_unique(std::vector<count_t> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

// The items that leave their place, and the slots that are filled.
std::vector<count_t> used_items(const plan& p) {
    std::vector<count_t> items;
    const auto add = [&](count_t position) {
        if (position < p.num_items()) items.push_back(position);
    };
    for (const auto& stage : p.stages()) {
        for (const auto& message : stage.sends)
            std::for_each(message.positions.begin(), message.positions.end(), add);
    }
    for (const auto& d : p.deliveries()) add(d.position);
    return sorted_unique(std::move(items));
}

std::vector<count_t> filled_slots(const plan& p) {
    std::vector<count_t> slots;
    for (const auto& d : p.deliveries()) slots.push_back(d.slot);
    return sorted_unique(std::move(slots));
}

}  // namespace

struct neighbor::implementation {
    // Values of a datatype that is not contiguous, packed; unpacked to `slots` at the end.
    struct packed_exchange {
        void* slots;
        MPI_Datatype datatype;
        MPI_Aint extent;
        int item_bytes;
        std::unique_ptr<std::byte[]> packed_items;
        std::unique_ptr<std::byte[]> packed_slots;
    };

    implementation(const communicator& c, std::shared_ptr<const plan> compiled,
                   const neighbor_options& o)
        : comm(c),
          p(std::move(compiled)),
          options(o),
          first_tag(comm.reserve_tags(2 * num_stages())) {}

    ~implementation() {
        if (active && packed) {  // as the executor does with its own buffers
            static_cast<void>(packed->packed_items.release());
            static_cast<void>(packed->packed_slots.release());
        }
    }

    int num_stages() const { return static_cast<int>(p->stages().size()); }

    void require_idle() const {
        CROSSDOCK_ASSERT(light, active == nullptr, "an exchange is active already");
    }

    persistent_executor& executor_for(std::unique_ptr<persistent_executor>& executor,
                                      std::shared_ptr<const flow>& work, flow (*make)(const plan&),
                                      std::size_t item_bytes, int tag) {
        if (!work) work = std::make_shared<const flow>(make(*p));
        if (!executor || executor->item_bytes() != item_bytes) {
            executor.reset();
            executor = std::make_unique<persistent_executor>(comm, work, tag, item_bytes,
                                                             options.max_message_bytes);
        }
        return *executor;
    }

    void start_forward(const void* items, void* slots, std::size_t item_bytes) {
        require_idle();
        auto& executor =
            executor_for(forward_executor, forward, &forward_flow, item_bytes, first_tag);
        executor.start(items, slots);
        active = &executor;
    }

    void start_backward(const void* slots, void* items, std::size_t item_bytes,
                        combine_function combine) {
        require_idle();
        auto& executor = executor_for(backward_executor, backward, &reverse_flow, item_bytes,
                                      first_tag + num_stages());
        executor.start(slots, items, std::move(combine));
        active = &executor;
    }

    void start_packed(const void* items, void* slots, MPI_Datatype datatype,
                      const datatype_layout& layout) {
        require_idle();
        int item_bytes = 0;
        CROSSDOCK_MPI(MPI_Pack_size(1, datatype, comm.get(), &item_bytes));
        const auto bytes = static_cast<std::size_t>(item_bytes);
        const auto room_for = [&](count_t num_values) {
            return std::make_unique_for_overwrite<std::byte[]>(
                static_cast<std::size_t>(num_values) * bytes);
        };
        auto& exchange =
            packed.emplace(packed_exchange{slots, datatype, layout.extent, item_bytes,
                                           room_for(p->num_items()), room_for(p->num_slots())});
        for (const count_t item : used_items(*p)) {
            int position = 0;
            CROSSDOCK_MPI(
                MPI_Pack(static_cast<const std::byte*>(items) + item * layout.extent, 1, datatype,
                         exchange.packed_items.get() + static_cast<std::size_t>(item) * bytes,
                         item_bytes, &position, comm.get()));
        }
        start_forward(exchange.packed_items.get(), exchange.packed_slots.get(), bytes);
    }

    void unpack() {
        const auto bytes = static_cast<std::size_t>(packed->item_bytes);
        for (const count_t slot : filled_slots(*p)) {
            int position = 0;
            CROSSDOCK_MPI(
                MPI_Unpack(packed->packed_slots.get() + static_cast<std::size_t>(slot) * bytes,
                           packed->item_bytes, &position,
                           static_cast<std::byte*>(packed->slots) + slot * packed->extent, 1,
                           packed->datatype, comm.get()));
        }
    }

    void complete() {
        active = nullptr;
        if (packed) unpack();
        packed.reset();
    }

    communicator comm;
    std::shared_ptr<const plan> p;
    neighbor_options options;
    int first_tag;  // the stages forward, then the stages in reverse
    std::shared_ptr<const flow> forward;
    std::shared_ptr<const flow> backward;
    std::unique_ptr<persistent_executor> forward_executor;
    std::unique_ptr<persistent_executor> backward_executor;
    persistent_executor* active = nullptr;
    std::optional<packed_exchange> packed;
};

neighbor::neighbor(const communicator& comm, const topology& regions, const pattern& p,
                   std::string_view route, const neighbor_options& options)
    : state_(std::make_unique<implementation>(
          comm,
          std::make_shared<const plan>(
              compile_mpi(comm, regions, p, route, {options.deduplicate},
                          static_cast<std::int64_t>(options.max_message_bytes))),
          options)) {}

neighbor::neighbor(std::unique_ptr<implementation> state) : state_(std::move(state)) {}
neighbor::~neighbor() = default;
neighbor::neighbor(neighbor&&) noexcept = default;
neighbor& neighbor::operator=(neighbor&&) noexcept = default;

neighbor neighbor::duplicate() const {
    auto twin = std::make_unique<implementation>(state_->comm, state_->p, state_->options);
    twin->forward = state_->forward;
    twin->backward = state_->backward;
    return neighbor(std::move(twin));
}

const plan& neighbor::compiled_plan() const noexcept { return *state_->p; }

void neighbor::start(const void* items, void* slots, MPI_Datatype datatype) {
    const datatype_layout layout(datatype);
    if (layout.is_contiguous()) {
        state_->start_forward(items, slots, static_cast<std::size_t>(layout.size_bytes));
    } else {
        state_->start_packed(items, slots, datatype, layout);
    }
}

void neighbor::start_reverse(const void* slots, void* items, MPI_Datatype datatype,
                             MPI_Op operation) {
    const datatype_layout layout(datatype);
    if (layout.lower_bound != 0 || layout.true_lower_bound < 0 ||
        layout.true_lower_bound + layout.true_extent > layout.extent) {
        throw error(
            errc::invalid_argument,
            fmt::format("a value of the datatype lies in [{}, {}), outside its extent [{}, {})",
                        layout.true_lower_bound, layout.true_lower_bound + layout.true_extent,
                        layout.lower_bound, layout.lower_bound + layout.extent));
    }
    int is_commutative = 0;
    CROSSDOCK_MPI(MPI_Op_commutative(operation, &is_commutative));
    if (!is_commutative) throw error(errc::invalid_argument, "the operation is not commutative");
    const auto extent = layout.extent;
    const auto combine = [=](std::byte* to, const std::byte* from, const moves& list) {
        list.from.with_lookup([&](auto from_index) {
            list.to.with_lookup([&](auto to_index) {
                for (count_t k = 0; k < list.size(); ++k) {
                    CROSSDOCK_MPI(MPI_Reduce_local(from + from_index(k) * extent,
                                                   to + to_index(k) * extent, 1, datatype,
                                                   operation));
                }
            });
        });
    };
    state_->start_backward(slots, items, static_cast<std::size_t>(extent), combine);
}

bool neighbor::test() {
    CROSSDOCK_ASSERT(light, is_active(), "no exchange is active");
    const bool is_complete = state_->active->test();
    if (is_complete) state_->complete();
    return is_complete;
}

void neighbor::wait() {
    CROSSDOCK_ASSERT(light, is_active(), "no exchange is active");
    state_->active->wait();
    state_->complete();
}

bool neighbor::is_active() const noexcept { return state_->active != nullptr; }

void neighbor::check_lengths(std::size_t num_items, std::size_t num_slots) const {
    const plan& p = compiled_plan();
    if (num_items >= static_cast<std::size_t>(p.num_items()) &&
        num_slots >= static_cast<std::size_t>(p.num_slots())) {
        return;
    }
    throw error(errc::size_mismatch,
                fmt::format("rank {} has arrays of {} items and {} slots, the plan {} and {}",
                            p.rank(), num_items, num_slots, p.num_items(), p.num_slots()),
                p.rank());
}

void neighbor::start_forward(const void* items, void* slots, std::size_t item_bytes) {
    state_->start_forward(items, slots, item_bytes);
}

void neighbor::start_backward(const void* slots, void* items, std::size_t item_bytes,
                              combine_function combine) {
    state_->start_backward(slots, items, item_bytes, std::move(combine));
}

}  // namespace crossdock

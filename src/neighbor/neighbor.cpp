#include "crossdock/neighbor/neighbor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "crossdock/base/datatype_mpi.hpp"
#include "crossdock/executor/persistent_executor.hpp"
#include "crossdock/neighbor/compile_mpi.hpp"

namespace crossdock {

namespace {

// Calls `use(from, to, length)` for every stretch in which both indices count up together.
template <class Use>
void for_each_run(const moves& list, Use&& use) {
    list.from.with_lookup([&](auto from) {
        list.to.with_lookup([&](auto to) {
            for (count_t k = 0; k < list.size();) {
                int length = 1;
                while (k + length < list.size() && from(k + length) == from(k) + length &&
                       to(k + length) == to(k) + length &&
                       length < std::numeric_limits<int>::max()) {
                    ++length;
                }
                use(from(k), to(k), length);
                k += length;
            }
        });
    });
}

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

void check_arrays(const plan& p, const void* items, const void* slots) {
    if ((p.num_items() == 0 || items) && (p.num_slots() == 0 || slots)) return;
    throw error(
        errc::invalid_argument,
        fmt::format("{} is a null pointer", p.num_items() > 0 && !items ? "items" : "slots"),
        p.rank());
}

// 0 stands for the default, so that options filled with zeros are usable.
neighbor_options with_defaults(neighbor_options options) {
    if (options.max_message_bytes == 0)
        options.max_message_bytes = neighbor_options{}.max_message_bytes;
    return options;
}

}  // namespace

struct neighbor::implementation {
    // Room for values of a datatype that is not contiguous, packed; kept for the next exchange.
    struct packed_values {
        count_t item_bytes = 0;
        std::vector<count_t> used_items;
        std::vector<count_t> filled_slots;
        std::unique_ptr<std::byte[]> items;
        std::unique_ptr<std::byte[]> slots;
    };
    // Where the packed slots go in the end.
    struct unpack_target {
        datatype_packer packer;
        void* slots;
    };

    implementation(const communicator& c, std::shared_ptr<const plan> compiled,
                   const neighbor_options& o)
        : comm(c),
          p(std::move(compiled)),
          options(with_defaults(o)),
          first_tag(comm.reserve_tags(2 * num_stages())) {}

    ~implementation() {
        if (active && packed) {  // as the executor does with its own buffers
            static_cast<void>(packed->items.release());
            static_cast<void>(packed->slots.release());
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

    packed_values& room_for(count_t item_bytes) {
        if (packed && packed->item_bytes == item_bytes) return *packed;
        const auto allocate = [&](count_t num_values) {
            return std::make_unique_for_overwrite<std::byte[]>(
                static_cast<std::size_t>(num_values) * static_cast<std::size_t>(item_bytes));
        };
        return packed.emplace(packed_values{item_bytes, used_items(*p), filled_slots(*p),
                                            allocate(p->num_items()), allocate(p->num_slots())});
    }

    void start_packed(const void* items, void* slots, const datatype_packer& packer) {
        require_idle();
        const count_t item_bytes = packer.item_bytes();
        auto& room = room_for(item_bytes);
        for (const count_t item : room.used_items)
            packer.pack(items, item, room.items.get() + item * item_bytes);
        start_forward(room.items.get(), room.slots.get(), static_cast<std::size_t>(item_bytes));
        to_unpack.emplace(unpack_target{packer, slots});
    }

    void unpack(const unpack_target& target) {
        for (const count_t slot : packed->filled_slots)
            target.packer.unpack(packed->slots.get() + slot * packed->item_bytes, target.slots,
                                 slot);
    }

    void complete() {
        active = nullptr;
        if (to_unpack) unpack(*std::exchange(to_unpack, std::nullopt));
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
    std::optional<packed_values> packed;
    std::optional<unpack_target> to_unpack;
};

neighbor::neighbor(const communicator& comm, const topology& regions, const pattern& p,
                   std::string_view route, const neighbor_options& options)
    : state_(std::make_unique<implementation>(
          comm,
          std::make_shared<const plan>(
              compile_mpi(comm, regions, p, route, {options.deduplicate},
                          static_cast<std::int64_t>(options.max_message_bytes))),
          options)) {}

neighbor::neighbor(const communicator& comm, plan compiled, const neighbor_options& options) {
    if (compiled.rank() != comm.rank() || compiled.num_ranks() != comm.num_ranks()) {
        throw error(
            errc::size_mismatch,
            fmt::format("the plan is of rank {} of {}, but this is rank {} of {}", compiled.rank(),
                        compiled.num_ranks(), comm.rank(), comm.num_ranks()),
            comm.rank());
    }
    state_ = std::make_unique<implementation>(
        comm, std::make_shared<const plan>(std::move(compiled)), options);
}

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
    check_arrays(compiled_plan(), items, slots);
    const datatype_packer packer(state_->comm.get(), datatype);
    if (packer.is_contiguous()) {
        state_->start_forward(items, slots, static_cast<std::size_t>(packer.item_bytes()));
    } else {
        state_->start_packed(items, slots, packer);
    }
}

void neighbor::start_reverse(const void* slots, void* items, MPI_Datatype datatype,
                             MPI_Op operation) {
    check_arrays(compiled_plan(), items, slots);
    if (operation == MPI_OP_NULL) throw error(errc::invalid_argument, "operation is MPI_OP_NULL");
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
        for_each_run(list, [&](count_t from_index, count_t to_index, int length) {
            CROSSDOCK_MPI(MPI_Reduce_local(from + from_index * extent, to + to_index * extent,
                                           length, datatype, operation));
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

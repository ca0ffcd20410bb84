#include "call_without_plan.hpp"

namespace crossdock::drop_in {

call_without_plan::call_without_plan(const neighbor_call& call)
    : block_messages(call), along_(call.on->next_messages()) {
    try {
        prepare();
    } catch (...) {
        call.on->end_messages(along_);
        throw;
    }
}

void call_without_plan::prepare() {
    const auto& call = *call_;
    const auto for_each = [&](const call_side& side, auto&& use) {
        const auto& lengths = side.layout().lengths;
        for (std::size_t i = 0; i < lengths.size(); ++i)
            if (call.on->has_topology() || lengths[i] > 0) use(i, lengths[i]);
    };
    for_each(call.receives,
             [&](std::size_t i, count_t) { add(received_, call.on->sources(), i, along_, false); });
    for_each(call.sends, [&](std::size_t i, count_t length) {
        auto& one = add(sent_, call.on->destinations(), i, along_, false);
        if (call.sends.copies() != nullptr)
            one.packed = with_reserve([&] { return call.sends.read(i, length); });
    });
    send_all();
}

}  // namespace crossdock::drop_in

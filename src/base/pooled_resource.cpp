#include "pooled_resource.hpp"

#include <bit>

namespace crossdock {

namespace {

constexpr std::size_t least_kept_bytes = 4096;

struct size_class {
    std::size_t number;
    std::size_t bytes;  // of its blocks
};

// Four to each power of two.
size_class class_of(std::size_t bytes) {
    const auto shift = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 3;
    const std::size_t quarters = ((bytes - 1) >> shift) + 1;  // 5 … 8 of 2^shift
    return {4 * shift + quarters - 5, quarters << shift};
}

}  // namespace

pooled_resource::~pooled_resource() {
    for (const auto& blocks : free_) {
        for (void* const block : blocks) ::operator delete(block);
    }
}

void* pooled_resource::do_allocate(std::size_t bytes, std::size_t) {
    if (bytes < least_kept_bytes) return ::operator new(bytes);
    const auto size = class_of(bytes);
    auto& blocks = free_[size.number];
    if (blocks.empty()) return ::operator new(size.bytes);
    void* const block = blocks.back();
    blocks.pop_back();
    return block;
}

void pooled_resource::do_deallocate(void* block, std::size_t bytes, std::size_t) {
    if (bytes < least_kept_bytes) return ::operator delete(block);
    try {
        free_[class_of(bytes).number].push_back(block);
    } catch (const std::bad_alloc&) {
        ::operator delete(block);
    }
}

}  // namespace crossdock

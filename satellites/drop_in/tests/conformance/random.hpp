/// @file
/// @brief Random numbers that are the same with every MPI, compiler and rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace conformance {

inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

template <class... Value>
std::uint64_t hash_of(Value... values) {
    std::uint64_t hash = 0;
    ((hash = mix(hash ^ static_cast<std::uint64_t>(values))), ...);
    return hash;
}

class random_numbers {
  public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() { return mix(state_++); }
    int below(int end) { return static_cast<int>(next() % static_cast<std::uint64_t>(end)); }
    bool chance(int percent) { return below(100) < percent; }

    template <class Value>
    void shuffle(std::vector<Value>& values) {
        for (std::size_t i = values.size(); i > 1; --i) {
            const auto other = static_cast<std::size_t>(below(static_cast<int>(i)));
            std::swap(values[i - 1], values[other]);
        }
    }

    void fill(std::span<std::byte> bytes) {
        for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
            const auto value = next();
            std::memcpy(&bytes[i], &value, std::min(sizeof value, bytes.size() - i));
        }
    }

  private:
    std::uint64_t state_;
};

}  // namespace conformance

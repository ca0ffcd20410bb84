/// @file
/// @brief What the threads of a device do. Plain C++ without any library, compiled by the host's compiler for the mock,
/// by nvcc for CUDA, and by HIP's run-time compiler.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIP__)
#define CROSSDOCK_ON_DEVICE __device__
#define CROSSDOCK_NOT_UNROLLED _Pragma("unroll 1")
#else
#define CROSSDOCK_ON_DEVICE
#define CROSSDOCK_NOT_UNROLLED
#endif

namespace crossdock::device {

using index_t = long;  // as count_t

/// @brief Items that go from places of one array to places of another, in words. Without a list the places are 0, 1, 2.
struct copy_arguments {
    void* to;
    const void* from;
    const index_t* to_list;
    const index_t* from_list;
    index_t words_per_item;
};

/// @brief Groups of items, each of which becomes one: group g consists of the items
/// `list[offsets[g]] … list[offsets[g + 1] - 1]`, at least one, which are combined in order.
struct fold_arguments {
    void* to;
    const void* from;
    const index_t* offsets;
    const index_t* list;
    index_t width;  // values of an item
};

/// @brief Of the device's memory, the widest that one instruction moves.
struct alignas(16) two_words {
    long first, second;
};

/// @brief Moves word number i of all.
template <class Word>
CROSSDOCK_ON_DEVICE void copy_word(const copy_arguments& a, index_t i) {
    const index_t item = a.words_per_item == 1 ? i : i / a.words_per_item;
    const index_t word = i - item * a.words_per_item;
    const index_t to = a.to_list ? a.to_list[item] : item;
    const index_t from = a.from_list ? a.from_list[item] : item;
    static_cast<Word*>(a.to)[to * a.words_per_item + word] =
        static_cast<const Word*>(a.from)[from * a.words_per_item + word];
}

/// @brief Combines value number i of all groups.
template <class T, class Op>
CROSSDOCK_ON_DEVICE void fold_value(const fold_arguments& a, index_t i) {
    const index_t group = a.width == 1 ? i : i / a.width;
    const T* const from = static_cast<const T*>(a.from) + (i - group * a.width);
    index_t k = a.offsets[group];
    T value = from[a.list[k] * a.width];
    CROSSDOCK_NOT_UNROLLED
    while (++k < a.offsets[group + 1]) value = Op::of(value, from[a.list[k] * a.width]);
    static_cast<T*>(a.to)[i] = value;
}

// As the library's operations, bit by bit: integers wrap around, a NaN stays, and -0 is less than +0. A sum or difference
// of zeros tells their signs.
struct fold_sum {
    static CROSSDOCK_ON_DEVICE int of(int a, int b) {
        return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
    }
    static CROSSDOCK_ON_DEVICE long of(long a, long b) {
        return static_cast<long>(static_cast<unsigned long>(a) + static_cast<unsigned long>(b));
    }
    template <class T>
    static CROSSDOCK_ON_DEVICE T of(T a, T b) {
        return a + b;
    }
};
struct fold_minimum {
    template <class T>
    static CROSSDOCK_ON_DEVICE T of(T a, T b) {
        if (a < b || a != a) return a;
        return a == b && a == 0 ? -(-a - b) : b;
    }
};
struct fold_maximum {
    template <class T>
    static CROSSDOCK_ON_DEVICE T of(T a, T b) {
        if (b < a || a != a) return a;
        return a == b && a == 0 ? a + b : b;
    }
};

}  // namespace crossdock::device

// All kernels: for copies by the bytes of a word; for folds by operation and type.
#define CROSSDOCK_DEVICE_FOLDS(FOLD, operation) \
    FOLD(operation, int32, int)                 \
    FOLD(operation, int64, long)                \
    FOLD(operation, float32, float)             \
    FOLD(operation, float64, double)
#define CROSSDOCK_DEVICE_KERNELS(COPY, FOLD) \
    COPY(1, unsigned char)                   \
    COPY(2, unsigned short)                  \
    COPY(4, unsigned int)                    \
    COPY(8, unsigned long)                   \
    COPY(16, two_words)                      \
    CROSSDOCK_DEVICE_FOLDS(FOLD, sum)        \
    CROSSDOCK_DEVICE_FOLDS(FOLD, minimum)    \
    CROSSDOCK_DEVICE_FOLDS(FOLD, maximum)

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIP__)
#define CROSSDOCK_DEVICE_ENTRY(name, arguments, work)                               \
    extern "C" __global__ void name(const crossdock::device::arguments a, long n) { \
        using namespace crossdock::device;                                          \
        const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;    \
        if (i < n) work(a, i);                                                      \
    }
#define CROSSDOCK_DEVICE_COPY(bytes, word) \
    CROSSDOCK_DEVICE_ENTRY(crossdock_copy_##bytes, copy_arguments, copy_word<word>)
#define CROSSDOCK_DEVICE_FOLD(operation, name, type)                            \
    CROSSDOCK_DEVICE_ENTRY(crossdock_fold_##operation##_##name, fold_arguments, \
                           (fold_value<type, fold_##operation>))
CROSSDOCK_DEVICE_KERNELS(CROSSDOCK_DEVICE_COPY, CROSSDOCK_DEVICE_FOLD)
#endif

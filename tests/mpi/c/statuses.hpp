/// @file
/// @brief What calls of C answer.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "crossdock/crossdock.h"

#define EXPECT_SUCCESS(call) EXPECT_EQ(call, CROSSDOCK_SUCCESS) << crossdock_last_error()
#define ASSERT_SUCCESS(call) ASSERT_EQ(call, CROSSDOCK_SUCCESS) << crossdock_last_error()

namespace crossdock_c_test {

using numbers = std::vector<std::int64_t>;

inline int world(int (*ask)(MPI_Comm, int*)) {
    int answer = 0;
    ask(MPI_COMM_WORLD, &answer);
    return answer;
}

template <class T>
std::int64_t length(const std::vector<T>& list) {
    return static_cast<std::int64_t>(list.size());
}

inline void expect_error(crossdock_status actual, crossdock_status expected,
                         const std::string& sentence) {
    EXPECT_STREQ(crossdock_status_name(actual), crossdock_status_name(expected));
    EXPECT_TRUE(std::string_view(crossdock_last_error()).starts_with(sentence))
        << crossdock_last_error();
}

inline void expect_null(crossdock_status actual, const char* argument) {
    expect_error(actual, CROSSDOCK_INVALID_ARGUMENT, std::string(argument) + " is a null pointer");
}

template <class T>
T null_if(bool is_null, T value) {
    if constexpr (std::is_pointer_v<T>) {
        if (is_null) return nullptr;
    }
    return value;
}

/// Each argument that has a name is null in turn: the first one on all ranks, others where `is_here`. All must hear it.
template <class... T>
void expect_nulls(bool is_here, crossdock_status (*call)(T...),
                  std::initializer_list<const char*> names, std::type_identity_t<T>... given) {
    const auto call_without = [&]<std::size_t... I>(std::size_t place, std::index_sequence<I...>) {
        return call(null_if(I == place && (is_here || place == 0), given)...);
    };
    std::size_t place = 0;
    for (const char* name : names) {
        if (name != nullptr)
            expect_null(call_without(place, std::index_sequence_for<T...>()), name);
        ++place;
    }
}

/// As above, of a call that is not collective.
template <class... T>
void expect_nulls(crossdock_status (*call)(T...), std::initializer_list<const char*> names,
                  std::type_identity_t<T>... given) {
    expect_nulls(true, call, names, given...);
}

/// What a call gives by its last argument.
template <class Answer = int, class Call, class... Arguments>
Answer given_by(Call* call, const Arguments&... arguments) {
    Answer answer{};
    EXPECT_SUCCESS(call(arguments..., &answer));
    return answer;
}

/// A text that a call gives.
template <class... Arguments>
std::string text_by(const Arguments&... arguments) {
    const std::unique_ptr<char, crossdock_status (*)(void*)> text(given_by<char*>(arguments...),
                                                                  crossdock_free);
    return text ? text.get() : "";
}

struct freeing {
    void operator()(crossdock_context* one) const { EXPECT_SUCCESS(crossdock_context_free(one)); }
    void operator()(crossdock_topology* one) const { EXPECT_SUCCESS(crossdock_topology_free(one)); }
    void operator()(crossdock_pattern* one) const { EXPECT_SUCCESS(crossdock_pattern_free(one)); }
    void operator()(crossdock_plan* one) const { EXPECT_SUCCESS(crossdock_plan_free(one)); }
    void operator()(crossdock_neighbor_exchange* one) const {
        EXPECT_SUCCESS(crossdock_neighbor_exchange_free(one));
    }
    void operator()(crossdock_gather_scatter* one) const {
        EXPECT_SUCCESS(crossdock_gather_scatter_free(one));
    }
    void operator()(crossdock_prepared_batch* one) const {
        EXPECT_SUCCESS(crossdock_prepared_batch_free(one));
    }
};

/// A handle that is freed at the end.
template <class Handle>
class owned {
  public:
    owned(Handle* handle = nullptr) : handle_(handle) {}
    operator Handle*() const { return handle_.get(); }

  private:
    std::unique_ptr<Handle, freeing> handle_;
};

template <class Handle, class... Arguments>
owned<Handle> made(const Arguments&... arguments) {
    return given_by<Handle*>(arguments...);
}

/// What tests of C have: a context of all ranks, which is closed after each.
class InC : public testing::Test {
  protected:
    explicit InC(std::string topology = "") : regions(std::move(topology)) {}

    void SetUp() override {
        crossdock_context_options given = CROSSDOCK_CONTEXT_OPTIONS_INIT;
        given.topology = regions.c_str();
        ASSERT_SUCCESS(crossdock_context_create(MPI_COMM_WORLD, &given, &context));
    }
    void TearDown() override {
        EXPECT_SUCCESS(crossdock_context_close(context));
        EXPECT_SUCCESS(crossdock_context_free(context));
    }

    /// Regions of two: "2,2,1" for 5 ranks.
    static std::string pairs() {
        const int num_ranks = world(MPI_Comm_size);
        std::string text = num_ranks % 2 == 1 ? "1" : "2";
        for (int more = (num_ranks - 1) / 2; more > 0; --more) text.insert(0, "2,");
        return text;
    }

    const std::string regions;
    const int rank = world(MPI_Comm_rank);
    const int num_ranks = world(MPI_Comm_size);
    const int last = num_ranks - 1;
    const int next = (rank + 1) % num_ranks;
    const int previous = (rank + last) % num_ranks;
    const bool is_last = rank == last;
    crossdock_context* context = nullptr;
};

}  // namespace crossdock_c_test

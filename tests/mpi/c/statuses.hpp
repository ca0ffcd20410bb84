/// @file
/// @brief What calls of C answer.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>
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

/// A text of the library's, freed.
inline std::string taken(char* text) {
    std::string copy = text;
    EXPECT_SUCCESS(crossdock_free(text));
    return copy;
}

}  // namespace crossdock_c_test

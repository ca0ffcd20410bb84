/// @file
/// @brief Catches what a call throws, so that a test can look at all of it.
#pragma once

#include <gtest/gtest.h>

#include "crossdock/error.hpp"
#include "crossdock/types.hpp"

namespace crossdock::test {

/// @brief What `call` throws; a failure if it throws nothing.
template <class Call>
error thrown_by(Call call) {
    try {
        call();
    } catch (const error& fault) {
        return fault;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {errc::success, ""};
}

/// @brief `call` throws an error of this code.
template <class Call>
void expect_thrown(errc code, Call call) {
    const error fault = thrown_by(call);
    EXPECT_EQ(fault.code(), code) << fault.what();
}

/// @brief `call` throws an error of this code, and all ranks hear of which rank it is.
template <class Call>
void expect_thrown(errc code, rank_t rank, Call call) {
    const error fault = thrown_by(call);
    EXPECT_EQ(fault.code(), code) << fault.what();
    EXPECT_EQ(fault.rank(), rank);
}

}  // namespace crossdock::test

/// @file
/// @brief Catches what a call throws, so that a test can look at all of it.
#pragma once

#include <gtest/gtest.h>

#include "crossdock/error.hpp"

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

}  // namespace crossdock::test

// The one-line message of the error that a call ends with.
#pragma once

#include "core/base/errors.h"

#include <gtest/gtest.h>

#include <string>

namespace ptrain {

/// Runs `call`; returns the message of the Error it throws, "" (and a failed test) when it throws none. Checks that the
/// message is one line and leads to the exit code.
template <typename Call>
std::string get_error(Call&& call, ExitCode code = ExitCode::failed) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(error.code(), code) << message;
    return message;
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

}  // namespace ptrain

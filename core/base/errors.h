// The project's error type. Thrown anywhere, caught once in main and turned into an exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ptrain {

/// The process's exit codes. 4 and 5 are those of commands that compare measurements.
enum class ExitCode : int {
  ok = 0,
  failed = 1,        // failed while running: I/O, device, out of memory
  usage = 2,         // command line or configuration
  diverged = 3,      // non-finite loss that no loss scaler absorbs
  regressed = 4,     // slower or less accurate
  inconclusive = 5,  // not enough or not comparable data
  interrupted = 130,
  terminated = 143,
};

/// An error with its exit code. The message is one line that says where it happened and what was expected.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Not enough memory; the message says what is needed and, where known, what fits.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitCode::failed, message) {}
};

/// Throws Error{ExitCode::failed}: something outside the program failed (a file, a device, memory).
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ExitCode::failed, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error{ExitCode::usage}: the user's request is invalid (a key, a value, an option).
template <typename... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ExitCode::usage, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws for invariant(); kept out of line so that callers stay small.
[[noreturn, gnu::noinline, gnu::cold]] inline void fail_invariant(const char* what) {
  throw std::logic_error(std::string("internal error: ") + what);
}

/// Throws std::logic_error when `condition` is false: a bug in ptrain itself, never a user's mistake.
inline void invariant(bool condition, const char* what) {
  if (!condition) fail_invariant(what);
}

}  // namespace ptrain

// The project's error type. Thrown anywhere, caught once in main and turned into an exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ptrain {

/// What the process returns. 4 and 5 are those of commands that hold one measurement to another.
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

/// An error with the exit code it leads to. The message is one line that says where and what was expected.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Memory that does not suffice; the message says what is needed and, where it is known, what fits.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitCode::failed, message) {}
};

/// Throws Error{ExitCode::failed}: something outside went wrong while running (a file, a device, memory).
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ExitCode::failed, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error{ExitCode::usage}: what the user asked for cannot be meant (a key, a value, an option).
template <typename... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ExitCode::usage, fmt::format(format, std::forward<Args>(args)...));
}

/// What invariant() throws, apart from its callers' code.
[[noreturn, gnu::noinline, gnu::cold]] inline void fail_invariant(const char* what) {
  throw std::logic_error(std::string("internal error: ") + what);
}

/// Throws std::logic_error when `condition` is false: a bug in ptrain itself, never the user's doing.
inline void invariant(bool condition, const char* what) {
  if (!condition) fail_invariant(what);
}

}  // namespace ptrain

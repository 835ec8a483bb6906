// SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU as a request that the training loop answers between steps.
#pragma once

#include "core/base/errors.h"

namespace ptrain {

/// A signal ended work that leaves no half-done result; the exit code is 128 and the signal.
class Interrupted : public Error {
 public:
  Interrupted(int signal, const std::string& when)
      : Error(static_cast<ExitCode>(128 + signal), fmt::format("interrupted by signal {} {}", signal, when)) {}
};

/// Starts a thread that alone takes these signals; all others, and those they start, block them. A matrix product of
/// oneDNN runs with its stack pointer in a small buffer of the heap, and the frame of a signal that came then would
/// overwrite what lies below. SIGPIPE and SIGXFSZ are ignored from then on. To be called before any other thread is
/// started.
void give_signals_a_thread();

/// For a child process before it becomes another program, which would inherit what is blocked and ignored here.
void unblock_signals();

/// While one lives, the signals set a flag instead of ending the process; SIGINT or SIGTERM for the second time ends it
/// at once. Ranks that are threads have one each.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// The signal that arrived first, 0 for none.
  static int received();
};

/// While one lives, the thread's work ends at its next check() once a signal arrived.
class InterruptibleWork {
 public:
  InterruptibleWork() { ++depth_; }
  ~InterruptibleWork() { --depth_; }
  InterruptibleWork(const InterruptibleWork&) = delete;
  InterruptibleWork& operator=(const InterruptibleWork&) = delete;

  /// Throws Interrupted if a signal arrived; `when`: "while kernels were chosen".
  static void check(const std::string& when) {
    if (depth_ > 0 && SignalGuard::received() != 0) throw Interrupted(SignalGuard::received(), when);
  }

 private:
  static inline thread_local int depth_ = 0;
  const SignalGuard signals_;
};

}  // namespace ptrain

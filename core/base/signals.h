// SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU as a request that the training loop answers between steps.
#pragma once

#include "core/base/errors.h"

namespace ptrain {

/// A signal ended work that leaves no half-done result; the exit code is 128 plus the signal.
class Interrupted : public Error {
 public:
  Interrupted(int signal, const std::string& when)
      : Error(static_cast<ExitCode>(128 + signal), fmt::format("interrupted by signal {} {}", signal, when)) {}
};

/// Starts the one thread that receives these signals; all other threads block them. oneDNN's matrix products run with
/// their stack pointer in a small heap buffer, and a signal's frame would overwrite what is below it. SIGPIPE and
/// SIGXFSZ are ignored from then on. Call this before any other thread starts.
void give_signals_a_thread();

/// Restores the default signal mask and actions in a child process before exec, which would inherit them.
void unblock_signals();

/// While one exists, the signals set a flag instead of ending the process; a second SIGINT or SIGTERM ends it at once.
/// Ranks that are threads have one each.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// The signal that arrived first, 0 for none.
  static int received();
};

/// While one exists, the thread's work ends at its next check() after a signal.
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

// SIGINT and SIGTERM as a request that the training loop answers between steps.
#pragma once

namespace ptrain {

/// Starts a thread that alone takes SIGINT and SIGTERM; all others, and those they start, block the two. A matrix
/// product of oneDNN runs with its stack pointer in a small buffer of the heap, and the frame of a signal that came
/// then would overwrite what lies below. To be called before any other thread is started.
void give_signals_a_thread();

/// For a child process before it becomes another program, which would inherit what is blocked here.
void unblock_signals();

/// While one lives, the two signals set a flag instead of ending the process; a second one ends it at once. Ranks that
/// are threads have one each.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// The signal that arrived, 0 for none.
  static int received();
};

}  // namespace ptrain

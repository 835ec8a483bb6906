// SIGINT and SIGTERM as a request that the training loop answers between steps.
#pragma once

namespace ptrain {

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

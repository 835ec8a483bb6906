#include "core/train/signals.h"

#include <csignal>

namespace ptrain {
namespace {

volatile std::sig_atomic_t received_signal = 0;

extern "C" void remember_signal(int signal) {
  if (received_signal != 0) std::signal(signal, SIG_DFL), std::raise(signal);
  received_signal = signal;
}

}  // namespace

SignalGuard::SignalGuard() {
  received_signal = 0;
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
}

SignalGuard::~SignalGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int SignalGuard::received() { return received_signal; }

}  // namespace ptrain

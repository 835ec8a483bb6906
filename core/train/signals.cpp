#include "core/train/signals.h"

#include <atomic>
#include <csignal>

namespace ptrain {
namespace {

volatile std::sig_atomic_t received_signal = 0;
std::atomic<int> guards{0};

extern "C" void remember_signal(int signal) {
  if (received_signal != 0) std::signal(signal, SIG_DFL), std::raise(signal);
  received_signal = signal;
}

}  // namespace

SignalGuard::SignalGuard() {
  if (guards.fetch_add(1) > 0) return;
  received_signal = 0;
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
}

SignalGuard::~SignalGuard() {
  if (guards.fetch_sub(1) > 1) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int SignalGuard::received() { return received_signal; }

}  // namespace ptrain

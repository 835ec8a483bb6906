#include "core/base/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace ptrain {
namespace {

std::atomic<int> received_signal{0};  // written by the signals' thread, read by those that train
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");
std::atomic<int> guards{0};

extern "C" void remember_signal(int signal) {
  if (received_signal != 0) std::signal(signal, SIG_DFL), std::raise(signal);
  received_signal = signal;
}

void change_mask(int how) {
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  pthread_sigmask(how, &both, nullptr);
}

}  // namespace

void give_signals_a_thread() {
  std::thread([] {
    for (;;) pause();
  }).detach();
  change_mask(SIG_BLOCK);
}

void unblock_signals() { change_mask(SIG_UNBLOCK); }

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

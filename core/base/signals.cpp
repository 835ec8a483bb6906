#include "core/base/signals.h"

#include "core/base/threads.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

namespace ptrain {
namespace {

std::atomic<int> received_signal{0};  // written by the signal thread, read by training threads
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");
std::atomic<int> requests{0};  // how often a user or a scheduler asked for the end
std::atomic<int> guards{0};

// Signals by which a terminal, a shell or a scheduler ends a run.
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

extern "C" void remember_signal(int signal) {
  const bool is_request = signal == SIGINT || signal == SIGTERM;  // SIGXCPU comes every second
  if (is_request && requests.fetch_add(1) > 0) std::signal(signal, SIG_DFL), std::raise(signal);
  int none = 0;
  received_signal.compare_exchange_strong(none, signal);
}

/// Signals that the caller ignored (nohup: SIGHUP) stay ignored.
void answer_with(void (*handler)(int)) {
  for (const int signal : ending_signals) {
    struct sigaction current {};
    if (sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) continue;
    std::signal(signal, handler);
  }
}

void change_mask(int how) {
  sigset_t all;
  sigemptyset(&all);
  for (const int signal : ending_signals) sigaddset(&all, signal);
  pthread_sigmask(how, &all, nullptr);
}

}  // namespace

void give_signals_a_thread() {
  // Writes then return an error instead: to a closed pipe, or past the file size limit.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  start_thread([] {
    for (;;) pause();
  }).detach();
  change_mask(SIG_BLOCK);
}

void unblock_signals() {
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  change_mask(SIG_UNBLOCK);
}

SignalGuard::SignalGuard() {
  if (guards.fetch_add(1) > 0) return;
  received_signal = 0;
  requests = 0;
  answer_with(remember_signal);
}

SignalGuard::~SignalGuard() {
  if (guards.fetch_sub(1) > 1) return;
  answer_with(SIG_DFL);
}

int SignalGuard::received() { return received_signal; }

}  // namespace ptrain

// State of the calling thread while it computes in the library.
#pragma once

#include "core/base/errors.h"
#include "core/base/parallel.h"

#include <csignal>
#include <utility>

namespace ptrain::api {

/// During its lifetime the thread's parallel loops have `threads` threads, and signals are blocked: a matrix product of
/// oneDNN runs with its stack pointer in a small buffer, which a signal frame would overrun. The destructor restores
/// both. Throws Error{failed} if OpenMP grants fewer threads, since kernels were made for that many.
class CallingThread {
 public:
  explicit CallingThread(int threads) {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &signals_);
    const int granted = set_thread_count(threads);
    if (granted == threads) return;
    restore();
    fail(
        "OpenMP grants {} of {} threads: a parallel region around the call, OMP_THREAD_LIMIT or a process limit "
        "prevents more; open the model with fewer threads",
        granted, threads);
  }
  ~CallingThread() { restore(); }
  CallingThread(const CallingThread&) = delete;
  CallingThread& operator=(const CallingThread&) = delete;

 private:
  void restore() {
    omp_set_num_threads(threads_);
    omp_set_dynamic(dynamic_);
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }

  sigset_t signals_{};
  int threads_ = omp_get_max_threads();
  int dynamic_ = omp_get_dynamic();
};

}  // namespace ptrain::api

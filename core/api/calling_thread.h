// Where calls of the library compute: the state of the calling thread, and what takes its place in forked processes.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <mutex>

namespace ptrain::api {

/// During its lifetime the thread's parallel loops have `threads` threads, and signals are blocked: a matrix product of
/// oneDNN runs with its stack pointer in a small buffer, which a signal frame would overrun. The destructor restores
/// both. Throws Error{failed} if OpenMP grants fewer threads, since kernels were made for that many.
class CallingThread {
 public:
  explicit CallingThread(int threads);
  ~CallingThread() { restore(); }
  CallingThread(const CallingThread&) = delete;
  CallingThread& operator=(const CallingThread&) = delete;

 private:
  void restore();

  sigset_t signals_{};
  int threads_, dynamic_;
};

/// Computes for one session in the calling thread. In a process that was forked after the library was loaded, that
/// thread's OpenMP team has no threads any more, and a parallel loop would wait for them for ever: there a thread of
/// the session's own computes, with a new team.
class ComputingThread {
 public:
  ComputingThread();
  ~ComputingThread();

  /// Runs `body`, one call after the other, and throws what it throws. Throws Error{failed} if the process was forked
  /// while another thread computed in the library, whose locks and buffers then stay as they were in the middle of
  /// that.
  void run(int threads, const std::function<void()>& body);

 private:
  class Worker;
  std::mutex running_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace ptrain::api
